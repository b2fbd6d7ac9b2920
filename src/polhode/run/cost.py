"""What runs cost, before they begin: how long a torque takes, and an early word about runs that take long."""

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from polhode.compiler import CompilationFailed, KernelRaised, compiles, program
from polhode.kernels.loop.drive import torque_rows
from polhode.kernels.ops import read_only
from polhode.kernels.types import UserTorque
from polhode.problem import Problem
from polhode.support.checks import levels_of_polhode
from polhode.support.interrupts import faults_ignored
from polhode.torques import CustomTorque, SumTorque, Torque

LONG_SECONDS = 60.0
"""A run that is likely to take longer is announced, unless its progress is shown."""
STEP_SECONDS = 1e-7
"""The time of a step with one exact flow or one evaluation of a torque model: 0.06 to 0.12 us were measured."""
LANE_SECONDS = 2e-8
"""The same on a core that computes several bodies at a time."""
BODY_SECONDS = 6e-7
"""The time in which a body of an ensemble is drawn, surveyed and reduced, on one core."""

CALLBACK_SECONDS = 6e-7
"""What it takes a program to call a Python function, besides what that takes itself."""
SUSPECT_SECONDS = {False: 3e-4, True: 3e-5}
"""A torque that takes longer than this in plain Python may be dear when it is compiled, or a function of C: these are
called through ctypes, which takes some microseconds."""
TRIALS = 3
"""Calls of which the quickest counts: the first one may import or compile something."""
TRIAL_ROWS = 4
"""Evaluations of a compiled torque that are timed together."""


class LongRun(UserWarning):
    """A run is about to begin that is likely to take minutes or more.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ph.LongRun)  # begin without a word
    ...     run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 5), rtol=1e-9)
    ...
    """


def seconds_of(steps: float, bodies: int = 1, threads: int = 1) -> float:
    """Returns about how long this number of steps of each body takes at least, with a simple torque."""
    if bodies == 1:
        return STEP_SECONDS * steps
    return bodies * (BODY_SECONDS + LANE_SECONDS * steps / threads)


def may_be_dear(torque: Torque, seconds: float) -> bool:
    """Whether a torque, of which one call in plain Python took so long, may be dear within a program."""
    if not isinstance(torque, CustomTorque | SumTorque):  # models are quick
        return False
    return torque.calls_python or seconds > SUSPECT_SECONDS[torque.calls_out]


def seconds_a_call(problem: Problem) -> float:
    """Returns how long an evaluation of the torque takes within a program; 0 where it is too quick to matter."""
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
    """Returns the least time that a call takes."""
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
    """Returns a function that evaluates a compiled torque in some rows."""
    try:
        fill = program(rows_of(kernel), ROWS_SIGNATURE, tentative=True, what="a torque")
    except CompilationFailed:  # the run will say why
        return lambda: None
    out = np.empty(w.size)

    def call() -> None:
        with suppress(KernelRaised):
            fill(values, t, q, w, NO_STATE_ROWS, out, values.size, t.size)

    return call


def announce(steps: float, bodies: int = 1, threads: int = 1, *, hint: str) -> None:
    """Warns of a run that is likely to take long; `hint` says how to shorten it."""
    seconds = seconds_of(steps, bodies, threads)
    if seconds <= LONG_SECONDS:
        return
    work = f"{steps:.2g} steps" if bodies == 1 else f"{bodies:.2g} bodies with {steps:.2g} steps each"
    warnings.warn(
        f"{work} take {_duration(seconds)} at least: {hint}, or give progress= to see how far the run is",
        LongRun,
        stacklevel=levels_of_polhode(),
    )


def _duration(seconds: float) -> str:
    """Returns a length of time in words, in the largest unit of which there is one."""
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            return f"about {seconds / size:.2g} {unit}"
    return f"about {seconds:.2g} seconds"
