"""
Where Hyperion tumbles
======================

Saturn's moon Hyperion is long, and its orbit is eccentric. Each pixel is one start at the point nearest to Saturn: how
the long axis points, and how fast the moon spins about its shortest axis, which is tilted by a hundredth of a radian.
The colour says how far that axis leans within ten orbits: wherever the rotation is chaotic, the moon tumbles, as
Wisdom, Peale and Mignard showed in 1984. ``polhode examples hyperion_map`` copies a program that draws it with a
million starts, on many machines.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

side, orbits = 240, 10
orbit = ph.environment.Orbit(1.481e9, eccentricity=0.1, mu=3.7931e16, radius=6.0268e7)  # about Saturn, in m
turn, spin = np.meshgrid(np.linspace(0, np.pi, side), np.linspace(0, 2.6, side))
half, tilt = turn.ravel() / 2, 0.01 / 2
attitude = np.stack(
    [
        np.cos(half) * np.cos(tilt),
        np.cos(half) * np.sin(tilt),
        np.sin(half) * np.sin(tilt),
        np.sin(half) * np.cos(tilt),
    ],
    axis=-1,
)
many = ph.ensemble(
    ph.Body.named("hyperion"), ph.GravityGradient(orbit=orbit), attitude=attitude,
    omega=np.outer(spin.ravel() * orbit.mean_motion, [0, 0, 1]), t_span=(0, orbits * orbit.period),
    t_eval=np.linspace(0, orbits * orbit.period, 8 * orbits + 1), step=orbit.period / 200, method="MR2",
    reduce={"lean": ph.quantity("pointing_angle_deg(z, [0, 0, 1])").max("time")},
)  # fmt: skip
plt.figure(figsize=(8, 6), layout="constrained")
plt.imshow(
    many["lean"].reshape(side, side), origin="lower", extent=(0, 180, 0, 2.6), aspect="auto", cmap="inferno",
    interpolation="bilinear", vmin=0, vmax=180,
)  # fmt: skip
plt.xlabel("angle from the long axis to Saturn at the start (°)")
plt.ylabel("spin at the start (turns an orbit)")
plt.colorbar(label="largest lean (°)", ticks=range(0, 181, 30))
plt.show()
