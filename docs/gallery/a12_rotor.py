"""
A wheel that steadies
=====================

A body that turns about its middle axis falls over. A wheel on that axis, fast enough, prevents it: the lowest rate
about that axis, against the momentum of the wheel.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
strengths = np.linspace(0, 2, 31)
lowest = []
for strength in strengths:
    motion = ph.FreeMotion(ph.Body([1.0, 2.0, 2.8], rotor=[0.0, strength, 0.0]), omega=[0.01, 1.0, 0.0])
    lowest.append(motion.at(np.linspace(0, 100, 300)).omega[:, 1].min())
plt.figure(figsize=(7, 3.5))
plt.plot(strengths, lowest, ".-")
plt.xlabel("momentum of the wheel (kg m²/s)")
plt.ylabel("lowest rate about the middle axis (rad/s)")
plt.show()
