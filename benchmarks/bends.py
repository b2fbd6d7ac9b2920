"""Evaluations and errors of DOP853 under torques that bend, with and without location: `python -m benchmarks.bends`.

The numbers of docs/decisions/0014-bends.md. SciPy's DOP853 is asked too, if it is there.
"""

import math
import sys
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import polhode as ph
from polhode.methods import find
from polhode.solution import Solution
from polhode.torques import CustomTorque

BODY = ph.Body([1.0, 1.2, 1.5])
START = np.array([0.6, 0.4, -0.5, 0.3]) / math.sqrt(0.86)
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13)


@ph.torque(parameters=[3.0, 5.5])
def thruster(t: float, q: Any, w: Any, p: Any) -> Any:
    """Is on for a while."""
    return (0.1, 0.0, 0.02) if p[0] < t < p[1] else (0.0, 0.0, 0.0)


@ph.torque(parameters=[1e-2])
def sunlight(t: float, q: Any, w: Any, p: Any) -> Any:
    """Acts on a facet that is turned to the sun."""
    s = ph.to_body(q, (1.0, 0.0, 0.0))
    light = p[0] * max(s[0], 0.0)
    return (0.3 * light, light * s[2], (0.2 - s[1]) * light)


@ph.torque(parameters=[0.5, 0.8, 0.05])
def saturated(t: float, q: Any, w: Any, p: Any) -> Any:
    """Controls the attitude, with wheels that give no more than p[2]."""
    a = -2.0 * p[0] * q[0] * q[1] - p[1] * w[0]
    b = -2.0 * p[0] * q[0] * q[2] - p[1] * w[1]
    c = -2.0 * p[0] * q[0] * q[3] - p[1] * w[2]
    m = p[2]
    return (min(max(a, -m), m), min(max(b, -m), m), min(max(c, -m), m))


def band(x: float, width: float) -> float:
    """Returns what is beyond a dead band."""
    return 0.0 if abs(x) < width else x - math.copysign(width, x)


@ph.torque(parameters=[0.2, 0.1])
def dead_band(t: float, q: Any, w: Any, p: Any) -> Any:
    """Does nothing near the wanted attitude."""
    return (-p[0] * band(q[1], p[1]), -p[0] * band(q[2], p[1]), -p[0] * band(q[3], p[1]))


@ph.torque
def table(t: float, q: Any, w: Any, p: Any) -> Any:
    """Has five pieces."""
    if t < 1.0:
        u = 0.1 * t
    elif t < 2.5:
        u = 0.1
    elif t < 4.0:
        u = 0.1 - 0.05 * (t - 2.5)
    elif t < 7.0:
        u = -0.2
    else:
        u = 0.0
    return (u, 0.3 * u, 0.0)


@ph.torque(parameters=[2.0])
def pulses(t: float, q: Any, w: Any, p: Any) -> Any:
    """Is on at the beginning of every period."""
    return (0.05 if t % p[0] < 0.7 else 0.0, 0.0, 0.01)


@ph.torque(parameters=[0.02])
def friction(t: float, q: Any, w: Any, p: Any) -> Any:
    """Holds the rate at a jump once it is zero."""
    return (-p[0] * np.sign(w[0]), -p[0] * np.sign(w[1]), -p[0] * np.sign(w[2]))


class Case(NamedTuple):
    """A motion to be computed."""

    name: str
    torque: CustomTorque
    t_end: float
    omega: tuple[float, float, float] = (0.3, 1.0, 0.2)


def cases() -> list[Case]:
    """Returns all of them; sunlight has a strength relative to twice the kinetic energy."""
    calm = (0.3, 0.2, 1.0)
    energy = float(np.dot(BODY.moments, np.square((0.3, 1.0, 0.2))))
    suns = [Case(f"sunlight {s:g}", sunlight.with_parameters([s * energy]), 100.0, calm) for s in (1e-2, 1e-4, 1e-6)]
    return [
        Case("thruster", thruster, 10.0), *suns, Case("saturated", saturated, 60.0),
        Case("dead band", dead_band, 60.0, (0.1, 0.2, 0.05)), Case("table", table, 10.0), Case("pulses", pulses, 30.0),
    ]  # fmt: skip


def run(case: Case, rtol: float, *, locate: bool) -> Solution:
    """Runs DOP853 to the end of a case."""
    method = replace(find(f"DOP853(rtol={rtol!r})"), locates_bends=locate)
    span = (0.0, case.t_end)
    return ph.simulate(
        BODY, case.torque, omega=case.omega, attitude=START, t_span=span, method=method, step=case.t_end,
        t_eval=[case.t_end],
    )  # fmt: skip


def scipy_run(case: Case, rtol: float) -> tuple[Any, Any, int]:
    """Runs SciPy's DOP853; returns quaternion, rate and evaluations."""
    from scipy.integrate import solve_ivp

    p, moments = np.array(case.torque.values), BODY.moments

    def slope(t: float, y: Any) -> Any:
        q, w = y[:4], y[4:]
        n = np.array(case.torque(t, tuple(q), tuple(w), p), float)
        dq = [-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))]
        return np.concatenate([0.5 * np.array(dq), (np.cross(moments * w, w) + n) / moments])

    start = np.concatenate([START, case.omega])
    found = solve_ivp(slope, (0.0, case.t_end), start, method="DOP853", rtol=max(rtol, 3e-14), atol=0.1 * rtol)
    return found.y[:4, -1], found.y[4:, -1], int(found.nfev)


def error(q: Any, w: Any, truth: Solution) -> float:
    """Returns the error of the attitude in radians or of the rate relative to its size, whichever is larger."""
    q = q / np.linalg.norm(q)
    angle = 2.0 * min(np.linalg.norm(q - truth.quaternion[-1]), np.linalg.norm(q + truth.quaternion[-1]))
    size = np.linalg.norm(truth.omega[-1])
    return float(max(angle, np.linalg.norm(w - truth.omega[-1]) / (size if size > 1e-3 else 1.0)))


def main() -> None:
    """Prints evaluations and errors of all cases, and evaluations of a motion that is held at a jump."""
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:]
    for case in cases():
        if wanted and case.name not in wanted:
            continue
        truth = run(case, 1e-15, locate=True)
        print(case.name)
        for rtol in TOLERANCES:
            line = f"  {rtol:.0e}"
            for locate in (False, True):
                s = run(case, rtol, locate=locate)
                found = error(s.quaternion[-1], s.omega[-1], truth)
                line += f"   {'located' if locate else 'plain'} {s.nfev:6} {found:.1e}"
            if rtol > 1e-13:
                q, w, count = scipy_run(case, rtol)
                line += f"   SciPy {count:6} {error(q, w, truth):.1e}"
            print(line, flush=True)
    if not wanted or "friction" in wanted:
        held = Case("friction", friction, 14.0)
        for rtol in (1e-3, 1e-4, 1e-6):
            counts = [run(held, rtol, locate=locate).nfev for locate in (False, True)]
            print(f"friction {rtol:.0e}   plain {counts[0]}   located {counts[1]}", flush=True)


if __name__ == "__main__":
    main()
