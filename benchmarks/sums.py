"""What a sum of torques costs, beside the same arithmetic in one function: `python -m benchmarks.sums`."""

from collections.abc import Callable
from typing import Any

import numpy as np

import polhode as ph
from benchmarks.harness import interleave
from polhode.kernels.algebra.quat import upright_to_body
from polhode.kernels.algebra.vec import cross
from polhode.torques import Torque
from polhode.torques.gravity_gradient import upright_gradient_torque

BODY = ph.Body([1.0, 2.0, 2.5])
GRADIENT, TOP = ph.GravityGradient(0.5), ph.HeavyTop(1.0)
FIXED = GRADIENT.parameters(BODY)
ALWAYS = (-1.0, 1e9)
"""A window within which every run lies: the torque is on, and is asked whether it is."""


@ph.torque(parameters=[0.03, 0.02, 0.01])
def control(t: float, q: Any, w: Any, p: Any) -> Any:
    """A rate controller."""
    return (-p[0] * w[0], -p[1] * w[1], -p[2] * w[2])


@ph.torque(parameters=[*FIXED, 0.03, 0.02, 0.01])
def gradient_and_control(t: float, q: Any, w: Any, p: Any) -> Any:
    """`GRADIENT + control` by hand."""
    n = upright_gradient_torque(t, q, w, p)
    return (n[0] - p[9] * w[0], n[1] - p[10] * w[1], n[2] - p[11] * w[2])


@ph.torque(parameters=[*FIXED, *TOP.parameters(BODY)], depends="attitude")
def gradient_and_top(t: float, q: Any, w: Any, p: Any) -> Any:
    """`GRADIENT + TOP` by hand."""
    n, m = upright_gradient_torque(t, q, w, p), cross((p[9], p[10], p[11]), upright_to_body(q, p[14]))
    return (n[0] + m[0], n[1] + m[1], n[2] + m[2])


@ph.torque(parameters=[*FIXED, *TOP.parameters(BODY), 0.5], depends=["attitude", "time"], breakpoints=ALWAYS)
def half_gradient_and_top(t: float, q: Any, w: Any, p: Any) -> Any:
    """`0.5 * GRADIENT + TOP.during(*ALWAYS)` by hand, without the question whether it is on."""
    n, m = upright_gradient_torque(t, q, w, p), cross((p[9], p[10], p[11]), upright_to_body(q, p[14]))
    return (p[15] * n[0] + m[0], p[15] * n[1] + m[1], p[15] * n[2] + m[2])


PAIRS: dict[str, tuple[Torque, Torque]] = {
    "gradient + control": (gradient_and_control, GRADIENT + control),
    "gradient + top": (gradient_and_top, GRADIENT + TOP),
    "half the gradient + top.during": (half_gradient_and_top, 0.5 * GRADIENT + TOP.during(*ALWAYS)),
}
"""A function written by hand, and the sum that does the same."""


def one(torque: Torque, method: str, steps: int) -> Callable[[], object]:
    """Returns a run of one body."""
    return lambda: ph.simulate(
        BODY, torque, omega=[1.0, 2.0, 0.3], t_span=(0.0, 0.01 * steps), step=0.01, method=method, every=steps
    )


def many(torque: Torque, method: str, steps: int) -> Callable[[], object]:
    """Returns a run of 256 bodies on one core."""
    rates = np.random.default_rng(0).normal(size=(256, 3))
    return lambda: ph.ensemble(
        BODY, torque, omega=rates, t_span=(0.0, 0.01 * steps), step=0.01, method=method, threads=1
    )


def main() -> None:
    """Prints the ratios."""
    for name, (by_hand, total) in PAIRS.items():
        splits = by_hand is not gradient_and_control
        for method, steps in (("Strang" if splits else "RK4", 600_000), ("G8", 150_000)):
            _show(f"{method}, one body", name, one(by_hand, method, steps), one(total, method, steps))
        method = "Strang" if splits else "RK4"
        _show(f"{method}, 256 bodies", name, many(by_hand, method, 10_000), many(total, method, 10_000))


def _show(how: str, name: str, by_hand: Callable[[], object], total: Callable[[], object]) -> None:
    _, timing = interleave({"by hand": by_hand, "sum": total})
    print(f"{name:32} {how:20} sum over by hand {timing.ratio:.3f} (of the quickest rounds {timing.ratio_of_best:.3f})")


if __name__ == "__main__":
    main()
