"""ensemble(...) -> Ensemble: many bodies at once, on all cores, by the drivers that run one."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode import _check
from polhode._check import Floats
from polhode._integration import CHUNK_SECONDS, SIGNATURE, Integration, Progress, Segment
from polhode._own_clock import OwnClockIntegration
from polhode._simulate import planned
from polhode.body import Body
from polhode.compiled import CompilationFailed, KernelRaised, program
from polhode.core import status as codes
from polhode.core.drive import AT, STATE, fleet
from polhode.core.quat import multiply, to_space
from polhode.methods import Method
from polhode.solution import Run, Solution, spoken
from polhode.torques import CustomTorque, Torque
from polhode.torques.free import Free

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation
    from xarray import Dataset

FLEET_SIGNATURE = SIGNATURE + "iiii"
MOST_MESSAGES = 1000
"""Failed bodies whose message is made; the others have their status."""
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
        Called with (steps done, steps in all), counting all bodies; called before a compilation.

    Whatever has a row for each body sets their number. A body that fails stops alone: its rows from then on are NaN,
    its `status` says why, and `ensemble[k].message` in words.
    """
    bodies = _Bodies.given(body)
    torques = _torques(torque)
    rates = _stack("omega", omega, 3)
    quaternions = _quaternions(attitude)
    n = _count(body=bodies.count, torque=len(torques), omega=len(rates), attitude=len(quaternions))
    if threads is not None and (isinstance(threads, bool) or int(threads) != threads or threads < 1):
        raise ValueError(f"threads must be a positive whole number, not {threads!r}")
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
    return _Fleet(run, times, start, threads or os.cpu_count() or 1, progress, announce).ensemble()


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
        moments = _stack("body", body, 3)
        if np.shape(body) == (3,) or not (moments > 0).all():
            raise ValueError(
                "body must be a Body, a list of them, or an array of positive principal moments with a row for each"
            )
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
    given = tuple(t for t in listed if isinstance(t, Torque))
    if not given or len(given) < len(listed):
        raise TypeError(f"torque must be a polhode torque or a list of them, not {torque!r}")
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
    shape = np.shape(value)
    if shape == (width,):
        return _check.array(name, value, (width,))[None, :]
    if len(shape) != 2 or shape[1] != width or shape[0] == 0:
        raise ValueError(f"{name} must have the shape ({width},) or (bodies, {width}), not {shape}")
    return _check.array(name, value, (shape[0], width))


def _quaternions(attitude: Any) -> Floats:
    if hasattr(attitude, "as_quat"):
        q = np.atleast_2d(np.asarray(attitude.as_quat(), dtype=np.float64))
        return q[:, [3, 0, 1, 2]]
    if np.ndim(attitude) < 2 or np.shape(attitude) == (3, 3):
        return _check.quaternion("attitude", attitude)[None, :]
    if np.ndim(attitude) == 3:
        return np.array([_check.quaternion(f"attitude[{k}]", matrix) for k, matrix in enumerate(attitude)])
    q = _stack("attitude", attitude, 4)
    largest = np.abs(q).max(axis=1, keepdims=True)
    if (largest == 0.0).any():
        raise ValueError(f"attitude[{int(np.argmin(largest))}] must be a rotation, but the quaternion is zero")
    q = q / largest  # as for a single attitude, to the bit
    unit: Floats = q / np.array([[math.sqrt(float(row @ row))] for row in q])
    return unit


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

    One body, the fastest, is run like any single body up to the point where the driver would start: it knows the grid,
    the plan of outputs and the program, which are the same for all.
    """

    def __init__(
        self, run: Run, times: Floats | None, start: _Start, threads: int,
        progress: Progress | None, announce: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        self.start, self.threads, self.progress, self.announce = start, threads, progress, announce
        n, bodies = start.count, start.bodies
        fastest = int(np.argmax((start.momentum**2).sum(axis=1) / bodies.moments.min(axis=1) ** 2))
        kind = OwnClockIntegration if run.method.own_clock else Integration
        like, axes = start.run(fastest, run), bodies.axes
        lead = kind(
            like, like.quaternion_start, like.momentum_start, times, None, announce,
            tilted=axes is not None, many=bodies.count > 1 and not _one_symmetry(bodies.moments),
        )  # fmt: skip
        self.lead = lead
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

    def _parameters(self) -> Floats:
        s = self.start
        if s.bodies.count == 1 and len(s.torques) == 1:
            return np.tile(self.lead.values, (s.count, 1))
        rows = [list(s.torque(k).parameters(s.bodies[k])) for k in range(s.count)]
        return _check.array("parameters", rows, (s.count, len(rows[0])))

    def ensemble(self) -> Ensemble:
        """Run to the end, or raise with what there is."""
        try:
            self._all()
        except KeyboardInterrupt:
            self.stopped.set()
            going = self.count[:, AT.status] == codes.OK
            raise EnsembleInterrupted(
                self._assembled(np.where(going, codes.INTERRUPTED, self.count[:, AT.status]))
            ) from None
        return self._assembled(self.count[:, AT.status].copy())

    def _all(self) -> None:
        lead = self.lead
        try:
            fly = program(fleet(lead.stepper, lead._driver()), FLEET_SIGNATURE, self.announce)
        except CompilationFailed as problem:
            raise CompilationFailed(
                f"{lead.run.method.name} with {lead.run.torque.name} cannot be compiled:\n{problem}"
            ) from None
        clock = time.perf_counter()
        for piece in lead.pieces:
            self._through(piece, fly)
        self.seconds = time.perf_counter() - clock

    def _through(self, piece: Segment, fly: Callable[..., int]) -> None:
        """One segment for all bodies."""
        lead, n = self.lead, self.start.count
        lead.piece = piece
        lead.before = int(sum(p.steps for p in lead.pieces[: lead.pieces.index(piece)]))
        index, offset = lead._outputs(piece)
        fresh = [AT.done, AT.steps, AT.due, AT.every, AT.next, AT.times, AT.finished]
        going = self.count[:, AT.status] == codes.OK
        self.count[np.ix_(going, fresh)] = lead.count[fresh]
        self.states[going, STATE:] = 0.0
        setting = self._settings(piece)
        sizes = (self.states.shape[1], self.out.shape[2])
        arrays = (setting, self.values, self.states, self.carried)

        def to(stop: int, first: int, beyond: int) -> None:
            fly(
                *(a.reshape(-1) for a in arrays), offset, self.out.reshape(-1), index, self.count.reshape(-1),
                piece.t0, piece.h, lead._end(piece), stop, first, beyond, *sizes,
            )  # fmt: skip

        def run(block: tuple[int, int]) -> None:
            self._block(piece, to, *block)

        self.piece[going] = lead.pieces.index(piece)
        try:
            with ThreadPoolExecutor(self.threads) as pool:
                waiting = [pool.submit(run, block) for block in _blocks(n, self.threads)]
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

    def _assembled(self, status: Any) -> Ensemble:
        lead, n = self.lead, self.start.count
        rows = self.count[:, AT.row]
        t = lead.times if lead.times is not None else lead._grid_times(lead.total, lead.out.shape[0])
        states = self.out[:, :, -STATE:]
        ragged = lead.times is None and lead.ragged
        if ragged:
            ended = status == codes.OK
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
        t_last = np.full(n, run.t_end)
        t_last[failed] = [self._alone(int(k))._grid(int(self.count[k, AT.done])) for k in failed]
        messages = {
            int(k): self._alone(int(k))._message(int(status[k]), t_last[k], int(self.steps[k]))
            for k in failed[:MOST_MESSAGES]
        }
        return Ensemble(
            run, t.copy(), q, m, np.asarray(status), t_last, self.steps.copy(), evaluations, last_q, last_m,
            self.carried[:, : lead.stepper.memory].copy(), messages, self.start, rows,
        )  # fmt: skip

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


def _blocks(n: int, threads: int) -> Iterator[tuple[int, int]]:
    """Several blocks a thread, so that no thread waits long for another."""
    size = max(1, min(LARGEST_BLOCK, n // (4 * threads)))
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
        return np.stack([bodies[k].rate(self.momentum[k]) for k in range(len(self))])

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

    def __getitem__(self, k: int) -> Solution:
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
        ended = f"all reached t = {run.t_end:.6g}" if not bad else f"{bad:,} of them failed: see messages"
        return "\n".join(
            [
                "Ensemble",
                f"  bodies  {len(self):,}, {ended}",
                f"  torque  {run.torque.name}",
                f"  method  {run.method.name}, step {run.step:.6g} s",
                f"  time    {run.t_start:.6g} to {run.t_end:.6g} s in {run.steps:,} steps, {self.t.size:,} rows a body",
            ]
        )

    def to_xarray(self) -> Dataset:
        """Everything as an xarray Dataset with the dimensions body, time and component, with units."""
        from xarray import Dataset

        vectors, rows = ("body", "time", "component"), ("body", "time")
        variables: dict[str, Any] = {
            "quaternion": ((*rows, "quaternion_component"), self.quaternion, spoken("quaternion")),
            "momentum": (vectors, self.momentum, spoken("momentum")),
            "omega": (vectors, self.omega, spoken("omega")),
            "kinetic_energy": (rows, self.kinetic_energy, spoken("kinetic_energy")),
            "status": (("body",), self.status, {"long_name": "0: the end was reached"}),
            "t_last": (("body",), self.t_last, {"long_name": "last time that was reached", "units": "s"}),
        }
        coordinates = {
            "time": (("time",), self.t, spoken("time")),
            "component": ["x", "y", "z"],
            "quaternion_component": ["w", "x", "y", "z"],
        }
        run = self.run
        about = {"method": run.method.name, "torque": run.torque.name, "step": run.step}
        return Dataset(variables, coordinates, about)
