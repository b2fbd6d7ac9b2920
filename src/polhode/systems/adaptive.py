"""One run of a system in steps that adapt to the motion: Gauss collocation with all nodes at once
(`kernels/systems/collocation.py`).
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from polhode.kernels.status import Status
from polhode.kernels.systems import collocation
from polhode.kernels.systems.bodies import AT, ROW
from polhode.problem import Stats
from polhode.run.binding import OnCompile
from polhode.run.integration import Progress
from polhode.support.arrays import Floats
from polhode.systems.forces import Forces
from polhode.systems.solution import SystemSolution
from polhode.systems.system import System
from polhode.systems.system_run import SystemPlan, SystemRun, SystemStep, outward

SIGNATURE = "ppppppppppnndddi"
FIRST_TURN = 1.0
"""The turn of the fastest body in the first step, in radians, for an error of one; with others it is shorter in
proportion to all steps. Later steps are as long as their polynomials allow."""
FIRST_PART = 1 / 16
"""The part of the span that the first step has at most, in the same way."""
STEP_ERROR, ITERATION_ERROR = 0.5, 0.01
"""The errors that a step may have and that its iteration may leave, over the error that is aimed at."""
REPORTED_PARTS = 1000
"""Progress is reported in parts of the span: how many steps there will be is not known."""

_COUNTS = [AT.done, AT.row, AT.evaluations, AT.iterations, AT.rejected, AT.every]
_NO_NUMBERS, _NO_KINDS = np.zeros(2), np.zeros(1, dtype=np.int64)


@lru_cache(maxsize=64)
def _driver(step: Callable[..., int]) -> Callable[..., int]:
    return collocation.adaptive_driver(step)


class Level(NamedTuple):
    """How accurate the steps of a run are."""

    step_error: float
    """The error that a step may have, as its polynomial suggests."""
    left: float
    """The error that the iteration of a step may leave."""

    @classmethod
    def aiming_at(cls, error: float) -> "Level":
        """Returns the level with which errors were about this large for two bodies and some hundred radians."""
        return cls(STEP_ERROR * error, ITERATION_ERROR * error)


class AdaptiveRun(SystemRun):
    """A run that can be made again, with steps of another accuracy. Its output times are given."""

    def __init__(
        self, system: System, forces: Forces, plan: SystemPlan, state: Floats | None = None,
        progress: Progress | None = None, on_compile: OnCompile = None,
    ) -> None:  # fmt: skip
        super().__init__(system, forces, plan._replace(step=plan.t_end - plan.t_start), state, progress, on_compile)
        self.start = np.array(self.y)
        self.span = plan.t_end - plan.t_start
        self.first_step = self._first_step()
        self.drive: Callable[..., int] | None = None
        if plan.step_error is not None:
            self.begin(Level.aiming_at(plan.step_error / STEP_ERROR))

    def begin(self, level: Level, start: Floats | None = None) -> None:
        """Goes back to the start, or to another state there, for a run with this accuracy."""
        self.level = level
        self.y[:] = self.start if start is None else start
        memory, count = self.memory, self.count
        memory[: collocation.HEAD] = 0.0
        memory[collocation.LEFT], memory[collocation.RATE], memory[collocation.TIME] = (
            level.left,
            1.0,
            self.plan.t_start,
        )
        memory[collocation.NEXT] = self.first_step * level.step_error ** (1 / collocation.ORDER)
        count[_COUNTS] = 0
        count[AT.rows] = len(self.t)
        self.seconds, self.stopped = 0.0, None

    def _first_step(self) -> float:
        n, y, setting = self.n, self.y, self.setting.reshape(self.n, -1)
        rates = np.abs(y[10 * n :].reshape(n, 3) * setting[:, 3:6]).max()
        most = abs(self.span) * FIRST_PART
        first = most if rates * most <= FIRST_TURN else FIRST_TURN / float(rates)
        return first if self.span > 0 else -first

    # --- the run

    def loop(self) -> Callable[..., int]:
        """Returns the compiled loop over steps."""
        if self.drive is None:
            self.drive = self.compiled_loop(_driver, SIGNATURE)
        return self.drive

    @property
    def suggested(self) -> float:
        """The sum of the errors that the polynomials of all steps suggest."""
        return float(self.memory[collocation.SUGGESTED])

    def _run(self) -> Status:
        return self.advance(self.loop(), np.iinfo(np.int64).max)

    def _call(self, drive: Callable[..., int], stop: int, last: float | None = None) -> int:
        return drive(
            self.setting, self.values, _NO_NUMBERS, self.memory, self.y, self.g, self.before, self.work,
            self.out.reshape(-1), self.t, _NO_KINDS, self.count, self.plan.t_end, self.span, self.level.step_error,
            stop,
        )  # fmt: skip

    @property
    def is_at_end(self) -> bool:
        """Whether no step is left."""
        return bool(self.memory[collocation.TIME] == self.plan.t_end)

    @property
    def _passed(self) -> tuple[int, int]:
        part = abs(self.memory[collocation.TIME] - self.plan.t_start) / abs(self.span)
        return int(part * REPORTED_PARTS), REPORTED_PARTS

    def _undo_step(self) -> None:
        """Goes back to before the step in which an exception came, which then has no polynomial."""
        self.y[:] = self.before[: ROW * self.n]
        self.memory[collocation.KNOWN] = 0.0

    def each_steps(self) -> Iterator[list[SystemStep]]:
        """Makes one step after the other, and yields where each begins and ends."""
        drive = self.loop()
        self.count[AT.rows] = 0  # who looks at every step also keeps the rows
        while (t := float(self.memory[collocation.TIME])) != self.plan.t_end:
            state, done = np.array(self.y), int(self.count[AT.done])
            status = self.advance(drive, done + 1)
            if status != Status.OK:
                yield [SystemStep(t, state, t, state, done, status)]
                return
            new = float(self.memory[collocation.TIME])
            yield [SystemStep(t, state, new, np.array(self.y), done, inside=self._at_nodes(new - t))]

    def _at_nodes(self, h: float) -> tuple[tuple[float, Floats], ...]:
        """Returns the nodes of the last step, and the states there."""
        n = self.n
        rows = self.memory[collocation.HEAD : collocation.HEAD + collocation.NODES * collocation.ROWS * n].reshape(
            -1, collocation.NODES
        )
        order = np.r_[13 * n : 20 * n, 10 * n : 13 * n, 20 * n : 23 * n]  # positions, attitudes, velocities, momenta
        return tuple((c * h, np.array(y)) for c, y in zip(collocation.PLACES, rows[order].T, strict=True))

    def within(self, step: SystemStep, length: float) -> Floats:
        """Returns the state after a part of the step that was made last, which changes nothing else."""
        memory, count = self.memory, self.count
        self.t, t, self.out, out = np.array([step.t + length]), self.t, np.empty((1, self.y.size)), self.out
        # The step is made again with an output time in it: the loop then makes a step aside, by the same polynomial.
        with self.unchanged():
            self.y[:] = step.before
            memory[collocation.TIME], memory[collocation.NEXT] = step.t, step.t_new - step.t
            count[AT.rows], count[AT.row] = 1, 0
            status = self._call(self.loop(), int(count[AT.done]) + 1)
        found, self.t, self.out = np.array(self.out[0]), t, out
        if status != 0:
            raise self.failed(Status(status))
        return found

    # --- what there is

    @property
    def t_reached(self) -> float:
        """The time that was reached."""
        return float(self.memory[collocation.TIME]) if self.stopped is None else self.stopped

    def assembled(self, status: Status) -> SystemSolution:
        """Returns a solution of what there is."""
        rows = int(self.count[AT.row])
        return self.solution_of(status, np.array(self.t[:rows]), self.out[:rows])

    def solution_of(self, status: Status, t: Floats, rows: Floats) -> SystemSolution:
        """Returns a solution with these rows, given as times and states."""
        x, q, v, m = outward(self.system, rows)
        plan, done, reached = self.plan, int(self.count[AT.done]), self.t_reached
        return SystemSolution(
            system=self.system, forces=self.forces, method=plan.method.name,
            step=(reached - self.t_begin) / done if done else float(self.memory[collocation.NEXT]), t=t, position=x,
            quaternion=q, velocity=v, momentum=m, status=status, message=self._message(status),
            t_span=(self.t_begin, plan.t_end), t_last=reached, last=np.array(self.y), grid=(reached, 0),
            step_error=self.level.step_error,
            stats=Stats(done, int(self.count[AT.evaluations]), self.seconds),
        )  # fmt: skip

    def _where(self) -> str:
        return f"after {int(self.count[AT.done]):,} steps, at t = {self.t_reached:.12g}"

    def _message(self, status: Status) -> str:
        if status == Status.NO_CONVERGENCE:  # steps were made shorter until nothing was left of them
            status = Status.STALLED
        return super()._message(status)

    _remedy = "the forces may be infinite or jump there"
