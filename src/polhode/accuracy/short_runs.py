"""Short and medium motions to a tolerance by one call of compiled code (`kernels/one_call.py`).

A call of `simulate` then costs little besides the run with its companion, from the first one in a process. Which
problems are answered so, and with what steps, is decided by the problem alone: no answer depends on those before it.
"""

import math
import time
from collections.abc import Callable
from functools import lru_cache, partial
from struct import Struct
from typing import Any

import numpy as np

from polhode.accuracy import estimate
from polhode.accuracy.character import OUT_OF_REACH, UNEVEN, TorqueTrial, attitudes, evaluation_cost
from polhode.accuracy.policy import POLICY
from polhode.body import Frame
from polhode.compiler import CompilationFailed, KernelRaised, address_of, at_addresses, name_now, program
from polhode.kernels.judge import LEAST_UNCOMPENSATED_RTOL, ROUND_NUMBERS
from polhode.kernels.one_call import AT, LANES, LOOKS, POWERS, SAVED, TABLES, Rules, answerer
from polhode.kernels.states import STATE
from polhode.kernels.status import OK, Status
from polhode.kernels.steps.despun import WORTH, slowed
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import NO_STATE, Plan, Problem, Stats, frozen, may_be_quick
from polhode.run.binding import ById, OnCompile, Uncompared, torque_in_principal_axes
from polhode.run.grid import one_segment
from polhode.run.integration import as_kernels_see, setting_of
from polhode.run.stiffness import DIFFERENCE, STIFF_RADIANS
from polhode.solution import Solution, made_when_read
from polhode.support.arrays import Floats
from polhode.torques import CustomTorque, SumTorque

Program = Callable[..., int]
SIGNATURE = "ppiiii"
"""The arguments of the compiled answer."""
METHOD = "GBS"
"""The method of short motions."""
MOST_TURN = 3000.0
"""The longest motion, in radians, for which a call costs more than what another method would save."""
MOST_ROWS_AT_STEPS = 501
"""Output at steps has at most so many rows."""
TRIES = 4
"""After so many tries the rest is left to the search."""
KEPT = 64
"""The number of bodies under a torque that are kept for calls that differ in their start."""

MESSAGE = Status.OK.sentence.format(place="t = %.12g in %d steps") + "; the error is estimated as %.1e"
"""What a solution says of itself: its end, its steps and its error are put in."""

RULES = Rules(
    rounding=estimate.Factors().rounding, target=POLICY.target, uneven=UNEVEN, out_of_reach=OUT_OF_REACH,
    stiff_radians=STIFF_RADIANS, difference=DIFFERENCE, most_turn=MOST_TURN, checks=estimate.CHECKS, tries=TRIES,
)  # fmt: skip


@lru_cache(maxsize=1)
def _tables() -> Floats:
    """The attitudes at which torques are looked at, and other numbers that never change."""
    found = np.empty(TABLES)
    found[:POWERS] = np.array(attitudes(LOOKS)).reshape(-1, LANES, 4).transpose(0, 2, 1).reshape(-1)
    found[POWERS:] = ROUND_NUMBERS
    return found


@lru_cache(maxsize=1)
def _place_of_tables() -> int:
    """Their address; they are kept for ever."""
    return address_of(_tables())


def _program(problem: Problem, name: str, despun: bool, on_compile: OnCompile) -> Program | None:
    """The program for a torque; None if there is none, or if evaluations are what costs."""
    torque = problem.torque
    deciding = (ById(torque.torque_kernel), name, not problem.body.aligned)
    return _kept_program(deciding, despun, Uncompared((problem, on_compile)))


@lru_cache(maxsize=KEPT)
def _kept_program(deciding: object, despun: bool, beside: Uncompared) -> Program | None:
    problem, on_compile = beside.value
    torque = problem.torque
    if isinstance(torque, CustomTorque | SumTorque):  # models are quick
        trial = TorqueTrial(problem)
        trial.make()
        if evaluation_cost(problem, trial) > 0.0:
            return None
    pull = torque_in_principal_axes(torque.torque_kernel, tilted=not problem.body.aligned, windowed=False)
    made = answerer(RULES, pull, despun=despun)
    try:
        return at_addresses(program(made, SIGNATURE, on_compile, tentative=True, what=f"{METHOD} with {torque.name}"))
    except CompilationFailed:
        return None


class Kind:
    """What is the same for all motions of a body under one torque, whatever its values."""

    def __init__(self, problem: Problem, made: Program, values: int) -> None:
        self.made, body = made, problem.body
        kernels, self.frame = as_kernels_see(body, gyrostat=False), Frame.of(body)
        whole = one_segment(problem.t_start, problem.t_end, problem.span)
        setting = setting_of(kernels, self.frame, whole, (0.0, 0.0))
        least, *_, most = sorted(kernels.inertia)
        self.head = np.concatenate([setting, estimate.changes_of_one(*kernels.inertia)[1]])
        """The numbers with which the array of every call begins."""
        self.unequal = 0.0 if body.aligned else most / least
        self.timed = 1 if problem.torque.depends & Depends.TIME else 0
        self.values = values
        self.write: Callable[..., None] = Struct(f"{STATE + 4}d").pack_into
        """Writes the start, the span and the tolerance."""


@lru_cache(maxsize=KEPT)
def _kept_kind(*deciding: object) -> list[Kind]:
    """A list with what was made for such a call; it is empty at first."""
    return []


def attempt(problem: Problem, rtol: float, on_compile: OnCompile) -> Solution | None:
    """The motion with its error below the tolerance; None if it has to be found in another way."""
    torque, body, times = problem.torque, problem.body, problem.times
    if not is_short(problem, rtol):
        return None
    turn, seen = _rates(problem)
    if min(turn, seen) * abs(problem.span) > MOST_TURN:
        return None
    despun = turn > WORTH * seen
    kernel, values = torque.torque_kernel, torque.parameters(body)
    if (name := name_now(kernel)) is None:  # in each call: what the user's function reads may have changed
        return None
    # What is kept has its body, so that no other has its id.
    kept = _kept_kind(kernel, name, torque.depends._value_, id(body), len(values), despun)
    if not kept:
        if (made := _program(problem, name, despun, on_compile)) is None:
            return None
        kept.append(Kind(problem, made, len(values)))
    kind = kept[0]
    rows = 0 if times is None else times.size
    room = rows or MOST_ROWS_AT_STEPS
    listed = AT.values + kind.values
    out = listed + room
    numbers = np.empty(out + (STATE + 2 * SAVED) * room + LOOKS)
    numbers[: kind.head.size] = kind.head
    start = kind.frame.inward_numbers(problem.quaternion_start, problem.momentum_start)
    kind.write(numbers, kind.head.nbytes, *start, problem.t_start, problem.t_end, rtol, kind.unequal)
    if values:
        numbers[AT.values : listed] = values
    if times is not None:
        numbers[listed:out] = times
    clock = time.perf_counter()
    try:
        status = kind.made(address_of(numbers), _place_of_tables(), kind.values, rows, room, kind.timed)
    except KernelRaised:
        return None
    if status != OK:
        return None
    seconds = time.perf_counter() - clock
    error, *others = numbers[AT.error : AT.end].tolist()
    make = partial(_fields, problem, kind, numbers, rows, listed, others, seconds)
    found = made_when_read(
        make, problem=problem, status=Status.OK, t_last=problem.t_end, memory=(*others[MEMORY:], others[2]),
        error_estimate=error, rtol=rtol,
    )  # fmt: skip
    if times is None:  # there is room for many more rows
        found.__getstate__()
    return found


MEMORY = AT.memory - AT.steps
"""The place of the memory among the numbers that are found, after the error."""


def _fields(
    problem: Problem, kind: Kind, numbers: Floats, rows: int, listed: int, others: list[float], seconds: float
) -> dict[str, Any]:  # fmt: skip
    """All other fields of the solution."""
    n, tolerance, evaluations, _, despun, *_ = others
    steps, out = int(n), listed + (rows or MOST_ROWS_AT_STEPS)
    count = rows or steps + 1
    shown: Any = np.s_[:] if rows or problem.every == 1 else [*range(0, steps, problem.every or 1), steps]
    states = numbers[out : out + STATE * count].reshape(count, STATE)[shown].copy()
    q, m, z = kind.frame.outward(states, scaled=False)
    last_q, last_m = kind.frame.outward_one(numbers[AT.end : AT.end + STATE].copy())
    return {
        "plan": frozen(Plan, {"method": _method(tolerance, despun > 0.0), "step": problem.span}),
        "stats": frozen(Stats, {"steps": steps, "nfev": int(evaluations), "seconds": seconds}),
        "t": numbers[listed : listed + count][shown].copy(), "quaternion": q, "momentum": m, "state": z,
        "message": MESSAGE % (problem.t_end, steps, numbers[AT.error]), "last_quaternion": last_q,
        "last_momentum": last_m, "last_state": NO_STATE, "metadata": {},
    }  # fmt: skip


@lru_cache(maxsize=128)
def _method(tolerance: float, despun: bool) -> Method:
    return find_method(METHOD).replace(rtol=tolerance, despun=despun)


def is_short(problem: Problem, rtol: float) -> bool:
    """Whether a problem may be answered here, as far as is seen at a glance."""
    torque, times = problem.torque, problem.times
    if (
        rtol < LEAST_UNCOMPENSATED_RTOL
        or problem.body.has_rotor
        or problem.body.changes
        or not may_be_quick(problem)
        or torque.calls_out
    ):
        return False
    if torque.depends is Depends.NOTHING or torque.state_names or torque.breakpoints or torque.knots or torque.may_bend:
        return False
    return times is None or times.size <= estimate.CHECKS


def _rates(problem: Problem) -> tuple[float, float]:
    """How fast the body turns, plainly and in a frame that does not spin."""
    body = problem.body
    if body.symmetry_axis:
        m = problem.momentum_start if body.aligned else problem.momentum_start @ body.axes
        return slowed(body.moments.tolist(), m.tolist(), body.symmetry_axis)
    rate = problem.omega_start if problem.omega_given is None else problem.omega_given
    turn = math.hypot(*rate.tolist())
    return turn, turn
