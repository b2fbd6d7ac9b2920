"""JSBSim: a body without aerodynamics over a planet that does not turn. The default step is 1/120 s, by Euler's rule.

The attitude is that in the axes at the start: free motions do not depend on which axes of space these are.
"""

import tempfile
from pathlib import Path
from typing import Any

import jsbsim
import numpy as np
from _case import Case, main, quaternion

VARIANTS = {
    "default": (1 / 120, None),
    "Adams-Bashforth 4 and Buss 2, 1/120 s": (1 / 120, (5, 7)),
    "Adams-Bashforth 4 and Buss 2, 1/1200 s": (1 / 1200, (5, 7)),
}

PLANET = """<planet name="still"><equatorial_radius unit="FT">20925646</equatorial_radius>
<polar_radius unit="FT">20925646</polar_radius><rotation_rate unit="RAD/SEC">0</rotation_rate>
<GM unit="FT3/SEC2">1.4e16</GM><J2>0</J2></planet>"""
AIRCRAFT = """<fdm_config name="body" version="2.0"><metrics><wingarea unit="M2">1</wingarea>
<wingspan unit="M">1</wingspan><chord unit="M">1</chord>
<location name="AERORP" unit="M"><x>0</x><y>0</y><z>0</z></location></metrics><mass_balance>
<ixx unit="KG*M2">{}</ixx><iyy unit="KG*M2">{}</iyy><izz unit="KG*M2">{}</izz><emptywt unit="KG">1</emptywt>
<location name="CG" unit="M"><x>0</x><y>0</y><z>0</z></location></mass_balance>
<ground_reactions/><propulsion/><aerodynamics/></fdm_config>"""


def run(case: Case, setting: tuple[float, tuple[int, int] | None]) -> tuple[list[Any], list[Any]]:
    usual, integrators = setting
    count, step = case.steps(usual)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "aircraft" / "body").mkdir(parents=True)
        (folder / "aircraft" / "body" / "body.xml").write_text(AIRCRAFT.format(*map(repr, case.moments)))
        (folder / "still.xml").write_text(PLANET)
        engine = jsbsim.FGFDMExec(place)
        engine.set_debug_level(0)
        engine.load_planet(str(folder / "still.xml"), False)
        engine.load_model("body")
    engine.set_dt(step)
    if integrators:
        for name, kind in zip(("rate", "position"), integrators, strict=True):
            engine[f"simulation/integrator/{name}/rotational"] = kind
    engine["ic/h-sl-ft"] = 1e7
    for name, w in zip("pqr", case.omega, strict=True):
        engine[f"ic/{name}-rad_sec"] = w
    engine.run_ic()
    first = np.array(engine.get_propagate().get_Tec2b())
    q, rates = [], []
    for row in range(len(case.t)):
        for _ in range(count if row else 0):
            engine.run()
        turn = first @ np.array(engine.get_propagate().get_Tec2b()).T
        q.append(_product(case.attitude, quaternion(turn)))
        rates.append([engine[f"velocities/{name}i-rad_sec"] for name in "pqr"])
    return q, rates


def _product(p: Any, q: Any) -> list[float]:
    scalar = p[0] * q[0] - np.dot(p[1:], q[1:])
    vector = p[0] * np.asarray(q[1:]) + q[0] * np.asarray(p[1:]) + np.cross(p[1:], q[1:])
    return [scalar, *vector]


if __name__ == "__main__":
    main(run, VARIANTS)
