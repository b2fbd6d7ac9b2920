"""The Jacobians of many bodies: each is that of a run of its own, on all cores."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import count

import numpy as np

from polhode.ensembles.result import Ensemble
from polhode.kernels.status import Status
from polhode.run.binding import OnCompile
from polhode.run.integration import SimulationFailed
from polhode.run.tangents import Derivatives, solve_with_derivatives, with_derivatives
from polhode.support.interrupts import Work


def differentiated(
    many: Ensemble, by: tuple[str, ...], rtol: float | None, threads: int, on_compile: OnCompile
) -> Ensemble:  # fmt: skip
    """The ensemble with the derivatives of all bodies that reached the end."""
    good = [int(k) for k in np.flatnonzero(many.status == Status.OK)]
    made: list[Derivatives | None] = [None] * len(many)

    def of_body(k: int) -> None:
        one = many[k]
        with suppress(SimulationFailed):  # columns grow beyond all numbers where the motion does not
            if rtol is None:
                only_rows = one.problem.replace(times=one.t, every=None)
                made[k] = solve_with_derivatives(only_rows, one.plan, by, None, on_compile).derivatives
            else:
                made[k] = with_derivatives(one, by, rtol, on_compile).derivatives

    each = count(1)

    def some() -> None:
        while (i := next(each)) < len(good):
            of_body(good[i])

    if good:
        of_body(good[0])  # which compiles what all take
    for one in [Work(some) for _ in range(threads)]:
        one.result()
    return replace(many, derivatives=tuple(made))
