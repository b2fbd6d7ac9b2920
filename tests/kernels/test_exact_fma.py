"""fma in plain Python: rounded once, and kernels that use it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from polhode.kernels import ops
from polhode.kernels.algebra import quat, trig
from polhode.kernels.algebra.exact_fma import fused, with_fused


def test_it_is_rounded_once() -> None:
    rng = np.random.default_rng(7)
    twice = 0
    for _ in range(2000):
        a, b = rng.normal(size=2).tolist()
        c = float(-a * b * (1 + rng.normal() * 2.0 ** -rng.integers(0, 60)))  # digits cancel
        truth = float(Fraction(a) * Fraction(b) + Fraction(c))
        assert fused(a, b, c) == truth
        twice += ops.fma(a, b, c) != truth
    assert twice > 500


@pytest.mark.parametrize(
    ("a", "b", "c", "result"),
    [
        (1e200, 1e200, 1.0, math.inf),
        (-1e200, 1e200, 1.0, -math.inf),
        (1e200, 1e200, -math.inf, -math.inf),
        (0.0, 1.0, -0.0, 0.0),
        (-0.0, 1.0, -0.0, -0.0),
        (2.0, -3.0, 6.0, 0.0),
        (-1e-200, 1e-200, 0.0, -0.0),
        (1e-200, 1e-200, 5e-324, 5e-324),
        (math.inf, 0.0, 1.0, math.nan),
    ],
)
def test_the_ends_of_the_range(a: float, b: float, c: float, result: float) -> None:
    found = fused(a, b, c)
    assert str(found) == str(result)  # tells the signs of zeros, and NaN


def test_a_kernel_is_copied_with_all_that_it_calls() -> None:
    copy = with_fused(trig.sine_cosine)
    assert copy is not trig.sine_cosine
    assert copy.__globals__["sine_versine"].__globals__["fma"] is fused
    assert trig.sine_cosine.__globals__["fma"] is ops.fma
    assert with_fused(quat.conjugate) is quat.conjugate  # it has nothing to round
    assert with_fused(trig.sine_cosine) is copy
