"""
Bouncing on a soft wall
=======================

The body of krysl2004 falls on a wall that pushes its two ends. Methods with one evaluation of the forces a step: the
exact flow between kicks (`Strang`), and explicit Newmark (`NMB`), which the paper wants for impacts. Their energies
come back after every bounce, and their errors fall with the square of the step.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

plt.style.use("polhode.plots.polhode")


def wall(t, x, q, p):
    """Gravity, and a push on the ends of each body that grows exponentially with their depth."""
    force, torque = np.zeros_like(x), np.zeros_like(x)
    for i in range(len(x)):
        turn = (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        force[i, 2] = -1.0
        for side in (-1.0, 1.0):
            arm = (side, 0.0, 0.3 * side)
            push = math.exp(-p[0] * (x[i, 2] + ph.to_space(turn, arm)[2]))
            moment = ph.cross(arm, ph.to_body(turn, (0.0, 0.0, push)))
            force[i, 2] += push
            for k in range(3):
                torque[i, k] += moment[k]
    return force, torque


def energy(t, x, q, p):
    """Of which these forces are minus the gradient: polhode checks that at the start."""
    total = 0.0
    for i in range(len(x)):
        turn = (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        total += x[i, 2]
        for side in (-1.0, 1.0):
            total += math.exp(-p[0] * (x[i, 2] + ph.to_space(turn, (side, 0.0, 0.3 * side))[2])) / p[0]
    return total


body = ph.Body.named("soft-wall")
system = ph.System(body, mass=1.0, position=[[0, 0, 3]], velocity=[[0.2, 0, 0]], omega=[[0.4, 0.1, -0.3]])
forces = ph.forces(wall, parameters=[40.0], potential=energy)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
for method in ("Strang", "NMB"):
    s = ph.simulate_system(system, forces, t_span=(0, 30), step=0.002, method=method, every=10)
    left.plot(s.t, s.position[:, 0, 2], label=method)
    right.semilogy(s.t, s.energy_error + 1e-16, label=method)
left.set(xlabel="time (s)", ylabel="height (m)")
right.set(xlabel="time (s)", ylabel="relative error of the energy")
right.legend()
plt.show()
