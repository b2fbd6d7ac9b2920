"""ensemble(...) -> Ensemble: many bodies at once, on all cores, by the drivers that run one."""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from polhode import _check
from polhode._check import Floats
from polhode._integration import CHUNK_SECONDS, SIGNATURE, Integration, Progress, Segment
from polhode._own_clock import OwnClockIntegration
from polhode._simulate import planned
from polhode.body import Body
from polhode.compiled import CompilationFailed, KernelRaised, compiles, program
from polhode.core import status as codes
from polhode.core.drive import AT, STATE, driver, fleet, packed_fleet, values_together
from polhode.core.flows import lane_by_lane, principal_torque
from polhode.core.ops import views
from polhode.core.quat import multiply, to_space
from polhode.methods import Method
from polhode.solution import Run, Solution, spoken
from polhode.torques import CustomTorque, Torque, checked
from polhode.torques.free import Free

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation
    from xarray import Dataset

FLEET_SIGNATURE = SIGNATURE + "iiii"
MOST_MESSAGES = 1000
"""Failed bodies whose message is made; the others have their status."""
LANES = 8
"""Bodies that share the vector registers: two registers of four floats, or one of eight."""
MOST_LEADERS = 1000
"""Bodies that are tried before the torque is said to fail for all of them."""
LARGEST_BLOCK = 4096
"""Bodies that one thread takes at a time, at most."""


class EnsembleInterrupted(KeyboardInterrupt):
    """The user stopped the run. `ensemble` holds everything up to the last step of every body."""

    def __init__(self, ensemble: Ensemble) -> None:
        super().__init__("interrupted; what was computed is in the ensemble")
        self.ensemble = ensemble


def ensemble(
    body: Any,
    torque: Torque | Sequence[Torque] | None = None,
    *,
    omega: Any,
    attitude: Any = None,
    t_span: tuple[float, float],
    step: float,
    method: str | Method,
    t_eval: Any = None,
    every: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[], None] | None = None,
) -> Ensemble:
    """Turn many bodies from `t_span[0]` to `t_span[1]`, each by itself, on all cores.

    Parameters
    ----------
    body
        One `Body` for all, a list of them, or an array of principal moments, one row a body.
    torque
        One torque for all, or a list of torques of one kind with different parameters.
    omega, attitude
        As in `simulate`, once for all or a row for each body; attitudes may be a stack of Rotations.
    t_span, step, method
        As in `simulate`, the same for all.
    t_eval, every
        Output at these times, or every so many steps; default: at the start and at the end.
    threads
        Default: one for each core. The results do not depend on it.
    progress, announce
        Called with (steps done, steps in all), counting all bodies; called before a compilation. An exception in
        `progress` ends the run, and has what was computed as its `ensemble`.

    Whatever has a row for each body sets their number. A body that fails stops alone: its rows from then on are NaN,
    its `status` says why, and `ensemble[k].message` in words.

    Where method and torque allow it, bodies go eight at a time in the vector registers, which makes no difference but
    to the speed; `lanes` and `unpacked` of the result tell. A torque with an `if` on its arguments is computed for one
    body after the other: `polhode.where` is faster.
    """
    bodies = _Bodies.given(body)
    torques = _torques(torque)
    rates = _stack("omega", omega, 3)
    quaternions = _quaternions(attitude)
    n = _count(body=bodies.count, torque=len(torques), omega=len(rates), attitude=len(quaternions))
    workers = _cores() if threads is None else _check.count("threads", threads)
    common = {"t_span": t_span, "step": step, "method": method, "t_eval": t_eval}
    run, times = planned(
        bodies[0], torques[0], omega=rates[0], attitude=quaternions[0],
        every=every if every is not None or t_eval is not None else 1, **common,
    )  # fmt: skip
    if run.method.own_clock and every is not None:
        raise ValueError(f"the steps of {run.method.name} differ from body to body: give t_eval instead of every")
    if times is None and every is None:
        times = np.array([run.t_start, run.t_end])
        run = replace(run, every=None)
    start = _Start(bodies, torques, rates, quaternions, n)
    return _Fleet(run, times, start, workers, progress, announce).ensemble()


# --- what the user gave, checked -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bodies:
    """Bodies in a list, or as an array of moments, which becomes bodies one by one when they are asked for."""

    listed: tuple[Body, ...]
    moments: Floats

    @classmethod
    def given(cls, body: Any) -> _Bodies:
        if isinstance(body, Body):
            return cls((body,), body.moments[None, :])
        if isinstance(body, Sequence) and len(body) > 0 and all(isinstance(b, Body) for b in body):
            return cls(tuple(body), np.array([b.moments for b in body]))
        if isinstance(body, str):
            raise TypeError(f"body must be a Body, not {body!r}: write Body.named({body!r})")
        if isinstance(body, Sequence) and any(isinstance(b, Body) for b in body):
            raise TypeError("body must be a list of nothing but Bodies, or an array of principal moments")
        moments = _stack("body", body, 3)
        if np.shape(body) == (3,) or not (moments > 0).all():
            raise ValueError(
                "body must be a Body, a list of them, or an array of positive principal moments with a row for each"
            )
        for extreme in (moments.min(axis=1).argmin(), moments.max(axis=1).argmax()):
            Body(moments[extreme], allow_unphysical=True)  # which may be too small or too large a number
        ends = 2 * moments.max(axis=1) > moments.sum(axis=1) * (1 + 1e-12)
        if ends.any():
            bad = int(np.argmax(ends))
            raise ValueError(
                f"no body has the moments {moments[bad].tolist()} of row {bad}: the greatest exceeds the sum of the "
                "other two. If this is intended, give a list of Body(..., allow_unphysical=True)"
            )
        return cls((), moments)

    @property
    def count(self) -> int:
        return len(self.moments)

    def __getitem__(self, k: int) -> Body:
        k = k if self.count > 1 else 0
        return self.listed[k] if self.listed else Body(self.moments[k])

    @cached_property
    def axes(self) -> Floats | None:
        """The turns from principal axes to the users', if any body is tilted."""
        if all(b.aligned for b in self.listed):
            return None
        return np.array([b.axes_quaternion for b in self.listed])

    def momentum(self, rates: Floats, n: int) -> Floats:
        if all(b.aligned for b in self.listed):
            return np.broadcast_to(rates * self.moments, (n, 3))
        tensors = np.array([b.tensor for b in self.listed])
        return np.broadcast_to(np.einsum("kij,kj->ki", tensors, np.broadcast_to(rates, (n, 3))), (n, 3))


def _torques(torque: Any) -> tuple[Torque, ...]:
    listed = torque if isinstance(torque, Sequence) else (Free() if torque is None else torque,)
    given = tuple(map(checked, listed))
    if not given:
        raise ValueError("torque must be a torque or a list of them, not an empty list")
    first = given[0]
    for k, other in enumerate(given):
        same = type(other) is type(first) and other.depends == first.depends
        if isinstance(first, CustomTorque) and isinstance(other, CustomTorque):
            same = same and other.torque_kernel is first.torque_kernel
        if not same:
            raise ValueError(
                f"the torques of an ensemble are of one kind and differ in their parameters, but torque[0] is "
                f"{first.name} and torque[{k}] is {other.name}: run an ensemble for each kind"
            )
        if other.breakpoints != first.breakpoints:
            raise ValueError(
                f"the torques of an ensemble jump at the same times, but torque[0] does at {list(first.breakpoints)} "
                f"and torque[{k}] at {list(other.breakpoints)}: run an ensemble for each"
            )
    return given


def _stack(name: str, value: Any, width: int) -> Floats:
    """Rows of so many numbers; one row may come alone."""
    shape = _check.shape_of(name, value)
    if shape == (width,):
        return _check.array(name, value, (width,))[None, :]
    if len(shape) != 2 or shape[1] != width or shape[0] == 0:
        raise ValueError(f"{name} must have the shape ({width},) or (bodies, {width}), not {shape}")
    return _check.array(name, value, (shape[0], width))


def _quaternions(attitude: Any) -> Floats:
    if hasattr(attitude, "as_quat"):
        q = np.atleast_2d(np.asarray(attitude.as_quat(), dtype=np.float64))
        return q[:, [3, 0, 1, 2]]
    shape = _check.shape_of("attitude", attitude)
    if len(shape) < 2 or shape == (3, 3):
        return _check.quaternion("attitude", attitude)[None, :]
    if len(shape) == 3:
        return np.array([_check.quaternion(f"attitude[{k}]", matrix) for k, matrix in enumerate(attitude)])
    q = _stack("attitude", attitude, 4)
    zero = ~q.any(axis=1)
    if zero.any():
        raise ValueError(f"attitude[{int(np.argmax(zero))}] must be a rotation, but the quaternion is zero")
    return _check.unit(q)


def _count(**rows: int) -> int:
    """The number of bodies, from whatever has more than one row."""
    many = {name: n for name, n in rows.items() if n > 1}
    if len(set(many.values())) > 1:
        listed = ", ".join(f"{name} for {n}" for name, n in many.items())
        raise ValueError(f"the rows do not agree on the number of bodies: there is {listed}")
    return next(iter(many.values()), 1)


@dataclass(frozen=True)
class _Start:
    """How every body starts, in the users' axes."""

    bodies: _Bodies
    torques: tuple[Torque, ...]
    rates: Floats
    quaternions: Floats
    count: int

    @cached_property
    def momentum(self) -> Floats:
        return np.ascontiguousarray(self.bodies.momentum(self.rates, self.count))

    @cached_property
    def quaternion(self) -> Floats:
        return np.ascontiguousarray(np.broadcast_to(self.quaternions, (self.count, 4)))

    def torque(self, k: int) -> Torque:
        return self.torques[k if len(self.torques) > 1 else 0]

    def run(self, k: int, like: Run) -> Run:
        """The run of one body."""
        return replace(
            like, body=self.bodies[k], torque=self.torque(k),
            quaternion_start=self.quaternion[k], momentum_start=self.momentum[k],
        )  # fmt: skip


# --- the run -------------------------------------------------------------------------------------------------------


class _Fleet:
    """All bodies of a run, each in its row of every array; threads take them block by block.

    One body, the fastest that can start, is run like any single body up to the point where the driver would start: it
    knows the grid, the plan of outputs and the program, which are the same for all.
    """

    def __init__(
        self, run: Run, times: Floats | None, start: _Start, threads: int,
        progress: Progress | None, announce: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self.start, self.threads, self.progress, self.announce = start, threads, progress, announce
        n, bodies = start.count, start.bodies
        axes = bodies.axes
        self.lead = lead = self._leader(run, times)
        self.values = self._parameters()
        q, m = start.quaternion, start.momentum
        if axes is not None:
            axes = np.broadcast_to(axes, (n, 4))
            q, m = _turned(q, m, axes, INWARD)
        self.axes = axes
        self.states = np.concatenate([q, m, np.zeros((n, lead.state.size - STATE))], axis=1)
        self.carried = np.zeros((n, lead.carried.size))
        self.count = np.tile(lead.count, (n, 1))
        self.count[:, AT.values] = self.values.shape[1]
        self.out = _room(n, *lead.out.shape)
        self.count[:, AT.rows] = lead.out.shape[0]
        self.steps = np.zeros(n, dtype=np.int64)
        self.evaluations = np.zeros(n, dtype=np.int64)
        self.piece = np.zeros(n, dtype=np.int64)  # the segment that each body has come to
        self.seconds = 0.0
        self.stopped = threading.Event()
        self.lanes = 1
        self.unpacked = ""
        self.spare: Callable[..., int] | None = None  # for bodies that lanes cannot carry on

    def _leader(self, run: Run, times: Floats | None) -> Integration:
        """A torque that fails for a body at its start is the fault of the torque only if it fails for others too."""
        start, bodies = self.start, self.start.bodies
        kind = OwnClockIntegration if run.method.own_clock else Integration
        many = bodies.count > 1 and not _one_symmetry(bodies.moments)
        speed = (start.momentum**2).sum(axis=1) / bodies.moments.min(axis=1) ** 2
        problem: ValueError | None = None
        for k in np.argsort(-speed, kind="stable")[:MOST_LEADERS]:
            like = start.run(int(k), run)
            state = (like.quaternion_start, like.momentum_start)
            try:
                return kind(like, *state, times, None, self.announce, tilted=bodies.axes is not None, many=many)
            except ValueError as refused:
                problem = problem or refused
        assert problem is not None
        raise problem

    def _parameters(self) -> Floats:
        s = self.start
        if (s.bodies.count == 1 and len(s.torques) == 1) or self.lead.values.size == 0:
            return np.tile(self.lead.values, (s.count, 1))
        rows = [list(s.torque(k).parameters(s.bodies[k])) for k in range(s.count)]
        return _check.array("parameters", rows, (s.count, len(rows[0])))

    def ensemble(self) -> Ensemble:
        """Run to the end, or raise with what there is."""
        try:
            self._all()
        except KeyboardInterrupt:
            raise EnsembleInterrupted(self._assembled()) from None
        except CompilationFailed:
            raise
        except Exception as problem:  # of the user's `progress`
            problem.ensemble = self._assembled()  # type: ignore[attr-defined]
            problem.add_note("raised by `progress`; what was computed is the `ensemble` of this exception")
            raise
        return self._assembled()

    def _all(self) -> None:
        if (fly := self._packed()) is None:
            fly = self._one_by_one()
        clock = time.perf_counter()
        try:
            for piece in self.lead.pieces:
                self._through(piece, fly)
        finally:
            self.seconds = time.perf_counter() - clock

    def _one_by_one(self) -> Callable[..., int]:
        """The program for one body after the other."""
        lead = self.lead
        try:
            return program(fleet(lead.stepper, lead._driver()), FLEET_SIGNATURE, self.announce)
        except CompilationFailed as problem:
            raise CompilationFailed(
                f"{lead.run.method.name} with {lead.run.torque.name} cannot be compiled:\n{problem}"
            ) from None

    def _packed(self) -> Callable[..., int] | None:
        """The program for several bodies at a time, if there can be one: with the torque in lanes too, or without."""
        lead = self.lead
        if self.start.count < LANES or lead.run.method.own_clock or not compiles():
            return None
        torque = lead.run.torque
        kernel = torque.torque_kernel
        for kernel_in_lanes, load_values in (
            (kernel, values_together(self.values.shape[1])),
            (lane_by_lane(kernel, LANES), views),
        ):
            pull = principal_torque(kernel_in_lanes, tilted=lead.tilted, windowed=len(torque.breakpoints) > 0)
            stepper = lead.run.method.scheme.bind(pull, torque.depends, lead._scales()._replace(packed=True))
            fly = packed_fleet(stepper, driver(stepper, load_values), LANES)
            try:
                made = program(fly, FLEET_SIGNATURE, self.announce, tentative=True)
            except CompilationFailed as problem:
                self.unpacked = str(problem)
                if _blames_method(self.unpacked):
                    return None
            else:
                self.lanes = LANES
                return made
        return None

    def _through(self, piece: Segment, fly: Callable[..., int]) -> None:
        """One segment for all bodies."""
        lead, n = self.lead, self.start.count
        lead.piece = piece
        lead.before = int(sum(p.steps for p in lead.pieces[: lead.pieces.index(piece)]))
        index, offset = lead._outputs(piece)
        fresh = [AT.done, AT.steps, AT.due, AT.every, AT.next, AT.times, AT.finished]
        going = self.count[:, AT.status] == codes.OK
        self.count[np.ix_(going, fresh)] = lead.count[fresh]
        self.piece[going] = lead.pieces.index(piece)
        self.states[going, STATE:] = 0.0
        setting = self._settings(piece)
        sizes = (self.states.shape[1], self.out.shape[2])
        arrays = (setting, self.values, self.states, self.carried)

        def to(stop: int, first: int, beyond: int) -> None:
            arguments = (
                *(a.reshape(-1) for a in arrays), offset, self.out.reshape(-1), index, self.count.reshape(-1),
                piece.t0, piece.h, lead._end(piece), stop, first, beyond, *sizes,
            )  # fmt: skip
            try:
                alone = fly(*arguments)
            finally:
                status = self.count[first:beyond, AT.status]
                status[status == codes.ALONE] = codes.OK
            if alone:
                self.spare = self.spare or self._one_by_one()
                self.spare(*arguments)  # all others are where they should be

        def run(block: tuple[int, int]) -> None:
            self._block(piece, to, *block)

        try:
            with ThreadPoolExecutor(self.threads) as pool:
                waiting = [pool.submit(run, block) for block in _blocks(n, self.threads, self.lanes)]
                try:
                    for job in waiting:
                        while not job.done():
                            self._report()
                            _wait(job)
                        job.result()
                except BaseException:
                    self.stopped.set()
                    pool.shutdown(cancel_futures=True)
                    raise
            self._report()
        finally:
            self.steps[going] += self.count[going, AT.done]
            if lead.stepper.evaluations_per_step is None:
                self.evaluations[going] += self.carried[going, -1].astype(np.int64)

    def _block(self, piece: Segment, to: Callable[[int, int, int], None], first: int, beyond: int) -> None:
        """The bodies of one thread, in chunks of steps: each call takes about as long as a chunk should."""
        count, most = self.count[first:beyond], piece.steps if not self.lead.run.method.own_clock else 1 << 62
        chunk = 1
        while not self.stopped.is_set():
            going = count[:, AT.status] == codes.OK
            if self.lead.run.method.own_clock:
                going &= count[:, AT.finished] == 0
            else:
                going &= count[:, AT.done] < most
            if not going.any():
                return
            stop = min(most, int(count[going, AT.done].min()) + chunk)
            clock = time.perf_counter()
            try:
                to(stop, first, beyond)
            except KernelRaised:
                behind = going & (count[:, AT.done] < stop) & (count[:, AT.status] == codes.OK)
                guilty = first + int(np.argmax(behind))
                self._find_step(to, guilty, stop)
                continue
            spent = time.perf_counter() - clock
            chunk = max(1, int(chunk * min(4.0, CHUNK_SECONDS / max(spent, 1e-6))))

    def _find_step(self, to: Callable[[int, int, int], None], k: int, stop: int) -> None:
        """Bring a body whose torque raises to the very step before, and leave it there."""
        while True:
            done = int(self.count[k, AT.done])
            try:
                to(stop, k, k + 1)
                return  # it was another step; the caller goes on
            except KernelRaised:
                if stop - done == 1:
                    self.count[k, AT.status] = codes.RAISED
                    return
                stop = done + (stop - done) // 2

    def _settings(self, piece: Segment) -> Floats:
        n, moments = self.start.count, np.broadcast_to(self.start.bodies.moments, (self.start.count, 3))
        rows = np.tile(self.lead._setting(piece), (n, 1))
        rows[:, :3], rows[:, 3:6] = moments, 1.0 / moments
        rows[:, 6:10] = [1.0, 0.0, 0.0, 0.0] if self.axes is None else self.axes
        return rows

    def _report(self) -> None:
        """In steps of all bodies; where these choose their length, as many as the user's step would make."""
        if not self.progress:
            return
        lead, n = self.lead, self.start.count
        total = sum(piece.steps for piece in lead.pieces)
        done = self.steps.sum() + self.count[:, AT.done].sum()
        if lead.run.method.own_clock:
            done = n * lead.before + np.abs(self.states[:, STATE] / lead.piece.h).sum()
        self.progress(min(int(done), n * total), n * total)

    def _ends(self) -> tuple[Any, Floats]:
        """Whether each body has come to the end, and the time that it has come to."""
        pieces, done = self.lead.pieces, self.count[:, AT.done]
        t0, t1, h, _, steps = np.array(pieces)[self.piece].T
        if self.lead.run.method.own_clock:
            through, t = self.count[:, AT.finished] == 1, t0 + self.states[:, STATE]
        else:
            through, t = done == steps, t0 + done * h
        return through & (self.piece == len(pieces) - 1), np.where(through, t1, t)

    def _assembled(self) -> Ensemble:
        lead = self.lead
        ended, t_last = self._ends()
        status = self.count[:, AT.status].copy()
        status[(status == codes.OK) & ~ended] = codes.INTERRUPTED
        rows = self.count[:, AT.row]
        t = lead.times if lead.times is not None else lead._grid_times(lead.total, lead.out.shape[0])
        states = self.out[:, :, -STATE:]
        ragged = lead.times is None and lead.ragged
        if ragged:
            states[ended, -1] = self.states[ended, :STATE]
            rows = rows + ended
        states[np.arange(t.size) >= rows[:, None]] = np.nan
        each = lead.stepper.evaluations_per_step
        evaluations = self.evaluations
        if each is not None:
            steps = self.steps + self.count[:, AT.asides]
            evaluations = each * steps + (self.piece + 1) * lead.stepper.evaluations_at_start
        q, m = states[..., :4], states[..., 4:]
        last_q, last_m = self.states[:, :4], self.states[:, 4:STATE]
        if lead.run.method.unscaled:
            q = q / np.sqrt((q * q).sum(axis=-1, keepdims=True))
        if self.axes is not None:
            (q, m), (last_q, last_m) = (
                _turned(q, m, self.axes[:, None, :], OUTWARD),
                _turned(last_q, last_m, self.axes, OUTWARD),
            )
        run = replace(lead.run, seconds=self.seconds, nfev=int(evaluations.sum()), steps=int(self.steps.sum()))
        failed = np.flatnonzero(status != codes.OK)
        messages = {int(k): self._told(int(k), int(status[k]), t_last[k]) for k in failed[:MOST_MESSAGES]}
        return Ensemble(
            run, t.copy(), q, m, status, t_last, self.steps.copy(), evaluations, last_q, last_m,
            self.carried[:, : lead.stepper.memory].copy(), messages, self.start, rows, self.lanes, self.unpacked,
        )  # fmt: skip

    def _told(self, k: int, status: int, t_last: float) -> str:
        """What happened to a body that stopped."""
        try:
            return self._alone(k)._message(status, t_last, int(self.steps[k]))
        except ValueError as problem:  # alone it could not even have started
            return str(problem)

    def _alone(self, k: int) -> Integration:
        """One body where it stopped, as a run of its own that can say what happened."""
        run = self.start.run(k, self.lead.run)
        kind = type(self.lead)
        alone = kind(run, run.quaternion_start, run.momentum_start, self.lead.times, None, None)
        alone.state, alone.count, alone.carried = self.states[k], self.count[k], self.carried[k]
        alone.piece = alone.pieces[int(self.piece[k])]
        alone.before = int(self.steps[k] - self.count[k, AT.done])
        return alone


INWARD, OUTWARD = np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, -1.0, -1.0, -1.0])
"""From the users' axes to the principal ones, and back: which turns the state is multiplied by."""


def _turned(q: Floats, m: Floats, axes: Floats, way: Floats) -> tuple[Floats, Floats]:
    """States in other body axes; `axes` broadcasts against them."""
    by, back = axes * way, axes * way * OUTWARD

    def columns(x: Floats) -> Any:
        return tuple(np.moveaxis(x, -1, 0))

    return np.stack(multiply(columns(q), columns(by)), axis=-1), np.stack(to_space(columns(back), columns(m)), axis=-1)


def _blames_method(problem: str) -> bool:
    """Whether the line that cannot be compiled stands in our own code: another way to call the torque will not help."""
    blamed, here = Path(problem.partition('"')[2].partition('"')[0]), Path(__file__).parent
    return any(blamed.is_relative_to(here / part) for part in ("core", "methods"))


def _one_symmetry(moments: Floats) -> bool:
    """Whether all bodies have the same pairs of equal moments."""
    equal = moments == np.roll(moments, 1, axis=1)
    return bool((equal == equal[0]).all())


def _room(n: int, rows: int, width: int) -> Floats:
    try:
        return np.empty((n, rows, width))
    except (MemoryError, ValueError):
        size = n * rows * width * 8 / 2**30
        raise MemoryError(
            f"{n} bodies with {rows} rows of output need {size:.3g} GiB: ask for fewer with every= or t_eval="
        ) from None


def _cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _blocks(n: int, threads: int, lanes: int) -> Iterator[tuple[int, int]]:
    """Several blocks a thread, so that no thread waits long for another; with as few lanes empty as can be."""
    size = lanes * max(1, -(-min(LARGEST_BLOCK, n // (4 * threads)) // lanes))
    for first in range(0, n, size):
        yield first, min(n, first + size)


def _wait(job: Any) -> None:
    from concurrent.futures import TimeoutError as StillGoing

    try:
        job.exception(timeout=CHUNK_SECONDS)
    except StillGoing:
        return


# --- the result ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The motions of many bodies, at common times: arrays have a first axis for the body, a second for the time.

    `ensemble[k]` is the `Solution` of body k, with everything that a solution can tell.
    """

    run: Run
    """Of one body among them; steps, evaluations and seconds are those of all."""
    t: Floats
    quaternion: Floats
    """(bodies, times, 4), scalar first; NaN beyond the end of a body that failed."""
    momentum: Floats
    """(bodies, times, 3), in body axes, kg m^2/s."""
    status: Any
    """(bodies,): 0 where the end was reached."""
    t_last: Floats
    """(bodies,): the last time that was reached."""
    steps: Any
    evaluations: Any
    """(bodies,): of the torque."""
    last_quaternion: Floats
    last_momentum: Floats
    memory: Floats = field(repr=False)
    """(bodies, numbers): what the method carries from step to step, at the end; `resume` goes on with it."""
    messages: dict[int, str] = field(repr=False)
    """Of the bodies that failed, why."""
    start: _Start = field(repr=False)
    rows: Any = field(repr=False)
    lanes: int = 1
    """How many bodies went at a time, in the vector registers; it changes nothing but the speed."""
    unpacked: str = ""
    """Why the torque, or with `lanes` of 1 all of it, was computed for one body after the other."""

    def __len__(self) -> int:
        return len(self.status)

    @property
    def success(self) -> Any:
        """(bodies,): whether the end was reached."""
        return self.status == codes.OK

    @cached_property
    def omega(self) -> Floats:
        """(bodies, times, 3): angular velocity in body axes, rad/s."""
        bodies = self.start.bodies
        if bodies.axes is None:
            rates: Floats = self.momentum / bodies.moments[:, None, :]
            return rates
        axes = np.array([b.axes for b in bodies.listed])
        principal = (self.momentum @ axes) / bodies.moments[:, None, :]
        return np.asarray(principal @ axes.transpose(0, 2, 1))

    @cached_property
    def attitude(self) -> Rotation:
        """All rotations from body to space axes, body after body: `len(ensemble) * t.size` of them."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.quaternion.reshape(-1, 4), scalar_first=True)

    @cached_property
    def kinetic_energy(self) -> Floats:
        """(bodies, times), in J."""
        return np.asarray(np.einsum("kti,kti->kt", self.omega, self.momentum) / 2)

    def each(self, name: str) -> Floats:
        """Some array of every body's solution, such as "energy_error", stacked; NaN where a body had failed."""
        first = np.asarray(getattr(self[0], name))
        out = np.full((len(self), self.t.size, *first.shape[1:]), np.nan)
        for k, solution in enumerate(self):
            out[k, : solution.t.size] = getattr(solution, name)
        return out

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: SupportsIndex) -> Solution:
        try:
            k = operator.index(k)
        except TypeError:
            raise TypeError(
                f"ensemble[k] is the solution of one body, so that k is a whole number, not {k!r}"
            ) from None
        n = len(self)
        if not -n <= k < n:
            raise IndexError(f"there is no body {k}: they are numbered from 0 to {n - 1}")
        k %= n
        run, rows = self.start.run(k, self.run), int(self.rows[k])
        run = replace(run, steps=int(self.steps[k]), nfev=int(self.evaluations[k]), seconds=self.run.seconds / n)
        reached = f"reached t = {self.t_last[k]:.12g} in {run.steps} steps"
        failed = f"stopped at t = {self.t_last[k]:.12g}, with the status {self.status[k]}"
        message = self.messages.get(k, reached if self.status[k] == codes.OK else failed)
        return Solution(
            run, self.t[:rows].copy(), self.quaternion[k, :rows], self.momentum[k, :rows], int(self.status[k]),
            message, float(self.t_last[k]), self.last_quaternion[k], self.last_momentum[k],
            tuple(self.memory[k].tolist()) if run.steps else (),
        )  # fmt: skip

    def __repr__(self) -> str:
        run, bad = self.run, int((~self.success).sum())
        end = f"reached t = {run.t_end:.6g}"
        ended = f"all {end}" if not bad else f"of which {len(self) - bad:,} {end}: see messages for others"
        return "\n".join(
            [
                "Ensemble",
                f"  bodies  {len(self):,}, {ended}",
                f"  torque  {run.torque.name}",
                f"  method  {run.method.name}, step {run.step:.6g} s",
                f"  time    {run.t_start:.6g} to {run.t_end:.6g} s in {run.steps:,} steps, {self.t.size:,} rows a body",
                f"  lanes   {self.lanes}{', the torque one by one' if self.unpacked and self.lanes > 1 else ''}",
            ]
        )

    def to_xarray(self) -> Dataset:
        """Everything as an xarray Dataset with the dimensions body, time and component, with units."""
        from xarray import Dataset

        variables = self._table()
        coordinates = {name: variables.pop(name) for name in ("time", "component", "quaternion_component")}
        return Dataset(variables, coordinates, self._about())

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write what `to_xarray` holds to a NetCDF file, which appears whole or not at all, for xarray to open.

        A file from which polhode can go on is made of one body at a time: `ensemble[k].save(path)`.
        """
        from polhode.io import netcdf

        variables = {
            name: netcdf.Variable(dimensions, data.astype(np.float64) if data.dtype.kind == "i" else data, about)
            for name, (dimensions, data, about) in self._table().items()
        }
        try:
            netcdf.write(path, variables, self._about(), overwrite=overwrite)
        except netcdf.TooLarge as problem:
            raise netcdf.TooLarge(f"{problem}: save fewer rows, with every= or t_eval=") from None

    def _table(self) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
        """Dimensions, values and meaning of what is written to files and tables, by name."""
        vectors, rows = ("body", "time", "component"), ("body", "time")
        moments = np.broadcast_to(self.start.bodies.moments, (len(self), 3))
        return {
            "time": (("time",), self.t, spoken("time")),
            "component": (("component",), np.array(["x", "y", "z"]), spoken("component")),
            "quaternion_component": (
                ("quaternion_component",), np.array(["w", "x", "y", "z"]), spoken("quaternion_component"),
            ),
            "moments": (("body", "axis"), moments, {"long_name": "principal moments of inertia", "units": "kg m2"}),
            "quaternion": ((*rows, "quaternion_component"), self.quaternion, spoken("quaternion")),
            "momentum": (vectors, self.momentum, spoken("momentum")),
            "omega": (vectors, self.omega, spoken("omega")),
            "kinetic_energy": (rows, self.kinetic_energy, spoken("kinetic_energy")),
            "status": (("body",), self.status, {"long_name": "0: the end was reached"}),
            "t_last": (("body",), self.t_last, {"long_name": "last time that was reached", "units": "s"}),
        }  # fmt: skip

    def _about(self) -> dict[str, str | float]:
        return {"method": self.run.method.name, "torque": self.run.torque.name, "step": self.run.step}
