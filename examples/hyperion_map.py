"""Where Hyperion tumbles, for a million initial states: `python examples/hyperion_map.py --workers 2`.

Hyperion, a moon of Saturn, is as long as a potato and moves on an eccentric orbit. Wisdom, Peale and Mignard showed in
1984 that such a moon cannot keep its spin axis upright: wherever its rotation is chaotic, and even where it could be
locked to the orbit, the smallest tilt grows until the moon tumbles. [wisdom1984]

Each pixel is one initial state at the point nearest to Saturn: how the long axis points, and how fast the moon spins
about its shortest axis, which is tilted by a hundredth of a radian from the normal of the orbit. The colour says how
far that axis leans within some orbits. The bodies run in parts, in a store: if the program is stopped, the same command
goes on, and `dask` workers on other machines may do the work as well (docs/howto/cluster.md).
"""

import argparse
from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

SEMI_AXES = np.array([190.0, 145.0, 114.0])  # of the moon, in km
ORBIT = ph.environment.Orbit(1.481e9, eccentricity=0.1, mu=3.7931e16, radius=6.0268e7)  # about Saturn, in m
TILT = 0.01  # of the spin axis at the start, in radians
FASTEST = 3.0  # the highest spin rate, in turns an orbit
STEPS, ROWS = 200, 8  # of each orbit


def moon():
    """Returns an ellipsoid of even density: the longest axis has the least moment."""
    a2, b2, c2 = SEMI_AXES**2
    return ph.Body(np.array([b2 + c2, a2 + c2, a2 + b2]) / 5.0)


def states(side):
    """Returns angular velocities and attitudes, row by row of the picture, from the slowest spin up."""
    turn, spin = np.meshgrid((np.arange(side) + 0.5) / side * np.pi, (np.arange(side) + 0.5) / side * FASTEST)
    upright = np.stack([np.cos(turn / 2), 0 * turn, 0 * turn, np.sin(turn / 2)], axis=-1).reshape(-1, 4)
    tilted = np.array([np.cos(TILT / 2), np.sin(TILT / 2), 0.0, 0.0])  # about the long axis
    attitude = ph.quaternion_product(tuple(upright.T), tuple(tilted))
    omega = np.zeros((side * side, 3))
    omega[:, 2] = spin.ravel() * ORBIT.mean_motion
    return omega, np.stack(np.broadcast_arrays(*attitude), axis=-1)


def plan(store, side=1000, orbits=10, part_bodies=None):
    """Plans the map: of each body only the largest lean is kept."""
    omega, attitude = states(side)
    return ph.plan_ensemble(
        moon(), ph.GravityGradient(orbit=ORBIT), omega=omega, attitude=attitude, store=store, part_bodies=part_bodies,
        t_span=(0.0, orbits * ORBIT.period), step=ORBIT.period / STEPS, method="MR2",
        t_eval=np.linspace(0.0, orbits * ORBIT.period, ROWS * orbits + 1),
        reduce={"lean": ph.quantity("pointing_angle_deg(z, [0, 0, 1])").max("time")},
    )  # fmt: skip


def draw(lean, file, orbits):
    """Draws the map."""
    side = round(lean.size**0.5)
    figure, axes = plt.subplots(figsize=(7.2, 6.4), layout="constrained")
    shown = axes.imshow(
        lean.reshape(side, side), origin="lower", extent=(0, 180, 0, FASTEST), aspect="auto", cmap="inferno",
        vmin=0.0, vmax=180.0, interpolation="nearest",
    )  # fmt: skip
    axes.set_xlabel("angle from the long axis to Saturn at the start (degrees)")
    axes.set_ylabel("spin rate at the start (turns an orbit)")
    axes.set_title(f"How far Hyperion's spin axis leans within {orbits} orbits")
    figure.colorbar(shown, label="largest lean (degrees)", ticks=range(0, 181, 30))
    figure.savefig(file, dpi=150)
    plt.close(figure)


def main():
    """Runs the plan and draws its result."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--side", type=int, default=1000, help="pixels on each side")
    options.add_argument("--orbits", type=int, default=10)
    options.add_argument("--store", default="hyperion.zarr")
    options.add_argument("--picture", default="hyperion.png")
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    with ProcessPoolExecutor(given.workers) as executor:
        found = plan(given.store, given.side, given.orbits).run(executor, progress=print)
    draw(found["lean"].values, given.picture, given.orbits)
    print(given.picture, found.attrs["sha256"])


if __name__ == "__main__":
    main()
