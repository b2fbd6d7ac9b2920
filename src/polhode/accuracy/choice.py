"""The candidates for a tolerance: methods with a first guess of their steps, what these cost, and the choice."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from polhode.accuracy.character import Character
from polhode.accuracy.estimate import ALIKE, MANY_ROWS, Factors, where_errors_grow
from polhode.kernels.judge import COARSER, ROUND_NUMBERS, WORTH_ALLOWING, allowed, fewer, growth, on_grid
from polhode.kernels.steps.compensated import LONGEST_TURN
from polhode.kernels.types import Depends
from polhode.methods import Method, StepModel
from polhode.methods import find as find_method
from polhode.problem import Plan, Problem

MOST_STEPS = 2e9
"""No run has more steps: it takes minutes at best. A billion radians under a weak torque ask for 1.5e9."""
LONG_RUN_STEPS = 1e5
"""The number of steps from which on a program of its own for a shorter step pays."""
UNKNOWN_TURN_RADIANS = 1.0
"""The longest turn in a step of a method of which nothing else is known."""
UNKNOWN = StepModel(UNKNOWN_TURN_RADIANS, (0.02, 0.02, 0.02, 0.02))
"""The first guess for such a method, for as many powers of the torque as it has orders."""
LEAST_VARIABLE_STEPS = 16.0
"""A method with variable steps makes at least this number over the span: so it sees the whole span."""
MOST_RESOLUTION = 100.0
"""The bound of the resolution of steps that adapt: a tolerance of a step below 1e-16 means nothing."""

ANY_TORQUE = "DOP853"
"""A method that takes every torque."""
STIFF = "Radau"
"""A method for torques whose disturbances die out fast."""
CORRECTED = "Strang(corrector=17)"
MODIFIED = "TakahashiImada"
COLLOCATION = "G8(compensated=true)"
COMOVING = "G8(compensated=true, comoving=true)"
MULTISTEP = ("Adams(order=8)", "Adams", "Adams(order=12)")
"""The candidates with the fewest evaluations under a torque of any kind, if its evaluation is what costs."""
SPLITTINGS = {False: ("SABA",), True: ("SABA", "ABA1064")}
"""The splittings that are candidates, for many bodies or for one: ABA1064 is hardly ever the cheapest for one body
(docs/decisions/0010-less.md)."""

BRINGS_TO_REST_RATIO = 0.1
"""The torque ratio from which on a torque can do so."""
FACTOR_AT_BENDS = 5.0
"""The factor of the estimate where a torque may bend: an error in the place of a bend is of the first order, of which a
companion with steps longer by a quarter shows one quarter."""
LESS_SOLVED = 20.0
"""The error that a companion's iterations may leave, over that of the run which it judges. What they do leave scatters
by ten: with 5.0 in place of this, 4 % of 5,337 estimates that iterations decide were too low."""


# --- a candidate -----------------------------------------------------------------------------------------------------

KNOT_SHARE = 0.05
"""Steps end at knots if more than this part of the tolerance could come from knots inside of them."""
SMOOTH_ORDER = 4
"""Methods of this order and below do not feel that the third derivative of a torque jumps."""


@dataclass(frozen=True)
class Candidate:
    """A method whose steps are to be found.

    Steps that adapt have a resolution in place of a number: (tolerance of a step)^(-1/8), which grows as their number.
    """

    method: Method
    order: float
    """The first guess at how the error falls: like the number of steps to minus this power; 0: it does not."""
    first: float
    """The number of steps to begin with, or their resolution."""
    factors: Factors
    """The estimate is the distance to the companion times these."""
    stretch: float = 1.0
    """The time in which the body turns as far as an exact flow goes in one piece."""
    least_steps: float = LEAST_VARIABLE_STEPS
    """Steps that DOP853 makes at least, so that it sees the whole span and all that happens between jumps."""
    effort: float = 1.0
    """What a step costs, in exact flows."""
    leverage: float = 1.0
    """The factor by which errors of iterations, which are relative to the momentum, are larger in the rate."""
    growth: float = 1.0
    """The factor by which errors of iterations count more than their sum: they change the energy, and so all angles."""
    parts: int = 0
    """Steps are a multiple of this, if that is not many more."""
    spare: Method | None = None
    """The method to go on with where round-off keeps this one from its tolerance."""
    rounding: float = 0.0
    """The error by rounding to be expected of one step; it grows like the root of their number."""
    at_knots: bool = False
    """Whether steps end at the knots of the torque."""
    longest_turn: float = math.inf
    """The longest turn in a step with which the method follows the motion, in radians; beyond it errors are chance."""

    grows: bool = False
    """Whether the torque may bring the body near an unstable rest, where all errors grow in one direction: then a
    companion may be near by chance, and an estimate close to the tolerance is checked by a second one."""

    def plan(self, problem: Problem, n: float, rtol: float, *, coarser: float = 0) -> Plan:
        """The plan with n steps, or that of a companion, which has `COARSER` to this power as many."""
        if self.method.adaptive:
            resolution = COARSER**coarser * n
            longest = problem.span * self.first / (self.least_steps * resolution)  # a bound that binds must differ, too
            return self._in_pieces(Plan(_with_resolution(self.method, resolution), longest), longest, coarser)
        steps = on_grid(max(1, math.ceil(n)), self.parts, 1)
        if problem.times is None and steps > MANY_ROWS:
            steps = -(-steps // ALIKE) * ALIKE
        run_step, prepared_step = problem.span / steps, self._prepared_step(problem.span / steps, steps)
        if coarser:
            steps = fewer(steps, self.parts, COARSER**coarser)
        method = self.method
        if method.collocation:
            # The companion solves its equations worse, so that the distance shows what iterations leave.
            method = _iterated(method, LESS_SOLVED * rtol if coarser else rtol, steps * self.growth)
        return self._in_pieces(Plan(method, problem.span / steps, prepared_step), run_step, coarser)

    def _in_pieces(self, plan: Plan, run_step: float, coarser: float) -> Plan:
        """The plan with what it needs where many breakpoints cut the span, of a run or of its companions."""
        return plan.replace(at_knots=self.at_knots, in_pieces=(run_step, COARSER**coarser))

    def _prepared_step(self, step: float, steps: float) -> float:
        """The step that flows are prepared for, of a run and of its companion, whose steps are longer.

        Short runs share a program, long ones have their own.
        """
        if steps < LONG_RUN_STEPS:
            doublings = max(-2, math.ceil(math.log2(abs(step) / (COARSER * self.stretch))))
            return math.copysign(math.ldexp(self.stretch, doublings), step)
        return math.copysign(math.ldexp(1.0, math.ceil(math.log2(abs(step) / COARSER))), step)

    def unseen(self, method: Method, n: float) -> tuple[float, float]:
        """What the companion may have too, by chance, in n steps: rounding, and what iterations leave."""
        residual = float(dict(method.settings).get("tolerance", 0.0))
        return self.rounding * math.sqrt(n), n * self.growth * residual if residual > 0.0 else 0.0

    def most(self, problem: Problem) -> float:
        """The number of steps beyond which more mean nothing."""
        if self.method.adaptive:
            return MOST_RESOLUTION
        finest = 16 * math.ulp(max(abs(problem.t_start), abs(problem.t_end)))
        return min(MOST_STEPS, abs(problem.span) / finest)

    def whole(self, steps: float) -> float:
        """A number of steps that the method can make; a resolution is any number."""
        return float(steps if self.method.adaptive else math.ceil(steps))

    def compensated(self, first: float) -> "Candidate | None":
        """The candidate to go on with from `first` steps on where round-off is reached, if there is one."""
        if self.spare is None:
            return None
        return replace(
            self, method=self.spare, factors=_factors(self.spare), first=first, rounding=0.0, spare=None
        )  # fmt: skip


def _with_resolution(method: Method, resolution: float) -> Method:
    method = method.replace(rtol=float(f"{resolution**-8.0:.3g}"))
    return method.replace(largest=True) if method.bare_name == ANY_TORQUE else method


def _iterated(method: Method, rtol: float, steps: float) -> Method:
    """Returns collocation whose equations are solved as well as it matters."""
    residual = allowed(ROUND_NUMBERS, rtol, steps)
    return method.replace(tolerance=residual if residual > WORTH_ALLOWING else 0.0)


def _growth(c: Character) -> float:
    """The factor by which errors of iterations count more than their sum."""
    return growth(c.torque_ratio, c.turn, c.leverage)


def _factors(method: Method) -> Factors:
    """The factors of the estimate; compensated collocation has less rounding that two runs could share."""
    compensated = dict(method.settings).get("compensated", False)
    if method.collocation and compensated:
        return Factors(method.estimate_factor, method.estimate_factor)
    return Factors(method.estimate_factor)


def candidate(method: Method, c: Character, rtol: float, spare: Method | None = None) -> Candidate:
    """A method with a first guess of its steps."""
    grows, c = c.torque_ratio > BRINGS_TO_REST_RATIO, c.seen_by(method)
    factors = where_errors_grow(_factors(method)) if grows else _factors(method)
    if c.may_bend:
        factors = factors._replace(truncation=max(factors.truncation, FACTOR_AT_BENDS))
    orders = method.orders(free=False)
    at_knots = c.knot_error > KNOT_SHARE * rtol and (method.adaptive or min(n or 0 for n in orders) > SMOOTH_ORDER)
    if at_knots:
        c = c._replace(pieces=max(c.pieces, c.knot_pieces))
    if method.adaptive:
        resolution = math.pow(10.0 * max(c.turn, 2.0) / rtol, 1 / 8)
        least = max(LEAST_VARIABLE_STEPS, 2 * c.pieces)
        return Candidate(method, 8.0, resolution, factors, least_steps=least, at_knots=at_knots, grows=grows)
    if all(n is None for n in _orders(method, c)):
        return Candidate(method, 0.0, max(1.0, c.turn), factors, grows=grows)
    turn, order = _first_turn(method, c, rtol)
    stretch = c.reach / max(c.rate, 1e-300)
    model = model_of(method, symmetric=c.comoving is not None)
    effort = model.flows or COLLOCATION_EFFORT if model else 1.0
    # Three at least, or two between jumps: so the companion has others, there too.
    first = max(3.0, 2 * c.pieces, c.turn / turn)
    plain = model is not None and model.flows > 0.0 and not method.unscaled
    rounding = ENERGY_ROUNDING * c.turn * math.sqrt(effort) if plain else 0.0
    longest = math.inf if model is not None and model.is_comoving else UNKNOWN_TURN_RADIANS
    if model is not None and not model.is_comoving:
        longest = model.longest_turn
    return Candidate(
        method, order, first, factors, stretch, effort=effort, leverage=c.leverage, growth=_growth(c), parts=c.parts,
        spare=spare, rounding=rounding, at_knots=at_knots, longest_turn=longest, grows=grows,
    )  # fmt: skip


def _orders(method: Method, c: Character) -> tuple[int | None, int | None]:
    """The orders of momentum and attitude for such a problem."""
    return method.promises(rotor=c.gyrostat).orders(free=c.depends is Depends.NOTHING)


def _first_turn(method: Method, c: Character, rtol: float) -> tuple[float, float]:
    """The turn in a step that is likely to do, and the order of the error that allows no more."""
    known = c.turns
    if (found := known.get((id(method), rtol))) is None:  # the character of a call, which keeps its methods
        found = known[id(method), rtol] = _found_turn(method, c, rtol)
    return found


def _found_turn(method: Method, c: Character, rtol: float) -> tuple[float, float]:
    orders = _orders(method, c)
    powers = method.generalised_order or (min(n for n in orders if n is not None),)
    model = model_of(method, symmetric=c.comoving is not None) or UNKNOWN
    limiting = math.sqrt(max(powers) * min(powers))  # where the longest turn is the limit, the order is not known
    radians, weak = c.turn, bool(method.generalised_order)
    eps = min(1.0, c.torque_ratio + (c.rotor_ratio if weak else 0.0))
    turn = model.longest_turn / (1.0 + model.reach_loss * eps)
    if model.longest_flow and not c.symmetric:  # the companion's flows are to go in one piece
        reach = min(c.reach, LONGEST_TURN) if method.unscaled else c.reach
        turn = min(turn, COARSER * reach / model.longest_flow)
    errors = []
    for k, (order, coefficient) in enumerate(zip(powers, model.coefficients, strict=False), 1):
        if weak:
            size = eps**k
        elif model.is_comoving:
            size = eps * math.pow((1.0 + model.turn_growth * eps) * c.harmonic, order)
        else:  # of the motion as a whole, and of what the torque has beyond that of a weight
            size = math.pow(1.0 + model.turn_growth * eps, order) + eps * (math.pow(c.harmonic, order) - 1.0)
        share = coefficient * size * radians
        if model.longest_flow and k == 1:
            share *= math.pow(c.smooth, -order)
        share = max(share, 1e-300)
        errors.append((order, share))
        if (allowed := math.pow(rtol / share, 1 / order)) < turn:
            turn, limiting = allowed, float(order)
    while sum([share * math.pow(turn, order) for order, share in errors]) > 1.01 * rtol:
        turn *= 0.95  # where two of them are alike
    return turn, limiting


def model_of(method: Method, *, symmetric: bool) -> StepModel | None:
    """What is known of the steps of a method, with a body that is symmetric or is not."""
    return method.comoving_model if method.comoving_model is not None and symmetric else method.model


# --- the choice ------------------------------------------------------------------------------------------------------

# Costs are relative to one exact flow of an asymmetric body with its kick, 85 ns where they were measured
# (docs/decisions/0010 has the measurements).

STRONG_RATIO = 0.3
"""From this torque ratio on no splitting is the cheapest, and none is a candidate."""
STRONG_COMOVING_RATIO = 0.4
"""From this torque ratio on comoving collocation is no candidate: little is left of the free motion."""
FLOW_COST = {False: (1.0, 1.06), True: (0.59, 0.0)}
"""The cost of an exact flow with its kick, by symmetry of the body, and what one as long as its reach costs more."""
FLOW_COST_IN_LANES = {False: (0.26, 0.29), True: (0.10, 0.0)}
"""The cost of a flow with its kick where several bodies share the vector registers.
Collocation has its points there, and gains nothing."""
KICK_COST = {False: 0.41, True: 0.094}
"""The cost of a second evaluation of the torque, at an attitude ahead; for one body, and for one among many."""
FLOW_ROUNDING = 2.4e-15
"""The rounding of a flow, in the estimate; that of collocation, whose sums are compensated, is less."""
ENERGY_ROUNDING = 0.1 * 2.0**-52
"""The relative change of the energy by the rounding of a flow that is not compensated. Two runs may have the same by
chance: so it is part of the estimate."""
FIRST_STEP_EVALUATIONS = 12.0
"""Evaluations in each of the steps with which Adams's methods begin."""
COLLOCATION_NODES = 8.0
"""Evaluations in an iteration of collocation."""
COLLOCATION_EFFORT = 8.0
"""What a step of collocation costs in flows, more or less."""
SPREAD_OF_ERRORS = 10.0
"""How much larger than those of most the errors of some bodies of an ensemble are: the lower the order of a method, the
more steps these need."""
POLISHED_COST = 2.4
"""The cost of a flow that carries its low halves along, over that of a plain one. It is made for one body at a time."""
PASSAGE_FLOWS = 24.0
"""The flows that a corrector makes when it enters or leaves."""
ROUND_OFF_STEP_COST = 1.76
"""The additional cost of a step of collocation whose iterations go on to round-off."""
ATTITUDE_ROUNDING = 1e-15
"""The error by the rounding of attitudes in a comoving step: it changes the potential energy, and so the rate."""
COMPENSATION_SHOWS = 2.7e-13
"""Where iterations may leave more in a step than this, its rounding need not be compensated."""
PLAIN_STEP_SHARE = 0.86
"""What a step without compensation costs, as a part of one with it: 1.15 to 1.19 times less was measured."""


def choose(c: Character, rtol: float, outputs: int | None, *, many: bool = False) -> Candidate:
    """Chooses the method that is likely to reach the tolerance soonest; `outputs` counts listed times, None: at steps.

    A free body goes to listed times in one step each; without a list it makes two steps a radian, for rows to look at.
    """
    if c.depends is Depends.NOTHING and not c.gyrostat:
        return free_candidate(c.turn, outputs)
    if c.stiff:
        return candidate(find_method(STIFF), c, rtol)
    # Equal steps err by where in a step a torque bends, and a companion may err alike; or they are short everywhere for
    # the sake of a pulse.
    if c.may_bend or c.uneven or c.dry:
        return candidate(find_method(ANY_TORQUE), c, rtol)
    if c.changing:
        return candidate(find_method(COLLOCATION).replace(compensated=not c.carries), c, rtol)
    if c.carries:  # no splitting takes such a torque, and sums of its numbers are not compensated
        return candidate(find_method(COLLOCATION).replace(compensated=False), c, rtol)
    method = find_method(_cheapest(c, rtol, outputs, many=many))
    if method.collocation and _iteration(method, c, rtol).allowed > COMPENSATION_SHOWS:
        method = method.replace(compensated=False)
    spare = method.replace(compensated=True)
    is_useful = spare is not method and (spare.accepts_rotor or not c.gyrostat)
    return candidate(method, c, rtol, spare if is_useful else None)


def free_candidate(turn: float, outputs: int | None) -> Candidate:
    """The exact flow of a free body: in one step to each listed time, or in two steps a radian."""
    steps = 1.0 if outputs is not None else min(max(1.0, 2.0 * turn), 1e4)
    return Candidate(find_method("Exact"), 0.0, steps, Factors())


def _cheapest(c: Character, rtol: float, outputs: int | None, *, many: bool) -> str:
    """The name of the cheapest method; near the borders costs are equal, and it matters little which."""
    expensive = c.evaluation_cost > 0.0
    if c.depends & Depends.RATE and c.comoving is None and not expensive:  # there is no choice
        return COLLOCATION
    costs = {COLLOCATION: _collocation_cost(COLLOCATION, c, rtol)}
    if expensive:
        costs |= {name: _multistep_cost(name, c, rtol) for name in MULTISTEP}
    if c.comoving is not None and c.comoving[1] < STRONG_COMOVING_RATIO:
        costs[COMOVING] = _collocation_cost(COMOVING, c, rtol)
    if not c.depends & Depends.RATE and (c.torque_ratio + c.rotor_ratio < STRONG_RATIO or expensive):
        for name in SPLITTINGS[many or expensive]:
            costs[name] = _splitting_cost(name, c, rtol, many=many)
        # A corrector looks beyond the ends of the span, where a torque of the time may have no value.
        if outputs is not None and not c.depends & Depends.TIME:
            for name in (CORRECTED,) if c.gyrostat else (CORRECTED, MODIFIED):
                costs[name] = _splitting_cost(name, c, rtol, outputs, many=many)
                if costs[name] == math.inf and not c.gyrostat:  # by its round-off: else the slower form would not win
                    polished = find_method(name).replace(compensated=True).name
                    costs[polished] = _splitting_cost(polished, c, rtol, outputs)
    return min(costs, key=lambda name: costs[name])


def splitting_cost(method: Method, c: Character, rtol: float, outputs: int) -> float:
    """The cost of a splitting for one of many bodies, in exact flows of one; infinite for other methods."""
    if method.model is None or method.model.flows == 0.0:
        return math.inf
    return _splitting_cost(method.name, c, rtol, outputs if method.has_corrector else 0, many=True)


def _splitting_cost(name: str, c: Character, rtol: float, shown: int = 0, *, many: bool = False) -> float:
    """The cost of a splitting, with that of a corrector's passages to the outputs that are shown."""
    method = find_method(name)
    turn, _ = _first_turn(method, c, rtol / SPREAD_OF_ERRORS if many else rtol)
    model = method.model
    assert model is not None
    flows = c.turn / turn * model.flows
    each, longer = (FLOW_COST_IN_LANES if many else FLOW_COST)[c.symmetric]
    each += (model.evaluations_per_flow - 1.0) * KICK_COST[many]
    each += longer * min(1.0, model.longest_flow * turn / c.reach)
    each += model.evaluations_per_flow * c.evaluation_cost
    passages = _passages(c, turn, shown) * PASSAGE_FLOWS * each if shown else 0.0
    if method.unscaled:
        return POLISHED_COST * flows * each + passages
    rounding = max(FLOW_ROUNDING * flows, 5.0 * ENERGY_ROUNDING * c.turn * math.sqrt(flows))
    return flows * each + passages if rounding < 0.5 * rtol else math.inf


def _passages(c: Character, turn: float, shown: int) -> int:
    """How often a corrector enters or leaves: once at the start, once an output, thrice off the grid."""
    steps = math.ceil(c.turn / turn)
    even = c.parts and on_grid(steps, c.parts, 1) % c.parts == 0
    return 1 + shown if even else 3 * shown - 1  # the last one is at the end


def _multistep_cost(name: str, c: Character, rtol: float) -> float:
    """The cost of Adams's steps, with two evaluations each; those at the start and beyond jumps have more."""
    method = find_method(name)
    assert method.order is not None
    turn, _ = _first_turn(method, c, rtol)
    evaluations = 2.0 * c.turn / turn + FIRST_STEP_EVALUATIONS * (method.order - 1) * c.pieces
    return evaluations * (0.5 + c.evaluation_cost)


class Iteration(NamedTuple):
    """The steps that collocation would make, and how far their equations would be solved."""

    turn: float
    """The turn in a step, in radians."""
    steps: float
    allowed: float
    """The error that iterations may leave in a step."""


def _iteration(method: Method, c: Character, rtol: float) -> Iteration:
    c = c.seen_by(method)
    turn, _ = _first_turn(method, c, rtol)
    steps = max(c.turn / turn, 1.0)
    return Iteration(turn, steps, allowed(ROUND_NUMBERS, rtol, steps * _growth(c)))


def _collocation_cost(name: str, c: Character, rtol: float) -> float:
    """The cost of collocation: each iteration brings fewer digits the longer the step is."""
    method = find_method(name)
    turn, steps, residual = _iteration(method, c, rtol)
    light = residual > COMPENSATION_SHOWS
    model = model_of(method, symmetric=c.comoving is not None)
    assert model is not None
    if model.is_comoving:  # an iteration makes the error smaller by about the torque ratio
        seen = c.seen_by(method)
        eps = min(1.0, max(seen.torque_ratio, 1e-16))
        if ATTITUDE_ROUNDING * eps * seen.turn * math.sqrt(steps) > rtol:
            return math.inf
        nearer = 0.35 * eps * turn * turn / (1.0 + 40.0 * eps)
        iterations = math.log(max(residual, 1e-16) / eps) / math.log(min(max(nearer, 1e-16), 0.9))
        step = model.step_cost if light else model.compensated_step_cost
        iterations = max(2.0, iterations)
        return steps * (step + (model.iteration_cost + COLLOCATION_NODES * c.evaluation_cost) * iterations)
    iterations = 0.9 - 0.66 * math.log10(residual) * math.pow(0.5 * turn, 0.6)
    cost = model.step_cost + model.iteration_cost * iterations
    cost += 0.0 if residual > WORTH_ALLOWING else ROUND_OFF_STEP_COST
    return steps * ((PLAIN_STEP_SHARE * cost if light else cost) + COLLOCATION_NODES * c.evaluation_cost * iterations)
