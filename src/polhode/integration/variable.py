"""Runs whose steps choose their length: the same as others, but for the grid."""

import math
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polhode._arrays import Floats
from polhode.core import status as codes
from polhode.core.drive import AT, CLOCK, STATE, own_clock_driver
from polhode.core.types import Stepper
from polhode.core.variable import Adaptive
from polhode.integration.fixed import Integration, Segment
from polhode.solution import Run

ROOM = 4096
"""Rows of output that are made before they are put aside."""


MANY_STEPS = 10_000
"""After so many it is asked whether they are absurdly short."""
SHORT_TURN = 1e-4
"""Radians in a step. At tolerances of 1e-6 to 1e-16 a smooth torque has 0.8 to 0.05 of them, and a motion that is held
at a jump of its torque, at 1e-7 to 1e-13, 5e-6 to 1e-9."""


class ShortSteps(UserWarning):
    """Steps have become so short that a run takes long: the torque is likely to jump where the motion is."""


def absurdly_short(run: Run, made: Any, length: Any, rate: Any) -> Any:
    """Whether so many steps that took a body so far are, at its rate; of one body or of many."""
    return (rate * length < SHORT_TURN * made) & (length < 0.1 * abs(run.step) * made)


def about_lengths(run: Run, length: float) -> str:
    """What short steps mean."""
    return (
        f"steps of {run.method.name} have become as short as {length:.1e}: the torque {run.torque.name} jumps where "
        "the motion is, or changes in such times; smooth a jump, or end the run at it by a terminal event and go on "
        "with another torque (at known times: give its breakpoints)"
    )


_driver_of = lru_cache(maxsize=128)(own_clock_driver)


class OwnClockIntegration(Integration):
    """A run that learns its times as it goes."""

    def _reserve(self) -> None:
        self.state = np.concatenate([self.state, np.zeros(CLOCK)])
        rows = ROOM if self.times is None else self.times.size
        self.out = np.empty((rows, STATE + 1))
        self.count[AT.rows] = rows
        self.full: list[Floats] = []
        self.looked, self.short = (0, self.run.t_start), 0.0

    def _driver(self, stepper: Stepper) -> Callable[..., int]:
        return _driver_of(stepper)

    def _outputs(self, piece: Segment) -> tuple[NDArray[np.int64], Floats]:
        count = self.count
        self.state[STATE:] = 0.0
        count[AT.finished] = 0
        nothing = np.zeros(1, dtype=np.int64)
        if self.times is None:
            count[AT.every], count[AT.due] = self._strides(piece)
            return nothing, np.zeros(1)
        listed = self._listed(piece, self.times) - piece.t0
        count[AT.next], count[AT.times] = 0, listed.size
        return nothing, listed if listed.size else np.zeros(1)

    def _end(self, piece: Segment) -> float:
        return piece.t1 - piece.t0

    def _finished(self, piece: Segment) -> bool:
        return bool(self.count[AT.finished])

    def _stop(self, piece: Segment, wanted: int) -> int:
        return wanted

    def _collect(self) -> None:
        if self.times is None and self.count[AT.row] == ROOM:
            self.full.append(self.out)
            self.out = np.empty_like(self.out)
            self.count[AT.row] = 0
        if isinstance(self.run.method.scheme, Adaptive) and not self.short:
            self._look_at_lengths()

    def _look_at_lengths(self) -> None:
        """A warning while the run goes on: it may be waited for in vain."""
        steps, passed = self.done, self._grid(0)
        made, length = steps - self.looked[0], abs(passed - self.looked[1])
        if made < MANY_STEPS:
            return
        self.looked = (steps, passed)
        # The rate, and the one at which the torque could make the body swing.
        inverse = 1.0 / self.run.body.moments
        rate = math.hypot(*(self.state[4:STATE] * inverse), math.sqrt((self.run.torque_size or 0.0) * inverse.max()))
        if absurdly_short(self.run, made, length, rate):
            self.short = length / made
            try:
                warnings.warn(self._about_lengths(), ShortSteps, stacklevel=levels_of_polhode())
            except ShortSteps as problem:  # where warnings are errors
                problem.solution = self._assembled(codes.INTERRUPTED)  # type: ignore[attr-defined]
                raise

    def _about_lengths(self) -> str:
        return about_lengths(self.run, self.short)

    def _message(self, status: int, t: float, done: int) -> str:
        told = super()._message(status, t, done)
        return f"{told}; {self._about_lengths()}" if self.short else told

    def _steps_in_all(self) -> int:
        """Guessed from the time that has passed."""
        done = self.done
        passed = (self._grid(0) - self.run.t_start) / (self.run.t_end - self.run.t_start)
        return max(done, round(done / passed)) if passed > 0 else done

    def _steps_told(self, done: int) -> str:
        return str(self.earlier + done)

    def _grid(self, done: int) -> float:
        """The time that was reached."""
        return self.piece.t1 if self.count[AT.finished] else self.piece.t0 + float(self.state[STATE])

    def _output(self, status: int, done: int) -> tuple[Floats, Floats]:
        rows = np.concatenate([*self.full, self.out[: int(self.count[AT.row])]])
        t, states = rows[:, 0].copy(), rows[:, 1:]
        if self.times is not None:
            t = self.times[: t.size].copy()
        elif status == codes.OK and (t.size == 0 or t[-1] != self.run.t_end):
            t, states = np.append(t, self.run.t_end), np.vstack([states, self.state[None, :STATE]])
        return t, states

    def _lengths_from_here(self) -> list[float]:
        return [self.piece.h]


def integration(run: Run) -> type[Integration]:
    """The kind of run that the method needs."""
    return OwnClockIntegration if run.method.own_clock else Integration


def levels_of_polhode() -> int:
    """How far up the stack the user's code is, from the caller on."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("polhode."):
        level, frame = level + 1, frame.f_back
    return level
