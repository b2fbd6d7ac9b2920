"""simulate(...) -> Solution: one body, one method, fixed steps."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode import _check
from polhode._check import Floats
from polhode.body import Body
from polhode.compiled import CompilationFailed, KernelRaised, program
from polhode.core import status as codes
from polhode.core.drive import AT, SETTING, STATE, Counters, driver
from polhode.core.flows import principal_torque
from polhode.core.quat import conjugate, multiply, to_space
from polhode.core.types import Depends, Params, Rotor, Scales, State, Stepper, Vec3
from polhode.core.vec import times as products
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run, Solution
from polhode.torques import Torque
from polhode.torques.free import Free

SIGNATURE = "ppppppnndddi"
"""Of the compiled driver: six arrays of floats, two of integers, t0, h, last, stop."""

CHUNK_SECONDS = 0.05
"""Compiled code returns about so often, for progress and Ctrl-C."""

Progress = Callable[[int, int], None]
"""Called with the steps done and the steps in all."""


class SimulationFailed(ArithmeticError):
    """The run could not go on. `solution` holds everything up to the last good state."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


class SimulationInterrupted(KeyboardInterrupt):
    """The user stopped the run. `solution` holds everything up to the last step."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


def simulate(
    body: Body,
    torque: Torque | None = None,
    *,
    omega: Any,
    attitude: Any = None,
    t_span: tuple[float, float],
    step: float,
    method: str | Method,
    t_eval: Any = None,
    every: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[], None] | None = None,
) -> Solution:
    """Turn a body from `t_span[0]` to `t_span[1]` in steps of a fixed length.

    Parameters
    ----------
    body, torque
        What turns and what turns it; without a torque the body is free.
    omega
        Initial angular velocity in body axes, rad/s.
    attitude
        Initial rotation from body to space axes: a SciPy `Rotation`, a quaternion (scalar first) or a matrix.
        Default: the axes coincide.
    t_span, step
        Start and end, which may lie before the start; the length of a step. If it does not divide the span, the last
        step is shorter.
    method
        A name of `polhode methods`, or a `Method`.
    t_eval, every
        Output at these times, or every so many steps (default 1, and always at the end). Output never changes the
        run: times off the grid are reached by a step aside.
    progress, announce
        Called with (steps done, steps in all) about twenty times a second; called before a compilation.

    Raises
    ------
    SimulationFailed
        If a step cannot be made. Everything computed so far is in its `solution`.
    SimulationInterrupted
        A `KeyboardInterrupt` with a `solution`.
    """
    run, times = planned(
        body,
        torque,
        omega=omega,
        attitude=attitude,
        t_span=t_span,
        step=step,
        method=method,
        t_eval=t_eval,
        every=every,
    )
    return _Integration(run, run.quaternion_start, run.momentum_start, times, progress, announce).solution()


def planned(
    body: Body,
    torque: Torque | None = None,
    *,
    omega: Any,
    attitude: Any = None,
    t_span: tuple[float, float],
    step: float,
    method: str | Method,
    t_eval: Any = None,
    every: int | None = None,
) -> tuple[Run, Floats | None]:
    """What `simulate` would do with these arguments, checked, and the output times if they are listed."""
    torque = Free() if torque is None else torque
    if not isinstance(body, Body):
        raise TypeError(f"body must be a polhode.Body, not {body!r}: write Body({body!r})")
    if not isinstance(torque, Torque):
        raise TypeError(f"torque must be a polhode torque, not {torque!r}: decorate a function with @polhode.torque")
    chosen = method if isinstance(method, Method) else find_method(method)
    _check_accepted(chosen, torque)
    t0, t1 = _span(t_span)
    h = _step(step, t0, t1)
    if every is not None and t_eval is not None:
        raise ValueError("give either t_eval or every, not both")
    if every is not None and (isinstance(every, bool) or int(every) != every or every < 1):
        raise ValueError(f"every must be a positive whole number of steps, not {every!r}")
    stride = None if t_eval is not None else int(every or 1)
    times = None if t_eval is None else _times(t_eval, t0, t1)
    q = _check.quaternion("attitude", attitude)
    w = _check.array("omega", omega, (3,))
    return Run(body, torque, chosen, h, t0, t1, stride, q, body.momentum(w)), times


def resume(
    solution: Solution,
    t_end: float,
    *,
    torque: Torque | None = None,
    method: str | Method | None = None,
    t_eval: Any = None,
    progress: Progress | None = None,
    announce: Callable[[], None] | None = None,
) -> Solution:
    """Go on from where a solution ended, with the same method and step; returns the whole motion.

    Output every so many steps counts from there. What the method remembers is handed over, so that a continued run is
    the run in one go; with another torque or method it starts by itself from the state.
    A solution from a file needs its `torque` again if that was a user's function, and its `method` if that was not one
    of polhode's.
    """
    old = solution.run
    end = _check.number("t_end", t_end)
    if (end - solution.t_last) * old.step <= 0:
        raise ValueError(f"t_end must lie beyond the last time {solution.t_last:g}, not at {end:g}")
    if t_eval is None and old.every is None:
        raise ValueError("this solution has output at listed times: give t_eval for the times to come")
    stride = None if t_eval is not None else old.every
    times = None if t_eval is None else _times(t_eval, solution.t_last, end)
    chosen = find_method(method) if isinstance(method, str) else method or old.method
    if torque is not None and not isinstance(torque, Torque):
        raise TypeError(f"torque must be a polhode torque, not {torque!r}: decorate a function with @polhode.torque")
    run = replace(old, t_start=solution.t_last, t_end=end, every=stride, torque=torque or old.torque, method=chosen)
    _check_accepted(run.method, run.torque)
    state = (solution.last_quaternion, solution.last_momentum)
    same = run.torque is old.torque and run.method == old.method and solution.t_last not in run.torque.breakpoints
    memory = solution.memory if same else ()
    new = _Integration(run, *state, times, progress, announce, memory).solution
    try:
        return _joined(solution, new())
    except SimulationFailed as failure:
        raise SimulationFailed(_joined(solution, failure.solution)) from None
    except SimulationInterrupted as stopped:
        raise SimulationInterrupted(_joined(solution, stopped.solution)) from None


def _joined(old: Solution, new: Solution) -> Solution:
    """Two stretches of one motion as one."""
    first = int(old.t.size > 0 and new.t.size > 0 and new.t[0] == old.t[-1])
    run = replace(
        new.run,
        t_start=old.run.t_start,
        steps=old.run.steps + new.run.steps,
        nfev=old.run.nfev + new.run.nfev,
        seconds=old.run.seconds + new.run.seconds,
    )
    return replace(
        new,
        run=run,
        message=f"{new.message}, after {old.run.steps} steps to t = {old.t_last:.12g}",
        metadata=old.metadata,
        t=np.concatenate([old.t, new.t[first:]]),
        quaternion=np.concatenate([old.quaternion, new.quaternion[first:]]),
        momentum=np.concatenate([old.momentum, new.momentum[first:]]),
    )


# --- what the user gave, checked -----------------------------------------------------------------------------------


def _check_accepted(method: Method, torque: Torque) -> None:
    if refused := method.refuses(torque.depends):
        from polhode.methods import catalogue

        others = [m.name for m in catalogue().values() if not m.refuses(torque.depends)]
        what = " and ".join(
            {Depends.POSITION: "the attitude", Depends.TIME: "time", Depends.RATE: "the rate"}[d] for d in refused
        )
        raise ValueError(
            f"{method.name} does not accept {torque.name}, a torque that depends on {what}: use {' or '.join(others)}"
        )


def _span(t_span: Any) -> tuple[float, float]:
    t0, t1 = _check.array("t_span", t_span, (2,)).tolist()
    if t0 == t1:
        raise ValueError(f"t_span must have a length: it starts and ends at {t0:g}")
    return t0, t1


def _step(step: Any, t0: float, t1: float) -> float:
    h = _check.number("step", step)
    if h == 0:
        raise ValueError("step must not be zero")
    if (t1 - t0) * h < 0:
        raise ValueError(
            f"step {h:g} leads away from {t1:g}: from {t0:g} it must be {'positive' if t1 > t0 else 'negative'}"
        )
    if abs(h) <= 4 * math.ulp(max(abs(t0), abs(t1))):
        raise ValueError(f"step {h:g} is lost in the round-off of the times {t0:g} to {t1:g}: take a longer step")
    return h


def _times(t_eval: Any, t0: float, t1: float) -> Floats:
    times = np.atleast_1d(np.asarray(t_eval, dtype=np.float64))
    if times.ndim != 1 or times.size == 0:
        raise ValueError(f"t_eval must be a list of times, not of shape {times.shape}")
    if not np.isfinite(times).all():
        bad = int(np.argmin(np.isfinite(times)))
        raise ValueError(f"t_eval must be finite, but t_eval[{bad}] is {times[bad]}")
    sign = 1.0 if t1 > t0 else -1.0
    if (sign * np.diff(times) <= 0).any():
        bad = int(np.argmax(sign * np.diff(times) <= 0))
        raise ValueError(
            f"t_eval must run from t_span[0] to t_span[1] without repetition, "
            f"but {times[bad]:g} is followed by {times[bad + 1]:g}: sort it, and remove duplicates with numpy.unique"
        )
    outside = (sign * times < sign * t0) | (sign * times > sign * t1)
    if outside.any():
        bad = int(np.argmax(outside))
        raise ValueError(f"t_eval[{bad}] = {float(times[bad])!r} lies outside t_span ({t0!r}, {t1!r})")
    return times


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


def _plan(piece: Segment, times: Floats) -> tuple[NDArray[np.int64], Floats]:
    """For each listed time the grid point before it and how far it lies beyond; on the grid that is exactly zero."""
    index = np.clip(np.floor((times - piece.t0) / piece.h), 0, piece.steps - 1).astype(np.int64)
    offset = times - (piece.t0 + index * piece.h)
    ends = np.where(index == piece.steps - 1, piece.last, piece.h)
    near = 8 * np.spacing(np.maximum(np.abs(times), abs(piece.t0)))
    after = np.abs(offset - ends) <= near
    index = index + after
    offset[after | (np.abs(offset) <= near)] = 0.0
    return index, offset


# --- the run -------------------------------------------------------------------------------------------------------


class _Integration:
    """One run. Whatever changes lives in arrays that the compiled driver fills, so a solution can be made any time."""

    def __init__(
        self, run: Run, q: Floats, m: Floats, times: Floats | None,
        progress: Progress | None, announce: Callable[[], None] | None, memory: tuple[float, ...] = (),
    ) -> None:  # fmt: skip
        self.run, self.times, self.progress, self.announce = run, times, progress, announce
        self.pieces = segments(run.t_start, run.t_end, run.step * run.method.advance, run.torque.breakpoints)
        self.total = sum(piece.steps for piece in self.pieces)
        self.values = _check.array(
            "parameters", list(run.torque.parameters(run.body)), (len(run.torque.parameters(run.body)),)
        )
        self.axes = tuple(run.body.axes_quaternion.tolist())
        self.state = self._inward(q, m)
        rows = times.size if times is not None else self.total // _positive(run.every) + 1
        self.ragged = times is None and self.total % _positive(run.every) != 0  # the end is no multiple of `every`
        self.out = _rows(rows + self.ragged)
        self.count = np.zeros(len(Counters()), dtype=np.int64)
        self.count[[AT.rows, AT.values]] = rows, self.values.size
        self.before = 0  # steps in the segments that are finished
        self.piece = self.pieces[0]
        self.starts = 0
        self.seconds = 0.0
        size = self._probe()
        if run.torque_size is None:  # else the run is resumed, and keeps its scales
            self.run = replace(run, torque_size=size)
        self.stepper = self._bind()
        self.carried = np.zeros(max(1, self.stepper.memory))
        self.evaluations = 0  # in finished segments, of a stepper that counts its own
        if len(memory) == self.stepper.memory > 0:
            self.carried[:] = memory
            self.count[AT.resumed] = 1
            self.evaluations = -self._counted()

    def solution(self) -> Solution:
        """Run to the end, or raise with what there is."""
        try:
            status = self._all()
        except KeyboardInterrupt:
            raise SimulationInterrupted(self._assembled(codes.INTERRUPTED)) from None
        solution = self._assembled(status)
        if status != codes.OK:
            raise SimulationFailed(solution)
        return solution

    def _bind(self) -> Stepper:
        torque = self.run.torque
        pull = principal_torque(
            torque.torque_kernel, tilted=not self.run.body.aligned, windowed=len(torque.breakpoints) > 0
        )
        return self.run.method.scheme.bind(pull, torque.depends, self._scales())

    def _scales(self) -> Scales:
        """Of the start of the run, also when it is resumed: the same program, the same bits."""
        run = self.run
        momentum = run.momentum_start @ run.body.axes
        changes = bool(run.torque.depends & (Depends.TIME | Depends.RATE)) or bool(run.torque.breakpoints)
        step = run.step * run.method.advance
        return Scales(_triple(run.body.moments), _triple(momentum), step, run.torque_size or 0.0, changes)

    def _all(self) -> int:
        try:
            drive = program(driver(self.stepper), SIGNATURE, self.announce)
        except CompilationFailed as problem:
            name = self.run.torque.name
            raise CompilationFailed(f"{self.run.method.name} with {name} cannot be compiled:\n{problem}") from None
        for piece in self.pieces:
            status = self._through(piece, drive)
            if status != codes.OK:
                return status
        return codes.OK

    def _through(self, piece: Segment, drive: Callable[..., int]) -> int:
        """One segment, in chunks."""
        self.piece = piece
        index, offset = self._outputs(piece)
        setting = self._setting(piece)

        def to(stop: int) -> int:
            return drive(
                setting, self.values, self.state, self.carried, offset, self.out.reshape(-1), index, self.count,
                piece.t0, piece.h, piece.last, stop,
            )  # fmt: skip

        chunk = 1
        self.starts += 1 - int(self.count[AT.resumed])
        while self.count[AT.done] < piece.steps:
            done = int(self.count[AT.done])
            stop = min(piece.steps, done + chunk)
            clock = time.perf_counter()
            try:
                status = to(stop)
            except KernelRaised:
                if stop - done == 1:
                    self._outputs_before_failure(to, done)
                    return codes.RAISED
                chunk = (stop - done) // 2  # nothing has changed: find the guilty step by halving
                continue
            spent = time.perf_counter() - clock
            self.seconds += spent
            if status != codes.OK:
                return status
            chunk = max(1, int(chunk * min(4.0, CHUNK_SECONDS / max(spent, 1e-6))))
            if self.progress:
                self.progress(self.before + int(self.count[AT.done]), self.total)
        self.before += piece.steps
        self.count[[AT.done, AT.resumed]] = 0
        self.evaluations += self._counted()
        return codes.OK

    def _outputs_before_failure(self, to: Callable[[int], int], done: int) -> None:
        """Save, row by row, what is due before the step or the step aside that raises."""
        rows = int(self.count[AT.rows])
        with suppress(KernelRaised):
            while (row := int(self.count[AT.row])) < rows:
                self.count[AT.rows] = row + 1
                to(done)
                if self.count[AT.row] == row:
                    break
        self.count[AT.rows] = rows

    def _outputs(self, piece: Segment) -> tuple[NDArray[np.int64], Floats]:
        """Tell the driver what is due in this segment: every so many steps, or a list of times."""
        first = piece is self.pieces[0]
        index, offset = np.zeros(1, dtype=np.int64), np.zeros(1)
        count = self.count
        count[[AT.done, AT.steps]] = 0, piece.steps
        if self.times is None:
            every = _positive(self.run.every)
            count[[AT.every, AT.due]] = every, 0 if first else every - self.before % every
            return index, offset
        sign = math.copysign(1.0, piece.h)
        beyond, within = sign * (self.times - piece.t0), sign * (piece.t1 - self.times)
        here = self.times[((beyond > 0) | (first & (beyond == 0))) & (within >= 0)]
        if here.size:
            index, offset = _plan(piece, here)
        count[[AT.next, AT.times, AT.due]] = 0, here.size, index[0] if here.size else piece.steps + 1
        return index, offset

    def _setting(self, piece: Segment) -> Floats:
        """The fixed numbers of a segment. Times are seen strictly inside it: jumps belong to neither side."""
        moments = self.run.body.moments
        low, high = sorted((piece.t0, piece.t1))
        window = (math.nextafter(low, math.inf), math.nextafter(high, -math.inf))
        setting = np.array([*moments, *(1.0 / moments), *self.axes, *window])
        assert setting.size == SETTING
        return setting

    # --- from the user's axes and back

    def _inward(self, q: Floats, m: Floats) -> Floats:
        """A state in principal axes, as the driver wants it."""
        if not self.run.body.aligned:
            q = np.array(multiply(tuple(q.tolist()), self.axes))
            m = m @ self.run.body.axes
        return np.ascontiguousarray([*q, *m], dtype=np.float64)

    def _outward(self, states: Floats, *, as_computed: bool = False) -> tuple[Floats, Floats]:
        """Rows of states in the user's axes."""
        q, m = states[:, :4], states[:, 4:]
        if self.run.method.unscaled and not as_computed:
            q = q / np.sqrt(np.einsum("ij,ij->i", q, q))[:, None]
        if not self.run.body.aligned:
            back = multiply(tuple(q.T), conjugate(self.axes))  # columns: the same algebra
            q, m = np.stack(back, axis=1), m @ self.run.body.axes.T
        return q, m

    # --- the result

    def _assembled(self, status: int) -> Solution:
        """Everything computed so far."""
        done, rows = self.before + int(self.count[AT.done]), int(self.count[AT.row])
        t_last = self._grid(int(self.count[AT.done]))
        if status == codes.OK and self.ragged:
            self.out[rows] = self.state
            rows += 1
        t = self._grid_times(done, rows) if self.times is None else self.times[:rows].copy()
        q, m = self._outward(self.out[:rows])
        last_q, last_m = self._outward(self.state[None, :], as_computed=True)
        run = replace(self.run, steps=done, nfev=self._evaluations(done), seconds=self.seconds)
        message = self._message(status, t_last, done)
        memory = tuple(self.carried[: self.stepper.memory].tolist()) if done else ()
        return Solution(run, t, q, m, status, message, t_last, last_q[0], last_m[0], memory)

    def _evaluations(self, done: int) -> int:
        """Of the torque, in so many steps and all steps aside."""
        each = self.stepper.evaluations_per_step
        if each is None:
            return self.evaluations + (self._counted() if self.count[AT.done] else 0)
        return self.starts * self.stepper.evaluations_at_start + each * (done + int(self.count[AT.asides]))

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
        method, h = self.run.method.name, self.run.step
        where = f"after {done} of {self.total} steps, at t = {t:.12g}; what was computed is in the solution"
        if status == codes.OK:
            return f"reached t = {t:.12g} in {done} steps"
        if status == codes.INTERRUPTED:
            return f"interrupted {where}"
        if complaint := self._complaint(t):
            return f"the torque {self.run.torque.name} {complaint} {where}"
        if status == codes.RAISED:
            return f"the torque {self.run.torque.name} raised an exception {where}"
        if status == codes.NO_CONVERGENCE:
            return f"{method} could not solve its step equation with step {h:g} {where}: take a shorter step"
        if status == codes.UNCOVERED:
            cause = "it is too close to a steady rotation or to the separatrix, or the body to a sphere"
            return f"the formulas of {method} do not cover this motion ({cause}) {where}: use Exact"
        return f"{method} left the finite numbers with step {h:g} {where}: take a shorter step"

    def _complaint(self, t: float) -> str | None:
        """What the torque did wrong, found by making the failed step again in plain Python."""
        torque = self.run.torque.torque_kernel
        complaints: list[str] = []

        def watched(t: float, q: Any, w: Any, p: Any) -> Any:
            try:
                n = torque(t, q, w, p)
            except Exception as problem:  # the user's code may raise anything
                complaints.append(f"raised {type(problem).__name__}: {problem}")
                raise
            if not np.isfinite(np.asarray(n, dtype=float)).all():
                complaints.append(f"returned ({', '.join(f'{x:g}' for x in n)})")
            return n

        pull = principal_torque(watched, tilted=not self.run.body.aligned, windowed=bool(self.run.torque.breakpoints))
        stepper = self.run.method.scheme.bind(pull, self.run.torque.depends, self._scales())
        s = State(tuple(self.state[:4].tolist()), tuple(self.state[4:].tolist()))
        body, p = self._kernel_arguments()
        with suppress(Exception):  # in plain Python a division by zero raises, also one of ours
            memory = stepper.start(body, p, t, s)
            for length in self._lengths_from_here():
                if not complaints:
                    stepper.step(body, p, t, s, length, memory)
        return complaints[0] if complaints else None

    def _lengths_from_here(self) -> list[float]:
        """Of the steps aside that were due where the run stopped, and of the step after them."""
        done, asides = int(self.count[AT.done]), list[float]()
        if self.times is not None:
            index, offset = _plan(self.piece, self.times[int(self.count[AT.row]) :])
            asides = offset[(index == done) & (offset != 0.0)].tolist()
        return [*asides, self.piece.last if done == self.piece.steps - 1 else self.piece.h]

    def _kernel_arguments(self) -> tuple[Rotor, Params]:
        x = self._setting(self.piece).tolist()
        body = Rotor((x[0], x[1], x[2]), (x[3], x[4], x[5]))
        return body, Params(self.values, (x[6], x[7], x[8], x[9]), (x[10], x[11]))

    def _probe(self) -> float:
        """Call the torque once in plain Python: a mistake in it is best told before anything is compiled.

        Returns its size.
        """
        torque, t = self.run.torque, self.run.t_start
        body, p = self._kernel_arguments()
        s = State(tuple(self.state[:4].tolist()), tuple(self.state[4:].tolist()))
        q = multiply(s.q, conjugate(p.axes))
        w = to_space(p.axes, products(s.m, body.inverse))
        t_seen = min(max(t, p.window[0]), p.window[1]) if torque.breakpoints else t
        try:
            n = torque.torque_kernel(t_seen, q, w, self.values)
        except Exception as problem:  # the user's code may raise anything
            raise ValueError(
                f"the torque {torque.name} raised {type(problem).__name__} at t = {t:g}: {problem}"
            ) from problem
        if np.shape(n) != (3,):
            raise ValueError(f"the torque {torque.name} must return three numbers, not {n!r}")
        if not np.isfinite(np.asarray(n, dtype=float)).all():
            raise ValueError(f"the torque {torque.name} returned {tuple(n)} at t = {t:g}, at the very start")
        if torque.potential_kernel is not None:
            self._probe_potential(torque.potential_kernel, t_seen, q)
        return math.hypot(*(float(x) for x in n))

    def _probe_potential(self, potential: Any, t: float, q: Any) -> None:
        name = self.run.torque.name
        try:
            energy = float(potential(t, q, self.values))
        except Exception as problem:  # the user's code may raise anything
            kind = type(problem).__name__
            raise ValueError(f"the potential of {name} raised {kind} at t = {t:g}: {problem}") from problem
        if not math.isfinite(energy):
            raise ValueError(f"the potential of {name} is {energy} at t = {t:g}, at the very start")


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
