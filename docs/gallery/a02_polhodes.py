"""
Polhodes
========

Seen from the body, the tip of the angular momentum runs along the curve where a sphere, of one momentum, meets an
ellipsoid, of one energy. About the first and the third axis the curves close; the red ones through the middle axis
part them.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

body = ph.Body([1, 2, 2.8])
figure = plt.figure(figsize=(6, 6), layout="constrained")
axes = figure.add_subplot(projection="3d")
angles = np.radians(np.arange(7, 180, 14))
for plane, color in (((0, 1), "C0"), ((2, 1), "C2")):
    for angle in angles:
        momentum = np.zeros(3)
        momentum[plane[0]], momentum[plane[1]] = np.cos(angle), np.sin(angle)
        motion = ph.FreeMotion(body, omega=momentum / body.moments)
        curve = motion.at(np.linspace(0, motion.period, 300)).momentum
        axes.plot(*curve.T, color=color, lw=0.8)
for sign in (1e-9, -1e-9):
    for other in (1, -1):
        motion = ph.FreeMotion(body, omega=np.array([sign, other, 0]) / body.moments)
        axes.plot(*motion.at(np.linspace(0, motion.period, 2000)).momentum.T, color="C3", lw=1.2)
axes.set_box_aspect((1, 1, 1))
axes.set(xlabel="$m_1$", ylabel="$m_2$", zlabel="$m_3$")
axes.view_init(25, 40)
plt.show()
