"""A function is named anew whenever something that it reads has changed, and only then."""

import gc
import math
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import digest, name_now, named
from polhode.kernels.algebra.quat import to_body


class Pair(NamedTuple):
    """Two numbers."""

    a: float
    b: float


def made(text: str, **names: Any) -> Any:
    """Returns the function f of a text, with these names around it."""
    scope: dict[str, Any] = {"__name__": "made", **names}
    exec(text, scope)
    return scope["f"]


HELPER = made("def f(x): return k * x", k=2.0)
NESTED = "def outer(k):\n def f(x): return k * x\n return f\nf = outer(2.0)"
LIBRARY = types.ModuleType("library")
LIBRARY.k = 2.0  # type: ignore[attr-defined]

Change = Callable[[Any], Any]
CHANGES: dict[str, tuple[str, dict[str, Any], Change]] = {
    "a number": ("def f(x): return k * x", {"k": 2.0}, lambda f: f.__globals__.update(k=3.0)),
    "its type": ("def f(x): return k * x", {"k": 2}, lambda f: f.__globals__.update(k=2.0)),
    "a part of a tuple": ("def f(x): return k[0] * x", {"k": (2.0, 1)}, lambda f: f.__globals__.update(k=(2.5, 1))),
    "a helper": ("def f(x): return g(x)", {"g": HELPER}, lambda f: f.__globals__.update(g=lambda x: x)),
    "a helper in a tuple": (
        "def f(x): return g[0](x)", {"g": (HELPER,)}, lambda f: HELPER.__globals__.update(k=HELPER.__globals__["k"] + 1)
    ),
    "what a helper reads": (
        "def f(x): return g(x)", {"g": HELPER}, lambda f: HELPER.__globals__.update(k=HELPER.__globals__["k"] + 1)
    ),
    "the code of a helper": (
        "def f(x): return g(x)", {"g": made("def f(x): return x")},
        lambda f: setattr(f.__globals__["g"], "__code__", (lambda x: x + 1).__code__),
    ),
    "a default": ("def f(x, k=2.0): return k * x", {}, lambda f: setattr(f, "__defaults__", (3.0,))),
    "a default by name": ("def f(x, *, k=2.0): return k * x", {}, lambda f: f.__kwdefaults__.update(k=3.0)),
    "a new default by name": ("def f(x): return x", {}, lambda f: setattr(f, "__kwdefaults__", {"k": 3.0})),
    "a variable of an enclosing function": (NESTED, {}, lambda f: setattr(f.__closure__[0], "cell_contents", 3.0)),
    "a builtin that is hidden": ("def f(x): return abs(x)", {}, lambda f: f.__globals__.update(abs=HELPER)),
    "a name that was missing": ("def f(x): return k * x", {}, lambda f: f.__globals__.update(k=3.0)),
    "a name that goes": ("def f(x): return k * x", {"k": 2.0}, lambda f: f.__globals__.pop("k")),
    "a name in a module": (
        "def f(x): return m.k * x", {"m": LIBRARY}, lambda f: setattr(LIBRARY, "k", vars(LIBRARY)["k"] + 1.0)
    ),
    "a name in this package": ("def f(x): return m.dot(x, x)", {"m": ph}, lambda f: setattr(ph, "dot", HELPER)),
    "an array": ("def f(x): return k[0] * x", {"k": np.array([2.0])}, lambda f: f.__globals__["k"].fill(3.0)),
    "a number of an array": (
        "def f(x): return k * x", {"k": np.float64(2.0)}, lambda f: f.__globals__.update(k=np.float64(3.0))
    ),
    "a record": (
        "def f(x): return k.a * x", {"k": Pair(2.0, 1.0)}, lambda f: f.__globals__.update(k=Pair(3.0, 1.0))
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_is_noticed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, names, change = CHANGES[what]
    monkeypatch.setattr(ph, "dot", ph.dot)  # so that it is put back
    f = made(text, **names)
    before = name_now(f)
    assert before == name_now(f) == named(f)
    change(f)
    assert name_now(f) == name_now(f) == named(f) != before


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_every_function_may_read_other_names_of_one_module(name: str) -> None:
    """A module was once looked at with the names of the function that came to it first."""
    library = types.ModuleType("library")
    inner = types.ModuleType("inner")
    library.a, library.b, library.inner, inner.c = 1.0, 2.0, inner, 3.0  # type: ignore[attr-defined]
    deep = made("def f(x): return lib.inner.c * x", lib=library)
    helper = made("def f(x): return lib.b * deep(x)", lib=library, deep=deep)
    f = made("def f(x): return lib.a * helper(x)", lib=library, helper=helper)
    before = name_now(f)
    setattr(inner if name == "c" else library, name, 7.0)
    assert name_now(f) == named(f) != before


def test_a_variable_without_a_value_is_noticed() -> None:
    f = made(NESTED)
    before = name_now(f)
    del f.__closure__[0].cell_contents
    assert name_now(f) == named(f) != before
    f.__closure__[0].cell_contents = 2.0
    assert name_now(f) == named(f) == before
    f.__closure__[0].cell_contents = 3.0
    assert name_now(f) == named(f) != before


def test_a_change_and_back_is_the_same_name() -> None:
    f = made("def f(x): return k * x", k=2.0)
    before = name_now(f)
    f.__globals__["k"] = 3.0
    assert name_now(f) != before
    f.__globals__["k"] = 2.0
    assert name_now(f) == before


def test_what_may_change_is_named_each_time() -> None:
    """Also after it has been replaced by what cannot."""
    f = made("def f(x): return k[0] * x", k=np.array([2.0]))
    first = name_now(f)
    f.__globals__["k"][0] = 3.0
    second = name_now(f)
    f.__globals__["k"] = (3.0,)
    third = name_now(f)
    f.__globals__["k"] = (2.0,)
    assert len({first, second, third, name_now(f)}) == 4


def test_a_function_that_ours_call_is_looked_at() -> None:
    """The kernel of a sum is this package's own, and calls the user's."""
    f = made("def f(t, q, w, p): return (k, k, k)", k=2.0)
    whole = ph.HeavyTop(1.0) + ph.torque(f)
    before = name_now(whole.torque_kernel)
    f.__globals__["k"] = 3.0
    assert name_now(whole.torque_kernel) == named(whole.torque_kernel) != before


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(x): return k * math.cos(x) + g(x)", {"k": 2.0, "math": math, "g": HELPER}),
        ("def f(q, v): return to_body(q, v)", {"to_body": to_body}),
        ("def f(q, v): return ph.to_body(q, v)", {"ph": ph}),
        ("def f(x): return np.sin(x)", {"np": np}),
        (NESTED, {}),
    ],
)
def test_what_is_unchanged_is_not_named_again(text: str, names: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f = made(text, **names)
    before = name_now(f)

    def never(**_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(digest, "DigestWalk", never)
    assert name_now(f) == before


def test_what_has_no_lasting_name_has_none_here() -> None:
    assert name_now(made("def f(x): return k", k=object())) is None
    assert name_now(len) is None


def test_functions_are_not_kept_for_ever() -> None:
    first = made("def f(x): return k * x", k=2.0)
    name_now(first)
    alive = weakref.ref(first)
    del first
    for _ in range(digest.KEPT_FUNCTIONS):
        name_now(made("def f(x): return x"))
    gc.collect()
    assert alive() is None
