"""
Three ways to nod
=================

The tip of a heavy top seen from above. Released at rest it draws cusps; pushed along it draws waves, pushed back loops.

.. viewer:: top
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
body, weight = ph.Body([5, 5, 1]), ph.HeavyTop(20)
figure, axes = plt.subplots(1, 3, figsize=(10, 4), sharex=True, sharey=True)
for panel, push, name in zip(axes, (0.0, 0.1, -0.25), ("released", "pushed along", "pushed back"), strict=True):
    lean = 0.6
    attitude = [np.cos(lean / 2), np.sin(lean / 2), 0, 0]
    spin = 50.0
    omega = [0.0, push, spin]
    s = ph.simulate(
        body, weight, omega=omega, attitude=attitude, t_span=(0, 16), t_eval=np.linspace(0, 16, 1500), rtol=1e-8
    )
    tip = s.attitude.apply([0, 0, 1])
    panel.plot(tip[:, 0], tip[:, 1], lw=0.9)
    panel.set_title(name)
    panel.set_aspect("equal")
    panel.set_xlabel("X of the tip")
axes[0].set_ylabel("Y of the tip")
plt.show()
