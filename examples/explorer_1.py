"""Explorer 1's flat spin: a long satellite, spun up about its axis, ends up tumbling end over end.

The first satellite of the United States (1958) was a cylinder of 205.1 cm by 15.2 cm and 13.97 kg, spun up to
about 750 revolutions a minute about its long axis, of least inertia. Four whip antennas bent as it wobbled and turned
energy into heat; the momentum was kept, the energy fell, and a body with the least energy for its momentum spins about
its axis of greatest inertia (bracewell1958). Length, diameter and mass are published; the moments here are those of a
uniform cylinder. One ring that lags behind stands for the antennas. Its inertia and friction and the wobble at the
start are illustrative, chosen so that the flat spin comes within two hours, which is about one orbit.

    python examples/explorer_1.py
"""

import math

import numpy as np

import polhode as ph

MASS, LENGTH, DIAMETER, SPIN_RPM = 13.97, 2.051, 0.152, 750.0
LONG = MASS * DIAMETER**2 / 8
ACROSS = MASS * (3 * (DIAMETER / 2) ** 2 + LENGTH**2) / 12
SATELLITE = ph.Body([ACROSS, ACROSS, LONG], name="Explorer 1")
"""Moments in kg m^2, with the ring locked: 4.8 across the long axis and 0.044 along it."""

ANTENNAS = ph.Damper(spin_axis=(1.0, 0.0, 0.0), inertia=0.03, viscous=1.5)
WOBBLE_DEG = 2.0
"""The angle between the momentum and the long axis at the start."""
HOURS = 2.0


def flat_spin() -> ph.Solution:
    """Returns the motion, with a row every ten seconds."""
    spin = SPIN_RPM * 2 * math.pi / 60
    omega = [spin * math.tan(math.radians(WOBBLE_DEG)) * LONG / ACROSS, 0.0, spin]
    times = np.arange(0.0, HOURS * 3600.0 + 1.0, 10.0)
    return ph.simulate(
        ANTENNAS.carrier(SATELLITE), ANTENNAS, omega=omega, t_span=(0.0, times[-1]), t_eval=times, rtol=1e-6
    )


def main() -> None:
    """Prints how the energy falls and the satellite lies down."""
    s = flat_spin()
    momentum = s.total_momentum
    energy = s.kinetic_energy + ANTENNAS.carried_energy(s.state)
    size = float(np.linalg.norm(momentum[0]))
    angle = np.degrees(np.arccos(s.attitude.apply([0.0, 0.0, 1.0]) @ (momentum[0] / size)))
    print(s)
    print("\n    time (min)   energy (J)   long axis from the momentum (deg)")
    for k in range(0, s.t.size, 72):
        print(f"    {s.t[k] / 60:10.0f} {energy[k]:12.3f} {angle[k]:12.1f}")
    print(f"\n    least energy for this momentum, |H|^2 / 2 I: {size**2 / (2 * ACROSS):.3f} J")
    print(f"    momentum kept to {np.abs(momentum - momentum[0]).max() / size:.1e}")


if __name__ == "__main__":
    main()
