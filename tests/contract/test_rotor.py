"""What methods promise for gyrostats: orders and what is kept, measured in plain Python; the others refuse them.

The truth comes from SciPy, and the motions are those of the generic recipes with a rotor along no axis, whose momentum
is about half of the whole.
"""

import math
import re
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.kernels.steps.adams_steps import Adams
from polhode.methods import Keeps, Method, catalogue, find
from tests.authorities import Floats
from tests.authorities.problems import RECIPES, Recipe
from tests.contract._measure import Errors, matrices, run
from tests.contract.test_keeps import check, flags_of

ROTOR = (-0.5, 1.0, 0.75)
GYROSTATS = {name: replace(RECIPES[name], rotor=ROTOR) for name in ("free", "weight", "weight-tilted")}
GYROSTATS["free-tilted"] = replace(GYROSTATS["weight-tilted"], kind="free")
STEPS_KEPT = 100
"""Steps over which quantities are kept; the evidence has a million of bodies without a rotor."""


def test_the_recipes_are_gyrostats_in_earnest() -> None:
    for recipe in GYROSTATS.values():
        m = recipe.problem.momentum_start
        assert 0.3 < np.linalg.norm(recipe.rotor) / np.linalg.norm(m) < 0.8


@cache
def truth(name: str) -> tuple[Floats, Floats]:
    """The attitude as a matrix and the momentum at the end, by SciPy: Euler's equation for the matrix itself."""
    recipe = GYROSTATS[name]
    tensor, g = np.array(recipe.tensor), np.array(recipe.rotor)
    force = np.array(recipe.force) if recipe.kind == "weight" else np.zeros(3)

    def slope(t: float, y: Floats) -> Floats:
        R, m = y[:9].reshape(3, 3), y[9:]
        w = np.linalg.solve(tensor, m - g)
        hat = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        n = np.cross(recipe.point, R.T @ force)
        return np.concatenate([(R @ hat).reshape(-1), np.cross(m, w) + n])

    q = np.array(recipe.quaternion) / np.linalg.norm(recipe.quaternion)
    start = np.concatenate([matrices(q[None])[0].reshape(-1), tensor @ recipe.omega + g])
    end = solve_ivp(slope, (0.0, recipe.t_end), start, method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
    return end[:9].reshape(3, 3), end[9:]


@cache
def errors(name: str, method: Method, steps: int) -> Errors:
    """At the end of a run: the largest entry of the difference in R, and the relative error of the momentum."""
    R, m = truth(name)
    s = run(GYROSTATS[name].problem, method, steps)
    off = float(np.linalg.norm(s.momentum[-1] - m) / np.linalg.norm(m))
    return Errors(float(np.abs(matrices(s.quaternion[-1:])[0] - R).max()), off)


def steps_for(order: int) -> tuple[int, int]:
    """The two grids that show an order: as fine as the accuracy of the truth, some 1e-13, allows."""
    return {1: (160, 240), 2: (48, 72), 3: (48, 72), 4: (36, 54), 5: (36, 54), 6: (16, 24)}.get(order, (10, 14))


VARIANTS = (
    "KL6(of=Strang)", "TJ(of=SABA(stages=1))", "Strang(corrector=17)", "HLR(of=Strang)", "NMB(gamma=0.4)",
    "NMB(attitude=matrix)", "SABA1", "RK4(compensated=true)", "AKW(newton=zero)",
)  # fmt: skip
TAKEN = [m for m in (*catalogue().values(), *map(find, VARIANTS)) if m.accepts_rotor]


ALWAYS = (
    "MR2",
    "Strang",
    "Strang(corrector=17)",
    "KL6(of=Strang)",
    "ABA84",
    "G8",
    "AKW",
    "NMB",
    "NMS",
    "HSTAGM",
    "HLR",
)
"""Methods of which it is always measured what they keep: one of each kind. The others are left to the evidence."""


def pairs(*names: str, always: Collection[str], left_out: Collection[str] = ()) -> list[Any]:
    """Every method that takes gyrostats with two problems: those named with one of them, the rest as evidence."""
    out = []
    for k, method in enumerate(m for m in TAKEN if m.name not in left_out):
        for j, name in enumerate(names):
            marks = [] if j == k % 2 and method.name in always else [pytest.mark.evidence]
            out.append(pytest.param(method, name, id=f"{method.name}-{name}", marks=marks))
    return out


@pytest.mark.parametrize(("method", "name"), pairs("free-tilted", "weight-tilted", always={m.name for m in TAKEN}))
def test_declared_orders_are_observed(method: Method, name: str) -> None:
    declared = method.promises(rotor=True).orders(free=name.startswith("free"))
    if method.adaptive or method.collocation or isinstance(method.scheme, Adams) or method.name == "Processed":
        done = errors(name, method, 12 if method.collocation else 48)  # its order shows at longer steps, or for longer
        assert max(done) < (1e-8 if method.adaptive else 1e-10)
        return
    for k, order in enumerate(reversed(declared)):  # attitude, momentum
        assert order is not None  # no method is exact for gyrostats
        few, many = steps_for(order)
        coarse, fine = errors(name, method, few)[k], errors(name, method, many)[k]
        assert coarse > 5e-12, "too near the accuracy of the truth to show an order"
        assert math.log(coarse / fine) / math.log(many / few) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize(("method", "name"), pairs("free", "weight", always=ALWAYS, left_out=["NMB(gamma=0.4)"]))
def test_kept_or_not_as_declared(method: Method, name: str) -> None:
    """NMB with gamma below 1/2, whose energy grows until a step fails, is left out."""
    recipe: Recipe = GYROSTATS[name]
    for flag in flags_of(name):
        check(flag, recipe, method, STEPS_KEPT)


def test_others_refuse_and_say_what_to_use() -> None:
    body = ph.Body([1.0, 1.75, 2.5], rotor=ROTOR)
    for method in catalogue().values():
        if not method.accepts_rotor:
            with pytest.raises(
                ValueError, match=rf"^{method.name} does not accept a body with a rotor: use Strang or MR2"
            ):
                ph.simulate(body, omega=[1, 0, 0], t_span=(0, 1), step=0.1, method=method)
    for name in ("Strang", "SABA", "Strang(corrector=17)"):  # a variant may be for bodies without a rotor only
        method = find(name, compensated=True)
        with pytest.raises(ValueError, match=rf"compensated=true\) does not accept .* rotor: use {re.escape(name)},"):
            ph.simulate(body, omega=[1, 0, 0], t_span=(0, 1), step=0.1, method=method)


def test_promises_for_gyrostats_have_meaning() -> None:
    for method in TAKEN:
        declared = method.promises(rotor=True)
        assert None not in declared.orders(free=True)
        if isinstance(method.with_rotor, tuple):
            assert Keeps.ENERGY not in declared.keeps_when_free  # what differs is the exact flow, which is not exact
    assert all(not m.accepts_rotor for m in catalogue().values() if m.order is None)
