"""Potentials of all rows at once: the bits of one row after the other, for every kernel that is plain arithmetic."""

import math
import sys
from typing import Any

import numpy as np
import pytest

import polhode
from polhode.compiler.arithmetic import all_rows_at_once, is_arithmetic
from polhode.torques import torque

RNG = np.random.default_rng(3)
T = RNG.normal(size=200)
Q = RNG.normal(size=(200, 4))
BODY = polhode.Body([[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]])
HEIGHT = 2.0
TABLE = np.ones(3)

MODELS = [
    polhode.HeavyTop(2.0, (0.0, 1.0, 0.3), (0.1, 0.2, -1.0)),
    polhode.GravityGradient(2.0, (0.1, 0.2, -1.0)),
    polhode.MagneticDipole((0.1, 0.2, 0.3), (0.1, 0.2, 1.0)),
    polhode.CoulombSoftWall(),
]


def helped(t: float, q: Any, p: Any) -> Any:
    return float_free(q) * HEIGHT + p[0] / (1 + t * t)


def float_free(q: Any) -> Any:
    x, y = q[1:3]
    return -x * y + polhode.to_space(q, (0.0, 0.0, 1.0))[2]


def row_by_row(kernel: Any, p: Any) -> Any:
    return np.array([kernel(t, tuple(q), p) for t, q in zip(T.tolist(), Q.tolist(), strict=True)])


@pytest.mark.parametrize("kernel", [*(model.potential_kernel for model in MODELS), helped])
def test_the_bits_are_those_of_single_rows(kernel: Any) -> None:
    owners = [model for model in MODELS if model.potential_kernel is kernel]
    p = np.array(owners[0].parameters(BODY) if owners else [0.3])
    made = all_rows_at_once(kernel, T, tuple(Q.T), p, T.shape)
    assert made is not None
    assert made.tobytes() == row_by_row(kernel, p).tobytes()


def test_a_constant() -> None:
    made = all_rows_at_once(lambda t, q, p: p[0], T, tuple(Q.T), np.array([2.5]), T.shape)
    assert made is not None
    assert made.tolist() == [2.5] * 200


BY_ROWS = [
    lambda t, q, p: math.sin(q[0]),
    lambda t, q, p: np.sin(q[0]),
    lambda t, q, p: q[0] ** 2,
    lambda t, q, p: q[0] % 0.5,
    lambda t, q, p: abs(q[0]),
    lambda t, q, p: q[0] if t > 0 else q[1],
    lambda t, q, p: q[0] * (t > 0),
    lambda t, q, p: min(q[0], q[1]),
    lambda t, q, p: sum(q),
    lambda t, q, p: float(q[0]),
    lambda t, q, p: q[0] * TABLE[0],
    lambda t, q, p: q[0].real,
]


@pytest.mark.parametrize("kernel", BY_ROWS)
def test_what_is_not_plain_arithmetic_goes_by_rows(kernel: Any) -> None:
    assert not is_arithmetic(kernel)
    assert all_rows_at_once(kernel, T, tuple(Q.T), np.array([1.0]), T.shape) is None


def test_a_division_by_zero_is_left_to_the_row_that_divides() -> None:
    def pole(t: float, q: Any, p: Any) -> Any:
        return 1.0 / (1.0 / t)

    times = np.append(T, 0.0)
    assert all_rows_at_once(pole, times, tuple(Q.T), np.zeros(0), times.shape) is None


CALLS = {"potential": 0}


def counted(t: float, q: Any, p: Any) -> float:
    CALLS["potential"] += 1
    return 0.0


def test_a_function_that_counts_its_calls_is_called_for_every_row() -> None:
    assert not is_arithmetic(counted)


def test_a_run_calls_a_potential_once(plain: None) -> None:
    """And not once for each of its rows, which took most of the time of a short run."""
    calls = 0

    def potential(t: float, q: Any, p: Any) -> Any:
        return p[0] * polhode.to_space(q, (0.0, 0.0, 1.0))[2]

    @torque(parameters=[2.0], potential=potential)
    def mine(t: float, q: Any, w: Any, p: Any) -> Any:
        x, y, _ = polhode.to_body(q, (0.0, 0.0, -p[0]))
        return (-y, x, 0.0)

    solution = polhode.simulate(
        polhode.Body([1.0, 2.0, 2.5]), mine, omega=[0.1, 0.2, 0.3], t_span=(0, 20), step=0.1, method="MR2"
    )

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code is potential.__code__

    sys.setprofile(watch)
    try:
        found = solution.potential_energy
    finally:
        sys.setprofile(None)
    assert calls == 1
    expected = [potential(0.0, q, [2.0]) for q in solution.quaternion.tolist()]
    assert found.tolist() == expected
