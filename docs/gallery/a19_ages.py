"""
Thirty years of a satellite
===========================

A dead satellite tumbles. Eddy currents brake it most about its short axis, until its motion goes through the
separatrix: on which side of its long axis it ends depends on a phase that nobody knows after millions of turns. What
is left of a magnet turns its pole about the field, and the faster the slower it spins; on the two ways on from the
separatrix, which part there, it turns one way or the other. The middle panel has the ratio G^2 / 2T, a moment of
inertia where the body turns about that axis.
"""

import matplotlib.pyplot as plt

import polhode as ph

year = 365.25 * 86400
satellite = ph.Body([1000, 1400, 2100])
eddies = ph.LinearDamping((7e-7, 3.5e-6, 1e-5))
magnet = ph.MagneticDipole(moment=(0.3, 0, 1), field=(0, -5e-7, 8e-7))
d = ph.drift(satellite, eddies + magnet, omega=[0.05, 0, 0.09], t_span=(0, 30 * year), rtol=1e-3, beyond="both")
d.plot()
plt.show()
