"""Users' functions, translated or compiled by Numba, against the same functions in plain Python."""

import linecache
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import CompilationFailed, KernelRaised, program
from polhode.compiler.translate import _Translator
from polhode.kernels.codegen import function
from polhode.kernels.ops import columns, triple, view

TABLE = np.array([0.5, -1.5, 2.0])
MATRIX = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
NAMES = {"triple": triple, "view": view, "columns": columns}


class Pair(NamedTuple):
    x: float
    n: int


PAIR, MIXED = Pair(0.25, 3), (np.float64(0.125), 2)


def helper(x: float, y: float, scale: float = 2.0) -> float:
    if x > y:
        return x - scale * y
    return y * x


def loops(t: float, w: Any, p: Any) -> Any:
    total = 0
    for x in p:
        total += x * helper(t, x)
    for k, y in ((0, t), (2, w[1])):
        total = total + w[k] * y
    total += sum([x * y for x, y in zip(w, (1.5, t, p[0]))]) + sum(x * x for x in w)  # noqa: B905
    for j, x in enumerate(tuple(y - j for j, y in enumerate(w))):
        total += j * x
    k = 3
    while k:
        k -= 1
        if k == 1:
            continue
        total = total + TABLE[k] * MATRIX[k // 2, k]
    return [total, t % 0.75, -t % -0.75]


def branches(t: float, w: Any, p: Any) -> Any:
    a, b = p
    if t > 0.0 and not a > b:
        s = PAIR.x * PAIR.n
    elif -1.0 < t <= w[0]:
        s = math.exp(-abs(t))
    else:
        s = MIXED[0] * MIXED[1]
    try:
        s += w[int(3.0 * t)]
    except Exception:
        s = -s
    return s, w[-1] ** int(p[0]), (t > a) * 2.0


def vectors(t: float, w: Any, p: Any) -> Any:
    x, y, z = ph.cross(w, (t, p[0], 1.0))
    return (ph.clip(x, -0.5, 0.5), np.hypot(y, t), ph.where(z > 0.0, np.sin(z), math.atan2(z, t)))


def arrays(t: float, w: Any, p: Any) -> Any:
    return MATRIX.T @ np.array([math.sin(t), p[1]]) - np.array(w)


def a_list(t: float, w: Any, p: Any) -> Any:
    found = [math.sin(t + k) for k in range(3)]
    found[1] += p[0]
    return found


def both(t: float, w: Any, p: Any) -> Any:
    return np.array([t]), Pair(2.0 * t, 3), w[0] < t


def used(t: float, w: Any, p: Any) -> Any:
    """Uses what a function returns that Numba compiles: an array, a NamedTuple and a truth value."""
    return both(t, w, p)[0][0], both(t, w, p)[1].n * 1.0, 1.0 if both(t, w, p)[2] else 2.0


def compiled(f: Any, t: float, p: Any) -> list[float]:
    head = ["x[0], x[1], x[2] = triple(f(x[0], (x[1], x[2], x[3]), view(p, n)))", "return 0"]
    x, beyond = np.array([t, 0.3, -0.6, 1.7]), np.array([*p, 777.0, 888.0])
    program(function("kernel(x, p, n)", head, {**NAMES, "f": f}), "ppi")(x, beyond, len(p))
    return x[:3].tolist()  # type: ignore[no-any-return]


@pytest.fixture
def by_numba(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that Numba compiles."""
    found, usual = list[str](), _Translator.by_numba

    def noted(self: Any, f: Any, *given: Any) -> Any:
        found.append(f.__name__)
        return usual(self, f, *given)

    monkeypatch.setattr(_Translator, "by_numba", noted)
    return found


@pytest.mark.parametrize("f", [loops, branches, vectors, arrays, a_list, used])
def test_results_are_those_of_plain_python(f: Any, empty_cache: Any, by_numba: list[str]) -> None:
    for t in (-1.3, -0.2, 0.1, 0.4, 5.5):
        for p in ([2.0, 0.7], [-1.0, 0.2]):
            expected = [float(x) for x in f(t, (0.3, -0.6, 1.7), np.array(p))]
            assert compiled(f, t, p) == pytest.approx(expected, rel=1e-15, abs=1e-16)
    assert set(by_numba) == ({f.__name__} if f in (arrays, a_list, used) else set())


def unset(t: float, w: Any, p: Any) -> Any:
    for k in range(int(t)):
        last = k
    return (last, 0.0, 0.0)


def item_of_a_tuple(t: float, w: Any, p: Any) -> Any:
    return (w[3 - int(t)], w[-3], w[int(t) - 1])


def row(t: float, w: Any, p: Any) -> Any:
    return (MATRIX[int(2.0 * t) - 1, 0], MATRIX[-1, 2 - 6 * int(1.0 - 0.5 * t)], 0.0)


def power_of_zero(t: float, w: Any, p: Any) -> Any:
    return (math.floor(t) ** 1.0, (t - int(t) + int(t)) ** -1, 0.0)


def unpacked(t: float, w: Any, p: Any) -> Any:
    a, b, c = p
    return (a, b, c)


asserted = function("asserted(t, w, p)", ["assert t > 0.5", "return w"], {})  # pytest writes others anew


@pytest.mark.parametrize(
    ("f", "fine"),
    [(unset, 2.0), (item_of_a_tuple, 1.0), (row, 1.0), (power_of_zero, 2.0), (unpacked, None), (asserted, 1.0)],
)
def test_an_exception_of_plain_python_is_one_compiled(f: Any, fine: float | None, by_numba: list[str]) -> None:
    if fine is not None:
        assert compiled(f, fine, [1.0, 2.0]) == [float(x) for x in f(fine, (0.3, -0.6, 1.7), np.array([1.0, 2.0]))]
    with pytest.raises((ArithmeticError, AssertionError, LookupError, NameError, ValueError)):
        f(0.0, (0.3, -0.6, 1.7), np.array([1.0, 2.0]))
    with pytest.raises(KernelRaised):
        compiled(f, 0.0, [1.0, 2.0])
    assert not by_numba


def smooth(t: float, w: Any, p: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += w[k] * TABLE[k] ** 2 + math.tanh(p[k % 2] * t)
    return (total, max(w[0], t, 0.0) / (1.0 + abs(w[1])), math.erf(w[2]))


def test_lanes_have_the_bits_of_one() -> None:
    lines = ["y = columns(x, (0, 4, 8, 12))", "a, b, c = triple(f(y[0], (y[1], y[2], y[3]), view(p, n)))"]
    lines += ["y[0] = a", "y[1] = b", "y[2] = c", "return 0"]
    x, p = np.random.default_rng(4).normal(size=(4, 4)), np.array([0.7, -0.2])
    together = x.copy()
    program(function("many(x, p, n)", lines, {**NAMES, "f": smooth}), "ppi")(together.reshape(-1), p, 2)
    one = ["x[0], x[1], x[2] = triple(f(x[0], (x[1], x[2], x[3]), view(p, n)))", "return 0"]
    alone = program(function("one(x, p, n)", one, {**NAMES, "f": smooth}), "ppi")
    for k in range(4):
        alone(x[k], p, 2)
    assert (together[:, :3] == x[:, :3]).all()


def test_arrays_have_no_lanes() -> None:
    lines = ["y = columns(x, (0, 4))", "y[0] = f(y[0], (y[1], y[2], y[3]), view(p, n))[0]", "return 0"]
    with pytest.raises(CompilationFailed, match=r"test_users_functions\.py.*\n.*np\.array.*\n"):
        program(function("many(x, p, n)", lines, {**NAMES, "f": arrays}), "ppi")


@pytest.mark.usefixtures("empty_cache")  # elsewhere the program of the twin may be kept
def test_a_torque_without_a_source_spoils_nothing_for_one_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions typed at a plain prompt have no source, and cannot be computed in lanes; their twins in a file can."""
    text = "def torque(t, q, w, p):\n    return (p[0] * w[1], 0.03125 * w[2] * w[0], -p[0] * w[0])\n"
    code = compile(text, "<torque of a test>", "exec")
    methods = []
    for _ in range(2):
        scope: dict[str, Any] = {}
        exec(code, scope)
        torque = ph.torque(scope["torque"], parameters=[0.01])
        run = ph.simulate(ph.Body([1, 2, 2.5]), torque, omega=[0.1, 1, 0.3], t_span=(0, 20), rtol=1e-9)
        methods.append(run.plan.method.name.partition("(")[0])
        lines = text.splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, code.co_filename, (len(text), None, lines, code.co_filename))
    assert methods == ["DOP853", "GBS"]
