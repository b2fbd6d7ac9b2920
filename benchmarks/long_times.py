"""An asteroid for ages: what a radian costs, and how errors grow: `python -m benchmarks.long_times`.

A tumbling asteroid on an eccentric orbit, once in eight hours, under the gravity gradient of the Sun, which is 5e-8 of
its kinetic energy. First, the whole call `simulate(rtol=...)` over longer and longer times: what a radian costs in
processor time (of both threads: the run and its companion) and the stated error. With `--growth`, methods with steps of
one length, for a weight as weak as that in the place of the Sun: their errors against Taylor series in extended
precision, which shows how they grow. A billion radians: `python -m benchmarks.long_times --radians 1e9`.
"""

import argparse
import math
import time
from collections.abc import Sequence

import numpy as np

import polhode as ph
from benchmarks.contenders import imported
from benchmarks.motions import Floats, Motion, error
from benchmarks.page import conditions, markdown

AU, SUN = 1.495978707e11, 1.32712440018e20
MOMENTS = (1.0, 1.4, 1.7)
"""Those of the mass are unknown, and do not matter: the torque is proportional to them."""
DIRECTION = (0.25, 0.15, 0.95)
DAY_SECONDS = 8 * 3600.0
RTOL = 1e-4
RADIANS = (1e5, 1e6, 1e7)
EPS = 1e-7
GROWTH_RADIANS = (1e3, 1e4, 1e5, 1e6)
METHODS = {
    "Strang(corrector=17)": 1.0, "Strang(corrector=17, compensated=true)": 1.0, "TakahashiImada(compensated=true)": 1.0,
    "SABA8": 6.0, "G8(compensated=true)": 1.5,
}  # fmt: skip
"""Radians in a step of each method."""


def asteroid() -> tuple[ph.Body, ph.GravityGradient, Floats, float]:
    """Returns the body, the torque, the rate at the start, and its size."""
    rate = 2 * math.pi / DAY_SECONDS
    orbit = ph.environment.Orbit(semi_major_axis=2.5 * AU, eccentricity=0.15, mu=SUN)
    omega = np.array(DIRECTION) * rate / math.hypot(*DIRECTION)
    return ph.Body(MOMENTS), ph.GravityGradient(orbit=orbit), omega, rate


def measured(radians: Sequence[float], rtol: float) -> str:
    """Returns a row for each length of the motion, as it is computed."""
    body, torque, omega, rate = asteroid()
    rows = [["radians", "years", "method", "radians a step", "ns a radian", "minutes", "stated error"]]
    ph.simulate(body, torque, omega=omega, t_span=(0.0, radians[0] / rate), rtol=rtol, t_eval=[radians[0] / rate])
    for angle in radians:
        span = angle / rate
        clock, spent = time.perf_counter(), time.process_time()
        run = ph.simulate(body, torque, omega=omega, t_span=(0.0, span), rtol=rtol, t_eval=[span])
        spent, minutes = time.process_time() - spent, (time.perf_counter() - clock) / 60
        rows.append([
            f"{angle:.0e}", f"{span / 3.15576e7:.3g}", f"`{run.plan.method.name}`", f"{angle / run.stats.steps:.2f}",
            f"{spent / angle * 1e9:.0f}", f"{minutes:.2g}", f"{run.error_estimate:.1e}",
        ])  # fmt: skip
        print(" | ".join(rows[-1]), flush=True)
    return markdown(rows)


def growth() -> str:
    """Returns the error of each method after longer and longer times, against extended precision."""
    omega = np.array(DIRECTION) / math.hypot(*DIRECTION)
    weight = EPS * float((np.array(MOMENTS) * omega**2).sum())
    motion = Motion("asteroid", "top", MOMENTS, tuple(omega.tolist()), 1.0, weight)
    heyoka, wide = imported("heyoka"), np.longdouble
    state = heyoka.make_vars("a", "b", "c", "d", "x", "y", "z")
    equations = list(zip(state, motion.slope()(*state), strict=True))
    made = heyoka.taylor_adaptive(equations, [wide(0)] * 7, fp_type=wide, compact_mode=True)
    made.state[:] = np.concatenate([[1.0, 0.0, 0.0, 0.0], omega]).astype(wide)
    truth = []
    for angle in GROWTH_RADIANS:
        made.propagate_until(wide(angle))
        truth.append(np.asarray(made.state, dtype=float))
    rows = [["method", "radians a step", "ns a radian", *(f"after {x:.0e}" for x in GROWTH_RADIANS)]]
    for name, turn in METHODS.items():
        errors = []
        for angle, true in zip(GROWTH_RADIANS, truth, strict=True):
            spent, step = time.process_time(), angle / round(angle / turn)
            run = ph.simulate(
                ph.Body(MOMENTS), ph.HeavyTop(weight), omega=omega, t_span=(0.0, angle), step=step, method=name,
                t_eval=[angle],
            )  # fmt: skip
            spent = time.process_time() - spent
            errors.append(error(np.concatenate([run.quaternion[-1], run.omega[-1]])[None], true[None]))
        cost = f"{spent / GROWTH_RADIANS[-1] * 1e9:.0f}"
        rows.append([f"`{name}`", f"{turn:g}", cost, *(f"{e:.1e}" for e in errors)])
    return markdown(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--radians", type=float, nargs="+", default=RADIANS)
    parser.add_argument("--rtol", type=float, default=RTOL)
    parser.add_argument("--growth", action="store_true", help="errors of single methods, against extended precision")
    asked = parser.parse_args()
    print(conditions("polhode", "numba"))
    print(growth() if asked.growth else measured(asked.radians, asked.rtol))
