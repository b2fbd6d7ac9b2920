"""Torques whose decisions are held: the same numbers, the same pieces, and nothing where the source does not say."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.compiler import locatable, may_bend
from polhode.kernels.steps.branches import CELL, COUNT, FIRST, FREE, MARGIN, SIDE, board_size, forget

Kernel = Callable[[float, Any, Any, Any], Any]


def band(x: float, width: float = 0.1) -> float:
    """Has two bends, and a default."""
    return 0.0 if abs(x) < width else x - math.copysign(width, x)


def twice(x: float) -> float:
    """Has no bends of its own."""
    return 2.0 * band(x) + band(x, width=0.3)


def switched(t: float, q: Any, w: Any, p: Any) -> Any:
    """Branches in all the usual forms."""
    if t > p[0]:
        u = 1.0
    elif 0.2 <= t < 0.5:
        u = t
    else:
        u = -1.0 if w[0] < w[1] and not w[2] > 0.0 else w[0]
    return (u, u * q[0], 0.0)


def clipped(t: float, q: Any, w: Any, p: Any) -> Any:
    """Calls what bends."""
    a = min(max(w[0], -p[0]), p[0])
    return (a, max(w[0], w[1], 0.0) + np.clip(w[2], -0.3, 0.3), abs(q[0]) * np.sign(w[1]) + math.fabs(w[2]))


def helped(t: float, q: Any, w: Any, p: Any) -> Any:
    """Calls helpers, one of them twice."""
    return (band(w[0]) + band(w[1]), twice(w[2]), ph.where(w[0] > 0.1, w[1], w[2]))


def counted(t: float, q: Any, w: Any, p: Any) -> Any:
    """Has jumps at whole numbers, comparisons used as numbers, and a loop."""
    n = 0.0
    for i in range(3):
        if w[i] > 0.2:
            n += max(w[i], q[i])
    return (n + (t % 0.3), math.floor(4.0 * w[0]) + int(3.0 * w[1]) * 0.5, (w[2] > 0.1) * 1.0 + round(2.0 * w[0]))


def closed_over(width: float) -> Kernel:
    """Returns a function with a closure."""

    def torque(t: float, q: Any, w: Any, p: Any) -> Any:
        return (max(w[0], width), width if w[1] > width else w[1], np.heaviside(w[2], 0.5))

    return torque


pair = (lambda t, q, w, p: (max(w[0], 0.1), 0.0, 0.0)), (lambda t, q, w, p: (min(w[0], 0.1), w[1], 0.0))

TORQUES: list[Kernel] = [switched, clipped, helped, counted, closed_over(0.2), *pair]
P = np.array([0.4])


def found(f: Kernel) -> tuple[Kernel, int]:
    """Returns the function with a board, and the number of its decisions."""
    answer = locatable(f)
    assert answer is not None
    return answer


class Board:
    """The decisions of a torque, made at one place and held elsewhere."""

    def __init__(self, f: Kernel) -> None:
        self.kernel, self.n = found(f)
        self.b = np.zeros(board_size(self.n))

    def decide(self, x: Any) -> tuple[float, ...]:
        """Makes all decisions anew; returns the torque."""
        forget(self.b, self.n)
        return self.hold(x)

    def hold(self, x: Any) -> tuple[float, ...]:
        """Returns the torque of the branches that are held."""
        self.b[[FREE, COUNT]] = 0.0
        return tuple(map(float, self.kernel(x[0], tuple(x[1:5]), tuple(x[5:]), (P, self.b))))

    @property
    def sides(self) -> list[float]:
        """The sides of all decisions."""
        return list(map(float, self.b[FIRST + SIDE :: CELL]))

    @property
    def margins(self) -> Any:
        """The margins of all decisions."""
        return self.b[FIRST + MARGIN :: CELL]


@pytest.mark.parametrize("f", TORQUES)
def test_the_signs_of_the_margins_tell_the_pieces_apart(f: Kernel) -> None:
    board, draw = Board(f), np.random.default_rng(1)
    same = 0
    for _ in range(150):
        x, y = draw.uniform(-1, 1, (2, 8))
        y = x + draw.choice([0.03, 0.3, 1.0]) * y
        assert board.decide(y) == pytest.approx(f(y[0], tuple(y[1:5]), tuple(y[5:]), P), rel=1e-14, abs=1e-14)
        there = board.sides
        assert board.decide(x) == pytest.approx(f(x[0], tuple(x[1:5]), tuple(x[5:]), P), rel=1e-14, abs=1e-14)
        here = board.sides
        assert (board.margins >= 0.0).all()
        held = board.hold(y)
        assert (board.margins >= 0.0).all() == (here == there)
        if here == there:
            same += 1
            assert held == pytest.approx(f(y[0], tuple(y[1:5]), tuple(y[5:]), P), rel=1e-14, abs=1e-14)
    assert 8 < same < 145


@pytest.mark.parametrize("f", TORQUES)
def test_what_is_held_is_smooth(f: Kernel) -> None:
    board, draw = Board(f), np.random.default_rng(2)
    for _ in range(8):
        x, way = draw.uniform(-1, 1, (2, 8))
        board.decide(x)
        line = np.array([board.hold(x + c * way) for c in np.linspace(0.0, 1.0, 101)])
        # These torques are polynomials of degree two: their third differences are round-off, and a kink is 1e-2.
        assert np.abs(np.diff(line, 3, axis=0)).max() < 1e-12


def unknown_loop(t: float, q: Any, w: Any, p: Any) -> Any:
    """Compares in a loop whose length is not known."""
    i = 0
    while p[i] < t:
        i += 1
    return (float(i), 0.0, 0.0)


def unknown_function(t: float, q: Any, w: Any, p: Any) -> Any:
    """Calls what bends where only it knows."""
    return (np.interp(t, P, P), abs(w[0]), 0.0)


def of_arrays(t: float, q: Any, w: Any, p: Any) -> Any:
    """Decides on three numbers at once."""
    return -p[0] * np.clip(np.array([w[0], w[1], w[2]]), -0.5, 0.5)


def smooth(t: float, q: Any, w: Any, p: Any) -> Any:
    """Has no bends."""
    return (math.sin(t) * w[0], q[1], 0.0)


def test_what_is_not_known_is_not_held() -> None:
    scope: dict[str, Any] = {}
    exec("def f(t, q, w, p):\n    return (max(t, 0.0), 0.0, 0.0)", scope)  # no source
    for f in (unknown_loop, unknown_function, scope["f"]):
        assert may_bend(f)
        assert locatable(f) is None
        assert not ph.torque(f).bends_known
    assert not ph.torque(of_arrays, parameters=[0.1]).bends_known
    assert not may_bend(smooth)
    assert ph.torque(smooth).bends_known


def test_a_source_that_has_changed_is_not_believed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import linecache

    text = "def f(t, q, w, p):\n    return (max(t, {}), 0.0, 0.0)\n"
    (tmp_path / "changing_torque.py").write_text(text.format("0.0"))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("changing_torque")
    assert locatable(module.f) is not None
    (tmp_path / "changing_torque.py").write_text(text.format("0.5") + "\n")
    module = importlib.reload(module)
    (tmp_path / "changing_torque.py").write_text(text.format("0.75"))
    linecache.clearcache()
    assert locatable(module.f) is None


def test_a_helper_that_is_replaced_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Board(helped).decide(np.full(8, 0.5))
    monkeypatch.setitem(globals(), "band", lambda x, width=0.2: max(x, width))
    after = Board(helped).decide(np.full(8, 0.5))
    assert before[0] == pytest.approx(0.8)
    assert after[0] == pytest.approx(1.0)


def test_jumps_without_branches_bend() -> None:
    for f in (
        lambda t, q, w, p: (t % 0.3, 0.0, 0.0),
        lambda t, q, w, p: (t // 0.3, 0.0, 0.0),
        lambda t, q, w, p: ((t > 0.3) * 1.0, 0.0, 0.0),
        lambda t, q, w, p: (float(int(t)), 0.0, 0.0),
        lambda t, q, w, p: (np.heaviside(t, 0.0), 0.0, 0.0),
    ):
        assert may_bend(f)
        assert locatable(f) is not None


def without_end(t: float, q: Any, w: Any, p: Any) -> Any:
    """Has remainders of a period that never ends, and subtracts comparisons."""
    never = math.inf
    sign = (w[1] > 0.0) - (w[1] < 0.0)
    return (0.1 if t % never < 0.5 else w[0], math.fmod(w[0], never) + sign, math.remainder(w[2], never))


@pytest.mark.parametrize("t", [0.3, 0.7])
def test_remainders_of_an_infinite_period_and_differences_of_comparisons(t: float) -> None:
    x = (t, 0.8, 0.0, 0.6, 0.0, -0.4, 0.2, 0.3)
    assert Board(without_end).decide(x) == without_end(t, x[1:5], x[5:], P)
