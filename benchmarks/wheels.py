"""What attitude control with wheels costs, beside SciPy and Basilisk at equal error: `python -m benchmarks.wheels`.

Three questions, each answered by ratios of candidates that take turns in one process:

1. A slew by four wheels with gains, limited torques and friction, and a day that begins with it, under the gravity
   gradient: `simulate(rtol=)` and SciPy's DOP853 with a compiled
   right side. The tolerance of SciPy is the loosest of a ladder at which its true error is below the target; polhode is
   given the target itself, and its time contains that of its error estimate.
2. More than an hour of constant motor torques against friction, which Basilisk can do without a controller that
   samples: the same, and Basilisk (bsk, if it is installed) with Fehlberg's pair of orders 7 and 8 or RK4, at the
   cheapest of some settings that reach the target.
3. What carried numbers cost: RK4 with three wheels, and the same arithmetic as a loop written by hand in Numba; and
   both without wheels, with seven numbers instead of ten.

Of polhode there are two candidates in 1 and 2: with the tolerance as a promise, which takes a second run and is kept
with room to spare; and by SciPy's method with the loosest tolerance of a step that reaches the target, as for SciPy.
"""

import importlib
import importlib.util
import itertools
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from scipy.integrate import solve_ivp

import polhode as ph
from benchmarks.harness import interleave
from polhode.support.arrays import Floats
from polhode.torques import Torque

WHOLE = np.array([[9.0, 0.3, -0.2], [0.3, 8.0, 0.4], [-0.2, 0.4, 5.0]])
"""The tensor of a small satellite with its wheels locked, in kg m^2."""
AXES = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]]) / math.sqrt(2.0)
INERTIAS = np.array([0.01, 0.011, 0.012, 0.013])
SPEEDS = np.array([100.0, -50.0, 70.0, 30.0])
OMEGA, START = np.array([0.01, -0.02, 0.03]), np.array([0.5, 0.5, -0.5, 0.5])
K, D, LIMIT, VISCOUS = 0.4, 2.0, 0.08, 2e-5
CONSTANT = np.array([0.002, -0.0015, 0.001, 0.0005])
"""Motor torques in N m."""
SLEW, HOUR, DAY, ROWS = 256.0, 4096.0, 86400.0, 17
"""The spans of the problems, in s, and the rows of output."""
ORBITAL_RATE = 2.0 * math.pi / 5760.0
TARGETS = (1e-6, 1e-9)


def controlled() -> ph.ReactionWheels:
    """Returns wheels with gains, limits and friction."""
    how: Any = {"axes": AXES, "inertias": INERTIAS, "speeds": SPEEDS, "viscous": VISCOUS}
    return ph.ReactionWheels(attitude_gain=K, rate_gain=D, torque_limit=LIMIT, **how)


def constant(t: float, q: Any, w: Any, p: Any, speeds: Any) -> Any:
    """Motor torques that do not change."""
    return (p[0], p[1], p[2], p[3])


def driven() -> ph.ReactionWheels:
    """Returns wheels with constant motor torques and friction."""
    how: Any = {"axes": AXES, "inertias": INERTIAS, "speeds": SPEEDS, "viscous": VISCOUS}
    return ph.ReactionWheels(law=constant, parameters_of_law=tuple(CONSTANT.tolist()), **how)


# --- polhode


def times(span: float) -> Floats:
    """Returns the output times."""
    return np.linspace(0.0, span, ROWS)


def polhode(wheels: Torque, rtol: float, span: float) -> ph.Solution:
    """Runs polhode."""
    return ph.simulate(
        wheels.carrier(ph.Body(WHOLE)), wheels, omega=OMEGA, attitude=START, t_span=(0.0, span), t_eval=times(span),
        rtol=rtol,
    )  # fmt: skip


def stepped(wheels: Torque, rtol: float, span: float) -> ph.Solution:
    """Runs polhode without an estimate, by the method of SciPy."""
    return ph.simulate(
        wheels.carrier(ph.Body(WHOLE)), wheels, omega=OMEGA, attitude=START, t_span=(0.0, span), t_eval=times(span),
        method=f"DOP853(rtol={rtol!r})", step=span / 4.0,
    )  # fmt: skip


def rows_of(s: ph.Solution) -> Floats:
    """Returns attitude, rate and wheel momenta."""
    return np.hstack([s.quaternion, s.omega, s.state])


def error(rows: Floats, truth: Floats) -> float:
    """Returns the largest error, relative to the largest size of each: attitude, rate, momentum of each wheel."""
    q = rows[:, :4] * np.sign((rows[:, :4] * truth[:, :4]).sum(axis=1))[:, None]
    turned = 2.0 * np.abs(q - truth[:, :4]).max()
    rate = np.abs(rows[:, 4:7] - truth[:, 4:7]).max() / np.abs(truth[:, 4:7]).max()
    momenta = (np.abs(rows[:, 7:] - truth[:, 7:]).max(axis=0) / np.abs(truth[:, 7:]).max(axis=0)).max()
    return float(max(turned, rate, momenta))


# --- SciPy

CARRIER = WHOLE - AXES.T @ (INERTIAS[:, None] * AXES)
INVERSE: Floats = np.asarray(np.linalg.inv(CARRIER), np.float64)
SHARE: Floats = np.asarray(np.linalg.pinv(AXES.T), np.float64)


@numba.njit(cache=True)
def right_side(
    t: float, y: Floats, controls: bool, rate: float, tensor: Floats, inverse: Floats, axes: Floats, inertias: Floats,
    share: Floats, given: Floats,
) -> Floats:  # fmt: skip
    """Returns the slopes of quaternion, rate and wheel momenta: loops over numbers, no arrays but the answer."""
    out = np.empty(7 + inertias.size)
    a, b, c, d = y[0], y[1], y[2], y[3]
    x, v, z = y[4], y[5], y[6]
    out[0] = 0.5 * (-b * x - c * v - d * z)
    out[1] = 0.5 * (a * x + c * z - d * v)
    out[2] = 0.5 * (a * v + d * x - b * z)
    out[3] = 0.5 * (a * z + b * v - c * x)
    k = 2.0 * K if a >= 0.0 else -2.0 * K
    h0 = tensor[0, 0] * x + tensor[0, 1] * v + tensor[0, 2] * z
    h1 = tensor[1, 0] * x + tensor[1, 1] * v + tensor[1, 2] * z
    h2 = tensor[2, 0] * x + tensor[2, 1] * v + tensor[2, 2] * z
    n0 = n1 = n2 = 0.0
    if rate > 0.0:  # the gravity gradient, as polhode has it: of the body without the spin inertias
        s, e = math.cos(rate * t), math.sin(rate * t)
        u0 = (a * a + b * b - c * c - d * d) * s + 2.0 * (b * c + a * d) * e
        u1 = 2.0 * (b * c - a * d) * s + (a * a - b * b + c * c - d * d) * e
        u2 = 2.0 * (b * d + a * c) * s + 2.0 * (c * d - a * b) * e
        g = 3.0 * rate * rate
        i0 = tensor[0, 0] * u0 + tensor[0, 1] * u1 + tensor[0, 2] * u2
        i1 = tensor[1, 0] * u0 + tensor[1, 1] * u1 + tensor[1, 2] * u2
        i2 = tensor[2, 0] * u0 + tensor[2, 1] * u1 + tensor[2, 2] * u2
        n0, n1, n2 = g * (u1 * i2 - u2 * i1), g * (u2 * i0 - u0 * i2), g * (u0 * i1 - u1 * i0)
    for i in range(inertias.size):
        speed = y[7 + i] / inertias[i] - (axes[i, 0] * x + axes[i, 1] * v + axes[i, 2] * z)
        if controls:
            u = share[i, 0] * (k * b + D * x) + share[i, 1] * (k * c + D * v) + share[i, 2] * (k * d + D * z)
            u = min(max(u, -LIMIT), LIMIT)
        else:
            u = given[i]
        u -= VISCOUS * speed
        out[7 + i] = u
        n0 -= axes[i, 0] * u
        n1 -= axes[i, 1] * u
        n2 -= axes[i, 2] * u
        h0 += axes[i, 0] * y[7 + i]
        h1 += axes[i, 1] * y[7 + i]
        h2 += axes[i, 2] * y[7 + i]
    n0 += h1 * z - h2 * v
    n1 += h2 * x - h0 * z
    n2 += h0 * v - h1 * x
    for i in range(3):
        out[4 + i] = inverse[i, 0] * n0 + inverse[i, 1] * n1 + inverse[i, 2] * n2
    return out


def scipys(controls: bool, rtol: float, span: float) -> Floats:
    """Runs SciPy."""
    momenta = INERTIAS * (SPEEDS + AXES @ OMEGA)
    start, rate = np.concatenate([START, OMEGA, momenta]), ORBITAL_RATE if span == DAY else 0.0

    def f(t: float, y: Floats) -> Floats:
        return right_side(t, y, controls, rate, CARRIER, INVERSE, AXES, INERTIAS, SHARE, CONSTANT)

    answer = solve_ivp(
        f, (0.0, span), start, method="DOP853", t_eval=times(span), rtol=max(rtol, 2.3e-14), atol=rtol * 1e-2
    )  # fmt: skip
    return np.asarray(answer.y.T)


def loosest(run: Callable[[float], Floats], truth: Floats, target: float) -> float | None:
    """Returns the loosest tolerance of a ladder at which the true error is below the target."""
    for k in range(int(-2 * math.log10(target)) - 4, 28):
        if error(run(10.0 ** (-k / 2)), truth) <= target:
            return float(10.0 ** (-k / 2))
    return None


# --- Basilisk


def basilisk(tick: float, tolerance: float | None) -> Callable[[], Floats]:
    """Returns a run of a simulation built beforehand: by Fehlberg's pair, or by RK4 if there is no tolerance."""

    def part(name: str) -> Any:
        return importlib.import_module(f"Basilisk.{name}")

    logging = part("architecture.bskLogging")
    logging.setDefaultLogLevel(logging.BSK_ERROR)
    macros, conversions = part("utilities.macros"), part("utilities.RigidBodyKinematics")
    simulation = part("utilities.SimulationBaseClass").SimBaseClass()
    simulation.SetProgressBar(False)
    simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", macros.sec2nano(tick)))
    craft = part("simulation.spacecraft").Spacecraft()
    craft.hub.mHub = 100.0
    craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
    craft.hub.IHubPntBc_B = WHOLE.tolist()
    craft.hub.sigma_BNInit = [[x] for x in conversions.EP2MRP(START)]
    craft.hub.omega_BN_BInit = [[x] for x in OMEGA]
    if tolerance is None:
        integrator = part("simulation.svIntegrators").svIntegratorRK4(craft)
    else:
        integrator = part("simulation.svIntegrators").svIntegratorRKF78(craft)
        integrator.relTol = integrator.absTol = tolerance
    craft.setIntegrator(integrator)
    effector = part("simulation.reactionWheelStateEffector")
    wheels = effector.ReactionWheelStateEffector()
    payloads = part("architecture.messaging")
    parts: list[Any] = []
    for axis, inertia, speed in zip(AXES, INERTIAS, SPEEDS, strict=True):
        wheel = effector.RWConfigPayload()
        wheel.gsHat_B = [[x] for x in axis]
        wheel.rWB_B = [[0.0], [0.0], [0.0]]
        wheel.Js = inertia
        wheel.Omega = speed
        wheel.Omega_max = wheel.u_max = -1.0  # no limits
        wheel.cViscous = VISCOUS
        wheel.RWModel = 0  # balanced
        wheels.addReactionWheel(wheel)
        parts.append(wheel)
    command = payloads.ArrayMotorTorqueMsgPayload()
    command.motorTorque = CONSTANT.tolist()
    message = payloads.ArrayMotorTorqueMsg().write(command)
    wheels.rwMotorCmdInMsg.subscribeTo(message)
    craft.addStateEffector(wheels)
    simulation.AddModelToTask("task", wheels)
    simulation.AddModelToTask("task", craft)
    simulation.InitializeSimulation()
    kept = (simulation, craft, wheels, integrator, message)  # their pointers to each other do not keep them alive

    def run() -> Floats:
        simulation, craft, wheels, _, _ = kept
        for wheel, speed in zip(parts, SPEEDS, strict=True):
            wheel.Omega = speed  # which the last run has changed
        found = np.empty((ROWS, 11))
        simulation.InitializeSimulation()
        for k, t in enumerate(times(HOUR)):
            simulation.ConfigureStopTime(macros.sec2nano(t))
            simulation.ExecuteSimulation()
            state, speeds = craft.scStateOutMsg.read(), wheels.rwSpeedOutMsg.read().wheelSpeeds[:4]
            rate = np.array(state.omega_BN_B)
            found[k] = [*conversions.MRP2EP(np.array(state.sigma_BN)), *rate, *(INERTIAS * (speeds + AXES @ rate))]
        return found

    return run


def cheapest_basilisk(truth: Floats, target: float) -> tuple[str, Callable[[], Floats]] | None:
    """Returns the quickest of some settings of Basilisk that reach the target."""
    settings = [(tick, 10.0**-k) for tick, k in itertools.product((2.0, 4.0, 8.0), range(6, 15))]
    settings += [(0.5**k, None) for k in range(6)]  # type: ignore[misc]
    best: tuple[float, str, Callable[[], Floats]] | None = None
    for tick, tolerance in settings:
        run = basilisk(tick, tolerance)
        begin = time.perf_counter()
        rows = run()
        took = time.perf_counter() - begin
        if error(rows, truth) <= target and (best is None or took < best[0]):
            name = (
                f"Basilisk RK4, tick {tick:g} s" if tolerance is None else f"Basilisk RKF78 {tolerance:.0e}, {tick:g} s"
            )
            best = (took, name, run)
    return best and best[1:]


# --- carried numbers, by hand

THREE = np.eye(3)
MOMENTS = np.array([2.0, 3.0, 4.0])


@numba.njit(cache=True, fastmath={"contract"})
def slope(y: Any, p: Any) -> Any:
    """Returns the slopes of seven numbers of a body and three of wheels along its axes, with gains."""
    a, b, c, d, m0, m1, m2, h0, h1, h2 = y
    x, v, z = m0 * p[0], m1 * p[1], m2 * p[2]
    k = 2.0 if a >= 0.0 else -2.0
    u0, u1, u2 = p[3] * k * b + p[4] * x, p[3] * k * c + p[4] * v, p[3] * k * d + p[4] * z
    return (
        -0.5 * (b * x + c * v + d * z), 0.5 * (a * x + c * z - d * v), 0.5 * (a * v + d * x - b * z),
        0.5 * (a * z + b * v - c * x),
        (m1 * z - m2 * v) + (h1 * z - h2 * v - u0), (m2 * x - m0 * z) + (h2 * x - h0 * z - u1),
        (m0 * v - m1 * x) + (h0 * v - h1 * x - u2), u0, u1, u2,
    )  # fmt: skip


@numba.njit(cache=True, fastmath={"contract"})
def moved(y: Any, h: float, k: Any) -> Any:
    """y + h k."""
    return (
        y[0] + h * k[0], y[1] + h * k[1], y[2] + h * k[2], y[3] + h * k[3], y[4] + h * k[4], y[5] + h * k[5],
        y[6] + h * k[6], y[7] + h * k[7], y[8] + h * k[8], y[9] + h * k[9],
    )  # fmt: skip


@numba.njit(cache=True, fastmath={"contract"})
def by_hand(y: Any, p: Any, h: float, steps: int) -> Any:
    """RK4 as one would write it, with the quaternion kept near unit length."""
    for _ in range(steps):
        k1 = slope(y, p)
        k2 = slope(moved(y, 0.5 * h, k1), p)
        k3 = slope(moved(y, 0.5 * h, k2), p)
        k4 = slope(moved(y, h, k3), p)
        y = moved(moved(moved(moved(y, h / 6.0, k1), h / 3.0, k2), h / 3.0, k3), h / 6.0, k4)
        k = 1.5 - 0.5 * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3])
        y = (y[0] * k, y[1] * k, y[2] * k, y[3] * k, y[4], y[5], y[6], y[7], y[8], y[9])
    return y


@ph.torque(parameters=[0.1, 0.5], state=["hx", "hy", "hz"])
def same(t: float, q: Any, w: Any, p: Any, z: Any) -> Any:
    """Three wheels along the axes, with gains: the arithmetic of `slope`."""
    k = ph.where(q[0] >= 0.0, 2.0, -2.0)
    u = (p[0] * k * q[1] + p[1] * w[0], p[0] * k * q[2] + p[1] * w[1], p[0] * k * q[3] + p[1] * w[2])
    return (
        (z[1] * w[2] - z[2] * w[1] - u[0], z[2] * w[0] - z[0] * w[2] - u[1], z[0] * w[1] - z[1] * w[0] - u[2]), u
    )  # fmt: skip


@numba.njit(cache=True, fastmath={"contract"})
def slope_7(y: Any, p: Any) -> Any:
    """Returns the slopes of the body alone, under the same gains."""
    a, b, c, d, m0, m1, m2 = y
    x, v, z = m0 * p[0], m1 * p[1], m2 * p[2]
    k = 2.0 if a >= 0.0 else -2.0
    u0, u1, u2 = p[3] * k * b + p[4] * x, p[3] * k * c + p[4] * v, p[3] * k * d + p[4] * z
    return (
        -0.5 * (b * x + c * v + d * z), 0.5 * (a * x + c * z - d * v), 0.5 * (a * v + d * x - b * z),
        0.5 * (a * z + b * v - c * x), (m1 * z - m2 * v) - u0, (m2 * x - m0 * z) - u1, (m0 * v - m1 * x) - u2,
    )  # fmt: skip


@numba.njit(cache=True, fastmath={"contract"})
def moved_7(y: Any, h: float, k: Any) -> Any:
    """y + h k."""
    return (
        y[0] + h * k[0], y[1] + h * k[1], y[2] + h * k[2], y[3] + h * k[3], y[4] + h * k[4], y[5] + h * k[5],
        y[6] + h * k[6],
    )  # fmt: skip


@numba.njit(cache=True, fastmath={"contract"})
def by_hand_7(y: Any, p: Any, h: float, steps: int) -> Any:
    """The same for the body alone."""
    for _ in range(steps):
        k1 = slope_7(y, p)
        k2 = slope_7(moved_7(y, 0.5 * h, k1), p)
        k3 = slope_7(moved_7(y, 0.5 * h, k2), p)
        k4 = slope_7(moved_7(y, h, k3), p)
        y = moved_7(moved_7(moved_7(moved_7(y, h / 6.0, k1), h / 3.0, k2), h / 3.0, k3), h / 6.0, k4)
        k = 1.5 - 0.5 * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3])
        y = (y[0] * k, y[1] * k, y[2] * k, y[3] * k, y[4], y[5], y[6])
    return y


@ph.torque(parameters=[0.1, 0.5])
def without_wheels(t: float, q: Any, w: Any, p: Any) -> Any:
    """The same gains on the body itself."""
    k = ph.where(q[0] >= 0.0, 2.0, -2.0)
    return (-p[0] * k * q[1] - p[1] * w[0], -p[0] * k * q[2] - p[1] * w[1], -p[0] * k * q[3] - p[1] * w[2])


def carried_numbers(steps: int = 400_000) -> None:
    """Prints what carried numbers cost beside a loop by hand."""
    h = 0.01
    q, w = np.array([0.8, 0.0, 0.6, 0.0]), np.array([0.1, 0.2, 0.3])
    start = (*q.tolist(), *(MOMENTS * w).tolist(), 0.0, 0.0, 0.0)
    p = (*(1.0 / MOMENTS).tolist(), 0.1, 0.5)
    how: Any = {
        "omega": w, "attitude": q, "t_span": (0.0, h * steps), "step": h, "method": "RK4", "every": steps,
    }  # fmt: skip
    body, three = (
        ph.Body(MOMENTS),
        ph.ReactionWheels(((1, 0, 0), (0, 1, 0), (0, 0, 1)), 0.01, attitude_gain=0.1, rate_gain=0.5),
    )
    found = ph.simulate(body, same, state=[0.0] * 3, **how)
    there = np.array(by_hand(start, p, h, steps))
    print(f"3. RK4 with three wheels, {steps} steps; both differ by {np.abs(found.state[-1] - there[7:]).max():.1e}")
    candidates = {
        "by hand, in Numba": lambda: by_hand(start, p, h, steps),
        "@torque(state=[...])": lambda: ph.simulate(body, same, state=[0.0] * 3, **how),
        "ReactionWheels, any axes": lambda: ph.simulate(body, three, state=[0.0] * 3, **how),
        "no wheels, by hand": lambda: by_hand_7(start[:7], p, h, steps),
        "no wheels, @torque": lambda: ph.simulate(body, without_wheels, **how),
    }
    for row in interleave(candidates, rounds=15):
        print(
            f"   {row.name:26} ratio {row.ratio:5.2f} (of best {row.ratio_of_best:5.2f})"
            f"  {row.best / steps * 1e9:6.0f} ns/step"
        )


def main() -> None:
    """Prints the ratios."""
    has_basilisk = importlib.util.find_spec("Basilisk") is not None
    gravity = ph.OrbitalGravityGradient(ORBITAL_RATE)
    problems: list[tuple[str, Torque, bool, float]] = [
        ("1. Gains, limited torques, friction, gravity gradient", controlled() + gravity, True, DAY),
        ("1. Gains, limited torques, friction", controlled(), True, SLEW),
        ("2. Constant motor torques, friction", driven(), False, HOUR),
    ]
    for title, wheels, controls, span in problems:
        truth = rows_of(polhode(wheels, 1e-11 if controls else 2e-11, span))
        apart = error(scipys(controls, 1e-14, span), truth)
        print(f"{title}, {span:g} s; the truth differs from SciPy at its tightest by {apart:.1e}")
        for target in TARGETS:
            s = polhode(wheels, target, span)
            candidates: dict[str, Callable[[], object]] = {
                f"polhode, {s.method}": partial(polhode, wheels, target, span)
            }
            errors = [error(rows_of(s), truth)]
            by_steps: Any = lambda x, w=wheels, s=span: rows_of(stepped(w, x, s))  # noqa: E731
            if found_rtol := loosest(by_steps, truth, target):
                candidates[f"polhode, DOP853(rtol={found_rtol:.0e})"] = partial(stepped, wheels, found_rtol, span)
                errors.append(error(rows_of(stepped(wheels, found_rtol, span)), truth))
            rtol = loosest(lambda x, c=controls, s=span: scipys(c, x, s), truth, target)  # type: ignore[misc]
            if rtol is not None:
                candidates[f"SciPy DOP853, rtol {rtol:.0e}"] = partial(scipys, controls, rtol, span)
                errors.append(error(scipys(controls, rtol, span), truth))
            if not controls and has_basilisk and (found := cheapest_basilisk(truth, target)):
                candidates[found[0]] = found[1]
                errors.append(error(found[1](), truth))
            print(f"   error below {target:g}")
            for row, reached in zip(interleave(candidates, rounds=9), errors, strict=True):
                print(
                    f"      {row.name:46} error {reached:.1e}  ratio {row.ratio:7.1f}"
                    f" (of best {row.ratio_of_best:7.1f})  {row.best * 1e3:8.2f} ms"
                )
    carried_numbers()


if __name__ == "__main__":
    main()
