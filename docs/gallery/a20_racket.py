"""
The tennis racket
=================

Throw a racket up so that it makes one turn about its middle axis, which lies in the plane of the strings, across the
handle: it comes back with its other face up. No hand is steady enough to prevent it; this one errs by seven degrees.
Each pose is that of the exact motion, on the parabola of its flight.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
rim = np.linspace(0, 2 * np.pi, 60)
head = np.column_stack([0.25 + 0.17 * np.cos(rim), 0.13 * np.sin(rim), 0 * rim])
grip = np.column_stack([np.linspace(0.08, -0.28, 20), np.zeros(20), np.zeros(20)])
moments = [0.0012, 0.0142, 0.0154]  # kg m², of a racket of 0.32 kg: about the handle, across it, and about the normal
flight = 1.0  # s
t = np.linspace(0, flight, 13)
motion = ph.FreeMotion(ph.Body(moments), omega=[0.8, 2 * np.pi / flight, 0.0])
turns = motion.at(t).attitude
place = np.column_stack([4.6 * t, 0 * t, 4.905 * t * (flight - t)])  # of the centre of mass, with z upwards
camera = np.array([[1.0, 0.0, 0.0], [0.0, 0.8, 0.6], [0.0, -0.6, 0.8]])  # across, upwards, towards the viewer

plt.figure(figsize=(10, 3))
for k in range(len(t)):
    face = (place[k] + turns[k].apply(head)) @ camera.T
    handle = (place[k] + turns[k].apply(grip)) @ camera.T
    is_front = (camera @ turns[k].apply([0, 0, 1]))[2] > 0
    plt.fill(face[:, 0], face[:, 1], color="C0" if is_front else "C1", alpha=0.75, zorder=k)
    plt.plot(face[:, 0], face[:, 1], color="0.2", lw=1.6, zorder=k)
    plt.plot(handle[:, 0], handle[:, 1], color="0.2", lw=4, solid_capstyle="round", zorder=k)
plt.axis("equal")
plt.axis("off")
plt.show()
