"""The same motion described otherwise: a rotated frame, other units, reversed time, relabelled axes."""

import math

import numpy as np
import pytest

from polhode.methods import Method
from tests.authorities.problems import RECIPES, RELABEL
from tests.contract._measure import EPS, FLOOR, matrices, observed_order, pairs, run

STEPS = 40

PAIRS, ALIGNED = pairs(), pairs(tilted=False)
"""Principal axes of a full tensor are found by a routine that need not scale to the bit, nor keep its labels."""


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_rotated_frame(method: Method, name: str) -> None:
    """A turned laboratory changes nothing but the point of view."""
    s = np.array([0.4, -0.5, 0.7, 0.2])
    s /= np.linalg.norm(s)
    S = matrices(s[None])[0]
    w, x, y, z = s.tolist()
    here, there = RECIPES[name], RECIPES[name].rotated(S, (w, x, y, z))
    a, b = run(here.problem, method, STEPS, every=1), run(there.problem, method, STEPS, every=1)
    assert np.abs(S @ matrices(a.quaternion) - matrices(b.quaternion)).max() < 64 * EPS
    assert np.abs(a.momentum - b.momentum).max() < 64 * EPS * np.abs(a.momentum).max()


@pytest.mark.parametrize(("method", "name"), ALIGNED)
def test_units(method: Method, name: str) -> None:
    """Powers of two change no digit: no method knows an absolute size."""
    mass, time = 2.0**30, 2.0**-20
    here, there = RECIPES[name], RECIPES[name].rescaled(mass, time)
    a, b = run(here.problem, method, STEPS, every=1), run(there.problem, method, STEPS, every=1)
    assert np.array_equal(a.quaternion, b.quaternion)
    assert np.array_equal(a.momentum * (mass / time), b.momentum)


@pytest.mark.parametrize(("method", "name"), ALIGNED)
def test_reversed_time(method: Method, name: str) -> None:
    """The film played backward: opposite rates and steps give the same attitudes, to the bit."""
    here, there = RECIPES[name], RECIPES[name].mirrored()
    a, b = run(here.problem, method, STEPS, every=1), run(there.problem, method, STEPS, every=1)
    assert np.array_equal(a.t, -b.t)
    assert np.array_equal(a.quaternion, b.quaternion)
    assert np.array_equal(a.momentum, -b.momentum)


def _order(declared: int | None) -> float:
    return math.inf if declared is None else declared


@pytest.mark.parametrize(("method", "name"), ALIGNED)
def test_relabelled_axes(method: Method, name: str) -> None:
    """A splitting takes the axes in turn, so another turn gives another result, by no more than the error itself."""
    here, there = RECIPES[name], RECIPES[name].relabelled()

    def difference(steps: int) -> float:
        a, b = run(here.problem, method, steps), run(there.problem, method, steps)
        turned = np.abs(matrices(a.quaternion[-1:]) - matrices(b.quaternion[-1:]) @ RELABEL).max()
        return max(float(turned), float(np.abs(a.momentum[-1] - RELABEL.T @ b.momentum[-1]).max()))

    finest = 128
    if difference(finest) > FLOOR:
        assert observed_order(difference, finest) > min(_order(method.order), _order(method.attitude_order)) - 0.2
    else:  # there are no preferred axes, or the method is too good for the question
        assert difference(8) < 1e-13 or difference(16) < difference(8)
