"""Short motions to a tolerance by one call of compiled code (`core/answer.py`).

A call of `simulate` then costs little besides the run and its companion. Which problems are answered so, and with what
steps, is decided by the problem alone: no answer depends on those before it.
"""

import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from polhode._arrays import Floats
from polhode.compiled import CompilationFailed, KernelRaised, address_of, at_addresses, named, program
from polhode.core.answer import AROUND, FOUND, LEAST_POWER, LOOKS, LOOKS_AROUND, POWERS, TABLES, WAVE, Rules, answerer
from polhode.core.drive import AT, COUNTERS
from polhode.core.quat import multiply
from polhode.core.states import STATE
from polhode.core.status import OK, Status
from polhode.core.types import Depends, UserTorque
from polhode.integration.binding import ANY_SCALES, Beside, ById, OnCompile, torque_in_principal_axes
from polhode.integration.fixed import driver_of
from polhode.integration.frame import Frame
from polhode.integration.grid import one_segment
from polhode.integration.loop import as_kernels_see, setting_of
from polhode.integration.quick import may_be_quick
from polhode.integration.stiffness import DIFFERENCE, STIFF_RADIANS
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import Plan, Problem, Stats
from polhode.solution import Solution
from polhode.tolerance import choice, estimate, refine
from polhode.tolerance.character import OUT_OF_REACH, UNEVEN, Trial, attitudes, dearness, equal_parts
from polhode.torques import CustomTorque, SumTorque

SIGNATURE = "ppppppppppppnnddddii"
"""The arguments of the compiled answer."""
METHOD = "G8"
"""The method of short motions, without compensation: they make too few steps for round-off to add up."""
LEAST_TOLERANCE = 1e-11
"""Smaller tolerances want compensated sums."""
MOST_TURN = 1500.0
"""The longest motion, in radians, for which a call costs more than what another method would save."""
MOST_STEPS = 4000
"""More steps are not made without a look at Ctrl-C: they take milliseconds."""
MOST_ROWS_AT_STEPS = 501
"""Output at steps is compared in other rows where there are more."""
TRIES = 4
"""After so many tries the rest is left to the search."""
CLOSE = 0.05
"""Estimates of more than this part of the tolerance are close to it."""
KEPT = 64
"""The number of programs, and of grids, that are kept for calls that differ in their start."""


@lru_cache(maxsize=1)
def _rules() -> Rules:
    """Returns the numbers of this package, and those of the method, as compiled code takes them."""
    method = find_method(METHOD)
    model, (order, _), factors = method.model, method.orders(free=False), estimate.Factors(method.estimate_factor)
    assert model is not None
    assert order is not None
    return Rules(
        longest_turn=model.longest_turn, reach_loss=model.reach_loss, coefficient=model.coefficients[0],
        turn_growth=model.turn_growth, order=order, truncation=factors.truncation, rounding=factors.rounding,
        growing=choice.FACTOR_WHERE_ROUNDING_GROWS,
        maybe_round_off=estimate.MAYBE_ROUND_OFF, coarser=estimate.COARSER, iteration_share=choice.ITERATION_SHARE,
        less_solved=choice.LESS_SOLVED, worth_allowing=choice.WORTH_ALLOWING, unstable_growth=choice.UNSTABLE_GROWTH,
        worth_a_grid=choice.WORTH_A_GRID, first_stop=estimate.FIRST_STOP, rests_from=choice.BRINGS_TO_REST_RATIO,
        close=CLOSE, target=refine.TARGET, least_factor=refine.LEAST_FACTOR,
        least_factor_in_doubt=refine.LEAST_FACTOR_IN_DOUBT, most_factor=refine.MOST_FACTOR,
        share_of_order=refine.LEAST_SHARE_OF_ORDER, small_rise=refine.SMALL_RISE,
        after_failure=refine.FINER**refine.RISE_AFTER_FAILURE, far=refine.FAR, uneven=UNEVEN,
        out_of_reach=OUT_OF_REACH, stiff_radians=STIFF_RADIANS, difference=DIFFERENCE, most_turn=MOST_TURN,
        most_steps=MOST_STEPS, most_rows=MOST_ROWS_AT_STEPS, checks=estimate.CHECKS, tries=TRIES,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _tables() -> Floats:
    """Returns the attitudes at which torques are looked at, and other numbers that never change."""
    tables, (start, about) = np.empty(TABLES), attitudes(2)
    tables[:AROUND] = np.array(attitudes(LOOKS)).reshape(-1)
    axis = np.array(about[1:]) / math.hypot(*about[1:])
    for k in range(LOOKS_AROUND):
        half = math.pi * k / LOOKS_AROUND
        x, y, z = (math.sin(half) * axis).tolist()
        tables[AROUND + 4 * k : AROUND + 4 * k + 4] = multiply(start, (math.cos(half), x, y, z))
    tables[WAVE:POWERS] = np.cos(2.0 * math.pi * np.arange(LOOKS_AROUND) / LOOKS_AROUND)
    tables[POWERS:] = [float(f"{digit}e{power}") for power in range(LEAST_POWER, 1) for digit in (1, 3)]
    return tables


class Answerer(NamedTuple):
    """What answers for a torque, to be compiled."""

    answer: Callable[..., int]
    memory: int


@lru_cache(maxsize=KEPT)
def _answerer(kernel: UserTorque, tilted: bool, depends: Depends) -> Answerer:
    """Returns the function that is compiled for a torque: the same one, so that its program is found at once."""
    scheme, scales = find_method(METHOD).scheme, ANY_SCALES[0]._replace(form=0)
    pull = torque_in_principal_axes(kernel, tilted=tilted, windowed=False, carried=0)
    stepper = scheme.bind(pull, depends, scales)
    timed, rated = bool(depends & Depends.TIME), bool(depends & Depends.RATE)
    return Answerer(answerer(stepper, pull, driver_of(stepper), _rules(), timed=timed, rated=rated), stepper.memory)


class Grid:
    """What is the same for all motions of a body over one span with one kind of output."""

    def __init__(self, problem: Problem, memory: int) -> None:
        body, self.times = problem.body, problem.times
        kernels, self.frame = as_kernels_see(body, gyrostat=False), Frame.of(body)
        plain = Plan(find_method(METHOD), problem.span)
        setting = setting_of(kernels, self.frame, one_segment(problem.t_start, problem.t_end, problem.span), plain)
        other = setting.copy()
        other[3:6] = estimate.changes_of_one(*kernels.inertia)[1]
        self.setting = np.concatenate([setting, other])
        least, *_, most = sorted(kernels.inertia)
        self.unequal = 0.0 if body.aligned else most / least
        self.parts = equal_parts(problem)
        self.rows = 0 if self.times is None else self.times.size
        self.room = self.rows or MOST_ROWS_AT_STEPS
        room = self.room
        sizes = (self.setting.size, STATE, STATE, max(1, memory), room, room, STATE * room, len(FOUND) + STATE)
        self.ends = np.cumsum(sizes).tolist()
        self.listed = np.zeros(1) if self.times is None else self.times
        self.addresses = address_of(self.listed), address_of(_tables())


@lru_cache(maxsize=KEPT)
def _grid(deciding: object, beside: Beside) -> Grid:
    return Grid(*beside.value)


def answer(problem: Problem, rtol: float, on_compile: OnCompile) -> Solution | None:
    """Returns the motion with its error below the tolerance; None if it has to be found in another way."""
    torque, body = problem.torque, problem.body
    if not is_short(problem, rtol) or is_dear(problem):
        return None
    found = _answerer(torque.torque_kernel, not body.aligned, torque.depends)
    try:
        made = program(found.answer, SIGNATURE, on_compile, tentative=True, what=f"{METHOD} with {torque.name}")
    except CompilationFailed:
        return None
    listed = None if problem.times is None else problem.times.tobytes()
    grid = _grid((ById(body), problem.t_start, problem.t_end, listed), Beside((problem, found.memory)))
    values = np.array(torque.parameters(body), dtype=np.float64)
    numbers, out = np.empty(grid.ends[-1]), np.empty((grid.room, STATE))
    counters = np.zeros(COUNTERS + grid.room, dtype=np.int64)
    counters[AT.values] = values.size
    first, beyond = grid.ends[:2]
    numbers[:first] = grid.setting
    numbers[first:beyond] = grid.frame.inward(problem.quaternion_start, problem.momentum_start, problem.state_start)
    at, count = address_of(numbers), address_of(counters)
    start, y, memory, offsets, seen, other, left = [at + 8 * end for end in grid.ends[:-1]]
    parameters = address_of(values) if values.size else at
    clock = time.perf_counter()
    try:
        status = at_addresses(made)(
            at, parameters, start, y, memory, *grid.addresses, offsets, address_of(out), other, seen, left,
            count + 8 * COUNTERS, count, problem.t_start, problem.t_end, rtol, grid.unequal, grid.rows, grid.parts,
        )  # fmt: skip
    except KernelRaised:
        return None
    if status != OK:
        return None
    return _solution(problem, grid, rtol, numbers[grid.ends[-2] :], out, time.perf_counter() - clock)


def _solution(problem: Problem, grid: Grid, rtol: float, left: Floats, out: Floats, seconds: float) -> Solution:
    error, n, step, tolerance, evaluations, _ = left[: len(FOUND) - 1].tolist()
    steps, times = int(n), problem.times
    if times is None:
        out = out[: steps + 1].copy()
        t = problem.t_start + np.arange(steps + 1) * step
        t[-1] = problem.t_end
    else:
        t = times.copy()
    q, m, z = grid.frame.outward(out, scaled=False)
    last_q, last_m = grid.frame.outward_one(left[FOUND.end :].copy())
    place = f"t = {problem.t_end:.12g} in {steps} steps"
    return Solution(
        problem, Plan(_method(tolerance), step), Stats(steps, int(evaluations), seconds), t, q, m, Status.OK,
        f"{Status.OK.sentence.format(place=place)}; the error is estimated as {error:.1e}", problem.t_end, last_q,
        last_m, state=z, error_estimate=error, rtol=rtol,
    )  # fmt: skip


@lru_cache(maxsize=128)
def _method(tolerance: float) -> Method:
    return find_method(METHOD).replace(tolerance=tolerance)


def is_short(problem: Problem, rtol: float) -> bool:
    """Whether a problem may be answered here, as far as is seen at a glance."""
    torque, times = problem.torque, problem.times
    if rtol < LEAST_TOLERANCE or problem.body.has_rotor or not may_be_quick(problem) or torque.calls_out:
        return False
    if torque.depends is Depends.NOTHING or torque.state_names or torque.breakpoints or torque.knots or torque.may_bend:
        return False
    if problem.every != 1 if times is None else times.size > estimate.CHECKS:
        return False
    rate = problem.omega_start if problem.omega_given is None else problem.omega_given
    return math.hypot(*rate.tolist()) * abs(problem.span) <= MOST_TURN


def is_dear(problem: Problem) -> bool:
    """Whether an evaluation of the torque takes so long that other methods are better; found once for a function."""
    if not isinstance(problem.torque, CustomTorque | SumTorque):  # models are quick
        return False
    kernel = problem.torque.torque_kernel
    return _is_dear((ById(kernel), named(kernel)), Beside(problem))


@lru_cache(maxsize=KEPT)
def _is_dear(function: object, beside: Beside) -> bool:
    trial = Trial(beside.value)
    trial.make()
    return dearness(beside.value, trial) > 0.0
