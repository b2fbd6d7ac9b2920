"""
The light of a tumbling asteroid
================================

Two periods that are no multiples of each other, and the light curve of an ellipsoid that turns so.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
axes = np.array([4.60, 2.40, 1.92]) / 2  # km
moments = [axes[1] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[1] ** 2]
toutatis = ph.FreeMotion.from_periods(moments, P_psi=5.41, P_phi=7.35, mode="LAM")  # days
t = np.linspace(0, 40, 2000)
seen = toutatis.at(t).attitude.inv().apply([0.9, 0.2, 0.4])
area = np.sqrt(((seen / axes) ** 2).sum(axis=1))
plt.figure(figsize=(7, 3))
plt.plot(t, -2.5 * np.log10(area / area.mean()))
plt.gca().invert_yaxis()
plt.xlabel("time (days)")
plt.ylabel("relative magnitude")
plt.show()
