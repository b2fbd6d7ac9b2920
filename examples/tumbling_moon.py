"""A moon that tumbles, and whose attitude changes its orbit: `python examples/tumbling_moon.py`.

A long body goes round a planet on an eccentric orbit, as Hyperion round Saturn. The planet turns it, and pulls a body
that lies along the line to it a little more than one that lies across: so rotation and orbit exchange energy and
angular momentum, and only their sums are kept.
"""

import math

import numpy as np

import polhode as ph

PERIOD = 2 * math.pi  # of a circular orbit of radius one, with mu = 1

moon = ph.System(
    ph.Body([1.0e-3, 1.2e-3, 1.85e-3]),
    mass=1.0,
    position=[[0.9, 0.0, 0.0]],
    velocity=[[0.0, math.sqrt(1.1 / 0.9), 0.02]],
    omega=[[0.2, 0.5, 0.8]],
)
times = np.linspace(0.0, 10 * PERIOD, 201)
s = ph.simulate_system(moon, ph.systems.CentralBody(1.0), t_span=(0.0, times[-1]), rtol=1e-9, t_eval=times)

spin = s.spatial_momentum[:, 0]
orbit = s.total_angular_momentum - spin
print(f"{s.method} with a step of {s.step:.3g}; the error is at most {s.error_estimate:.1e}")
print(f"largest change of the spin                 {np.linalg.norm(spin - spin[0], axis=1).max():.2e}")
print(f"largest change of that of the orbit        {np.linalg.norm(orbit - orbit[0], axis=1).max():.2e}")
print(f"largest change of their sum                {s.invariant_errors['angular momentum'].max():.2e}")
print(f"largest relative change of the energy      {s.energy_error.max():.2e}")
