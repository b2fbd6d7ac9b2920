"""States between the rows of a solution, by steps aside."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from polhode import _check
from polhode._arrays import Floats
from polhode.core import status as codes
from polhode.integration.fixed import SIGNATURE, SimulationFailed
from polhode.integration.variable import integration
from polhode.solution import Run, Solution


class Reach:
    """Short runs from given states with the method and the step of a long one, by the same compiled driver."""

    def __init__(self, run: Run, announce: Callable[[], None] | None = None) -> None:
        """The run is that of the solution: its scales choose the program, which is then there already."""
        self.run = run
        start = np.array([run.t_start])
        self.runner = integration(run)(run, run.quaternion_start, run.momentum_start, start, None, announce)
        self.drive = self.runner.program(self.runner._driver, SIGNATURE, announce)

    def states(self, t0: float, q: Floats, m: Floats, times: Floats) -> tuple[Floats, Floats]:
        """Quaternions and momenta at these times, which lie beyond t0 and follow each other."""
        runner, run = self.runner, self.run
        t1 = float(times[-1])
        runner._plan(run.having(t_start=t0, t_end=t1, every=None), q, m, times)
        runner.carried[:] = 0.0
        for piece in runner.pieces:
            status = runner._through(piece, self.drive)
            if status != codes.OK:
                raise SimulationFailed(runner._assembled(status))
        return runner._outward(runner._output(codes.OK, runner.before)[1])


def at(solution: Solution, t: Any) -> Solution:
    """The solution with rows at other times."""
    run = solution.run
    if run.torque_changed:
        raise ValueError("the torque was changed on the way: ask each part for its times before they are joined")
    given = np.asarray(t)
    times = _check.array("t", np.atleast_1d(given), (given.size,)) if given.ndim <= 1 else _check.array("t", t, ())
    sign = math.copysign(1.0, run.step)
    outside = (sign * times < sign * run.t_start) | (sign * times > sign * solution.t_last)
    if outside.any():
        bad = float(times[int(np.argmax(outside))])
        raise ValueError(f"the solution goes from {run.t_start!r} to {solution.t_last!r}, and {bad!r} lies outside")
    known_t = np.concatenate([[run.t_start], solution.t])
    known_q = np.vstack([run.quaternion_start, solution.quaternion])
    known_m = np.vstack([run.momentum_start, solution.momentum])
    order = np.argsort(sign * times, kind="stable")
    row = np.searchsorted(sign * known_t, sign * times[order], side="right") - 1
    q, m = known_q[row].copy(), known_m[row].copy()
    moving = np.flatnonzero(times[order] != known_t[row])
    if moving.size:
        reach = Reach(run)
        for part in np.split(moving, np.flatnonzero(np.diff(row[moving])) + 1):
            k, wanted = int(row[part[0]]), times[order][part]
            distinct, back = np.unique(sign * wanted, return_inverse=True)
            a, b = reach.states(float(known_t[k]), known_q[k], known_m[k], sign * distinct)
            q[part], m[part] = a[back], b[back]
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return replace(solution, t=times, quaternion=q[place], momentum=m[place], saved_potential=None)
