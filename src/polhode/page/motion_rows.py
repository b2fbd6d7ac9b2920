"""The rows of a motion that the page gets: few of them, between which it can interpolate along arcs.

Between two rows the page turns the body along the shortest arc (slerp). Over an interval h that errs by about
h^2/8 |dw/dt|, so rows are set where the integral of sqrt(|dw/dt|) has grown by equal amounts, and never further apart
than a fraction of a turn. Where the rows of a run are too far apart, states between them are those of its true motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polhode.body import Body
from polhode.files.nodes import slerp
from polhode.support.arrays import Floats, angles, lengths, with_continuous_signs

MOST_ROWS = 5000
"""The rows that a page gets of one run: more would make it slow to open, and are not to be seen."""
LEAST_TURN, MOST_TURN = 0.1, 0.5
"""The angles between neighbouring rows, in rad, where there is room for all, and where there is not. With the second
one arcs err by at most 2 degrees, and 5,000 rows hold 300 turns: what is longer is shown in part."""
ARC_ERROR = math.radians(0.05)
"""How far an arc may be from the motion where there is room for the rows, in rad: no eye sees it."""
RATE_CHANGE = 0.05
"""How far the rate may change from row to row, as a part of the greatest: the page draws it by straight lines."""
LEAST_INTERVALS = 100
"""However slow the motion is, rows are not further apart than the span over this number."""
DENSE = 4
"""Rows are chosen among this number of times as many, by which the error of arcs is measured."""
MOST_DENSE = 40_000
"""The rows among which rows are chosen, at most."""
MOST_BISECTIONS = 24
"""The times that an interval is halved, at most."""


@dataclass(frozen=True, eq=False)
class MotionRows:
    """States of a motion, at increasing times."""

    t: Floats
    quaternion: Floats
    """Scalar first, of any length."""
    momentum: Floats
    omega: Floats

    @classmethod
    def of(cls, body: Body, t: Floats, q: Floats, m: Floats) -> MotionRows:
        """States with their rates."""
        return cls(t, q, m, body.rate(m, t))

    def scaled(self) -> MotionRows:
        """Copy with unit quaternions of continuous sign."""
        q = self.quaternion
        return MotionRows(self.t, with_continuous_signs(q / lengths(q)[:, None]), self.momentum, self.omega)

    def __getitem__(self, chosen: NDArray[np.intp] | slice) -> MotionRows:
        return MotionRows(self.t[chosen], self.quaternion[chosen], self.momentum[chosen], self.omega[chosen])

    @cached_property
    def speed(self) -> Floats:
        """The size of the rate, in rad/s."""
        return _sizes(self.omega)

    @cached_property
    def turns(self) -> Floats:
        """The angle of each interval by the rates at its ends, in rad: it can be more than a turn."""
        return np.asarray(np.diff(self.t) * np.maximum(self.speed[1:], self.speed[:-1]))

    @cached_property
    def changes(self) -> Floats:
        """How far the rate changes in each interval, in rad/s."""
        return _sizes(np.diff(self.omega, axis=0))


def _sizes(x: Floats) -> Floats:
    """|x| along the last axis, in half the time of `lengths`; the last bit does not matter here."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)))


States = Callable[[Floats], tuple[Floats, Floats]]
"""The quaternions and momenta of the true motion at increasing times."""


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows for the page, and how good they are."""

    rows: MotionRows
    """With unit quaternions whose signs do not jump."""
    angle: float
    """The greatest angle between an arc and the motion, in rad, as it was measured or, without states, estimated."""
    is_part: bool
    """Whether they end before the motion does, which has too many turns for the page."""


def chosen(body: Body, rows: MotionRows, states: States | None) -> ShownRows:
    """At most `MOST_ROWS` rows from the beginning of a motion on, of which `states` knows any time."""
    total = float(rows.turns.sum())
    most = 0.8 * MOST_ROWS * MOST_TURN
    is_part = total > most
    if is_part:
        reached = np.concatenate([[0.0], np.cumsum(rows.turns)])
        last = int(np.searchsorted(reached, most))
        if states is not None and last < 2 and rows.t.size:  # rows many turns apart
            end = rows.t[0] + (rows.t[last] - rows.t[0]) * most / float(reached[last])
            rows = _with(body, rows[slice(0, 1)], np.array([end]), states)
        else:
            rows = rows[slice(0, max(last, 2))]
        total = min(float(rows.turns.sum()), most)
    turn = min(max(total / (0.8 * MOST_ROWS), LEAST_TURN), MOST_TURN)
    if rows.t.size > MOST_DENSE:
        rows = rows[_even(_need(rows, turn / DENSE, ARC_ERROR / DENSE**2), MOST_DENSE)]
    elif states is not None:
        rows = _densified(body, rows, states, turn)
    rows = rows.scaled()
    error = ARC_ERROR
    while (need := _need(rows, turn, error)).sum() > MOST_ROWS - 1 and error < 1.0:
        error *= 1.5
    kept = _even(need, MOST_ROWS)
    return ShownRows(rows[kept].scaled(), _arc_error(rows, kept), is_part)


def _need(rows: MotionRows, turn: float, error: float) -> Floats:
    """How many rows each interval needs."""
    h = np.diff(rows.t)
    change, greatest = rows.changes, float(rows.speed.max()) or 1.0
    by_arc = np.sqrt(h * change / (8.0 * error))
    by_rate = change / (RATE_CHANGE * greatest)
    even = h / (float(rows.t[-1] - rows.t[0]) or 1.0) * LEAST_INTERVALS
    return np.asarray(np.maximum(np.maximum(rows.turns / turn, by_arc), np.maximum(by_rate, even)))


def _even(need: Floats, most: int) -> NDArray[np.intp]:
    """The rows at about even distances of what is needed, at most this number, the first and the last too."""
    reached = np.concatenate([[0.0], np.cumsum(need)])
    if need.size < most and (need >= 1.0).all():
        return np.arange(reached.size)
    count = min(max(2, math.ceil(float(reached[-1])) + 1), most)
    at = np.searchsorted(reached, np.linspace(0.0, float(reached[-1]), count)[1:-1], side="right") - 1
    return np.unique(np.concatenate([[0], at, [need.size]]))


def _densified(body: Body, rows: MotionRows, states: States, turn: float) -> MotionRows:
    """The rows with others between them, where they are too far apart to choose from."""
    halved = np.zeros(max(rows.t.size - 1, 0), dtype=np.intp)
    for _ in range(MOST_BISECTIONS):
        wide = (_need(rows, turn / 2, ARC_ERROR) > 1.0) & (halved < MOST_BISECTIONS)
        middle = (rows.t[:-1] + rows.t[1:]) / 2
        wide &= (middle > rows.t[:-1]) & (middle < rows.t[1:])
        if not wide.any() or rows.t.size + int(wide.sum()) > MOST_DENSE:
            break
        halved = np.repeat(halved + wide, 1 + wide)
        rows = _with(body, rows, middle[wide], states)
    return rows


def _with(body: Body, rows: MotionRows, times: Floats, states: States) -> MotionRows:
    """The rows and those at other times between or behind them."""
    q, m = states(times)
    t = np.concatenate([rows.t, times])
    order = np.argsort(t, kind="stable")
    both_q, both_m = np.concatenate([rows.quaternion, q])[order], np.concatenate([rows.momentum, m])[order]
    return MotionRows.of(body, t[order], both_q, both_m)


def _arc_error(rows: MotionRows, kept: NDArray[np.intp]) -> float:
    """The greatest angle between the arcs through the kept rows and the rows that are left out.

    Where it is greater, it is the h^2/8 |dw/dt| of an interval: there need not be a row where the arc errs most.
    """
    if kept.size < 2:
        return 0.0
    out = np.delete(np.arange(rows.t.size), kept)
    worst = 0.0
    if out.size:
        arcs = slerp(rows.t[kept], with_continuous_signs(rows.quaternion[kept]), rows.t[out])
        worst = float(angles(arcs, rows.quaternion[out]).max())
    bound = np.diff(rows.t[kept]) * lengths(np.diff(rows.omega[kept], axis=0)) / 8.0
    return min(max(worst, float(bound.max())), math.pi)
