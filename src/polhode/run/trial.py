"""Torques tried: before a run, so that mistakes and costs show early; after a failure, to find its cause."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from polhode.compiler import CompilationFailed, KernelRaised, compiles, is_from_callback, program
from polhode.compiler.errors import WRITES
from polhode.kernels.loop.drive import torque_rows
from polhode.kernels.ops import read_only
from polhode.kernels.steps.flows import principal_torque
from polhode.kernels.types import (
    Depends,
    Inertia,
    Params,
    Quat,
    Scales,
    State,
    UserTorque,
    Vec3,
)
from polhode.methods import Method
from polhode.problem import Problem
from polhode.support.arrays import Floats
from polhode.support.interrupts import attempted, faults_ignored, is_from_handler
from polhode.support.returned_numbers import no_real_number, plain_item, size_of
from polhode.torques import CustomTorque, SumTorque, Torque
from polhode.torques._tangent import TangentTorque

CALLBACK_SECONDS = 6e-7
"""The time that a program needs to call a Python function, without the time in that function."""
SUSPECT_SECONDS = {False: 3e-4, True: 3e-5}
"""A torque that takes longer than this in plain Python may be expensive when it is compiled, or a function of C. Those
are called through ctypes, which takes some microseconds."""
TRIALS = 3
"""Calls of which the quickest counts: the first one may import or compile something."""
TRIAL_ROWS = 4
"""Evaluations of a compiled torque that are timed together."""


def size_or_zero(kernel: UserTorque, t: float, q: Quat, w: Vec3, p: Floats) -> float:
    """The size of the torque, or zero where it cannot be computed: a run that comes there will say so."""
    size = attempted(lambda: math.hypot(*kernel(t, q, w, p)), 0.0)
    return size if math.isfinite(size) else 0.0


def size_at_start(
    torque: Torque, values: Floats, t: float, t_seen: float, q: Quat, w: Vec3, z: tuple[float, ...]
) -> float:
    """The size of the torque at the start; raises a ValueError that says what is wrong with it."""
    for name, part, own, carried in torque.acting(t_seen, values, z):  # so that the error names the part of a sum
        kernel = part.torque_kernel  # one from a file has none, and says so
        try:
            n = kernel(t_seen, q, w, own, carried) if carried else kernel(t_seen, q, w, own)
        except Exception as problem:  # the user's code may raise anything
            if is_from_handler(problem) or is_from_callback(problem):
                raise
            told = f"{problem}{_remedy(problem, own)}"
            raise ValueError(f"the torque {name} raised {type(problem).__name__} at t = {t:g}: {told}") from problem
        size = size_of(name, _torque_of_pair(name, n, part.state_names, t) if part.state_names else n, t)
        if part.potential_kernel is not None:
            _try_potential(name, part.potential_kernel, own, t_seen, q)
        if part is torque:
            return size
    return size_of(torque.name, torque.called(t_seen, q, w, values, z), t)


def size_where_it_begins(problem: Problem, values: Floats) -> float:
    """The size of the torque with these values at the start of a problem, or raises as `size_at_start` does."""
    a, b, c, d = problem.quaternion_start.tolist()
    x, y, z = problem.omega_start.tolist()
    t, carried = problem.t_start, tuple(problem.state_start.tolist())
    return size_at_start(problem.torque, read_only(values), t, t, (a, b, c, d), (x, y, z), carried)


def _remedy(problem: Exception, values: Floats) -> str:
    """What to do about the usual mistakes."""
    text = str(problem)
    if isinstance(problem, IndexError) and f"with size {len(values)}" in text:
        number = "1 parameter" if len(values) == 1 else f"{len(values)} parameters"
        return f"; the torque has {number}: give more, as in @torque(parameters=[...])"
    if isinstance(problem, TypeError) and ("multiply sequence" in text or "'tuple'" in text):
        return "; q and w are tuples: write np.array(w) to compute with all of it"
    return f"; {WRITES}" if isinstance(problem, ValueError) and "read-only" in text else ""


def _torque_of_pair(name: str, returned: Any, names: tuple[str, ...], t: float) -> Any:
    """The torque that was returned with derivatives, which are checked."""
    count = len(names)
    wanted = f"the torque {name} carries {', '.join(names)}: it must return the torque and {count} derivative"
    wanted += "s, as in `return torque, (a, b)`" if count > 1 else ", as in `return torque, (a,)`"
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise ValueError(f"{wanted}, not {returned!r}")
    given = returned[1]
    if count == 1 and isinstance(given, int | float) and not isinstance(given, bool):
        given = (given,)
    row = isinstance(given, tuple | list) or (isinstance(given, np.ndarray) and given.ndim == 1)
    if not row or len(given) != count:
        raise ValueError(f"{wanted}, not {given!r}")
    for label, item in zip(names, map(plain_item, given), strict=True):
        if reason := no_real_number(item):
            raise ValueError(f"the torque {name} returned the derivative of {label} at t = {t:g}: {reason}")
        if not math.isfinite(item):
            raise ValueError(f"the torque {name} returned {item} as the derivative of {label} at t = {t:g}")
    return returned[0]


def _try_potential(name: str, potential: Any, values: Floats, t: float, q: Quat) -> None:
    try:
        energy = plain_item(potential(t, q, values))
    except Exception as problem:  # the user's code may raise anything
        if is_from_handler(problem) or is_from_callback(problem):
            raise
        kind = type(problem).__name__
        raise ValueError(f"the potential of {name} raised {kind} at t = {t:g}: {problem}") from problem
    if reason := no_real_number(energy):
        raise ValueError(f"the potential of {name} must return a number: at t = {t:g}, {reason}")
    if not math.isfinite(energy):
        raise ValueError(f"the potential of {name} is {energy} at t = {t:g}, at the very start")


ALONG = 0.1
"""The share of a torque that must lie along the rate, or against it, to say that it drives or brakes the body."""


def what_torque_does(
    torque: Torque, values: Floats, t: float, q: Quat, w: Vec3, z: tuple[float, ...], momentum: float, step: float,
    remedy: str,
) -> str | None:  # fmt: skip
    """What a torque does to the body within a step, in words, if it changes the whole momentum in less.

    The sentence about a stiff torque ends with its `remedy`.
    """
    size = size_or_zero(partial(torque.called, z=z), t, q, w, values)
    rate = math.hypot(*w)
    if not torque.depends & Depends.RATE or not (size * step > momentum > 0.0 and math.isfinite(rate)):
        return None
    n = torque.called(t, q, w, values, z)
    along, within = sum(float(a) * b for a, b in zip(n, w, strict=True)) / (size * rate), momentum / size
    if along > ALONG:
        return (
            f"the torque drives the body ever faster: at {rate:.3g} rad/s it doubles the rate within {within:.1g} s; "
            "the motion may end here, and no step leads beyond; if it should not, look at the sign of the torque"
        )
    if along < -ALONG:
        return f"the torque stops the body within {within:.1g} s (it is stiff): {remedy}"
    return None


class Fault(NamedTuple):
    """What a torque did wrong, in words, at what time, and what to do about it."""

    what: str
    t: float
    remedy: str = ""


DIVIDES = ": look at what it divides by or takes the root of there"
"""What to do about a torque that is NaN or infinite."""


def fault_of_torque(
    torque: Torque, method: Method, scales: Scales, body: Inertia, p: Params, t: float, s: State,
    lengths: list[float], span: tuple[float, float], *, tilted: bool,
) -> Fault | None:  # fmt: skip
    """What the torque did wrong in a failed step, found by making that step again; None: nothing."""
    faults: list[Fault] = []
    if isinstance(torque, TangentTorque):  # its columns do nothing wrong
        torque, scales, s = torque.plain, scales._replace(carried=()), State(s.q, s.m)

    def note(fault: Fault) -> None:
        if stepper.enter is not None and not min(span) <= fault.t <= max(span):
            beyond = ", beyond the ends of the span, where correctors look: take a method without one"
            fault = fault._replace(remedy=beyond)
        faults.append(fault)

    watched = _watched(torque, note)
    carried = len(torque.state_names)
    pull = principal_torque(watched, tilted=tilted, windowed=bool(torque.breakpoints), carried=carried)
    stepper = method.scheme.bind(pull, torque.depends, scales)
    with np.errstate(all="ignore"), faults_ignored():  # in plain Python a division by zero raises, also of ours
        for length in lengths:
            inside: Any = s
            if stepper.enter is not None:
                inside = stepper.enter(body, p, t, inside, length)
            memory: Any = stepper.start(body, p, t, inside)
            new, _, _ = stepper.step(body, p, t, inside, length, memory)
            if stepper.leave is not None:
                stepper.leave(body, p, t + length, new, length)
            if faults:
                break
    return faults[0] if faults else None


def _watched(torque: Torque, note: Callable[[Fault], None]) -> UserTorque:
    """The torque, wrapped so that `note` is called with anything wrong that it returns or raises."""
    kernel = torque.torque_kernel

    def watched(t: float, q: Any, w: Any, p: Any, *state: Any) -> Any:
        try:
            returned = kernel(t, q, w, p, *state)
        except Exception as problem:  # the user's code may raise anything
            if is_from_handler(problem):
                raise
            note(Fault(f"raised {type(problem).__name__}{_in_part(torque, t, q, w, p, *state)}: {problem}", t))
            raise
        n = returned[0] if state else returned
        sane = np.isfinite(w).all() and all(abs(x) < 10.0 for x in q) and np.isfinite(state).all()
        if state and sane:
            for name, x in zip(torque.state_names, np.atleast_1d(returned[1]), strict=False):
                if not math.isfinite(x):
                    note(Fault(f"returned {x} as the derivative of {name}", t, DIVIDES))
        if any(isinstance(x, complex) for x in n):
            what = f"returned ({', '.join(f'{x:g}' for x in n)}), which are not all real numbers,"
            note(Fault(what, t, ": write max(x, 0.0) where it takes the root or a power of x, or end the run before"))
        # A torque is not to blame for what it returns at a state that is no state.
        elif sane and not np.isfinite(np.asarray(n, float)).all():
            what = f"returned ({', '.join(f'{x:g}' for x in n)}){_in_part(torque, t, q, w, p, *state)}"
            note(Fault(what, t, DIVIDES))
        return returned

    return watched


def _in_part(torque: Torque, t: float, q: Any, w: Any, p: Any, z: Any = ()) -> str:
    """Names the first part of a sum that raises an error or returns something other than finite numbers."""
    for name, part, own, carried in torque.acting(t, p, z):
        if part is not torque:
            with faults_ignored():
                if np.isfinite(np.asarray(part.called(t, q, w, own, carried), float)).all():
                    continue
            return f" in its part {name}"
    return ""


# --- how long a torque takes ---------------------------------------------------------------------------------------


def may_be_expensive(torque: Torque, seconds: float) -> bool:
    """Whether a torque, of which one call in plain Python took so long, may be expensive within a program."""
    if not isinstance(torque, CustomTorque | SumTorque):  # models are quick
        return False
    return torque.calls_python or seconds > SUSPECT_SECONDS[torque.calls_out]


def seconds_a_call(problem: Problem) -> float:
    """How long an evaluation of the torque takes within a program; 0 where it is too quick to matter."""
    torque = problem.torque
    if not isinstance(torque, CustomTorque | SumTorque):  # models are quick
        return 0.0
    values = np.array(torque.parameters(problem.body), dtype=np.float64)
    kernel, p, t = torque.torque_kernel, read_only(values), problem.t_start
    a, b, c, d = problem.quaternion_start.tolist()
    x, y, z = problem.omega_start.tolist()
    with faults_ignored():  # the run will say what is wrong
        call = lambda: kernel(t, (a, b, c, d), (x, y, z), p)  # noqa: E731
        if torque.calls_python:
            return CALLBACK_SECONDS + _quickest(call)
        suspect = SUSPECT_SECONDS[torque.calls_out]
        if compiles() and _quickest(call, 1) > suspect and _quickest(call) > suspect:
            rows = np.repeat([[t, a, b, c, d, x, y, z]], TRIAL_ROWS, axis=0)
            times, q, w = (np.ascontiguousarray(rows[:, k]).reshape(-1) for k in (0, slice(1, 5), slice(5, 8)))
            return _quickest(_filled(kernel, values, times, q, w)) / TRIAL_ROWS
    return 0.0


def _quickest(call: Callable[[], Any], trials: int = TRIALS) -> float:
    """The least time that a call takes."""
    seconds = []
    for _ in range(trials):
        clock = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - clock)
    return min(seconds)


rows_of = lru_cache(maxsize=128)(torque_rows)
ROWS_SIGNATURE = "ppppppii"
"""The arguments of the loop over rows of a torque."""
NO_STATE_ROWS = np.zeros(1)
"""What stands for the rows of numbers that a torque carries, if it carries none."""


def _filled(kernel: UserTorque, values: Any, t: Any, q: Any, w: Any) -> Callable[[], Any]:
    """A function that evaluates a compiled torque in some rows."""
    try:
        fill = program(rows_of(kernel), ROWS_SIGNATURE, tentative=True, what="a torque")
    except CompilationFailed:  # the run will say why
        return lambda: None
    out = np.empty(w.size)

    def call() -> None:
        with suppress(KernelRaised):
            fill(values, t, q, w, NO_STATE_ROWS, out, values.size, t.size)

    return call
