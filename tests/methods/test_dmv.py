"""Discrete Moser-Veselov: its equation, its series, how far it goes, and its compensated form.

Orders, what is kept and symmetries of the plain methods are measured in `tests/contract`.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels import status as codes
from polhode.kernels.compared.moser_veselov import invariants, other_moments, other_step, solved
from polhode.kernels.compared.moser_veselov_series import SIGMA, D, S, Table
from polhode.kernels.types import Inertia, Vec3
from polhode.methods import Keeps, Method, find
from polhode.run.integration import SimulationFailed
from tests.authorities import Floats, paper_case, paper_records
from tests.authorities.problems import PROBLEMS, RECIPES
from tests.contract._measure import (
    EPS,
    OneStep,
    compared,
    compiled_run,
    errors,
    interpreted,
    matrices,
    observed_order,
    run,
    states,
)
from tests.contract.test_keeps import FREE, TORQUED, defect, large, noise

NAMES = ("DMV2", "DMV4", "DMV6", "PDMV4", "PDMV6", "PDMV8", "PDMV10")
COMPENSATED = [f"{name}(compensated=true)" for name in NAMES]


def vector(x: Any) -> Vec3:
    a, b, c = (float(v) for v in x)
    return (a, b, c)


def bodies(count: int) -> Iterator[tuple[Floats, Floats]]:
    """Moments of bodies that can exist, from needles to discs, and momenta of any direction at a rate of 1."""
    draw = np.random.default_rng(1991)
    for _ in range(count):
        a = 10.0 ** draw.uniform(-2, 0, size=3)
        inertia = np.array([a[1] + a[2], a[2] + a[0], a[0] + a[1]])
        w = draw.normal(size=3)
        yield inertia, inertia * w / np.linalg.norm(w)


# --- the equation


def hat(v: Floats) -> Floats:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


@pytest.mark.parametrize("h", [1e-3, 0.1, 0.7, -0.7, 0.99])
def test_step_solves_moser_veselov(h: float) -> None:
    """E D - D E^T = h hat(m) as matrices, and the increment is that of E^T m."""
    for inertia, m in bodies(50):
        c, b, status = solved(vector(inertia), vector(m), h)
        assert status == codes.OK
        E = matrices(np.array([[1.0, *c]]))[0]
        half = np.diag(inertia.sum() / 2 - inertia)
        size = np.linalg.norm(h * m)
        # Measured: 3 eps. The entries of E D are as large as the moments, and round that much.
        assert np.abs(E @ half - half @ E.T - h * hat(m)).max() < 8 * EPS * (size + inertia.max())
        new = m + 4.0 / (h * (1.0 + np.dot(c, c))) * np.array(b)
        # What the equation rounds, the increment divides by h.
        assert np.abs(new - E.T @ m).max() < 8 * EPS * (np.linalg.norm(m) + inertia.max() / abs(h))


def test_lie_group_variational_integrator() -> None:
    """lee2005: h hat(m + h n / 2) = F D - D F^T, R F, F^T m + h F^T n / 2 + h n' / 2, where n is the torque."""
    h = 0.3
    step = OneStep(PROBLEMS["weight"], find("LGVI"))
    inertia = np.array(PROBLEMS["weight"].body.moments)
    D = np.diag(inertia.sum() / 2 - inertia)
    for s in states(3):
        end = step(s, h)
        n, after = (np.array(step.stepper.start(step.body, step.p, t, x)) for t, x in ((0.0, s), (h, end)))
        R, new = matrices(np.array([s.q, end.q]))
        F = R.T @ new
        assert np.abs(F @ D - D @ F.T - h * hat(s.m + h / 2 * n)).max() < 32 * EPS * inertia.max()
        assert np.abs(F.T @ (s.m + h / 2 * n) + h / 2 * after - end.m).max() < 32 * EPS * inertia.max()


def continued(inertia: Floats, m: Floats, c: Floats, h: float) -> tuple[Floats, float]:
    """The solution near c, and the determinant of the tangent there, by another Newton iteration; -1 if it fails."""
    d = np.array([inertia[1] - inertia[2], inertia[2] - inertia[0], inertia[0] - inertia[1]])
    for _ in range(100):
        f = inertia * c - d * np.roll(c, -1) * np.roll(c, 1) - h / 2 * m * (1 + c @ c)
        mixed = np.array([[0, d[0] * c[2], d[0] * c[1]], [d[1] * c[2], 0, d[1] * c[0]], [d[2] * c[1], d[2] * c[0], 0]])
        tangent = np.diag(inertia) - mixed - h * np.outer(m, c)
        change = np.linalg.solve(tangent, f)
        c = c - change
        if np.abs(change).max() < 1e-9:
            return c, float(np.linalg.det(tangent))
    return c, -1.0


def test_solution_is_the_one_that_grows_from_rest() -> None:
    """Followed in small steps of h to where it ends: there are others, and up to the end they are not found."""
    ends = []
    for inertia, m in bodies(30):
        c, h = np.zeros(3), 0.0
        while True:
            new, determinant = continued(inertia, m, c, h + 0.01)
            if determinant <= 0.0 or np.linalg.norm(new - c) > 0.25:  # it ended in between
                break
            c, h = new, h + 0.01
            mine, _, status = solved(vector(inertia), vector(m), h)
            assert status == codes.OK
            # The equation is as badly conditioned as its end is near.
            assert np.abs(np.array(mine) - c).max() < 1e-12 / max(determinant / inertia.prod(), 1e-6)
        ends.append(h)
        for further in (0.02, 0.1, 0.5, 3.0, 1e3):
            assert solved(vector(inertia), vector(m), h + further)[2] == codes.NO_CONVERGENCE
    assert min(ends) > 0.985  # the last hundredth may be missed
    assert max(ends) < 1.25


@pytest.mark.parametrize("x", [1e-8, 0.3, 0.9, 0.9999999])
def test_sphere_turns_by_an_arc_sine(x: float) -> None:
    """sin(theta) = h |w|, about the momentum; at the end the slope is infinite."""
    axis = np.array([2.0, -3.0, 6.0]) / 7
    c, b, status = solved((2.5, 2.5, 2.5), vector(2.5 * axis), x)
    assert status == codes.OK
    assert b == (0.0, 0.0, 0.0)
    assert 2 * math.atan(np.linalg.norm(c)) == pytest.approx(math.asin(x), rel=8 * EPS / math.sqrt(1 - x * x))
    assert np.abs(np.cross(c, axis)).max() < 4 * EPS * np.linalg.norm(c)


@pytest.mark.parametrize("x", [1.0000001, 1.1, 2.0, 1e10, 1e200])
def test_sphere_beyond_its_end(x: float) -> None:
    assert solved((2.5, 2.5, 2.5), (0.0, 2.5, 0.0), x)[2] == codes.NO_CONVERGENCE


def test_never_hangs_nor_divides_by_zero() -> None:
    """Whatever the numbers: an answer that is finite, or a status."""
    sizes = (0.0, 1e-200, 1e-3, 1.0, 1e3, 1e200, math.inf, math.nan)
    for inertia in ((1.0, 1.0, 1.0), (1.0, 1.0, 2.0), (1e-6, 1.0, 1.0), (1.0, 2.0, 9.0)):
        for m in product(sizes, repeat=3):
            c, _, status = solved(inertia, vector(m), 0.25)
            assert status != codes.OK or all(map(math.isfinite, c))


# --- the series, in exact arithmetic


def evaluated(table: Table, a: list[Fraction], H: Fraction, C: Fraction) -> list[Fraction]:
    """The coefficients of h^2, h^4, ... for the inverse moments a."""
    e = {"e1": sum(a), "e2": a[0] * a[1] + a[1] * a[2] + a[2] * a[0], "e3": a[0] * a[1] * a[2]}
    out = []
    for rows in table:
        n, total = len(rows) - 1, Fraction(0)
        for j, row in enumerate(rows):
            for term in row.replace(" - ", " + -").split(" + "):
                coefficient, *powers = term.split("*")
                total += Fraction(coefficient) * math.prod(e[p] for p in powers) * H**j * C ** (n - j)
        out.append(total)
    return out


MOMENTS = [Fraction(3, 2), Fraction(5, 7), Fraction(9, 4)]


@pytest.mark.parametrize("axis", range(3))
def test_series_for_a_steady_turn(axis: int) -> None:
    """About a principal axis the sine of the turn is h m / It: so It must be I h w / sin(h w), to the last term."""
    a = [1 / i for i in MOMENTS]
    m = Fraction(4, 5)
    H, C, w = a[axis] * m**2 / 2, m**2 / 2, a[axis] * m
    s, d = evaluated(S, a, H, C), evaluated(D, a, H, C)
    for n in range(1, len(S) + 1):
        assert s[n - 1] * a[axis] + d[n - 1] == a[axis] * (-1) ** n * w ** (2 * n) / math.factorial(2 * n + 1)


def test_series_of_step_and_moments_agree() -> None:
    """The momentum's pace with the modified moments is (1 + S) (1 + SIGMA of the modified body) = 1.

    The shift D of the inverse moments does not change Euler's equations, but adds D C to H. Both sides are
    compared as power series in x = h^2.
    """
    a, H, C = [1 / i for i in MOMENTS], Fraction(7, 10), Fraction(11, 20)
    terms = len(SIGMA)
    s, d = evaluated(S, a, H, C)[:terms], evaluated(D, a, H, C)[:terms]

    def pace(x: Fraction) -> Fraction:
        stretch = 1 + sum((s[n] * x ** (n + 1) for n in range(terms)), Fraction(0))
        shift = sum((d[n] * x ** (n + 1) for n in range(terms)), Fraction(0))
        sigma = evaluated(SIGMA, [stretch * v + shift for v in a], stretch * H + shift * C, C)
        return stretch * (1 + sum((sigma[n] * x ** (n + 1) for n in range(terms)), Fraction(0))) - 1

    # The first x that is left has the power terms + 1: halving x divides by 2^(terms + 1).
    x = Fraction(1, 10**9)
    assert float(pace(x) / pace(x / 2)) == pytest.approx(2 ** (terms + 1), rel=1e-6)


@pytest.mark.parametrize("order", [4, 6, 8, 10])
def test_moments_are_computed_to_the_last_bit(order: int) -> None:
    """Against the series in exact arithmetic: one rounding of the result, and eps times the correction."""
    inertia, m, h = (1.0, 1.75, 2.5), (0.9, -0.7, 1.1), 0.25
    body = Inertia(inertia, (1 / inertia[0], 1 / inertia[1], 1 / inertia[2]))
    H, C = invariants(body, m)
    moments, step, status = other_moments(order)(body, H, C, h)
    a = [1 / Fraction(i) for i in inertia]
    x = Fraction(h) ** 2
    s, d = (evaluated(table[: order // 2 - 1], a, Fraction(H), Fraction(C)) for table in (S, D))
    stretch, shift = (sum(v[n] * x ** (n + 1) for n in range(len(v))) for v in (s, d))
    assert (step, status) == (h, codes.OK)
    for mine, i in zip(moments, inertia, strict=True):
        assert mine == pytest.approx(float(1 / ((1 + stretch) / Fraction(i) + shift)), rel=EPS, abs=0)


def test_step_is_the_series_inverted() -> None:
    """h' (1 + SIGMA(h')) = h up to the terms left out."""
    body = Inertia((1.0, 1.75, 2.5), (1.0, 1 / 1.75, 0.4))
    H, C = invariants(body, (0.9, -0.7, 1.1))
    sigma = evaluated(SIGMA, [1 / Fraction(i) for i in body.inertia], Fraction(H), Fraction(C))
    for order in (4, 6):

        def left(h: float, order: int = order) -> float:
            step = other_step(order)(body, H, C, h)[1]
            return step * (1 + float(sigma[0]) * step**2 + (float(sigma[1]) * step**4 if order == 6 else 0)) / h - 1

        assert math.log2(left(0.2) / left(0.1)) == pytest.approx(order, abs=0.1)


def test_series_are_refused_where_they_make_no_sense() -> None:
    """A step in which the body turns by several radians, however soft the equation is then."""
    body = PROBLEMS["free"].body
    for name in NAMES:
        for h in (2.0, 5.0, 50.0, 1e6):
            with interpreted(), pytest.raises(SimulationFailed, match=r"could not solve .* shorter step"):
                ph.simulate(body, omega=(0.9, -0.7, 1.1), t_span=(0.0, 10 * h), step=h, method=name)


# --- states of the papers

FREE_STATES = [r for r, record in paper_records().items() if record["torque"]["model"] == "free" and record["t"] <= 100]


@pytest.mark.parametrize("method", ["PDMV10", "PDMV10(compensated=true)"])
@pytest.mark.parametrize("record_id", FREE_STATES)
def test_papers_states(method: str, record_id: str) -> None:
    """Against 40 digits, with steps in which the body turns by 1/20: the tenth order leaves 1e-15 of a turn."""
    case = paper_case(record_id)
    steps = math.ceil(20 * math.hypot(*case.omega) * case.t)
    with interpreted():
        end = ph.simulate(
            case.body, omega=case.omega, attitude=case.attitude,
            t_span=(0.0, case.t), step=case.t / steps, method=method, every=steps,
        )  # fmt: skip
    assert max(compared(end, case.R, case.omega_end)) < 15 * EPS * max(1.0, case.sensitivity)


@pytest.mark.parametrize("name", NAMES)
def test_energy_of_celledoni2006(name: str) -> None:
    """h = 0.4 to t = 400: the paper has 1e-13 for the maps of orders 2, 4 and 6."""
    body, m = ph.Body((5.0, 4.0, 3.0)), np.array([-1.0, 0.0, 2.0])
    with interpreted():
        solution = ph.simulate(body, omega=m / np.array([5.0, 4.0, 3.0]), t_span=(0.0, 400.0), step=0.4, method=name)
    energy = (solution.momentum * solution.omega).sum(axis=1) / 2
    assert np.abs(energy - energy[0]).max() < 2e-14  # measured: up to 4e-15


@pytest.mark.parametrize("name", ["DMV2", "DMV4", "DMV6"])
def test_krysl2004_at_a_step_of_five(name: str) -> None:
    """Figure 3: "all the discrete Moser-Veselov integrators fail". They say so; at a step of 1 they do not fail."""
    case = paper_case("krysl2004-mclachlan-zanna@t=50")
    with interpreted():
        with pytest.raises(SimulationFailed, match="shorter step") as failure:
            ph.simulate(case.body, omega=case.omega, t_span=(0.0, 50.0), step=5.0, method=name)
        assert np.isfinite(failure.value.solution.momentum).all()
        ph.simulate(case.body, omega=case.omega, t_span=(0.0, 50.0), step=1.0, method=name)


# --- under a torque


@pytest.mark.parametrize("name", ["weight", "swing", "weight-tilted"])
def test_torqued_is_strang_with_another_free_step(name: str) -> None:
    """With a free step of order 10 what is left of the difference to Strang is round-off."""
    problem = PROBLEMS[name]
    mine, strang = (run(problem, find(m), 64, every=1) for m in ("PDMV10", "Strang"))
    assert np.abs(mine.momentum - strang.momentum).max() < 64 * EPS * np.abs(strang.momentum).max()
    assert np.abs(matrices(mine.quaternion) - matrices(strang.quaternion)).max() < 64 * EPS
    assert mine.nfev == strang.nfev


# --- compensated


@pytest.mark.parametrize("name", COMPENSATED)
def test_compensated_is_the_same_map(name: str) -> None:
    """The same orders, to the same card, from a quaternion that is not scaled on the way."""
    method = find(name)
    plain = find(name.partition("(")[0])
    assert method.unscaled
    assert (method.keeps, method.keeps_when_free) == (plain.keeps, plain.keeps_when_free)
    for problem in ("free", "weight", "weight-tilted"):
        a, b = (run(PROBLEMS[problem], m, 64, every=1) for m in (method, plain))
        assert np.abs(a.momentum - b.momentum).max() < 64 * EPS * np.abs(b.momentum).max()
        assert np.abs(matrices(a.quaternion) - matrices(b.quaternion)).max() < 64 * EPS
        assert a.nfev == b.nfev


@pytest.mark.parametrize("name", COMPENSATED)
def test_compensated_orders(name: str) -> None:
    method = find(name)
    for problem in ("free", "swing"):
        expected = method.orders(free=problem == "free")
        for part, declared in zip(("momentum", "attitude"), expected, strict=True):
            error = lambda n, part=part, problem=problem: getattr(errors(problem, method, n), part)  # noqa: E731
            assert observed_order(error, floor=1e-13) == pytest.approx(declared, abs=0.2)


@pytest.mark.parametrize("name", ["DMV2(compensated=true)", "PDMV10(compensated=true)"])
def test_compensated_keeps_what_it_should(name: str) -> None:
    method = find(name)
    for problem, flags in (("free", FREE), ("weight", TORQUED)):
        promised = method.keeps_when_free if problem == "free" else method.keeps
        for flag in promised & flags:
            h = large(method)[0]
            assert defect(flag, RECIPES[problem], method, h, 500) <= noise(flag, h, 500)
    assert Keeps.SYMPLECTIC in find("DMV2").keeps


@pytest.mark.parametrize("name", ["DMV6(compensated=true)", "PDMV10(compensated=true)"])
def test_compensated_symmetries(name: str) -> None:
    """Units and reversed time, to the bit."""
    method = find(name)
    for recipe in (RECIPES["free"], RECIPES["swing"]):
        a, b = (run(r.problem, method, 40, every=1) for r in (recipe, recipe.mirrored()))
        assert np.array_equal(a.quaternion, b.quaternion)
        assert np.array_equal(a.momentum, -b.momentum)
        mass, time = 2.0**30, 2.0**-20
        c = run(recipe.rescaled(mass, time).problem, method, 40, every=1)
        assert np.array_equal(a.quaternion, c.quaternion)
        assert np.array_equal(a.momentum * (mass / time), c.momentum)


def test_unscaled_quaternion_stays_in_range() -> None:
    """Its norm grows by sqrt(1 + c.c) a step: 100 000 steps with a turn of 0.8 would reach 10^3000."""
    problem, method = PROBLEMS["free"], find("PDMV10(compensated=true)")
    solution = compiled_run(problem, method, 100_000, 50_000.0, every=1000)
    L = np.einsum("nij,nj->ni", matrices(solution.quaternion), solution.momentum)
    assert np.abs(L - L[0]).max() < 2 * EPS * math.sqrt(100_000) * np.linalg.norm(L[0])  # measured: 0.5


def test_compensation_pays() -> None:
    """The energy after 20 000 short steps: a tenth of an ulp and less with compensation, several without."""
    inertia = np.array([0.345, 0.653, 1.0])
    body, m = ph.Body(inertia, allow_unphysical=True), np.array([0.5, 0.2, 0.71**0.5])

    def error(chosen: Method) -> float:
        done = ph.simulate(body, omega=m / inertia, t_span=(0.0, 200.0), step=0.01, method=chosen, every=100)
        energy = (done.momentum.astype(np.longdouble) ** 2 / inertia.astype(np.longdouble)).sum(axis=1) / 2
        return float(np.abs(energy - energy[0]).max())

    # In both cases states are rounded when they are saved, which is 1 eps here.
    assert error(find("PDMV10", compensated=True)) < 2 * EPS < error(find("PDMV10")) < 200 * EPS
