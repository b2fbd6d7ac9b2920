"""Outside truth: states to many digits, and how they were made (README.md)."""

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polhode as ph
from polhode.torques import Torque
from polhode.torques.coulomb_soft_wall import CoulombSoftWall
from polhode.torques.gravity_gradient import GravityGradient
from polhode.torques.prescribed import PiecewiseTorque

Floats = NDArray[np.float64]
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One motion with its end state, ready to be compared with a run."""

    id: str
    body: ph.Body
    torque: Torque
    omega: tuple[float, float, float]
    attitude: tuple[float, float, float, float]
    """Quaternion, scalar first, body to space; not normalised."""
    t: float
    R: Floats
    """The attitude at t, body to space."""
    omega_end: Floats
    sensitivity: float
    """The end state moves by this much per unit relative change of an inertia or a rate."""


@cache
def paper_records() -> dict[str, dict[str, Any]]:
    """The states of the papers' problems as they are stored: 40 digits, as text."""
    stored = json.loads((HERE / "paper_states.json").read_text())
    return {record["id"]: record for record in stored["cases"]}


@cache
def generic_records() -> dict[str, dict[str, Any]]:
    """The states of the generic problems as they are stored: 35 digits, as text."""
    stored = json.loads((HERE / "generic_states.json").read_text())
    return {record["id"]: record for record in stored["cases"]}


def paper_case(record_id: str) -> Case:
    """A problem of the papers."""
    record = paper_records()[record_id]
    w, x, y, z = (float(c) for c in record["quaternion"])
    return Case(
        id=record_id,
        body=ph.Body(record["inertia"], allow_unphysical=True),
        torque=paper_torque(record["torque"]),
        omega=tuple(record["omega"]),
        attitude=(w, x, y, z),
        t=record["t"],
        R=np.array(record["R_end"], dtype=np.float64),
        omega_end=np.array(record["omega_end"], dtype=np.float64),
        sensitivity=record["sensitivity"],
    )


def paper_torque(model: dict[str, Any]) -> Torque:
    """The stored torque as polhode's."""
    match model["model"]:
        case "free":
            return ph.Free()
        case "uniform":
            return ph.HeavyTop(math.hypot(*model["f"]), point=tuple(model["r"]), down=tuple(model["f"]))
        case "gravgrad":
            return GravityGradient(model["c"], tuple(model["n"]))
        case "coulomb":
            return CoulombSoftWall("physical" if model["sign"] > 0 else "printed")
        case "piecewise_const_space":
            return PiecewiseTorque(tuple((end, tuple(n)) for end, n in model["segments"]), "space")
    raise ValueError(f"no torque for {model}")
