"""The character of a problem: the sizes that decide on method and step."""

import math
import time
from collections.abc import Callable
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from polhode.compiler import named
from polhode.kernels.algebra.quat import multiply, to_body, to_space
from polhode.kernels.algebra.vec import dot
from polhode.kernels.algebra.vector_table import tables_in
from polhode.kernels.free.exact_flow import effort, finest
from polhode.kernels.ops import read_only
from polhode.kernels.types import Depends, Inertia, Quat, UserTorque, Vec3
from polhode.methods import Method
from polhode.problem import Problem, may_be_quick
from polhode.run.binding import triple
from polhode.run.grid import MANY_BREAKPOINTS, between_stops
from polhode.run.stiffness import fastest_change, fastest_decay, is_dry, is_stiff
from polhode.run.trial import may_be_expensive, seconds_a_call, size_at_start, size_or_zero
from polhode.support import checks
from polhode.support.arrays import Floats, lengths
from polhode.support.checks import FEW_NUMBERS
from polhode.support.interrupts import faults_ignored, is_from_handler
from polhode.torques import Torque, UserPotential

MOST_PIECES = 1e4
"""Stretches between jumps that are shorter than this part of the span get one step each."""
KNOT_ERROR = 5.0 / 384.0
"""A cubic spline differs from a smooth function by at most this times d^4 times the fourth derivative, with knots at
the distance d. That derivative is the jump of the third over d. Steps that do not see the knots err by no more, or by
less if they are shorter than d: Simpson's rule by 1/1152, Gauss's rules by less."""
MOST_PARTS = 100_000
"""Listed times that are ends of more equal parts of the span than this are reached by steps aside."""
FALL_RADIANS = 4.0
"""The square of the rate about the momentum grows by this times the torque over the moment: twice the radians through
which the torque works."""
FLOW_SECONDS = 85e-9
"""The time of an exact flow of an asymmetric body, with its kick."""
EXPENSIVE_FLOWS = 4.0
"""A torque whose evaluation takes longer than this number of flows is expensive."""
SAMPLES_AROUND = 16
"""Attitudes on the way round an axis at which a torque is evaluated, to see how fast it changes."""
SAMPLES, FEW_SAMPLES = 32, 8
"""Attitudes at which a torque that changes in time is evaluated, and one that does not."""
TIMES = 128
"""Times at which a torque that changes in time is evaluated at one attitude: a pulse that is shorter than this part of
the span may be passed over."""
MOST_HALVINGS = 30
"""The distance to the largest of them is halved this often, at most, to see whether there is a pole beside it."""
OUT_OF_REACH = 1e3
"""A body does not come near to torques of this many times its kinetic energy, unless they let it fall."""
MANY_SWINGS = 1e4
"""From this many radians on, by the torque alone, a first guess is made only by what is sure."""
UNEVEN = 100.0
"""A torque that is somewhere this many times as large as at most places, and as at the start, is uneven."""


class Sizes(NamedTuple):
    """The sizes that decide on method and step, as they are found."""

    span: float
    rate: float
    """The greatest rate of the free motion, and what a fall by the torque adds to it."""
    torque_ratio: float
    """eps: the largest torque over twice the kinetic energy at the start."""
    depends: Depends
    symmetric: bool
    pieces: float = 1.0
    """The span over the shortest stretch between jumps of the torque."""
    steadiness: float = 2.5
    """The angle through which the body turns while its nutation advances by one, as `exact_flow.effort` has it."""
    harmonic: float = 1.0
    """How much faster the torque changes with the attitude than that of a weight, as far as high orders feel it."""
    parts: int = 0
    """The number of equal parts of the span at whose ends all listed times lie; 0: there are none."""
    may_bend: bool = False
    """Whether the torque may jump or bend where no breakpoint says so."""
    stiff: bool = False
    """Whether disturbances die out so much faster than the motion goes on that implicit steps pay."""
    dry: bool = False
    """Whether the torque brakes the body with a size that does not fall to zero as fast as the rate: dry friction."""
    uneven: bool = False
    """Whether the torque is hundreds of times as large at a few attitudes or times as at the others: a wall, which the
    body may never reach, or a pulse."""
    leverage: float = 1.0
    """How much larger an error of the momentum is in the rate, both relative to their sizes: a slender body feels a
    small momentum along its axis."""
    free_rate: float = 0.0
    """The greatest rate of the free motion."""
    carries: bool = False
    """Whether the torque carries numbers of its own along that change within a step."""
    changing: bool = False
    """Whether the body changes with time."""
    gyrostat: bool = False
    """Whether the body has a rotor."""
    rotor_ratio: float = 0.0
    """What a rotor adds to the torque ratio for methods to which both are perturbations of the free motion without a
    rotor: its momentum over the whole, each as the root of m . I^-1 m."""
    comoving: tuple[float, float] | None = None
    """For a symmetric body: the rate at which its torque changes for an observer that takes part in its free motion,
    and the torque ratio by that measure."""
    knot_pieces: float = 1.0
    """The span over the longest stretch between knots of the torque."""
    knot_error: float = 0.0
    """The error by knots inside of steps, more or less."""
    evaluation_cost: float = 0.0
    """What an evaluation of the torque costs, in exact flows; 0: no more than that of a model."""


UNEVEN_SHARE = 0.25
"""A body whose moments fall below this part of what they are at another time turns faster there than elsewhere."""


class Character(Sizes):
    """The character of a problem: its sizes, and what follows from them, which is asked for many times."""

    def seen_by(self, method: Method) -> "Character":
        """The character to a method that may take part in the free motion."""
        if self.comoving is None or not method.comoves:
            return self
        rate, torque_ratio = self.comoving
        return self._replace(rate=rate, torque_ratio=torque_ratio, steadiness=math.inf)

    @cached_property
    def turns(self) -> dict[tuple[int, float], tuple[float, float]]:
        """The turns in a step that were found likely to do, for methods and tolerances."""
        return {}

    @cached_property
    def turn(self) -> float:
        """The angle through which the body turns, more or less."""
        return self.span * self.rate

    @cached_property
    def reach(self) -> float:
        """The angle through which an exact flow takes the body in one piece."""
        fine = finest()
        return min(fine.longest_turn, math.sqrt(fine.longest_series) * self.steadiness)

    @cached_property
    def smooth(self) -> float:
        """An angle in which the torque that the body feels changes as little as in any other body."""
        return min(3.2, 0.7 * self.steadiness) / self.harmonic


class TorqueTrial:
    """A torque at the start of a problem, sampled once for all who ask: its numbers, its content, what a call takes.

    Only what is asked for is found.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @cached_property
    def values(self) -> Floats:
        """The parameters of the torque, checked."""
        given = list(self.problem.torque.parameters(self.problem.body))
        return np.array(checks.numbers("parameters", given, len(given)))

    @cached_property
    def parameters(self) -> tuple[float, ...]:
        """The parameters of the torque as plain numbers."""
        return tuple(self.values.tolist())

    @cached_property
    def rate(self) -> Vec3:
        """The rate at the start, in the user's axes."""
        return triple(self.problem.omega_start)

    @cached_property
    def attitude(self) -> Quat:
        """The attitude at the start."""
        a, b, c, d = self.problem.quaternion_start.tolist()
        return (a, b, c, d)

    size = math.nan
    """The size of the torque at the start, once it was called there."""
    seconds = math.inf
    """How long that took."""

    @cached_property
    def can_be_made(self) -> bool:
        """Whether a call at the start of the problem is all that has to be tried: nothing of the user's is called by
        compiled code, and no jump lies at the start."""
        return may_be_quick(self.problem) and not self.problem.breakpoints

    def make(self) -> None:
        """Calls the torque once in plain Python, before anything is compiled; an error says what is wrong with it."""
        problem, t, clock = self.problem, self.problem.t_start, time.perf_counter()
        z = tuple(problem.state_start.tolist())
        self.size = size_at_start(problem.torque, read_only(self.values), t, t, self.attitude, self.rate, z)
        self.seconds = time.perf_counter() - clock

    @cached_property
    def content(self) -> str | None:
        """A name for what the torque does, which others have only if they do the same; None: it has none."""
        if self.problem.torque.state_names or (name := named(self.problem.torque.torque_kernel)) is None:
            return None
        return f"{name} with tables {tables}" if (tables := tables_in(self.parameters)) else name


def character(problem: Problem, trial: TorqueTrial | None = None) -> Character:
    """Finds the character of a problem, from its start and from the torque at some attitudes and times."""
    body, torque, trial = problem.body, problem.torque, trial or TorqueTrial(problem)
    x, y, z = (problem.momentum_start if body.aligned else problem.momentum_start @ body.axes).tolist()
    a, b, c = body.moments.tolist()
    j, start = (1.0 / a, 1.0 / b, 1.0 / c), (x, y, z)
    if body.has_rotor or body.changes:
        return _of_gyrostat(problem, start, trial)
    twice_kinetic = dot((x * x, y * y, z * z), j)
    size, uneven, narrow = _largest_torque(problem, 0.5 * twice_kinetic, trial)
    rotor = Inertia((a, b, c), j)
    rate2, nutation2 = effort(rotor, start)
    free_rate = math.sqrt(max(rate2, 0.0))
    steadiness = free_rate / math.sqrt(nutation2) if nutation2 > 0.0 else math.inf
    dry = _is_dry(problem, trial)
    stiff = not dry and starts_stiff(problem)
    swing = 0.0 if stiff else math.sqrt(size * max(j))  # a stiff torque ends the motion where it begins
    rate, torque_ratio = max(math.hypot(free_rate, swing), _carried_rate(problem)), _ratio(size, twice_kinetic)
    span, pieces = abs(problem.span), max(narrow, _pieces(problem))
    knot_pieces, knot_error = _knots(problem, rate, torque_ratio)
    leverage = max(a, b, c) / min(a, b, c)
    if torque_ratio < 1.0 and any(start):  # else the body may come to turn about any axis
        leverage = min(leverage, math.hypot(x, y, z) / (min(a, b, c) * math.hypot(x / a, y / b, z / c)))
    symmetric = a == b or b == c or c == a
    comoving = None
    if axis := body.symmetry_axis:
        across = j[axis % 3]
        rate2 = dot(start, start) * across * across
        spin = 0.0 if ignores_spin(problem, axis, trial) else abs((j[axis - 1] - across) * start[axis - 1])
        turns = math.hypot(math.sqrt(rate2) + spin, math.sqrt(FALL_RADIANS * size * across))
        comoving = turns, _ratio(size, rate2 / across)
    # A torque that has a value at all times leaves no method out for its time.
    depends = torque.depends & ~Depends.TIME if torque.has_value_at_all_times else torque.depends
    return Character(
        span, rate, torque_ratio, depends, symmetric, pieces, steadiness, harmonic(problem, trial),
        equal_parts(problem), torque.may_bend, stiff, dry, uneven, leverage, free_rate, carries_change(torque),
        comoving=comoving, knot_pieces=knot_pieces, knot_error=knot_error, evaluation_cost=evaluation_cost(problem,
        trial),
    )  # fmt: skip


def carries_change(torque: Torque) -> bool:
    """Whether the torque carries numbers along that change within a step."""
    return bool(torque.state_names) and not torque.held


def evaluation_cost(problem: Problem, trial: TorqueTrial | None = None) -> float:
    """What an evaluation of the torque costs, in exact flows, to the next power of two; 0: it is not expensive."""
    if trial is not None and not may_be_expensive(problem.torque, trial.seconds):
        return 0.0
    cost = seconds_a_call(problem) / FLOW_SECONDS
    return 2.0 ** round(math.log2(cost)) if cost > EXPENSIVE_FLOWS else 0.0


def _of_gyrostat(problem: Problem, start: Vec3, trial: TorqueTrial) -> Character:
    """The character of a problem with a rotor, where `start` is the momentum in principal axes, or a changing body.

    Its rates vary as fast as it turns, and with the frequency at which a rotor alone would make it nutate. A body that
    changes counts as the fastest that it becomes with its momentum.
    """
    body, torque, span = problem.body, problem.torque, abs(problem.span)
    i, g, m = body.least_moments, body.principal_rotor, np.array(start)
    own, least = m - g, float(i.min())
    twice_kinetic, whole = float((own * own / i).sum()), float((m * m / i).sum())
    size, uneven, narrow = _largest_torque(problem, 0.5 * twice_kinetic, trial)
    nutation = math.sqrt(float((g * g * i).sum())) / math.sqrt(float(i[0]) * float(i[1]) * float(i[2]))
    turning, now = math.sqrt(twice_kinetic / least), math.hypot(*(own / i).tolist())
    dry = _is_dry(problem, trial)
    stiff = not dry and starts_stiff(problem)
    uneven = uneven or bool((i < UNEVEN_SHARE * body.greatest_moments).any())
    swing = 0.0 if stiff else math.sqrt(size / least)
    rate = max(math.hypot(turning + nutation, swing), _carried_rate(problem))
    _, nutation2 = effort(Inertia(triple(i), triple(1.0 / i)), triple(own))
    changes = math.sqrt(nutation2) + nutation
    rotor_ratio = math.sqrt(float((g * g / i).sum()) / whole) if whole > 0.0 else math.inf
    usual = max(now, swing)
    leverage = max(float(i.max()) / least, math.hypot(*start) / (least * usual) if usual > 0.0 else 1.0)
    pieces, torque_ratio = max(narrow, _pieces(problem)), _ratio(size, twice_kinetic)
    knot_pieces, knot_error = _knots(problem, rate, torque_ratio)
    return Character(
        span, rate, torque_ratio, torque.depends, symmetric=False, pieces=pieces,
        steadiness=rate / changes if changes > 0.0 else math.inf, harmonic=harmonic(problem, trial),
        parts=equal_parts(problem), may_bend=torque.may_bend,
        stiff=stiff, dry=dry, uneven=uneven, leverage=leverage, free_rate=now, gyrostat=True, changing=body.changes,
        rotor_ratio=rotor_ratio, carries=carries_change(torque), knot_pieces=knot_pieces, knot_error=knot_error,
        evaluation_cost=evaluation_cost(problem, trial),
    )  # fmt: skip


def _pieces(problem: Problem) -> float:
    """The span over the shortest stretch between jumps of the torque, or the longest if there are many."""
    breakpoints, span = problem.breakpoints, abs(problem.span)
    if not breakpoints:
        return 1.0
    shortest, longest = between_stops(problem)
    # Where there are many pieces, each is divided by itself.
    return min(span / longest if len(breakpoints) > MANY_BREAKPOINTS else span / shortest, MOST_PIECES)


def _knots(problem: Problem, rate: float, torque_ratio: float) -> tuple[float, float]:
    """The span over the longest stretch between knots of the torque, and what they cost in accuracy."""
    torque = problem.torque
    if not torque.knots:
        return 1.0, 0.0
    error = KNOT_ERROR * torque.roughness * torque_ratio * rate
    return abs(problem.span) / between_stops(problem, at_knots=True)[1], error


def _is_dry(problem: Problem, trial: TorqueTrial) -> bool:
    """Whether the torque is dry friction, or has a part of it."""
    if not problem.torque.depends & Depends.RATE or problem.torque.sample_kernel is not None:
        return False
    start = (problem.t_start, problem.quaternion_start, problem.omega_start, problem.state_start)
    return is_dry(problem.torque, read_only(trial.values), *start)


def starts_stiff(problem: Problem) -> bool:
    """Whether the problem is stiff at its start."""
    w = problem.omega_start
    start = (problem.t_start, problem.quaternion_start, w)
    decay = fastest_decay(problem.body, problem.torque, *start, problem.span, problem.state_start)
    return is_stiff(decay, math.hypot(*w.tolist()), problem.span)


def _carried_rate(problem: Problem) -> float:
    """How fast the numbers change that the torque carries, or the body with them; 0: it carries none."""
    if not carries_change(problem.torque):
        return 0.0
    start = (problem.t_start, problem.quaternion_start, problem.omega_start)
    return fastest_change(problem.body, problem.torque, *start, problem.span, problem.state_start)


def _ratio(size: float, twice_kinetic: float) -> float:
    return size / twice_kinetic if twice_kinetic > 0 else math.inf if size > 0 else 0.0


def equal_parts(problem: Problem) -> int:
    """The number of equal parts of the span at whose ends all listed times lie; 0: none, or too many."""
    times = problem.times
    if times is None or times.size == 0 or problem.breakpoints:
        return 0
    if times.size <= FEW_NUMBERS:  # for these the calls of NumPy take longer
        t0, span = problem.t_start, problem.span
        parts_of_span = [(t - t0) / span for t in times.tolist()]
        ahead = [a for a in parts_of_span if a > 0.0]
        least = min([b - a for a, b in pairwise([0.0, *ahead])], default=0.0)
        parts = round(1.0 / least) if least * MOST_PARTS > 0.99 else 0
        return parts if max([abs(a * parts - round(a * parts)) for a in parts_of_span]) < 1e-9 else 0
    x = (times - problem.t_start) / problem.span
    gaps = x[x > 0.0]
    gaps[1:] -= gaps[:-1].copy()
    shortest = float(gaps.min()) if gaps.size else 0.0
    parts = round(1.0 / shortest) if shortest * MOST_PARTS > 0.99 else 0
    x *= parts
    return parts if np.abs(x - np.rint(x)).max() < 1e-9 else 0


# --- the torque at some attitudes ------------------------------------------------------------------------------------


@cache
def attitudes(count: int) -> list[Quat]:
    """Attitudes spread at random, always the same."""
    rows = np.random.default_rng(7).normal(size=(count, 4))
    return [(a, b, c, d) for a, b, c, d in (rows / lengths(rows)[:, None]).tolist()]


def _kernel(problem: Problem) -> UserTorque:
    """The torque as a function of (t, q, w, p); what it carries stays as it is at the start.

    One that is sampled has its first sample where it is asked for: at the start itself nothing is held yet.
    """
    torque = problem.torque
    if not torque.state_names:
        return torque.torque_kernel
    z, sample = tuple(problem.state_start.tolist()), torque.sample_kernel
    if sample is None:
        return partial(torque.called, z=z)

    def sampled(t: float, q: Quat, w: Vec3, p: Any) -> Any:
        return torque.called(t, q, w, p, sample(t, q, w, p, z))

    return sampled


def harmonic(problem: Problem, trial: TorqueTrial | None = None) -> float:
    """The harmonic, times its amplitude to the power 1/18, that counts most while a body turns round."""
    trial = trial or TorqueTrial(problem)
    torque, kernel = problem.torque, problem.torque.torque_kernel
    if torque.depends is Depends.NOTHING or torque.depends & Depends.RATE or problem.breakpoints:
        return 1.0
    if (content := trial.content) is None:
        return 1.0
    t = problem.t_start if torque.depends & Depends.TIME else 0.0
    return _harmonic(kernel, content, t, trial.parameters)


@lru_cache(maxsize=128)
def _harmonic(kernel: UserTorque, content: str | None, t: float, p: tuple[float, ...]) -> float:
    values, (start, about) = np.array(p), attitudes(2)
    axis = np.array(about[1:]) / math.hypot(*about[1:])
    rows = []
    for k in range(SAMPLES_AROUND):
        half = math.pi * k / SAMPLES_AROUND
        x, y, z = (math.sin(half) * axis).tolist()
        with faults_ignored():
            n = kernel(t, multiply(start, (math.cos(half), x, y, z)), (0.0, 0.0, 0.0), values)
            rows.append((float(n[0]), float(n[1]), float(n[2])))
    around = np.array(rows)
    if around.shape != (SAMPLES_AROUND, 3) or not np.isfinite(around).all():
        return 1.0
    amplitudes = lengths(np.abs(np.fft.rfft(around, axis=0)))
    counts = amplitudes > 1e-12 * amplitudes.max()  # the others are round-off
    orders = np.flatnonzero(counts) * (amplitudes[counts] / amplitudes.max()) ** (1 / 18)
    return float(max(1.0, orders.max(initial=0.0)))


def ignores_spin(problem: Problem, axis: int, trial: TorqueTrial | None = None) -> bool:
    """Whether a turn of the body about its axis of symmetry seems to leave the torque where it is in space."""
    trial = trial or TorqueTrial(problem)
    torque, kernel, w = problem.torque, problem.torque.torque_kernel, (0.0, 0.0, 0.0)
    if torque.depends is Depends.NOTHING:
        return True
    if (content := trial.content) is None:
        return False
    t, span = 0.0, 0.0
    if torque.depends & Depends.TIME or problem.breakpoints:
        t, span = problem.t_start, problem.span
    if torque.depends & Depends.RATE:
        w = trial.rate
    about = tuple(problem.body.axes[:, axis - 1].tolist())
    return _ignores_spin(kernel, content, t, span, w, trial.parameters, about)


@lru_cache(maxsize=128)
def _ignores_spin(
    kernel: UserTorque, content: str | None, t: float, span: float, w: Vec3, p: tuple[float, ...], about: Vec3
) -> bool:  # fmt: skip
    values, seen = np.array(p), False
    for k, q in enumerate(attitudes(FEW_SAMPLES), 1):
        half, part = math.pi * k / (FEW_SAMPLES + 1), t + span * k / FEW_SAMPLES
        x, y, z = (math.sin(half) * a for a in about)
        turn = (math.cos(half), x, y, z)
        try:
            here, there = kernel(part, q, w, values), kernel(part, multiply(q, turn), to_body(turn, w), values)
            back = to_space(turn, (float(there[0]), float(there[1]), float(there[2])))
            if not math.dist(here, back) <= 1e-12 * math.hypot(*here):
                return False
            seen = seen or any(here)
        except Exception as problem:  # the user's code may raise anything
            if is_from_handler(problem):
                raise
            return False
    return seen  # a torque that is zero everywhere has shown nothing


def _largest_torque(problem: Problem, kinetic: float, trial: TorqueTrial) -> tuple[float, bool, float]:
    """The largest torque at the attitudes that are tried, whether it is uneven, and the span over its pulses.

    Where the torque cannot be computed it counts as zero. Attitudes for which the energy at the start does not suffice
    are left out, if there is a potential to show it. Otherwise an uneven torque counts as large as it is at most
    attitudes: a run that meets more of it will tell.
    """
    if problem.torque.depends is Depends.NOTHING:
        return 0.0, False, 1.0
    torque, kernel, potential = problem.torque, _kernel(problem), problem.torque.potential_kernel
    w, p, start = trial.rate, read_only(trial.values), trial.attitude
    here = trial.size
    if math.isnan(here):
        here = size_or_zero(kernel, problem.t_start, start, w, p)
    of_attitude = torque.depends is Depends.POSITION and not problem.breakpoints
    content = (trial.content, named(potential) if potential else "none") if of_attitude else (None,)
    if of_attitude and all(content):
        samples = _sizes_and_potentials(kernel, potential, content, trial.parameters)
        most = kinetic + _potential_or_nan(potential, start, p)
        reached = [size for size, energy in samples if not energy > most]
        if potential is None:
            return *_evened(problem, here, reached, kinetic), 1.0
        # even near a rest the torque shows how fast the body swings
        return max(here, *(reached or [min(samples)[0]])), False, 1.0
    timed = bool(torque.depends & Depends.TIME or problem.breakpoints)
    count, narrow = SAMPLES if timed else FEW_SAMPLES, 1.0
    if torque.depends & Depends.RATE or trial.content is None:
        sizes = _sizes(kernel, problem.t_start, problem.span, count, w, p)
    else:  # the same for all starts
        sizes = _sizes_in_time(kernel, trial.content, problem.t_start, problem.span, count, trial.parameters)
    if timed and not problem.breakpoints and (name := trial.content) is not None:
        most, narrow = _pulse(kernel, name, problem.t_start, problem.span, trial.parameters)
        if narrow > 1.0:
            return max(here, most, *sizes), True, narrow
    return *_evened(problem, here, sizes, kinetic), narrow


def _sizes(kernel: UserTorque, t: float, span: float, count: int, w: Vec3, p: Floats) -> list[float]:
    """How large a torque is at some attitudes, one after the other in the span."""
    apart = span / count
    return [size_or_zero(kernel, t + k * apart, q, w, p) for k, q in enumerate(attitudes(count), 1)]


@lru_cache(maxsize=128)
def _sizes_in_time(
    kernel: UserTorque, content: str, t: float, span: float, count: int, p: tuple[float, ...]
) -> list[float]:
    """`_sizes` of a torque that does not depend on the rate."""
    return _sizes(kernel, t, span, count, (0.0, 0.0, 0.0), np.array(p))


def _evened(problem: Problem, here: float, sizes: list[float], kinetic: float) -> tuple[float, bool]:
    """The largest torque, and whether it is uneven; then the largest is that at most attitudes.

    A torque that is uneven only among some attitudes counts so where the body is far too slow to reach the others; so
    does one that would want very many steps, if neither the start nor the energy there speaks for it.
    """
    in_order = sorted(sizes)
    most, middle, low = in_order[-1], in_order[len(sizes) // 2], in_order[len(sizes) // 4]
    typical = low if most > OUT_OF_REACH * kinetic else middle
    if most > UNEVEN * max(here, typical):
        return max(here, typical), True
    swings = abs(problem.span) * math.sqrt(most / float(problem.body.moments.min()))
    if swings > MANY_SWINGS and most > OUT_OF_REACH * max(here, kinetic):
        return max(here, kinetic), True
    return max(here, most), False


@lru_cache(maxsize=128)
def _pulse(kernel: UserTorque, content: str, t: float, span: float, p: tuple[float, ...]) -> tuple[float, float]:
    """How large a torque gets in time, and the span over the length of its shortest pulse; 1: it has none."""
    values, at_rest, (q,) = np.array(p), (0.0, 0.0, 0.0), attitudes(1)

    def size(k: float) -> float:
        return size_or_zero(kernel, t + (k + 0.5) / TIMES * span, q, at_rest, values)

    sizes = [size(k) for k in range(TIMES)]
    most, middle = max(sizes), sorted(sizes)[TIMES // 2]
    if most <= UNEVEN * middle or most == 0.0:
        return most, float(TIMES) if most > 0.0 and _has_peak(size, sizes.index(most), UNEVEN * middle) else 1.0
    runs = "".join("#" if size > 0.1 * most else " " for size in sizes).split()
    return most, TIMES / min(map(len, runs))


def _has_peak(size: Callable[[float], float], best: float, high: float) -> bool:
    """Whether a size becomes so high near the best of all whole places, as it does at a pole between two of them."""
    found, apart, calm = size(best), 1.0, 0
    for _ in range(MOST_HALVINGS):
        apart *= 0.5
        higher, place = max((size(x), x) for x in (best - apart, best + apart))
        if higher > high:
            return True
        calm = calm + 1 if 0.9 * found < higher < 1.1 * found else 0
        if calm == 2:  # once may be chance: the pole is half as far away on one side as on the other
            return False
        if higher > found:
            found, best = higher, place
    return False


@lru_cache(maxsize=128)
def _sizes_and_potentials(
    kernel: UserTorque, potential: UserPotential | None, content: tuple[str | None, ...], p: tuple[float, ...]
) -> list[tuple[float, float]]:
    """Size and potential of a torque of the attitude alone: one torque may turn many bodies."""
    values, at_rest = np.array(p), (0.0, 0.0, 0.0)
    return [
        (size_or_zero(kernel, 0.0, q, at_rest, values), _potential_or_nan(potential, q, values))
        for q in attitudes(FEW_SAMPLES)
    ]


def _potential_or_nan(potential: UserPotential | None, q: Quat, p: Floats) -> float:
    with faults_ignored():
        return float(potential(0.0, q, p)) if potential else 0.0
    return math.nan
