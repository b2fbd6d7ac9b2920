"""
Hyperion
========

Saturn's moon Hyperion, turning about the axis perpendicular to its orbit, after [wisdom1984]: spin and angle at each
of 60 passages of the pericentre (left), and how fast neighbouring motions part over these, from the exact derivative
of each run (right). In the wide belt around the synchronous spin they part by a factor of e in a few orbits.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

n, eccentricity, asphericity = 2 * np.pi, 0.1, 0.89  # unit of time: an orbit; asphericity^2 = 3 (B - A) / C
orbit = ph.environment.Orbit(semi_major_axis=1.0, eccentricity=eccentricity, mu=n**2, radius=0.1)
moon = ph.Body([1.0, 1.0 + asphericity**2 / 3 * 1.35, 1.35])
side = 28
angles, spins = (x.ravel() for x in np.meshgrid(np.linspace(0, np.pi, side), np.linspace(0, 3, side)))
many = ph.ensemble(
    moon,
    ph.GravityGradient(orbit=orbit),
    omega=np.column_stack([0 * spins, 0 * spins, spins * n]),
    attitude=np.column_stack([np.cos(angles / 2), 0 * angles, 0 * angles, np.sin(angles / 2)]),
    t_span=(0, 60),
    t_eval=np.arange(61.0),
    method="SABA",
    step=0.02,
    derivatives=("attitude[2]", "omega[2]"),
)
J = many.jacobian[:, -1, [2, 5]]  # the angle and the spin alone
J[:, 1] /= n
J[:, :, 1] *= n
rate = np.log(np.linalg.norm(J, axis=(1, 2))) / 60
angle = 2 * np.arctan2(many.quaternion[..., 3], many.quaternion[..., 0]) % np.pi
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
left.plot(angle[::5].ravel(), many.omega[::5, :, 2].ravel() / n, ".", ms=0.8)
left.set(xlabel="angle (rad)", ylabel="spin / mean motion", ylim=(0, 3))
shown = right.pcolormesh(angles[:side], spins[::side], rate.reshape(side, side), cmap="viridis")
right.set(xlabel="angle at the start (rad)")
figure.colorbar(shown, label="growth (1 / orbit)")
plt.show()
