"""Makes the check cases, src/polhode/cases.json: `python -m tests.authorities.make_cases`, a quarter of an hour.

Free motions are proven (`motion.at(t, proven=True)`); all others come from Taylor series with 40 digits (taylor.py).
"""

import hashlib
import json
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import flint
import numpy as np

import polhode as ph
from polhode import cases
from polhode.support.arrays import inverse, product, to_space
from tests.authorities import free_regimes
from tests.authorities.taylor import Springs, Taylor, Torque, cross, dot, exact, seen_from_body

ROWS = 11
DIGITS = 30
"""The digits in the file; those of the rate are counted from its greatest component."""

Definition = dict[str, Any]

FREE = {
    "generic": "A tumbling body with three different moments.",
    "near_separatrix": "A tumbling body near the separatrix: it stays near its middle axis for long, then flips.",
    "on_separatrix": "A body on the separatrix but for rounding: which way it turns is decided by the last digits.",
    "one_ulp_from_separatrix": "One unit in the last place from the separatrix.",
    "near_axis": "A body that turns nearly about a principal axis.",
    "on_axis": "A steady rotation about a principal axis.",
    "oblate": "A symmetric body, flat: regular precession.",
    "prolate": "A symmetric body, long: regular precession.",
    "nearly_symmetric": "Two moments that are nearly equal.",
    "equator": "A symmetric body that turns about an axis of its equator.",
    "sphere": "Three equal moments: a steady rotation.",
    "nearly_sphere": "Three moments that are nearly equal: the axis wanders slowly.",
    "disk": "A flat body: the greatest moment is the sum of the others.",
    "needle": "A thin body, whose least moment is far below the others.",
    "many_turns": "A million turns and more: what a step loses adds up.",
}
"""The regimes of free bodies."""


def free() -> Iterator[Definition]:
    """Free motions of every regime, and of bodies that have names."""
    for regime, about in FREE.items():
        for i, p in enumerate(free_regimes.cases(regime, 7, seed=2026)):
            yield {
                "name": f"free-{regime.replace('_', '-')}-{i + 1}",
                "group": "free",
                "about": about,
                "body": {"moments": list(p.inertia)},
                "omega": list(p.omega),
                "span": abs(p.t),
            }
    for name, about, moments, omega, span in (
        ("wing-nut", "A wing nut in weightlessness, which turns over again and again.", (1, 2, 2.8), (0.005, 5, 0), 40),
        ("book", "A book that is thrown up, spinning about its middle axis.", (1, 3.25, 4.25), (0.02, 9, 0.01), 6),
        (
            "brick",
            "The tumbling brick of NASA's check cases for flight simulators, without air.",
            (0.002568, 0.008421, 0.009755),
            (math.radians(10), math.radians(20), math.radians(30)),
            30,
        ),
        ("racket", "A tennis racket, tossed about its middle axis.", (0.0010, 0.0164, 0.0174), (0.1, 12.0, 0.2), 3),
        (
            "toutatis",
            "An asteroid in long-axis mode, ratios of moments as of 4179 Toutatis; the unit of time is a day.",
            (1.0, 3.0836, 3.2178),
            (1.1524, 0.2, 0.35),
            100,
        ),
    ):
        yield {
            "name": f"free-{name}",
            "group": "free",
            "about": about,
            "body": {"moments": list(moments)},
            "omega": list(omega),
            "span": span,
        }


def euler(tilt_deg: float, psi_deg: float = 20.0) -> list[float]:
    """The quaternion of a body whose third axis is tilted from the vertical."""
    a, b = math.radians(tilt_deg) / 2, math.radians(psi_deg) / 2
    return [math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), -math.sin(a) * math.sin(b), math.cos(a) * math.sin(b)]


TOP, EGG, ODD = (1.0, 1.0, 0.4), (0.5, 0.5, 0.8), (1.0, 1.4, 2.1)
TILTED = [[2.0, 0.1, -0.2], [0.1, 1.5, 0.15], [-0.2, 0.15, 2.5]]


def tops() -> Iterator[Definition]:
    """Bodies under a weight, held at a point."""
    for name, about, moments, weight, point, omega, attitude, span in (
        (
            "sleeping",
            "A top that sleeps upright: fast enough to be stable.",
            TOP,
            1,
            (0, 0, 1),
            (1e-3, 0, 8),
            euler(0.1),
            10,
        ),
        (
            "waking",
            "A top that is too slow to sleep: it falls and rises again.",
            TOP,
            1,
            (0, 0, 1),
            (1e-3, 0, 4),
            euler(0.1),
            15,
        ),
        ("fast", "A fast top, released without precession: cusps.", TOP, 1, (0, 0, 0.5), (0, 0, 30), euler(40), 8),
        ("regular", "A top that precesses almost regularly.", TOP, 1, (0, 0, 0.5), (0.0, 0.07, 18), euler(40), 8),
        ("looping", "A top that precesses in loops.", TOP, 1, (0, 0, 0.5), (0.4, -0.3, 12), euler(50), 8),
        ("oblate", "A flat top on its point.", EGG, 2, (0, 0, 0.3), (0.1, 0.2, 15), euler(30), 8),
        (
            "hanging",
            "A body that hangs from a point and swings: a spherical pendulum with a spin.",
            TOP,
            3,
            (0, 0, 1),
            (0.5, 0.2, 1),
            euler(160),
            10,
        ),
        ("pendulum", "A body that swings about a horizontal axis.", ODD, 3, (0, 0, 1), (0, 0, 0), euler(170, 0), 10),
        (
            "overturning",
            "A body that goes over the top now and then: chaotic.",
            ODD,
            3,
            (0.1, 0.2, 0.9),
            (0.3, 2.0, 1.0),
            euler(100),
            10,
        ),
        ("asymmetric", "A top with three different moments.", ODD, 1, (0.05, 0, 0.3), (0.2, 0.1, 12), euler(35), 8),
        (
            "kovalevskaya",
            "Kovalevskaya's top: moments 2, 2, 1, its centre of mass on the equator.",
            (2, 2, 1),
            1,
            (1, 0, 0),
            (0.3, 0.5, 2.0),
            euler(60),
            12,
        ),
        (
            "goryachev",
            "A body with moments 4, 4, 1 and its centre of mass on the equator: Goryachev and Chaplygin.",
            (4, 4, 1),
            1,
            (1, 0, 0),
            (0.3, 0.4, 2.5),
            euler(60),
            12,
        ),
        (
            "sideways",
            "A weight that pulls along no axis of space.",
            ODD,
            1.5,
            (0.2, -0.1, 0.3),
            (0.5, -0.6, 1.5),
            euler(25, 70),
            10,
        ),
    ):
        down = [0.6, 0.0, -0.8] if name == "sideways" else [0.0, 0.0, -1.0]
        yield {
            "name": f"top-{name}",
            "group": "top",
            "about": about,
            "body": {"moments": list(moments)},
            "torque": {"model": "HeavyTop", "weight": float(weight), "point": list(map(float, point)), "down": down},
            "omega": list(omega),
            "attitude": attitude,
            "span": span,
        }
    yield {
        "name": "top-tensor",
        "group": "top",
        "about": "A top whose tensor has products of inertia.",
        "body": {"tensor": TILTED},
        "omega": [0.4, -0.3, 3.0],
        "attitude": euler(50),
        "span": 10,
        "torque": {"model": "HeavyTop", "weight": 2.0, "point": [0.1, 0.0, 0.4], "down": [0.0, 0.0, -1.0]},
    }


def gyrostats() -> Iterator[Definition]:
    """Bodies with a constant internal momentum."""
    for name, about, rotor, omega in (
        ("short-axis", "A rotor along the axis of the greatest moment.", (0, 0, 0.6), (0.3, -0.2, 0.5)),
        ("long-axis", "A rotor along the axis of the least moment.", (0.5, 0, 0), (0.3, -0.2, 0.5)),
        ("middle-axis", "A rotor along the middle axis, which it makes stable.", (0, 1.5, 0), (0.05, 0.6, 0.02)),
        ("against", "A rotor against the spin.", (0, 0, -0.9), (0.2, 0.1, 0.6)),
        ("oblique", "A rotor along no principal axis.", (0.3, -0.4, 0.5), (0.3, -0.2, 0.5)),
        ("dual-spin", "A dual-spin satellite: a fast rotor, and a slow body.", (0.1, 0, 4.0), (0.05, 0.03, 0.01)),
    ):
        yield {
            "name": f"gyrostat-{name}",
            "group": "gyrostat",
            "about": about,
            "omega": list(omega),
            "span": 15,
            "body": {"moments": list(ODD), "rotor": list(map(float, rotor))},
        }
    yield {
        "name": "gyrostat-tensor",
        "group": "gyrostat",
        "about": "A rotor in a body with products of inertia.",
        "body": {"tensor": TILTED, "rotor": [0.5, 0.2, -0.8]},
        "omega": [0.3, 0.4, 0.5],
        "span": 15,
    }
    yield {
        "name": "gyrostat-top",
        "group": "gyrostat",
        "about": "A rotor in a body under a weight.",
        "body": {"moments": list(ODD), "rotor": [0.0, 0.0, 3.0]},
        "omega": [0.2, 0.1, 0.5],
        "attitude": euler(40),
        "torque": {"model": "HeavyTop", "weight": 1.0, "point": [0.0, 0.0, 0.3], "down": [0.0, 0.0, -1.0]},
        "span": 12,
    }


def orbits() -> Iterator[Definition]:
    """Bodies in the gravity of a planet."""
    n = 1.1e-3
    for name, about, moments, omega, attitude in (
        (
            "libration",
            "A long satellite that librates about the vertical.",
            (100.0, 90.0, 20.0),
            (0, 0, 1.3e-3),
            euler(0, 0),
        ),
        (
            "wide-libration",
            "A libration in all three directions.",
            (80.0, 100.0, 40.0),
            (3e-4, 2e-4, 1.5e-3),
            euler(20, 30),
        ),
        (
            "unstable",
            "A satellite with its long axis across the orbit: it turns over.",
            (20.0, 100.0, 90.0),
            (1e-5, 0, 1.1e-3),
            euler(2, 90),
        ),
        ("tumbling", "A satellite that tumbles slowly.", (30.0, 70.0, 90.0), (2e-3, 5e-3, 3e-3), euler(40)),
        (
            "spinning",
            "A spin-stabilised satellite, whose axis precesses.",
            (60.0, 60.0, 100.0),
            (0, 0, 0.02),
            euler(30),
        ),
        ("needle", "A boom, which the gradient pulls upright.", (100.0, 100.0, 0.5), (0, 2e-4, 1e-3), euler(15, 10)),
    ):
        yield {
            "name": f"orbit-{name}",
            "group": "orbit",
            "about": about,
            "body": {"moments": list(moments)},
            "torque": {
                "model": "OrbitalGravityGradient",
                "orbital_rate": n,
                "normal": [0.0, 0.0, 1.0],
                "towards": [1.0, 0.0, 0.0],
            },
            "omega": list(omega),
            "attitude": attitude,
            "span": 4000 if name in ("tumbling", "spinning") else 11000,
        }
    for name, about, e, moments, omega in (
        ("eccentric", "A satellite on an orbit of eccentricity 0.2.", 0.2, (80.0, 100.0, 40.0), (3e-4, 2e-4, 1.2e-3)),
        (
            "very-eccentric",
            "A satellite on a transfer orbit of eccentricity 0.7.",
            0.7,
            (30.0, 70.0, 90.0),
            (1e-4, 2e-4, 1.5e-3),
        ),
        (
            "hyperion",
            "A moon like Hyperion, on an orbit of eccentricity 0.1: it tumbles chaotically.",
            0.1,
            (57.0, 80.0, 100.0),
            (1e-4, 1e-4, 9e-4),
        ),
    ):
        yield {
            "name": f"orbit-{name}",
            "group": "orbit",
            "about": about,
            "body": {"moments": list(moments)},
            "torque": {
                "model": "GravityGradient",
                "orbit": {"semi_major_axis": 8e6, "eccentricity": e, "mu": 4e14, "radius": 1e5},
            },
            "omega": list(omega),
            "attitude": euler(20, 30),
            "span": 9000,
        }


def others() -> Iterator[Definition]:
    """Dampers, magnets, and torques that are given."""
    for name, about, coefficient in (
        (
            "drag",
            "Drag, equal about all axes: the rate falls, its direction wanders.",
            [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]],
        ),
        ("drag-axes", "Drag that differs from axis to axis.", [[0.05, 0, 0], [0, 0.3, 0], [0, 0, 0.15]]),
        ("drag-tensor", "Drag with a full matrix.", [[0.2, 0.05, 0.0], [0.05, 0.1, -0.02], [0.0, -0.02, 0.3]]),
    ):
        yield {
            "name": f"damped-{name}",
            "group": "damped",
            "about": about,
            "body": {"moments": list(ODD)},
            "torque": {"model": "LinearDamping", "coefficient": coefficient},
            "omega": [1.0, 0.8, 1.5],
            "span": 12,
        }
    for name, about, axis, spring, omega in (
        (
            "ring",
            "A ring in a fluid takes the nutation out of a spin about the short axis.",
            (1, 0, 0),
            0.0,
            (0.1, 0.05, 2.0),
        ),
        (
            "ring-flips",
            "A ring in a fluid: a spin about the long axis is unstable with it.",
            (0, 1, 0),
            0.0,
            (2.0, 0.1, 0.05),
        ),
        ("spring", "A ring on a spring in a fluid.", (1, 0, 0), 0.3, (0.2, 0.1, 1.5)),
    ):
        yield {
            "name": f"damped-{name}",
            "group": "damped",
            "about": about,
            "body": {"moments": list(ODD)},
            "torque": {
                "model": "Damper",
                "spin_axis": list(map(float, axis)),
                "inertia": 0.1,
                "viscous": 0.05,
                "spring": spring,
            },
            "omega": list(omega),
            "span": 15,
        }
    for name, about, moment, field, omega, attitude in (
        ("compass", "A magnet that swings in a field.", (0, 0, 2), (0, 0, 1), (0.1, 0.2, 0.0), euler(60)),
        (
            "spinning",
            "A spinning body with a magnet along its axis: it precesses about the field.",
            (0, 0, 1.5),
            (0.8, 0, 0.6),
            (0, 0, 6),
            euler(30),
        ),
        (
            "oblique",
            "A magnet along no principal axis.",
            (0.5, -0.7, 0.4),
            (0.3, 0.9, -0.4),
            (0.4, 0.1, 0.8),
            euler(80),
        ),
    ):
        yield {
            "name": f"magnet-{name}",
            "group": "magnet",
            "about": about,
            "body": {"moments": list(ODD)},
            "torque": {"model": "MagneticDipole", "moment": list(map(float, moment)), "field": list(map(float, field))},
            "omega": list(omega),
            "attitude": attitude,
            "span": 12,
        }
    for name, about, torque, moments, omega in (
        (
            "thruster",
            "A constant torque in body axes about the short axis: spin-up.",
            {"model": "ConstantBodyTorque", "vector": [0.0, 0.0, 0.4]},
            ODD,
            (0.1, 0.05, 0.0),
        ),
        (
            "thruster-middle",
            "A constant torque about the middle axis: the body does not stay on it.",
            {"model": "ConstantBodyTorque", "vector": [0.0, 0.4, 0.0]},
            ODD,
            (0.01, 0.0, 0.02),
        ),
        (
            "thruster-oblique",
            "A constant torque in body axes, along no principal axis.",
            {"model": "ConstantBodyTorque", "vector": [0.2, -0.3, 0.25]},
            ODD,
            (0.5, 0.2, -0.4),
        ),
        (
            "thruster-symmetric",
            "A misaligned thruster on a spinning symmetric body: the axis drifts.",
            {"model": "ConstantBodyTorque", "vector": [0.05, 0.0, 0.02]},
            EGG,
            (0.0, 0.0, 5.0),
        ),
        (
            "pull",
            "A torque that is constant in space: the momentum grows along it.",
            {"model": "ConstantSpaceTorque", "vector": [0.3, 0.1, -0.2]},
            ODD,
            (0.2, 0.4, 0.3),
        ),
        (
            "shaken",
            "A torque that oscillates.",
            {"model": "SinusoidalTorque", "amplitude": [0.5, 0.3, -0.4], "angular_frequency": 2.5, "phase": 0.4},
            ODD,
            (0.3, 0.1, 0.6),
        ),
        (
            "resonant",
            "A torque that oscillates near the period of the body.",
            {"model": "SinusoidalTorque", "amplitude": [0.1, 0.0, 0.0], "angular_frequency": 1.08, "phase": 0.0},
            EGG,
            (0.1, 0.0, 1.8),
        ),
    ):
        yield {
            "name": f"given-{name}",
            "group": "given",
            "about": about,
            "body": {"moments": list(moments)},
            "torque": torque,
            "omega": list(omega),
            "span": 12,
        }


def changing() -> Iterator[Definition]:
    """Bodies whose tensor changes."""
    weight = {"model": "HeavyTop", "weight": 1.0, "point": [0.0, 0.0, 0.3], "down": [0.0, 0.0, -1.0]}
    push = {"model": "ConstantBodyTorque", "vector": [0.1, -0.2, 0.15]}
    drag = {"model": "LinearDamping", "coefficient": [[0.05, 0, 0], [0, 0.1, 0], [0, 0, 0.15]]}
    still, spread = [9.0, 8.0, 5.0], [16.0, 9.0, 11.0]
    other = [[2.6, -0.2, 0.1], [-0.2, 1.8, 0.3], [0.1, 0.3, 2.2]]
    listed: tuple[tuple[str, str, Any, Any, Any, Definition], ...] = (
        ("boom", "A boom comes out along the short axis of a tumbling body.", (0, 12), (ODD, (3, 3.4, 2.1)),
         (0.4, 0.7, 1.2), {}),
        ("spin-down", "A body spins about one axis, whose moment grows.", (0, 10), (ODD, (2.0, 2.2, 3.5)),
         (0, 0, 2.0), {}),
        ("skater", "Arms are drawn in and spread again: kinks in between.", (0, 4, 7, 12),
         ((3, 2.8, 2), (2.4, 2.3, 0.8), (2.4, 2.3, 0.8), (3, 2.8, 2)), (0.1, 0.15, 1.5), {}),
        ("panels", "Panels spring open at once: the momentum stays, the rate jumps.", (0, 4.3, 4.3, 12),
         (still, still, spread, spread), (0.2, 0.1, 0.8), {}),
        ("swap", "The middle axis becomes the long one: the kind of the motion changes.", (0, 12),
         ((1, 1.4, 2.1), (1.6, 1.2, 2.2)), (0.1, 1.0, 0.05), {}),
        ("through-symmetric", "A body is symmetric for an instant.", (0, 12), ((1, 1.3, 1.9), (1.3, 1, 1.9)),
         (0.6, 0.3, 1.0), {}),
        ("burn", "A tank empties: all moments fall to a third.", (0, 12), (ODD, (0.35, 0.5, 0.7)), (0.2, 0.3, 0.5), {}),
        ("saw", "A tensor that goes to and fro.", (0, 2, 4, 6, 8, 10, 12), (ODD, (1.2, 1.3, 1.9)) * 3 + (ODD,),
         (0.3, 0.9, 0.4), {}),
        ("weight", "A top whose moments grow.", (0, 10), (TOP, (1.3, 1.2, 0.6)), (0.2, 0.1, 10.0),
         {"torque": weight, "attitude": euler(40)}),
        ("thruster", "A constant torque in body axes on a body that changes.", (0, 12), (ODD, (1.5, 1.2, 2.4)),
         (0.3, 0.1, -0.2), {"torque": push}),
        ("drag", "Drag on a body that changes, with a jump.", (0, 5.1, 5.1, 12), (ODD, ODD, (1.4, 1.8, 2.0), ODD),
         (1.0, 0.8, 1.5), {"torque": drag}),
        ("tilt", "Principal axes turn in the body as products of inertia grow.", (0, 5, 12), [TILTED, other, TILTED],
         (0.3, 0.8, 0.5), {}),
    )  # fmt: skip
    for name, about, times, moments, omega, more in listed:
        rows = {"tensor": moments} if name == "tilt" else {"moments": [[float(x) for x in row] for row in moments]}
        yield {
            "name": f"changing-{name}", "group": "changing", "about": about, "omega": list(omega), "span": times[-1],
            "body": {"times": [float(t) for t in times], **rows}, **more,
        }  # fmt: skip


def turned(degrees: float, axis: Sequence[float]) -> list[float]:
    """The quaternion of a turn about an axis."""
    half = math.radians(degrees) / 2
    size = math.sqrt(sum(x * x for x in axis))
    return [math.cos(half), *(math.sin(half) * x / size for x in axis)]


def wheels() -> Iterator[Definition]:
    """Bodies that wheels turn: slews, detumbling, friction."""
    three, pyramid = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0, 1], [0, 1, 1], [-1, 0, 1], [0, -1, 1]]
    fast = [60.0, -40.0, 80.0]
    listed: tuple[tuple[str, str, Any, Any, Any, Definition], ...] = (
        ("slew", "One wheel turns a satellite at rest by 60 degrees about its middle axis, and stops it.",
         [[0, 1, 0]], (0, 0, 0), turned(60, (0, 1, 0)), {"attitude_gain": 1.5, "rate_gain": 6.0}),
        ("slew-oblique", "Three wheels turn a satellite at rest by 150 degrees about no principal axis.",
         three, (0, 0, 0), turned(150, (1, -2, 1.5)), {"attitude_gain": 2.0, "rate_gain": 7.0}),
        ("slew-loaded", "A slew with wheels that run already: their momentum turns with the body.",
         three, (0, 0, 0), turned(90, (1, 1, 0)), {"attitude_gain": 2.0, "rate_gain": 7.0, "speeds": fast}),
        ("pyramid", "Four wheels in a pyramid stop a tumbling satellite and point it.",
         pyramid, (0.1, -0.2, 0.15), turned(100, (0.3, 1, -0.4)), {"attitude_gain": 1.5, "rate_gain": 8.0}),
        ("detumble", "Wheels take up the momentum of a tumbling satellite.",
         three, (0.3, 0.2, -0.4), [1, 0, 0, 0], {"rate_gain": 4.0}),
        ("coasting", "Wheels that no motor turns keep their momenta: a gyrostat.",
         three, (0.1, 0.3, 0.05), [1, 0, 0, 0], {"speeds": fast}),
        ("friction", "Wheels run down in their bearings, and the body takes their momentum.",
         three, (0, 0, 0.01), [1, 0, 0, 0], {"speeds": fast, "viscous": 0.004}),
        ("despin", "A wheel along the long axis runs down, and the body spins up about that axis.",
         [[1, 0, 0]], (0.01, 0.02, 0.0), [1, 0, 0, 0], {"speeds": [200.0], "viscous": 0.01}),
    )  # fmt: skip
    for name, about, axes, omega, attitude, more in listed:
        yield {
            "name": f"wheels-{name}", "group": "wheels", "about": about, "omega": list(omega), "span": 30,
            "body": {"moments": [10.0, 12.0, 15.0]}, "attitude": list(map(float, attitude)),
            "torque": {
                "model": "ReactionWheels", "axes": [list(map(float, a)) for a in axes], "inertias": 0.05,
                "speeds": [0.0] * len(axes), "attitude_gain": 0.0, "rate_gain": 0.0, "viscous": 0.0, **more,
            },
        }  # fmt: skip


def further() -> Iterator[Definition]:
    """One more of several groups: products of inertia, resonances, motions near unstable ones."""

    def weight(size: float, *point: float) -> Definition:
        return {"model": "HeavyTop", "weight": size, "point": list(point), "down": [0.0, 0.0, -1.0]}

    def orbit(e: float) -> Definition:
        shape = {"semi_major_axis": 8e6, "eccentricity": e, "mu": 4e14, "radius": 1e5}
        return {"model": "GravityGradient", "orbit": shape}

    def magnet(*moment: float) -> Definition:
        return {"model": "MagneticDipole", "moment": list(moment), "field": [0.2, 0.0, 1.0]}

    def ring(inertia: float, viscous: float, *axis: float) -> Definition:
        return {"model": "Damper", "spin_axis": list(axis), "inertia": inertia, "viscous": viscous, "spring": 0.0}

    big, n = [[40 * x for x in row] for row in TILTED], math.sqrt(4e14 / 8e6**3)
    drag = {"model": "LinearDamping", "coefficient": [[1.0, 0.1, 0], [0.1, 0.05, 0], [0, 0, 0.05]]}
    listed: tuple[tuple[str, str, Any, Any, Any, Definition | None, float], ...] = (
        ("free-tensor-1", "A tensor with products of inertia.", TILTED, (0.4, 0.7, 1.2), None, None, 20),
        ("free-tensor-2", "A spin about an edge of the box: no principal axis.", TILTED, (0, 0, 2.0), None, None, 20),
        ("free-tensor-3", "A wing nut whose axes are not those of its drawing.",
         [[1.5, 0.5, 0.0], [0.5, 1.5, 0.0], [0.0, 0.0, 2.8]], (3.0, 3.01, 0.01), None, None, 20),
        ("free-tensor-4", "A body with one product of inertia.",
         [[1.25, 0.0, 0.25], [0.0, 1.5, 0.0], [0.25, 0.0, 2.5]], (0.3, -1.0, 0.2), turned(70, (1, 1, 1)), None, 20),
        ("top-nutating", "A top that nutates in fast small circles.", TOP, (0.6, 0.0, 20), euler(30),
         weight(1.0, 0, 0, 0.5), 8),
        ("top-horizontal", "A gyroscope with a horizontal axis.", EGG, (0, 0.02, 25), euler(90),
         weight(2.0, 0, 0, 0.3), 8),
        ("orbit-resonance", "Three turns in two orbits, at eccentricity 0.2056, as Mercury.", (99.0, 100.0, 101.0),
         (0, 0, 1.5 * n), euler(0, 3), orbit(0.2056), 12000),
        ("orbit-moon", "A moon that always shows the same face: it librates because its orbit is an ellipse.",
         (60.0, 80.0, 100.0), (0, 0, n), euler(0, 0), orbit(0.0549), 12000),
        ("orbit-on-its-side", "A satellite whose spin axis lies in the orbit.", (60.0, 62.0, 100.0), (0, 0, 6e-3),
         euler(90, 10), orbit(0.01), 8000),
        ("orbit-tensor", "A satellite whose axes are not its principal axes.", big, (2e-4, 1e-4, 1.1e-3),
         euler(20, 30), orbit(0.1), 9000),
        ("damped-drag-needle", "Drag that nearly stops two of three axes.", (1.0, 1.05, 0.06), (0.5, 0.5, 6.0), None,
         drag, 12),
        ("damped-ring-fast", "A ring in a fluid, on a body that spins fast.", (0.8, 0.9, 1.2), (0.5, 0.2, 9.0), None,
         ring(0.02, 0.06, 1, 0, 0), 12),
        ("damped-ring-oblique", "A ring along no principal axis.", ODD, (1.0, 0.3, 1.2), None,
         ring(0.1, 0.08, 0.6, 0.0, 0.8), 15),
        ("magnet-upside-down", "A magnet that begins nearly against the field.", ODD, (0.01, 0, 0),
         turned(178, (1, 0.1, 0)), magnet(0, 0, 1.5), 12),
        ("magnet-strong", "A strong magnet in a slowly spinning body: it swings and winds up.", ODD, (0.2, 0.1, 0.5),
         euler(100), magnet(1.0, 0.5, 4.0), 10),
        ("magnet-needle", "A needle of a compass.", (1.0, 1.0, 0.02), (0.1, 0, 0), euler(50), magnet(0, 0, 2.0), 12),
        ("magnet-tensor", "A magnet in a body with products of inertia.", TILTED, (0.3, 0.2, 0.6), euler(40, 60),
         magnet(0.7, -0.4, 1.0), 12),
    )  # fmt: skip
    for name, about, inertia, omega, attitude, torque, span in listed:
        shape = "tensor" if isinstance(inertia, list) else "moments"
        yield {
            "name": name, "group": name.partition("-")[0], "about": about, "body": {shape: list(inertia)},
            "torque": torque, "omega": list(omega), "attitude": attitude or [1.0, 0.0, 0.0, 0.0], "span": span,
        }  # fmt: skip


def pairs() -> Iterator[Definition]:
    """Two bodies that springs join."""
    small, big = {"moments": [0.7, 1.0, 1.5], "mass": 1.5}, {"moments": [1.0, 1.4, 2.1], "mass": 2.0}
    top = {"moments": [1.0, 1.0, 0.4], "mass": 1.0}
    listed: tuple[tuple[str, str, Any, Any, Any, Any, Any], ...] = (
        ("centres", "Two bodies on a spring between their centres: they turn freely and fly around each other.",
         (big, small), [((0, 0, 0), (0, 0, 0), 2.0, 0.0)], (1.5, 0.2, 0), (0, 0.8, 0.1),
         ((0.3, 0.5, 1.0), (0.2, 0.9, 0.1))),
        ("corners", "A spring between points off the centres: it pulls and turns.",
         (big, small), [((0.5, 0.2, 0), (-0.4, 0, 0.3), 3.0, 0.0)], (1.5, 0.1, 0), (0, 0.3, 0),
         ((0.3, 0.5, 0.4), (0.1, 0.2, 0.6))),
        ("dumbbell", "A spring with a length at rest, like a rod that gives.",
         (big, small), [((0.3, 0, 0), (-0.3, 0, 0.1), 20.0, 1.0)], (1.7, 0, 0), (0, 0.5, 0.2),
         ((0.1, 0.2, 0.5), (0.1, 0.4, 0.2))),
        ("hinge", "Two springs, nearly a hinge.",
         (big, small), [((0.5, 0, 0.3), (-0.5, 0, 0.3), 15.0, 0.0), ((0.5, 0, -0.3), (-0.5, 0, -0.3), 15.0, 0.0)],
         (1.05, 0, 0), (0, 0.1, 0), ((0.1, 0.1, 0.5), (0.1, -0.1, -0.5))),
        ("tops", "Two symmetric bodies that spin against each other.",
         (top, top), [((0, 0, 0.5), (0, 0, -0.5), 4.0, 0.2)], (0, 0.2, 1.4), (0.2, 0, 0),
         ((0.2, 0, 5.0), (0, 0.1, -5.0))),
        ("tether", "A light body on a long tether of a heavy one.",
         ({"moments": [20.0, 26.0, 30.0], "mass": 40.0}, {"moments": [0.02, 0.03, 0.04], "mass": 0.5}),
         [((0.8, 0, 0), (0.1, 0, 0), 1.0, 4.0)], (5.5, 0, 0), (0, 1.2, 0), ((0, 0.1, 0.3), (0.1, 0.2, 0.3))),
    )  # fmt: skip
    for name, about, bodies, springs, apart, velocity, omega in listed:
        yield {
            "name": f"pair-{name}", "about": about, "bodies": list(bodies),
            "omega": [list(map(float, w)) for w in omega],
            "position": [[0.0, 0.0, 0.0], list(map(float, apart))],
            "velocity": [[0.0, 0.0, 0.0], list(map(float, velocity))], "attitude": [[1.0, 0.0, 0.0, 0.0], euler(20)],
            "springs": [
                {"first": 0, "second": 1, "points": [list(map(float, p)) for p in ends], "stiffness": k, "length": rest}
                for *ends, k, rest in springs
            ],
            "t": [float(t) for t in range(11)],
        }  # fmt: skip


def rows_of_pair(d: Definition, digits: int = 40, order: int = 44) -> list[list[list[str]]]:
    """For each time and body the position, velocity, quaternion and rate."""
    start = list(zip(d["position"], d["velocity"], d["attitude"], d["omega"], strict=True))
    run = Springs(d["bodies"], d["springs"], start, digits, order)
    return [[[_text(x, 1.0) for x in body] for body in run.advance(t).numbers()] for t in d["t"]]


def tolerance_of_pair(d: Definition) -> dict[str, float]:
    """Ten times the error of the classical Runge-Kutta method at 0.005 rad a step: springs are quicker than turns."""
    case = cases.Pair.from_definition(d)
    mass = np.array([b["mass"] for b in d["bodies"]])[:, None]
    moments = np.array([b["moments"] for b in d["bodies"]])

    def slopes(y: Any) -> Any:
        x, v, q, m = y[:, :3], y[:, 3:6], y[:, 6:10], y[:, 10:]
        unit, w = q / np.linalg.norm(q, axis=1)[:, None], m / moments
        force, torque = np.zeros((2, 3)), np.cross(m, w)
        for s in d["springs"]:
            points = np.array(s["points"])
            ends = x + to_space(unit, points)
            apart = ends[0] - ends[1]
            f = -s["stiffness"] * (1.0 - s["length"] / np.linalg.norm(apart)) * apart
            force += np.array([f, -f])
            torque += np.cross(points, to_space(inverse(unit), np.array([f, -f])))
        turning = 0.5 * product(q, np.hstack([np.zeros((2, 1)), w]))
        return np.hstack([v, force / mass, turning, torque])

    first = np.array(d["position"]), np.array(d["velocity"]), np.array(d["attitude"]), moments * np.array(d["omega"])
    y, found = np.hstack(first), []
    y[:, 6:10] /= np.linalg.norm(y[:, 6:10], axis=1)[:, None]
    for before, t in zip([0.0, *d["t"]], d["t"], strict=False):
        steps = max(1, math.ceil((t - before) * float(np.linalg.norm(case.rate, axis=2).max()) / 0.005))
        h = (t - before) / steps
        for _ in range(steps if h else 0):
            a = slopes(y)
            b = slopes(y + 0.5 * h * a)
            c = slopes(y + 0.5 * h * b)
            y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + slopes(y + h * c))
        found.append(np.hstack([y[:, :10], y[:, 10:] / moments]))
    rows = np.array(found)
    errors = case.error_of(rows[:, :, :3], rows[:, :, 6:10], rows[:, :, 10:])
    return dict(zip(("attitude", "rate", "position"), (_rounded_up(10 * x) for x in errors), strict=True))


def _numbers(rows: Sequence[Sequence[float]]) -> list[list[Any]]:
    return [[exact(x) for x in row] for row in rows]


def formula(d: Definition, tensor: Sequence[Sequence[float]]) -> tuple[Torque, list[Any]]:
    """The torque of a definition as a formula of series, and the carried numbers at the start."""
    given = d.get("torque") or {"model": "none"}

    def f(name: str) -> list[Any]:
        return [exact(x) for x in given[name]]

    inertia = _numbers(tensor)

    def gradient(q: Any, towards: Any, strength: Any) -> Any:
        u = seen_from_body(q, towards)
        iu = [dot(row, u) for row in inertia]
        return [strength * x for x in cross(u, iu)]

    kind = given["model"]
    if kind == "none":
        return (lambda t, q, w, z: ([0 * x for x in w], [])), []
    if kind == "HeavyTop":
        norm = sum((x * x for x in f("down")), flint.arb(0)).sqrt()
        force, arm = [exact(given["weight"]) * x / norm for x in f("down")], f("point")
        return (lambda t, q, w, z: (cross(arm, seen_from_body(q, force)), [])), []
    if kind == "OrbitalGravityGradient":
        n = exact(given["orbital_rate"])
        return (lambda t, q, w, z: (gradient(q, [(n * t).cos(), (n * t).sin(), 0 * t], 3 * n * n), [])), []
    if kind == "GravityGradient":
        o = given["orbit"]
        a, e, mu = (exact(o[k]) for k in ("semi_major_axis", "eccentricity", "mu"))
        p = a * (1 - e * e)
        h = (mu * p).sqrt()

        def eccentric(t: Any, q: Any, w: Any, z: Any) -> Any:
            c, s = z[0].cos(), z[0].sin()  # of the true anomaly
            k = (1 + e * c) / p  # 1 / r
            return gradient(q, [c, s, 0 * c], 3 * mu * k * k * k), [h * k * k]

        return eccentric, [flint.arb(0)]
    if kind == "LinearDamping":
        rows = _numbers(given["coefficient"])
        return (lambda t, q, w, z: ([-dot(row, w) for row in rows], [])), []
    if kind == "MagneticDipole":
        moment, field = f("moment"), f("field")
        return (lambda t, q, w, z: (cross(moment, seen_from_body(q, field)), [])), []
    if kind == "ConstantBodyTorque":
        vector = f("vector")
        return (lambda t, q, w, z: ([x + 0 * t for x in vector], [])), []
    if kind == "ConstantSpaceTorque":
        vector = f("vector")
        return (lambda t, q, w, z: (seen_from_body(q, vector), [])), []
    if kind == "SinusoidalTorque":
        size, nu, phase = f("amplitude"), exact(given["angular_frequency"]), exact(given["phase"])

        def shaking(t: Any, q: Any, w: Any, z: Any) -> Any:
            c = (nu * t + phase).cos()
            return [x * c for x in size], []

        return shaking, []
    if kind == "ReactionWheels":
        return _of_wheels(d, given)
    assert kind == "Damper"
    axis, ring, viscous, spring = f("spin_axis"), *(exact(given[k]) for k in ("inertia", "viscous", "spring"))

    def damper(t: Any, q: Any, w: Any, z: Any) -> Any:
        speed = z[0] / ring - dot(axis, w)
        on_ring = -viscous * speed - (spring * z[1] if len(z) > 1 else 0)
        turning = cross([x * z[0] for x in axis], w)
        return [turning[i] - axis[i] * on_ring for i in range(3)], [on_ring, speed][: len(z)]

    start = ring * sum((x * exact(float(w)) for x, w in zip(axis, d["omega"], strict=True)), flint.arb(0))
    return damper, [start, flint.arb(0)][: 2 if given["spring"] else 1]


def _of_wheels(d: Definition, given: Definition) -> tuple[Torque, list[Any]]:
    """Wheels that gains turn; the least torques of motors that make the torque are shared out exactly."""
    rows = []
    for axis in _numbers(given["axes"]):
        size = dot(axis, axis).sqrt()
        rows.append([x / size for x in axis])
    n, a = len(rows), flint.arb_mat(rows)
    shares = a * (a.transpose() * a).inv() if n >= 3 else (a * a.transpose()).inv() * a
    ring, viscous, k, gain = (exact(given[x]) for x in ("inertias", "viscous", "attitude_gain", "rate_gain"))

    def turning(t: Any, q: Any, w: Any, z: Any) -> Any:
        length = (q[0] * q[0] + dot(q[1:], q[1:])).sqrt()
        asked = [2 * k * q[i + 1] / length + gain * w[i] for i in range(3)]
        on = [sum((shares[i, j] * asked[j] for j in range(3)), 0 * t) for i in range(n)]
        on = [on[i] - viscous * (z[i] / ring - dot(rows[i], w)) for i in range(n)]
        h, lost = ([sum((y[i] * rows[i][j] for i in range(n)), 0 * t) for j in range(3)] for y in (z, on))
        return [x - y for x, y in zip(cross(h, w), lost, strict=True)], on

    w = [exact(float(x)) for x in d["omega"]]
    return turning, [ring * (exact(s) + dot(row, w)) for s, row in zip(given["speeds"], rows, strict=True)]


def _text(ball: Any, size: float) -> str:
    """A number to `DIGITS` digits of the greatest of its row."""
    value = ball.mid()
    if abs(float(value)) <= size * 10.0**-DIGITS:
        return "0.0"
    digits = DIGITS + min(0, math.floor(math.log10(abs(float(value)) / size)))
    return str(value.str(max(digits, 1), radius=False))


def rows_of(d: Definition, digits: int = 40, order: int = 44) -> tuple[list[list[str]], list[list[str]]]:
    """The quaternions and rates at the times of a case."""
    flint.ctx.prec = 4 * digits + 60  # for the numbers of the torque
    attitudes, rates = [], []
    case = cases.Case.from_definition(d)
    if d["proof"] == "theorem":
        s = ph.FreeMotion(case.body, case.omega, case.attitude).at(d["t"], proven=True)
        found = zip(s.quaternion.balls.reshape(-1, 4), s.omega.balls.reshape(-1, 3), strict=True)
    else:
        tensor, times = case.body.tensor.tolist(), d["body"].get("times", (0.0,))
        torque, carried = formula(d, tensor)
        rotor = d["body"].get("rotor", (0.0, 0.0, 0.0))
        if len(times) > 1:
            tensor = d["body"].get("tensor") or [np.diag(row).tolist() for row in d["body"]["moments"]]
        run = Taylor(tensor, d["omega"], d["attitude"], torque, carried, rotor, digits, order, times)
        found = ((run.advance(t).attitude, run.omega) for t in d["t"])  # type: ignore[assignment]
    for q, w in found:
        size = max(max(abs(float(x)) for x in w), 1e-300)
        attitudes.append([_text(x, 1.0) for x in q])
        rates.append([_text(x, size) for x in w])
    return attitudes, rates


def tolerance(d: Definition) -> dict[str, float]:
    """Ten times the error of the classical Runge-Kutta method at 0.02 rad a step, finer where it loses the motion.

    For more than 2,000 radians, a thousand times the error of the closed form, and 1e-9 at least.
    """
    case = cases.Case.from_definition(d)
    rate = float(np.abs(case.rate).max())
    span = float(case.t[-1])
    if not rate:
        return {"attitude": 1e-9, "rate": 1e-9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        turn = 0.02
        while rate * span <= 2000.0:
            run = ph.simulate(
                case.body,
                case.torque,
                omega=case.omega,
                attitude=case.attitude,
                t_eval=case.t,
                t_span=(0.0, span),
                method="RK4",
                step=turn / rate,
            )
            errors = case.error_of(run.quaternion, run.omega)
            if max(errors) < 1e-3:
                return {"attitude": _rounded_up(10 * errors[0]), "rate": _rounded_up(10 * errors[1])}
            turn /= 2
        s = ph.FreeMotion(case.body, case.omega, case.attitude).at(case.t)
    errors = case.error_of(s.quaternion, s.omega)
    return {"attitude": _rounded_up(1000 * errors[0]), "rate": _rounded_up(1000 * errors[1])}


def _rounded_up(x: float) -> float:
    """One digit, 1e-9 at least."""
    x = max(x, 1e-9)
    power = 10.0 ** math.floor(math.log10(x) + 1e-9)
    return float(f"{math.ceil(x / power - 1e-9) * power:.0e}")


def main() -> None:
    """Makes all cases, or with `--new` those that the file lacks."""
    old: dict[str, Definition] = {}
    if "--new" in sys.argv:
        old |= {c.name: dict(c.definition) for c in cases.all_cases()}
        old |= {c.name: dict(c.definition) for c in cases.pairs()}
    made = []
    for d in [*free(), *tops(), *gyrostats(), *orbits(), *others(), *changing(), *wheels(), *further()]:
        if d["name"] in old:
            made.append(old[d["name"]])
            continue
        span = float(d.pop("span"))
        d["omega"] = [float(x) for x in d["omega"]]
        d.setdefault("attitude", [1.0, 0.0, 0.0, 0.0])
        d.setdefault("torque", None)
        d["t"] = [span * i / (ROWS - 1) for i in range(ROWS)]
        d["proof"] = "40 digits" if d["torque"] or {"rotor", "times"} & set(d["body"]) else "theorem"
        d["quaternion"], d["rate"] = rows_of(d)
        d["tolerance"] = tolerance(d)
        print(f"{d['name']}: {d['tolerance']}", flush=True)
        made.append(d)
    joined = [old.get(d["name"]) or {**d, "states": rows_of_pair(d)} for d in pairs()]
    joined = [d if "tolerance" in d else {**d, "tolerance": tolerance_of_pair(d)} for d in joined]
    write(made, joined)


def write(made: Sequence[Definition], joined: Sequence[Definition]) -> None:
    """Writes the file, a line for each case."""
    text = json.dumps([*made, *joined], sort_keys=True)
    head = json.dumps({"version": cases.VERSION, "sha256": hashlib.sha256(text.encode()).hexdigest()})[:-1]
    lists = (",\n".join(json.dumps(d, sort_keys=True) for d in each) for each in (made, joined))
    body = "".join(f', "{name}": [\n{lines}\n]' for name, lines in zip(("cases", "pairs"), lists, strict=True))
    cases.FILE.write_text(head + body + "}\n", "utf-8")
    print(f"{len(made)} cases and {len(joined)} pairs, {Path(cases.FILE).stat().st_size} bytes")


if __name__ == "__main__":
    main()
