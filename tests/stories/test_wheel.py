"""A wheel that slews a satellite: nothing pushes from outside, and yet it looks elsewhere afterwards."""

import math
from typing import Any

import numpy as np

import polhode as ph

PUSH, TIME = 0.02, 20.0  # N m and s


def there_and_back(t: float, q: Any, w: Any, p: Any, speeds: Any) -> Any:
    """The motor spins the wheel up, and brakes it again."""
    return (PUSH * math.cos(math.pi * t / TIME),)


def test_the_satellite_turns_and_its_momentum_stays_zero() -> None:
    wheel = ph.ReactionWheels(axes=((0, 0, 1),), inertias=0.05, law=there_and_back)
    whole = ph.Body([8.0, 9.0, 10.0])  # with its wheel locked
    slew = ph.simulate(wheel.carrier(whole), wheel, omega=[0, 0, 0], t_span=(0, TIME), step=0.05, method="RK4")
    speed = wheel.speeds_of(slew)[:, 0]
    inertia = 10.0 - 0.05
    # the body feels the opposite torque: its angle is the double integral of -PUSH cos(pi t / TIME) / inertia
    angle = -PUSH / inertia * (TIME / math.pi) ** 2 * (1.0 - np.cos(math.pi * slew.t / TIME))
    np.testing.assert_allclose(slew.attitude.as_rotvec()[:, 2], angle, atol=1e-8)
    assert abs(angle[-1]) > math.radians(9)
    np.testing.assert_allclose(10.0 * slew.omega[:, 2] + 0.05 * speed, 0.0, atol=1e-12)
    assert np.abs(slew.omega[-1]).max() < 1e-8  # body and wheel are at rest again
    assert abs(speed[-1]) < 1e-6 * speed.max()
