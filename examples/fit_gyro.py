"""The inertia of a tumbling satellite from its gyros and a star tracker, while a dipole of its own disturbs it.

Rates come ten times in ten seconds, attitudes once; some are wrong. Moments of the guess are up to a quarter off, and
nothing is known of the dipole. Only ratios of moments and dipole show in the motion, so one moment must be known: that
about z, from a measurement on the ground.
"""

import numpy as np
from scipy.spatial.transform import Rotation

import polhode as ph

rng = np.random.default_rng(3)
FIELD = (1.2e-5, -0.4e-5, 2.8e-5)  # T, in space axes, over a short arc

truth = ph.Body([0.9, 1.4, 1.7])
leak = ph.MagneticDipole(moment=(12.0, -5.0, 20.0), field=FIELD)
fast, slow = np.arange(0.0, 400.0, 1.0), np.arange(0.5, 400.0, 10.0)
start = Rotation.from_rotvec([0.4, -0.2, 0.9])


def motion(t: np.ndarray) -> ph.Solution:
    """The true motion at these times."""
    return ph.simulate(truth, leak, omega=[0.02, 0.05, 0.03], attitude=start, t_span=(0, 400), t_eval=t, rtol=1e-9)


gyros = {"t": fast, "omega": motion(fast).omega + 1e-4 * rng.normal(size=(fast.size, 3)), "sigma_omega": 1e-4}
noise = 2e-4 * rng.normal(size=(slow.size, 3))
tracker = {"t": slow, "attitude": motion(slow).attitude * Rotation.from_rotvec(noise), "sigma_attitude": 2e-4}
gyros["omega"][rng.choice(fast.size, 12, replace=False)] += 0.05 * rng.normal(size=(12, 3))

found = ph.fit(
    ph.Body([1.1, 1.2, 1.7]),
    [gyros, tracker],
    free=["ratios", "omega", "attitude", "torque.moment"],
    torque=ph.MagneticDipole(moment=(5.0, 5.0, 5.0), field=FIELD),
    loss="soft_l1",
)
if __name__ == "__main__":
    print(found)
