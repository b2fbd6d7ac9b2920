"""Runs whose steps choose their length: the same as others, but for the grid."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polhode._check import Floats
from polhode._integration import Integration, Segment
from polhode.core import status as codes
from polhode.core.drive import AT, CLOCK, STATE, own_clock_driver
from polhode.core.types import Stepper

ROOM = 4096
"""Rows of output that are made before they are put aside."""


_driver_of = lru_cache(maxsize=128)(own_clock_driver)


class OwnClockIntegration(Integration):
    """A run that learns its times as it goes."""

    def _reserve(self) -> None:
        self.state = np.concatenate([self.state, np.zeros(CLOCK)])
        rows = ROOM if self.times is None else self.times.size
        self.out = np.empty((rows, STATE + 1))
        self.count[AT.rows] = rows
        self.full: list[Floats] = []

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

    def _steps_in_all(self) -> int:
        """Guessed from the time that has passed."""
        done = self.before + int(self.count[AT.done])
        passed = (self._grid(0) - self.run.t_start) / (self.run.t_end - self.run.t_start)
        return max(done, round(done / passed)) if passed > 0 else done

    def _steps_told(self, done: int) -> str:
        return str(done)

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
