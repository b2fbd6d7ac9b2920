"""Torques, quantities and questions of the tests, in a module that worker processes can import."""

import os
from pathlib import Path
from typing import Any

import numpy as np

import polhode as ph
from polhode.kernels.types import Quat, Vec3

BODY, TOP = ph.Body([1.0, 2.0, 2.7]), ph.HeavyTop(1.0)
COUNT = 2500
"""Two whole parts of 1,024 bodies, and a rest that is no multiple of 256."""
GIVEN: dict[str, Any] = {
    "omega": ph.samples.Normal([0.1, 0.2, 2.0], 0.4),
    "attitude": ph.samples.Attitude(),
    "seed": 5,
    "count": COUNT,
    "t_span": (0.0, 1.0),
    "step": 0.05,
    "method": "MR2",
    "t_eval": [0.0, 0.33, 0.7, 1.0],
}


def tilt(many: ph.Ensemble) -> Any:
    """The height of the body's third axis: (bodies, times)."""
    w, x, y, z = np.moveaxis(many.quaternion, -1, 0)
    return w * w - x * x - y * y + z * z


def summed(total: Any, values: Any) -> Any:
    """Adds up floats, whose sum depends on the order."""
    return total + values.sum(axis=0)


WANTED = {
    "mean": ph.quantity("omega").mean("body"),
    "std": ph.quantity("omega").std("body"),
    "cov": ph.quantity("momentum").last().cov("body"),
    "least": ph.quantity("kinetic_energy").min("body"),
    "worst": ph.quantity("energy_error").max("time").max("body"),
    "spread": ph.quantity(tilt).quantile([0.05, 0.5, 0.95], "body"),
    "counts": ph.quantity(tilt).histogram(np.linspace(-1.0, 1.0, 9)),
    "total": ph.quantity(tilt).fold(summed, np.zeros(4), join=np.add),
    "final": ph.quantity("quaternion").last(),
    "ended": ph.quantity("status"),
}


class Poisoned:
    """A quantity that raises for some bodies, as long as a file is there."""

    def __init__(self, file: Path, first: int) -> None:
        self.file, self.first = file, first

    def __call__(self, many: ph.Ensemble) -> Any:
        """Returns the tilt, or raises."""
        if self.file.exists() and many.start.first <= self.first < many.start.first + len(many):
            raise ArithmeticError(f"body {self.first} is poisoned")
        return tilt(many)


def spring(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
    """A torque of the user's."""
    return (-p[0] * q[1], -p[0] * q[2], -p[0] * q[3])


def kill_once(many: ph.Ensemble) -> Any:
    """Kills the process that computes the last bodies, the first time."""
    flag = Path(os.environ["POLHODE_TEST_FLAG"])
    if many.start.first >= 2048 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), 9)
    return tilt(many)
