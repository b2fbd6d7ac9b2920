"""Tables that others made: Boost, Principia, SciPy's xsref. Skipped where they are not at hand.

A table gives the modulus k or the parameter m in decimals; 1 - m is rounded once, from the exact fraction. What an
argument loses when it is rounded is half a unit of `tests/kernels/elliptic_truth.py` for each, so one and a half at
most; our own error there is below 4.
"""

import csv
import math
import os
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from polhode import elliptic
from polhode.kernels.free import elliptic_functions as kernels
from tests.kernels import elliptic_truth as truth

ROOT = Path(os.environ.get("POLHODE_AUTHORITIES", Path(__file__).parents[3] / "shared" / "data"))
UNITS = 5.0


def rows(path: str) -> list[dict[str, str]]:
    if not (ROOT / path).exists():
        pytest.skip(f"no {path} in {ROOT}; POLHODE_AUTHORITIES says where the tables are")
    with (ROOT / path).open() as file:
        return list(csv.DictReader(file))


def complement(x: str) -> float:
    return float(1 - Fraction(x))


def from_modulus(k: str) -> float:
    return float(1 - Fraction(k) ** 2)


def worst(name: str, points: Sequence[tuple[float, ...]], values: list[list[str]]) -> float:
    """The largest error against the table, in units."""
    found = np.atleast_2d(np.array(getattr(elliptic, name)(*np.array(points).T)))
    errors = []
    for i, (point, expected) in enumerate(zip(points, values, strict=True)):
        for k, (value, unit) in enumerate(truth.with_units(getattr(truth, name), point)):
            ctx.prec = 250
            printed = 0.5 * 10.0 ** int(Decimal(expected[k]).as_tuple().exponent)  # what its last digit leaves open
            assert abs(arb(expected[k]) - value) < 1.5 * unit + printed, "the table and Arb disagree"
            errors.append((float(abs(arb(float(found[k, i])) - arb(expected[k])).mid()) - printed) / unit)
    return max(errors)


@pytest.mark.parametrize("table", ["jacobi_elliptic", "jacobi_elliptic_small", "jacobi_large_phi", "jacobi_near_1"])
def test_boost_jacobi(table: str) -> None:
    data = rows(f"boost/{table}.csv")
    points = [(float(r["u"]), from_modulus(r["k"])) for r in data]
    assert worst("jacobi", points, [[r["sn"], r["cn"], r["dn"]] for r in data]) < UNITS


Column = Callable[[str], float]
BOOST: dict[str, tuple[str, tuple[tuple[str, Column], ...], str]] = {
    "ellint_k_data": ("ellipk", (("k", from_modulus),), "K"),
    "ellint_e_data": ("ellipe", (("k", from_modulus),), "E"),
    "ellint_f_data": ("ellipf", (("phi", float), ("k", from_modulus)), "F"),
    "ellint_e2_data": ("ellipe_inc", (("phi", float), ("k", from_modulus)), "E"),
    "ellint_pi2_data": ("ellippi_complete", (("n", complement), ("k", from_modulus)), "Pi"),
    "ellint_pi3_data": ("ellippi", (("n", complement), ("phi", float), ("k", from_modulus)), "Pi"),
    "ellint_pi3_large_data": ("ellippi", (("n", complement), ("phi", float), ("k", from_modulus)), "Pi"),
}


@pytest.mark.parametrize("table", BOOST)
def test_boost_integrals(table: str) -> None:
    name, columns, value = BOOST[table]
    data = rows(f"boost/{table}.csv")
    points = [tuple(read(r[column]) for column, read in columns) for r in data]
    assert worst(name, points, [[r[value]] for r in data]) < UNITS


CARLSON: dict[str, Callable[..., float]] = {
    "rc": kernels._rc,
    "rf": kernels.rf,
    "rd": kernels._rd,
    "rj": lambda x, y, z, p: kernels._rj(1.0, x, y, z, p),
}


@pytest.mark.parametrize("name", CARLSON)
def test_boost_carlson(name: str) -> None:
    """Arguments from 1e-31 to 1e29. Measured: 1.05, 2.15, 2.39 and 2.27 eps at worst."""
    relative = []
    for row in rows(f"boost/ellint_{name}_data.csv"):
        *args, value = row.values()
        x = [float(a) for a in args]
        if name == "rj" and x[3] < 0:
            continue  # the kernel takes care of negative p before it comes to R_J
        relative.append(abs(float(Fraction(CARLSON[name](*x)) / Fraction(value) - 1)))
    assert len(relative) > 100
    assert max(relative) < {"rc": 1.25, "rf": 2.5, "rd": 2.75, "rj": 2.75}[name] * truth.EPS


def test_principia() -> None:
    """The table has 14 to 18 digits."""
    data = rows("principia/elliptic_functions.csv")
    points = [(float(r["u"]), complement(r["m"])) for r in data]
    assert worst("jacobi", points, [[r["sn"], r["cn"], r["dn"]] for r in data]) < UNITS
    assert worst("amplitude", points, [[r["am"]] for r in data]) < UNITS


def parquet(function: str, kind: str) -> Iterator[tuple[float, ...]]:
    """The rows of one table of xsref."""
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow reads the tables of xsref")
    paths = [*ROOT.glob(f"xsref/{function}__{kind}_*.parquet")]
    if not paths:
        pytest.skip(f"no xsref tables in {ROOT}; POLHODE_AUTHORITIES says where the tables are")
    table: Any = pq.read_table(paths[0])
    return zip(*(c.to_pylist() for c in table.columns), strict=True)


XSREF: dict[str, tuple[str, Callable[[float], float]]] = {
    "ellipj": ("jacobi", lambda m: 1 - m),
    "ellipk": ("ellipk", lambda m: 1 - m),
    "ellipkm1": ("ellipk", lambda mc: mc),
    "ellipkinc": ("ellipf", lambda m: 1 - m),
}


NOISE = 1e-100
"""The tables have such numbers where a zero is exact."""


@pytest.mark.parametrize("function", XSREF)
def test_xsref(function: str) -> None:
    """The tables hold doubles. Rows where m does not have enough digits to fix 1 - m are left out."""
    name, parameter = XSREF[function]
    tried = 0
    for args, values in zip(parquet(function, "In"), parquet(function, "Out"), strict=True):
        *first, m = args
        mc = parameter(m)
        if not all(map(math.isfinite, (*args, *values))) or (
            function != "ellipkm1" and Fraction(mc) != 1 - Fraction(m)
        ):
            continue
        point = (*first, mc)
        found = np.atleast_1d(getattr(elliptic, name)(*point))
        for got, value, (_, unit) in zip(found, values, truth.with_units(getattr(truth, name), point), strict=False):
            assert abs(got - value) < 4 * unit + truth.EPS * abs(value) + NOISE, point
        tried += 1
    assert tried > 50
