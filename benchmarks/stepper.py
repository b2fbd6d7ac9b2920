"""What a call of a stepper costs, beside `resume`, `simulate` and SciPy's RK45: `python -m benchmarks.stepper`.

All candidates make one step of the same motion in a call, in turn in one process. Of 10,000 bodies, a call is compared
with the same steps inside one call of `ensemble`; there the time of the processor is measured, because they are on one
core.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import RK45

import polhode as ph
from benchmarks.harness import interleave, table

BODY = ph.Body([1.0, 2.0, 2.5])
TOP = ph.HeavyTop(0.1)
OMEGA = [0.3, 0.5, 1.0]
H = 1e-3
CALLS = 400
"""Calls of a candidate in a round."""
BODIES = 10_000
FEW = 20
"""Calls in a round with many bodies."""


def repeated(call: Callable[[], object], count: int = CALLS) -> Callable[[], None]:
    """Returns a round of calls."""

    def run() -> None:
        for _ in range(count):
            call()

    return run


def stepper(torque: Any = None, **given: Any) -> ph.Stepper:
    """Returns a stepper of one body."""
    return ph.Stepper(BODY, torque, omega=OMEGA, step=H, **given)


def resumed() -> Callable[[], object]:
    """Returns a call that goes on by a step from what a run of two steps left."""
    first = ph.simulate(BODY, TOP, omega=OMEGA, t_span=(0.0, 2 * H), step=H, method="Strang")
    return lambda: ph.resume(first, 3 * H)


def simulated() -> Callable[[], object]:
    """Returns a call that runs one step."""
    return lambda: ph.simulate(BODY, TOP, omega=OMEGA, t_span=(0.0, H), step=H, method="Strang", every=1)


def scipys() -> Callable[[], object]:
    """Returns a call of SciPy's stepper for the same top, with a quick right side in plain Python."""
    a, b, c = BODY.moments.tolist()
    weight = 0.1

    def right_side(t: float, y: Any) -> Any:
        q0, q1, q2, q3, x, y1, z = y.tolist()
        # Gravity along the third axis of space, at a point on the third axis of the body.
        up1, up2 = 2.0 * (q1 * q3 - q0 * q2), 2.0 * (q2 * q3 + q0 * q1)
        return [
            0.5 * (-q1 * x - q2 * y1 - q3 * z), 0.5 * (q0 * x + q2 * z - q3 * y1),
            0.5 * (q0 * y1 + q3 * x - q1 * z), 0.5 * (q0 * z + q1 * y1 - q2 * x),
            ((b - c) * y1 * z + weight * up2) / a, ((c - a) * z * x - weight * up1) / b, (a - b) * x * y1 / c,
        ]  # fmt: skip

    solver = RK45(right_side, 0.0, np.array([1.0, 0.0, 0.0, 0.0, *OMEGA]), 1e9, max_step=H, rtol=1e-6)
    return solver.step


def alternating(call: Callable[[float], object]) -> Callable[[], object]:
    """Returns a call with a number that changes its sign each time, so that nothing builds up."""
    sign = [1.0]

    def run() -> object:
        sign[0] = -sign[0]
        return call(sign[0])

    return run


def kick_and_drift(s: ph.Stepper, torque: Any) -> None:
    """Makes a step of a splitting of one's own."""
    s.kick(torque, H)
    s.drift(H)


def step_and_read(s: ph.Stepper) -> tuple[Any, ...]:
    """Makes a step and reads what a controller reads."""
    s.step()
    return s.t, s.quaternion, s.omega


def one_body() -> str:
    """Returns the table of one body."""
    plain, held, quick, given, moved, rows = (stepper(TOP) for _ in range(6))
    rk4 = stepper(TOP, method="RK4")
    vector = np.array([1e-3, 2e-3, 1e-3])
    candidates = {
        "Stepper.step()": plain.step,
        "  of RK4": rk4.step,
        "  torque=(x, y, z), each time another": alternating(lambda s: held.step(torque=(1e-3 * s, 2e-3, 1e-3))),
        "  torque=array, each time another": alternating(lambda s: quick.step(torque=s * vector)),
        "  torque=function": lambda: given.step(torque=lambda t, q, w: (-1e-3 * w[0], 0.0, 0.0)),
        "  and reading t, quaternion, omega": lambda: step_and_read(rows),
        "kick and drift": alternating(lambda s: kick_and_drift(moved, (1e-3 * s, 0.0, 0.0))),
        "SciPy RK45.step()": scipys(),
        "simulate, one step": simulated(),
        "resume, one step": resumed(),
    }
    timings = interleave({name: repeated(call) for name, call in candidates.items()})
    return table("one body, a call with one step of Strang under HeavyTop", timings, CALLS, "call")


def many_bodies(method: str) -> str:
    """Returns the table of many bodies."""
    rng = np.random.default_rng(0)
    rates, torques = rng.normal(size=(BODIES, 3)), 1e-3 * rng.normal(size=(BODIES, 3))
    plain, held, moved = (ph.Stepper(BODY, omega=rates, step=H, method=method) for _ in range(3))
    acting = ph.Stepper(BODY, TOP, omega=rates, step=H, method=method)

    def together() -> object:
        return ph.ensemble(
            BODY, TOP, omega=rates, t_span=(0.0, FEW * H), step=H, method=method, threads=1, t_eval=[FEW * H]
        )

    candidates = {
        "ensemble, a step of many in one call": together,
        "Stepper.step() under HeavyTop": repeated(acting.step, FEW),
        "Stepper.step(), free": repeated(plain.step, FEW),
        "  torque=array, each time another": repeated(alternating(lambda s: held.step(torque=s * torques)), FEW),
        "kick and drift": repeated(alternating(lambda s: kick_and_drift(moved, s * torques)), FEW),
    }
    title = f"{BODIES:,} bodies, a call with one step of {method}, time of the processor"
    return table(title, interleave(candidates, 21, time.process_time), FEW * BODIES, "body")


def main() -> None:
    """Prints the tables."""
    print(one_body())
    for method in ("Strang", "MR2", "RK4"):
        print(many_bodies(method))


if __name__ == "__main__":
    main()
