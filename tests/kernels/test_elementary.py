"""Elementary functions: errors against mpmath, special values as C has them, and the same bits wherever they run."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polhode as ph
from polhode.compiler import program
from polhode.kernels.algebra.exact_fma import with_fused
from polhode.kernels.codegen import writer_of
from polhode.kernels.elementary.replacements import REPLACED
from polhode.kernels.ops import beginning_at, columns
from tests.kernels.elementary_truth import CASES, SPECIAL, Case, worst

Floats = NDArray[np.float64]
POINTS = 2000
"""Arguments of each function that are compared with mpmath; half as many of functions of two numbers are pairs."""
PLAIN_POINTS = 150
"""Arguments of each function that are computed in plain Python: a value takes a tenth of a millisecond."""

sin, cos = math.sin, np.cos  # names of a module, as `from math import sin` makes them


def by_usual_names(x: float, y: float) -> tuple[float, ...]:
    """All functions, as torques call them, in the order of the cases."""
    return (
        sin(x), cos(x), math.tan(x), math.asin(x), np.arccos(x), math.atan(x), np.arctan2(x, y), math.exp(x),
        np.exp2(x), math.expm1(x), np.log(x), math.log1p(x), math.log2(x), np.log10(x), math.pow(x, y), np.sinh(x),
        math.cosh(x), np.tanh(x), math.asinh(x), math.acosh(x), np.arctanh(x), np.cbrt(x), math.hypot(x, y),
    )  # fmt: skip


def special() -> tuple[Floats, Floats]:
    """All pairs of special values."""
    x, y = np.meshgrid(SPECIAL, SPECIAL)
    return x.reshape(-1), y.reshape(-1)


def arguments(n: int) -> tuple[Floats, Floats, list[slice]]:
    """n arguments of each function, or a few less, then special ones; and where those of each function are."""
    rng = np.random.default_rng(11)
    drawn, places, begin = [], [], 0
    for case in CASES:
        x, *more = case.draw(rng, n // 4)
        drawn.append((x, more[0] if more else x))
        places.append(slice(begin, begin + x.size))
        begin += x.size
    x, y = (np.concatenate(parts) for parts in zip(*drawn, special(), strict=True))
    empty = -x.size % 16
    return np.append(x, np.ones(empty)), np.append(y, np.ones(empty)), places


def computed(lanes: int, x: Floats, y: Floats) -> Floats:
    """A row of all functions for each pair of arguments."""
    count = len(CASES)
    store, offsets, rows = writer_of(count), tuple(range(lanes)), tuple(count * i for i in range(lanes))

    def alone(x: Any, y: Any, out: Any, n: int) -> int:
        for i in range(n):
            store(out, count * i, by_usual_names(x[i], y[i]))
        return 0

    def together(x: Any, y: Any, out: Any, n: int) -> int:
        for i in range(0, n, lanes):
            a, b = columns(beginning_at(x, i), offsets), columns(beginning_at(y, i), offsets)
            store(columns(beginning_at(out, count * i), rows), 0, by_usual_names(a[0], b[0]))
        return 0

    out = np.full((x.size, count), -7.0)
    program(together if lanes > 1 else alone, "pppi")(x, y, out.reshape(-1), x.size)
    return out


def same_bits(a: Floats, b: Floats) -> NDArray[np.bool_]:
    return np.asarray((a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b)))


@pytest.fixture(scope="module")
def given() -> tuple[Floats, Floats, list[slice]]:
    return arguments(POINTS)


@pytest.fixture(scope="module")
def alone(given: tuple[Floats, Floats, list[slice]]) -> Floats:
    return computed(1, given[0], given[1])


@pytest.mark.parametrize("lanes", [8, *(pytest.param(n, marks=pytest.mark.evidence) for n in (4, 16))])
def test_lanes_have_the_bits_of_one_float(lanes: int, given: Any, alone: Floats) -> None:
    same = same_bits(alone, computed(lanes, given[0], given[1]))
    assert same.all(), [CASES[k].name for k in sorted(set(np.nonzero(~same)[1].tolist()))]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_errors_in_last_places(number: int, given: Any, alone: Floats) -> None:
    x, y, places = given
    case, here = CASES[number], places[number]
    columns_of = (x[here], y[here])[: case.kernel.__code__.co_argcount]
    error = worst(case, columns_of, alone[here, number])
    assert 0.4 < error < case.ulps  # less than 0.4 would be no random arguments


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_plain_python_has_the_bits_with_a_fused_product(number: int, given: Any, alone: Floats) -> None:
    x, y, places = given
    case = CASES[number]
    kernel, arity = with_fused(case.kernel), case.kernel.__code__.co_argcount
    picked = np.arange(places[number].start, places[number].stop)[:: max(1, POINTS // PLAIN_POINTS)]
    found = np.array([kernel(*pair[:arity]) for pair in zip(x[picked].tolist(), y[picked].tolist(), strict=True)])
    assert same_bits(found, alone[picked, number]).all()


def by_numpy(case: Case, *pair: float) -> float:
    """The value of the C library, in whose place NumPy takes a root for a power of 1/2: C has other special values."""
    if case.name == "pow" and pair[1] == 0.5 and pair[0] in (0.0, -math.inf):
        return 0.0 if pair[0] == 0.0 else math.inf
    with np.errstate(all="ignore"):
        return float(getattr(np, case.of_numpy)(*pair))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_special_values(number: int, given: Any, alone: Floats) -> None:
    """Annex F of C99: compiled and in plain Python, where no special value may raise an exception."""
    x, y, places = given
    case, first, arity = CASES[number], places[-1].stop, CASES[number].kernel.__code__.co_argcount
    kernel = with_fused(case.kernel)
    for row in range(first, first + len(SPECIAL) ** arity if arity == 2 else first + len(SPECIAL)):
        pair = (float(x[row]), float(y[row]))[:arity]
        value, usual = float(alone[row, number]), by_numpy(case, *pair)
        assert str(kernel(*pair)) == str(value), pair  # tells the signs of zeros, and NaN
        assert math.isnan(value) == math.isnan(usual), pair
        assert math.isinf(value) == math.isinf(usual), pair
        if not math.isnan(usual):
            assert math.copysign(1.0, value) == math.copysign(1.0, usual), pair
        if math.isfinite(usual):
            assert abs(value - usual) <= 16 * math.ulp(usual), pair  # NumPy has lost a digit of some


def test_exact_values() -> None:
    exactly = {case.name: with_fused(case.kernel) for case in CASES}
    assert [exactly["log2"](2.0**k) for k in range(-1074, 1024, 7)] == list(range(-1074, 1024, 7))
    assert [exactly["exp2"](float(k)) for k in range(-1074, 1024, 7)] == [2.0**k for k in range(-1074, 1024, 7)]
    assert [exactly["log10"](float(f"1e{k}")) for k in range(23)] == list(range(23))  # powers of ten that are floats
    assert [exactly["pow"](3.0, float(k)) for k in range(33)] == [3.0**k for k in range(33)]
    assert [exactly["cbrt"](float(k**3)) for k in range(-50, 51)] == list(range(-50, 51))
    assert exactly["hypot"](3 * 2.0**1021, 4 * 2.0**1021) == 5 * 2.0**1021
    assert exactly["sin"](1e22) == -0.8522008497671888  # half of all libraries were wrong here once


# --- in torques ------------------------------------------------------------------------------------------------------


def test_a_function_of_numpy_still_takes_arrays() -> None:
    """Functions of NumPy are NumPy's for arrays, with a place for the result or without, and complex numbers."""

    def kernel(x: Any, out: Any, n: int) -> int:
        some = np.array([0.3, 0.7, 1.1])
        place = np.empty(3)
        np.cos(some, place)
        out[0], out[1], out[2] = np.sin(some)[1], place[2], np.exp(1j * x[0]).imag
        out[3], out[4], out[5] = np.power(2, n), np.hypot(3, 4), np.sum(np.array([math.exp(v) for v in some]))
        return 0

    x, out = np.array([0.4]), np.zeros(6)
    program(kernel, "ppi")(x, out, 5)
    usual = [math.sin(0.7), math.cos(1.1), math.sin(0.4), 32, 5, sum(map(math.exp, (0.3, 0.7, 1.1)))]
    assert out == pytest.approx(usual, rel=1e-15)


def test_every_name_is_that_of_a_case() -> None:
    names = {case.name for case in CASES} | {case.of_numpy for case in CASES}
    assert {usual.__name__ for usual in REPLACED} == names
    for case in CASES:
        assert REPLACED[getattr(math, case.name)] is case.kernel


@ph.torque(parameters=[0.3, 0.2])
def wound(t: float, q: Any, w: Any, p: Any) -> Any:
    """A torque with functions of time, attitude, rate and parameters."""
    return (p[0] * math.sin(3.0 * t) - math.tanh(w[0]), np.cos(q[1]) * np.exp(-p[1] * t), math.atan2(q[2], 2.0))


def test_a_torque_has_the_same_bits_alone_and_in_lanes() -> None:
    body, rates = ph.Body([1.0, 1.75, 2.5]), np.random.default_rng(4).normal(size=(9, 3))
    settings: dict[str, Any] = {"t_span": (0, 1), "step": 0.05, "method": "RK4"}
    many = ph.ensemble(body, wound, omega=rates, **settings)
    assert (many.lanes, many.why_not_packed) == (8, "")
    for i, rate in enumerate(rates):
        run = ph.simulate(body, wound, omega=rate, **settings)
        assert np.array_equal(run.momentum[-1], many.momentum[i, -1])
        assert np.array_equal(run.quaternion[-1], many.quaternion[i, -1])
