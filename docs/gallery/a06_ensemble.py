"""
A thousand tops
===============

A thousand tops, spun by a hand that is not quite steady: how far they lean. An ensemble uses all cores.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

many = ph.ensemble(
    ph.Body([5, 5, 1]), ph.HeavyTop(20), omega=ph.samples.Normal([0.1, 0, 50], [0.1, 0.1, 2]),
    attitude=[0.96, 0.28, 0, 0], count=1000, seed=1, t_span=(0, 10), t_eval=np.linspace(0, 10, 201),
    step=1e-2, method="MR2",
)  # fmt: skip
lean = many.pointing_angle("z", "z", degrees=True)
plt.figure(figsize=(7, 3.5), layout="constrained")
for low, high, shade in ((0.05, 0.95, 0.2), (0.25, 0.75, 0.4)):
    plt.fill_between(many.t, *np.quantile(lean, [low, high], axis=0), color="C0", alpha=shade, lw=0)
plt.plot(many.t, np.median(lean, axis=0), color="C0")
plt.plot(many.t, lean[:3].T, color="0.4", lw=0.6)
plt.xlabel("t (s)")
plt.ylabel("lean of the axis (degrees)")
plt.show()
