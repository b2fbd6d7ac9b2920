"""Elementary functions with their truth, arguments over the whole range, and errors in units of the last place."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from polhode.kernels.elementary import angles, exponentials, roots

Floats = NDArray[np.float64]
LARGEST = 1.7976931348623157e308


class Case(NamedTuple):
    """A function with its names in `math` and NumPy, its truth, and what draws n of its arguments of several kinds."""

    kernel: Callable[..., float]
    name: str
    of_numpy: str
    truth: Callable[..., Any]
    draw: Callable[[np.random.Generator, int], tuple[Floats, ...]]
    ulps: float
    """No error is larger: what was measured over a million arguments, rounded up."""


def _signed(rng: np.random.Generator, low: float, high: float, n: int) -> Floats:
    return np.asarray(rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(low, high, n))


def _angles(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    near = np.round(_signed(rng, 0, 15, n)) * (np.pi / 2)
    return (np.concatenate([rng.uniform(-10, 10, n), _signed(rng, -320, 308, n), _signed(rng, -3, 9, n), near]),)


def _within_one(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    near = rng.choice([-1.0, 1.0], n) * (1.0 - 10.0 ** rng.uniform(-16, -1, n))
    return (np.concatenate([rng.uniform(-1, 1, n), _signed(rng, -320, 0, n), near]),)


def _any(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    return (np.concatenate([rng.uniform(-9, 9, n), _signed(rng, -320, 308, n), _signed(rng, -5, 5, n)]),)


def _powers(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    return (np.concatenate([rng.uniform(-5, 5, n), rng.uniform(-760, 760, n), _signed(rng, -320, 2, n)]),)


def _powers_of_two(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    return (np.concatenate([rng.uniform(-5, 5, n), rng.uniform(-1080, 1030, n), _signed(rng, -320, 2, n)]),)


def _short(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    return (np.concatenate([rng.uniform(-3, 3, n), rng.uniform(-45, 45, n), _signed(rng, -320, 2.8, n)]),)


def _positive(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    near = 1.0 + _signed(rng, -16, -1, n)
    return (np.concatenate([rng.uniform(0.3, 3, n), 10.0 ** rng.uniform(-323, 308, n), near]),)


def _above_minus_one(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    return (np.concatenate([rng.uniform(-0.99, 3, n), _signed(rng, -320, -0.1, n), 10.0 ** rng.uniform(-5, 308, n)]),)


def _above_one(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    return (
        np.concatenate([rng.uniform(1, 3, n), 10.0 ** rng.uniform(0, 308, n), 1.0 + 10.0 ** rng.uniform(-16, -1, n)]),
    )


def _pairs(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    x = np.concatenate([rng.normal(size=n), _signed(rng, -320, 307, n), _signed(rng, -320, 307, n)])
    y = np.concatenate([rng.normal(size=n), _signed(rng, -320, 307, n), np.zeros(n)])
    with np.errstate(under="ignore"):
        y[2 * n :] = x[2 * n :] * _signed(rng, -5, 0, n)
    return x, y


def _powers_of_pairs(rng: np.random.Generator, n: int) -> tuple[Floats, ...]:
    near = np.abs(1.0 + _signed(rng, -12, -1, n))
    x = np.concatenate([10.0 ** rng.uniform(-5, 5, n), near, 10.0 ** rng.uniform(-320, 308, n)])
    y = np.concatenate([rng.uniform(-60, 60, n), np.zeros(2 * n)])
    y[n:] = rng.uniform(-745, 709, 2 * n) / np.log(x[n:])
    return x, y


def _cube_root(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


E, A, R = exponentials, angles, roots
CASES = (
    Case(A.sine, "sin", "sin", mp.sin, _angles, 0.8),
    Case(A.cosine, "cos", "cos", mp.cos, _angles, 0.8),
    Case(A.tangent, "tan", "tan", mp.tan, _angles, 0.9),
    Case(A.arcsine, "asin", "arcsin", mp.asin, _within_one, 0.7),
    Case(A.arccosine, "acos", "arccos", mp.acos, _within_one, 0.65),
    Case(A.arctangent, "atan", "arctan", mp.atan, _any, 0.7),
    Case(A.angle, "atan2", "arctan2", mp.atan2, _pairs, 1.0),
    Case(E.exponential, "exp", "exp", mp.exp, _powers, 0.8),
    Case(E.exponential_of_two, "exp2", "exp2", lambda x: mp.mpf(2) ** x, _powers_of_two, 0.8),
    Case(E.exponential_less_one, "expm1", "expm1", mp.expm1, _short, 0.95),
    Case(E.logarithm, "log", "log", mp.log, _positive, 0.55),
    Case(E.logarithm_plus_one, "log1p", "log1p", mp.log1p, _above_minus_one, 0.55),
    Case(E.logarithm_of_two, "log2", "log2", lambda x: mp.log(x) / mp.log(2), _positive, 0.6),
    Case(E.logarithm_of_ten, "log10", "log10", mp.log10, _positive, 0.6),
    Case(E.raised, "pow", "power", mp.power, _powers_of_pairs, 0.8),
    Case(E.hyperbolic_sine, "sinh", "sinh", mp.sinh, _powers, 0.85),
    Case(E.hyperbolic_cosine, "cosh", "cosh", mp.cosh, _powers, 0.9),
    Case(E.hyperbolic_tangent, "tanh", "tanh", mp.tanh, _short, 0.85),
    Case(E.area_sine, "asinh", "arcsinh", mp.asinh, _any, 0.55),
    Case(E.area_cosine, "acosh", "arccosh", mp.acosh, _above_one, 0.55),
    Case(E.area_tangent, "atanh", "arctanh", mp.atanh, _within_one, 0.55),
    Case(R.cube_root, "cbrt", "cbrt", _cube_root, _any, 0.55),
    Case(R.length, "hypot", "hypot", mp.hypot, _pairs, 0.8),
)

SPECIAL = (
    0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 5e-324, -5e-324, 0.5, -0.5, 2.0, 3.0, -2.0, -3.0, 2.5, -2.5,
    LARGEST, -LARGEST, 2.2250738585072014e-308, 1.0 + 2.0**-52, 1.0 - 2.0**-53, -1.0 - 2.0**-52, 2.0**53 + 2.0, 1e300,
    -1e-300, 709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412, 710.4758600739439,
    710.475860073944, -0.9999999999999999, 1024.0, -1074.0, -1075.5, 1.5707963267948966, 6381956970095103.0 * 2.0**797,
)  # fmt: skip
"""Zeros, infinities, NaN, the ends of the range, whole and half powers, edges of overflow and underflow, and the float
that is nearest to a multiple of pi/2."""


def worst(case: Case, arguments: tuple[Floats, ...], found: Floats) -> float:
    """The largest error, in units of the last place of the truth."""
    most = 0.0
    for value, *row in zip(found.tolist(), *(x.tolist() for x in arguments), strict=True):
        with mp.workprec(1300 if case.draw is _angles and abs(row[0]) > 1e10 else 200):
            true = case.truth(*map(mp.mpf, row))
            most = max(most, _error(value, true))
    return most


def _error(found: float, true: Any) -> float:
    if mp.isnan(true) or math.isnan(found):
        return 0.0 if mp.isnan(true) and math.isnan(found) else math.inf
    if math.isinf(found):
        return 0.0 if abs(true) > LARGEST else math.inf
    size = min(abs(true), mp.mpf(LARGEST))
    return float(abs(mp.mpf(found) - true) / mp.mpf(math.ulp(float(size))))
