"""
Thirty years of a satellite
===========================

A dead satellite tumbles. Eddy currents brake it most about its short axis, until its motion goes through the
separatrix: on which side of its long axis it ends depends on a phase that nobody knows after millions of turns. The
middle panel has the ratio G^2 / 2T, which is a moment of inertia where the body turns about that axis.
"""

import matplotlib.pyplot as plt

import polhode as ph

year = 365.25 * 86400
satellite = ph.Body([1000, 1400, 2100])
eddies = ph.LinearDamping((7e-7, 3.5e-6, 1e-5))
d = ph.drift(satellite, eddies, omega=[0.05, 0, 0.09], t_span=(0, 30 * year), rtol=1e-3, beyond="both")
d.plot()
plt.show()
