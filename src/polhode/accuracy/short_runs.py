"""Short and medium motions to a tolerance by one call of compiled code (`kernels/one_call.py`).

A call of `simulate` then costs little besides the run with its companion, from the first one in a process. Which
problems are answered so, and with what steps, is decided by the problem alone: no answer depends on those before it.
"""

import math
import time
from collections.abc import Callable
from functools import lru_cache, partial
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from polhode.accuracy import estimate
from polhode.accuracy.character import OUT_OF_REACH, UNEVEN, TorqueTrial, attitudes, evaluation_cost
from polhode.accuracy.policy import POLICY
from polhode.body import Body, Frame
from polhode.compiler import (
    CompilationFailed,
    KernelRaised,
    address_of,
    address_of_bytes,
    at_addresses,
    compiles,
    name_now,
    program,
)
from polhode.kernels.judge import LEAST_UNCOMPENSATED_RTOL, ROUND_NUMBERS
from polhode.kernels.one_call import AT, LANES, POWERS, SAMPLES, SAVED, TABLES, Rules, answerer
from polhode.kernels.states import STATE
from polhode.kernels.status import OK, Status
from polhode.kernels.steps.despun import WORTH, slowed
from polhode.kernels.types import Depends
from polhode.methods import Method
from polhode.methods import find as find_method
from polhode.problem import NO_STATE, Plan, Problem, StartNumbers, Stats, frozen, start_numbers
from polhode.run.binding import ById, OnCompile, OutsideKey, torque_in_principal_axes
from polhode.run.grid import one_segment
from polhode.run.integration import as_kernels_see, setting_of
from polhode.run.stiffness import DIFFERENCE, STIFF_RADIANS
from polhode.solution import Solution, made_when_read
from polhode.support.arrays import Floats
from polhode.support.checks import DOUBLE, plain
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
    found[:POWERS] = np.array(attitudes(SAMPLES)).reshape(-1, LANES, 4).transpose(0, 2, 1).reshape(-1)
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
    return _kept_program(deciding, despun, OutsideKey((problem, on_compile)))


@lru_cache(maxsize=KEPT)
def _kept_program(deciding: object, despun: bool, beside: OutsideKey) -> Program | None:
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

    def __init__(self, problem: Problem, made: Program) -> None:
        self.made, body = made, problem.body
        kernels, self.frame = as_kernels_see(body, gyrostat=False), Frame.of(body)
        whole = one_segment(problem.t_start, problem.t_end, problem.span)
        setting = setting_of(kernels, self.frame, whole, (0.0, 0.0))
        least, *_, most = sorted(kernels.inertia)
        self.head = [*setting.tolist(), *estimate.changes_of_one(*kernels.inertia)[1].tolist()]
        """The numbers with which the array of every call begins."""
        self.unequal = 0.0 if body.aligned else most / least
        self.timed = 1 if problem.torque.depends & Depends.TIME else 0


@lru_cache(maxsize=KEPT)
def _kept_kind(*deciding: object) -> list[Kind]:
    """A list with what was made for such a call; it is empty at first."""
    return []


NO_START = (0.0,) * STATE
WRITE_START: Callable[..., None] = Struct(f"{STATE}d").pack_into
ERROR: Callable[..., tuple[float]] = Struct("d").unpack_from
START_BYTES, ERROR_BYTES = 8 * AT.start, 8 * AT.error


class Ready(NamedTuple):
    """A call that lacks only its start."""

    name: str
    """The name of the torque's code, by what it reads now."""
    kind: Kind
    head: bytes
    """The numbers of the call up to the last listed time."""
    size: int
    """The bytes of all its numbers."""
    listed: int
    """The place of the first listed time."""
    counts: tuple[int, int, int, int]
    """The last arguments of the program."""


class ShortRuns:
    """Motions of a body under one torque, over one span and with one kind of output: they differ in their start."""

    def __init__(self, problem: Problem, rtol: float) -> None:
        self.problem, self.rtol, self.fits = problem, rtol, is_short(problem, rtol)
        torque = problem.torque
        self.calls_user = isinstance(torque, CustomTorque | SumTorque) and torque.reads_body
        """Whether a user's function makes parameters from the body: it may change."""
        self.ready: dict[bool, Ready] = {}
        """What was made for runs in the frame that does not spin, and for others."""

    def attempt(self, start: StartNumbers, on_compile: OnCompile, *, is_own: bool = False) -> Solution | None:
        """The motion with its error below the tolerance; None if it has to be found in another way.

        The start may be the problem's own.
        """
        asked = self.problem
        if not (self.fits and compiles()):
            return None
        turn, seen = _rates(asked.body, start)
        if min(turn, seen) * abs(asked.span) > MOST_TURN:
            return None
        despun = turn > WORTH * seen
        if (name := name_now(asked.torque.torque_kernel)) is None:  # in each call: what it reads may have changed
            return None
        ready = self.ready.get(despun)
        if ready is None or ready.name != name or self.calls_user:
            if (ready := self._ready_for(name, despun, on_compile)) is None:
                return None
            self.ready[despun] = ready
        kind = ready.kind
        numbers = bytearray(ready.size)
        numbers[: len(ready.head)] = ready.head
        if asked.body.aligned:
            WRITE_START(numbers, START_BYTES, *start.quaternion, *start.momentum)
        else:
            inward = kind.frame.inward_numbers(np.array(start.quaternion), np.array(start.momentum))
            WRITE_START(numbers, START_BYTES, *inward)
        clock = time.perf_counter()
        try:
            status = kind.made(address_of_bytes(numbers), _place_of_tables(), *ready.counts)
        except KernelRaised:
            return None
        if status != OK:
            return None
        seconds = time.perf_counter() - clock
        make = partial(_fields, asked, None if is_own else start, ready, numbers, seconds)
        found = made_when_read(
            make, status=Status.OK, t_last=asked.t_end, error_estimate=ERROR(numbers, ERROR_BYTES)[0], rtol=self.rtol
        )
        if asked.times is None:  # there is room for many more rows
            found.__getstate__()
        return found

    def _ready_for(self, name: str, despun: bool, on_compile: OnCompile) -> Ready | None:
        """A call without its start; None if there is no program for it."""
        problem, torque, body = self.problem, self.problem.torque, self.problem.body
        values = torque.parameters(body)
        # What is kept has its body, so that no other has its id.
        kept = _kept_kind(torque.torque_kernel, name, torque.depends._value_, id(body), len(values), despun)
        if not kept:
            if (made := _program(problem, name, despun, on_compile)) is None:
                return None
            kept.append(Kind(problem, made))
        kind, times = kept[0], [] if problem.times is None else problem.times.tolist()
        given = problem.t_start, problem.t_end, self.rtol, kind.unequal
        head = [*kind.head, *NO_START, *given, *[0.0] * (AT.values - AT.error), *values, *times]
        rows, listed = len(times), AT.values + len(values)
        room = rows or MOST_ROWS_AT_STEPS
        size = 8 * (listed + room + (STATE + 2 * SAVED) * room + SAMPLES)
        counts = (len(values), rows, room, kind.timed)
        return Ready(name, kind, np.array(head).tobytes(), size, listed, counts)


def attempt(problem: Problem, rtol: float, on_compile: OnCompile) -> Solution | None:
    """The motion with its error below the tolerance; None if it has to be found in another way."""
    runs = ShortRuns(problem, rtol)
    return runs.attempt(start_numbers(problem), on_compile, is_own=True) if runs.fits else None


def kept(
    body: Any, torque: Any, t_span: Any, t_eval: Any, every: Any, rtol: Any
) -> list[ShortRuns] | None:  # fmt: skip
    """A list for the runs of such calls of a user's, empty at first; None if nothing is kept of them.

    Arguments that are kept were checked before. A list has its body and its torque, so that no others have their ids.
    """
    if not isinstance(t_span, tuple | list):
        return None
    if type(t_eval) is np.ndarray:
        if t_eval.dtype != DOUBLE or t_eval.size > estimate.CHECKS:
            return None
        times: object = t_eval.shape, t_eval.tobytes()
    elif t_eval is not None:
        if (listed := plain(t_eval)) is None:
            return None
        times = tuple(listed)
    else:
        times = None
    try:
        t0, t1 = t_span
        return _kept_runs(id(body), id(torque), t0, t1, times, every, rtol)
    except (TypeError, ValueError):  # what cannot be compared will be refused
        return None


def keep(kept: list[ShortRuns], problem: Problem, torque: Any, rtol: float) -> None:
    """Adds the runs of a problem under a user's torque to the list `kept`, if they are short."""
    if problem.torque is torque:  # it may have been prepared for the span
        times = None if problem.times is None else problem.times.copy()
        runs = ShortRuns(problem.replace(times=times), rtol)
        kept += [runs] if runs.fits else []


@lru_cache(maxsize=KEPT, typed=True)
def _kept_runs(*asked: object) -> list[ShortRuns]:
    return []


def _fields(
    asked: Problem, start: StartNumbers | None, ready: Ready, given: bytearray, seconds: float
) -> dict[str, Any]:  # fmt: skip
    """All other fields of the solution; without a start, that of the problem was asked for."""
    numbers, (_, rows, room, _), listed, frame = np.frombuffer(given), ready.counts, ready.listed, ready.kind.frame
    error, n, tolerance, evaluations, _, despun, *memory = numbers[AT.error : AT.end].tolist()
    steps, out = int(n), listed + room
    problem = asked if start is None else asked.beginning_with(start)
    count = rows or steps + 1
    shown: Any = np.s_[:] if rows or problem.every == 1 else [*range(0, steps, problem.every or 1), steps]
    states = numbers[out : out + STATE * count].reshape(count, STATE)[shown].copy()
    q, m, z = frame.outward(states, scaled=False)
    last_q, last_m = frame.outward_one(numbers[AT.end : AT.end + STATE].copy())
    return {
        "problem": problem, "plan": frozen(Plan, {"method": _method(tolerance, despun > 0.0), "step": problem.span}),
        "stats": frozen(Stats, {"steps": steps, "nfev": int(evaluations), "seconds": seconds}),
        "t": numbers[listed : listed + count][shown].copy(), "quaternion": q, "momentum": m, "state": z,
        "message": MESSAGE % (problem.t_end, steps, error), "last_quaternion": last_q, "last_momentum": last_m,
        "last_state": NO_STATE, "memory": (*memory, evaluations), "metadata": {},
    }  # fmt: skip


@lru_cache(maxsize=128)
def _method(tolerance: float, despun: bool) -> Method:
    return find_method(METHOD).replace(rtol=tolerance, despun=despun)


def is_short(problem: Problem, rtol: float) -> bool:
    """Whether one call may answer from any start, as far as tolerance, body, torque and output times show."""
    torque, times = problem.torque, problem.times
    if rtol < LEAST_UNCOMPENSATED_RTOL or problem.body.has_rotor or problem.body.changes:
        return False
    if torque.depends is Depends.NOTHING or torque.sample_kernel is not None or torque.calls_python or torque.calls_out:
        return False
    if torque.state_names or torque.breakpoints or torque.knots or torque.may_bend:
        return False
    return times is None or times.size <= estimate.CHECKS


def _rates(body: Body, start: StartNumbers) -> tuple[float, float]:
    """How fast the body turns, plainly and in a frame that does not spin."""
    if body.symmetry_axis:
        m = start.momentum if body.aligned else (np.array(start.momentum) @ body.axes).tolist()
        return slowed(body.numbers.moments, m, body.symmetry_axis)
    turn = math.hypot(*start.omega)
    return turn, turn
