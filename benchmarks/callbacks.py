"""What it costs to call other people's code: `python -m benchmarks.callbacks [calls] [evaluations] [scipy]`.

- calls: nanoseconds an evaluation, of a function that is compiled, called in Python, or called in C.
- evaluations: how many a tolerance takes, where it counts that they are dear and where it does not.
- scipy: beside `solve_ivp` with the same Python function, at equal error.
"""

import ctypes
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.integrate import solve_ivp

import polhode as ph
from benchmarks.harness import interleave, rounds_of
from polhode.solution import Solution
from polhode.torques import CustomTorque

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
ATTITUDE = (0.8, 0.6, 0.0, 0.0)
OUTPUTS = 11
LEAST_ERROR = 3e-12
"""What is known of the truth: SciPy is not asked for more."""


def gradient(t: float, q: Any, w: Any, p: Any) -> Any:
    """Gravity gradient of a body with the moments 10, 12 and 14."""
    n = ph.to_body(q, (0.0, 0.0, 1.0))
    return (2.0 * p[0] * n[1] * n[2], -4.0 * p[0] * n[2] * n[0], 2.0 * p[0] * n[0] * n[1])


def top(t: float, q: Any, w: Any, p: Any) -> Any:
    """A weight on the third axis."""
    n = ph.to_body(q, (0.0, 0.0, 1.0))
    return (p[0] * n[1], -p[0] * n[0], 0.0)


def wobble(t: float, q: Any, w: Any, p: Any) -> Any:
    """A thrust that varies in time."""
    return (p[0] * math.cos(0.7 * t), 0.5 * p[0] * math.sin(0.9 * t), 0.2 * p[0])


def control(t: float, q: Any, w: Any, p: Any) -> Any:
    """Turns the third axis up, and brakes."""
    up = ph.to_body(q, (0.0, 0.0, 1.0))
    return (-p[0] * up[1] - p[1] * w[0], p[0] * up[0] - p[1] * w[1], -p[1] * w[2])


def detumbling(t: float, q: Any, w: Any, p: Any) -> Any:
    """Magnetic coils against the rate, in a field that turns."""
    b = ph.to_body(q, (0.0, math.sin(0.3 * t), math.cos(0.3 * t)))
    d = (w[2] * b[1] - w[1] * b[2], w[0] * b[2] - w[2] * b[0], w[1] * b[0] - w[0] * b[1])
    return (p[0] * (d[1] * b[2] - d[2] * b[1]), p[0] * (d[2] * b[0] - d[0] * b[2]), p[0] * (d[0] * b[1] - d[1] * b[0]))


def dipole(t: float, q: Any, w: Any, p: Any) -> Any:
    """A magnetic moment in a field that turns."""
    b = ph.to_body(q, (math.cos(0.5 * t), math.sin(0.5 * t), 0.2))
    return (p[0] * (0.3 * b[2] - 0.5 * b[1]), p[0] * (0.5 * b[0] - b[2]), p[0] * (b[1] - 0.3 * b[0]))


class Case(NamedTuple):
    """A problem of this benchmark."""

    moments: tuple[float, float, float]
    function: Callable[..., Any]
    parameters: tuple[float, ...]
    omega: tuple[float, float, float]
    end: float

    @property
    def times(self) -> Any:
        return np.linspace(0.0, self.end, OUTPUTS)

    def simulate(self, torque: CustomTorque, **how: Any) -> Solution:
        return ph.simulate(
            ph.Body(self.moments), torque, omega=self.omega, attitude=ATTITUDE, t_span=(0.0, self.end),
            t_eval=self.times, **how,
        )  # fmt: skip

    def called(self) -> CustomTorque:
        return ph.torque(compiled=False, parameters=self.parameters)(self.function)

    def truth(self) -> Solution:
        exact = ph.torque(self.function, parameters=self.parameters)
        return self.simulate(exact, rtol=1e-12, method="G8(compensated=true)")


SOME = (0.3, 1.2, 0.5)
CASES = {
    "gravity gradient": Case((10.0, 12.0, 14.0), gradient, (0.05,), (0.02, 0.05, 0.3), 300.0),
    "fast top": Case((1.0, 1.0, 0.5), top, (1.5,), (0.1, 0.2, 20.0), 20.0),
    "slow asymmetric top": Case((2.0, 3.0, 4.0), top, (4.0,), (0.3, 0.2, 1.0), 30.0),
    "wobbling thrust": Case((2.0, 3.0, 4.0), wobble, (0.01,), SOME, 100.0),
    "attitude control": Case((2.0, 3.0, 4.0), control, (0.4, 0.1), (0.3, 0.2, 0.5), 30.0),
    "detumbling": Case((2.0, 3.0, 4.0), detumbling, (0.02,), SOME, 200.0),
    "dipole": Case((2.0, 3.0, 4.0), dipole, (0.3,), SOME, 60.0),
    "weak dipole": Case((2.0, 3.0, 4.0), dipole, (0.003,), SOME, 200.0),
}


# --- calls -----------------------------------------------------------------------------------------------------------


def swing(t: float, q: Any, w: Any, p: Any) -> Any:
    """A function that takes next to no time."""
    return (0.1 * w[0], 0.2 * t, 0.3)


def swing_with(t: float, q: Any, w: Any, p: Any) -> Any:
    """The same with parameters."""
    return (p[0] * w[0], p[1] * t, 0.3)


SOURCE = """
void swing(double t, const double *q, const double *w, const double *p, double *torque) {
    torque[0] = 0.1 * w[0]; torque[1] = 0.2 * t; torque[2] = 0.3;
}
"""


def of_c() -> CustomTorque | None:
    """Returns the same in C, if there is a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "swing.c").write_text(SOURCE, "utf-8")
        made = Path(folder) / "swing.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", made, Path(folder) / "swing.c"], check=True)
        return ph.torque_from_pointer(ctypes.CDLL(str(made)).swing)


def calls() -> None:
    """Prints nanoseconds an evaluation."""
    steps = 25_000
    torques = {
        "compiled": ph.torque(swing),
        "Python": ph.torque(swing, compiled=False),
        "Python, 2 parameters": ph.torque(swing_with, compiled=False, parameters=[0.1, 0.2]),
        "C": of_c(),
    }

    def run(torque: CustomTorque) -> Callable[[], object]:
        return lambda: ph.simulate(
            ph.Body([2.0, 3.0, 4.0]), torque, omega=[1.0, 2.0, 3.0], t_span=(0.0, 1e-3 * steps), step=1e-3,
            method="RK4", every=steps,
        )  # fmt: skip

    def bare() -> None:
        p = np.zeros(0)
        for k in range(4 * steps):
            swing(float(k), (1.0, 0.0, 0.0, 0.0), (1.0, 2.0, 3.0), p)

    rows = interleave({**{name: run(t) for name, t in torques.items() if t is not None}, "Python loop": bare})
    compiled = rows[0].best
    for row in rows:
        each, more = row.best / (4 * steps) * 1e9, (row.best - compiled) / (4 * steps) * 1e9
        print(f"{row.name:22} {each:7.1f} ns an evaluation, {more:7.1f} more than compiled (best of 11 rounds)")


# --- evaluations -----------------------------------------------------------------------------------------------------


def evaluations() -> None:
    """Prints how many evaluations tolerances take."""
    ratios = []
    for name, case in CASES.items():
        truth, torque = case.truth(), case.called()
        for rtol in TOLERANCES:
            after = case.simulate(torque, rtol=rtol)
            with patch("polhode.accuracy.character.evaluation_cost", return_value=0.0):
                before = case.simulate(torque, rtol=rtol)
            ratios.append(before.nfev / after.nfev)
            print(
                f"{name:20} {rtol:.0e}  {before.plan.method.bare_name:14} {before.nfev:6} -> "
                f"{after.plan.method.bare_name:14} {after.nfev:6}  ratio {ratios[-1]:5.2f}  "
                f"error over estimate {error(after, truth) / (after.error_estimate or math.nan):.2g}"
            )
    print(f"geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}, most {max(ratios):.2f}")


def error(found: Solution, truth: Solution) -> float:
    """Returns the error as `rtol` means it."""
    return _error(found.quaternion, found.omega, truth)


def _error(quaternion: Any, omega: Any, truth: Solution) -> float:
    quaternion = quaternion / np.linalg.norm(quaternion, axis=1)[:, None]
    apart = np.minimum(
        np.linalg.norm(quaternion - truth.quaternion, axis=1), np.linalg.norm(quaternion + truth.quaternion, axis=1)
    )
    rate = np.linalg.norm(omega - truth.omega, axis=1).max() / np.linalg.norm(truth.omega, axis=1).max()
    return float(max(2.0 * apart.max(), rate))


# --- beside SciPy ----------------------------------------------------------------------------------------------------


def by_scipy(case: Case, rtol: float) -> tuple[Any, int]:
    """Returns the rows of `solve_ivp`, by order 8, and its evaluations."""
    a, b, c = case.moments
    function, p = case.function, np.array(case.parameters)

    def slope(t: float, y: Any) -> Any:
        q0, q1, q2, q3, x, y_, z = y.tolist()
        n = function(t, (q0, q1, q2, q3), (x, y_, z), p)
        return (
            0.5 * (-q1 * x - q2 * y_ - q3 * z), 0.5 * (q0 * x + q2 * z - q3 * y_),
            0.5 * (q0 * y_ - q1 * z + q3 * x), 0.5 * (q0 * z + q1 * y_ - q2 * x),
            (n[0] + (b - c) * y_ * z) / a, (n[1] + (c - a) * z * x) / b, (n[2] + (a - b) * x * y_) / c,
        )  # fmt: skip

    found = solve_ivp(
        slope, (0.0, case.end), [*ATTITUDE, *case.omega], method="DOP853", t_eval=case.times, rtol=rtol, atol=rtol
    )
    return found.y.T, int(found.nfev)


def scipy() -> None:
    """Prints times and evaluations beside SciPy's, at equal error.

    SciPy is given the widest tolerance of its own with which its error is not larger than polhode's, in hindsight, to
    the next factor of sqrt(10). Polhode is given the tolerance, for which it makes more than one run; and then the
    method and step that it found, in hindsight as well.
    """
    gains, alone_gains = [], []
    for name, case in CASES.items():
        truth, torque = case.truth(), case.called()
        for rtol in TOLERANCES:
            found = case.simulate(torque, rtol=rtol)
            plan: dict[str, Any] = {"method": found.plan.method, "step": found.plan.step}
            reached, own = max(error(found, truth), LEAST_ERROR), 10.0 * rtol
            while _error((rows := by_scipy(case, own)[0])[:, :4], rows[:, 4:], truth) > reached and own > 1e-13:
                own /= math.sqrt(10.0)
            candidates: dict[str, Callable[[], object]] = {
                "SciPy": partial(by_scipy, case, own),
                "rtol": partial(case.simulate, torque, rtol=rtol),
                "step": partial(case.simulate, torque, **plan),
            }
            times = {k: statistics.median(v) for k, v in rounds_of(candidates, 5, time.perf_counter).items()}
            gains.append(times["SciPy"] / times["rtol"])
            alone_gains.append(times["SciPy"] / times["step"])
            print(
                f"{name:20} {rtol:.0e}  SciPy {1e3 * times['SciPy']:7.1f} ms, {by_scipy(case, own)[1]:6} evaluations; "
                f"{found.plan.method.bare_name:14} {1e3 * times['rtol']:6.1f} ms, {found.nfev:6}; {gains[-1]:5.1f} "
                f"times, with its step alone {alone_gains[-1]:5.1f}; error {reached:.0e}"
            )
    print(
        f"geometric means: {statistics.geometric_mean(gains):.1f} times, with steps alone "
        f"{statistics.geometric_mean(alone_gains):.1f}; least {min(gains):.1f} and {min(alone_gains):.1f}"
    )


def main(parts: list[str]) -> None:
    """Prints some parts, or all of them."""
    for part in (calls, evaluations, scipy):
        if not parts or part.__name__ in parts:
            part()


if __name__ == "__main__":
    main(sys.argv[1:])
