"""A tolerance in, an answer out: the choice of a method and of its step, with an estimate of the error.

The error of a run is the largest, over its output times, of the error of the attitude in radians and of the error of
the rate relative to the largest rate. It is estimated from the distance to a second run over the whole span
(`_estimate.py`). docs/auto.md has the measurements behind the numbers in this file.
"""

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode._aside import both, cores
from polhode._check import Floats
from polhode._columns import lengths
from polhode._estimate import CHECKS, COARSER, MAYBE_ROUND_OFF, Factors, distance, estimate, least_error, nudged, spread
from polhode._integration import (
    CannotGoOn,
    Integration,
    Itself,
    Progress,
    SimulationInterrupted,
    segments,
)
from polhode._own_clock import integration, levels_of_polhode
from polhode.compiled import compiles, named
from polhode.core import status as codes
from polhode.core.exact import effort, finest
from polhode.core.polished import LONGEST_TURN
from polhode.core.quat import multiply, to_body, to_space
from polhode.core.types import Depends, Quat, Rotor, UserTorque, Vec3
from polhode.core.variable import Adaptive
from polhode.core.vec import dot
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run, Solution
from polhode.torques._torque import UserPotential

MOST_LEVELS = 24
AFTER_FAILURE = 2.5
"""So many times more steps. Before a soft wall, where first guesses fail, 1.6 takes 17 % longer in the mean."""
MOST_FAILURES = 6
"""Nearly 250 times as many steps as at first: the torque itself may be at fault."""
MOST_STEPS = 1e9
MOST_PIECES = 1e4
"""Stretches between jumps that are shorter than this part of the span get one step each."""
MOST_PARTS = 100_000
WORTH_A_GRID = 1.15
"""Up to so many times more steps are made so that listed times lie between two of them, and need no steps aside."""
LONG_ENOUGH = 6000
"""Flows, half a millisecond to one, from which on a thread for the companion pays."""
LONG_RUN = 1e5
"""Steps from which on it pays to compile anew for a shorter step."""
HOPELESS = 0.1
"""Errors that are left where motions part: less rounding would not help."""
NEAR_ROUND_OFF = 1e-9
"""Errors that may be round-off, over many turns."""

ANY = "DOP853"
"""A method that takes every torque: it stands where one is still to be chosen."""


class ToleranceNotReached(UserWarning):
    """The estimate of the error is above the tolerance, and shorter steps would not help."""


# --- what kind of problem it is ------------------------------------------------------------------------------------


class Character(NamedTuple):
    """The sizes that decide on method and step."""

    span: float
    rate: float
    """The greatest rate of the free motion, and what a fall by the torque adds to it."""
    weakness: float
    """eps: the largest torque over twice the kinetic energy at the start."""
    depends: Depends
    symmetric: bool
    pieces: float = 1.0
    """How many of the shortest stretch between jumps of the torque the span would hold."""
    steadiness: float = 2.5
    """The angle through which the body turns while its nutation advances by one, as `exact.effort` measures that."""
    harmony: float = 1.0
    """How much faster the torque changes with the attitude than that of a weight, as far as high orders feel it."""
    parts: int = 0
    """If the listed times are at ends of equal parts of the span: how many these are."""
    may_bend: bool = False
    """Whether the torque may jump or bend where nobody has said so."""
    comoving: tuple[float, float] | None = None
    """Of a symmetric body: the rate at which its torque changes for one that takes part in its free motion, and the
    weakness by that measure."""

    def seen_by(self, method: Method) -> "Character":
        """The same to a method that may take part in the free motion."""
        if self.comoving is None or not method.comoves:
            return self
        rate, weakness = self.comoving
        return self._replace(rate=rate, weakness=weakness, steadiness=math.inf)

    @property
    def turn(self) -> float:
        """The angle through which the body turns, more or less."""
        return self.span * self.rate

    @property
    def reach(self) -> float:
        """The angle through which an exact flow takes the body in one piece."""
        fine = finest()
        return min(fine.longest_turn, math.sqrt(fine.longest_series) * self.steadiness)

    @property
    def smooth(self) -> float:
        """An angle in which the torque that the body feels changes as little as in any other body."""
        return min(3.2, 0.7 * self.steadiness) / self.harmony


def character(run: Run) -> Character:
    """Of a problem, from its start and from the torque at attitudes and times that are spread out."""
    body = run.body
    x, y, z = (run.momentum_start if body.aligned else run.momentum_start @ body.axes).tolist()
    a, b, c = body.moments.tolist()
    j, start = (1.0 / a, 1.0 / b, 1.0 / c), (x, y, z)
    twice_kinetic = dot((x * x, y * y, z * z), j)
    size = _largest_torque(run, 0.5 * twice_kinetic)
    rotor = Rotor((a, b, c), j)
    rate2, nutation2 = effort(rotor, start)
    free_rate = math.sqrt(max(rate2, 0.0))
    steadiness = free_rate / math.sqrt(nutation2) if nutation2 > 0.0 else math.inf
    rate, weakness = math.hypot(free_rate, math.sqrt(size * max(j))), _weakness(size, twice_kinetic)
    span, pieces = abs(run.t_end - run.t_start), 1.0
    if run.torque.breakpoints:
        stretches = segments(run.t_start, run.t_end, run.t_end - run.t_start, run.torque.breakpoints)
        pieces = min(span / min(abs(s.t1 - s.t0) for s in stretches), MOST_PIECES)
    depends, symmetric = run.torque.depends, a == b or b == c or c == a
    comoving = None
    if axis := body.symmetry_axis:
        across = j[axis % 3]
        rate2 = dot(start, start) * across * across
        spin = 0.0 if ignores_spin(run, axis) else abs((j[axis - 1] - across) * start[axis - 1])
        turns = math.hypot(math.sqrt(rate2) + spin, math.sqrt(FALLING * size * across))
        comoving = turns, _weakness(size, rate2 / across)
    return Character(
        span, rate, weakness, depends, symmetric, pieces, steadiness, harmony(run), may_bend=run.torque.may_bend,
        comoving=comoving,
    )  # fmt: skip


def _weakness(size: float, twice_kinetic: float) -> float:
    return size / twice_kinetic if twice_kinetic > 0 else math.inf if size > 0 else 0.0


def equal_parts(run: Run, times: Floats | None) -> int:
    """Of the span, at whose ends all listed times lie; 0: there are no such, or too many."""
    if times is None or times.size == 0 or run.torque.breakpoints:
        return 0
    x = (times - run.t_start) / (run.t_end - run.t_start)
    gaps = x[x > 0.0]
    gaps[1:] -= gaps[:-1].copy()
    shortest = float(gaps.min()) if gaps.size else 0.0
    parts = round(1.0 / shortest) if shortest * MOST_PARTS > 0.99 else 0
    x *= parts
    return parts if np.abs(x - np.rint(x)).max() < 1e-9 else 0


@cache
def _attitudes(count: int) -> list[Quat]:
    """Spread at random, always the same."""
    rows = np.random.default_rng(7).normal(size=(count, 4))
    return [(a, b, c, d) for a, b, c, d in (rows / lengths(rows)[:, None]).tolist()]


FALLING = 4.0
"""What a torque adds to the square of the rate about the momentum, times its size over the moment: twice the radians
through which it works."""
AROUND = 16
"""Looks at a torque on the way round an axis."""


def harmony(run: Run) -> float:
    """The order of the harmonic, with its amplitude to the power 1/18, that counts most while a body turns round."""
    torque, kernel = run.torque, run.torque.torque_kernel
    if torque.depends is Depends.NOTHING or torque.depends & Depends.RATE or torque.breakpoints:
        return 1.0
    if (content := named(kernel)) is None:
        return 1.0
    t = run.t_start if torque.depends & Depends.TIME else 0.0
    return _harmony(kernel, content, t, tuple(torque.parameters(run.body)))


@lru_cache(maxsize=128)
def _harmony(kernel: UserTorque, content: str | None, t: float, p: tuple[float, ...]) -> float:
    values, (start, about) = np.array(p), _attitudes(2)
    axis = np.array(about[1:]) / math.hypot(*about[1:])
    rows = []
    for k in range(AROUND):
        half = math.pi * k / AROUND
        x, y, z = (math.sin(half) * axis).tolist()
        with suppress(Exception):  # the user's code may raise anything
            n = kernel(t, multiply(start, (math.cos(half), x, y, z)), (0.0, 0.0, 0.0), values)
            rows.append((float(n[0]), float(n[1]), float(n[2])))
    around = np.array(rows)
    if around.shape != (AROUND, 3) or not np.isfinite(around).all():
        return 1.0
    amplitudes = lengths(np.abs(np.fft.rfft(around, axis=0)))
    counts = amplitudes > 1e-12 * amplitudes.max()  # the others are round-off
    orders = np.flatnonzero(counts) * (amplitudes[counts] / amplitudes.max()) ** (1 / 18)
    return float(max(1.0, orders.max(initial=0.0)))


def ignores_spin(run: Run, axis: int) -> bool:
    """Whether a turn of the body about its axis of symmetry seems to leave the torque where it is in space."""
    torque, kernel, w = run.torque, run.torque.torque_kernel, (0.0, 0.0, 0.0)
    if torque.depends is Depends.NOTHING:
        return True
    if (content := named(kernel)) is None:
        return False
    t, span = 0.0, 0.0
    if torque.depends & Depends.TIME or torque.breakpoints:
        t, span = run.t_start, run.t_end - run.t_start
    if torque.depends & Depends.RATE:
        w = tuple(run.body.rate(run.momentum_start).tolist())
    about = tuple(run.body.axes[:, axis - 1].tolist())
    return _ignores_spin(kernel, content, t, span, w, tuple(torque.parameters(run.body)), about)


@lru_cache(maxsize=128)
def _ignores_spin(
    kernel: UserTorque, content: str | None, t: float, span: float, w: Vec3, p: tuple[float, ...], about: Vec3
) -> bool:  # fmt: skip
    values, seen = np.array(p), False
    for k, q in enumerate(_attitudes(FEW_LOOKS), 1):
        half, part = math.pi * k / (FEW_LOOKS + 1), t + span * k / FEW_LOOKS
        x, y, z = (math.sin(half) * a for a in about)
        turn = (math.cos(half), x, y, z)
        try:
            here, there = kernel(part, q, w, values), kernel(part, multiply(q, turn), to_body(turn, w), values)
            back = to_space(turn, (float(there[0]), float(there[1]), float(there[2])))
            if not math.dist(here, back) <= 1e-12 * math.hypot(*here):
                return False
            seen = seen or any(here)
        except Exception:  # the user's code may raise anything
            return False
    return seen  # a torque that is nowhere has not been looked at


LOOKS, FEW_LOOKS = 32, 8
"""At a torque that changes in time, and at one that does not."""


def _largest_torque(run: Run, kinetic: float) -> float:
    """Where the torque cannot be had, it is left out: the run will tell if it comes there.

    So are attitudes to which the energy at the start does not suffice, if there is a potential to tell.
    """
    if run.torque.depends is Depends.NOTHING:
        return 0.0
    torque, kernel, potential = run.torque, run.torque.torque_kernel, run.torque.potential_kernel
    w, p = tuple(run.body.rate(run.momentum_start).tolist()), np.array(torque.parameters(run.body), dtype=float)
    start = tuple(run.quaternion_start.tolist())
    here = _size(kernel, run.t_start, start, w, p)
    content = (named(kernel), named(potential) if potential else "none")
    if torque.depends is Depends.POSITION and not torque.breakpoints and all(content):
        looks = _looks(kernel, potential, content, tuple(p.tolist()))
        most = kinetic + _height(potential, start, p)
        reached = [size for size, height in looks if not height > most]
        return max(here, *(reached or [min(looks)[0]]))  # even near a rest the torque tells how fast the body swings
    others = _attitudes(LOOKS if torque.depends & Depends.TIME or torque.breakpoints else FEW_LOOKS)
    apart = (run.t_end - run.t_start) / len(others)
    return max(here, *(_size(kernel, run.t_start + k * apart, q, w, p) for k, q in enumerate(others, 1)))


@lru_cache(maxsize=128)
def _looks(
    kernel: UserTorque, potential: UserPotential | None, content: tuple[str | None, ...], p: tuple[float, ...]
) -> list[tuple[float, float]]:
    """Size and potential at the other attitudes, if they are all that counts: one torque may turn many bodies."""
    values = np.array(p)
    return [
        (_size(kernel, 0.0, q, (0.0, 0.0, 0.0), values), _height(potential, q, values)) for q in _attitudes(FEW_LOOKS)
    ]


def _height(potential: UserPotential | None, q: Quat, p: Floats) -> float:
    with suppress(Exception):
        return float(potential(0.0, q, p)) if potential else 0.0
    return math.nan


def _size(kernel: UserTorque, t: float, q: Quat, w: Vec3, p: Floats) -> float:
    with suppress(Exception):  # the user's code may raise anything
        x, y, z = kernel(t, q, w, p)
        size = math.hypot(x, y, z)
        if math.isfinite(size):
            return size
    return 0.0


# --- methods, with their fineness as one number --------------------------------------------------------------------


@dataclass(frozen=True)
class Ladder:
    """A method whose steps are to be found: a number of steps, or what takes its place."""

    method: Method
    order: float
    """By how much the error falls: like the number of steps to minus this power, at first guess."""
    first: float
    """The number of steps to begin with."""
    factors: Factors
    """The estimate is the distance to the companion times these."""
    stretch: float = 1.0
    """The time in which the body turns as far as an exact flow goes in one piece."""
    least: float = 16.0
    """Steps of a method that chooses them: so that it sees the whole span, and all that happens between jumps."""
    effort: float = 1.0
    """What a step costs, in flows."""
    growth: float = 1.0
    """What becomes of errors of the iteration: they are biased, and change the energy, on which all angles depend."""
    parts: int = 0
    """Steps are a multiple of this, if that is not much more."""
    spare: Method | None = None
    """What to go on with where round-off keeps the method from its tolerance."""
    rounding: float = 0.0
    """The error by rounding that is to be expected of one step; it grows like the root of their number."""

    def made(self, run: Run, n: float, rtol: float, *, coarser: bool = False) -> Run:
        """The run with n steps, or its companion."""
        span = run.t_end - run.t_start
        if isinstance(self.method.scheme, Adaptive):  # n^-8 is its tolerance
            n = COARSER * n if coarser else n
            longest = span * self.first / (self.least * n)  # a bound that binds must differ from run to run, too
            return run.having(method=_tolerant(n), step=longest)
        steps = on_grid(max(1, math.ceil(n)), self.parts)
        if coarser:
            fewer = max(1, math.floor(COARSER * steps))
            even = fewer // self.parts * self.parts if self.parts else 0
            steps = even if WORTH_A_GRID * even >= fewer else fewer
        method = self.method
        if any(o.name == "tolerance" for o in method.options):
            # The companion solves its equations better, or neither would show what is left of them.
            method = _iterated(method, 0.1 * rtol if coarser else rtol, steps * self.growth)
        step = span / steps
        return run.having(method=method, step=step, longest_step=self._ready(step, steps))

    def _ready(self, step: float, steps: float) -> float:
        """The step that exact flows are made ready for. Short runs share one program; long ones are worth their own."""
        if steps < LONG_RUN:
            doublings = max(-2, math.ceil(math.log2(abs(step) / (COARSER * self.stretch))))
            return math.copysign(math.ldexp(self.stretch, doublings), step)
        return math.copysign(math.ldexp(1.0, math.ceil(math.log2(abs(step) / COARSER))), step)

    def unseen(self, method: Method, n: float) -> tuple[float, float]:
        """What the companion may have by chance, too, in n steps: rounding, and what iterations leave."""
        return self.rounding * math.sqrt(n), n * float(dict(method.settings).get("tolerance", 0.0))

    def most(self, run: Run) -> float:
        """Beyond this, more steps mean nothing; a tolerance of 1e-16 does not."""
        if isinstance(self.method.scheme, Adaptive):
            return 100.0
        finest = 16 * math.ulp(max(abs(run.t_start), abs(run.t_end)))
        return min(MOST_STEPS, abs(run.t_end - run.t_start) / finest)


def on_grid(steps: int, parts: int) -> int:
    """A few more steps, if then all listed times are ends of some."""
    even = math.ceil(steps / parts) * parts if parts else steps
    return even if even <= WORTH_A_GRID * steps else steps


def _tolerant(n: float) -> Method:
    return find_method("DOP853", rtol=float(f"{n**-8.0:.3g}"))


def _iterated(method: Method, rtol: float, steps: float) -> Method:
    """Collocation, its equations solved as well as it matters."""
    allowed = _allowed(rtol, steps)
    return _having(Itself(method), tolerance=allowed if allowed > WORTH_ALLOWING else 0.0)


@lru_cache(maxsize=256)
def _having(method: Itself, **option: float) -> Method:
    """To look options up takes longer than a short run."""
    made: Method = method.value.having(**option)
    return made


def _allowed(rtol: float, steps: float) -> float:
    """Error of an iteration that does not show in the answer. 1 or 3 times a power of ten: a name for a person."""
    most = max(ITERATED * rtol / steps, 1e-17)
    power = math.floor(math.log10(most))
    return float(f"{3 if most >= 3 * 10.0**power else 1}e{power}")


def _growth(c: Character) -> float:
    """Of the errors of iterations, by so much they count more than their sum."""
    return 2.0 + 0.06 * min(1.0, c.weakness) * c.turn


# --- the choice ------------------------------------------------------------------------------------------------------


def chosen(c: Character, rtol: float, outputs: int | None, *, many: bool = False) -> Ladder:
    """The method that gets there soonest, by the measurements in docs/auto.md; outputs at listed times, or at steps.

    A free body goes to listed times in one step each; without a list it makes two steps a radian, for rows to look at.
    """
    if c.depends is Depends.NOTHING:
        steps = 1.0 if outputs is not None else min(max(1.0, 2.0 * c.turn), 1e4)
        return Ladder(find_method("Exact"), 0.0, steps, Factors())
    if c.may_bend:  # equal steps err by where in a step it happens, and a companion may err alike
        return ladder(find_method(ANY), c, rtol)
    method = find_method(_best(c, rtol, outputs, many=many))
    if is_collocation(method) and _iteration(method, c, rtol).allowed > ROUNDING_IS_LESS:
        method = _having(Itself(method), compensated=False)
    spare = _having(Itself(method), compensated=True)
    return ladder(method, c, rtol, None if spare is method else spare)


class Model(NamedTuple):
    """What a step of a method costs and brings.

    The estimate of the error grows like the sum, over the powers k of the torque, of eps^k (turn in a step)^order
    coefficient, for each radian of the motion. With the first power, turns are measured by what is a smooth one for the
    body. Rough: the control loop does the rest.
    """

    longest: float
    """Turn in a step."""
    coefficients: tuple[float, ...]
    flows: float = 0.0
    """In a step."""
    part: float = 0.0
    """Of a step, the longest flow."""
    kicks: float = 1.0
    """For each flow, evaluations of the torque."""
    stronger: float = 0.0
    """A method that is not made for weak torques sees turns as longer with eps: by 1 + this times eps."""
    shorter: float = 0.0
    """Its longest turn falls with eps: by 1 + this times eps."""
    in_motion: bool = False
    """A method that takes part in the free motion has errors as small as the torque."""


STRONG = 0.3
"""From this weakness on no splitting is the cheapest: it need not be asked."""
STRONG_IN_MOTION = 0.4
"""From this weakness on there is little left of the free motion to take part in."""
CORRECTED = "Strang(corrector=17)"
MODIFIED = "TakahashiImada"
COLLOCATION = "G8(compensated=true)"
COMOVING = "G8(compensated=true, comoving=true)"
MODELS = {
    "Strang": Model(3.0, (6.0, 0.11), 1.0, 1.0),
    "TakahashiImada": Model(3.0, (3.0, 0.04), 1.0, 1.0, kicks=2.0),
    "SABA8": Model(6.0, (5e-9, 8e-3), 8.0, 0.18),
    "ABA1064": Model(5.5, (1e-5, 1.4e-4, 1.4e-4), 8.0, 0.65),
    "G8": Model(2.5, (5.4e-17,), stronger=1.2, shorter=0.45),
    "G4": Model(1.9, (6e-8,)),
}
IN_MOTION = {"G8": Model(8.0, (2.5e-17,), stronger=2.5, shorter=4.0, in_motion=True)}
"""Of methods that take part in the free motion of a symmetric body: turns are those about the momentum."""
FLOW = {False: (85.0, 90.0), True: (50.0, 0.0)}
"""Nanoseconds of an exact flow with its kick, of an asymmetric and of a symmetric body; more for one as long as its
reach."""
FLOW_OF_MANY = {False: (22.0, 25.0), True: (8.5, 0.0)}
"""The same where several bodies share the vector registers. Collocation has its points there, and gains nothing."""
KICK = {False: 35.0, True: 8.0}
"""Nanoseconds of a second evaluation of the torque, at an attitude ahead; for one body, and for one of many."""
ROUNDING = 2.4e-15
"""Of a flow, in the estimate; that of collocation, whose sums are compensated, is less."""
ROUNDED = 0.1 * 2.0**-52
"""Change of the energy by a flow that is not compensated. Two runs may have the same by chance: so it is part of the
estimate."""
COLLOCATING = 8.0
"""Flows that a step of collocation costs, more or less."""
POLISHING = 2.4
"""By so much more a flow costs whose rounding does not count. It is made for one body at a time."""
PASSAGE = 24.0
"""Flows that a corrector makes on its way in or out."""
STEP, ITERATION = 100.0, 63.0
"""Nanoseconds of a step of G8, and of each iteration in it."""
STEP_IN_MOTION, ITERATION_IN_MOTION = {True: 90.0, False: 130.0}, 61.0
"""The same of `COMOVING`, plain and compensated."""
UTMOST = 150.0
"""More of them for a step whose round-off is not to accumulate."""


def _best(c: Character, rtol: float, outputs: int | None, *, many: bool) -> str:
    """Near the borders the costs are equal, so that it matters little which is taken."""
    costs = {COLLOCATION: _collocation_cost(COLLOCATION, c, rtol)}
    if c.comoving is not None and c.comoving[1] < STRONG_IN_MOTION:
        costs[COMOVING] = _collocation_cost(COMOVING, c, rtol)
    if not c.depends & Depends.RATE and c.weakness < STRONG:
        for name in ("SABA8", "ABA1064"):
            costs[name] = _splitting_cost(name, c, rtol, many=many)
        # A corrector looks beyond the ends of the span, where a torque of the time may have no value.
        if outputs is not None and not c.depends & Depends.TIME:
            for name in (CORRECTED, MODIFIED):
                costs[name] = _splitting_cost(name, c, rtol, outputs, many=many)
                if costs[name] == math.inf:  # by its round-off: else the dearer form would not win
                    polished = _having(Itself(find_method(name)), compensated=True).name
                    costs[polished] = _splitting_cost(polished, c, rtol, outputs)
    return min(costs, key=lambda name: costs[name])


def _splitting_cost(name: str, c: Character, rtol: float, shown: int = 0, *, many: bool = False) -> float:
    """Nanoseconds, with those of a corrector's passages to so many outputs."""
    method = find_method(name)
    turn, _ = _first_turn(method, c, rtol)
    model = MODELS[method.bare_name]
    flows = c.turn / turn * model.flows
    each, longer = (FLOW_OF_MANY if many else FLOW)[c.symmetric]
    each += (model.kicks - 1.0) * KICK[many]
    each += longer * min(1.0, model.part * turn / c.reach)
    passages = _passages(c, turn, shown) * PASSAGE * each if shown else 0.0
    if method.unscaled:
        return POLISHING * flows * each + passages
    cost = flows * each + passages
    rounding = max(ROUNDING * flows, 5.0 * ROUNDED * c.turn * math.sqrt(flows))
    return cost if rounding < 0.5 * rtol else math.inf


def _passages(c: Character, turn: float, shown: int) -> int:
    """Of a corrector: one at the start and one for each output, or three for one that lies between two steps."""
    steps = math.ceil(c.turn / turn)
    even = c.parts and on_grid(steps, c.parts) % c.parts == 0
    return 1 + shown if even else 3 * shown - 1  # the last one is at the end


class Iteration(NamedTuple):
    """How collocation would go."""

    turn: float
    """In a step."""
    steps: float
    allowed: float
    """Error that iterations may leave in a step."""


def _iteration(method: Method, c: Character, rtol: float) -> Iteration:
    c = c.seen_by(method)
    turn, _ = _first_turn(method, c, rtol)
    steps = max(c.turn / turn, 1.0)
    return Iteration(turn, steps, _allowed(rtol, steps * _growth(c)))


def _collocation_cost(name: str, c: Character, rtol: float) -> float:
    """Nanoseconds: each iteration brings fewer digits the longer the step is."""
    method = find_method(name)
    turn, steps, allowed = _iteration(method, c, rtol)
    light = allowed > ROUNDING_IS_LESS
    if method.comoves:  # an iteration makes the error smaller by about the weakness
        rate, eps = c.seen_by(method).rate, min(1.0, max(c.seen_by(method).weakness, 1e-16))
        if ROUNDED_ATTITUDE * eps * c.span * rate * math.sqrt(steps) > rtol:
            return math.inf
        nearer = 0.35 * eps * turn * turn / (1.0 + 40.0 * eps)
        iterations = math.log(max(allowed, 1e-16) / eps) / math.log(min(max(nearer, 1e-16), 0.9))
        return steps * (STEP_IN_MOTION[light] + ITERATION_IN_MOTION * max(2.0, iterations))
    iterations = 0.9 - 0.66 * math.log10(allowed) * math.pow(0.5 * turn, 0.6)
    cost = STEP + ITERATION * iterations + (0.0 if allowed > WORTH_ALLOWING else UTMOST)
    return steps * (LIGHTLY * cost if light else cost)


ROUNDED_ATTITUDE = 1e-15
"""Error by the rounding of attitudes in a step that takes part in the free motion: it changes the potential energy, and
so the rate."""
ROUNDING_IS_LESS = 0.9e-13
"""Where iterations may leave more in a step than this, its rounding need not be compensated."""
LIGHTLY = 0.86
"""What such a step costs, as a part of one whose rounding is: 1.15 to 1.19 times less was measured."""


WORTH_ALLOWING = 1e-15
"""Iterations that are to leave less go on to round-off."""
ITERATED = 0.03
"""The part of the tolerance that iterations may use up."""
FACTORS = {
    "G4": Factors(2.0), "G8": Factors(2.0, 2.0), "DOP853": Factors(3.0), "SABA8": Factors(10.0),
    "TakahashiImada": Factors(2.5),
}  # fmt: skip
"""Where others than usual were measured; G8 has the second where its sums are compensated."""
ATTAINABLE = 24.0
"""Estimates of so many times the least error are round-off: shorter steps would not lower them."""
ATTAINED = 3.0
"""Estimates of so many times the least error are as good as they get."""


def _factors(method: Method) -> Factors:
    factors = FACTORS.get(method.bare_name, Factors())
    compensated = dict(method.settings).get("compensated", False)
    return factors if compensated or not is_collocation(method) else Factors(factors.truncation)


def ladder(method: Method, c: Character, rtol: float, spare: Method | None = None) -> Ladder:
    """A method, with a first guess of its steps."""
    c = c.seen_by(method)
    orders = [n for n in method.orders(free=c.depends is Depends.NOTHING) if n is not None]
    factors = _factors(method)
    if isinstance(method.scheme, Adaptive):
        first = math.pow(10.0 * max(c.turn, 2.0) / rtol, 1 / 8)
        return Ladder(method, 8.0, first, factors, least=max(16.0, 2 * c.pieces))
    if not orders:
        return Ladder(method, 0.0, max(1.0, c.turn), factors)
    turn, order = _first_turn(method, c, rtol)
    stretch = c.reach / max(c.rate, 1e-300)
    # So many, or two between jumps, that those of the companion are others, there too.
    model = model_of(method, symmetric=c.comoving is not None)
    effort = model.flows or COLLOCATING if model else 1.0
    first = max(3.0, 2 * c.pieces, c.turn / turn)
    plain = model is not None and model.flows > 0.0 and not method.unscaled
    rounding = ROUNDED * c.turn * math.sqrt(effort) if plain else 0.0
    return Ladder(
        method, order, first, factors, stretch, effort=effort, growth=_growth(c), parts=c.parts, spare=spare,
        rounding=rounding,
    )  # fmt: skip


def _first_turn(method: Method, c: Character, rtol: float) -> tuple[float, float]:
    """The angle by which the body turns in a step that is likely to do; the order of the error that allows no more."""
    powers, model = _law(Itself(method), c.depends is Depends.NOTHING, c.comoving is not None)
    limiting, eps = math.sqrt(max(powers) * min(powers)), min(1.0, c.weakness)  # of the longest turn: nobody knows
    radians, weak = c.turn, bool(method.generalised_order)
    turn = model.longest / (1.0 + model.shorter * eps)
    if model.part and not c.symmetric:  # the companion's flows are to go in one piece
        reach = min(c.reach, LONGEST_TURN) if method.unscaled else c.reach
        turn = min(turn, COARSER * reach / model.part)
    errors = []
    for k, (order, coefficient) in enumerate(zip(powers, model.coefficients, strict=False), 1):
        if weak:
            size = eps**k
        elif model.in_motion:
            size = eps * math.pow((1.0 + model.stronger * eps) * c.harmony, order)
        else:  # of the motion as a whole, and of what the torque has beyond that of a weight
            size = math.pow(1.0 + model.stronger * eps, order) + eps * (math.pow(c.harmony, order) - 1.0)
        share = coefficient * size * radians
        if model.part and k == 1:
            share *= math.pow(c.smooth, -order)
        share = max(share, 1e-300)
        errors.append((order, share))
        if (allowed := math.pow(rtol / share, 1 / order)) < turn:
            turn, limiting = allowed, float(order)
    while sum([share * math.pow(turn, order) for order, share in errors]) > 1.01 * rtol:
        turn *= 0.95  # where two of them are alike
    return turn, limiting


def model_of(method: Method, *, symmetric: bool) -> Model | None:
    """What is known of its steps, with a body that is symmetric or is not."""
    return (IN_MOTION if method.comoves and symmetric else MODELS).get(method.bare_name)


@lru_cache(maxsize=256)
def _law(method: Itself, free: bool, symmetric: bool) -> tuple[tuple[int, ...], Model]:
    """The orders of the error in the powers of the torque, and what is known of its size."""
    of: Method = method.value
    powers = of.generalised_order or (min(n for n in of.orders(free=free) if n is not None),)
    unknown = Model(1.0, (0.02,) * len(powers))
    if powers == (2, 2):  # Strang without its corrector
        return powers, unknown
    return powers, model_of(of, symmetric=symmetric) or unknown


# --- the runs --------------------------------------------------------------------------------------------------------


@dataclass
class Search:
    """All runs of one question, and what they cost."""

    run: Run
    times: Floats | None
    rtol: float
    floor: float
    """The least error that is believed."""
    round_off: float
    """What is to be expected of it, if the axes of the body are known."""
    progress: Progress | None
    announce: Callable[[], None] | None
    nfev: int = 0
    seconds: float = 0.0
    solved: float = math.inf
    """The tolerance to which iterations are solved, if it is less than that of the answer."""
    tried: list[tuple[float, float]] = field(default_factory=list)
    """Numbers of steps and estimates."""
    begun: Integration | None = None
    """The first run of all."""
    best: tuple[Solution, float] | None = None
    """Of the solutions so far, with its estimate."""
    unjudged: Solution | None = None
    """The last run that came to the end, whose companion may not have."""

    def _begin(self, run: Run, times: Floats | None) -> Integration:
        if times is not None and run.every is not None:
            run = run.having(every=None)
        if self.begun is not None:
            return self.begun.beside(run, times)
        start = (run.quaternion_start, run.momentum_start)
        self.begun = integration(run)(run, *start, times, self.progress, self.announce)
        return self.begun

    def _companion(self, run: Run, times: Floats) -> Integration:
        assert self.begun is not None
        others = nudged(run.momentum_start, run.body.moments, run.body.axes)
        return self.begun.beside(run.having(every=None), times, others)

    def _made(self, begun: Integration) -> Solution:
        try:
            return begun.attempt()
        finally:
            self._count(begun)

    def _count(self, begun: Integration) -> None:
        self.nfev += begun.nfev
        self.seconds += begun.seconds

    def pair(self, ladder: Ladder, n: float) -> tuple[Solution, float]:
        """A run and its estimated error."""
        few = self.times if self.times is None else spread(self.times)
        solved = min(self.rtol, self.solved)
        main = self._begin(ladder.made(self.run, n, solved), few)
        coarser = ladder.made(self.run, n, solved, coarser=True)
        if few is not None and n * ladder.effort >= LONG_ENOUGH and compiles() and cores() > 1:
            rows = self._checks(few)
            run, other = self._both(main, self._companion(coarser, few[rows]))
        else:
            run = self.unjudged = self._made(main)
            rows = self._checks(run.t)
            other = self._made(self._companion(coarser, run.t[rows]))
        unseen = ladder.unseen(run.run.method, n)
        return run, estimate(ladder.factors, distance(run, rows, other), self.floor, *unseen)

    def _checks(self, t: Floats) -> NDArray[np.int64] | slice:
        """Rows in which the two are compared, of those of the run: the start is what it is."""
        first = 1 if t.size > 1 and t[0] == self.run.t_start else 0
        return slice(first, None) if t.size - first <= CHECKS else spread(np.arange(first, t.size))

    def _both(self, main: Integration, companion: Integration) -> tuple[Solution, Solution]:
        try:
            run, other = both(main, companion)
        finally:
            self._count(main)
        self._count(companion)  # not if it was stopped somewhere because the first run has failed
        if isinstance(other, BaseException):
            raise other
        return run, other

    def answer(self, ladder: Ladder) -> Solution:
        """The best solution; also where the user does not wait for a better one."""
        try:
            self._refine(ladder)
            assert self.best is not None
            if self.rtol < self.best[1] < HOPELESS and ladder.spare is not None:
                most = max(n for n, _ in self.tried)
                self.tried.clear()
                self._refine(
                    replace(ladder, method=ladder.spare, factors=_factors(ladder.spare), first=most, rounding=0.0)
                )
            return self._finished(*self.best)
        except CannotGoOn as problem:
            raise problem.failure() from None
        except SimulationInterrupted as stopped:
            if self.best is not None:
                raise SimulationInterrupted(self._unfinished(*self.best)) from None
            whole = self.unjudged or stopped.solution
            if whole.status != codes.OK:
                raise
            raise SimulationInterrupted(self._unfinished(whole, None)) from None

    def _refine(self, ladder: Ladder) -> None:
        """Until the estimate is below the tolerance, or does not fall any more."""
        n, failures = ladder.first, 0
        most = ladder.most(self.run)
        for _ in range(MOST_LEVELS):
            n = min(n, most)
            try:
                solution, error = self.pair(ladder, n)
            except CannotGoOn:
                failures += 1
                if n >= most or failures > MOST_FAILURES:
                    if self.best is None:
                        raise
                    return
                n *= AFTER_FAILURE
                continue
            self.tried.append((n, error))
            if self.best is None or error < self.best[1]:
                self.best = (solution, error)
            if self._enough(error) or n >= most or self._stuck() or ladder.order == 0.0:
                return
            self.solved = min(self.solved, self.rtol * self.rtol / error)
            n = self._next(ladder, n, error)

    def _enough(self, error: float) -> bool:
        """Whether an estimate is below the tolerance, or made of round-off: then shorter steps would not lower it."""
        if error <= self.rtol:
            return True
        if self.rtol <= ATTAINED * max(self.floor, 2.0 * self.round_off):
            return error <= ATTAINABLE * self.floor
        return len(self.tried) > 1 and error <= ATTAINABLE * self.round_off

    def _next(self, ladder: Ladder, n: float, error: float) -> float:
        """By the order of the method, or by the one that was seen, if that is lower."""
        order = ladder.order
        if len(self.tried) > 1:
            (a, x), (b, y) = self.tried[-2:]
            seen = math.log(x / y) / math.log(b / a)
            order = max(seen, 1.0) if x < 0.1 and seen < order else order
        factor = 1.1 * math.pow(error / (0.5 * self.rtol), 1 / order)
        rounding, _ = ladder.unseen(ladder.method, n)
        maybe_rounding = error < max(NEAR_ROUND_OFF, MAYBE_ROUND_OFF * (self.floor + rounding))
        least = 1.5 if error > 0.1 or maybe_rounding else 1.15  # there a small change says little
        return n * min(max(factor, least), 2.0 if maybe_rounding else 6.0)

    def _stuck(self) -> bool:
        """Whether the last refinements, which should have told, have not: round-off is reached."""
        if len(self.tried) > 1:
            (a, x), (b, y) = self.tried[-2:]
            if y < NEAR_ROUND_OFF and b > 1.3 * a and y * b > x * a:
                return True
        # Round-off that the motion makes grow; or steps that are still longer than a torque takes to change in time.
        patience = 2 if self.run.torque.depends & Depends.TIME else 1
        last = list(pairwise(self.tried[-1 - patience :]))
        if len(last) == patience and all(x < 1e-2 and b > 4.0 * a and y * b > x * a for (a, x), (b, y) in last):
            return True
        if len(self.tried) < 4 * patience:
            return False
        (a, x), *_, (c, z) = self.tried[-4 * patience :]
        return c > 3.0 * a and z > 0.5 * x

    def _unfinished(self, solution: Solution, error: float | None) -> Solution:
        """A whole solution, but a coarse one, and maybe not at all of the listed times."""
        known = "not known" if error is None else f"estimated as {error:.1e}"
        return replace(
            solution,
            run=solution.run.having(nfev=self.nfev, seconds=self.seconds),
            status=codes.INTERRUPTED,
            error_estimate=error,
            message=f"interrupted on the way to the tolerance {self.rtol:g}; the solution is the best of those that "
            f"were finished, with {solution.t.size} rows, and its error is {known}",
        )

    def _finished(self, solution: Solution, error: float) -> Solution:
        if self.times is not None and solution.t.size < self.times.size:
            solution = self._made(self._begin(solution.run, self.times))
        solution = replace(
            solution,
            run=solution.run.having(nfev=self.nfev, seconds=self.seconds),
            error_estimate=error,
            message=f"{solution.message}; the error is estimated as {error:.1e}",
        )
        if error > self.rtol:
            warnings.warn(
                f"the tolerance {self.rtol:g} was not reached: the error is estimated as {error:.1e}, and shorter steps"
                " do not lower it; the solution is the best of those that were tried",
                ToleranceNotReached,
                stacklevel=levels_of_polhode(),
            )
        return solution


def answer(
    run: Run, times: Floats | None, rtol: float, method: Method | None,
    progress: Progress | None, announce: Callable[[], None] | None,
) -> Solution:  # fmt: skip
    """The motion with an error below rtol, by this method or by the one that suits best."""
    c, rungs = _begun(run, times, rtol, method, announce)
    least, *_, most = sorted(run.body.moments.tolist())
    floors = (least_error(run, c.rate, 0.0 if run.body.aligned else most / least), least_error(run, c.rate))
    return Search(run, times, rtol, *floors, progress, announce).answer(rungs)


def first_run(
    run: Run, times: Floats | None, rtol: float, method: Method | None, announce: Callable[[], None] | None
) -> Run:
    """The one with which `answer` would begin."""
    _, rungs = _begun(run, times, rtol, method, announce)
    return rungs.made(run, rungs.first, rtol)


def _begun(
    run: Run, times: Floats | None, rtol: float, method: Method | None, announce: Callable[[], None] | None
) -> tuple[Character, Ladder]:
    """What kind of problem it is, and what to begin with."""
    c = character(run)._replace(parts=equal_parts(run, times))
    if not math.isfinite(c.turn):
        raise ValueError(
            f"the body turns at {c.rate:g} rad/s for {c.span:g} s, which cannot be computed with: choose units in which"
            " moments and momentum are nearer to one"
        )
    rungs = ladder(method, c, rtol) if method else chosen(c, rtol, None if times is None else times.size)
    if (
        method is None
        and is_collocation(rungs.method)
        and not computed_together(run.having(method=rungs.method), announce)
    ):
        rungs = ladder(find_method(ANY), c, rtol)
    return c, rungs


def is_collocation(method: Method) -> bool:
    """Whether it is `COLLOCATION` or `COMOVING`, with rounding that is compensated or not."""
    return method.bare_name == find_method(COLLOCATION).bare_name


_together: dict[tuple[object, ...], bool] = {}
"""Of torques that were asked about before: short runs are not to wait for the answer again."""


def computed_together(run: Run, announce: Callable[[], None] | None) -> bool:
    """Whether the torque can be had at all nodes of a step at once. If not, Runge-Kutta needs fewer evaluations."""
    kernel, scheme = Itself(run.torque.torque_kernel), Itself(run.method.scheme)
    axis = run.body.symmetry_axis if run.method.comoves else 0
    known = (kernel, scheme, run.torque.depends, len(run.torque.breakpoints) > 0, run.body.aligned, axis, compiles())
    found = _together.get(known)
    if found is None:
        if len(_together) >= 1000:  # each keeps a function of the user's alive
            _together.clear()
        start = (run.quaternion_start, run.momentum_start, np.array([run.t_end]))
        found = _together[known] = Integration(run, *start, None, announce).in_lanes()
    return found
