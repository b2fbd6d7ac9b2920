"""States between the rows of a solution, by steps aside."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.compiler import is_from_callback
from polhode.free.free_motion import FreeMotion, has_closed_form
from polhode.kernels.loop.drive import AT, COUNTERS
from polhode.kernels.status import Status
from polhode.kernels.types import Depends
from polhode.problem import Plan, Problem
from polhode.run.binding import OnCompile
from polhode.run.integration import Begin, Integration, SimulationFailed
from polhode.solution import Solution
from polhode.support import checks
from polhode.support.arrays import Floats, dots
from polhode.support.interrupts import is_from_handler

LARGEST = 2
"""The place of the largest momentum so far in the memory of an adaptive method."""


class Reach:
    """Short runs from given states with the method and the step of a long one, by the same compiled loop."""

    def __init__(
        self, problem: Problem, plan: Plan, on_compile: OnCompile = None, run: Integration | None = None,
        memory: tuple[float, ...] = (),
    ) -> None:  # fmt: skip
        """Takes problem and plan of the solution: its scales choose the program, which is there already.

        `Radau` has the largest momentum of the run in its memory, to which errors are relative: without it a body that
        has come to rest would be followed to ever smaller rates.
        """
        keeps_largest = plan.method.adaptive and not plan.method.locates_bends
        self.largest = memory[LARGEST] if keeps_largest and memory else 0.0
        self.problem, self.plan = problem.replace(times=np.array([problem.t_start]), every=None), plan
        self.run = Integration(self.problem, plan, on_compile=on_compile) if run is None else run
        self.drive = self.run.compiled()
        self.setting: Floats | None = None
        """The fixed numbers of steps aside, if they are the same at all times."""
        torque = problem.torque
        if not plan.method.variable_steps and not problem.breakpoints and torque.sample_kernel is None:
            self.setting = self.run.setting(self.run.steps.segments[0])
            self.setting[10:12] = -math.inf, math.inf  # without jumps there is no window to be kept to

    def states(self, t0: float, q: Floats, m: Floats, z: Floats, times: Floats) -> tuple[Floats, Floats, Floats]:
        """Quaternions, momenta and carried numbers at times that lie beyond t0 and follow each other."""
        run, method = self.run, self.plan.method
        if self.setting is not None and (quick := self._aside(self.setting, t0, q, m, z, times)) is not None:
            return quick
        carried = run.arrays.carried
        run.restart(self.problem.replace(t_end=float(times[-1]), times=times), self.plan, Begin(t0, q, m, state=z))
        carried[:] = 0.0
        if self.largest:
            carried[0], carried[LARGEST] = 1.0, self.largest  # as after an earlier step
        run.arrays.carried = carried
        for segment in run.steps.segments:
            status = run.run_segment(segment, self.drive)
            if status != Status.OK:
                raise SimulationFailed(run.assembled(status))
        states = run.steps.output(run.arrays, run.before, run.problem.t_end, ended=True)[1]
        return run.frame.outward(states, scaled=method.unscaled)

    def _aside(
        self, setting: Floats, t0: float, q: Floats, m: Floats, z: Floats, times: Floats
    ) -> tuple[Floats, Floats, Floats] | None:  # fmt: skip
        """The states at times within one step, in half the time; None if that does not work."""
        run, h = self.run, self.plan.step * self.plan.method.advance
        offset = times - t0
        length = float(offset[-1])
        if abs(length) > abs(h):
            return None
        n, count, carried = times.size, np.zeros(COUNTERS, dtype=np.int64), np.zeros(run.arrays.carried.size)
        count[AT.values], count[AT.steps], count[AT.rows], count[AT.times] = run.values.size, 1, n, n
        state, index = run.frame.inward(q, m, z), np.zeros(n, dtype=np.int64)
        out = np.empty(state.size * n)
        try:
            status = self.drive(setting, run.values, state, carried, offset, out, index, count, t0, h, length, 0)
        except Exception as problem:  # of the torque, in plain Python or compiled: the longer way says what happened
            if is_from_handler(problem) or is_from_callback(problem):
                raise
            return None
        if status != Status.OK:
            return None
        return run.frame.outward(out.reshape(n, -1), scaled=self.plan.method.unscaled)


def states_of(motion: FreeMotion, problem: Problem, t: Floats) -> tuple[Floats, Floats]:
    """States of a free body at times in the order of the run; the sign of a quaternion is that before it."""
    state = motion.at_checked(t)
    q, m = state.quaternion, state.momentum
    at_start = t == problem.t_start
    q[at_start], m[at_start] = problem.quaternion_start, problem.momentum_start
    before = np.vstack([problem.quaternion_start, q[:-1]])
    q *= np.cumprod(np.where(dots(q, before) < 0.0, -1.0, 1.0))[:, None]
    return q, m


def _closed_form(solution: Solution) -> FreeMotion | None:
    """The exact motion behind a solution; None if its rows were made by steps."""
    problem = solution.problem
    if problem.torque.depends is not Depends.NOTHING or solution.error_estimate is None or problem.omega_given is None:
        return None
    if not has_closed_form(problem.body):
        return None
    motion = FreeMotion(problem.body, problem.omega_given, problem.quaternion_start, problem.t_start)
    _, m = states_of(motion, problem, np.array([solution.t_last]))
    return motion if (m[0] == solution.last_momentum).all() else None


def at(solution: Solution, t: Any) -> Solution:
    """The solution with rows at other times."""
    problem = solution.problem
    if solution.torque_changed:
        raise ValueError("the torque was changed on the way: ask each part for its times before they are joined")
    times = checks.row("t", t)
    sign = math.copysign(1.0, solution.step)
    outside = (sign * times < sign * problem.t_start) | (sign * times > sign * solution.t_last)
    if outside.any():
        bad = float(times[int(np.argmax(outside))])
        raise ValueError(f"the solution goes from {problem.t_start!r} to {solution.t_last!r}, and {bad!r} lies outside")
    known_t = np.concatenate([[problem.t_start], solution.t])
    known_q = np.vstack([problem.quaternion_start, solution.quaternion])
    known_m = np.vstack([problem.momentum_start, solution.momentum])
    z_start = problem.state_start
    known_z = np.vstack([z_start, solution.state]) if z_start.size else np.empty((known_t.size, 0))
    order = np.argsort(sign * times, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    if (motion := _closed_form(solution)) is not None:
        q, m = states_of(motion, problem, times[order])
        return replace(
            solution, t=times, quaternion=q[place], momentum=m[place], saved_potential=None, derivatives=None
        )
    row = np.searchsorted(sign * known_t, sign * times[order], side="right") - 1
    q, m, z = known_q[row].copy(), known_m[row].copy(), known_z[row].copy()
    moving = np.flatnonzero(times[order] != known_t[row])
    if moving.size:
        reach = Reach(problem, solution.plan, memory=solution.memory)
        for part in np.split(moving, np.flatnonzero(np.diff(row[moving])) + 1):
            k, wanted = int(row[part[0]]), times[order][part]
            distinct, back = np.unique(sign * wanted, return_inverse=True)
            a, b, c = reach.states(float(known_t[k]), known_q[k], known_m[k], known_z[k], sign * distinct)
            q[part], m[part], z[part] = a[back], b[back], c[back]
    return replace(
        solution, t=times, quaternion=q[place], momentum=m[place], state=z[place], saved_potential=None,
        derivatives=None,
    )  # fmt: skip
