"""Kernels and users' functions, compiled, against the same ones in plain Python: all bits are equal."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from polhode.compiler import program
from polhode.compiler.programs import _assembled
from polhode.compiler.translate import Unsupported, _known, translated
from polhode.kernels import ops
from polhode.kernels.algebra.vec import cross
from polhode.kernels.codegen import function
from polhode.kernels.ops import from_lanes, lane, scratch, view, where


class Pair(NamedTuple):
    a: float
    b: float = 2.0

    @property
    def size(self) -> int:
        return len(self)


HEAD, NAMES = "kernel(x, n, out)", {
    "cross": cross, "math": math, "scratch": scratch, "view": view, "where": where, "Pair": Pair,
    "rest": function("rest(a, b=1.0, *more)", ["return a + 10 * b + 100 * len(more)"], {}),
    "noted": function("noted(out, x)", ["out[19] += 1", "return x"], {}),
    "second": function("second(a, /, b)", ["return b"], {}),
    "NUMBERS": np.array([1.5, 2.5, -3.5]),
}  # fmt: skip
VALUES = [0.0, -0.0, 1.0, -2.5, 1e-310, 3e200, math.inf, -math.inf, math.nan, 7.25, -0.125, 2.0]

KERNELS = {
    "a loop that is left, and one that goes on": [
        "total, count = 0, 0", "for k in range(n):", "    if not x[k] < 5.0:", "        continue",
        "    if x[k] == -0.125:", "        break", "    total, count = total + x[k], count + 1", "out[0] = total",
        "out[1] = count", "return 0",
    ],
    "an integer that becomes a float": [
        "a, k = 1, n", "while k > 0:", "    k -= 3", "    if k == 6:", "        a = 0.5", "out[0] = a / 3",
        "return k + 9",
    ],
    "a name of two types": ["a = (x[3], x[9])", "out[0] = a[0]", "a = a[1]", "out[1] = a", "return 0"],
    "signs of quotients and rests": [
        "for i in range(-7, 8):", "    out[i + 7] = i // 3 + 10 * (i % 3) + 100 * (i // -2) + 1000 * (i % -5)",
        "return (-n) // 5",
    ],
    "decisions": [
        "k = 0", "for i in range(n):", "    if 0.0 < x[i] <= 2.0 or (i > 0 and x[i - 1] == math.inf):",
        "        k += i",
        "    out[i] = x[i] if x[i] > 0 else -1", "return k",
    ],
    "extremes, with NaN": [
        "for i in range(n - 1):", "    out[i] = min(x[i], x[i + 1], 3) + max(1, x[i], x[i + 1]) + abs(x[i])",
        "return 0",
    ],
    "items by a place that is known late": [
        "w, v = (1.5, 2.5, -3.5), (x[3], x[9], x[10])", "for i in range(3):",
        "    out[i] = w[i] * v[i] + view(x, n)[i - 2]",
        "return 0",
    ],
    "functions, tuples and a power": [
        "a = cross((x[3], x[9], x[10]), (x[11], x[2], x[3]))", "for k, y in ((0, a[0]), (1, a[1]), (2, a[2])):",
        "    out[k] = y ** 2 + math.sqrt(y * y)", "out[3] = math.floor(x[9])", "out[4] = where(a[0] > a[1], 1.0, 2.0)",
        "return 0",
    ],
    "whole numbers as conditions": [
        "k = 0", "for i in range(n):", "    if (5 >> i) & 1 and not i - 2 or i == 7:", "        k += i + 1",
        "    out[i] = k", "return k",
    ],
    "comparisons in a row, of which the first that fails is the last": [
        "k = 0", "for i in range(n):", "    if 0 < i < noted(out, 5) < noted(out, i + 3):", "        k += i",
        "return k",
    ],
    "items counted from the end, by a place that is known late": [
        "w = (1.5, 2.5, x[9])", "for i in range(-3, 3):", "    out[i + 3] = w[i] + NUMBERS[i]", "return 0",
    ],
    "arguments that are left out, and more of them": [
        "out[0], out[1], out[2] = rest(x[2]), rest(x[2], x[9]), rest(x[2], x[9], 3, 4)", "return 0",
    ],
    "an early end": ["for i in range(n):", "    if x[i] > 5.0:", "        return i", "return -1"],
}  # fmt: skip


@pytest.mark.parametrize("lines", KERNELS.values(), ids=KERNELS)
def test_bits_are_those_of_plain_python(lines: list[str]) -> None:
    f = function(HEAD, lines, NAMES)
    assert translated(f, "pip", divided=False) is not None
    x, n = np.array(VALUES), len(VALUES)
    compiled, plain = np.zeros(20), np.zeros(20)
    with np.errstate(all="ignore"):
        assert program(f, "pip")(x, n, compiled) == f(x, n, plain)
    np.testing.assert_array_equal(compiled, plain)
    assert np.array_equal(np.signbit(compiled), np.signbit(plain))


def test_lanes_have_the_bits_of_floats() -> None:
    lines = [
        "v = from_lanes((x[3], x[9], x[10], x[11]))",
        "r = where(v < 0.0, math.sqrt(v * v + 2.0) / (v - 1), min(v, 5))", "for i in range(4):",
        "    out[i] = lane(r, i)", "return 0",
    ]  # fmt: skip
    f = function(HEAD, lines, {**NAMES, "from_lanes": from_lanes, "lane": lane})
    assert translated(f, "pip", divided=False) is not None
    found = np.zeros(4)
    program(f, "pip")(np.array(VALUES), 12, found)
    for value, v in zip(found, (-2.5, 7.25, -0.125, 2.0), strict=True):
        assert value == (math.sqrt(v * v + 2.0) / (v - 1) if v < 0.0 else min(v, 5))


REFUSED = {
    "a property, which is not in the name of a program": ["return Pair(1.0).size"],
    "arguments by place only": ["out[0] = second(x[2], x[9])", "return 0"],
    "arrays are added item by item": ["out[0] = len(NUMBERS + NUMBERS)", "return 0"],
    "arrays are multiplied item by item": ["out[0] = len(NUMBERS * 2)", "return 0"],
    "a division of constants by zero": ["return 1 // 0"],
    "a loop without items": ["for v in ():", "    out[0] = v", "return 3"],
    "a loop without steps": ["for i in range(0, n, 0):", "    out[0] = i", "return 3"],
    "a place that is not there": ["return (1, 2)[5]"],
    "a sign of a tuple": ["return len(-(1, 2))"],
    "finally": ["try:", "    out[0] = 1", "finally:", "    out[1] = 2", "return 0"],
    "more arguments than there are": ["out[0] = cross((0, 0, 1), (0, 1, 0), 3)[0]", "return 0"],
    "one argument twice": ["out[0] = cross((0, 0, 1), (0, 1, 0), a=(1, 0, 0))[0]", "return 0"],
    "whether a truth value is True itself": ["b = n > 3", "return 1 if b is True else 2"],
    "whole numbers of more than 64 bits": ["return n + 2**64"],
}


@pytest.mark.parametrize("lines", REFUSED.values(), ids=REFUSED)
def test_what_may_mean_something_else_is_refused(lines: list[str]) -> None:
    with pytest.raises(Unsupported):
        translated(function(HEAD, lines, NAMES), "pip", divided=False)


def test_a_text_counts_only_for_its_own_code() -> None:
    f = function(HEAD, ["out[0] = x[2]", "return 1"], {})
    other = function(HEAD, ["out[0] = x[9]", "return 2"], {})
    other.__text__ = f.__text__  # as functools.wraps does
    with pytest.raises(Unsupported, match="no source"):
        translated(other, "pip", divided=False)


def test_lanes_cannot_branch() -> None:
    lines = ["v = from_lanes((x[0], x[1]))", "return 1 if v > 0.0 else 0"]
    with pytest.raises(Unsupported, match="different branches"):
        translated(function(HEAD, lines, {"from_lanes": from_lanes}), "pip", divided=False)


def test_every_primitive_is_translated() -> None:
    marked = {name for name, f in vars(ops).items() if hasattr(f, "__primitive__")}
    assert {name for name in marked if getattr(ops, name) not in _known()} == set()


def test_a_model_needs_no_numba(tmp_path: Path) -> None:
    lines = [
        "import sys", "sys.modules['numba'] = None", "import polhode as ph",
        "start = {'omega': [0.7, -0.4, 1.1], 't_span': (0, 1), 'step': 0.1}",
        "body, top = ph.Body([1.0, 1.75, 2.5]), ph.HeavyTop(0.4)",
        "print(*[ph.simulate(body, top, method=m, **start).momentum[-1, 0] for m in ('MR2', 'RK4', 'G8', 'IMR')])",
    ]  # fmt: skip
    subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], check=True, env={**os.environ, "POLHODE_CACHE_DIR": str(tmp_path)}
    )


def test_sines_and_cosines_of_an_angle_share_their_work() -> None:
    """In machine code they are computed once, though large angles branch."""

    def once(x: Any) -> int:
        x[0] = math.sin(x[1])
        return 0

    def often(x: Any) -> int:
        x[0] = math.sin(x[1]) + math.cos(x[1]) * math.sin(x[1]) + math.cos(x[1])
        return 0

    functions: list[Any] = [once, often]
    one, more = (len(_assembled(translated(f, "p", divided=False))[0]) for f in functions)
    assert more < 1.2 * one
