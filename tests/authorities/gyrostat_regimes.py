"""Random free gyrostats with the rotor on a principal axis, regime by regime, and how far `FreeMotion` is off.

`python -m tests.authorities.gyrostat_regimes` measures thousands for the table in docs/understand/free_motion.md.
"""

import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

import polhode as ph
from tests.authorities.gyrostat import Gyrostat

EPSILON = 2.0**-52
TABLE = Path(__file__).parents[2] / "docs" / "understand" / "free_motion.md"
BEGIN, END = "<!-- accuracy of gyrostats -->", "<!-- end of accuracy of gyrostats -->"
STEP = 1e-7
"""The relative change of an input that sensitivities are measured with."""
Floats = NDArray[np.float64]
Draw = np.random.Generator


class GyrostatCase(NamedTuple):
    """A motion, and the time at which it is looked at. The rotor's axis is the third until `shuffled`."""

    inertia: Floats
    omega: Floats
    rotor: Floats
    t: float

    def motion(self) -> ph.FreeMotion:
        body = ph.Body(self.inertia, rotor=self.rotor, allow_unphysical=True)
        return ph.FreeMotion(body, self.omega)


def _body(draw: Draw) -> Floats:
    x, y, z = draw.uniform(0.02, 1.0, 3)
    return np.array([y + z, x + z, x + y])


def _power(draw: Draw, low: float, high: float) -> float:
    """A number of random sign, whose logarithm is even."""
    return float(draw.choice([-1.0, 1.0]) * 10.0 ** draw.uniform(low, high))


def generic(draw: Draw) -> Any:
    return _body(draw), draw.normal(size=3), draw.normal()


def small_rotor(draw: Draw) -> Any:
    return _body(draw), draw.normal(size=3), _power(draw, -14, -2)


def large_rotor(draw: Draw) -> Any:
    return _body(draw), draw.normal(size=3), _power(draw, 0.5, 2.5)


def symmetric(draw: Draw) -> Any:
    inertia = _body(draw)
    inertia[0] = inertia[1]
    return inertia, draw.normal(size=3), draw.normal()


def nearly_symmetric(draw: Draw) -> Any:
    inertia = _body(draw)
    inertia[0] = inertia[1] * (1.0 + _power(draw, -15, -3))
    return inertia, draw.normal(size=3), draw.normal()


def symmetric_across(draw: Draw) -> Any:
    """Symmetric about another axis than the rotor's, or nearly so."""
    inertia = _body(draw)
    inertia[0] = inertia[2] * (1.0 + draw.integers(2) * _power(draw, -15, -3))
    return inertia, draw.normal(size=3), draw.normal()


def sphere(draw: Draw) -> Any:
    return np.full(3, draw.uniform(0.2, 1.0)), draw.normal(size=3), draw.normal()


def nearly_sphere(draw: Draw) -> Any:
    inertia = draw.uniform(0.2, 1.0) * (1.0 + draw.normal(size=3) * 10.0 ** draw.uniform(-15, -3))
    return inertia, draw.normal(size=3), _power(draw, -3, 0)


def near_rotor_axis(draw: Draw) -> Any:
    """A rotation about the rotor's axis with a small wobble, often stable."""
    across = draw.normal(size=2) * 10.0 ** draw.uniform(-14, -2)
    return _body(draw), np.array([*across, draw.uniform(0.5, 1.0) * draw.choice([-1.0, 1.0])]), draw.normal()


def leaving_rotor_axis(draw: Draw) -> Any:
    """A weak rotor on the intermediate axis, about which the body turns at first: near the separatrix."""
    inertia, (_, omega, _) = np.sort(_body(draw))[[0, 2, 1]], near_rotor_axis(draw)
    return inertia, omega, 0.3 * _power(draw, -6, -1)


def near_other_equilibrium(draw: Draw) -> Any:
    """Near a permanent rotation about an axis in a plane with the rotor's: stable or not."""
    inertia, omega, k = _body(draw), draw.normal(size=3), int(draw.integers(2))
    omega[k] *= 10.0 ** draw.uniform(-12, -3)
    rotor = -(inertia[2] - inertia[1 - k]) * omega[2]
    return inertia, omega, rotor * (1.0 + _power(draw, -15, -3))


def trigonometric(draw: Draw) -> Any:
    """With nearly the energy of a rotation about an end of the rotor's axis: two roots of the quartic almost meet."""
    while True:
        inertia, omega, rotor = _body(draw), draw.normal(size=3), float(draw.normal())
        grid = np.linspace(0.01, 8.0, 60)
        for sign in (1.0, -1.0):
            arguments = (inertia, omega, rotor, sign)
            values = [_excess(x, *arguments) for x in grid]
            for a, b, u, v in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True):
                if u * v < 0.0:
                    omega[0] *= brentq(_excess, a, b, arguments, xtol=1e-16) * (1.0 + _power(draw, -17, -3))
                    return inertia, omega, rotor


def _excess(x: float, inertia: Floats, omega: Floats, rotor: float, sign: float) -> float:
    """By how much the energy exceeds that at an end of the axis, with the first rate multiplied by x."""
    w = omega * np.array([x, 1.0, 1.0])
    m = inertia * w + np.array([0.0, 0.0, rotor])
    return float(w @ (inertia * w) - (math.sqrt(m @ m) + sign * rotor) ** 2 / inertia[2])


def unphysical(draw: Draw) -> Any:
    """Moments far apart."""
    return 10.0 ** draw.uniform(-2, 0, 3), draw.normal(size=3), draw.normal() * 0.3


_DRAWN = [generic, small_rotor, large_rotor, symmetric, nearly_symmetric, symmetric_across, sphere, nearly_sphere]
_DRAWN += [near_rotor_axis, leaving_rotor_axis, near_other_equilibrium, trigonometric, unphysical]
REGIMES: dict[str, Callable[[Draw], Any]] = {f.__name__.replace("_", " "): f for f in _DRAWN}


def cases(regime: str, count: int, seed: int = 0, longest: float = 1.5) -> list[GyrostatCase]:
    """Motions of a regime with their axes in any order, at times up to 10**longest radians from the start."""
    draw = np.random.default_rng([seed, list(REGIMES).index(regime)])
    out = []
    for _ in range(count):
        inertia, omega, rotor = REGIMES[regime](draw)
        speed = max(np.abs(omega).max(), abs(rotor) / inertia.max())
        order = draw.permutation(3)
        turned = np.array([0.0, 0.0, rotor])[order]
        out.append(GyrostatCase(inertia[order], omega[order], turned, _power(draw, -1, longest) / speed))
    return out


def error(case: GyrostatCase, motion: ph.FreeMotion, digits: int = 40) -> float:
    """The greatest error: of the attitude in radians, nearly, and of the rate over the largest one."""
    true = Gyrostat(case.inertia.tolist(), case.omega.tolist(), case.rotor.tolist(), digits).advance(case.t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = motion.at(case.t)
    q, w = np.array([float(x) for x in true.q]), np.array([float(x) for x in true.omega])
    return _difference(state.quaternion, state.omega, q, w)


def sensitivity(case: GyrostatCase, step: float = STEP) -> float:
    """The change of the state per relative change of an input, the largest; from `FreeMotion` itself."""
    base, worst = case.motion().at(case.t), 0.0
    given = np.array([*case.inertia, *case.omega, *case.rotor, case.t])
    for i in range(10):
        x = given.copy()
        x[i] *= 1.0 + step
        if x[i] != given[i]:
            changed = GyrostatCase(x[:3], x[3:6], x[6:9], float(x[9]))
            state = changed.motion().at(changed.t)
            worst = max(worst, _difference(state.quaternion, state.omega, base.quaternion, base.omega) / step)
    return worst


def _difference(q: Floats, w: Floats, q0: Floats, w0: Floats) -> float:
    apart = min(float(np.linalg.norm(q - q0)), float(np.linalg.norm(q + q0)))
    return max(2.0 * apart, float(np.abs(w - w0).max()) / (float(np.abs(w0).max()) or 1.0))


def measured(regime: str, count: int, seed: int = 0) -> list[tuple[float, float]]:
    """The error of each case in units of eps, alone and over 1 + sensitivity."""
    out = []
    for case in cases(regime, count, seed):
        e = error(case, case.motion()) / EPSILON
        out.append((e, e / (1.0 + sensitivity(case))))
    return out


def main(count: int) -> None:
    """Measures all regimes and writes the table."""
    lines = ["| regime | problems | median | worst | worst in eps alone |", "|---|---|---|---|---|"]
    for regime in REGIMES:
        e = np.array(measured(regime, count, seed=1))
        lines.append(f"| {regime} | {count} | {np.median(e[:, 1]):.2f} | {e[:, 1].max():.2f} | {e[:, 0].max():.1f} |")
        print(lines[-1], flush=True)
    text = TABLE.read_text()
    first, last = text.index(BEGIN) + len(BEGIN), text.index(END)
    TABLE.write_text(text[:first] + "\n" + "\n".join(lines) + "\n" + text[last:])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
