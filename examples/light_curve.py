"""How a rocket stage tumbles, from its light curve alone: `python examples/light_curve.py`.

A spent stage is a long cylinder, of which body and mass are known. A telescope sees its brightness in three passes with
gaps between them, to 1 %. Nothing is known of how it turns, but that it does so once in ten seconds to two minutes.
"""

import math

import numpy as np

import polhode as ph

LENGTH, RADIUS = 11.0, 1.5
SUN, EYE = np.array([0.9, 0.1, 0.42]), np.array([0.3, 0.95, -0.1])
SUN, EYE = SUN / np.linalg.norm(SUN), EYE / np.linalg.norm(EYE)
tank = ph.Body.cylinder(1500.0, RADIUS, LENGTH, inner=RADIUS)
engine = ph.Body.ellipsoid(400.0, [0.5, 0.7, 0.6])
stage = ph.Body.sum(tank, engine.placed([0.3, 0.2, -5.5]), (60.0, [1.5, 0.0, 2.0]))


def brightness(t, attitude, omega, p):
    """A white cylinder and its two ends, which scatter light as Lambert's law says; p[1] is how bright the ends are."""
    sun, eye = (attitude.inv().apply(x) for x in (SUN, EYE))
    flat = np.hypot(sun[:, 0], sun[:, 1]) * np.hypot(eye[:, 0], eye[:, 1])
    phase = np.arccos(np.clip((sun[:, 0] * eye[:, 0] + sun[:, 1] * eye[:, 1]) / np.maximum(flat, 1e-12), -1.0, 1.0))
    side = RADIUS * LENGTH * flat * ((math.pi - phase) * np.cos(phase) + np.sin(phase)) / 2.0
    ends = math.pi * RADIUS**2 * np.maximum(sun[:, 2] * eye[:, 2], 0.0)
    fore = np.where(sun[:, 2] > 0.0, p[1], p[2])  # the engine end is darker
    return p[0] * (side + fore * ends)


rng = np.random.default_rng(1)
truth = ph.FreeMotion(stage, omega=[0.14, -0.05, 0.06], attitude=ph.quaternion_from_euler("ZXZ", [0.5, 1.2, -2.0]))
t = np.concatenate([start + np.sort(rng.uniform(0.0, 130.0, 70)) for start in (0.0, 200.0, 400.0)])
seen = brightness(t, truth.at(t).attitude, truth.at(t).omega, [1.0, 1.0, 0.4])
data = {"t": t, "y": seen * (1.0 + 0.01 * rng.normal(size=t.size)), "sigma_y": 0.01 * seen}

found = ph.fit(
    stage, data, observe=brightness, p=[1.0, 1.0, 0.5], free=["omega", "attitude", "p"],
    search=(2 * math.pi / 120, 2 * math.pi / 10), draws=6000, seed=1,
)  # fmt: skip
print(found)
print()
for name, motion in (("true", truth), ("found", found.motion)):
    phi, psi = motion.observed_periods()
    print(f"{name:>6}: P_phi {phi:.4f} s, P_psi {psi:.3f} s, {motion.mode} mode")
