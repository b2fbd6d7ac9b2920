"""Logs of other simulators, for docs/howto/referee.md and its tests: `python -m benchmarks.logs [FOLDER]`.

Each is a body with the moments 2, 3 and 4 that tumbles freely for 20 s, as a user of that simulator would log it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders import Unable, imported

MOMENTS, OMEGA = (2.0, 3.0, 4.0), (0.2, 1.0, 0.1)
SPAN, ROW = 20.0, 0.2
HERE = Path(__file__).parents[1] / "tests" / "referee" / "logs"

Rows = tuple[list[str], Sequence[Sequence[float]]]


def mujoco(integrator: str, step: float) -> Rows:
    """Returns qpos and qvel of a free joint, after every row."""
    tool = imported("mujoco")
    model = tool.MjModel.from_xml_string(
        f'<mujoco><option integrator="{integrator}" timestep="{step}" gravity="0 0 0"/>'
        f'<worldbody><body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{" ".join(map(str, MOMENTS))}"/>'
        "</body></worldbody></mujoco>"
    )
    data = tool.MjData(model)
    data.qvel[3:] = OMEGA
    rows = [(data.time, *data.qpos, *data.qvel)]
    for _ in range(round(SPAN / ROW)):
        for _ in range(round(ROW / step)):
            tool.mj_step(model, data)
        rows.append((data.time, *data.qpos, *data.qvel))
    return ["time", *(f"qpos_{k}" for k in range(7)), *(f"qvel_{k}" for k in range(6))], rows


def rebound(tolerance: float) -> Rows:
    """Returns an ordinary differential equation integrated by REBOUND's extrapolation, with its quaternion last."""
    tool = imported("rebound")
    I = np.array(MOMENTS)  # noqa: E741 (the symbol of everybody)
    simulation = tool.Simulation()
    simulation.integrator = "bs"
    simulation.integrator.eps_rel = simulation.integrator.eps_abs = tolerance
    simulation.dt = 0.01
    equation = simulation.create_ode(length=7, needs_nbody=False)

    def slope(ode: Any, out: Any, y: Any, t: float) -> None:
        w, q = np.array([y[k] for k in range(3)]), np.array([y[k] for k in range(3, 7)])
        faster = np.cross(I * w, w) / I
        turn = 0.5 * np.concatenate([q[3] * w + np.cross(q[:3], w), [-q[:3] @ w]])
        for k, v in enumerate([*faster, *turn]):
            out[k] = v

    equation.derivatives = slope
    for k, v in enumerate([*OMEGA, 0.0, 0.0, 0.0, 1.0]):
        equation.y[k] = v
    rows = []
    for t in np.arange(round(SPAN / ROW) + 1) * ROW:
        if t > 0.0:
            simulation.integrate(t)
        rows.append((t, *(equation.y[k] for k in range(7))))
    return ["t", "wx", "wy", "wz", "q1", "q2", "q3", "q4"], rows


def basilisk(step: float) -> Rows:
    """Returns what a recorder of Basilisk holds after a run with its usual Runge-Kutta method of fourth order."""
    base, macros = imported("Basilisk.utilities.SimulationBaseClass"), imported("Basilisk.utilities.macros")
    spacecraft = imported("Basilisk.simulation.spacecraft")
    simulation = base.SimBaseClass()
    simulation.SetProgressBar(False)
    simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", macros.sec2nano(step)))
    craft = spacecraft.Spacecraft()
    craft.hub.mHub = 1.0
    craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
    craft.hub.IHubPntBc_B = np.diag(MOMENTS).tolist()
    craft.hub.sigma_BNInit = [[0.0], [0.0], [0.0]]
    craft.hub.omega_BN_BInit = [[w] for w in OMEGA]
    simulation.AddModelToTask("task", craft)
    recorder = craft.scStateOutMsg.recorder(macros.sec2nano(ROW))
    simulation.AddModelToTask("task", recorder)
    simulation.InitializeSimulation()
    simulation.ConfigureStopTime(macros.sec2nano(SPAN))
    simulation.ExecuteSimulation()
    times = np.asarray(recorder.times())
    rows = np.column_stack([times, recorder.sigma_BN, recorder.omega_BN_B]).tolist()
    names = ["time (ns)", *(f"sigma_BN_{k}" for k in range(3)), *(f"omega_BN_B_{k} (rad/s)" for k in range(3))]
    return names, rows


LOGS: dict[str, Callable[[], Rows]] = {
    "mujoco_euler_10ms": lambda: mujoco("Euler", 0.01),
    "mujoco_euler_5ms": lambda: mujoco("Euler", 0.005),
    "mujoco_implicit_10ms": lambda: mujoco("implicit", 0.01),
    "mujoco_implicit_5ms": lambda: mujoco("implicit", 0.005),
    "mujoco_rk4_40ms": lambda: mujoco("RK4", 0.04),
    "mujoco_rk4_20ms": lambda: mujoco("RK4", 0.02),
    "rebound_bs": lambda: rebound(1e-9),
    "basilisk_rk4_100ms": lambda: basilisk(0.1),
    "basilisk_rk4_50ms": lambda: basilisk(0.05),
}


def main(folder: Path) -> None:
    """Writes all logs that the installed simulators can make."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in LOGS.items():
        try:
            names, rows = make()
        except Unable as missing:
            print(f"{name}: left as it is, because {missing}", file=sys.stderr)
            continue
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([[f"{float(x):.15g}" for x in row] for row in rows])
        print(f"{name}: {len(rows)} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
