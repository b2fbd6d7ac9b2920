"""Common methods and torques, compiled ahead of time: `polhode warm`.

Every task is a short call as a user makes it: it compiles just what that call needs, whichever method is chosen.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from typing import NamedTuple

import numpy as np

from polhode.accuracy.companion import available_cores
from polhode.api.ensemble import ensemble
from polhode.api.simulate import simulate
from polhode.body import Body
from polhode.compiler import programs as native
from polhode.free.free_motion import MOST_INTERPRETED, MOST_INTERPRETED_STATES, FreeMotion
from polhode.torques import Torque
from polhode.torques.damping import LinearDamping
from polhode.torques.gravity_gradient import GravityGradient, OrbitalGravityGradient
from polhode.torques.heavy_top import HeavyTop
from polhode.torques.magnetic_dipole import MagneticDipole
from polhode.torques.no_torque import Free
from polhode.torques.prescribed import ConstantBodyTorque, ConstantSpaceTorque

TOP = Body([5, 5, 1])
BRICK = Body([1, 2, 2.8])
TILTED = (0.96, 0.28, 0.0, 0.0)
"""An attitude at which a heavy top feels its weight."""

TORQUES: dict[str, tuple[Body, Torque]] = {
    "HeavyTop": (TOP, HeavyTop(20)),
    "MagneticDipole": (BRICK, MagneticDipole((0, 0, 0.01), (1, 0, 0))),
    "GravityGradient": (BRICK, GravityGradient(1e-3)),
    "OrbitalGravityGradient": (BRICK, OrbitalGravityGradient(1e-3)),
    "LinearDamping": (BRICK, LinearDamping(0.1)),
    "ConstantBodyTorque": (BRICK, ConstantBodyTorque((0.1, 0, 0))),
    "ConstantSpaceTorque": (BRICK, ConstantSpaceTorque((0.1, 0, 0))),
}
"""Models that newcomers try, with a body for each."""

LOOSE, TIGHT = 1e-4, 1e-12
"""Tolerances on either side of that from which sums are compensated, which takes another program."""

METHODS = ("MR2", "Strang", "RK4", "DOP853")
"""Methods that newcomers name."""


class WarmedTask(NamedTuple):
    """The programs that one task compiled."""

    what: str
    programs: int


def tasks() -> dict[str, Callable[[], object]]:
    """The calls that are tried, by what they are."""
    found: dict[str, Callable[[], object]] = {"free motion": _free_motion}
    for name in TORQUES:
        found[f"{name} by rtol"] = partial(_by_tolerance, name)
    for method in METHODS:
        found[f"{method} of a free body and of a top"] = partial(_by_method, method)
    found["many tops by Strang and by MR2"] = _many_by_step
    found["many tops by rtol"] = _many_by_tolerance
    found["a thousand tops by rtol, and a figure of a paper"] = _rest_of_demo
    return found


def warm(workers: int | None = None) -> Iterator[WarmedTask]:
    """Compiles what most people meet first, in several processes, and yields each task when it is done.

    The programs are kept in the cache, where every later process finds them.
    """
    names = list(tasks())
    workers = min(len(names), workers or available_cores())
    context = multiprocessing.get_context("spawn")  # what is compiled must not depend on what this process has done
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        try:
            for done in as_completed([pool.submit(run_task, name) for name in names]):
                yield done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def run_task(what: str) -> WarmedTask:
    """Makes one of the calls in this process, and returns how many programs had to be compiled for it."""
    before = native.compilations
    tasks()[what]()
    return WarmedTask(what, native.compilations - before)


def _free_motion() -> None:
    motion = FreeMotion(BRICK, omega=np.tile([0.005, 5, 0], (MOST_INTERPRETED + 1, 1)))[0]  # fewer need no program
    motion.at(np.linspace(0.0, 1.0, MOST_INTERPRETED_STATES + 1))
    motion.flip_times(10)
    simulate(BRICK, Free(), omega=[0.005, 5, 0], t_span=(0, 1), rtol=LOOSE)


def _by_tolerance(name: str) -> None:
    body, torque = TORQUES[name]
    for rtol in (LOOSE, TIGHT):
        simulate(body, torque, omega=[0.1, 0.2, 5], attitude=TILTED, t_span=(0, 1), rtol=rtol)


def _by_method(method: str) -> None:
    for torque in (Free(), HeavyTop(20)):
        simulate(TOP, torque, omega=[0.1, 0, 50], attitude=TILTED, t_span=(0, 0.01), step=1e-3, method=method)


def _many_by_step() -> None:
    for method in ("Strang", "MR2"):
        ensemble(TOP, HeavyTop(20), omega=_RATES, attitude=TILTED, t_span=(0, 0.01), step=1e-3, method=method)


def _many_by_tolerance() -> None:
    for rtol in (LOOSE, TIGHT):
        ensemble(TOP, HeavyTop(20), omega=_RATES, attitude=TILTED, t_span=(0, 1), rtol=rtol)


def _rest_of_demo() -> None:
    """Makes the calls of `examples/demo.py` that no other task makes: it is what newcomers run next."""
    rates = np.random.default_rng(1).normal([0.1, 0, 50], [0.1, 0.1, 2], (1000, 3))
    ensemble(TOP, HeavyTop(20), omega=rates, attitude=TILTED, t_span=(0, 1), rtol=1e-6)
    simulate(BRICK, omega=[0.005, 5, 0], t_span=(0, 1), step=0.1, method="LS")


_RATES = [[0.1 * k, 0, 50] for k in range(32)]
"""Rates of enough tops to fill the lanes."""
