"""Compositions raise the order of a symmetric method, whatever it is made of."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from polhode.kernels.steps.compose import suzuki, triple_jump
from polhode.methods import Keeps, Method, catalogue, compose
from tests.authorities.problems import RECIPES
from tests.contract._measure import errors, observed_order, pairs
from tests.contract.test_keeps import TORQUED, defect, large, noise, promises

ROWS = {"triple-jump": triple_jump(2), "suzuki": suzuki(2)}


def symmetric(order: int) -> list[Method]:
    both = [m for m in catalogue().values() if m.order == m.attitude_order == order and not m.variable_steps]
    plain = [m for m in both if (m.generalised_order or (order,))[0] == order]  # a composition has no use for more
    return [m for m in plain if Keeps.REVERSIBLE in m.keeps]


def raised(method: Method, fractions: Sequence[float], order: int = 4) -> Method:
    return compose(method, fractions, name=f"{method.name}-{len(fractions)}", order=order)


def cases() -> list[Any]:
    """Symmetric methods with problems and rows; one row without a torque and the other with one are always run."""
    out, methods = [], symmetric(2)
    for pair in pairs():
        method, name = pair.values
        if method in methods:
            for k, row in enumerate(ROWS):
                turn = (methods.index(method) + (name == "free") + k) % len(ROWS) == 0
                marks = pair.marks if turn else [pytest.mark.evidence]
                out.append(pytest.param(method, name, row, id=f"{pair.id}-{row}", marks=marks))
    return out


@pytest.mark.parametrize(("method", "name", "row"), cases())
def test_order_four(method: Method, name: str, row: str) -> None:
    """Time-dependent torques as well: the clock runs back where the step does."""
    fourth = raised(method, ROWS[row])
    for part, declared in zip(("momentum", "attitude"), fourth.orders(free=name == "free"), strict=True):
        observed = observed_order(lambda n, part=part: getattr(errors(name, fourth, n), part))  # type: ignore[misc]
        exact_alone = observed_order(lambda n, part=part: getattr(errors(name, method, n), part)) == math.inf  # type: ignore[misc]
        if declared is None:
            assert observed == math.inf
        elif declared == 4:
            assert observed == (math.inf if exact_alone else pytest.approx(4, abs=0.2))
        else:  # higher when free, and these rows of fractions leave it so
            assert observed > declared - 0.2


@pytest.mark.parametrize("name", ["MR2", "NMB"])
def test_order_six(name: str) -> None:
    """A composition composed."""
    sixth = raised(raised(catalogue()[name], triple_jump(2)), suzuki(4), order=6)
    assert observed_order(lambda n: errors("swing", sixth, n).momentum) == pytest.approx(6, abs=0.2)
    assert observed_order(lambda n: errors("swing", sixth, n).attitude) == pytest.approx(6, abs=0.2)


@pytest.mark.parametrize("flag", TORQUED, ids=lambda flag: flag.name)
def test_compositions_keep_what_their_method_keeps(flag: Keeps) -> None:
    recipe = RECIPES["weight"]
    for method in symmetric(2):
        fourth = raised(method, triple_jump(2))
        if flag in promises(fourth, recipe):
            h = large(method)[0] / 2  # the longest part of the step, 1.7 h, is then as long as a large step
            assert defect(flag, recipe, fourth, h, 1000) <= noise(flag, h, 3000)
