"""
A thousand tops
===============

A thousand tops, spun by a hand that is not quite steady. On the left their tips from above, once a second and a half:
all began at one point, and the cloud grows along the ring and across it. On the right how far they lean: the median,
the bands of half and of nine tenths of them, and three of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
many = ph.ensemble(
    ph.Body([5, 5, 1]), ph.HeavyTop(20), omega=ph.samples.Normal([0.1, 0, 50], [0.1, 0.1, 2]),
    attitude=[0.96, 0.28, 0, 0], count=1000, seed=1, t_span=(0, 15), t_eval=np.linspace(0, 15, 601),
    step=1e-2, method="MR2",
)  # fmt: skip
w, x, y, z = np.moveaxis(many.quaternion, -1, 0)
tips = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x)], axis=-1)
lean = many.pointing_angle("z", "z", degrees=True)
figure, (above, right) = plt.subplots(1, 2, figsize=(10, 4.8), width_ratios=(1, 0.9))
above.plot(*tips[0].T, color="0.75", lw=0.6, zorder=0)
for row in range(0, 600, 60):
    above.scatter(*tips[:, row].T, s=1.5, color=plt.cm.viridis(row / 600), lw=0)
    above.annotate(f"{many.t[row]:g} s", 0.82 * np.median(tips[:, row], axis=0), ha="center", va="center")
above.set_aspect("equal")
above.margins(0.08)
above.set_axis_off()
for low, high, shade in ((0.05, 0.95, 0.2), (0.25, 0.75, 0.4)):
    right.fill_between(many.t, *np.quantile(lean, [low, high], axis=0), color="C0", alpha=shade, lw=0)
right.plot(many.t, np.median(lean, axis=0), color="C0")
right.plot(many.t, lean[:3].T, color="C1", lw=0.6)
right.set(xlabel="time (s)", ylabel="lean of the axis (°)")
plt.show()
