"""Short motions to a tolerance by one call of compiled code (`core/answer.py`).

A call of `simulate` then costs little besides the run and its companion. Which problems are answered so, and with what
steps, is decided by the problem alone: no answer depends on those before it.
"""

import math
import time
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from polhode._arrays import Floats
from polhode.compiled import (
    CompilationFailed,
    KernelRaised,
    address_of,
    address_of_program,
    at_addresses,
    kept_program,
    name_now,
    program,
)
from polhode.core.answer import (
    AROUND,
    FOUND,
    LOOKS,
    LOOKS_AROUND,
    LOOKS_ROOM,
    POWERS,
    TABLES,
    WAVE,
    Rules,
    answerer,
)
from polhode.core.drive import AT, COUNTERS
from polhode.core.judge import ROUND_NUMBERS
from polhode.core.quat import multiply
from polhode.core.states import STATE
from polhode.core.status import OK, Status
from polhode.core.types import Depends
from polhode.integration.binding import ANY_SCALES, Beside, ById, OnCompile, bound
from polhode.integration.binding import SIGNATURE as DRIVER
from polhode.integration.cost import ROWS_SIGNATURE, rows_of
from polhode.integration.fixed import driver_of
from polhode.integration.frame import Frame
from polhode.integration.grid import one_segment
from polhode.integration.loop import as_kernels_see, may_be_quick, setting_of
from polhode.integration.stiffness import DIFFERENCE, STIFF_RADIANS
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import NO_STATE, Plan, Problem, Stats, frozen
from polhode.solution import Solution, assemble
from polhode.tolerance import choice, estimate
from polhode.tolerance.character import OUT_OF_REACH, UNEVEN, Trial, attitudes, dearness, equal_parts
from polhode.tolerance.policy import POLICY, next_factor
from polhode.torques import CustomTorque, SumTorque

Program = Callable[..., int]
SIGNATURE = "ii" + 14 * "p" + "nnddddiiiii"
"""The arguments of the compiled answer."""
METHOD = "G8"
"""The method of short motions, without compensation: they make too few steps for round-off to add up."""
LEAST_TOLERANCE = 1e-11
"""Smaller tolerances want compensated sums."""
LEAST_GROWING_TOLERANCE = 1e-10
"""The same for torques that may bring the body to rest, where round-off grows."""
MOST_TURN = 3000.0
"""The longest motion, in radians, for which a call costs more than what another method would save."""
MOST_SPIN = 800.0
"""The same for a body that spins about its axis of symmetry: other methods take part in that, and make a tenth of the
steps."""
SPINS = 0.5
"""A symmetric body spins if it turns about its momentum by less than this part of its rate."""
MOST_STEPS = 4000
"""More steps are not made without a look at Ctrl-C: they take milliseconds."""
MOST_ROWS_AT_STEPS = 501
"""Output at steps is compared in other rows where there are more."""
TRIES = 4
"""After so many tries the rest is left to the search."""
LESS_SOLVED = 3.0
"""What the iterations of a companion may leave, over that of its run. With 5, as in longer runs, estimates would be a
third larger."""
WORTH_A_PROGRAM = 1000
"""The calls in plain Python after which the program that answers is compiled, which takes seconds."""
KEPT = 64
"""The number of programs, and of grids, that are kept for calls that differ in their start."""

MESSAGE = Status.OK.sentence.format(place="t = %.12g in %d steps") + "; the error is estimated as %.1e"
"""What a solution says of itself: its end, its steps and its error are put in."""


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
        less_solved=LESS_SOLVED, rests_from=choice.BRINGS_TO_REST_RATIO, least_growing=LEAST_GROWING_TOLERANCE,
        uneven=UNEVEN, out_of_reach=OUT_OF_REACH, stiff_radians=STIFF_RADIANS, difference=DIFFERENCE,
        most_turn=MOST_TURN, most_steps=MOST_STEPS, most_rows=MOST_ROWS_AT_STEPS, checks=estimate.CHECKS, tries=TRIES,
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
    tables[POWERS:] = ROUND_NUMBERS
    return tables


class Loops(NamedTuple):
    """What is compiled for a torque: the loop over steps, and that over rows of the torque."""

    drive: Program
    rows: Program
    memory: int


def _loops(problem: Problem, on_compile: OnCompile) -> Loops | None:
    """Returns the programs for a torque; None if there are none, or if evaluations are what costs."""
    torque = problem.torque
    name = name_now(torque.torque_kernel)  # anew in each call: what the user's function reads may have changed
    if name is None:
        return None
    deciding = (ById(torque.torque_kernel), name, not problem.body.aligned, torque.depends)
    return _kept_loops(deciding, Beside((problem, on_compile)))


@lru_cache(maxsize=KEPT)
def _kept_loops(deciding: object, beside: Beside) -> Loops | None:
    problem, on_compile = beside.value
    torque, tilted, scales = problem.torque, not problem.body.aligned, ANY_SCALES[0]._replace(form=0)
    kernel, scheme = torque.torque_kernel, ById(find_method(METHOD).scheme)
    stepper = bound(scheme, kernel, tilted, False, torque.depends, scales)
    if isinstance(torque, CustomTorque | SumTorque):  # models are quick
        trial = Trial(problem)
        trial.make()
        if dearness(problem, trial) > 0.0:
            return None
    try:
        drive = program(driver_of(stepper), DRIVER, on_compile, tentative=True, what=f"{METHOD} with {torque.name}")
        rows = program(rows_of(kernel), ROWS_SIGNATURE, on_compile, tentative=True, what=f"the torque {torque.name}")
    except CompilationFailed:
        return None
    return Loops(drive, rows, stepper.memory)


@lru_cache(maxsize=1)
def _answer() -> Callable[..., int]:
    """Returns the function that answers, whatever the torque."""
    return answerer(_rules(), POLICY, next_factor)


class Calls:
    """Calls that were answered in plain Python, until the program that answers is there."""

    in_python = 0
    program: Program | None = None


def _answer_program(on_compile: OnCompile) -> Program | None:
    """Returns the program that answers; None if it is not worth a compilation yet.

    `polhode warm` compiles it. In plain Python its functions find the same motions, in half a millisecond;
    estimates may differ in their last digit.
    """
    if Calls.program is None:
        Calls.program = kept_program(_answer(), SIGNATURE)
    if Calls.program is None:
        Calls.in_python += 1
        if Calls.in_python > WORTH_A_PROGRAM:
            Calls.program = program(_answer(), SIGNATURE, on_compile, what="the search for steps")
    return Calls.program


def compile_answer() -> None:
    """Compiles the program that answers, for all processes to come."""
    program(_answer(), SIGNATURE, what="the search for steps")


class Grid:
    """What is the same for all motions of a body under one torque, whatever its values, over one span."""

    def __init__(self, problem: Problem, loops: Loops, values: int) -> None:
        self.loops = loops
        body, times, reads, memory = problem.body, problem.times, problem.torque.depends.value, loops.memory
        kernels, self.frame = as_kernels_see(body, gyrostat=False), Frame.of(body)
        whole = one_segment(problem.t_start, problem.t_end, problem.span)
        setting = setting_of(kernels, self.frame, whole, find_method(METHOD).tuning)
        other = setting.copy()
        other[3:6] = estimate.changes_of_one(*kernels.inertia)[1]
        least, *_, most = sorted(kernels.inertia)
        rows = 0 if times is None else times.size
        self.last = (
            0.0 if body.aligned else most / least, rows, equal_parts(problem), memory - 1,
            1 if reads & Depends.TIME.value else 0, 1 if reads & Depends.RATE.value else 0,
        )  # fmt: skip
        """The last arguments of the program."""
        self.room = room = rows or MOST_ROWS_AT_STEPS
        self.listed = np.zeros(1) if times is None else times.copy()
        self.addresses = (
            address_of_program(loops.drive), address_of_program(loops.rows), address_of(self.listed),
            address_of(_tables()),
        )  # fmt: skip
        counters = np.zeros(COUNTERS, dtype=np.int64)
        counters[AT.values] = values
        self.head = np.concatenate([setting, other, counters.view(np.float64)])
        """The numbers with which the array of every call begins, counters among them."""
        self.sizes = (
            2 * setting.size, COUNTERS, STATE, STATE, values, room, STATE, memory, room, STATE * room, room, LOOKS_ROOM,
            len(FOUND) + STATE,
        )  # fmt: skip
        """Those of the parts of that array."""
        self.ends = list(accumulate(self.sizes))
        self.places = [8 * end for end in self.ends[:-1]]
        self.write: Callable[..., None] = Struct(f"{2 * STATE + values}d").pack_into
        """Writes the start, in principal axes and as it was given, and the values of the torque."""


@lru_cache(maxsize=KEPT)
def _kept_grid(*deciding: object) -> list[Grid]:
    """Returns a list with the grid that was made for such a call; it is empty at first."""
    return []


def answer(problem: Problem, rtol: float, on_compile: OnCompile) -> Solution | None:
    """Returns the motion with its error below the tolerance; None if it has to be found in another way."""
    torque, body = problem.torque, problem.body
    if not is_short(problem, rtol):
        return None
    kernel, values = torque.torque_kernel, torque.parameters(body)
    if (name := name_now(kernel)) is None:  # in each call: what the user's function reads may have changed
        return None
    listed = None if problem.times is None else problem.times.tobytes()
    # A grid keeps its body, so that no other has its id.
    kept = _kept_grid(
        kernel, name, torque.depends._value_, id(body), problem.t_start, problem.t_end, listed, len(values)
    )
    if not kept:
        if (loops := _loops(problem, on_compile)) is None:
            return None
        kept.append(Grid(problem, loops, len(values)))
    grid = kept[0]
    numbers, out = np.empty(grid.ends[-1]), np.empty((grid.room, STATE))
    numbers[: grid.head.size] = grid.head
    rate = problem.omega_start if problem.omega_given is None else problem.omega_given
    start = grid.frame.inward_numbers(problem.quaternion_start, problem.momentum_start)
    grid.write(numbers, grid.head.nbytes, *start, *problem.quaternion_start.tolist(), *rate.tolist(), *values)
    last = (problem.t_start, problem.t_end, rtol, *grid.last)
    made, clock = _answer_program(on_compile), time.perf_counter()
    try:
        if made is None:
            status = _in_python(grid, numbers, out, last)
        else:
            at, (drive, rows, listed_at, tables) = address_of(numbers), grid.addresses
            places = map(at.__add__, grid.places)
            count, start_at, given, values_at, index, y, memory, offsets, other, seen, looks, left = places
            status = at_addresses(made)(
                drive, rows, at, values_at, start_at, given, y, memory, listed_at, tables, offsets, address_of(out),
                other, seen, looks, left, index, count, *last,
            )  # fmt: skip
    except KernelRaised:
        return None
    if status != OK:
        return None
    return _solution(problem, grid, rtol, numbers[grid.ends[-2] :], out, time.perf_counter() - clock)


def _in_python(grid: Grid, numbers: Floats, out: Floats, last: Any) -> int:
    """Answers in plain Python, which calls the compiled loops."""
    parts = np.split(numbers, grid.ends[:-1])
    setting, count, start, given, values, index, y, memory, offsets, other, seen, looks, left = parts
    if not values.size:  # an empty array has no address
        values = numbers
    with np.errstate(all="ignore"):
        return _answer()(
            grid.loops.drive, grid.loops.rows, setting, values, start, given, y, memory, grid.listed, _tables(),
            offsets, out.reshape(-1), other, seen, looks, left, index.view(np.int64), count.view(np.int64), *last,
        )  # fmt: skip


def _solution(problem: Problem, grid: Grid, rtol: float, left: Floats, out: Floats, seconds: float) -> Solution:
    error, n, step, tolerance, evaluations, _ = left[: len(FOUND) - 1].tolist()
    steps, times = int(n), problem.times
    if times is None:
        out = out[: steps + 1].copy()
        t = problem.t_start + np.arange(steps + 1) * step
        t[-1] = problem.t_end
    else:
        t = times.copy()
    plan = frozen(Plan, {"method": _method(tolerance), "step": step})
    stats = frozen(Stats, {"steps": steps, "nfev": int(evaluations), "seconds": seconds})
    return assemble(
        problem, plan, stats, (t, *grid.frame.outward(out, scaled=False)),
        (problem.t_end, *grid.frame.outward_one(left[FOUND.end :].copy()), NO_STATE), Status.OK,
        MESSAGE % (problem.t_end, steps, error), error_estimate=error, rtol=rtol,
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
    turn = math.hypot(*rate.tolist()) * abs(problem.span)
    if turn > MOST_SPIN and (axis := problem.body.symmetry_axis):
        about_momentum = math.hypot(*problem.momentum_start.tolist()) / float(problem.body.moments[axis % 3])
        if about_momentum * abs(problem.span) < SPINS * turn:
            return False
    return turn <= MOST_TURN
