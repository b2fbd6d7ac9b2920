"""Methods with their fineness as one number, what their steps cost, and the choice among them."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from polhode.core.polished import LONGEST_TURN
from polhode.core.types import Depends
from polhode.core.variable import Adaptive
from polhode.integration.fixed import Itself
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.solution import Run
from polhode.tolerance.character import Character
from polhode.tolerance.estimate import COARSER, Factors

MOST_STEPS = 1e9
WORTH_A_GRID = 1.15
"""Up to so many times more steps are made so that listed times lie between two of them, and need no steps aside."""
LONG_RUN = 1e5
"""Steps from which on it pays to compile anew for a shorter step."""

ANY = "DOP853"
"""A method that takes every torque: it stands where one is still to be chosen."""


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
    "SABA": Model(6.0, (5e-9, 8e-3), 8.0, 0.18),
    "ABA1064": Model(5.5, (1e-5, 1.4e-4, 1.4e-4), 8.0, 0.65),
    "G8": Model(2.5, (5.4e-17,), stronger=1.2, shorter=0.45),
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
        for name in ("SABA", "ABA1064") if many else ("SABA",):
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
    "G8": Factors(2.0, 2.0), "DOP853": Factors(3.0), "SABA": Factors(10.0),
    "TakahashiImada": Factors(2.5),
}  # fmt: skip
"""Where others than usual were measured; G8 has the second where its sums are compensated."""


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
    if "stages" in dict(method.settings):  # SABA was measured with its default
        return None
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


def is_collocation(method: Method) -> bool:
    """Whether it is `COLLOCATION` or `COMOVING`, with rounding that is compensated or not."""
    return method.bare_name == find_method(COLLOCATION).bare_name
