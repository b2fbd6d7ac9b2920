"""States between the user's axes and principal axes: one by one or many at once, in whatever form, the same bits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polhode as ph
from polhode.body import FEW_ROWS, Frame
from polhode.kernels.algebra.quat import conjugate, multiply
from polhode.kernels.states import STATE

ALIGNED = Frame.of(ph.Body([1.0, 1.7, 2.4]))
TILTED = Frame.of(ph.Body([[2.0, 0.1, 0.2], [0.1, 1.5, 0.05], [0.2, 0.05, 1.0]]))
numbers = st.floats(-1.0, 1.0)
states = st.tuples(*[numbers] * STATE)


@given(states)
def test_a_product_has_the_bits_of_others(state: Any) -> None:
    q, m = np.array(state[:4]), np.array(state[4:])
    inside = multiply(state[:4], TILTED.axes)
    assert TILTED.inward(q, m, np.array([0.5])).tobytes() == np.array([*inside, *(m @ TILTED.body.axes), 0.5]).tobytes()
    outside, _ = TILTED.outward_one(np.array(state))
    assert outside.tobytes() == np.array(multiply(state[:4], conjugate(TILTED.axes))).tobytes()


@pytest.mark.parametrize("of_body", [ALIGNED, TILTED])
def test_many_rows_have_the_bits_of_few(of_body: Frame) -> None:
    rows = np.random.default_rng(3).normal(size=(3 * FEW_ROWS, STATE))
    few = of_body.outward(rows[:FEW_ROWS], scaled=False)
    many = of_body.outward(rows, scaled=False)
    for a, b in zip(few, many, strict=True):
        assert (a == b[:FEW_ROWS]).all()
