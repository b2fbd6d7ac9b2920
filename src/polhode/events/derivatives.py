"""How the time of an event, and the state there, change with what a run was given."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from polhode.events.find import Event
from polhode.kernels.algebra.quat import multiply
from polhode.solution import Solution
from polhode.support.arrays import Floats

EVENT_CHANGE = 1e-4
"""The change of a state, in radians, over which the function of an event is differenced."""


def of_events(found: Solution, events: Sequence[Event], differentiate: Callable[[Solution], Solution]) -> Solution:
    """A solution with events, and its Jacobian in all rows; `differentiate` makes it for the rows of a solution."""
    forward = found.problem.direction
    happened = [e.t for e in found.events]
    times = forward * np.unique(forward * np.concatenate([found.t, *happened]))
    end = found.problem.replace(t_end=found.t_last)  # a terminal event comes before the end that was asked for
    rows = differentiate(replace(found.having(problem=end).at(times), events=(), problem=end))
    made = rows.derivatives
    assert made is not None

    def of_rows(some: Solution, more: Floats | None = None, later: Floats | None = None) -> Solution:
        J = made.jacobian[np.searchsorted(forward * times, forward * some.t)]
        return some.having(derivatives=replace(made, jacobian=J if more is None else J + more, times=later))

    with_times = []
    for event, one in zip(events, found.events, strict=True):
        J = np.asarray(of_rows(one).jacobian)
        later, more = np.empty((one.t.size, J.shape[2])), np.empty(J.shape)
        for k in range(one.t.size):
            speed = _speed(one, k)
            slopes = _slopes(event, one, k, np.column_stack([J[k], speed]))
            moving = slopes[-1] + _slope_in_time(event, one, k)
            later[k] = -slopes[:-1] / moving
            more[k] = np.outer(speed, later[k])
        with_times.append(of_rows(one, more, later))
    return of_rows(found).having(events=tuple(with_times))


def _speed(rows: Solution, k: int) -> Floats:
    """The rate in space, and the change of the rate in body axes with time, in row k."""
    body, torque, t = rows.body, rows.torque, float(rows.t[k])
    q, w, m, z = (tuple(x[k].tolist()) for x in (rows.quaternion, rows.omega, rows.momentum, rows.state))
    n = torque.called(t, q, w, tuple(torque.parameters(body)), z)
    change = np.cross(m, w) + np.asarray(n, dtype=np.float64)
    h = EVENT_CHANGE / (float(np.linalg.norm(w)) or 1.0)
    dw = (body.rate(m + h * change, t + h) - body.rate(m - h * change, t - h)) / (2.0 * h)
    return np.concatenate([rows.spatial_omega[k], np.asarray(dw)])


def _event_at(event: Event, rows: Solution, k: int, turn: Floats, dw: Floats, later: float = 0.0) -> float:
    """The function of an event at a state beside that of row k."""
    q = multiply((1.0, *(0.5 * turn).tolist()), tuple(rows.quaternion[k].tolist()))
    unit = np.array(q) / np.linalg.norm(q)
    state = event.seen(unit, rows.omega[k] + dw, rows.state[k])
    return event.value(float(rows.t[k]) + later, *(tuple(x.tolist()) for x in state))


def _central(f: Callable[[float], float], h: float) -> float:
    """The slope of f at 0, by a difference of fourth order."""
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def _slopes(event: Event, rows: Solution, k: int, columns: Floats) -> Floats:
    """The slopes of the function of an event along changes of the state of row k."""
    rate = float(np.linalg.norm(rows.omega[k])) or 1.0

    def slope(d: Floats) -> float:
        size = max(float(np.abs(d[:3]).max()), float(np.abs(d[3:]).max()) / rate)
        return _central(lambda h: _event_at(event, rows, k, h * d[:3], h * d[3:]), EVENT_CHANGE / (size or 1.0))

    return np.array([slope(d) for d in columns.T])


def _slope_in_time(event: Event, rows: Solution, k: int) -> float:
    """The slope of the function of an event by the time alone."""
    h, still = EVENT_CHANGE / (float(np.linalg.norm(rows.omega[k])) or 1.0), np.zeros(3)
    return _central(lambda x: _event_at(event, rows, k, still, still, x), h)
