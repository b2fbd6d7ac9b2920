"""Measurements that several figures share."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polhode import simulate
from polhode.api.simulate import check_accepted
from polhode.body import Body
from polhode.free.free_motion import FreeMotion
from polhode.methods import Method, find
from polhode.problem import Plan, Problem
from polhode.run.integration import SimulationFailed, solve
from polhode.solution import Solution
from polhode.support.arrays import Floats
from polhode.torques import Torque
from polhode.torques.no_torque import Free


def slope(h: Any, error: Any) -> float:
    """The observed order: the slope of log error against log step."""
    return float(np.polyfit(np.log(h), np.log(error), 1)[0])


def pose(body: Body, torque: Torque | None, omega: Any, attitude: Any = None) -> Problem:
    """The problem of a motion from time 0 on; `integrate` and `reference` are given an end other than 1 s."""
    return Problem.given(body, torque, omega=omega, attitude=attitude, t_span=(0.0, 1.0))


def integrate(problem: Problem, method: str | Method, t_end: float, h: float, **output: Any) -> Solution:
    """Runs a problem to `t_end` with the step h, with all rows or those asked for by `t_eval` or `every`."""
    chosen = find(method) if isinstance(method, str) else method
    check_accepted(chosen, problem.torque)
    return solve(problem.until(t_end, **output), Plan(chosen, float(h)))


def end_states(
    body: Body, torque: Torque | None, method: str | Method, steps: Sequence[float], t_end: float, **start: Any
) -> list[Solution | None]:
    """Runs to `t_end` with each of the steps and returns the last row of each; None where a run failed."""
    out: list[Solution | None] = []
    for h in steps:
        try:
            out.append(simulate(body, torque, t_span=(0.0, t_end), step=h, method=method, t_eval=[t_end], **start))
        except SimulationFailed:
            out.append(None)
    return out


def matrix(solution: Solution) -> Floats:
    """The last attitude, as a matrix from body to space."""
    return np.asarray(solution.attitude[-1].as_matrix())


def free_end(body: Body, t: Any, **start: Any) -> tuple[Floats, Floats]:
    """The exact momentum and attitude matrix of a free body at a time, or at each of several."""
    there = FreeMotion(body, **start).at(t)
    return np.asarray(there.momentum), np.asarray(there.attitude.as_matrix())


def tight(problem: Problem, t_eval: Any, step: float) -> Solution:
    """Computes a reference under a torque: an adaptive method at a tolerance near round-off, with steps up to this."""
    times = np.atleast_1d(np.asarray(t_eval, dtype=np.float64))
    return integrate(problem, "DOP853(rtol=1e-14)", float(times[-1]), step, t_eval=times)


def hat(v: Any) -> Floats:
    """The skew matrix of v, with hat(a) b = a x b."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def reference(problem: Problem, t_end: float) -> tuple[Floats, Floats]:
    """Momentum in the body and attitude matrix: exact if the body is free, else to nearly all digits."""
    if isinstance(problem.torque, Free):
        return free_end(problem.body, t_end, omega=problem.omega_start, attitude=problem.quaternion_start)
    last = tight(problem, t_end, 0.05)
    return last.momentum[-1], matrix(last)


def timed(jobs: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """The seconds that each job takes: the least over interleaved rounds, after one round that may compile."""
    best = dict.fromkeys(jobs, np.inf)
    for k in range(rounds + 1):
        for name, job in jobs.items():
            clock = time.perf_counter()
            job()
            if k > 0:
                best[name] = min(best[name], time.perf_counter() - clock)
    return best
