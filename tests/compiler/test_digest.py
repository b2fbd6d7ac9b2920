"""Two functions with one digest are one program: a wrong hit is the worst bug this library could have."""

import builtins
import enum
import functools
import importlib
import math
import operator
import subprocess
import sys
import types
from collections import namedtuple
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from polhode.compiler.digest import (
    Recursion,
    captured,
    digest,
    home,
    is_foreign,
    is_primitive,
    named,
    names_read,
    plain,
)
from polhode.kernels import ops

Function = types.FunctionType


def made(text: str, **names: Any) -> Function:
    """The function f of a text, with these names around it."""
    scope: dict[str, Any] = {"__name__": "made", **names}
    exec(text, scope)
    f = scope["f"]
    assert isinstance(f, Function)
    return f


def closure(value: Any) -> Function:
    def f(x: float) -> Any:
        return value

    assert isinstance(f, Function)
    return f


def name(f: Any) -> str:
    return digest(f).name


def reading(value: Any) -> Function:
    return made("def f(x):\n    return x * a", a=value)


# --- what it sees ---------------------------------------------------------------------------------------------------


def test_names_of_nested_code() -> None:
    f = made("def f(x):\n    def g(y): return [a + b.c.d for _ in y]\n    return (e(z) for z in g(x)), lambda: h")
    assert names_read(f.__code__).globals == {"a", "b", "e", "h"}
    assert names_read(f.__code__).attributes >= {"c", "d"}


def test_strings_may_be_meant_for_getattr() -> None:
    f = made("def f(x):\n    return getattr(m, 'g')", m=types.ModuleType("m"))
    before = name(f)
    f.__globals__["m"].g = 1.0
    assert name(f) != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        (0, False),
        (1.0, 1 + 0j),
        (complex(0.0, 0.0), complex(0.0, -0.0)),
        (math.nan, math.copysign(math.nan, -1.0)),
        ("1", 1),
        (b"a", "a"),
        (None, Ellipsis),
        (1.0, np.float64(1.0)),
        (np.float64(1.0), np.float32(1.0)),
        (np.float64(1.0), np.array(1.0)),
        (1.0, 1.0000000000000002),
        (np.array([1.0]), np.array([1.0000000000000002])),
        (np.zeros(2), np.zeros(2, dtype=np.int64)),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(2), np.zeros(2, dtype=">f8")),
        (np.zeros(1, dtype=[("a", "f8"), ("b", "f8")]), np.zeros(1, dtype=[("b", "f8"), ("a", "f8")])),
        (np.zeros((0, 3)), np.zeros((3, 0))),
        ((1.0, 2.0), (2.0, 1.0)),
        ((1.0, (2.0,)), ((1.0, 2.0),)),
        (("a", "b"), ("a,b",)),
        ((), None),
        (math.sin, math.cos),
        (np.sin, math.sin),
        (operator.add, operator.sub),
        (np.float64, np.float32),
        (np.linalg, np.random),
    ],
)
def test_values_that_differ(one: Any, other: Any) -> None:
    for build in (reading, closure):
        assert name(build(one)) != name(build(other))
        assert name(build(one)) == name(build(one))
        assert digest(build(one)).volatile is None


def test_constants_that_differ() -> None:
    texts = ["0.0", "-0.0", "0", "False", "(0, 0.0)", "(0.0, 0)", "0j", "'0'", "b'0'", "None", "x in {1, 2}"]
    texts += ["x in {1, 3}", "x in (1, 2)", "1e400 - 1e400", "x if x else 1", "...", "x[1:2]", "x[1:3]", "~x", "-x"]
    functions = [made(f"def f(x):\n    return {text}") for text in texts]
    assert len({name(f) for f in functions}) == len(texts)


def test_signatures_that_differ() -> None:
    heads = ["x, y", "y, x", "x, *y", "x, **y", "x, *, y", "x, /, y", "x, y=1", "x, y=2", "x, y=1.0", "x, *, y=1"]
    heads += ["x, *, y=2", "x=1, y=2"]
    assert len({name(made(f"def f({head}):\n    return x")) for head in heads}) == len(heads)


def test_exception_tables_differ() -> None:
    one = made("def f(x):\n    try:\n        a(x)\n        b(x)\n    except ValueError:\n        pass")
    other = made("def f(x):\n    a(x)\n    try:\n        b(x)\n    except ValueError:\n        pass")
    assert name(one) != name(other)


def test_comments_lines_and_files_do_not_count() -> None:
    plainly = made("def f(x):\n    y = x + 1\n    return y")
    spaced = made("# moved\n\n\ndef f(x):  # said\n\n    y = x + 1\n    # more\n    return y")
    elsewhere: dict[str, Any] = {}
    exec(compile("def f(x):\n    y = x + 1\n    return y", "another.py", "exec"), elsewhere)
    assert name(plainly) == name(spaced) == name(elsewhere["f"])


def test_documentation_does_not_count_unless_it_is_returned() -> None:
    told, otherwise = (made(f"def f(x):\n    '{text}'\n    return x + 1") for text in ("one", "other"))
    assert name(told) == name(otherwise)
    told, otherwise = (made(f"def f(x):\n    '{text}'\n    return '{text}'") for text in ("one", "other"))
    assert name(told) != name(otherwise)


def test_unrelated_names_do_not_count() -> None:
    assert name(made("def f(x):\n    return x * a\ndef other(): return 1", a=1.0)) == name(
        made("def f(x):\n    return x * a\ndef other(): return 2", a=1.0, b=3.0)
    )


# --- what it follows ------------------------------------------------------------------------------------------------


def module(label: str, **names: Any) -> types.ModuleType:
    m = types.ModuleType(label)
    vars(m).update(names)
    return m


def test_helpers_of_helpers() -> None:
    def build(k: float) -> Function:
        inner = made(f"def f(x):\n    return x + {k}")
        outer = made("def f(x):\n    return g(x)", g=inner)
        return made("def f(x):\n    return h[1](x)", h=(1.0, outer))

    assert name(build(1.0)) != name(build(2.0))
    assert name(build(1.0)) == name(build(1.0))


def test_what_a_function_of_others_reads_may_change() -> None:
    """Functions of this package keep their names, but for those of others that they reach."""
    users = reading(1.0)
    between = made("def f(x):\n    return g(x)", g=users, __name__="polhode.made")
    outer = made("def f(x):\n    return h[0](x)", h=(between,), __name__="polhode.made")
    first = name(outer)
    assert name(outer) == first
    users.__globals__["a"] = 2.0
    second = name(outer)
    assert second != first
    assert name(made("def f(x):\n    return k(x)", k=between, __name__="polhode.made")) != name(between)
    users.__globals__["a"] = [1.0]
    assert digest(outer).volatile
    users.__globals__["a"] = 2.0
    assert name(outer) == second
    assert not digest(outer).volatile
    users.__globals__["a"] = 1.0
    assert name(outer) == first


def test_attributes_of_attributes() -> None:
    def build(k: float) -> Function:
        deep = module("deep", g=made(f"def f(x):\n    return {k}"), unused=k)
        return made("def f(x):\n    return m.deep.g(x)", m=module("m", deep=deep, idle=k))

    assert name(build(1.0)) != name(build(2.0))

    def idle(k: float) -> Function:
        return made("def f(x):\n    return m.g", m=module("m", g=1.0, idle=k))

    assert name(idle(1.0)) == name(idle(2.0))


def test_modules_that_contain_each_other() -> None:
    def build(k: float) -> Function:
        a, b = module("a", k=k), module("b")
        a.b, b.a = b, a  # type: ignore[attr-defined]
        return made("def f(x):\n    return a.b.a.k", a=a)

    assert name(build(1.0)) != name(build(2.0))
    assert name(build(1.0)) == name(build(1.0))


def test_a_module_read_again_by_a_callee_is_described_again() -> None:
    def build(k: float) -> Function:
        m = module("m", b=k)
        m.a = made("def f(x):\n    return m.b", m=m)  # type: ignore[attr-defined]
        return made("def f(x):\n    return m.a(x)", m=m)

    assert name(build(1.0)) != name(build(2.0))


def test_reloaded_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "reloaded_helper.py"
    path.write_text("def g(x): return x + 1.0\n")
    m = importlib.import_module("reloaded_helper")
    f = made("def f(x):\n    return m.g(x)", m=m)
    before = name(f)
    importlib.reload(m)
    assert name(f) == before
    path.write_text("def g(x): return x + 2.0\n")
    importlib.reload(m)
    assert name(f) != before


def test_dispatchers_are_their_functions() -> None:
    g = made("def f(x):\n    return x + 1.0")
    assert plain(numba.njit(g)) is g
    assert name(made("def f(x):\n    return g(x)", g=numba.njit(g))) == name(made("def f(x):\n    return g(x)", g=g))


def test_names_defined_later_and_shadowed_builtins() -> None:
    f = made("def f(x):\n    return abs(x) + later")
    undefined = name(f)
    f.__globals__["later"] = 1.0
    defined = name(f)
    f.__globals__["abs"] = made("def f(x):\n    return x")
    shadowed = name(f)
    assert len({undefined, defined, shadowed}) == 3


def test_replaced_builtins(monkeypatch: pytest.MonkeyPatch) -> None:
    f = made("def f(x):\n    return abs(x)")
    before = name(f)
    monkeypatch.setattr(builtins, "abs", made("def f(x):\n    return x"))
    assert name(f) != before


def test_cells_without_a_value() -> None:
    def outer(fill: bool) -> Any:
        def f(x: float) -> float:
            return x * late

        if fill:
            late = 2.0
        return f

    assert name(outer(True)) != name(outer(False))
    assert dict(captured(outer(True))) == {"late": 2.0}


def test_names_that_last() -> None:
    f = reading(2.0)
    assert named(f) == name(f)
    assert named(reading(object())) is None
    assert named(made("def f(x):\n    return f(x)")) is None
    assert named(functools.partial(f)) is None


def test_recursion_is_refused() -> None:
    with pytest.raises(Recursion, match=r"f calls f: recursion; write it as a loop"):
        digest(made("def f(x):\n    return f(x)"))
    pair = made("def g(x):\n    return f(x)\ndef f(x):\n    return g(x)")
    with pytest.raises(Recursion, match=r"f calls g which calls f: recursion"):
        digest(pair)


# --- what can be named ----------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: float
    b: float = 2.0


def test_named_tuples() -> None:
    other: Any = namedtuple("Pair", "b a")  # type: ignore[name-match]  # the same name, other fields
    assert len({name(reading(v)) for v in (Pair, other, Pair(1.0, 2.0), (1.0, 2.0), Pair(2.0, 1.0))}) == 5
    assert digest(reading(Pair(1.0, 2.0))).volatile is None


def test_named_tuples_that_look_alike_stay_apart() -> None:
    def twin() -> Any:
        class Twin(NamedTuple):
            a: float

        return Twin

    one, other = twin(), twin()
    mixed = digest(made("def f(x):\n    return isinstance(a(x), b)", a=one, b=other))
    same = digest(made("def f(x):\n    return isinstance(a(x), b)", a=one, b=one))
    assert mixed.name != same.name
    assert mixed.volatile is not None
    assert same.volatile is None


class Settings:
    g = 9.81

    def at(self, x: float) -> float:
        return x

    @property
    def k(self) -> float:
        return self.g


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Loud(float):
    def __repr__(self) -> str:
        return "loud"


@pytest.mark.parametrize(
    "value",
    [
        [1.0],
        {"g": 1.0},
        {1.0},
        frozenset({1.0}),
        Settings,
        Settings(),
        Settings().at,
        Settings.k,
        Colour,
        Colour.RED,
        Level.LOW,
        Loud(1.0),
        functools.partial(max, 1.0),
        np.vectorize(math.sin),
        np.frompyfunc(math.sin, 1, 1),
        np.array([object()]),
        np.ma.masked_array([1.0]),
        np.random.default_rng(1),
        object(),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_has_no_name_has_an_identity(value: Any) -> None:
    for f in (reading(value), closure((1.0, value)), made("def f(x): return m.a", m=module("m", a=value))):
        found = digest(f)
        assert found.volatile is not None
        assert any(u is value for u in found.unnamed)  # kept, so that no other value gets its identity
    assert "f reads a" in str(digest(reading(value)).volatile)


def test_impostors_are_not_what_they_say() -> None:
    @functools.wraps(np.cross)
    def doubled(a: Any, b: Any) -> Any:
        return 2 * np.cross(a, b)

    @functools.wraps(ops.fma)
    def wrong(a: float, b: float, c: float) -> float:
        return a

    assert is_foreign(np.cross)
    assert not is_foreign(doubled)
    assert name(reading(np.cross)) != name(reading(doubled))
    assert is_primitive(ops.fma)
    assert not is_primitive(wrong)
    assert name(reading(ops.fma)) != name(reading(wrong))


def test_home() -> None:
    for value in (math, math.sin, np.sin, np.cross, np.linalg.norm, np.float64, abs, operator.mul, float):
        assert is_foreign(value), value
    for stranger in (None, 1.0, types.ModuleType("math"), name, Settings, Colour.RED):
        assert not is_foreign(stranger), stranger
    assert home(types.ModuleType("math")) is None


def test_print_options_do_not_round_names() -> None:
    values = [np.float64(1.0), np.float64(1.0000000000000002)]
    with np.printoptions(legacy="1.13", precision=3):
        one, other = (name(reading(v)) for v in values)
    assert one != other
    assert one == name(reading(values[0]))


def test_names_do_not_depend_on_the_process(tmp_path: Path) -> None:
    script = tmp_path / "names.py"
    script.write_text(
        "from polhode.compiler.digest import digest\n"
        "def f(x, y=('b', 'a')):\n    return x in {'a', 'b', 'c', 'd', 1.0, 2, None}, {'k', 'l'}, y\n"
        "print(digest(f).name)\n"
    )

    def run(seed: str) -> str:
        environment = {"PYTHONHASHSEED": seed}
        return subprocess.run(
            [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("1") == run("2") == run("3")
