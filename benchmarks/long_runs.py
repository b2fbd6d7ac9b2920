"""Energy over long runs: the heavy top of the map, against heyoka at its tightest tolerance.

The change of the energy is computed in extended precision from the states at the output times.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.budget import UNLIMITED, Clock
from benchmarks.contenders import Contender, Heyoka, Polhode, Unable, candidates
from benchmarks.motions import Floats, Motion, cell

ANGLE = 1e5
OUTPUTS = 400
EPS = (1e-4, 1e-2, 1.0)
METHODS = {
    "Strang": 0.1, "SABA8": 1.0, "ABA1064": 1.0, "SRKN11": 0.5, "KL8(of=Strang)": 0.5, "G8(compensated=true)": 1.2,
    "G8": 1.2, "DOP853": 0.0,
}  # fmt: skip
"""Radians in a step of each method. DOP853 has its tightest tolerance."""


def energy_change(motion: Motion, states: Floats) -> Floats:
    """Returns the change over twice the kinetic energy at the start; attitudes are scaled to unit quaternions."""
    rows = np.vstack([motion.start, states]).astype(np.longdouble)
    a, b, c, d = rows[:, :4].T
    u3 = (a * a - b * b - c * c + d * d) / (a * a + b * b + c * c + d * d)
    energy = 0.5 * (np.array(motion.moments) * rows[:, 4:] ** 2).sum(axis=1) + motion.strength * u3
    return np.asarray((energy[1:] - energy[0]) / motion.twice_kinetic, dtype=float)


def measured(quick: bool = False, log: Callable[[str], None] = print, clock: Clock = UNLIMITED) -> list[dict[str, Any]]:
    """Returns a record for each strength of the torque and competitor."""
    records = []
    for eps in EPS[1:2] if quick else EPS:
        motion = replace(cell("asymmetric", eps, ANGLE / (10 if quick else 1)), outputs=OUTPUTS)
        contenders: list[tuple[Contender, float]] = [(Heyoka(), 2.0**52), (Heyoka(high_accuracy=True), 2.0**52)]
        for mine, turn in zip(candidates(tuple(METHODS)), METHODS.values(), strict=True):
            contenders.append((mine, motion.angle / turn if turn else 1e15))
        for contender, setting in clock.within(contenders, f"eps {eps:g}", lambda one: one[0].name):
            r = _record(motion, eps, contender, setting)
            records.append(r)
            told = r["unable"] if "unable" in r else f"{r['end']:.1e} at the end, {r['most']:.1e} at most"
            log(f"eps {eps:g}, {r['name']}: {told}")
    return records


def _record(motion: Motion, eps: float, contender: Contender, setting: float) -> dict[str, Any]:
    about: dict[str, Any] = {"eps": eps, "angle": motion.angle, "name": contender.name}
    about["peer"] = not isinstance(contender, Polhode)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = contender.runner(motion, setting, 1e-12)
            run()  # compiles
            clock = time.perf_counter()
            states = run()
            seconds = time.perf_counter() - clock
            change = energy_change(motion, states)
    except (Unable, ArithmeticError) as reason:
        return about | {"unable": str(reason)}
    line = np.polyfit(motion.times, change, 1)
    return about | {
        "told": contender.describe(motion, setting, 1e-12),
        "end": float(change[-1]), "most": float(np.abs(change).max()),
        "drift": float(line[0] * motion.span), "seconds": seconds, "times": motion.times.tolist()[::4],
        "change": change.tolist()[::4],
    }  # fmt: skip
