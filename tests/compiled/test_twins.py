"""Functions that differ only in what they call, and shortcuts through Numba: the machine code does not show them."""

from typing import Any

import numpy as np
import pytest

from polhode.compiled import CompilationFailed, native, program
from polhode.compiled.recent import Recent

SOURCE = """
def around(f):
    def loop(x, n):
        for _ in range(n):
            x[0] = f(x[0])
        return 0
    return loop

def around_two(f, g):
    def loop(x, n):
        x[0] = f(x[0]) - g(x[0])
        return 0
    return loop

def around_value(f):
    def loop(x, n):
        x[0] = applied(f, x[0])
        return 0
    return loop

def applied(f, y): return f(y)
def doubled(y): return 2.0 * y
def tripled(y): return 3.0 * y
def seven(y): return 7
def refused(y): return y.nothing
"""


@pytest.fixture
def made() -> dict[str, Any]:
    """Functions that count as this package's own."""
    names: dict[str, Any] = {"__name__": "polhode.made_up"}
    exec(SOURCE, names)
    return names


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that were made like others, from now on; nothing was compiled before."""
    from polhode.compiled import link, twins

    found: list[str] = []
    renamed = twins._renamed

    def counted(state: Any, function: Any, *rest: Any) -> Any:
        found.append(function.__name__)
        return renamed(state, function, *rest)

    monkeypatch.setattr(twins, "_renamed", counted)
    monkeypatch.setattr(twins, "_twins", Recent(8))
    monkeypatch.setattr(link, "_shared", {})
    monkeypatch.setattr(native, "_programs", {})
    monkeypatch.setattr(native, "cache_directory", lambda: None)
    return found


def value_of(kernel: Any, n: int = 2) -> float:
    x = np.array([5.0])
    program(kernel, "pi")(x, n)
    return float(x[0])


def instructions(kernel: Any, signature: str = "pi") -> list[bytes]:
    """The machine code without the names in it, in which Numba counts."""
    import llvmlite.binding as llvm

    code, _, _ = native._compile(kernel, signature, None)
    assert code.complaint is None
    return [s.data() for s in llvm.ObjectFileRef.from_data(code.object).sections() if s.is_text() and s.size()]


def test_another_callee_of_the_same_types(made: dict[str, Any], taken: list[str], monkeypatch: Any) -> None:
    from polhode.compiled import link, twins

    assert value_of(made["around"](made["doubled"])) == 20.0
    assert taken == []
    other = made["around"](made["tripled"])
    assert value_of(other) == 45.0
    assert taken == ["loop"]
    alike = instructions(other)
    monkeypatch.setattr(twins, "_twins", Recent(8))
    monkeypatch.setattr(link, "_shared", {})
    assert instructions(other) == alike
    assert len(taken) == 2  # for the instructions with a twin, not for those without


def test_callees_that_change_places(made: dict[str, Any], taken: list[str]) -> None:
    double, triple = made["doubled"], made["tripled"]
    assert value_of(made["around_two"](double, triple)) == -5.0
    assert value_of(made["around_two"](triple, double)) == 5.0
    assert taken == ["loop"]
    assert value_of(made["around_two"](double, double)) == 0.0  # one function in two places is another shape
    assert len(taken) == 1


def test_a_callee_of_another_type(made: dict[str, Any], taken: list[str]) -> None:
    assert value_of(made["around"](made["doubled"])) == 20.0
    assert value_of(made["around"](made["seven"])) == 7.0  # an integer
    assert taken == []
    assert value_of(made["around"](made["tripled"])) == 45.0  # the first of two variants
    assert taken == ["loop"]


def test_a_function_that_is_handed_on(made: dict[str, Any], taken: list[str]) -> None:
    assert value_of(made["around_value"](made["doubled"])) == 10.0
    assert value_of(made["around_value"](made["tripled"])) == 15.0
    assert taken == []


def test_a_callee_that_cannot_be_compiled(made: dict[str, Any], taken: list[str]) -> None:
    bad = made["around"](made["refused"])
    with pytest.raises(CompilationFailed) as alone:
        value_of(bad)
    assert value_of(made["around"](made["doubled"])) == 20.0
    with pytest.raises(CompilationFailed) as after:
        value_of(made["around"](made["refused"]))
    assert str(after.value) == str(alone.value)
    assert taken == []


def test_loops_of_methods_are_alike(taken: list[str]) -> None:
    import polhode as ph

    for method in ("MR2", "Strang"):
        run = ph.simulate(ph.Body([1.0, 2.0, 2.5]), None, omega=[1, 2, 3], t_span=(0, 1), step=0.1, method=method)
        assert run.success
    assert "drive" in taken


def test_numba_is_left_as_it_was() -> None:
    from numba.core import base, ir, postproc, types
    from numba.core.compiler_lock import global_compiler_lock

    from polhode.compiled.shortcuts import shortcuts

    places = [(types.BaseFunction, "get_call_type"), (postproc.PostProcessor, "run"), (base.BaseContext, "refresh")]
    places.append((ir.Inst, "_rec_list_vars"))
    before = [getattr(place, name) for place, name in places]
    with shortcuts():
        assert all(getattr(place, name) is not f for (place, name), f in zip(places, before, strict=True))
    assert [getattr(place, name) for place, name in places] == before
    assert not vars(global_compiler_lock).keys() & {"acquire", "release"}


def test_shortcuts_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's own way makes the same instructions: of a function with a loop, branches and tuples."""
    from contextlib import nullcontext

    from polhode.compiled import link, shortcuts
    from polhode.core.quat import multiply
    from polhode.core.trig import sine_cosine

    def mixed(x: Any, n: int) -> int:
        for i in range(n):
            s, c = sine_cosine(x[i])
            q = multiply((c, s, 0.0, 0.5), (c, 2 * i, s, 0.0))
            x[i] = q[0] ** 2 if q[1] > 0.0 else max(q[2], s)
        return 0

    monkeypatch.setattr(link, "_shared", {})
    quick = instructions(mixed)
    monkeypatch.setattr(shortcuts, "shortcuts", nullcontext)
    monkeypatch.setattr(link, "_shared", {})
    assert instructions(mixed) == quick
