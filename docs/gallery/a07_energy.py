"""
What methods do to the energy
=============================

Equal steps, three methods. The error of Runge-Kutta grows; those of splittings stay what they were.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
body, weight = ph.Body([2.0, 3.0, 4.0]), ph.HeavyTop(2.0)
plt.figure(figsize=(7, 3.5))
for method in ("RK4", "MR2", "Strang"):
    s = ph.simulate(body, weight, omega=[0.4, 1.0, 2.0], t_span=(0, 2000), step=0.1, method=method, every=20)
    plt.semilogy(s.t[1:], np.abs(s.energy / s.energy[0] - 1)[1:], lw=0.8, label=method)
plt.xlabel("time (s)")
plt.ylabel("relative error of the energy")
plt.legend()
plt.show()
