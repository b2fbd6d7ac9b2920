"""Times from which a motion can be interpolated within a tolerance: nodes, chosen by a bound and checked between them.

Along the shortest arc between two attitudes (slerp) the error is at most h^2/8 max|dw/dt| (1 + (|w| h)^2 / 30), where h
is the distance of the nodes. A reader that interpolates the components of quaternions instead goes along the same arc,
but at another pace, which is added. For Lagrange interpolation of degree 7 the error is measured: at the midpoints of
all intervals, and at three places in those near the ends, where it is largest, and near bends.

A torque that jumps bends the rate, and no polynomial follows a bend: near one the error falls with h^2 only. A segment
goes on over a bend as long as more nodes cost less than a new segment. The error is then measured at the bend itself,
and in the middle of what it divides; for arcs, dw/dt is taken on each side of it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polhode.files.epochs import PS, picoseconds
from polhode.support.arrays import Floats, lengths, with_continuous_signs

if TYPE_CHECKING:
    from polhode.solution import Solution

DEGREE = 7
"""The degree of Lagrange interpolation, where a segment has nodes enough."""
MEASURED_MARGIN = 1.25
"""Errors that are measured at some places are taken for this much more between them."""
LEAST_TOLERANCE = 1e-12
"""Below this the rounding of quaternions counts."""
MOST_NODES = 20_000_000
"""A file with more rows would have several gigabytes."""
NEAR_ENDS = 3
"""Intervals at each end in which Lagrange interpolation has no nodes on one side, and is checked more closely."""
REACH = (DEGREE + 1) // 2
"""The intervals on each side of a bend in which Lagrange interpolation feels it."""
SEGMENT_ROWS = 20
"""The rows that a new segment costs: its head, and the nodes that it needs for its degree."""
_TRIES = 30


@dataclass
class NodeSegment:
    """A stretch of the motion with its nodes."""

    picoseconds: list[int]
    """The times of the nodes, in picoseconds."""
    quaternion: Floats
    omega: Floats
    degree: int
    bound: float | None
    """The interpolation error is at most this, in rad; None: it could not be measured."""
    measured: float | None
    """The largest error that was found between the nodes, in rad."""


@dataclass
class _Division:
    """A segment that is being divided."""

    start: int
    end: int
    count: int
    inner: list[int]
    """The breakpoints between start and end, in picoseconds."""
    best: NodeSegment | None = None
    done: bool = False
    cuts: list[int] = field(default_factory=list)
    """Those breakpoints at which it is to be divided, because nodes enough to go over them would cost more."""


def choose(solution: Solution, tolerance: float, linear: bool, *, chords: bool = True) -> list[NodeSegment]:
    """Segments with the fewest nodes for a tolerance, in rad; `chords`: linear may mean quaternion components."""
    if not LEAST_TOLERANCE <= tolerance <= 1.0:
        raise ValueError(f"tolerance must be an angle between {LEAST_TOLERANCE:g} and 1 rad, not {tolerance:g}")
    fastest = max(float(lengths(solution.omega).max(initial=0.0)), float(np.linalg.norm(solution.problem.omega_start)))
    trials = _trials(solution, tolerance, fastest, linear)
    for _ in range(_TRIES):
        open_trials = [trial for trial in trials if not trial.done]
        if not open_trials:
            break
        rows = sum(trial.count for trial in trials)
        if rows > MOST_NODES:
            raise ValueError(f"the tolerance {tolerance:g} needs more than {rows:,} rows: allow a larger error")
        _try(solution, open_trials, tolerance, linear, chords)
        trials = [
            part for trial in trials for part in (_parts(trial, tolerance, fastest, linear) if trial.cuts else [trial])
        ]
    found = [trial.best for trial in trials if trial.best is not None]
    if len(found) < len(trials):
        raise ValueError(
            f"the tolerance {tolerance:g} cannot be reached by interpolation: the rounding of quaternions is larger"
        )
    return _with_continuous_signs(found)


def _trials(solution: Solution, tolerance: float, fastest: float, linear: bool) -> list[_Division]:
    low, high = sorted((solution.problem.t_start, solution.t_last))
    inner = [t for t in solution.problem.breakpoints if low < t < high]
    unit = 1000 if high - low > 1e-5 * (1 + len(inner)) else 1
    start = -(-picoseconds(low) // unit) * unit  # inwards, as there are no states outside of the run
    end = picoseconds(high) // unit * unit
    bends = sorted({(2 * picoseconds(t) + unit) // (2 * unit) * unit for t in inner})
    if start >= end:
        raise ValueError(
            f"the run from {low!r} to {high!r} s is too short for a file, which has times to the picosecond"
        )
    return _parts(_Division(start, end, 0, [t for t in bends if start < t < end]), tolerance, fastest, linear)


def _parts(trial: _Division, tolerance: float, fastest: float, linear: bool) -> list[_Division]:
    """The trial, divided where it is to be, with a first guess of the nodes of each part."""
    turn = 0.5 if linear else 2.0 * tolerance ** (1 / (DEGREE + 1))  # the angle from node to node
    parts = []
    for start, end in pairwise([trial.start, *trial.cuts, trial.end]):
        inner = trial.inner[bisect_right(trial.inner, start) : bisect_left(trial.inner, end)]
        count = 2 + math.ceil(fastest * (end - start) / PS / turn)
        if not linear and count < DEGREE + 1:
            count = 4 if trial.cuts and not inner else DEGREE + 1
        parts.append(_Division(start, end, count, inner))
    return parts


def _spread(start: int, end: int, count: int) -> list[int]:
    """Times at equal distances, each of them a short decimal number if the distance allows it."""
    unit = 1000 if (end - start) // (count - 1) >= 1_000_000 and start % 1000 == end % 1000 == 0 else 1
    whole = end - start
    if whole // (count - 1) < 1:
        raise ValueError("the nodes would be less than a picosecond apart: allow a larger error")
    return [start + (2 * k * whole + (count - 1) * unit) // (2 * (count - 1) * unit) * unit for k in range(count)]


def _try(solution: Solution, trials: list[_Division], tolerance: float, linear: bool, chords: bool) -> None:
    """Tries the nodes of all trials in one call of `at`, and says what to try next."""
    nodes = [_spread(trial.start, trial.end, trial.count) for trial in trials]
    times = [np.array(part) / PS for part in nodes]
    bends = [np.array(trial.inner) / PS for trial in trials]
    checks = [_between(t, x, linear) for t, x in zip(times, bends, strict=True)]
    sizes = [x.size for pair in zip(times, checks, strict=True) for x in pair]
    low, high = sorted((solution.problem.t_start, solution.t_last))
    asked = np.clip(np.concatenate([x for pair in zip(times, checks, strict=True) for x in pair]), low, high)
    answer = solution.at(asked)
    q, w = answer.quaternion / lengths(answer.quaternion)[:, None], answer.omega
    cuts = np.cumsum(sizes)[:-1]
    qs, ws = np.split(q, cuts), np.split(w, cuts)
    for k, trial in enumerate(trials):
        q_nodes = with_continuous_signs(qs[2 * k])
        degree = 1 if linear else min(DEGREE, trial.count - 1)
        found = errors(times[k], q_nodes, checks[k], qs[2 * k + 1], degree, linear)
        each = _by_interval(times[k], checks[k], found)
        measured = float(found.max(initial=0.0))
        if linear:
            each = np.maximum(each, arc_bounds(times[k], ws[2 * k], checks[k], ws[2 * k + 1]))
            if chords:
                fastest = float(lengths(np.concatenate([ws[2 * k], ws[2 * k + 1]])).max())
                each += _pace(fastest * float(np.diff(times[k]).max()))
        else:
            each *= MEASURED_MARGIN
        made = NodeSegment(nodes[k], q_nodes, ws[2 * k], degree, float(each.max()), measured)
        _judge(trial, made, each, times[k], bends[k], tolerance, linear)


def _by_interval(t: Floats, at: Floats, values: Floats) -> Floats:
    """The largest value in each interval between nodes; each of them has a place at least."""
    return np.asarray(np.maximum.reduceat(values, np.searchsorted(at, t[:-1])))


def _judge(
    trial: _Division, made: NodeSegment, each: Floats, t: Floats, bends: Floats, tolerance: float, linear: bool
) -> None:  # fmt: skip
    """Keeps what is good enough, and says how many nodes to try next, or where to divide the trial."""
    assert made.bound is not None
    intervals = trial.count - 1
    reach = 0 if linear else REACH
    holder = np.searchsorted(t, bends, side="right") - 1
    bent = np.zeros(intervals + 1)
    np.add.at(bent, np.maximum(holder - reach, 0), 1)
    np.add.at(bent, np.minimum(holder + reach + 1, intervals), -1)
    order = np.where(np.cumsum(bent[:-1]) > 0, 2, 2 if linear else made.degree + 1)
    wanted = max(1, math.ceil(intervals * float(((each / (0.8 * tolerance)) ** (1 / order)).max())))
    if made.bound <= tolerance:
        better = trial.best is None or trial.count < len(trial.best.picoseconds)
        first = trial.best is None
        if better:
            trial.best = made
        least = 1 if linear else made.degree
        if first and max(wanted, least) < 0.85 * intervals:  # far better than asked for: fewer nodes, once
            trial.count = 1 + max(wanted, least)
        else:
            trial.done = True
    elif trial.best is not None:
        trial.done = True
    elif not linear and trial.count < DEGREE + 1:
        trial.count += 2
    elif (cuts := _cuts(trial, each > tolerance, holder, reach)) and wanted - intervals > SEGMENT_ROWS * len(cuts):
        trial.cuts = cuts
    else:
        trial.count = 1 + max(min(wanted, 4 * intervals), intervals + 1 + intervals // 20)


def _cuts(trial: _Division, fails: NDArray[np.bool_], holder: NDArray[np.int64], reach: int) -> list[int]:
    """The breakpoints that are felt in intervals where the error is too large."""
    before = np.concatenate([[0], np.cumsum(fails)])
    low, high = np.maximum(holder - reach, 0), np.minimum(holder + reach + 1, fails.size)
    return [trial.inner[k] for k in np.flatnonzero(before[high] > before[low])]


def _between(t: Floats, bends: Floats, linear: bool) -> Floats:
    """The places where an interpolation is checked: between nodes, and between nodes and bends."""
    whole = np.union1d(t, bends)
    middle = (whole[:-1] + whole[1:]) / 2
    if bends.size:
        middle = np.sort(np.concatenate([middle, np.setdiff1d(bends, t)]))
    if linear or t.size < 3:
        return np.asarray(middle)
    near = np.r_[0 : min(NEAR_ENDS, t.size - 1), max(0, t.size - 1 - NEAR_ENDS) : t.size - 1]
    holder = np.searchsorted(t, bends, side="right") - 1
    around = (holder[:, None] + np.arange(-REACH, REACH + 1)).reshape(-1)
    near = np.unique(np.concatenate([near, np.clip(around, 0, t.size - 2)]))
    step = np.diff(t)[near]
    return np.unique(np.concatenate([middle, t[near] + 0.25 * step, t[near] + 0.75 * step]))


def errors(t: Floats, q: Floats, at: Floats, truth: Floats, degree: int, linear: bool) -> Floats:
    """The angles between interpolated and true attitudes, in rad."""
    out = np.empty(at.size)
    for k in range(0, at.size, 1 << 15):
        here = slice(k, k + (1 << 15))
        found = slerp(t, q, at[here]) if linear else lagrange(t, q, at[here], degree)
        true = truth[here]
        chord = np.minimum(lengths(found - true), lengths(found + true))
        out[here] = 4.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))
    return out


def lagrange(t: Floats, q: Floats, at: Floats, degree: int) -> Floats:
    """Unit quaternions, interpolated by polynomials through the nearest degree + 1 nodes."""
    interval = np.clip(np.searchsorted(t, at, side="right") - 1, 0, t.size - 2)
    first = np.clip(interval - degree // 2, 0, t.size - 1 - degree)
    window = first[:, None] + np.arange(degree + 1)
    x = t[window]
    away = at[:, None] - x
    total = np.zeros((at.size, 4))
    for j in range(degree + 1):
        others = [i for i in range(degree + 1) if i != j]
        weight = np.prod(away[:, others] / (x[:, j : j + 1] - x[:, others]), axis=1)
        total += weight[:, None] * q[window[:, j]]
    return np.asarray(total / lengths(total)[:, None])


def slerp(t: Floats, q: Floats, at: Floats) -> Floats:
    """Unit quaternions along the arcs between nodes."""
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, t.size - 2)
    u = ((at - t[k]) / (t[k + 1] - t[k]))[:, None]
    a, b = q[k], q[k + 1]
    half = 2.0 * np.arcsin(np.minimum(lengths(a - b) / 2.0, 1.0))[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        arc = (np.sin((1 - u) * half) * a + np.sin(u * half) * b) / np.sin(half)
    found = np.where(half > 1e-9, arc, (1 - u) * a + u * b)
    return np.asarray(found / lengths(found)[:, None])


def arc_bounds(t: Floats, w: Floats, at: Floats, w_between: Floats) -> Floats:
    """The bound of the error along arcs, h^2/8 max|dw/dt| (1 + (|w| h)^2 / 30), of each interval.

    Between nodes there are rates at bends, if there are any, and in the middle of what nodes and bends divide. dw/dt is
    its mean in both halves of that, and the change between them.
    """
    order = np.argsort(np.concatenate([t, at]), kind="stable")
    times, rates = np.concatenate([t, at])[order], np.concatenate([w, w_between])[order]
    ends, begin, middle = times[::2], rates[:-1:2], rates[1::2]
    part = np.diff(ends)[:, None]
    first, second = 2.0 * (middle - begin) / part, 2.0 * (rates[2::2] - middle) / part
    steepest = np.maximum(lengths(first), lengths(second)) + 0.75 * lengths(second - first)
    fastest = np.maximum(np.maximum(lengths(begin), lengths(rates[2::2])), lengths(middle))
    owner = np.searchsorted(ends, t[:-1])
    steepest, fastest = np.maximum.reduceat(steepest, owner), np.maximum.reduceat(fastest, owner)
    h = np.diff(t)
    return np.asarray(h**2 / 8 * steepest * (1.0 + (fastest * h) ** 2 / 30))


def _pace(angle: float) -> float:
    """How far apart arc and scaled chord can be between attitudes at an angle, in rad."""
    half = min(angle / 2, math.pi / 2)
    u = np.linspace(0.0, 1.0, 129)
    along = np.arctan2(u * math.sin(half), 1 - u + u * math.cos(half))
    return 2.01 * float(np.abs(along - u * half).max())


def _with_continuous_signs(segments: list[NodeSegment]) -> list[NodeSegment]:
    for before, after in pairwise(segments):
        if float(before.quaternion[-1] @ after.quaternion[0]) < 0.0:
            after.quaternion = -after.quaternion
    return segments


def rows(solution: Solution, linear: bool) -> list[NodeSegment]:
    """Segments whose nodes are the rows of the solution; their error is measured if `Solution.at` works."""
    order = np.argsort(solution.t, kind="stable")
    t, q, w = solution.t[order], solution.quaternion[order], solution.omega[order]
    if t.size == 0:
        raise ValueError("the solution has no rows: give a tolerance, by which rows are chosen")
    if (np.diff(t) <= 0).any():
        raise ValueError(f"the time {t[int(np.argmin(np.diff(t) > 0))]!r} stands there twice: ask for each time once")
    q = with_continuous_signs(q / lengths(q)[:, None])
    bends = np.array([x for x in solution.problem.breakpoints if t[0] < x < t[-1]])
    whole = _rows_between(solution, t, q, w, [], bends, linear)
    if not bends.size or whole[0].bound is None:
        return whole
    cuts = sorted({int(np.searchsorted(t, x)) for x in bends})
    divided = _rows_between(solution, t, q, w, cuts, bends, linear)
    return min(whole, divided, key=lambda made: max(segment.bound or math.inf for segment in made))


def _rows_between(
    solution: Solution, t: Floats, q: Floats, w: Floats, cuts: list[int], bends: Floats, linear: bool
) -> list[NodeSegment]:  # fmt: skip
    segments = list[NodeSegment]()
    first = 0
    known = set(bends.tolist())
    for cut in [*cuts, t.size - 1]:
        last = cut if cut == t.size - 1 or t[cut] in known else cut - 1
        if last > first or t.size == 1:
            here = slice(first, last + 1)
            degree = max(1, min(1 if linear else DEGREE, last - first))
            inside = bends[(t[first] < bends) & (bends < t[last])]
            bound, measured = _measured(solution, t[here], q[here], inside, degree, linear)
            segments.append(NodeSegment([picoseconds(x) for x in t[here]], q[here], w[here], degree, bound, measured))
        first = cut
    return segments


def _measured(
    solution: Solution, t: Floats, q: Floats, bends: Floats, degree: int, linear: bool
) -> tuple[float | None, float | None]:  # fmt: skip
    if t.size < 2:
        return None, None
    checks = _between(t, bends, linear)
    try:
        answer = solution.at(checks)
    except ValueError:  # the file of a solution keeps no function, or the torque was changed
        return None, None
    truth = answer.quaternion / lengths(answer.quaternion)[:, None]
    measured = float(errors(t, q, checks, truth, degree, linear).max())
    bound = MEASURED_MARGIN * measured
    if linear:
        low, high = sorted((solution.problem.t_start, solution.t_last))
        w = solution.at(np.clip(t, low, high)).omega
        arc = float(arc_bounds(t, w, checks, answer.omega).max())
        bound = max(measured, arc) + _pace(float(lengths(w).max() * np.diff(t).max()))
    return bound, measured
