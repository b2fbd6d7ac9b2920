"""Methods by name, with their options written in it."""

import pickle

import pytest

from polhode.kernels.steps.compose import triple_jump
from polhode.methods import Keeps, catalogue, compose, find, short_names, split_list


def test_commas_separate_outside_brackets() -> None:
    assert split_list("A(x=1, of=B(y=2, z=3)), C,, ") == ["A(x=1, of=B(y=2, z=3))", "C"]
    for wrong in ("A(x=1", "A)x=(1"):
        with pytest.raises(ValueError, match="brackets do not match"):
            split_list(wrong)


def test_options_within_options() -> None:
    deep = find("HLR(monitor=rate, of=KL6(of=MR2(axes=231)))")
    assert deep.name == "HLR(of=KL6(of=MR2(axes=231)), monitor=rate)"
    assert find(deep.name) is deep


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MR2(axes=231, axes=312)", "option axes of MR2 is given twice"),
        ("MR2(231)", "options of MR2 are written option=value, not '231'"),
        ("MR2(axes=231))", "brackets do not match"),
        ("HLR(of=MR2(axes=999))", "no value of the option axes of MR2: '999'"),
        ("SABA4(stages=5)", "SABA4 says which stages of SABA is meant: do not give it twice"),
        ("G4(compensated=true)", "there is no method 'G4' any more: use 'G8'"),
        ("SABA13", "no method 'SABA13': did you mean 'SABA'"),
        ("SABA(stages=13)", "no value of the option stages of SABA: '13'"),
        ("DOP853(rtol=x)", "rtol of DOP853 must be a number, not 'x'"),
    ],
)
def test_bad_names(name: str, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        find(name)


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("SABA8", "SABA"), ("saba4", "SABA(stages=4)"),
        ("SABA10(compensated=true)", "SABA(stages=10, compensated=true)"),
        ("A8", "Adams(order=8)"), ("A10", "Adams"), ("TJ4", "TJ"), ("TJ6(of=Strang)", "TJ(order=6, of=Strang)"),
        ("HOA", "Omelyan2"), ("gier4", "Chin4"), ("LGVI", "DMV2"), ("lgvi(compensated=true)", "DMV2(compensated=true)"),
    ],
)  # fmt: skip
def test_short_names(short: str, name: str) -> None:
    assert find(short) is find(name)
    assert find(short).name == name


def test_short_names_take_no_name_from_a_method() -> None:
    taken = {name.lower() for name in catalogue()}
    options = [option for method in catalogue().values() for option in method.options if option.short]
    shortened = [option.short.format(value).lower() for option in options for value in option.choices]
    shortened += [name.lower() for method in catalogue().values() for name in method.also]
    assert len(shortened) == len(set(shortened)) == len(short_names()) > 0
    assert not taken & set(shortened)


@pytest.mark.parametrize("method", catalogue().values(), ids=list(catalogue()))
def test_methods_are_pickled_by_name(method: object) -> None:
    assert pickle.loads(pickle.dumps(method)) is method


def test_a_method_of_ones_own_is_pickled_whole() -> None:
    mine = compose(find("MR2"), [0.5, 0.5], name="MR2", order=2)  # by the name of another
    back = pickle.loads(pickle.dumps(mine))
    assert back == mine != find("MR2")


def test_a_composition_promises_what_it_keeps() -> None:
    """It has neither the cost model nor the other names of its base; an uneven row cannot be run backwards."""
    base = find("Strang")
    even = compose(base, (0.4, 0.2, 0.4), name="even", order=2, summary="three steps in one")
    uneven = compose(base, (0.1, 0.5, 0.3, 0.1), name="uneven", order=2)
    assert even.model is None
    assert even.also == ()
    assert even.summary == "three steps in one"
    for kept in ("keeps", "keeps_when_free"):
        assert Keeps.REVERSIBLE in getattr(base, kept)
        assert getattr(even, kept) == getattr(base, kept)
        assert getattr(uneven, kept) == getattr(base, kept) & ~Keeps.REVERSIBLE


def test_what_is_no_composition_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the fractions of halves sum to 0.9, not to 1"):
        compose(find("MR2"), (0.5, 0.4), name="halves", order=4)
    with pytest.raises(ValueError, match=r"triple is made of time-symmetric methods; RK4 does not promise to be one"):
        compose(find("RK4"), triple_jump(2), name="triple", order=4)
