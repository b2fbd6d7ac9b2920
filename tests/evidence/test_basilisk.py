"""Torques on a body in orbit beside those of Basilisk, where it is installed (`pip install bsk`).

Basilisk moves the body along its orbit itself. Its mass is large, so that light and air do not disturb the orbit.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.environment import EARTH_MU, EARTH_RADIUS, ExponentialAir, Orbit
from polhode.torques import Torque

pytestmark = pytest.mark.evidence
pytest.importorskip("Basilisk")

BODY = ph.Body([0.020, 0.030, 0.035])
ORBIT = Orbit(7.0e6, 0.02, 51.6, 30.0, 40.0, true_anomaly_deg=75.0)
OMEGA = [1e-3, -3e-3, 2e-3]
END = 3000.0
PLATES: dict[str, Any] = {
    "areas": [0.01, 0.03, 0.02, 0.01, 0.03, 0.05],
    "normals": [[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0.6, -0.8]],
    "centres": [[0.1, 0.02, 0], [0, 0.05, 0.03], [0.01, 0.02, 0.1], [-0.1, 0.01, 0], [0, -0.05, 0.01], [0.02, 0, -0.1]],
}
MASS_KG = 1e10
TICK_SECONDS = 1.0
"""Between these times Basilisk keeps the density: with 5 s in place of 1 s, drag differs 26 times as much."""


def basilisk(effector_of: Callable[[Any, Any], Any], orbit: Orbit = ORBIT) -> Any:
    """Returns the attitude (scalar first) and the rate at the end, with the effector that a function makes."""
    from Basilisk.architecture import bskLogging
    from Basilisk.simulation import spacecraft, svIntegrators
    from Basilisk.utilities import RigidBodyKinematics, SimulationBaseClass, macros, simIncludeGravBody

    bskLogging.setDefaultLogLevel(bskLogging.BSK_ERROR)
    simulation = SimulationBaseClass.SimBaseClass()
    simulation.SetProgressBar(False)
    simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", macros.sec2nano(TICK_SECONDS)))
    craft = spacecraft.Spacecraft()
    craft.hub.mHub = MASS_KG
    craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
    craft.hub.IHubPntBc_B = np.diag(BODY.moments).tolist()
    craft.hub.r_CN_NInit = orbit.position(0.0).tolist()
    craft.hub.v_CN_NInit = orbit.velocity(0.0).tolist()
    craft.hub.sigma_BNInit = [[0.0], [0.0], [0.0]]
    craft.hub.omega_BN_BInit = [[w] for w in OMEGA]
    factory = simIncludeGravBody.gravBodyFactory()
    planet = factory.createEarth()
    planet.isCentralBody = True
    planet.mu = EARTH_MU
    factory.addBodiesTo(craft)
    integrator = svIntegrators.svIntegratorRKF78(craft)
    integrator.relTol = integrator.absTol = 1e-12
    craft.setIntegrator(integrator)
    kept = effector_of(simulation, craft)
    simulation.AddModelToTask("task", craft)
    simulation.InitializeSimulation()
    simulation.ConfigureStopTime(macros.sec2nano(END))
    simulation.ExecuteSimulation()
    message = craft.scStateOutMsg.read()
    np.testing.assert_allclose(message.r_CN_N, orbit.position(END), rtol=0, atol=0.1)
    del kept
    return np.array([*RigidBodyKinematics.MRP2EP(np.array(message.sigma_BN)), *message.omega_BN_B])


def check(torque: Torque, found: Any, tolerance: float) -> None:
    """Compares the ends of both runs, and with a free body, from which they must be far."""
    s = ph.simulate(BODY, torque, omega=OMEGA, t_span=(0, END), rtol=1e-9, t_eval=[END])
    free = ph.simulate(BODY, omega=OMEGA, t_span=(0, END), rtol=1e-9, t_eval=[END])
    q, w = s.quaternion[-1], s.omega[-1]
    angle = 2 * min(np.linalg.norm(q - found[:4]), np.linalg.norm(q + found[:4]))
    away = 2 * min(np.linalg.norm(q - free.quaternion[-1]), np.linalg.norm(q + free.quaternion[-1]))
    print(f"{torque.name}: {angle:.2g} rad between the two, {away:.2g} from a free body")
    assert away > 0.05
    assert angle < tolerance
    assert np.abs(w - found[4:]).max() < tolerance * 1e-2


def test_gravity_gradient() -> None:
    from Basilisk.simulation import GravityGradientEffector

    def make(simulation: Any, craft: Any) -> Any:
        effector = GravityGradientEffector.GravityGradientEffector()
        effector.addPlanetName("earth_planet_data")
        craft.addDynamicEffector(effector)
        simulation.AddModelToTask("task", effector)
        return effector

    check(ph.GravityGradient(orbit=ORBIT), basilisk(make), 1e-11)


SUN = (0.3, -0.5, 0.8)
FAR_AU, LARGE = 1e4, 1e9
"""The Sun is far away and the plates are large, so that it stands in one direction: Basilisk's is at a place."""


def test_sunlight() -> None:
    from Basilisk.architecture import messaging
    from Basilisk.simulation import facetSRPDynamicEffector

    def make(simulation: Any, craft: Any) -> Any:
        effector = facetSRPDynamicEffector.FacetSRPDynamicEffector()
        effector.setNumFacets(len(PLATES["areas"]))
        effector.setNumArticulatedFacets(0)
        for area, normal, centre in zip(*PLATES.values(), strict=True):
            effector.addFacet(LARGE * area, np.eye(3).tolist(), normal, [0.0, 0.0, 0.0], centre, 0.2, 0.3)
        state = messaging.SpicePlanetStateMsgPayload()
        state.PositionVector = (FAR_AU * 149597870693.0 / math.sqrt(0.98) * np.array(SUN)).tolist()
        message = messaging.SpicePlanetStateMsg().write(state)
        effector.sunInMsg.subscribeTo(message)
        craft.addDynamicEffector(effector)
        simulation.AddModelToTask("task", effector)
        return effector, message

    plates = {**PLATES, "areas": [LARGE * a for a in PLATES["areas"]]}
    pressure = 1368.0 / 299792458.0 / FAR_AU**2
    lit = ph.Facets(**plates, orbit=ORBIT, sun=SUN, specular=0.3, diffuse=0.2, pressure=pressure, shadow=False)
    check(lit, basilisk(make), 1e-7)


def test_drag() -> None:
    from Basilisk.simulation import exponentialAtmosphere, facetDragDynamicEffector

    def make(simulation: Any, craft: Any) -> Any:
        air = exponentialAtmosphere.ExponentialAtmosphere()
        air.planetRadius, air.baseDensity, air.scaleHeight = EARTH_RADIUS, 1e-10 * math.exp(500 / 60), 60e3
        air.addSpacecraftToModel(craft.scStateOutMsg)
        effector = facetDragDynamicEffector.FacetDragDynamicEffector()
        for area, normal, centre in zip(*PLATES.values(), strict=True):
            effector.addFacet(area, 2.2, normal, centre)
        effector.atmoDensInMsg.subscribeTo(air.envOutMsgs[0])
        craft.addDynamicEffector(effector)
        simulation.AddModelToTask("task", air)
        simulation.AddModelToTask("task", effector)
        return air, effector

    air = ExponentialAir(1e-10, 500e3, 60e3)
    circle = Orbit(7.0e6, 0.0, 51.6, 30.0, 40.0)  # Basilisk asks for the density between steps only: it must not change
    check(ph.Facets(**PLATES, orbit=circle, density=air, air_rate=0.0), basilisk(make, circle), 1e-5)
