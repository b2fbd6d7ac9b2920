"""Methods with other values of their options: each variant has a card of its own, which holds for it."""

from typing import Any

import pytest

from polhode.kernels.steps.adams_steps import Adams
from polhode.kernels.steps.compensated import CompensatedSplitting
from polhode.methods import Method, catalogue, find
from tests.authorities.problems import RECIPES
from tests.contract._measure import HIGHEST_ORDER, accepted, errors, floor_of, observed_order
from tests.contract.test_keeps import FREE, TORQUED, check
from tests.contract.test_order import WITHIN


def variants() -> list[Method]:
    """Each option of each method with each of its examples, one at a time."""
    out = []
    for method in catalogue().values():
        for option in method.options:
            values = option.examples or option.choices or ((True,) if option.default is False else ())
            out += [find(method.name, **{option.name: v}) for v in values if v != option.default]
    return out


def measured(method: Method) -> Any:
    """All polished splittings are made by the same code: two of them are measured every time."""
    others = isinstance(method.scheme, CompensatedSplitting) and method.bare_name not in ("Strang", "ABA864")
    return pytest.param(method, id=method.name, marks=[pytest.mark.evidence] if others else [])


VARIANTS = pytest.mark.parametrize("method", [measured(method) for method in variants()])


@pytest.mark.parametrize("method", variants(), ids=lambda m: m.name)
def test_variant_is_found_by_its_name(method: Method) -> None:
    assert find(method.name) is method
    assert find(method.name.lower()) == method
    assert method.name != find(method.bare_name).name


@VARIANTS
@pytest.mark.parametrize("name", ["free", "weight"])
def test_orders_of_variants(method: Method, name: str) -> None:
    if name not in accepted(method) or method.adaptive:
        pytest.skip(f"{method.name} does not take {name}, or its steps follow a tolerance")
    if (method.order or 0) > HIGHEST_ORDER or isinstance(method.scheme, Adams):
        pytest.skip(f"the order of {method.name} shows at longer steps, or in longer runs")
    observed = [
        observed_order(lambda n, part=part: getattr(errors(name, method, n), part), floor=floor_of(method))  # type: ignore[misc]
        for part in ("momentum", "attitude")
    ]
    for seen, declared in zip(observed, method.orders(free=name == "free"), strict=True):
        if declared is None or (seen == float("inf") and name == "free"):
            assert seen == float("inf")
        else:
            assert abs(seen - declared) < WITHIN


@VARIANTS
@pytest.mark.parametrize("name", ["free", pytest.param("weight", marks=pytest.mark.evidence)])
def test_what_variants_keep(method: Method, name: str) -> None:
    if name not in accepted(method):
        pytest.skip(f"{method.name} takes free bodies only")
    for flag in FREE if name == "free" else TORQUED:
        check(flag, RECIPES[name], method, 300)


# --- naming them


def test_options_as_text_and_as_arguments_are_the_same() -> None:
    assert find("MR2(axes=231)") is find("mr2", axes="231") is find(" MR2( axes = 231 )")
    assert find("MR2(axes=123)") == find("MR2")


def test_the_same_choice_is_the_same_method() -> None:
    """Also with defaults written out: a solution in a file keeps the name alone, and has to find its method again."""
    assert find("RK4(compensated=false)") is find("RK4") is catalogue()["RK4"]
    assert find("NMB(newton=last, gamma=0.4)") is find("NMB(gamma=.4)") is find("NMB").replace(gamma=0.4)
    assert find("NMB").replace(gamma=0.4).replace(gamma=0.5) is find("NMB")


def test_options_can_be_nested() -> None:
    assert find("HLR(of=MR2(axes=231),monitor=rate)").settings == (("of", "MR2(axes=231)"), ("monitor", "rate"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MR2(axis=231)", "did you mean 'axes'"),
        ("MR2(axes=122)", "there is no value of the option axes of MR2: '122'"),
        ("MR2(231)", "written option=value, not '231'"),
        ("Exact(axes=231)", "Exact has no options"),
        ("DOP853(rtol=small)", "option rtol of DOP853 must be a number, not 'small'"),
        ("DOP853(rtol=-1)", "DOP853 needs rtol > 0 and atol >= 0, not rtol=-1"),
        ("HLR(of=RK4)", "symmetric method, which RK4 is not"),
        ("HLR(of=HLR)", "symmetric method, which HLR is not"),
    ],
)
def test_bad_options(name: str, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        find(name)
    assert words in str(caught.value)
