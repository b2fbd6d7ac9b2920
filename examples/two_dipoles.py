"""Two magnets that turn in each other's field: `python examples/two_dipoles.py`.

Two rigid bodies hang at fixed places, one metre apart, and each carries a magnetic dipole. Each feels the field of the
other, so that neither can be integrated alone: the loop is yours, and so is the splitting. Half a kick by the torques,
a free turn of both bodies, half a kick: symplectic, of second order. Energy comes back again and again, and the angular
momentum along the line between the two is kept to round-off, because a turn of both about it changes nothing.
"""

import numpy as np

import polhode as ph

BODIES = [ph.Body([1.0, 1.6, 2.0]), ph.Body([0.8, 1.2, 1.5])]
OMEGA = [[0.3, 1.0, 0.2], [-0.4, 0.2, 0.9]]
MOMENTS = np.array([[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]])  # of the dipoles, in body axes
STRENGTH = 0.5  # mu0 / (4 pi r^3) times the sizes of both dipoles, in J
LINE = np.array([1.0, 0.0, 0.0])  # from one to the other, in space


def dipoles(s):
    """Returns both dipoles in space axes."""
    return s.attitude.apply(MOMENTS)


def energy(s):
    """Returns the kinetic energy of both and their energy in each other's field."""
    a, b = dipoles(s)
    return s.kinetic_energy.sum() + STRENGTH * (a @ b - 3.0 * (a @ LINE) * (b @ LINE))


def torques(s):
    """Returns the torque of the field of each on the other, in space axes."""
    m = dipoles(s)
    field = STRENGTH * (3.0 * np.outer(m[::-1] @ LINE, LINE) - m[::-1])
    return np.cross(m, field)


def main(h=0.01, steps=2000):
    """Returns the largest errors of the energy, in J, and of the momentum along the line, in kg m^2/s."""
    s = ph.Stepper(BODIES, omega=OMEGA, step=h)
    energy_start, momentum_start = energy(s), s.spatial_momentum.sum(axis=0) @ LINE
    worst_energy = worst_momentum = 0.0
    torque = torques(s)
    for _ in range(steps):
        s.kick(torque, h / 2, frame="space")
        s.drift(h)
        torque = torques(s)  # once a step: the next one begins with it
        s.kick(torque, h / 2, frame="space")
        worst_energy = max(worst_energy, abs(energy(s) - energy_start))
        worst_momentum = max(worst_momentum, abs(s.spatial_momentum.sum(axis=0) @ LINE - momentum_start))
    return worst_energy, worst_momentum


if __name__ == "__main__":
    for h in (0.02, 0.01):
        error, drift = main(h, round(20.0 / h))
        print(f"step {h:g} s: energy to {error:.1e} J, momentum along the line to {drift:.0e} kg m^2/s")
