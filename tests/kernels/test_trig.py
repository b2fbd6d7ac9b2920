"""Sine and versine, compiled, against mpmath.

Compiled, because the reduction of large angles rests on fused multiplication: in plain Python, where a product is
rounded by itself, it loses the digits that the size of the angle takes.
"""

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from polhode.compiler import program
from polhode.kernels.algebra.trig import SHORT, half_turn, sine_versine, sine_versine_of_step

Floats = NDArray[np.float64]
draw = np.random.default_rng(3)

TAIL = 3.0e-33
"""pi less the two doubles that stand for it: a remainder is off by so much a multiple of pi. It shows where the
remainder itself is next to nothing; 29 pi, rounded, has one of 1.2e-18."""


def rows(x: Any, sine: Any, versine: Any, count: int) -> int:
    for i in range(count):
        sine[i], versine[i] = sine_versine(x[i])
    return 0


def rows_of_step(x: Any, sine: Any, versine: Any, count: int) -> int:
    for i in range(count):
        sine[i], versine[i] = sine_versine_of_step(x[i])
    return 0


def rows_of_turn(z: Any, ratio: Any, versine: Any, count: int) -> int:
    for i in range(count):
        ratio[i], versine[i] = half_turn(z[i])
    return 0


def compiled(x: Floats, loop: Callable[..., int] = rows) -> tuple[Floats, Floats]:
    sine, versine = np.empty_like(x), np.empty_like(x)
    program(loop, "pppi")(np.ascontiguousarray(x), sine, versine, x.size)
    return sine, versine


def compiled_of_step(x: Floats) -> tuple[Floats, Floats]:
    return compiled(x, rows_of_step)


def plain(x: Floats) -> tuple[Floats, Floats]:
    pairs = np.array([sine_versine(v) for v in x.tolist()])
    return pairs[:, 0], pairs[:, 1]


def worst(make: Callable[[Floats], tuple[Floats, Floats]], x: Floats) -> tuple[float, float]:
    """The largest errors, in units of the last place of the true sine and versine of the remainder."""
    sine, versine = make(x)
    errors = []
    with mp.workdps(60):
        for v, s, e in zip(x.tolist(), sine.tolist(), versine.tolist(), strict=True):
            r = mp.mpf(v) - mp.nint(mp.mpf(v) / mp.pi) * mp.pi
            if abs(abs(r) - mp.pi / 2) < 1e-9 and s * r < 0:
                r -= mp.sign(r) * mp.pi  # halfway between two multiples of pi either one will do
            true_s, true_e = mp.sin(r), 2 * mp.sin(r / 2) ** 2
            off = TAIL * abs(mp.nint(mp.mpf(v) / mp.pi))
            errors.append((_ulps(s, true_s, off), _ulps(e, true_e, off * abs(true_s))))
    a, b = np.array(errors).max(axis=0).tolist()
    return a, b


def _ulps(x: float, true: Any, allowance: Any) -> float:
    return float((abs(mp.mpf(x) - true) - allowance) / mp.mpf(math.ulp(float(true))))


def either_sign(x: Floats) -> Floats:
    return np.concatenate([x, -x])


def near(multiples: Floats) -> Floats:
    """The doubles at and around these numbers."""
    return np.concatenate([multiples + k * np.spacing(multiples) for k in range(-2, 3)])


RANGES = {
    "tiny": either_sign(10.0 ** draw.uniform(-150, -3, 1000)),
    "small": draw.uniform(-math.pi / 2, math.pi / 2, 3000),
    "medium": draw.uniform(-30, 30, 2000),
    "large": either_sign(10.0 ** draw.uniform(1, 6, 1500)),
    "near multiples of pi": either_sign(near(np.pi * np.unique(np.geomspace(1, 3e5, 200).round()))),
    "near odd multiples of pi/2": either_sign(near(np.pi * (np.unique(np.geomspace(1, 3e5, 200).round()) - 0.5))),
}


@pytest.mark.parametrize("name", RANGES)
def test_errors_in_last_places(name: str) -> None:
    """Measured: 1.64 for the sine and 3.31 for the versine at worst; 0.47 and 0.90 for tiny angles."""
    sine, versine = worst(compiled, RANGES[name])
    assert sine < (0.51 if name == "tiny" else 1.75)
    assert versine < (1.0 if name == "tiny" else 3.5)


def test_angles_of_steps() -> None:
    """Measured: 0.60 for the sine and 1.80 for the versine; the long polynomials have 0.54 and 1.98 there."""
    limit = math.sqrt(SHORT)
    short = draw.uniform(-limit, limit, 3000)
    for x in (short, RANGES["tiny"]):
        sine, versine = worst(compiled_of_step, x)
        assert sine < 0.65
        assert versine < 2.0
    long = np.concatenate([x[x * x >= SHORT] for x in RANGES.values()] + [either_sign(near(np.array([limit])))])
    long = long[long * long >= SHORT]
    assert np.array_equal(compiled_of_step(long), compiled(long))
    assert not np.array_equal(compiled_of_step(short), compiled(short))


def test_turns_by_the_square_of_their_angle() -> None:
    """Measured: 0.57 for the ratio of sine and angle, 1.31 for the versine, on short angles; beyond, 3e-16 in all."""
    short = np.concatenate([draw.uniform(0, SHORT, 2000), 10.0 ** draw.uniform(-300, -3, 300)])
    ratio, versine = compiled(short, rows_of_turn)
    with mp.workdps(60):
        for z, s, e in zip(short.tolist(), ratio.tolist(), versine.tolist(), strict=True):
            x = mp.sqrt(mp.mpf(z))
            assert _ulps(s, mp.sin(x) / x, 0) < 0.65
            assert _ulps(e, 2 * mp.sin(x / 2) ** 2, 0) < 1.5
    long = draw.uniform(math.sqrt(SHORT), 20, 2000)
    ratio, versine = compiled(long * long, rows_of_turn)
    sign = np.where(np.round(long / np.pi) % 2 == 0, 1.0, -1.0)
    assert np.abs(long * ratio - sign * np.sin(long)).max() < 4e-15  # the root of the square is rounded
    assert np.abs((1 - versine) - sign * np.cos(long)).max() < 4e-15
    assert compiled(np.zeros(1), rows_of_turn) == (np.ones(1), np.zeros(1))


def test_plain_python_is_as_good_without_reduction() -> None:
    """Measured: 1.64 and 1.93."""
    sine, versine = worst(plain, RANGES["small"])
    assert sine < 1.75
    assert versine < 3.5


def test_common_sign() -> None:
    """Beyond pi/2 both sine and cosine change sign by odd multiples of pi: one rotation, two quaternions."""
    x = draw.uniform(-20, 20, 1000)
    sine, versine = compiled(x)
    sign = np.where(np.round(x / np.pi) % 2 == 0, 1.0, -1.0)
    assert np.abs(sine - sign * np.sin(x)).max() < 1e-14
    assert np.abs((1 - versine) - sign * np.cos(x)).max() < 1e-14
    assert (versine <= 1.0 + 1e-15).all()


def test_odd_and_even() -> None:
    x = draw.uniform(0, 100, 1000)
    (s, e), (minus_s, minus_e) = compiled(x), compiled(-x)
    assert np.array_equal(minus_s, -s)
    assert np.array_equal(minus_e, e)


def test_special_values() -> None:
    assert [float(v[0]) for v in compiled(np.array([0.0]))] == [0.0, 0.0]
    odd = np.array([math.inf, -math.inf, math.nan])
    assert all(np.isnan(v).all() for make in (compiled, compiled_of_step) for v in make(odd))
