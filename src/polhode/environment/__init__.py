"""Bodies in orbit: where they are, and the magnetic field, the sunlight and the air that they meet there.

    orbit = polhode.environment.Orbit(semi_major_axis=6.8e6, inclination_deg=51.6)

Orbits are prescribed: the attitude does not change them. All vectors are in space axes, of which the third is the axis
of the planet. The torques that use all this are `polhode.GravityGradient`, `polhode.MagneticDipole` and
`polhode.Facets`. Fields and densities that come from other packages (`pip install 'polhode[environment]'`) are put into
tables along the orbit when a run begins; these packages are imported there only.

Examples
--------
>>> low = ph.environment.Orbit(semi_major_axis=6.8e6, inclination_deg=51.6)
>>> ph.GravityGradient(orbit=low).name
'GravityGradient'
"""

from polhode.environment.air import MSIS, Air, ExponentialAir
from polhode.environment.field import IGRF, DipoleField, Field
from polhode.environment.orbit import Orbit, OrbitTable, Path
from polhode.environment.planet import EARTH_MU, EARTH_RADIUS, EARTH_RATE, sidereal_angle
from polhode.environment.shadow import eclipses
from polhode.environment.sun import SOLAR_PRESSURE, Sun

__all__ = [
    "EARTH_MU", "EARTH_RADIUS", "EARTH_RATE", "IGRF", "MSIS", "SOLAR_PRESSURE", "Air", "DipoleField", "ExponentialAir",
    "Field", "Orbit", "OrbitTable", "Path", "Sun", "eclipses", "sidereal_angle",
]  # fmt: skip
