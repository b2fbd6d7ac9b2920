"""Check cases: motions to 30 digits, against which simulators can be tested.

`all_cases()` has them, `polhode cases DIR` writes them as CSV and JSON. Free motions without a rotor are proven; all
others come from Taylor series with 40 digits, which share nothing with polhode's methods (tests/authorities). Each has
the tolerance that a sound simulator meets: ten times the error of the classical Runge-Kutta method at 0.02 rad a step.
`pairs()` has two bodies that springs join, with positions and velocities besides.

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
from polhode.systems.forces import Spring, Springs
from polhode.systems.system import System

__all__ = ["Case", "Pair", "all_cases", "case", "checksum", "pairs", "write"]

FILE = Path(__file__).with_suffix(".json")
VERSION = "1.2"
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
    "wheels": "reaction wheels",
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
    ReactionWheels           wheels with the spin inertia J, the momenta h_i and unit axes a_i: N = sum a_i h_i x w -
                             sum a_i d_i, h_i' = d_i = u_i - viscous s_i, s_i = h_i / J - a_i . w. Motors make the least
                             u with sum a_i u_i = attitude_gain e + rate_gain w, or the nearest to it; e is twice the
                             vector part of q. `speeds` are s_i at the start. The tensor does not contain J, m does
                             not contain h
    MagneticDipole           N = d x R^T B, with the moment d and the field B
    ConstantBodyTorque       N = vector
    ConstantSpaceTorque      N = R^T vector
    SinusoidalTorque         N = amplitude cos(angular_frequency t + phase)

Pairs are two bodies on springs, each with 13 numbers a row: position and velocity of the centre of mass in space, the
quaternion, and the rate. A spring between the points p and r of two bodies pulls the first with
-stiffness (1 - length / |d|) d, d = x1 + R1 p - x2 - R2 r, and its torque is p x R1^T of that.

The tolerance is the greatest angle between attitudes over the rows, in rad, and the greatest difference of rates over
the greatest rate; for pairs also that of positions over the greatest. All floats are given by their shortest decimal
text and mean the double nearest to it.
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


@dataclass(frozen=True, eq=False)
class Pair:
    """Two bodies that springs join, to be reproduced.

    Examples
    --------
    >>> pair = ph.cases.pairs()[0]
    >>> run = ph.simulate_system(pair.system, pair.forces, t_span=(0, pair.t[-1]), t_eval=pair.t, rtol=1e-9)
    >>> pair.accepts(run.position, run.quaternion, run.omega)
    True
    """

    name: str
    about: str
    """What moves, in a sentence."""
    definition: Mapping[str, Any]
    """The pair as it stands in the file, the states as decimal text."""
    t: Floats
    """The times of the rows, in s."""
    position: Floats
    """(rows, 2, 3): the centres of mass in space, m."""
    velocity: Floats
    """(rows, 2, 3): in space, m/s."""
    quaternion: Floats
    """(rows, 2, 4): the attitudes."""
    rate: Floats
    """(rows, 2, 3): the rates in the axes of each body, rad/s."""
    tolerance: tuple[float, float, float]
    """What a sound simulator meets: the errors of attitudes in rad, and of rates and positions over the greatest."""

    @classmethod
    def from_definition(cls, d: Mapping[str, Any]) -> Pair:
        """The pair that a mapping of the file describes."""
        y = np.array(d["states"], dtype=float)
        allowed = d.get("tolerance", {})
        tolerance = (allowed.get("attitude", 0.0), allowed.get("rate", 0.0), allowed.get("position", 0.0))
        parts = (y[:, :, :3], y[:, :, 3:6], y[:, :, 6:10], y[:, :, 10:])
        return cls(d["name"], d["about"], d, np.array(d["t"]), *parts, tolerance)

    @cached_property
    def system(self) -> System:
        """The two bodies at the start."""
        d = self.definition
        start = {name: d[name] for name in ("position", "velocity", "attitude", "omega")}
        return System([Body(b["moments"]) for b in d["bodies"]], mass=[b["mass"] for b in d["bodies"]], **start)

    @cached_property
    def forces(self) -> Springs:
        """The springs."""
        return Springs([Spring(**s) for s in self.definition["springs"]])

    def error_of(self, position: Any, quaternion: Any, omega: Any) -> tuple[float, float, float]:
        """The greatest errors of attitudes, in rad, and of rates and positions, relative to the greatest."""
        x, q, w = (np.asarray(a, dtype=float) for a in (position, quaternion, omega))
        if (x.shape, q.shape, w.shape) != (self.position.shape, self.quaternion.shape, self.rate.shape):
            raise ValueError(
                f"positions, attitudes and rates must be {self.position.shape}, {self.quaternion.shape} and "
                f"{self.rate.shape}, not {x.shape}, {q.shape} and {w.shape}"
            )
        off = [np.linalg.norm(a - b, axis=2).max() for a, b in ((w, self.rate), (x, self.position))]
        size = [np.linalg.norm(b, axis=2).max() for b in (self.rate, self.position)]
        units = (q / np.linalg.norm(q, axis=2)[:, :, None]).reshape(-1, 4)
        angle = float(angles(units, self.quaternion.reshape(-1, 4)).max())
        return angle, float(off[0] / size[0]), float(off[1] / size[1])

    def accepts(self, position: Any, quaternion: Any, omega: Any) -> bool:
        """Whether all errors are within the tolerance."""
        errors = self.error_of(position, quaternion, omega)
        return all(x <= limit for x, limit in zip(errors, self.tolerance, strict=True))

    def csv(self) -> str:
        """The rows as text, with all digits."""
        names = [f"{name}{k}" for k in (1, 2) for name in _NUMBERS]
        d = self.definition
        lines = [",".join([repr(t), *row[0], *row[1]]) for t, row in zip(d["t"], d["states"], strict=True)]
        return "\n".join([",".join(["t", *names]), *lines]) + "\n"


@cache
def _whole() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(FILE.read_text("utf-8"))
    return found


@cache
def _read() -> dict[str, Case]:
    return {d["name"]: Case.from_definition(d) for d in _whole()["cases"]}


_NUMBERS = ("x", "y", "z", "vx", "vy", "vz", "qw", "qx", "qy", "qz", "wx", "wy", "wz")


def pairs() -> list[Pair]:
    """Every case of two bodies."""
    return [Pair.from_definition(d) for d in _whole()["pairs"]]


def all_cases(group: str | None = None) -> list[Case]:
    """Every case, or those of a group: one of `GROUPS`."""
    if group is not None and group not in GROUPS:
        raise ValueError(f"there is no group {group!r} of cases: choose one of {', '.join(GROUPS)}")
    return [c for c in _read().values() if group in (None, c.group)]


def _everything() -> list[Case | Pair]:
    return [*all_cases(), *pairs()]


def case(name: str) -> Case:
    """The case of this name."""
    if name not in _read():
        raise ValueError(f"there is no case {name!r}: `polhode cases` lists them")
    return _read()[name]


def checksum() -> str:
    """The checksum of the cases as they are: that of the file if nobody changed it."""
    made = [*_whole()["cases"], *_whole()["pairs"]]
    return hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()


def write(folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
    """Writes all cases to a directory: `cases.json`, its schema, README.md, and a table of rows for each."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    files: dict[str, Callable[[], str]] = {
        "README.md": _readme,
        "cases.json": lambda: FILE.read_text("utf-8"),
        "schema.json": lambda: json.dumps(SCHEMA, indent=2) + "\n",
        **{f"{c.name}.csv": c.csv for c in _everything()},
    }
    for name, text in files.items():
        with whole_file(place / name, overwrite=overwrite) as out:
            out.write(text().encode())
    return [place / name for name in files]


def _readme() -> str:
    listed = [
        f"| {c.name} | {c.about} | {c.t[-1]:g} | {c.tolerance[0]:g} | {c.tolerance[1]:g} |" for c in _everything()
    ]
    head = ["| case | what moves | s | attitude, rad | rate |", "| -- | -- | -- | -- | -- |"]
    title = f"# Check cases of rotation, version {VERSION}\n\n{len(listed)} motions, sha256 {checksum()}.\n"
    return "\n".join([title, CONVENTIONS, *head, *listed]) + "\n"


def _row(n: int, of: str = "string") -> dict[str, Any]:
    return {"type": "array", "items": {"type": of}, "minItems": n, "maxItems": n}


_STATES: Sequence[str] = ("quaternion", "rate")
_OF_PAIRS: Sequence[str] = (
    "name", "about", "bodies", "springs", "position", "velocity", "attitude", "omega", "t", "states", "tolerance",
)  # fmt: skip
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Check cases of rotation",
    "description": CONVENTIONS,
    "type": "object",
    "required": ["version", "sha256", "cases", "pairs"],
    "properties": {
        "version": {"type": "string"},
        "sha256": {"type": "string", "description": "of the cases and pairs in one list, as JSON with sorted keys"},
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
        "pairs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": _OF_PAIRS,
                "properties": {name: {} for name in _OF_PAIRS} | {
                    "bodies": {"type": "array", "description": "the moments (3) and the mass of each"},
                    "springs": {"type": "array", "description": "numbers of the bodies, points, stiffness, length"},
                    "states": {"type": "array", "items": {"type": "array", "items": _row(13), "minItems": 2}},
                    "tolerance": {"type": "object", "description": "of attitude (rad), rate and position (relative)"},
                },
            },
        },
    },
}  # fmt: skip
"""The schema of `cases.json`, after JSON Schema."""
