"""
Polhodes
========

Seen from the body, the tip of the angular rate runs along a curve on the ellipsoid of all rates with its energy. About
the first axis, the longest of the body, and about the third the curves close; the separatrix through the middle axis
parts them. Inside is the body itself, a box with these moments.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LightSource
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import polhode as ph

plt.style.use("polhode.plots.polhode")
body = ph.Body([1, 2, 2.8])
semi = 1 / np.sqrt(body.moments)  # rates with the kinetic energy 1/2
elevation, azimuth = np.radians([24, 52])
viewer = [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]

figure = plt.figure(figsize=(8, 6))
axes = figure.add_subplot(projection="3d", proj_type="ortho", computed_zorder=False)
axes.view_init(24, 52)
axes.set_axis_off()
axes.set_box_aspect(semi, zoom=1.5)

half = 0.55 * np.sqrt(body.moments.sum() / 2 - body.moments)
square = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
faces = [half * np.insert(square, axis, side, axis=1) for axis, side in product(range(3), (-1, 1))]
colors = np.repeat(["#0072B2", "#D55E00", "#009E73"], 2)
axes.add_collection3d(Poly3DCollection(faces, facecolors=colors, edgecolor="0.2", lw=0.6))

polar, around = np.meshgrid(np.linspace(0, np.pi, 91), np.linspace(0, 2 * np.pi, 181))
sphere = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)])
light = LightSource(azdeg=60, altdeg=60)
axes.plot_surface(*(semi[:, None, None] * sphere), color="#eef3f8", alpha=0.4, lw=0, lightsource=light, zorder=2)


def draw(curve, **look):
    """A curve on the ellipsoid, faint where it lies behind."""
    front = (curve * body.moments) @ viewer > 0
    axes.plot(*np.where(front[:, None], np.nan, curve).T, **look, alpha=0.2, zorder=3)
    axes.plot(*np.where(front[:, None], curve, np.nan).T, **look, zorder=4)


modes = {"long-axis": "C0", "short-axis": "C2"}
for angle in np.radians(np.arange(4.5, 360, 9)):
    motion = ph.FreeMotion(body, omega=semi * [np.cos(angle), 0, np.sin(angle)])
    draw(motion.polhode(600), color=modes[motion.mode], lw=0.9)
for one, third in product((-1, 1), repeat=2):
    first = np.sqrt((2.8 - 2) / (2.8 - 1))  # where the separatrix crosses the plane of the first and the third axis
    motion = ph.FreeMotion(body, omega=semi * [one * first, 0, third * np.sqrt(1 - first**2)])
    draw(motion.at(np.linspace(-15, 15, 1500)).omega, color="C1", lw=1.8)
plt.show()
