"""One run: the grid, the compiled driver called in chunks, and the solution that is left of it."""

import math
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from polhode import _check
from polhode._arrays import Floats
from polhode._check import FEW
from polhode.compiled import CompilationFailed, KernelRaised, compiles, program
from polhode.core import status as codes
from polhode.core.adams import Adams
from polhode.core.compose import Composed, Increments, Kicked, Routine, Splitting
from polhode.core.dmv import MoserVeselov
from polhode.core.drive import AT, COUNTERS, SETTING, STATE, driver
from polhode.core.flows import is_prepared, principal_torque
from polhode.core.quat import conjugate, multiply, to_space
from polhode.core.types import Depends, Params, Rotor, Scales, State, Stepper, UserTorque, Vec3
from polhode.core.variable import Adaptive, Reversible
from polhode.core.vec import times as products
from polhode.integration.nudge import Nudged
from polhode.solution import Run, Solution

SIGNATURE = "ppppppnndddi"
"""Of the compiled driver: six arrays of floats, two of integers, t0, h, last, stop."""

CHUNK_SECONDS = 0.05
"""Compiled code returns about so often, for progress and Ctrl-C."""
FIRST_EVALUATIONS = 1000
"""Of the torque, before it is known how long they take, where nobody waits to hear of it: many runs have no more."""
MUCH_MORE = 64.0
"""By so much a chunk may be longer than the one before, where nobody waits to hear of it."""
MANY_EVALUATIONS = 64
"""In a step that makes as many as it needs: eight iterations at eight nodes."""

HARMLESS = 1e50
"""Sixth powers of numbers between this and its inverse are floats."""

FLOATS = frozenset({float, np.float64})
"""What a torque usually returns."""

Progress = Callable[[int, int], None]
"""Called with the steps done and the steps in all."""


class SimulationFailed(ArithmeticError):
    """The run could not go on. `solution` holds everything up to the last good state."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


class CannotGoOn(Exception):
    """A run has stopped. The reason is looked for only if it is to be told: that takes longer than many a run."""

    def __init__(self, stopped: "Integration", status: int) -> None:
        super().__init__()
        self.stopped, self.status = stopped, status

    def failure(self) -> SimulationFailed:
        """The reason, and what there is."""
        return SimulationFailed(self.stopped._assembled(self.status))


class NotWanted(Exception):
    """Nobody waits for the run any more."""


class SimulationInterrupted(KeyboardInterrupt):
    """The user stopped the run. `solution` holds everything up to the last step."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


# --- the grid ------------------------------------------------------------------------------------------------------


class Segment(NamedTuple):
    """A stretch without jumps: `steps` steps of length h from t0, the last one of length `last`, to t1."""

    t0: float
    t1: float
    h: float
    last: float
    steps: int


def segments(t0: float, t1: float, h: float, breakpoints: tuple[float, ...]) -> list[Segment]:
    """The run cut at the breakpoints that lie inside it, each piece with a grid of its own."""
    if not breakpoints:
        return [_segment(t0, t1, h)]
    inside = [b for b in breakpoints if min(t0, t1) < b < max(t0, t1)]
    ends = [t0, *(inside if t1 > t0 else reversed(inside)), t1]
    return [_segment(a, b, h) for a, b in pairwise(ends)]


def _segment(a: float, b: float, h: float) -> Segment:
    ratio = (b - a) / h
    if ratio > 2**53:
        raise ValueError(f"step {h:g} needs {ratio:.2g} steps: take a longer one")
    whole = round(ratio)
    steps = max(1, whole if abs(ratio - whole) < 1e-6 else math.ceil(ratio))
    last = b - (a + (steps - 1) * h)
    if abs(last - h) <= 4 * math.ulp(max(abs(a), abs(b))):
        last = h  # the difference is round-off of the times
    return Segment(a, b, h, last, steps)


def plan(piece: Segment, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """For each listed time the grid point before it and how far it lies beyond; on the grid that is exactly zero."""
    if times.size <= FEW:
        return _plan_of_few(piece, times)
    t0, _, h, last, steps = piece
    before = np.minimum(np.floor((times - t0) / h), steps - 1)
    offset = times - (t0 + before * h)
    near = 8 * np.spacing(np.maximum(np.abs(times), abs(t0)))
    after = np.abs(offset - np.where(before == steps - 1, last, h)) <= near
    offset[after | (np.abs(offset) <= near)] = 0.0
    return (before + after).astype(np.int64), offset


def _plan_of_few(piece: Segment, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The same one by one: for a few times the calls of NumPy take longer."""
    t0, _, h, last, steps = piece
    index: list[int] = []
    offsets: list[float] = []
    ulp = math.ulp
    final, nearest = steps - 1, 8 * ulp(t0)
    for t in times.tolist():
        before, length = int((t - t0) / h), h
        if before >= final:
            before, length = final, last
        offset, near = t - (t0 + before * h), 8 * ulp(t)
        if near < nearest:
            near = nearest
        if -near <= offset - length <= near:
            before, offset = before + 1, 0.0
        elif -near <= offset <= near:
            offset = 0.0
        index.append(before)
        offsets.append(offset)
    return np.array(index, dtype=np.int64), np.array(offsets)


# --- the run -------------------------------------------------------------------------------------------------------


class Itself:
    """A value that is equal to itself only. Schemes are tuples, and tuples of different classes can be equal."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


@lru_cache(maxsize=128)
def of_any_size(scheme: Itself) -> bool:
    """Whether the scheme is bound alike for runs of all sizes: not, if it has flows that are prepared for them."""
    match scheme.value:
        case Splitting(stages):
            return not any(is_prepared(stage.flow) for stage in stages)
        case Composed(base) | Kicked(base) | Reversible(base):
            return of_any_size(Itself(base))
    return isinstance(scheme.value, Routine | Increments | Adams | Adaptive | MoserVeselov)


ANY_SIZE = tuple(Scales((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), 1.0, axis=axis) for axis in range(4))
"""What such a scheme is bound with, so that another start needs no other step: by the axis of symmetry."""


@lru_cache(maxsize=128)
def bound(
    scheme: Itself, kernel: UserTorque, tilted: bool, windowed: bool, depends: Depends, scales: Scales
) -> Stepper:
    """A scheme with its torque in place. The same for the same, so that a short run need not be taken apart again."""
    made: Stepper = scheme.value.bind(_pull_of(kernel, tilted=tilted, windowed=windowed), depends, scales)
    return made


_pull_of = lru_cache(maxsize=128)(principal_torque)
_driver_of = lru_cache(maxsize=128)(driver)


class Integration:
    """One run. Whatever changes lives in arrays that the compiled driver fills, so a solution can be made any time."""

    earlier = later = 0
    """Steps before and after it that are to be told of, if it is a stretch of a longer run."""
    unwanted = False
    """Set on another thread, it ends the run after a chunk."""

    def __init__(
        self, run: Run, q: Floats, m: Floats, times: Floats | None,
        progress: Progress | None, announce: Callable[[], None] | None, memory: tuple[float, ...] = (),
        *, tilted: bool = False, many: bool = False, effort: tuple[float, float] = (0.0, 0.0),
    ) -> None:  # fmt: skip
        """The last three are for a body that stands for others: they may be tilted, less symmetric or faster."""
        self.progress, self.announce = progress, announce
        self.tilted, self.many, self.effort = tilted or not run.body.aligned, many, effort
        a, b, c = _triple(run.body.moments)
        self.body = Rotor((a, b, c), (1.0 / a, 1.0 / b, 1.0 / c))
        values = list(run.torque.parameters(run.body))
        self.values = np.array(_check.numbers("parameters", values, len(values)))
        self.axes = tuple(run.body.axes_quaternion.tolist())
        self._plan(run, q, m, times)
        size = self._probe()
        if run.torque_size is None:  # else the run is resumed, and keeps its scales
            self.run = run.having(torque_size=size)
        self._take_stepper()
        if len(memory) == self.stepper.memory > 0:
            self.carried[:] = memory
            if run.t_start not in run.torque.breakpoints:
                self.count[AT.resumed] = 1
                self.evaluations = -self._counted()

    def beside(self, run: Run, times: Floats | None, nudged: Nudged | None = None) -> Self:
        """Another run of this body under this torque, which need not be tried again, by such a method."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        m = run.momentum_start
        if nudged is not None:
            m, other.body = nudged.momentum, Rotor(self.body.inertia, _triple(nudged.inverses))
        other._plan(run.having(torque_size=self.run.torque_size), run.quaternion_start, m, times)
        if run.method.scheme is self.run.method.scheme and other._sizes() == self.scales:
            other.carried = np.zeros(self.carried.size)  # the same loop will do
        else:
            other._take_stepper()
        return other

    def _plan(self, run: Run, q: Floats, m: Floats, times: Floats | None) -> None:
        """Stand at the start of this run."""
        self.run, self.times = run, times
        self.pieces = segments(run.t_start, run.t_end, run.step * run.method.advance, run.torque.breakpoints)
        self.piece = self.pieces[0]
        self.state = self._inward(q, m)
        self.count = np.zeros(COUNTERS, dtype=np.int64)
        self.count[AT.values] = self.values.size
        self._reserve()
        self.before = 0  # steps in the segments that are finished
        self.evaluations = 0  # in them, of a stepper that counts its own
        self.starts = 0
        self.seconds = 0.0

    def _take_stepper(self) -> None:
        """The step of this run, with nothing to remember yet."""
        self.native, self.scales = compiles(), self._sizes()
        self.stepper = self._bind()
        self.carried = np.zeros(max(1, self.stepper.memory))
        self.drive: Callable[..., int] | None = None

    def _reserve(self) -> None:
        """Room for the output."""
        self.total = sum([piece.steps for piece in self.pieces])
        if self.times is not None:
            rows, self.ragged = self.times.size, False
        else:
            whole, rest = divmod(self.total, _positive(self.run.every))
            rows, self.ragged = whole + 1, rest > 0  # the end is no multiple of `every`
        self.out = _rows(rows + self.ragged)
        self.count[AT.rows] = rows

    def solution(self) -> Solution:
        """Run to the end, or raise with what there is."""
        try:
            return self.attempt()
        except CannotGoOn as problem:
            raise problem.failure() from None

    def attempt(self) -> Solution:
        """The same where it is nobody's business yet why a run cannot go on."""
        try:
            status = self._all()
        except KeyboardInterrupt:
            raise SimulationInterrupted(self._assembled(codes.INTERRUPTED)) from None
        if status != codes.OK:
            raise CannotGoOn(self, status)
        return self._assembled(status)

    def _bind(self, form: int | None = None) -> Stepper:
        torque, scheme = self.run.torque, Itself(self.run.method.scheme)
        scales = self.scales if form is None else self.scales._replace(form=form)
        windowed = len(torque.breakpoints) > 0
        return bound(scheme, torque.torque_kernel, self.tilted, windowed, torque.depends, scales)

    def _sizes(self) -> Scales:
        """The scales, if the scheme looks at them."""
        return ANY_SIZE[self._axis] if of_any_size(Itself(self.run.method.scheme)) else self._scales()

    @property
    def _axis(self) -> int:
        """Of symmetry, if the method makes use of it, and all bodies have it."""
        return self.run.body.symmetry_axis if self.run.method.comoves and not self.many else 0

    def _scales(self) -> Scales:
        """Of the start of the run, also when it is resumed: the same program, the same bits."""
        run = self.run
        momentum = run.momentum_start if run.body.aligned else run.momentum_start @ run.body.axes
        depends = run.torque.depends
        changes = depends is not Depends.POSITION and bool(depends & (Depends.TIME | Depends.RATE))
        changes = changes or bool(run.torque.breakpoints)
        step = (run.longest_step or run.step) * run.method.advance
        conserves = run.torque.potential_kernel is not None and not changes
        size = (self.body.inertia, _triple(momentum), step, run.torque_size or 0.0)
        return Scales(*size, changes, conserves, self.many, self.effort, axis=self._axis)

    def compiled(self) -> Callable[..., int]:
        """The loop, ready to run."""
        if self.drive is None:
            self.drive = self.program(self._driver, SIGNATURE, self.announce)
        return self.drive

    def _all(self) -> int:
        drive = self.compiled()
        for piece in self.pieces:
            status = self._through(piece, drive)
            if status != codes.OK:
                return status
        return codes.OK

    def program(
        self, drive_with: Callable[[Stepper], Any], signature: str, announce: Callable[[], None] | None
    ) -> Callable[..., int]:
        """The compiled loop around the step: in the first form of the scheme that compiles."""
        for form in range(self._forms()):
            with suppress(CompilationFailed):
                return program(drive_with(self._bind(form)), signature, announce, tentative=True)
        try:
            return program(drive_with(self.stepper), signature, announce)
        except CompilationFailed as problem:
            name = self.run.torque.name
            raise CompilationFailed(f"{self.run.method.name} with {name} cannot be compiled:\n{problem}") from None

    def _forms(self) -> int:
        """How many forms there are that compute the points of a step together."""
        forms = len(getattr(self.run.method.scheme, "in_lanes", ()))
        return forms if self.native else 0

    def in_lanes(self) -> bool:
        """Whether all points of a step can be computed together, the torque included."""
        if self._forms() == 0:
            return False
        try:
            program(self._driver(self._bind(0)), SIGNATURE, self.announce, tentative=True)
        except CompilationFailed:
            return False
        return True

    def _driver(self, stepper: Stepper) -> Callable[..., int]:
        return _driver_of(stepper)

    def _through(self, piece: Segment, drive: Callable[..., int]) -> int:
        """One segment, in chunks."""
        self.piece = piece
        index, offset = self._outputs(piece)
        setting = self._setting(piece)

        def to(stop: int) -> int:
            return drive(
                setting, self.values, self.state, self.carried, offset, self.out.reshape(-1), index, self.count,
                piece.t0, piece.h, self._end(piece), stop,
            )  # fmt: skip

        each = self.stepper.evaluations_per_step
        some = max(1, FIRST_EVALUATIONS // max(1, MANY_EVALUATIONS if each is None else each))
        chunk, growth = (some, MUCH_MORE) if self.native and not self.progress else (1, 4.0)
        self.starts += 1 - int(self.count[AT.resumed])
        while not self._finished(piece):
            done = int(self.count[AT.done])
            stop = self._stop(piece, done + chunk)
            clock = time.perf_counter()
            try:
                status = to(stop)
            except Exception as problem:  # compiled code says KernelRaised, plain Python what the torque has raised
                if stop - done > 1:
                    chunk = (stop - done) // 2  # nothing has changed: find the guilty step by halving
                    continue
                if not isinstance(problem, KernelRaised) and not self._complaint(self._grid(done)):
                    raise
                self._outputs_before_failure(to, done)
                return codes.RAISED
            spent = time.perf_counter() - clock
            self.seconds += spent
            self._collect()
            if status != codes.OK:
                return status
            made = int(self.count[AT.done]) - done  # which may be less than the chunk, if the output had no more room
            chunk = max(1, int(made * min(growth, CHUNK_SECONDS / max(spent, 1e-6))))
            if self.progress:
                self._tell(self.progress)
            if self.unwanted:
                raise NotWanted
        self.before += int(self.count[AT.done])
        self.count[AT.done] = self.count[AT.resumed] = 0
        self.evaluations += self._counted()
        return codes.OK

    def _tell(self, progress: Progress) -> None:
        """What goes wrong in the user's function ends the run, but loses nothing."""
        try:
            progress(self.earlier + self.done, self.earlier + self._steps_in_all() + self.later)
        except Exception as problem:
            problem.solution = self._assembled(codes.INTERRUPTED)  # type: ignore[attr-defined]
            problem.add_note("raised by `progress`; what was computed is the `solution` of this exception")
            raise

    # --- what is different where steps choose their length (`_own_clock.py`)

    def _end(self, piece: Segment) -> float:
        """How the driver is told of the end of a segment: the length of the last step."""
        return piece.last

    def _finished(self, piece: Segment) -> bool:
        return bool(self.count[AT.done] == piece.steps)

    def _stop(self, piece: Segment, wanted: int) -> int:
        """How many steps of the segment are to be done after the next chunk."""
        return min(piece.steps, wanted)

    def _collect(self) -> None:
        """After a chunk: the output may need room."""

    def _steps_in_all(self) -> int:
        return self.total

    def _steps_told(self, done: int) -> str:
        """How far a run came, in words."""
        return f"{self.earlier + done} of {self.earlier + self.total + self.later}"

    def _output(self, status: int, done: int) -> tuple[Floats, Floats]:
        """Times and states of all rows there are."""
        rows = int(self.count[AT.row])
        if status == codes.OK and self.ragged:
            self.out[rows] = self.state
            rows += 1
        return self._grid_times(done, rows) if self.times is None else self.times[:rows].copy(), self.out[:rows]

    # --- a failure, to the very step

    def _outputs_before_failure(self, to: Callable[[int], int], done: int) -> None:
        """Save, row by row, what is due before the step or the step aside that raises."""
        rows = int(self.count[AT.rows])
        with suppress(Exception):
            while (row := int(self.count[AT.row])) < rows:
                self.count[AT.rows] = row + 1
                to(done)
                if self.count[AT.row] == row:
                    break
        self.count[AT.rows] = rows

    def _outputs(self, piece: Segment) -> tuple[NDArray[np.int64], Floats]:
        """Tell the driver what is due in this segment: every so many steps, or a list of times."""
        count = self.count
        count[AT.done], count[AT.steps] = 0, piece.steps
        here = None if self.times is None else self._listed(piece, self.times)
        if here is None:
            count[AT.every], count[AT.due] = self._strides(piece)
        else:
            count[AT.next], count[AT.times], count[AT.due] = 0, here.size, piece.steps + 1
        if here is None or not here.size:
            return np.zeros(1, dtype=np.int64), np.zeros(1)
        index, offset = plan(piece, here)
        count[AT.due] = index[0]
        return index, offset

    def _strides(self, piece: Segment) -> tuple[int, int]:
        """Every how many steps there is output in this segment, and after how many for the first time."""
        every = _positive(self.run.every)
        return every, 0 if piece is self.pieces[0] else every - self.before % every

    def _listed(self, piece: Segment, times: Floats) -> Floats:
        """The times, in the order of the run, that lie in this segment. The start is in the first one only."""
        if len(self.pieces) == 1:
            return times
        sign = math.copysign(1.0, piece.h)
        after = bisect_left if piece is self.pieces[0] else bisect_right
        first = after(times, sign * piece.t0, key=lambda t: sign * t)
        return times[first : bisect_right(times, sign * piece.t1, key=lambda t: sign * t)]

    def _setting(self, piece: Segment) -> Floats:
        """The fixed numbers of a segment."""
        body = self.body
        setting = np.array([*body.inertia, *body.inverse, *self.axes, *_window(piece), *self.run.method.tuning])
        assert setting.size == SETTING
        return setting

    def _kernel_arguments(self, piece: Segment) -> tuple[Rotor, Params]:
        """The same for kernels."""
        return self.body, Params(self.values, self.axes, _window(piece), self.run.method.tuning)

    # --- from the user's axes and back

    def _inward(self, q: Floats, m: Floats) -> Floats:
        """A state in principal axes, as the driver wants it."""
        if not self.run.body.aligned:
            q = np.array(multiply(tuple(q.tolist()), self.axes))
            m = m @ self.run.body.axes
        return np.array([*q.tolist(), *m.tolist()])

    def _outward(self, states: Floats, *, as_computed: bool = False) -> tuple[Floats, Floats]:
        """Rows of states in the user's axes."""
        q, m = states[:, :4], states[:, 4:STATE]
        if self.run.method.unscaled and not as_computed:
            q = q / np.sqrt(np.einsum("ij,ij->i", q, q))[:, None]
        if not self.run.body.aligned:
            back = multiply(tuple(q.T), conjugate(self.axes))  # columns: the same algebra
            q, m = np.stack(back, axis=1), m @ self.run.body.axes.T
        return q, m

    def _last(self) -> tuple[Floats, Floats]:
        """The state that was reached in the user's axes, as computed."""
        q, m = self.state[:4], self.state[4:STATE]
        if self.run.body.aligned:
            return q, m
        return np.array(multiply(tuple(q.tolist()), conjugate(self.axes))), m @ self.run.body.axes.T

    # --- the result

    def _assembled(self, status: int) -> Solution:
        """Everything computed so far."""
        done = self.done
        t_last = self._grid(int(self.count[AT.done]))
        t, states = self._output(status, done)
        q, m = self._outward(states)
        last_q, last_m = self._last()
        run = self.run.having(steps=done, nfev=self.nfev, seconds=self.seconds)
        message = self._message(status, t_last, done)
        memory = tuple(self.carried[: self.stepper.memory].tolist()) if done else ()
        return Solution(run, t, q, m, status, message, t_last, last_q, last_m, memory)

    @property
    def done(self) -> int:
        """Steps so far."""
        return self.before + int(self.count[AT.done])

    @property
    def nfev(self) -> int:
        """Evaluations of the torque so far, in all steps and steps aside."""
        each = self.stepper.evaluations_per_step
        if each is None:
            return self.evaluations + (self._counted() if self.count[AT.done] else 0)
        steps = self.done + int(self.count[AT.asides])
        return self.starts * self.stepper.evaluations_at_start + each * steps + int(self.count[AT.others])

    def _counted(self) -> int:
        """What the memory of a stepper says that counts its evaluations."""
        return int(self.carried[-1]) if self.stepper.evaluations_per_step is None else 0

    def _grid(self, done: int) -> float:
        """The time after so many steps of the current segment (which is 0 again after the last one)."""
        if self.before == self.total:
            return self.run.t_end
        return self.piece.t1 if done == self.piece.steps else self.piece.t0 + done * self.piece.h

    def _grid_times(self, done: int, rows: int) -> Floats:
        """The times of the first rows of output every so many steps; the last step may be a row more."""
        t = np.arange(rows, dtype=np.float64)
        t *= _positive(self.run.every)
        np.minimum(t, done, out=t)  # now: how many steps lie before each row
        ends = np.cumsum([piece.steps for piece in self.pieces])
        first, before = 0, 0
        for piece, after, last in zip(self.pieces, ends, np.searchsorted(t, ends, side="right"), strict=True):
            ends_here = last > first and t[last - 1] == after
            part = t[first:last]
            part -= before
            part *= piece.h
            part += piece.t0
            if ends_here:
                part[-1] = piece.t1
            first, before = last, after
        return t

    def _message(self, status: int, t: float, done: int) -> str:
        if status == codes.OK:
            return f"reached t = {t:.12g} in {done} steps"
        method, h = self.run.method.name, self.run.step
        where = f"after {self._steps_told(done)} steps, at t = {t:.12g}; what was computed is in the solution"
        if status == codes.INTERRUPTED:
            return f"interrupted {where}"
        if complaint := self._complaint(t):
            return f"the torque {self.run.torque.name} {complaint} {where}"
        if status == codes.RAISED:
            return f"the torque {self.run.torque.name} raised an exception {where}"
        if status == codes.NO_CONVERGENCE:
            return f"{method} could not solve its step equation with step {h:g} {where}: {self._remedy()}"
        if status == codes.STALLED:
            remedy = self._remedy("choose a wider tolerance or another method")
            return f"the steps of {method} became too short {where}: {remedy}"
        if status == codes.UNCOVERED:
            cause = "it is too close to a steady rotation or to the separatrix, or the body to a sphere"
            return f"the formulas of {method} do not cover this motion ({cause}) {where}: use Exact"
        return f"{method} left the finite numbers with step {h:g} {where}: {self._remedy()}"

    def _remedy(self, usual: str = "take a shorter step") -> str:
        """What to try, unless products of the numbers given leave the range of floats whatever the step."""
        moments, momentum = self.run.body.moments, float(np.abs(self.run.momentum_start).max())
        if not 1.0 / HARMLESS < float(moments.min()) <= float(moments.max()) < HARMLESS:
            power = round(math.log10(moments.max()))
            return f"choose a unit of mass in which moments are nearer to one, here 1e{power} kg (for torques, too)"
        if not (momentum == 0.0 or 1.0 / HARMLESS < momentum < HARMLESS):
            power = round(math.log10(moments.max()) - math.log10(momentum))
            return f"choose a unit of time in which the momentum is nearer to one, here 1e{power} s"
        return usual

    def _complaint(self, t: float) -> str | None:
        """What the torque did wrong, found by making the failed step again in plain Python."""
        torque = self.run.torque.torque_kernel
        complaints: list[str] = []
        span = sorted((self.run.t_start, self.run.t_end))

        def complain(what: str, t: float) -> None:
            beyond = f" at t = {t:.12g}, beyond the ends of the span, where correctors look (take a method without one)"
            complaints.append(what if stepper.enter is None or span[0] <= t <= span[1] else what + beyond)

        def watched(t: float, q: Any, w: Any, p: Any) -> Any:
            try:
                n = torque(t, q, w, p)
            except Exception as problem:  # the user's code may raise anything
                complain(f"raised {type(problem).__name__}: {problem}", t)
                raise
            sound = np.isfinite(w).all() and all(abs(x) < 10.0 for x in q)  # no attitude tells a torque nothing
            if any(isinstance(x, complex) for x in n):
                complain(f"returned ({', '.join(f'{x:g}' for x in n)}), which are not all real numbers", t)
            elif sound and not np.isfinite(np.asarray(n, dtype=float)).all():
                complain(f"returned ({', '.join(f'{x:g}' for x in n)})", t)
            return n

        pull = principal_torque(watched, tilted=self.tilted, windowed=bool(self.run.torque.breakpoints))
        stepper = self.run.method.scheme.bind(pull, self.run.torque.depends, self.scales)
        s = self._kernel_state()
        body, p = self._kernel_arguments(self.piece)
        with np.errstate(all="ignore"), suppress(Exception):  # in plain Python a division by zero raises, also of ours
            for length in self._lengths_from_here():
                inside = s if stepper.enter is None else stepper.enter(body, p, t, s, length)
                memory = stepper.start(body, p, t, inside)
                new, _, _ = stepper.step(body, p, t, inside, length, memory)
                if stepper.leave is not None:
                    stepper.leave(body, p, t + length, new, length)
                if complaints:
                    break
        return complaints[0] if complaints else None

    def _lengths_from_here(self) -> list[float]:
        """Of the steps aside that were due where the run stopped, and of the step after them."""
        done, asides = int(self.count[AT.done]), list[float]()
        if self.times is not None:
            index, offset = plan(self.piece, self.times[int(self.count[AT.row]) :])
            asides = offset[(index == done) & (offset != 0.0)].tolist()
        return [*asides, self.piece.last if done == self.piece.steps - 1 else self.piece.h]

    def _kernel_state(self) -> State:
        q0, q1, q2, q3, m0, m1, m2, *_ = self.state.tolist()  # a clock may follow
        return State((q0, q1, q2, q3), (m0, m1, m2))

    def _probe(self) -> float:
        """Call the torque once in plain Python: a mistake in it is best told before anything is compiled.

        Returns its size.
        """
        torque, t = self.run.torque, self.run.t_start
        q, m = self._kernel_state()
        w = products(m, self.body.inverse)
        if not self.run.body.aligned:
            q, w = multiply(q, conjugate(self.axes)), to_space(self.axes, w)
        t_seen = t
        if torque.breakpoints:
            low, high = _window(self.piece)
            t_seen = min(max(t, low), high)
        try:
            n = torque.torque_kernel(t_seen, q, w, self.values)
        except Exception as problem:  # the user's code may raise anything
            raise ValueError(
                f"the torque {torque.name} raised {type(problem).__name__} at t = {t:g}: {problem}"
            ) from problem
        size = self._size(n, t)
        if torque.potential_kernel is not None:
            self._probe_potential(torque.potential_kernel, t_seen, q)
        return size

    def _size(self, n: Any, t: float) -> float:
        """Of what a torque has returned, which may be anything."""
        plain = isinstance(n, tuple) and len(n) == 3 and FLOATS.issuperset(map(type, n))
        if plain and math.isfinite(size := math.hypot(*n)):
            return size
        given, name = np.asarray(n), self.run.torque.name
        if given.shape != (3,):
            raise ValueError(f"the torque {name} must return three numbers, not {n!r}")
        numbers = given.astype(float)
        if not np.isfinite(numbers).all():
            raise ValueError(f"the torque {name} returned {tuple(n)} at t = {t:g}, at the very start")
        return math.hypot(*numbers.tolist())

    def _probe_potential(self, potential: Any, t: float, q: Any) -> None:
        name = self.run.torque.name
        try:
            energy = float(potential(t, q, self.values))
        except Exception as problem:  # the user's code may raise anything
            kind = type(problem).__name__
            raise ValueError(f"the potential of {name} raised {kind} at t = {t:g}: {problem}") from problem
        if not math.isfinite(energy):
            raise ValueError(f"the potential of {name} is {energy} at t = {t:g}, at the very start")


def _window(piece: Segment) -> tuple[float, float]:
    """Times are seen strictly inside a segment: jumps belong to neither side."""
    low, high = (piece.t0, piece.t1) if piece.t0 < piece.t1 else (piece.t1, piece.t0)
    return math.nextafter(low, math.inf), math.nextafter(high, -math.inf)


def _triple(x: Floats) -> Vec3:
    a, b, c = x.tolist()
    return (a, b, c)


def _rows(count: int) -> Floats:
    try:
        return np.empty((count, STATE))
    except (MemoryError, ValueError):
        size = count * STATE * 8 / 2**30
        raise MemoryError(f"{count} rows of output need {size:.3g} GiB: ask for fewer with every= or t_eval=") from None


def _positive(every: int | None) -> int:
    assert every is not None
    return every
