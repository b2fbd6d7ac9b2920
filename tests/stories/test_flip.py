"""The nut that turned over in orbit: a body spun about its middle axis flips, again and again."""

import math

import numpy as np

import polhode as ph

NUT = ph.Body([1.0, 2.0, 3.0])


def test_only_the_middle_axis_flips() -> None:
    t = np.linspace(0.0, 60.0, 2000)
    for axis, flips in ((0, False), (1, True), (2, False)):
        omega = np.full(3, 1e-3)
        omega[axis] = 5.0
        along = ph.FreeMotion(NUT, omega=omega).at(t).omega[:, axis]
        assert bool(along.min() < -4.99) is flips
        assert flips or along.min() > 4.99


def test_energy_and_the_angular_momentum_in_space_stay() -> None:
    run = ph.simulate(NUT, omega=[1e-3, 5.0, 1e-3], t_span=(0, 60), method="RK4", step=0.002)
    true = ph.FreeMotion(NUT, omega=[1e-3, 5.0, 1e-3]).at(run.t)
    assert run.omega[:, 1].min() < -4.99
    assert run.energy_error.max() < 1e-9
    assert run.momentum_error.max() < 1e-9
    np.testing.assert_allclose(run.omega, true.omega, atol=1e-5)


def test_a_tenth_of_the_disturbance_delays_the_flip_as_the_logarithm_says() -> None:
    """Disturbances grow as exp(s t), with s^2 = w2^2 (I2 - I1)(I3 - I2) / (I1 I3), on the way out and on the way in."""
    s = 5.0 * math.sqrt(1.0 * 1.0 / (1.0 * 3.0))
    waits = [np.diff(ph.FreeMotion(NUT, omega=[size, 5.0, 0.0]).flip_times(3)) for size in (1e-4, 1e-5, 1e-6)]
    np.testing.assert_allclose(np.diff(waits, axis=0), 2.0 * math.log(10.0) / s, rtol=1e-6)
