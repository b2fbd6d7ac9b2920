"""
A moon that tumbles
===================

A long body on an eccentric orbit, like Saturn's moon Hyperion. The gravity gradient turns it, and its attitude changes
the orbit: on the right, how far it is from where a point would be. heyoka, with the 13 equations of the same body,
agrees to 1e-10 after five orbits.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")
moon = ph.System(
    ph.Body([1.0e-3, 1.2e-3, 1.85e-3]),
    mass=1.0,
    position=[[0.9, 0, 0]],
    velocity=[[0, math.sqrt(1.1 / 0.9), 0.02]],
    omega=[[0.2, 0.5, 0.8]],
)
orbits = np.linspace(0, 5, 500)
times = 2 * math.pi * orbits
run = {"t_span": (0, times[-1]), "rtol": 1e-9, "t_eval": times}
tumbling = ph.simulate_system(moon, ph.systems.CentralBody(1.0), **run)
point = ph.simulate_system(moon.replace(bodies=[ph.Body([1e-9, 1e-9, 1e-9])]), ph.systems.CentralBody(1.0), **run)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.plot(orbits, tumbling.spatial_omega[:, 0], label=["X", "Y", "Z"])
left.set(xlabel="orbits", ylabel="rate in space (rad per unit of time)")
left.legend(title="space axis", ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
right.plot(orbits, np.linalg.norm(tumbling.position[:, 0] - point.position[:, 0], axis=1))
right.set(xlabel="orbits", ylabel="distance from the orbit of a point")
plt.show()
