"""The judgement of a run: its distance to its companion, the estimate of its error, and the start of the companion.

These are scalar kernels: they compile, and plain Python calls them as well. Those that use arithmetic alone take arrays
with a number for each body, too.
"""

import math
from collections.abc import Callable
from typing import Any

from polhode.kernels.algebra.quat import norm2
from polhode.kernels.algebra.vec import dot
from polhode.kernels.status import OK
from polhode.kernels.types import Quat, Vec3

NUDGE = 2.0**-52
"""The relative change of a companion's momentum and inverse moments."""
FIRST_TURN, SECOND_TURN = (3.0, -2.4, 1.8), (-1.5, 0.9, 3.0)
"""The turns of the attitude of a companion, and of a second one, about body axes, in ulps. They are as large as the
round-off of some steps, the only error of a body near a rest that could grow. Neither is along a direction of symmetry;
where errors grow in one direction alone, one of the two may not show it."""
COARSER = 0.8
"""The steps of the companion for one step of the run."""
CHECKING = 0.5
"""A second companion has the number of steps of the run times `COARSER` to this power. It is made where errors may have
grown in a direction that the first does not show, and errs less than the first, whose estimate it checks."""
CLOSE = 0.05
"""Estimates of more than this part of the tolerance are close to it: where errors may grow, a second companion is
asked."""
FIRST_STOP = 0.37
"""The part of the way to its first row at which a companion makes a stop."""
LEAST_UNCOMPENSATED_RTOL = 1e-11
"""Below this tolerance sums that are not compensated lose too much."""
MAYBE_ROUND_OFF = 100.0
"""An estimate below this multiple of the least error may be round-off, which a run shares with its companion."""
FACTOR_WHERE_ERRORS_GROW = 4.0
"""The least factor of truncation and rounding where all errors grow: near an unstable rest, or near the separatrix.
Companions show them in one direction each."""
UNSTABLE_GROWTH = 10.0
"""How much further iterations go under a strong torque, which may bring the body near an unstable rest, where all
errors grow."""
ITERATION_SHARE = 0.03
"""The part of the tolerance that iterations may use up."""
WORTH_ALLOWING = 1e-15
"""Iterations that are to leave less go on to round-off."""
WORTH_A_GRID = 1.15
"""A rise of the number of steps by up to this factor is worth it if it makes all listed times ends of steps."""
ASIDE = 0.9
"""What a step aside to a listed time costs, in steps."""
LEAST_POWER = -17
ROUND_NUMBERS = tuple(float(f"{digit}e{power}") for power in range(LEAST_POWER, 1) for digit in (1, 3))
"""1 and 3 times the powers of ten: numbers with a name for a person."""


# --- distance and estimate -------------------------------------------------------------------------------------------


def floor(t0: float, t1: float, rate: Any, unequal: Any) -> Any:
    """The error that a run shares with its companion: the rounding of times, and a part of the rounding of rates.

    The momentum of a tilted body is rounded where it is turned to the principal axes, which a rate about that of the
    least moment feels by `unequal`: the greatest moment over the least one, and 0 for a body whose axes are given.
    """
    span = abs(t1 - t0)
    beyond = max(abs(t0), abs(t1), span) - span  # times that are greater than the span are rounded more coarsely
    return NUDGE * (8.0 + (1.0 + 2.0 * unequal) * rate * span + rate * beyond)


def estimator(larger: Callable[[Any, Any], Any], smaller: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The estimate, with the functions that choose between two numbers, or between those of two arrays."""

    def estimate(truncation: float, rounding: float, d: Any, floor: Any, left: Any) -> Any:
        """The error of a run whose companion is at the distance d, by the factors of a method.

        `floor` is what the companion does not see, `left` what iterations may have left.
        """
        return larger(truncation * d, smaller(rounding * d, MAYBE_ROUND_OFF * floor)) + floor + left

    return estimate


estimate = estimator(max, min)


def apart2(q: Quat, p: Quat) -> float:
    """The square of the distance of two quaternions, whatever their signs."""
    minus = (q[0] - p[0], q[1] - p[1], q[2] - p[2], q[3] - p[3])
    plus = (q[0] + p[0], q[1] + p[1], q[2] + p[2], q[3] + p[3])
    return min(norm2(minus), norm2(plus))


def angle(apart2: float) -> float:
    """The angle between two attitudes, in radians, from the square of the distance of their quaternions."""
    return 4.0 * math.asin(min(1.0, 0.5 * math.sqrt(apart2)))


def judge_rows(
    q: Any, w: Any, p: Any, u: Any, scale: Any, out: Any, row: Any, place: Any, bodies: int, rows: int, total: int,
    vectors: int,
) -> int:  # fmt: skip
    """Writes the largest difference of two motions of each body, over some rows, to `out`.

    The first motion has `total` rows of attitudes q and of so many `vectors` w, the second has p and u in these `rows`
    alone: body i is body place[i] of the first, whose rows are those in `row`. Differences of attitudes are angles,
    those of vectors are over the `scale` of each; where that is zero they do not count, nor does NaN.
    """
    for i in range(bodies):
        farthest, most = 0.0, 0.0
        for r in range(rows):
            k, o = 4 * (place[i] * total + row[r]), 4 * (i * rows + r)
            d = apart2((q[k], q[k + 1], q[k + 2], q[k + 3]), (p[o], p[o + 1], p[o + 2], p[o + 3]))
            farthest = d if d > farthest else farthest
            for j in range(vectors):
                size = scale[i * vectors + j]
                k, o = 3 * ((place[i] * total + row[r]) * vectors + j), 3 * ((i * rows + r) * vectors + j)
                v = (w[k] - u[o], w[k + 1] - u[o + 1], w[k + 2] - u[o + 2])
                d = math.sqrt(dot(v, v)) / size if size > 0.0 else 0.0
                most = d if d > most else most
        out[i] = max(angle(farthest), most)
    return OK


NEAR_SEPARATRIX = 1e-2
"""Below this complementary parameter of the elliptic functions a free body comes so near to a turn about its middle
axis that all errors grow: those of the energy by the inverse of this number, in every half of a turn of the momentum
about the body."""


def nears_separatrix(a: Any, b: Any, c: Any, x: Any, y: Any, z: Any) -> Any:
    """Whether a free motion passes near its middle axis; a <= b <= c are moments, x, y, z the momentum on their axes.

    1 - k^2 = (c - a) |M^2 - 2 b E| / max((c - b) (M^2 - 2 a E), (b - a) (2 c E - M^2)), with a sum in place of the
    maximum. The arguments are numbers, or arrays with a number for each body or row.
    """
    x2, y2, z2 = x * x, y * y, z * z
    off = z2 * ((c - b) / c) - x2 * ((b - a) / a)  # M^2 - 2 b E, without cancellation
    above = (c - b) * (y2 * ((b - a) / b) + z2 * ((c - a) / c))
    below = (b - a) * (x2 * ((c - a) / a) + y2 * ((c - b) / b))
    return (c - a) * abs(off) < NEAR_SEPARATRIX * (above + below)


# --- what a run and its companion are given --------------------------------------------------------------------------


def turned(q: Any, turn: Vec3, by: float) -> Any:
    """A quaternion turned by these half angles about body axes, in units of half of `by`."""
    a, b, c = 0.5 * by * turn[0], 0.5 * by * turn[1], 0.5 * by * turn[2]
    return (
        q[0] - a * q[1] - b * q[2] - c * q[3],
        q[1] + a * q[0] + c * q[2] - b * q[3],
        q[2] + b * q[0] - c * q[1] + a * q[3],
        q[3] + c * q[0] + b * q[1] - a * q[2],
    )


def growth(torque_ratio: float, turn: float, leverage: float) -> float:
    """The factor by which errors of iterations count more than their sum: they change the energy."""
    eps = min(1.0, torque_ratio)
    return (2.0 + 0.06 * eps * turn) * leverage * (1.0 + UNSTABLE_GROWTH * eps)


def allowed(numbers: Any, rtol: float, steps: float) -> float:
    """An error of an iteration that does not show, one of the round numbers."""
    most = max(ITERATION_SHARE * rtol / steps, 1e-17)
    k = 2 * (max(LEAST_POWER, min(0, math.floor(math.log10(most)))) - LEAST_POWER)
    return numbers[k + 1] if most >= numbers[k + 1] else numbers[k]  # type: ignore[no-any-return]


def first_stop(t0: float, t1: float, h: float, first: float) -> float:
    """Where a companion stops, so that it reaches no row by one step from the start, as the run might.

    The end stands for nowhere; `first` is the time of its first row.
    """
    ahead = first - t0
    return t0 + FIRST_STOP * ahead if 1e-6 * abs(h) <= abs(ahead) < 0.999 * abs(h) else t1


def on_grid(steps: int, parts: int, rows: int) -> int:
    """The number of steps, raised to a multiple of `parts` if the rise is small or costs no more than steps aside."""
    if parts == 0:
        return steps
    even = (steps + parts - 1) // parts * parts
    return even if even <= max(WORTH_A_GRID * steps, steps + ASIDE * (rows - 1)) else steps


def fewer(steps: int, parts: int, coarser: float) -> int:
    """The steps of a companion, which has this part of them."""
    few = max(1, math.floor(coarser * steps))
    even = few // parts * parts if parts > 0 else 0
    return even if even > 0 and WORTH_A_GRID * even >= few else few


# --- steps of equal length -------------------------------------------------------------------------------------------


def ulp(x: float) -> float:
    """The distance from a number to the next greater one in size, as `math.ulp`."""
    _, exponent = math.frexp(x)
    return math.ldexp(1.0, max(exponent - 53, -1074)) if x != 0.0 else math.ldexp(1.0, -1074)


def grid(a: float, b: float, h: float) -> tuple[int, float]:
    """The number of steps from a to b and the length of the last one, as `run.grid` has them."""
    ratio = (b - a) / h
    whole = math.floor(ratio + 0.5)
    steps = max(1, int(whole if abs(ratio - whole) < 1e-6 else math.ceil(ratio)))
    last = b - (a + (steps - 1) * h)
    if abs(last - h) <= 4.0 * ulp(max(abs(a), abs(b))):
        last = h  # the difference is round-off of the times
    return steps, last


def located(a: float, h: float, last: float, steps: int, t: float) -> tuple[int, float]:
    """The grid point before a time and how far it lies beyond; on the grid that is exactly zero."""
    before = min(int((t - a) / h), steps - 1)
    length = last if before == steps - 1 else h
    offset, near = t - (a + before * h), 8.0 * max(ulp(t), ulp(a))
    if abs(offset - length) <= near:
        return before + 1, 0.0
    return before, 0.0 if abs(offset) <= near else offset
