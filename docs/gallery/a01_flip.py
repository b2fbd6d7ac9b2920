"""
The middle axis
===============

A body spun about its middle axis turns over, again and again: the Dzhanibekov effect. No torque acts: the motion is
known in closed form.

.. viewer:: flip
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.005, 5, 0])
t = np.linspace(0, 20, 1000)
plt.figure(figsize=(7, 3.5))
plt.plot(t, motion.at(t).omega, label=["x", "y", "z"])
for flip in motion.flip_times(3):
    plt.axvline(flip, color="0.8", zorder=0)
plt.xlabel("time (s)")
plt.ylabel("rate in body axes (rad/s)")
plt.legend(title="body axis", loc="right")
plt.show()
