"""Check cases: motions to 30 digits, against which simulators can be tested.

`all_cases()` has them, `polhode cases DIR` writes them as CSV and JSON. Free motions without a rotor are proven; all
others come from Taylor series with 40 digits, which share nothing with polhode's methods (tests/authorities). Each has
the tolerance that a sound simulator meets: ten times the error of the classical Runge-Kutta method at 0.02 rad a step.

Examples
--------
>>> len(ph.cases.all_cases("gyrostat"))
8
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from polhode import torques
from polhode.body import Body
from polhode.environment import Orbit
from polhode.files.atomic import whole_file
from polhode.support.arrays import Floats, angles

__all__ = ["Case", "all_cases", "case", "checksum", "write"]

FILE = Path(__file__).with_suffix(".json")
VERSION = "1.1"
"""The version of the cases: the first number rises when a number of a case changes, the second when cases are added."""

GROUPS = {
    "free": "no torque",
    "top": "a weight at a point of the body",
    "gyrostat": "a constant internal momentum",
    "orbit": "the gravity gradient of a planet",
    "damped": "drag, and rings in a fluid",
    "magnet": "a magnet in a field",
    "given": "torques that are given in body axes, in space, or over time",
    "changing": "a tensor that changes with time",
}
"""The groups of cases, and what turns the body in them."""

CONVENTIONS = """\
Body axes are right-handed and fixed in the body; tensors, rates, rotors and points are given in them. Moments of
inertia alone mean that body axes are principal axes. A quaternion (w, x, y, z) is a unit quaternion, Hamilton's, that
turns body axes into space axes: v_space = q v_body q*. q and -q are the same attitude. The angular momentum in body
axes is m = I w + g, with the rotor g, and m' = m x w + N with the torque N. Units: kg m^2, rad/s, N m, s, T, A m^2.
A body with `times` has moments or a tensor for each of them, joined by straight lines; a time that is there twice is a
jump, at which m stays.
`omega` and `attitude` are the state at t = 0, which comes first among the rows. R is the rotation of q, and R^T v is
the vector v of space in body axes.

    HeavyTop                 N = r x R^T (weight down), with r the point and down of unit length
    OrbitalGravityGradient   N = 3 n^2 u x I u, u = R^T (towards cos n t + (normal x towards) sin n t), with n the
                             orbital_rate
    GravityGradient          N = 3 mu / r^3 u x I u, u = R^T (cos v, sin v, 0): v and r are true anomaly and distance on
                             an ellipse, at perigee for t = 0; the radius of the planet plays no part
    LinearDamping            N = -D w, with the coefficient D
    Damper                   a ring with the inertia J and the momentum h along the spin_axis a: N = a h x w - a k,
                             h' = k, x' = s, with s = h / J - a . w and k = -viscous s - spring x; h = J a . w and
                             x = 0 at the start. The tensor does not contain J, m does not contain h
    MagneticDipole           N = d x R^T B, with the moment d and the field B
    ConstantBodyTorque       N = vector
    ConstantSpaceTorque      N = R^T vector
    SinusoidalTorque         N = amplitude cos(angular_frequency t + phase)

The tolerance is the greatest angle between attitudes over the rows, in rad, and the greatest difference of rates over
the greatest rate. All floats are given by their shortest decimal text and mean the double nearest to it.
"""
"""What the numbers of a case mean, in words."""


@dataclass(frozen=True, eq=False)
class Case:
    """A motion to be reproduced.

    Examples
    --------
    >>> case = ph.cases.case("free-wing-nut")
    >>> s = ph.FreeMotion(case.body, case.omega, case.attitude).at(case.t)
    >>> case.error_of(s.quaternion, s.omega) < (1e-14, 1e-14)
    True
    """

    name: str
    group: str
    about: str
    """What moves, in a sentence."""
    definition: Mapping[str, Any]
    """The case as it stands in the file, the states as decimal text."""
    omega: Floats
    """The rate at the start in body axes, in rad/s."""
    attitude: Floats
    """The attitude at the start, body to space, scalar first."""
    t: Floats
    """The times of the rows, in s."""
    quaternion: Floats
    """The attitudes at these times: the doubles nearest to the digits."""
    rate: Floats
    """The rates at these times in body axes, in rad/s."""
    tolerance: tuple[float, float]
    """What a sound simulator meets: the error of the attitude in rad, and of the rate relative to the greatest."""

    @classmethod
    def from_definition(cls, d: Mapping[str, Any]) -> Case:
        """The case that a mapping of the file describes."""
        allowed = d.get("tolerance", {"attitude": 0.0, "rate": 0.0})
        names = ("omega", "attitude", "t", "quaternion", "rate")
        w, q, t, attitudes, rates = (np.array(d.get(name, ()), dtype=float) for name in names)
        tolerance = (allowed["attitude"], allowed["rate"])
        return cls(d["name"], d["group"], d["about"], d, w, q, t, attitudes, rates, tolerance)

    @cached_property
    def body(self) -> Body:
        """The body."""
        given = self.definition["body"]
        inertia, rotor = given.get("moments", given.get("tensor")), given.get("rotor")
        return Body(inertia, times=given["times"], rotor=rotor) if "times" in given else Body(inertia, rotor=rotor)

    @cached_property
    def torque(self) -> torques.Torque | None:
        """The torque, or None."""
        given = self.definition["torque"]
        if given is None:
            return None
        fields = {name: value for name, value in given.items() if name != "model"}
        if "orbit" in fields:
            fields["orbit"] = Orbit(**fields["orbit"])
        return torques.find(given["model"])(**fields)

    @property
    def moments(self) -> tuple[float, ...]:
        """The principal moments of inertia, in kg m^2, along the body axes x, y, z if these are principal axes."""
        return tuple(self.body.moments.tolist())

    def times(self, rows: int = 201) -> Floats:
        """Times from the start to the end of the case, for a log with that many rows."""
        return np.linspace(0.0, self.duration, rows)

    @property
    def duration(self) -> float:
        """The time of the last row, in s."""
        return float(self.t[-1])

    def error_of(self, quaternion: Any, omega: Any) -> tuple[float, float]:
        """The greatest error of attitudes, in rad, and of rates, relative to the greatest, at the times of the rows."""
        q, w = np.asarray(quaternion, dtype=float), np.asarray(omega, dtype=float)
        if q.shape != self.quaternion.shape or w.shape != self.rate.shape:
            raise ValueError(
                f"attitudes and rates must be {self.quaternion.shape} and {self.rate.shape}, a row for each of the "
                f"times of the case, not {q.shape} and {w.shape}"
            )
        scale = float(np.linalg.norm(self.rate, axis=1).max()) or 1.0
        rate = float(np.linalg.norm(w - self.rate, axis=1).max()) / scale
        return float(angles(q / np.linalg.norm(q, axis=1)[:, None], self.quaternion).max()), rate

    def accepts(self, quaternion: Any, omega: Any) -> bool:
        """Whether both errors are within the tolerance."""
        attitude, rate = self.error_of(quaternion, omega)
        return attitude <= self.tolerance[0] and rate <= self.tolerance[1]

    def csv(self) -> str:
        """The rows as text, with all digits."""
        d = self.definition
        rows = zip(map(repr, d["t"]), d["quaternion"], d["rate"], strict=True)
        lines = [",".join([t, *q, *w]) for t, q, w in rows]
        return "\n".join(["t,qw,qx,qy,qz,wx,wy,wz", *lines]) + "\n"


@cache
def _read() -> dict[str, Case]:
    whole = json.loads(FILE.read_text("utf-8"))
    return {d["name"]: Case.from_definition(d) for d in whole["cases"]}


def all_cases(group: str | None = None) -> list[Case]:
    """Every case, or those of a group: one of `GROUPS`."""
    if group is not None and group not in GROUPS:
        raise ValueError(f"there is no group {group!r} of cases: choose one of {', '.join(GROUPS)}")
    return [c for c in _read().values() if group in (None, c.group)]


def case(name: str) -> Case:
    """The case of this name."""
    if name not in _read():
        raise ValueError(f"there is no case {name!r}: `polhode cases` lists them")
    return _read()[name]


def checksum() -> str:
    """The checksum of the cases as they are: that of the file if nobody changed it."""
    made = [c.definition for c in _read().values()]
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def write(folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
    """Writes all cases to a directory: `cases.json`, its schema, README.md, and a table of rows for each."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    files: dict[str, Callable[[], str]] = {
        "README.md": _readme,
        "cases.json": lambda: FILE.read_text("utf-8"),
        "schema.json": lambda: json.dumps(SCHEMA, indent=2) + "\n",
        **{f"{c.name}.csv": c.csv for c in all_cases()},
    }
    for name, text in files.items():
        with whole_file(place / name, overwrite=overwrite) as out:
            out.write(text().encode())
    return [place / name for name in files]


def _readme() -> str:
    listed = [
        f"| {c.name} | {c.about} | {c.duration:g} | {c.tolerance[0]:g} | {c.tolerance[1]:g} |" for c in all_cases()
    ]
    head = ["| case | what moves | s | attitude, rad | rate |", "| -- | -- | -- | -- | -- |"]
    title = f"# Check cases of rotation, version {VERSION}\n\n{len(listed)} motions, sha256 {checksum()}.\n"
    return "\n".join([title, CONVENTIONS, *head, *listed]) + "\n"


def _row(n: int, of: str = "string") -> dict[str, Any]:
    return {"type": "array", "items": {"type": of}, "minItems": n, "maxItems": n}


_STATES: Sequence[str] = ("quaternion", "rate")
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Check cases of rotation",
    "description": CONVENTIONS,
    "type": "object",
    "required": ["version", "sha256", "cases"],
    "properties": {
        "version": {"type": "string"},
        "sha256": {"type": "string", "description": "of the list of cases as JSON with sorted keys"},
        "cases": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "name", "group", "about", "body", "torque", "omega", "attitude", "t", *_STATES, "proof",
                    "tolerance",
                ],
                "properties": {
                    "name": {"type": "string"},
                    "group": {"enum": list(GROUPS)},
                    "about": {"type": "string"},
                    "body": {"type": "object", "description": "moments (3) or tensor (3 x 3), or one a time; rotor"},
                    "torque": {"type": ["object", "null"], "description": "its model and numbers"},
                    "omega": {**_row(3, "number"), "description": "the rate at t = 0"},
                    "attitude": {**_row(4, "number"), "description": "the quaternion at t = 0, to be normalised"},
                    "t": {"type": "array", "items": {"type": "number"}},
                    "quaternion": {"type": "array", "items": _row(4)},
                    "rate": {"type": "array", "items": _row(3)},
                    "proof": {"enum": ["theorem", "40 digits"]},
                    "tolerance": {"type": "object", "description": "of attitude (rad) and rate (relative)"},
                },
            },
        },
    },
}  # fmt: skip
"""The schema of `cases.json`, after JSON Schema."""
