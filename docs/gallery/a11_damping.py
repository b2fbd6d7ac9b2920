"""
Coming to rest
==============

Drag slows every axis at its own pace: the spin gathers about the axis of the greatest moment.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
s = ph.simulate(
    ph.Body([20.0, 30.0, 40.0]),
    ph.LinearDamping(0.4),
    omega=np.radians([6.0, -4.0, 3.0]),
    t_span=(0, 400),
    step=0.2,
    method="RK4",
)
share = np.abs(s.omega) / np.linalg.norm(s.omega, axis=1, keepdims=True)
figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True)
above.plot(s.t, np.degrees(s.omega), label=["x", "y", "z"])
above.set_ylabel("rate (°/s)")
above.legend(title="body axis")
below.plot(s.t, share)
below.set(xlabel="time (s)", ylabel="share of each axis")
plt.show()
