"""Where a torque takes another branch: how far each of its decisions is from the other outcome.

`compiler/rewrite_branches.py` rewrites a user's torque so that whatever decides its branches goes through the functions
of this file: `a < b` becomes `less(board, k, a, b)`, `max(a, b)` becomes `larger(board, k, a, b)`. The board is an
array with a cell of four numbers for each decision. A decision that is held keeps its outcome wherever the torque is
evaluated, so that the torque is smooth; its margin, which is not negative on its own side of the bend, says where it
is.
"""

from math import copysign
from typing import Any, NamedTuple

import numpy as np

FREE, COUNT = 0, 1
"""The index of the number that is not zero while decisions are made at every evaluation, and of the number of
evaluations since the start of a step."""
FIRST = 2
"""The index of the first cell. A cell has, at these offsets: the margin, the side, and the margins in the course of a
step, at the moments of `NODES`."""
MARGIN, SIDE, COURSE = 0, 1, 2
MOMENTS = 6
CELL = COURSE + MOMENTS
YES, NO = 0.25, -0.25
"""The sides of a decision between two outcomes. Sides of others are whole numbers."""
UNDECIDED = 0.375
"""The side of a decision that is to be made at the next evaluation."""
FAR = 1e300
"""The margin of a decision that was not met: far from another outcome."""


Course = tuple[float, float, float, float, float, float]


# --- decisions


def decided(b: Any, k: int, d: float, holds: Any) -> bool:
    """The outcome of a decision: whether it `holds`, or what it was when it was made; d > 0 where it holds."""
    side: float = b[k + SIDE]
    if side == UNDECIDED:
        side = YES if holds else NO
        b[k + SIDE] = side
    noted(b, k, side * d)
    return bool(side > 0.0)  # in plain Python the board is an array, and booleans of NumPy cannot be subtracted


def noted(b: Any, k: int, margin: float) -> None:
    """Writes down the margin of a decision."""
    b[k + MARGIN] = margin


def counted(b: Any, decisions: int) -> None:
    """Counts an evaluation after it was made; at some of them margins are written down for the course of the step."""
    if b[FREE] != 0.0:
        for i in range(decisions):
            b[FIRST + CELL * i + SIDE] = UNDECIDED
    count = b[COUNT] + 1.0
    b[COUNT] = count
    if count == 3.0:
        moment = 1
    elif count == 5.0:
        moment = 2
    elif count == 9.0:
        moment = 3
    elif count == 10.0:
        moment = 4
    elif count == 12.0:
        moment = 5
    else:
        return
    for i in range(decisions):
        k = FIRST + CELL * i
        b[k + COURSE + moment] = b[k + MARGIN]


def less(b: Any, k: int, x: Any, y: Any) -> bool:
    """x < y."""
    return decided(b, k, float(y - x), x < y)


def less_equal(b: Any, k: int, x: Any, y: Any) -> bool:
    """x <= y."""
    return decided(b, k, float(y - x), x <= y)


def greater(b: Any, k: int, x: Any, y: Any) -> bool:
    """x > y."""
    return decided(b, k, float(x - y), x > y)


def greater_equal(b: Any, k: int, x: Any, y: Any) -> bool:
    """x >= y."""
    return decided(b, k, float(x - y), x >= y)


def larger(b: Any, k: int, x: Any, y: Any) -> Any:
    """max(x, y)."""
    return x if decided(b, k, float(x - y), not y > x) else y


def smaller(b: Any, k: int, x: Any, y: Any) -> Any:
    """min(x, y)."""
    return x if decided(b, k, float(y - x), not y < x) else y


def clipped(b: Any, k: int, x: Any, low: Any, high: Any) -> Any:
    """min(max(x, low), high), with two cells."""
    return smaller(b, k + CELL, larger(b, k, x, low), high)


def size(b: Any, k: int, x: Any) -> Any:
    """abs(x)."""
    return x if decided(b, k, float(x), x >= 0) else -x


def with_sign(b: Any, k: int, x: Any, y: Any) -> float:
    """copysign(x, y), with two cells."""
    a = float(size(b, k + CELL, x))
    return a if decided(b, k, float(y), copysign(1.0, y) > 0.0) else -a


def sign(b: Any, k: int, x: Any) -> float:
    """-1, 0 or 1, with two cells."""
    if decided(b, k, float(x), x > 0):
        return 1.0
    return -1.0 if decided(b, k + CELL, float(-x), x < 0) else 0.0


def heaviside(b: Any, k: int, x: Any, at_zero: Any) -> float:
    """0, at_zero or 1, with two cells."""
    if decided(b, k, float(x), x > 0):
        return 1.0
    return 0.0 if decided(b, k + CELL, float(-x), x < 0) else float(at_zero)


# --- whole numbers: the side is the number itself, the margin a parabola that is positive up to the next ones


def whole(b: Any, k: int, n: float) -> float:
    """The whole number that is held, or n if none is."""
    if b[k + SIDE] == UNDECIDED:
        b[k + SIDE] = n
    held: float = b[k + SIDE]
    return held


def floor(b: Any, k: int, x: Any) -> float:
    """The greatest whole number that is not above x."""
    n = whole(b, k, np.floor(float(x)))
    noted(b, k, (x - n) * (n + 1.0 - x))
    return n


def ceil(b: Any, k: int, x: Any) -> float:
    """The least whole number that is not below x."""
    n = whole(b, k, np.ceil(float(x)))
    noted(b, k, (n - x) * (x - n + 1.0))
    return n


def trunc(b: Any, k: int, x: Any) -> float:
    """x without its fraction."""
    n = whole(b, k, np.trunc(float(x)))
    noted(b, k, (x - n + (1.0 if n <= 0.0 else 0.0)) * (n + (1.0 if n >= 0.0 else 0.0) - x))
    return n


def rounded(b: Any, k: int, x: Any) -> float:
    """The whole number next to x, the even one of two."""
    n = whole(b, k, np.rint(float(x)))
    noted(b, k, 0.25 - (x - n) * (x - n))
    return n


def floor_divide(b: Any, k: int, x: Any, y: Any) -> float:
    """x // y."""
    return floor(b, k, x / y)


def without(x: Any, y: Any, n: float) -> float:
    """Returns x - y n, which is x for n = 0, also where y is infinite: a period that never ends."""
    return float(x - y * n) if n != 0.0 else float(x)


def modulo(b: Any, k: int, x: Any, y: Any) -> float:
    """x % y, with the sign of y."""
    n = floor(b, k, x / y)
    return without(x, y, n)


def fmod(b: Any, k: int, x: Any, y: Any) -> float:
    """fmod(x, y), with the sign of x."""
    n = trunc(b, k, x / y)
    return without(x, y, n)


def remainder(b: Any, k: int, x: Any, y: Any) -> float:
    """remainder(x, y), at most y / 2."""
    n = rounded(b, k, x / y)
    return without(x, y, n)


# --- the board


def board_size(decisions: int) -> int:
    """The numbers on a board."""
    return FIRST + CELL * decisions


def forget(b: Any, decisions: int) -> None:
    """Lets all decisions be made at the next evaluation."""
    for i in range(decisions):
        k = FIRST + CELL * i
        b[k + SIDE] = UNDECIDED
        b[k + MARGIN] = FAR
        for j in range(MOMENTS):
            b[k + COURSE + j] = FAR


def has_crossed(b: Any, decisions: int) -> bool:
    """Whether a margin was negative, or none, in the course of a step."""
    for i in range(decisions):
        for j in range(MOMENTS):
            if not b[FIRST + CELL * i + COURSE + j] >= 0.0:
                return True
    return False


# --- the course of a margin in a step


TOUCH = 0.03
"""The part of its range within which a margin that is foreseen may be wrong in its sign."""
EDGE = 0.05
"""The part of a step, at its ends, in which no such place is looked for: the ends themselves are known."""


class Crossing(NamedTuple):
    """Where a margin becomes negative, as parts of a step."""

    cell: int
    """The index of the decision's cell; -1: none crosses."""
    place: float
    fall: float
    """The rate of the margin there."""
    deep: float
    """Where it is most negative."""
    once: bool
    """Whether it stays negative up to the end of the step."""
    near: float
    """Where a margin comes so near to zero inside the step that it may be negative there; 0: nowhere."""


def course(b: Any, k: int) -> Course:
    """The margins at the moments of `NODES`."""
    v = k + COURSE
    return (b[v], b[v + 1], b[v + 2], b[v + 3], b[v + 4], b[v + 5])


NODES = (0.0, 0.1183503419072274, 1.0 / 3.0, 0.6, 6.0 / 7.0, 1.0)
"""The start, stages 3, 5, 9 and 10, and the end: stages whose states are good to order 3 at least."""
SAMPLES = 16
"""The margin is interpolated at as many places of a step: dips that are wider are seen."""


def weights_at(c: float) -> Course:
    """The weights with which the margins at the nodes give that at c."""
    out = []
    for i, x in enumerate(NODES):
        w = 1.0
        for j, y in enumerate(NODES):
            if i != j:
                w *= (c - y) / (x - y)
        out.append(w)
    a, d, e, f, g, h = out
    return (a, d, e, f, g, h)


TABLE = tuple(((i + 1) / SAMPLES, weights_at((i + 1) / SAMPLES)) for i in range(SAMPLES))


def interpolated(v: Course, w: Course) -> float:
    """The weighted sum."""
    return v[0] * w[0] + v[1] * w[1] + v[2] * w[2] + v[3] * w[3] + v[4] * w[4] + v[5] * w[5]


def newton_form(v: Course) -> Course:
    """The divided differences."""
    x0, x1, x2, x3, x4, x5 = NODES
    a0, a1, a2, a3, a4, a5 = v
    a5, a4, a3 = (a5 - a4) / (x5 - x4), (a4 - a3) / (x4 - x3), (a3 - a2) / (x3 - x2)
    a2, a1 = (a2 - a1) / (x2 - x1), (a1 - a0) / (x1 - x0)
    a5, a4, a3, a2 = (a5 - a4) / (x5 - x3), (a4 - a3) / (x4 - x2), (a3 - a2) / (x3 - x1), (a2 - a1) / (x2 - x0)
    a5, a4, a3 = (a5 - a4) / (x5 - x2), (a4 - a3) / (x4 - x1), (a3 - a2) / (x3 - x0)
    a5, a4 = (a5 - a4) / (x5 - x1), (a4 - a3) / (x4 - x0)
    return (a0, a1, a2, a3, a4, (a5 - a4) / (x5 - x0))


def newton_value(a: Course, c: float) -> float:
    """The value of a polynomial from its divided differences."""
    x0, x1, x2, x3, x4, _ = NODES
    return a[0] + (c - x0) * (a[1] + (c - x1) * (a[2] + (c - x2) * (a[3] + (c - x3) * (a[4] + (c - x4) * a[5]))))


def first_crossing(b: Any, decisions: int) -> Crossing:
    """The first place in a step at which a margin becomes negative, as a polynomial through it says."""
    found, near = Crossing(-1, 1.0, 0.0, 1.0, True, 0.0), 0.0
    for i in range(decisions):
        k = FIRST + CELL * i
        v = course(b, k)
        low = min(v[0], v[1], v[2], v[3], v[4], v[5])
        high = max(v[0], v[1], v[2], v[3], v[4], v[5])
        if low >= FAR or low > 2.0 * (high - low):  # it was not met, or is far from negative
            continue
        left, right, f_right, deep, deepest, once = 0.0, -1.0, 0.0, 1.0, 0.0, True
        lowest, low_at = TOUCH * (high - low), 0.0
        for look in TABLE:
            c, f = look[0], interpolated(v, look[1])
            if f < 0.0 and right < 0.0:
                right, f_right = c, f
            if right < 0.0:
                left = c
            once = once and (right < 0.0 or f < 0.0)
            if f < deepest:
                deep, deepest = c, f
            if f < lowest:
                lowest, low_at = f, c
        if EDGE < low_at < 1.0 - EDGE:
            near = low_at
        if right < 0.0 or left >= found.place:
            continue
        a = newton_form(v)
        f_left = max(newton_value(a, left), 0.0)
        span = (f_right - f_left) / (right - left)
        for _ in range(20):
            c = 0.5 * (left + right)
            if newton_value(a, c) < 0.0:
                right = c
            else:
                left = c
        if right < found.place or found.cell < 0:
            h = 1e-4
            fall = (newton_value(a, right + h) - newton_value(a, right - h)) / (2.0 * h)
            found = Crossing(k, right, fall if fall < 0.0 else span, deep, once, 0.0)
    return Crossing(found.cell, found.place, found.fall, found.deep, found.once, near)
