"""Elliptic functions and integrals to any precision by Arb's balls, samples of their arguments, and the unit of error.

The unit: eps (|f| + sum over the arguments x of |x df/dx|), eps = 2^-52. It is what f would be off by if every argument
were off by one eps of itself and the result rounded to one eps. The arguments are those that are passed: mc, not m.
The sum is of first order, by differences at 2^-100 of the argument. Below the normal numbers the spacing of floats is
added.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from flint import acb, arb, ctx
from numpy.typing import NDArray

from polhode import elliptic
from polhode.kernels.free import elliptic_functions as kernels

Floats = NDArray[np.float64]
Truth = Callable[..., list[Any]]

EPS = 2.0**-52
SMALLEST = 2.0**-1074


def jacobi(u: Any, mc: Any) -> list[Any]:
    """sn, cn, dn by theta functions, DLMF 22.2; outside 0 < m < 1 by DLMF 22.17."""
    if mc < 0:
        m = 1 - mc
        s, c, d = jacobi(u * m.sqrt(), -mc / m)
        return [s / m.sqrt(), d, c]
    if mc > 1:
        s, c, d = jacobi(u * mc.sqrt(), 1 / mc)
        return [s / d / mc.sqrt(), c / d, 1 / d]
    if mc == 0:
        return [u.tanh(), u.sech(), u.sech()]
    if mc == 1:
        return [u.sin(), u.cos(), arb(1)]
    k, k_prime = _quarter(mc), _quarter(1 - mc)
    tau = acb(0, k_prime / k)
    theta_functions: Any = acb.modular_theta
    zero, theta = theta_functions(acb(0), tau), theta_functions(acb(u / (2 * k)), tau)
    _, o2, o3, o4 = (t.real for t in zero)
    t1, t2, t3, t4 = (t.real for t in theta)
    return [o3 * t1 / (o2 * t4), o4 * t2 / (o2 * t4), o4 * t3 / (o3 * t4)]


def amplitude(u: Any, mc: Any) -> list[Any]:
    s, c, _ = jacobi(u, mc)
    turns = arb(0) if mc <= 0 else (u / (2 * _quarter(mc)) + arb(0.5)).floor()
    if not turns.is_exact():
        return [arb(0, 1)]  # not enough digits to count: the caller tries with more
    even = (turns / 2).is_integer()
    return [turns * arb.pi() + (arb.atan2(s, c) if even else arb.atan2(-s, -c))]


def ellipk(mc: Any) -> list[Any]:
    return [_quarter(mc)]


def ellipe(mc: Any) -> list[Any]:
    return [acb(1 - mc).elliptic_e().real]


def ellipf(phi: Any, mc: Any) -> list[Any]:
    return [acb.elliptic_f(acb(phi), acb(1 - mc)).real]


def ellipe_inc(phi: Any, mc: Any) -> list[Any]:
    return [acb.elliptic_e_inc(acb(phi), acb(1 - mc)).real]


def ellippi(nc: Any, phi: Any, mc: Any) -> list[Any]:
    """The real part is Cauchy's principal value."""
    return [acb.elliptic_pi_inc(acb(1 - nc), acb(phi), acb(1 - mc)).real]


def ellippi_complete(nc: Any, mc: Any) -> list[Any]:
    return [acb.elliptic_pi(acb(1 - nc), acb(1 - mc)).real]


def _quarter(mc: Any) -> Any:
    """K by the arithmetic-geometric mean."""
    return arb.pi() / 2 / mc.sqrt().agm(arb(1))


class Value(NamedTuple):
    value: Any
    unit: float


def with_units(truth: Truth, args: tuple[float, ...]) -> list[Value]:
    """The results to 30 digits, and the unit in which their errors count."""
    ctx.prec = 250
    for _ in range(7):
        exact = [arb(a) for a in args]
        values = truth(*exact)
        # towards zero, which is into the domain
        moves = [
            truth(*(x * (1 - arb(2) ** -100) if i == j else x for j, x in enumerate(exact))) for i in range(len(args))
        ]
        spreads = [sum(abs(m[k] - v) for m in moves) * arb(2) ** 100 for k, v in enumerate(values)]
        units = [abs(v) + s for v, s in zip(values, spreads, strict=True)]
        if all(
            u.is_finite() and u.rad() <= u.mid() * 1e-6 and v.rad() <= u.mid() * 1e-20
            for u, v in zip(units, values, strict=True)
        ):
            return [Value(v, float(u.mid()) * EPS + SMALLEST) for u, v in zip(units, values, strict=True)]
        ctx.prec *= 2
    raise ArithmeticError(f"{truth.__name__}{args} cannot be had")


def errors(name: str, found: Floats, args: list[Floats]) -> Floats:
    """The errors of the results, a row each, in the units above."""
    truth: Truth = globals()[name]
    rows = np.atleast_2d(found)
    off = np.empty_like(rows)
    for i, point in enumerate(zip(*(a.tolist() for a in args), strict=True)):
        for k, (value, unit) in enumerate(with_units(truth, point)):
            got = float(rows[k, i])
            off[k, i] = float(abs(arb(got) - value).mid()) / unit if math.isfinite(got) else math.inf
    return off


# Samples. Each region is a name and a function of a generator and a count.

Draw = Callable[[np.random.Generator, int], list[Floats]]


def parameters(rng: np.random.Generator, n: int) -> dict[str, Floats]:
    """mc by region of m."""
    return {
        "0 < m < 1": rng.uniform(0, 1, n),
        "m to 1": 10 ** rng.uniform(-307, -0.3, n),
        "m near 1": 10 ** rng.uniform(-18, -2, n),
        "m to 0": 1 + signs(rng, n) * 10 ** rng.uniform(-15.5, -1, n),
        "m < 0": 1 + 10 ** rng.uniform(-2, 2, n),
        "m to -inf": 10 ** rng.uniform(1, 300, n),
        "m > 1": -(10 ** rng.uniform(-3, 3, n)),
        "m to 1 from above": -(10 ** rng.uniform(-307, -3, n)),
        "m to inf": -(10 ** rng.uniform(3, 300, n)),
        "edges": rng.choice(EDGES, n),
    }


POSITIVE_EDGES = [
    SMALLEST,
    1e-320,
    2.0**-1022,
    1e-16,
    EPS,
    0.5 - EPS / 4,
    0.5,
    0.5 + EPS,
    1 - EPS / 2,
    1.0,
    1 + EPS,
    2.0,
    1e308,
]
EDGES = np.array([*POSITIVE_EDGES, 2 - EPS, 2 + 2 * EPS, -SMALLEST, -1e-320, -EPS, -1 + EPS, -1, -1 - EPS, -1e308])


def signs(rng: np.random.Generator, n: int) -> Floats:
    return rng.choice(np.array([-1.0, 1.0]), n)


def near(rng: np.random.Generator, n: int) -> Floats:
    """Around 1, at all distances."""
    return 1 + signs(rng, n) * 10 ** rng.uniform(-16, -0.5, n)


def spans(rng: np.random.Generator, n: int, quarter: Floats) -> Floats:
    """Arguments of either sign: moderate, tiny, near multiples of the quarter period, and up to a million of them."""
    kinds = [
        quarter * rng.uniform(0, 4, n),
        quarter * 10 ** rng.uniform(-250, 0, n),
        np.minimum(quarter, 1) * 10 ** rng.uniform(-20, 0, n),
        quarter * rng.integers(1, 9, n) * near(rng, n),
        quarter * rng.uniform(0, 1e6, n),
        quarter * np.rint(10 ** rng.uniform(0, 6, n)) * near(rng, n),
    ]
    return signs(rng, n) * np.choose(rng.integers(0, len(kinds), n), kinds)


def angles(rng: np.random.Generator, n: int, mc: Floats) -> Floats:
    """As `spans`, of right angles; for m > 1 within the domain and up to its end."""
    free = spans(rng, n, np.full(n, np.pi / 2))
    tiny = 10 ** rng.uniform(-250, 0, n)
    sine = np.choose(rng.integers(0, 3, n), [rng.uniform(0, 1, n), 1 - 10 ** rng.uniform(-13, -1, n), tiny])
    bound = np.arctan2(sine / np.sqrt(1 + np.abs(mc)), np.sqrt(1 - sine**2 / (1 + np.abs(mc))))
    return np.where(mc < 0, signs(rng, n) * bound, free)


def characteristics(rng: np.random.Generator, n: int, mc: Floats) -> Floats:
    """nc: moderate, extreme, near 1, near mc."""
    kinds = [
        rng.uniform(0, 1, n),
        10 ** rng.uniform(-2, 2, n),
        10 ** rng.uniform(-250, 250, n),
        near(rng, n),
        np.clip(np.abs(mc), 1e-300, 1e300) * near(rng, n),
    ]
    return np.choose(rng.integers(0, len(kinds), n), kinds)


def period(mc: Floats) -> Floats:
    """About the quarter period of sn, for every real mc."""
    largest = np.maximum(np.maximum(mc, 1 - mc), 1)
    lesser = np.where(mc > 1, 1, np.abs(mc)) / largest
    return np.array([kernels.ellipk(max(x, SMALLEST)) for x in lesser.tolist()]) / np.sqrt(largest)


def samples(name: str, seed: int, count: int) -> Iterator[tuple[str, list[Floats]]]:
    """Regions by name, `count` points each."""
    rng = np.random.default_rng(seed)
    for region, mc in parameters(rng, count).items():
        if name in ("jacobi", "amplitude"):
            yield region, [spans(rng, count, period(mc)), mc]
            continue
        if name in ("ellipk", "ellipe", "ellippi_complete"):
            mc = np.abs(mc) if region == "edges" else mc
            if (mc < 0).any():
                continue
        if name in ("ellipk", "ellipe"):
            yield region, [mc]
        elif name in ("ellipf", "ellipe_inc"):
            yield region, [angles(rng, count, mc), mc]
        elif name == "ellippi_complete":
            nc = characteristics(rng, count, mc)
            yield region + ", n < 1", [nc, mc]
            yield region + ", n > 1", [-nc, mc]
        else:
            nc, phi = characteristics(rng, count, mc), angles(rng, count, mc)
            yield region + ", n < 1", [nc, phi, mc]
            near_pole = near(rng, count) / np.maximum(np.abs(np.tan(phi)), 1e-150) ** 2
            nc = np.where(rng.uniform(0, 1, count) < 0.3, np.clip(near_pole, 1e-300, 1e300), nc)
            yield region + ", n > 1", [-nc, phi, mc]


REGIONS = {
    "jacobi": 10,
    "amplitude": 10,
    "ellipk": 7,
    "ellipe": 7,
    "ellipf": 10,
    "ellipe_inc": 10,
    "ellippi": 20,
    "ellippi_complete": 14,
}
"""The functions, and in how many regions each is sampled."""


def measured(name: str, seed: int, count: int) -> dict[str, Floats]:
    """The errors of the public function by region, in units; the three of `jacobi` one after the other."""
    function = getattr(elliptic, name)
    return {
        region: errors(name, np.array(function(*args)), args).ravel() for region, args in samples(name, seed, count)
    }
