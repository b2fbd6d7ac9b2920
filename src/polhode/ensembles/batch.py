"""Many bodies run by one program: what they share (`Batch`), and a run of some of them (`BatchRun`)."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy.pace import MOST_DRY_STEPS, Endless, Pace, given_up
from polhode.compiler import (
    CompilationFailed,
    KernelRaised,
    compiles,
    floats_in_register,
    is_from_callback,
    named,
    program,
)
from polhode.ensembles.initial import Bodies, Start, Starts
from polhode.ensembles.result import MOST_MESSAGES, Ensemble, EnsembleInterrupted
from polhode.kernels.algebra.quat import multiply, to_space
from polhode.kernels.algebra.vector_table import is_handle
from polhode.kernels.embedded import TOLERANCE, Embedded, packed_steps
from polhode.kernels.gyrostat import greatest_efforts
from polhode.kernels.loop.drive import (
    AT,
    CLOCK,
    driver,
    loop_over_bodies,
    packed_loop_over_bodies,
    values_together,
)
from polhode.kernels.loop.pieces import over_pieces
from polhode.kernels.loop.sampling import sample_lane_by_lane
from polhode.kernels.ops import views
from polhode.kernels.states import STATE
from polhode.kernels.status import Status
from polhode.kernels.steps.flows import lane_by_lane, principal_torque
from polhode.kernels.types import Depends, Scales, UserTorque
from polhode.methods import Method
from polhode.problem import PerturbedStart, Plan, Problem, Stats, check_sizes
from polhode.run import step_warnings
from polhode.run.binding import SIGNATURE, ById, OnCompile, SpreadOfBodies, full_scales, sampled
from polhode.run.grid import Segment
from polhode.run.integration import CHUNK_SECONDS, UNKNOWN_EVALUATIONS, Integration
from polhode.run.rows import FixedSteps, room
from polhode.run.step_warnings import PACE_STEPS, ShortSteps, about_short_steps, are_absurdly_short, levels_of_polhode
from polhode.support.arrays import Floats, columns, dot, greatest, least
from polhode.support.interrupts import Work, is_from_handler, keeping

BATCH_SIGNATURE = SIGNATURE + "iiii"
"""The arguments of a loop over bodies: those of the driver, the range of bodies, and two sizes of rows."""
LANES = 8
"""Bodies that share the vector registers: two registers of four floats, or one of eight."""
MORE_LANES = 16
"""Bodies that share the vector registers where a step is a short chain of rotations, each of which waits for the one
before, and where registers hold eight floats (docs/decisions/0004)."""
REGISTERS = 2
"""Registers for each number of a step: while one waits for a result, the other has work."""
MANY = 64
"""The number of bodies from which on empty lanes hardly matter."""
MOST_CANDIDATES = 1000
"""The number of bodies that are tried before the torque is said to fail for all of them."""
LARGEST_BLOCK = 4096
"""The largest number of bodies that one thread takes at a time."""
FIRST_EVALUATIONS = 2**18
"""Torque evaluations of all bodies of a block in the first chunk, when no progress is shown."""

Report = Callable[[int], None]
"""Called with the steps that all bodies of a run have made together."""


# --- what all have in common ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What one pass over all bodies shows: the fastest of them, and how far they differ.

    The fastest body that can start stands for all: it is prepared like a single run up to the point where the loop
    would start, and knows the grid, the plan of outputs and the program, which are the same for all.
    """

    fastest: tuple[int, ...]
    """The numbers of the fastest bodies, the fastest first."""
    others: SpreadOfBodies
    """How far the others may differ from the one that stands for them."""

    @classmethod
    def of(cls, starts: Starts) -> Survey:
        """Surveys all bodies, which also checks the samples that are drawn."""
        return cls.joined(map(Sight.of, starts.parts()), starts.count)

    @classmethod
    def joined(cls, sights: Iterable[Sight], count: int) -> Survey:
        """Joins what was seen of some bodies and of others; the order does not matter."""
        all_: Sight = reduce(Sight.joined, sights)
        effort = all_.effort if count > 1 else (0.0, 0.0)  # one needs no more than it has
        symmetries, orders = ({k % 8 for k in all_.kinds}, {k // 8 for k in all_.kinds})
        others = SpreadOfBodies(all_.tilted, len(symmetries) > 1, effort, all_.gyrostats, len(orders) > 1)
        return cls(tuple(all_.numbers.tolist()), others)


class Sight(NamedTuple):
    """What one pass over some bodies shows: the fastest of them, and how far they differ."""

    speed: Floats
    numbers: Any
    """The fastest bodies, the fastest first and equal ones in their order: their speeds, and their numbers."""
    tilted: bool
    gyrostats: bool
    kinds: frozenset[int]
    """Which moments are equal, as a number below 8 for each kind of symmetry, and 8 times one for the order of axes in
    which they rise."""
    effort: tuple[float, float]

    @classmethod
    def of(cls, part: Start) -> Sight:
        """Surveys some bodies."""
        check_sizes(part.bodies.moments, part.momentum, np.atleast_2d(part.rates), part.first)
        moments, momentum = columns(part.bodies.moments), columns(part.momentum)
        with np.errstate(over="ignore", invalid="ignore"):  # the driver will say what is wrong
            speed = dot(momentum, momentum) / least(moments) ** 2
        speed = np.fmax(np.broadcast_to(speed, (part.count,)), -1.0)  # one that is no number comes last
        numbers = np.arange(part.first, part.first + part.count)
        equal = [moments[k] == moments[k - 1] for k in range(3)]
        rising = np.argsort(part.bodies.moments, axis=-1, kind="stable") @ [24, 8, 0]
        kinds = frozenset(np.unique(equal[0] + 2 * equal[1] + 4 * equal[2] + rising).tolist())
        effort = [float(np.fmax.reduce(np.where(np.isfinite(x), x, 0.0), initial=0.0)) for x in efforts(part)]
        tilted, gyrostats = part.bodies.axes is not None, part.bodies.rotors is not None or part.bodies.changes
        return cls(*_fastest_first(speed, numbers), tilted, gyrostats, kinds, (effort[0], effort[1]))

    def joined(self, other: Sight) -> Sight:
        """What the bodies of both show together."""
        together = np.concatenate([self.numbers, other.numbers])
        order = np.argsort(together, kind="stable")
        speed, numbers = np.concatenate([self.speed, other.speed])[order], together[order]
        return Sight(
            *_fastest_first(speed, numbers), self.tilted or other.tilted, self.gyrostats or other.gyrostats,
            self.kinds | other.kinds,
            (max(self.effort[0], other.effort[0]), max(self.effort[1], other.effort[1])),
        )  # fmt: skip


def _fastest_first(speed: Floats, numbers: Any) -> tuple[Floats, Any]:
    """The fastest `MOST_CANDIDATES` bodies, the fastest first and equal ones in their order."""
    if speed.size > MOST_CANDIDATES:
        may = speed >= np.partition(speed, -MOST_CANDIDATES)[-MOST_CANDIDATES]
        speed, numbers = speed[may], numbers[may]
    order = np.argsort(-speed, kind="stable")[:MOST_CANDIDATES]
    return speed[order], numbers[order]


def efforts(part: Start) -> tuple[Floats, Floats]:
    """What exact flows of each body have to cover, as `exact_flow.effort` does for one body."""
    momentum = part.momentum
    if part.bodies.axes is not None:
        momentum = turned(part.quaternion, momentum, np.broadcast_to(part.bodies.axes, (part.count, 4)), INWARD)[1]
    if part.bodies.principal_rotors is not None:
        with np.errstate(all="ignore"):
            return greatest_efforts(part.moments, part.bodies.principal_rotors, momentum)
    i, m = columns(part.bodies.moments), columns(momentum)
    with np.errstate(all="ignore"):  # the driver will say what is wrong
        j, s = [1.0 / x for x in i], [x * x for x in m]
        a = [(i[k - 2] - i[k - 1]) * j[k - 2] * j[k - 1] for k in range(3)]
        high, low = greatest(j), least(j)
        rate2 = (high + low) * dot(s, j) - high * low * (s[0] + s[1] + s[2])
        terms = [a[k - 2] * a[k - 1] * s[k] for k in range(3)]
        extent = greatest(terms) - least(terms)
    return rate2, 0.5 * extent


@dataclass
class ChunkPace:
    """How many steps fit into a chunk, and what was found about the length of steps."""

    work: int
    """The number of steps, of all bodies of a block together, that take as long as a chunk should."""
    short: float = 0.0
    """The length of steps that have become absurdly short; 0: none have."""
    warned: bool = False
    """Whether the user was warned of short steps."""


class Batch:
    """The loop of one method with one torque on one grid, for any bodies of an ensemble."""

    def __init__(
        self, problem: Problem, plan: Plan, starts: Starts, survey: Survey, threads: int, on_compile: OnCompile,
        *, packed: bool = True, like: Batch | None = None,
    ) -> None:  # fmt: skip
        """Tries lanes if bodies may be `packed`; takes over what a batch `like` this one has found out."""
        self.starts, self.survey = starts, survey
        self.threads, self.on_compile, self.count, self.packed = threads, on_compile, starts.count, packed
        self.variable_steps = plan.method.variable_steps
        if like is None:
            self.lead = self._lead(problem, plan, starts, survey)
            each = self.lead.stepper.evaluations_per_step
            self.pace = ChunkPace(FIRST_EVALUATIONS // max(1, UNKNOWN_EVALUATIONS if each is None else each))
        else:
            span = {"t_start": problem.t_start, "t_end": problem.t_end}
            same = like.lead.problem.replace(times=problem.times, every=problem.every, **span)
            self.lead, self.pace = like.lead.beside(same, plan), like.pace
        self.lanes = 1
        self.share_alone = 0.0
        """The share of the bodies in the last run that could not be computed in lanes at some time."""
        self.most_steps: float = math.inf if like is None else like.most_steps
        """Bodies that want more steps, of those that adapt, are given up; infinite: none is."""
        self.why_not_packed = ""
        self._run: Callable[..., int] | None = None
        self._run_alone: Callable[..., int] | None = None

    def over(self, t0: float, t1: float, times: Floats) -> Batch:
        """The same batch over a part of the span, with output at other times."""
        problem = self.lead.problem.replace(t_start=t0, t_end=t1, times=times, every=None)
        given = (self.starts, self.survey, self.threads, self.on_compile)
        return Batch(problem, self.lead.plan, *given, packed=self.packed, like=self)

    def _lead(self, problem: Problem, plan: Plan, starts: Starts, survey: Survey) -> Integration:
        """A run of the fastest body that can start: a torque may fail for one body and not for others."""
        first: ValueError | None = None
        for k in survey.fastest:
            like = starts.part(k, k + 1).problem(0, problem)
            try:
                return Integration(like, plan, None, None, self.on_compile, others=survey.others)
            except ValueError as refused:
                if is_from_callback(refused):
                    raise
                first = first or refused
        assert first is not None
        raise first

    def ready(self) -> Callable[..., int]:
        """The program; it is made when it is first wanted."""
        if self._run is None:
            self._run = self._packed() or self._one_by_one()
        return self._run

    def alone(self) -> Callable[..., int]:
        """The program for bodies that cannot be computed in lanes."""
        self._run_alone = self._run_alone or self._one_by_one()
        return self._run_alone

    def _one_by_one(self) -> Callable[..., int]:
        """The program for one body after the other."""
        driver_of = self.lead.steps.driver
        loop = lambda stepper: _loop_over_bodies(stepper, driver_of(stepper))  # noqa: E731
        return self.lead.binding.program(loop, BATCH_SIGNATURE, self.on_compile)

    def _packed(self) -> Callable[..., int] | None:
        """The program for several bodies at a time, with the torque in lanes or not, if there can be one."""
        problem, plan, binding = self.lead.problem, self.lead.plan, self.lead.binding
        if problem.torque.calls_python:
            self.why_not_packed = f"{problem.torque.name} calls a Python function, for one body at a time"
            return None
        most = lanes_of(plan.method, self.count, triaxial=self._has_triaxial_flows())
        if not self.packed or self.count < most or not compiles():
            return None
        bodies = self.starts.bodies
        if problem.body.changes and isinstance(bodies, Bodies) and bodies.count > 1:
            self.why_not_packed = "its bodies change in different ways, and are run one after the other"
            return None
        if self.variable_steps:
            return self._packed_variable()
        if plan.method.collocation and binding.forms:  # and the iterations of several bodies end apart: none compiles
            self.why_not_packed = f"{plan.method.name} has the points of its steps in the lanes, of one body at a time"
            return None
        torque, scheme = problem.torque, ById(plan.method.scheme)
        windowed = len(problem.breakpoints) > 0
        kind = (torque.torque_kernel, self.lead.values.size, binding.tilted, windowed, torque.depends)
        pieced = self.lead.steps.pieces is not None
        scales = full_scales(problem, plan, self.lead.others)._replace(packed=True)
        for together in (False,) if torque.calls_out or self._tables_differ() else (True, False):
            lanes = most if together else min(most, LANES)
            loop = _packed_of(lanes, scheme, *kind, scales, together, pieced, torque.sample_kernel, torque.held)
            if (made := self._in_lanes(loop, lanes)) is not None or _blames_method(self.why_not_packed):
                return made
        return None

    def _in_lanes(self, loop: Callable[..., int], lanes: int) -> Callable[..., int] | None:
        """The program of a loop over so many lanes; None, and why, if it cannot be compiled."""
        try:
            made = program(loop, BATCH_SIGNATURE, self.on_compile, tentative=True, what=self.lead.binding.what)
        except CompilationFailed as problem:
            self.why_not_packed = str(problem)
            return None
        self.lanes = lanes
        return made

    def _packed_variable(self) -> Callable[..., int] | None:
        """The program for a body in each lane with steps of its own, if the torque can run in lanes."""
        problem, plan, binding = self.lead.problem, self.lead.plan, self.lead.binding
        torque, scheme = problem.torque, plan.method.scheme
        if not isinstance(scheme, Embedded) or self.lead.steps.pieces is not None:
            return None
        if torque.calls_out or torque.sample_kernel is not None or self._tables_differ():
            return None
        windowed, size = len(problem.breakpoints) > 0, self.lead.values.size
        kind = (torque.torque_kernel, size, binding.tilted, windowed, binding.scales)
        return self._in_lanes(_embedded_of(ById(scheme), *kind), LANES)

    def _has_triaxial_flows(self) -> bool:
        """Whether steps have exact flows of bodies with three different moments, which fill the registers."""
        a, b, c = self.lead.problem.body.moments.tolist()
        return not self.lead.plan.method.ignores_scales and (self.lead.others.many or a != b != c != a)

    def _tables_differ(self) -> bool:
        """Whether bodies have different tables: those that are computed together share one."""
        torques = self.starts.torques
        if len(torques) == 1 or not any(map(is_handle, self.lead.values.tolist())):
            return False
        body = self.lead.problem.body
        kept = [tuple(x for x in torque.parameters(body) if is_handle(x)) for torque in torques]
        return any(other != kept[0] for other in kept)

    @property
    def program_name(self) -> str | None:
        """The digest of the loop for one body; None if it is good for this process only."""
        binding = self.lead.binding
        return named(binding.driver(binding.stepper))

    @property
    def steps(self) -> int:
        """The number of steps of one body, from the start to the end."""
        return sum(segment.steps for segment in self.lead.steps.segments)

    @property
    def t(self) -> Floats:
        """The output times."""
        steps = self.lead.steps
        if steps.times is not None:
            return steps.times
        assert isinstance(steps, FixedSteps)
        return steps.times_of_rows(steps.total, self.rows)

    @property
    def rows(self) -> int:
        """The number of output rows of one body."""
        return int(self.lead.arrays.out.shape[0])


def lanes_of(method: Method, bodies: int, *, triaxial: bool) -> int:
    """How many of the bodies share the vector registers."""
    wide = floats_in_register() * REGISTERS >= MORE_LANES and not triaxial
    return MORE_LANES if (wide or method.is_short_chain) and bodies >= MANY else LANES


# Cached: equal arguments give the same function object, so that a short run need not walk through its code again.

_loop_over_bodies = lru_cache(maxsize=128)(loop_over_bodies)


@lru_cache(maxsize=128)
def _packed_of(
    lanes: int, scheme: ById, kernel: UserTorque, values: int, tilted: bool, windowed: bool, depends: Depends,
    scales: Scales, together: bool, pieced: bool, sample: UserTorque | None, held: bool,
) -> Callable[..., int]:  # fmt: skip
    """The loop over several bodies at a time, whose torques are computed together or one after the other."""
    carried = len(scales.carried)
    alike = kernel if together else lane_by_lane(kernel, lanes, carried)
    pull = principal_torque(alike, tilted=tilted, windowed=windowed, carried=carried)
    if sample is None:
        stepper = scheme.value.bind(pull, depends, scales)._replace(gyrostat=scales.gyrostat, changing=scales.changing)
    else:
        taken = sample if together else sample_lane_by_lane(sample, lanes, carried)
        stepper = sampled(scheme, alike, taken, held, tilted, windowed, depends, scales)
    load = values_together(values) if together else views
    drive = driver(stepper, load, together=True)
    return packed_loop_over_bodies(
        stepper, over_pieces(stepper, drive, variable=False, load_values=load) if pieced else drive, lanes
    )


@lru_cache(maxsize=128)
def _embedded_of(
    scheme: ById, kernel: UserTorque, values: int, tilted: bool, windowed: bool, scales: Scales
) -> Callable[..., int]:  # fmt: skip
    """The loop over bodies, each in a lane with steps of its own."""
    pull = principal_torque(kernel, tilted=tilted, windowed=windowed)
    read = values_together(values)
    return packed_steps(scheme.value, pull, read, LANES, gyrostat=scales.gyrostat, changing=scales.changing)


def _blames_method(problem: str) -> bool:
    """Whether the line that cannot be compiled is polhode's own: then it does not help to call the torque otherwise."""
    blamed, here = Path(problem.partition('"')[2].partition('"')[0]), Path(__file__).parents[1]
    return any(blamed.is_relative_to(here / part) for part in ("kernels", "methods"))


# --- a run of some of them -------------------------------------------------------------------------------------


class Midway(NamedTuple):
    """Where bodies are, if their run does not begin at the start of their motions."""

    quaternion: Floats
    momentum: Floats
    memory: Floats | None
    """(bodies, numbers): what the method carries from step to step; None: it restarts."""
    state: Floats
    """(bodies, numbers): what the torque carries."""


class BatchRun:
    """A run of some bodies, each with a row in every array; threads take them block by block."""

    def __init__(
        self, batch: Batch, start: Start, report: Report | None, nudged: PerturbedStart | None = None,
        begin: Midway | None = None, tolerances: Floats | None = None,
    ) -> None:  # fmt: skip
        """Prepares the arrays; bodies may be companions of others, with slightly different numbers.

        With `tolerances`, each body has one of its own in place of that of the method, which is an embedded pair.
        """
        self.batch, self.start, self.report, self.tolerances = batch, start, report, tolerances
        self.lead = lead = batch.lead
        n = start.count
        q, m = (start.quaternion, start.momentum) if nudged is None else nudged[:2]
        z = start.state
        if begin is not None:
            q, m, z = begin.quaternion, begin.momentum, begin.state
        self.inverses = 1.0 / start.bodies.moments if nudged is None else nudged.inverses
        self.axes = None
        if lead.binding.tilted:
            axes = start.bodies.axes
            self.axes = np.broadcast_to([1.0, 0.0, 0.0, 0.0] if axes is None else axes, (n, 4))
        self.states = np.zeros((n, lead.arrays.state.size))
        self.width = STATE + z.shape[1]
        if batch.count == 1:
            self.states[0, : self.width] = lead.frame.inward(q[0], m[0], z[0])
        else:
            if self.axes is not None:
                q, m = turned(q, m, self.axes, INWARD)
            self.states[:, :4], self.states[:, 4:STATE], self.states[:, STATE : self.width] = q, m, z
        self.carried = np.zeros((n, lead.arrays.carried.size))
        self.count = np.zeros((n, lead.arrays.count.size), dtype=np.int64)
        self.count[:, AT.values] = start.parameters.shape[1]
        self.count[:, AT.rows] = batch.rows
        if begin is not None and begin.memory is not None and begin.memory.shape[1] == lead.stepper.memory > 0:
            self.carried[:], self.count[:, AT.resumed] = begin.memory, 1
        self.out = room(*lead.arrays.out.shape, bodies=n)
        self.steps = np.zeros(n, dtype=np.int64)
        self.evaluations = np.zeros(n, dtype=np.int64)
        self.piece = np.zeros(n, dtype=np.int64)  # the segment that each body has come to
        self.left = np.zeros(n, dtype=bool)  # whether lanes could not carry a body on, at some time
        self.looked = np.zeros((n, 2))  # steps and time of each body, when their lengths were last looked at
        self.seconds = 0.0
        self.in_own_thread = False
        """Whether no other threads are needed: nobody waits for reports."""
        self.stopped = threading.Event()
        self.report_raised, self.reported = False, -1
        self.raised = dict[int, str]()  # what the torques of bodies have raised
        self.paces, self.endless = dict[int, Pace](), dict[int, float]()  # the steps that bodies given up would take

    def run(self) -> None:
        """Runs all bodies to the end; if anything stops it, the arrays hold what was computed."""
        loop = self.batch.ready()
        clock = time.perf_counter()
        try:
            for segment in self.lead.steps.segments:
                self._run_segment(segment, loop)
        finally:
            self.seconds = time.perf_counter() - clock
            self.batch.share_alone = float(self.left.mean())

    def _run_segment(self, segment: Segment, loop: Callable[..., int]) -> None:
        """Takes all bodies through one segment."""
        lead, n, threads = self.lead, self.start.count, self.batch.threads
        segments = lead.steps.segments
        place = segments.index(segment)
        lead.segment, lead.before = segment, int(sum(s.steps for s in segments[:place]))
        index, offset = lead.steps.begin(segment, lead.before, lead.arrays)
        going: Any = self.count[:, AT.status] == Status.OK
        if going.all():
            going = slice(None)  # many times as quick
        begun = (AT.done, AT.steps, AT.due, AT.every, AT.next, AT.times, AT.finished, AT.piece, AT.before, AT.counted)
        for k in begun:
            self.count[going, k] = lead.arrays.count[k]
        self.piece[going] = place
        if place > 0:
            self.count[:, AT.resumed] = 0
        self.states[going, self.width :] = 0.0
        self.looked[going] = 0.0
        self.paces.clear()
        shared, end = lead.setting(segment), lead.steps.end(segment)
        sizes, torque = (self.states.shape[1], self.out.shape[2]), lead.problem.torque

        def of_block(block: slice) -> Callable[[int, int, int], None]:
            """The function `to(stop, first, beyond)`, which makes steps of bodies of a block."""
            status = self.count[block, AT.status]
            setting, values = self.settings(shared, block), np.ascontiguousarray(self.start.parameters[block])
            numbers = [a.reshape(-1) for a in (setting, values, self.states[block], self.carried[block])]
            out, count = self.out[block].reshape(-1), self.count[block].reshape(-1)

            def to(stop: int, first: int, beyond: int) -> None:
                arguments = (
                    *numbers, offset, out, index, count, segment.t0, segment.h, end, stop,
                    first - block.start, beyond - block.start, *sizes,
                )  # fmt: skip
                some_alone, before = True, status.copy() if torque.calls_python else None
                try:
                    some_alone = loop(*arguments) > 0
                except BaseException as problem:
                    if before is not None:
                        self._stop_after(problem, block, before)
                    raise
                finally:
                    if some_alone:
                        left = status == Status.ALONE
                        status[left], self.left[block][left] = Status.OK, True
                if some_alone:
                    self.batch.alone()(*arguments)  # all others are where they should be

            return to

        def run(block: tuple[int, int]) -> None:
            with np.errstate(all="ignore"):  # in plain Python NumPy would warn of what a status will say
                self._run_block(segment, of_block(slice(*block)), *block)

        blocks = list(_blocks(n, threads, self.batch.lanes))
        unheard = compiles() and not self.report
        if not unheard:
            self.batch.pace.work = 1
        self.in_own_thread = unheard and (threads == 1 or len(blocks) == 1)
        try:
            if self.in_own_thread:
                for block in blocks:
                    run(block)
            else:
                self._run_on_threads(run, blocks)
            self._report()
            self._warn_of_short_steps()
        finally:
            self.steps[going] += self.count[going, AT.done]
            if lead.stepper.evaluations_per_step is None:
                self.evaluations[going] += self.carried[going, -1].astype(np.int64) + self.count[going, AT.counted]
            if lead.steps.pieces is not None:
                self.piece[going] = self.count[going, AT.piece]

    def _stop_after(self, problem: BaseException, block: slice, before: Any) -> None:
        """Blames the body whose Python function has raised an exception; bodies behind it were stopped for nothing."""
        status = self.count[block, AT.status]
        stopped = (status != Status.OK) & (before == Status.OK)
        going = np.flatnonzero((before == Status.OK) & ~stopped & (self.count[block, AT.done] > 0))
        first = int(going[-1]) + 1 if going.size else 0
        behind = first + np.flatnonzero(stopped[first:])
        if behind.size and is_from_callback(problem):
            status[behind] = Status.OK
            status[behind[0]] = Status.RAISED
            self.raised[block.start + int(behind[0])] = f"{type(problem).__name__}: {problem}"
        else:  # the handler of a signal
            status[behind] = Status.OK

    def _run_on_threads(self, run: Callable[[tuple[int, int]], None], blocks: list[tuple[int, int]]) -> None:
        """Runs the blocks on several threads, each of which takes the next one when it has done one."""
        left = iter(blocks)

        def work() -> None:
            try:
                for block in left:
                    if self.stopped.is_set():
                        return
                    run(block)
            except BaseException:
                self.stopped.set()
                raise

        begun = list[Work[None]]()
        try:
            for _ in range(min(self.batch.threads, len(blocks))):
                begun.append(Work(work))
            for one in begun:
                while not one.wait(CHUNK_SECONDS):
                    self._report()
                    self._warn_of_short_steps()
            for one in begun:
                one.result()
        except BaseException:
            self.stopped.set()
            for one in begun:
                one.wait()
            raise

    def _run_block(self, segment: Segment, to: Callable[[int, int, int], None], first: int, beyond: int) -> None:
        """Runs the bodies of a block in chunks of steps, each of which takes about `CHUNK_SECONDS`."""
        batch, pace, bodies, done = self.batch, self.batch.pace, beyond - first, 0
        while not self.stopped.is_set():
            if batch.variable_steps:
                done, going = self._slowest(first, beyond)
            else:
                going = done < segment.steps  # whatever has not failed: a chunk brings them all equally far
            if not going:
                return
            chunk = max(1, pace.work // bodies)
            stop = done + chunk if batch.variable_steps else min(segment.steps, done + chunk)
            if watched := batch.most_steps < math.inf and self.lead.plan.method.adaptive:
                stop = min(stop, done - done % PACE_STEPS + PACE_STEPS)  # the clock is not to decide who is given up
            before = int(self.count[first:beyond, AT.done].sum())
            clock = time.perf_counter()
            try:
                to(stop, first, beyond)
            except Exception as problem:
                if not is_of_torque(problem):
                    raise
                count = self.count[first:beyond]
                behind = (count[:, AT.done] < stop) & (count[:, AT.status] == Status.OK) & (count[:, AT.finished] == 0)
                self._find_step(to, first + int(np.argmax(behind)), stop)
                continue
            spent = time.perf_counter() - clock
            made = int(self.count[first:beyond, AT.done].sum()) - before
            work = int(made * min(4.0, CHUNK_SECONDS / max(spent, 1e-6)))
            if work > pace.work or made >= bodies * chunk:  # one that the end has cut short says little
                pace.work = max(1, work)
            done = stop
            if batch.variable_steps and not pace.short:
                self._look_at_lengths(first, beyond)
                if self.in_own_thread:
                    self._warn_of_short_steps()
            if watched and done % PACE_STEPS == 0:
                self._give_up(first, beyond, done)

    def _slowest(self, first: int, beyond: int) -> tuple[int, bool]:
        """The fewest steps that an unfinished body has made, and whether there is one."""
        count = self.count[first:beyond]
        going = (count[:, AT.status] == Status.OK) & (count[:, AT.finished] == 0)
        return (int(count[going, AT.done].min()), True) if going.any() else (0, False)

    def _give_up(self, first: int, beyond: int, done: int) -> None:
        """Ends the bodies that have made so many steps and would not come to the end."""
        count, span = self.count[first:beyond], abs(self.lead.problem.t_end - self.lead.segment.t0)
        share = np.maximum(np.abs(self._since_start(slice(first, beyond))) / span, 1e-300)
        here = (count[:, AT.status] == Status.OK) & (count[:, AT.finished] == 0) & (count[:, AT.done] == done)
        for k in np.flatnonzero(here).tolist():
            try:
                self.paces.setdefault(first + k, Pace(None, self.batch.most_steps))(done, done / share[k].item())
            except Endless as problem:
                count[k, AT.status], self.endless[first + k] = Status.STALLED, problem.steps

    def _look_at_lengths(self, first: int, beyond: int) -> None:
        """Notes whether the steps of some bodies have become so short that the run may never end."""
        plan, some = self.lead.plan, slice(first, beyond)
        if not plan.method.adaptive:
            return
        now = np.stack([self.count[some, AT.done], np.abs(self._since_start(some))], axis=1)
        made, length = columns(now - self.looked[some])
        due = made >= step_warnings.LOOK_STEPS
        self.looked[some][due] = now[due]
        moments = columns(np.broadcast_to(self.start.bodies.moments, (self.start.count, 3))[some])
        own, rotors = self.states[some, 4:STATE], self.start.bodies.principal_rotors
        if rotors is not None:
            own = own - np.broadcast_to(rotors, (self.start.count, 3))[some]
        rates = [m / i for m, i in zip(columns(own), moments, strict=True)]
        rate = np.sqrt(dot(rates, rates) + (plan.torque_size or 0.0) / least(moments))
        short = due & are_absurdly_short(plan, made, length, rate)
        if short.any():
            self.batch.pace.short = float((length[short] / made[short]).min())

    def _warn_of_short_steps(self) -> None:
        pace = self.batch.pace
        if not pace.short or pace.warned:
            return
        pace.warned = True
        try:
            message = f"of some bodies, {about_short_steps(self.lead.problem, self.lead.plan, pace.short)}"
            warnings.warn(message, ShortSteps, stacklevel=levels_of_polhode())
        except ShortSteps:  # where warnings are errors
            self.report_raised = True
            raise

    def _since_start(self, some: slice) -> Floats:
        """The time since the start of the segment that bodies have reached by variable steps."""
        clock: Floats = self.states[some, -CLOCK]
        if (pieces := self.lead.steps.pieces) is not None:
            clock = clock + (pieces.t0[self.count[some, AT.piece]] - pieces.t0[0])
        return clock

    def _find_step(self, to: Callable[[int, int, int], None], k: int, stop: int) -> None:
        """Brings a body whose torque raises to the step before, and leaves it there."""
        while True:
            done = int(self.count[k, AT.done])
            try:
                to(stop, k, k + 1)
                return  # it was another step; the caller goes on
            except Exception as problem:
                if not is_of_torque(problem):
                    raise
                if stop - done == 1:
                    self.count[k, AT.status], self.raised[k] = Status.RAISED, str(problem)
                    return
                stop = done + (stop - done) // 2

    def settings(self, shared: Floats, block: slice) -> Floats:
        """The fixed numbers of a segment, for each body of a block."""
        rows, alike = np.empty((block.stop - block.start, shared.size)), shared.copy()
        rotors = self.start.bodies.principal_rotors
        own = [(0, self.start.bodies.moments), (3, self.inverses), (6, UNTURNED if self.axes is None else self.axes)]
        if rotors is not None:
            own.append((14, rotors))
        if self.start.bodies.changes:
            own.append((17, np.array([b.handles[:1] for b in self.start.bodies.listed])))
        for k, values in own:
            if len(values) == 1:
                alike[k : k + values.shape[1]] = values[0]
        rows[:] = alike  # in one pass: bodies of one kind differ in nothing
        for k, values in own:
            if len(values) > 1:
                rows[:, k : k + values.shape[1]] = values[block]
        if self.tolerances is not None:
            rows[:, TOLERANCE] = self.tolerances[block]
        return rows

    def _report(self) -> None:
        """Reports the steps of all bodies; variable steps are converted into steps of the user's length."""
        if not self.report:
            return
        lead, n = self.lead, self.start.count
        made = self.steps.sum() + self.count[:, AT.done].sum()
        if self.batch.variable_steps:
            made = n * lead.before + np.abs(self._since_start(slice(None)) / lead.segment.h).sum()
        done = min(int(made), n * self.batch.steps)
        if done == self.reported:
            return
        self.reported = done
        try:
            self.report(done)
        except Exception as problem:
            problem.add_note("raised by `progress`; what was computed is the `ensemble` of this exception")
            self.report_raised = True
            raise

    # --- what is left of it

    def _ends(self) -> tuple[Any, Floats]:
        """Whether each body has reached the end, and the time that it has reached."""
        pieces, done = self.lead.steps.segments, self.count[:, AT.done]
        last = len(pieces) - 1
        t0: Any
        t1: Any
        h: Any
        steps: Any
        if (many := self.lead.steps.pieces) is not None:
            t0, t1, h, steps = (x[self.piece] for x in (many.t0, many.t1, many.h, many.steps))
            done, last = done - self.count[:, AT.before], many.t0.size - 1
        else:
            t0, t1, h, _, steps = pieces[0] if len(pieces) == 1 else np.array(pieces)[self.piece].T
        if self.batch.variable_steps:
            through, t = self.count[:, AT.finished] == 1, t0 + self.states[:, -CLOCK]
        else:
            through, t = done == steps, np.asarray(t0 + done * h)
        return through & (self.piece == last), np.where(through, t1, t)

    def ensemble(self, messages: int = MOST_MESSAGES) -> Ensemble:
        """Everything computed so far, with the messages of at most `messages` failed bodies."""
        lead = self.lead
        ended, t_last = self._ends()
        status = self.count[:, AT.status].copy()
        status[(status == Status.OK) & ~ended] = Status.INTERRUPTED
        rows = self.count[:, AT.row].copy()
        t = self.batch.t
        states = self.out[:, :, -self.width :]
        if lead.steps.ragged:
            states[ended, -1] = self.states[ended, : self.width]
            rows += ended
        short = np.flatnonzero(rows < t.size)
        states[short] = np.where(np.arange(t.size)[:, None] < rows[short, None, None], states[short], np.nan)
        each = lead.stepper.evaluations_per_step
        evaluations = self.evaluations
        if each is not None:
            steps = self.steps + self.count[:, AT.asides]
            evaluations = each * steps + (self.piece + 1) * lead.stepper.evaluations_at_start
            evaluations += self.count[:, AT.others]
        last = self.states[:, None, : self.width]
        (q, m, z), (last_q, last_m, last_z) = self.outward(states), self.outward(last, as_computed=True)
        stats = Stats(int(self.steps.sum()), int(evaluations.sum()), self.seconds)
        failed = np.flatnonzero(status != Status.OK)
        failures = {int(k): self._message(int(k), int(status[k]), t_last[k]) for k in failed[:messages]}
        return Ensemble(
            lead.problem, lead.plan, stats, t.copy(), q, m, status, t_last, self.steps.copy(), evaluations,
            last_q[:, 0], last_m[:, 0],
            self.carried[:, : lead.stepper.memory].copy(), failures, self.start, rows, self.batch.lanes,
            self.batch.why_not_packed, state=z, last_state=last_z[:, 0],
        )  # fmt: skip

    def outward(self, states: Floats, *, as_computed: bool = False) -> tuple[Floats, Floats, Floats]:
        """Quaternions and momenta in the users' axes, and carried numbers, from states (bodies, rows, 7...)."""
        if self.batch.count == 1:
            q, m, z = self.lead.frame.outward(states[0], scaled=self._scaled and not as_computed)
            return q[None], m[None], z[None]
        q, m, z = states[..., :4], states[..., 4:STATE], states[..., STATE:]
        if self._scaled and not as_computed:
            q = q / np.sqrt((q * q).sum(axis=-1, keepdims=True))
        return (q, m, z) if self.axes is None else (*turned(q, m, self.axes[:, None, :], OUTWARD), z)

    @property
    def _scaled(self) -> bool:
        """Whether quaternions are to be scaled to one, because the method leaves them unscaled."""
        return self.lead.plan.method.unscaled

    def _message(self, k: int, status: int, t_last: float) -> str:
        """What happened to a body that stopped."""
        try:
            alone = self._alone(k)
            if k in self.endless:
                problem, made, dry = alone.problem, int(self.steps[k]), self.batch.most_steps == MOST_DRY_STEPS
                rate = problem.body.rate(alone.frame.outward_one(alone.arrays.state)[1], alone._time())
                rates = math.hypot(*rate.tolist()), math.hypot(*problem.omega_start.tolist())
                wanted, method = self.endless[k], alone.plan.method.name
                length = abs(t_last - problem.t_start)
                return given_up(problem.torque.name, method, made, t_last, length, rates, wanted, dry=dry)
            return alone.message(Status(status), t_last, int(self.steps[k]))
        except Exception as problem:  # alone it could not even have started
            if not (isinstance(problem, ValueError) or is_from_callback(problem)):
                raise
            return str(problem)

    def _alone(self, k: int) -> Integration:
        """One body where it stopped, as a single run that can say what happened."""
        alone = Integration(self.start.problem(k, self.lead.problem), self.lead.plan)
        alone.arrays.state, alone.arrays.count, alone.arrays.carried = self.states[k], self.count[k], self.carried[k]
        alone.segment = alone.steps.segments[0 if alone.steps.pieces is not None else int(self.piece[k])]
        alone.before = int(self.steps[k] - self.count[k, AT.done])
        alone.raised = self.raised.get(k, alone.raised)
        alone.steps_are_chosen = self.batch.most_steps < math.inf
        return alone


def run_batch(
    batch: Batch, start: Start, report: Report | None, nudged: PerturbedStart | None = None, *,
    messages: int = MOST_MESSAGES,
    tolerances: Floats | None = None,
) -> Ensemble:  # fmt: skip
    """Runs some bodies to the end; an exception that stops them has an `ensemble` of what was computed."""
    run = BatchRun(batch, start, report, nudged, tolerances=tolerances)

    def kept(raised: BaseException) -> Ensemble | None:
        users = isinstance(raised, KeyboardInterrupt) or is_from_handler(raised) or is_from_callback(raised)
        return run.ensemble() if users or run.report_raised else None

    with keeping(EnsembleInterrupted, kept, "what was computed is the `ensemble` of this exception"):
        run.run()
    return run.ensemble(messages)


UNTURNED = np.array([[1.0, 0.0, 0.0, 0.0]])
"""The principal axes of bodies whose axes are their principal axes."""
INWARD, OUTWARD = np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, -1.0, -1.0, -1.0])
"""The signs of the quaternion by which states are multiplied, from the users' axes to the principal ones and back."""


def turned(q: Floats, m: Floats, axes: Floats, way: Floats) -> tuple[Floats, Floats]:
    """States in other body axes; `axes` broadcasts against them."""
    by, back = axes * way, axes * way * OUTWARD
    return np.stack(multiply(columns(q), columns(by)), axis=-1), np.stack(to_space(columns(back), columns(m)), axis=-1)


def is_of_torque(problem: BaseException) -> bool:
    """Whether the torque has raised it: compiled code says KernelRaised, plain Python what was raised.

    What a Python function has raised that is called back comes out as it is, and ends all.
    """
    if is_from_callback(problem):
        return False
    expected = KernelRaised if compiles() else Exception
    return isinstance(problem, expected) and not is_from_handler(problem)


def _blocks(n: int, threads: int, lanes: int) -> Iterator[tuple[int, int]]:
    """Yields blocks of bodies for threads to take in turn, smaller towards the end, so that no thread waits long."""
    first = 0
    while first < n:
        share = n - first if threads == 1 else (n - first) // (2 * threads)
        beyond = min(n, first + lanes * max(1, -(-min(LARGEST_BLOCK, share) // lanes)))
        yield first, beyond
        first = beyond
