"""Adams's methods: their weights, their order in long runs, and where they have no past to build on."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.steps.adams_steps import bashforth, moulton
from polhode.methods import find
from polhode.run.integration import SimulationFailed
from tests.contract._measure import EPS, interpreted, matrices

ORDERS = {"A8": 8, "A10": 10, "A12": 12}
BODY, OMEGA = ph.Body([1.0, 1.75, 2.5]), (0.9, -0.7, 1.1)
WEIGHT = ph.HeavyTop(1.5, point=(0.375, -0.25, 0.875))


def run(method: str, step: float, torque: Any = WEIGHT, t_end: float = 24.0, **output: Any) -> ph.Solution:
    return ph.simulate(
        BODY, torque, omega=OMEGA, t_span=(0.0, t_end), step=step, method=method, **output or {"every": 10**7}
    )


def apart(a: ph.Solution, b: ph.Solution) -> float:
    """Returns the largest difference of attitudes and momenta."""
    turned = np.abs(matrices(a.quaternion) - matrices(b.quaternion)).max()
    return max(float(turned), float(np.abs(a.momentum - b.momentum).max()))


# --- the weights


@pytest.mark.parametrize("order", ORDERS.values())
def test_order_conditions(order: int) -> None:
    """The integral of every power up to the order less one, and no further."""
    for weights, first in ((bashforth(order), 0), (moulton(order), 1)):
        exact = [Fraction(w).limit_denominator(10**12) for w in weights]
        assert len(weights) == order
        for k in range(order + 1):
            terms = [w * float(first - j) ** k for j, w in enumerate(weights)]
            off = abs(math.fsum([*terms, -1 / (k + 1)])) / (math.fsum(map(abs, terms)) or 1.0)
            assert off < 4 * EPS if k < order else off > 1e-12
        assert sum(exact) == pytest.approx(1, abs=1e-9)


def test_known_weights() -> None:
    """Adams and Bashforth's of order 4, Moulton's of order 4."""
    assert bashforth(4) == pytest.approx([55 / 24, -59 / 24, 37 / 24, -9 / 24], rel=2 * EPS)
    assert moulton(4) == pytest.approx([9 / 24, 19 / 24, -5 / 24, 1 / 24], rel=2 * EPS)


# --- the order, in runs so long that the start does not count


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        pytest.param("A8", (600, 1200), marks=pytest.mark.evidence),
        ("A10", (400, 600)),
        pytest.param("A12", (450, 550), marks=pytest.mark.evidence),
    ],
)
def test_order(name: str, steps: tuple[int, int]) -> None:
    """Between the steps that are unstable and those that leave nothing but round-off."""
    weak = ph.HeavyTop(0.1, point=WEIGHT.point)
    true = run("G8(compensated=true)", 0.1, weak)
    a, b = (apart(run(f"{name}(compensated=true)", 24.0 / n, weak), true) for n in steps)
    assert b > 1e-13
    # Measured: 8.05, 9.84 and 11.82.
    assert math.log(a / b) / math.log(steps[1] / steps[0]) == pytest.approx(ORDERS[name], abs=0.3)


@pytest.mark.parametrize("name", ["A8", *(pytest.param(m, marks=pytest.mark.evidence) for m in ("A10", "A12"))])
def test_steps_that_are_too_long_are_unstable(name: str) -> None:
    """Whatever else happens, no number comes out that is none."""
    try:
        s = run(name, 0.5, t_end=400.0)
    except SimulationFailed as failure:
        s = failure.solution
    assert np.isfinite(s.momentum).all()


# --- without a past

JUMPS = ph.PiecewiseTorque(((7.3, (0.2, 0.1, 0.0)), (12.5, (0.0, 0.4, 0.3))))


@pytest.mark.parametrize(
    "torque", [pytest.param(WEIGHT, id="weight", marks=pytest.mark.evidence), pytest.param(JUMPS, id="jumps")]
)
@pytest.mark.parametrize(
    "compensated",
    [pytest.param("", id="plain", marks=pytest.mark.evidence), pytest.param("(compensated=true)", id="compensated")],
)
def test_other_lengths(torque: Any, compensated: str) -> None:
    """Output off the grid, a shorter last step, and jumps that lie where they like."""
    times = [0.0, 0.01, 1.0, 7.29, 7.31, 20.003, 24.01]
    mine = run(f"A10{compensated}", 0.04, torque, 24.01, t_eval=times)
    assert apart(mine, run("G8", 0.1, torque, 24.01, t_eval=times)) < 1e-9


@pytest.mark.evidence
def test_registers_make_the_same_bits_as_numbers() -> None:
    """The seven numbers of a slope in one vector register, or each for itself, as bodies in lanes have them."""
    given: dict[str, Any] = {"t_span": (0.0, 4.0), "step": 0.05, "t_eval": [0.0, 0.33, 1.0, 4.0]}
    rates = np.random.default_rng(1).normal(size=(11, 3))
    many = ph.ensemble(BODY, WEIGHT, omega=rates, method="A8", **given)
    one = [ph.simulate(BODY, WEIGHT, omega=w, method="A8", **given) for w in rates[:3]]
    assert many.lanes == 8
    for k, s in enumerate(one):
        assert np.array_equal(many.quaternion[k], s.quaternion)
        assert np.array_equal(many.momentum[k], s.momentum)
        assert many[k].nfev == s.nfev


def test_resumed_in_registers() -> None:
    whole = run("A10", 0.0625, t_end=8.0, every=1)
    both = ph.resume(run("A10", 0.0625, t_end=2.0, every=1), 8.0)
    assert np.array_equal(both.momentum, whole.momentum)
    assert both.memory == whole.memory
    assert both.nfev == whole.nfev == 9 * 12 + 119 * 2


def test_resumed_after_a_shorter_step() -> None:
    """Nothing of the steps before can be used: the method starts by itself."""
    both = ph.resume(run("A10", 0.04, t_end=2.01), 8.0)
    assert both.momentum[-1] == pytest.approx(run("G8", 0.1, t_end=8.0).momentum[-1], abs=1e-10)


def test_compensation_takes_round_off_away() -> None:
    """Very short steps, with nothing but round-off left."""
    true = run("G8(compensated=true)", 0.1)
    plain, compensated = (apart(run(m, 2e-4), true) for m in ("A8", "A8(compensated=true)"))
    assert compensated < 0.2 * plain
    assert compensated < 1e-13


def test_the_start_costs_twelve_evaluations_a_step() -> None:
    with interpreted():
        assert run("A8", 0.1, t_end=0.5).nfev == 5 * 12
        assert run("A8", 0.1, t_end=2.0).nfev == 7 * 12 + 13 * 2
    assert find("A8").order == 8
