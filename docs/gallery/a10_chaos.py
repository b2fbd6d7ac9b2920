"""
Order and chaos
===============

An asymmetric top, looked at each time its axis passes the horizon upwards: forty starts of nearly the same energy.
Curves are regular motions, clouds are chaotic ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
body, weight = ph.Body([2.0, 3.0, 4.0]), ph.HeavyTop(4.0)
speeds = np.linspace(0.2, 2.0, 40)
omega = np.column_stack([speeds, np.zeros(40), np.sqrt(np.maximum((9 - 2 * speeds**2) / 4, 0.05))])
many = ph.ensemble(
    body,
    weight,
    omega=omega,
    attitude=[0.8, 0.6, 0, 0],
    t_span=(0, 400),
    t_eval=np.arange(0, 400, 0.1),
    step=0.02,
    method="MR2",
)
height = np.cos(many.pointing_angle("z", "z"))
crossing = (height[:, :-1] < 0) & (height[:, 1:] >= 0)
plt.figure(figsize=(6, 5))
for k in range(40):
    rows = many.omega[k, :-1][crossing[k]]
    plt.plot(rows[:, 0], rows[:, 1], ".", ms=2, mew=0, color=plt.cm.viridis(k / 40))
plt.xlabel("rate about x (rad/s)")
plt.ylabel("rate about y (rad/s)")
plt.show()
