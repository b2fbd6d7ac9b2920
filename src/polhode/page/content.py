"""The data of a page: runs with their rows, curves, events and captions, and the differences between runs.

`viewer/src/data.ts` has the same in types. Arrays are base64 of little-endian numbers; all texts are texts, never
markup.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polhode.attitudes import pointing_angle
from polhode.body import Body
from polhode.files.nodes import slerp
from polhode.files.records import describe_torque
from polhode.kernels.types import Depends
from polhode.page.motion_rows import MOST_ROWS, MotionRows, ShownRows, chosen
from polhode.support import checks
from polhode.support.arrays import Floats, angles, to_space
from polhode.support.interrupts import attempted, is_from_handler
from polhode.support.thinning import FLOOR, thinned
from polhode.text.terminal import one_line, shortened

if TYPE_CHECKING:
    from polhode.files.meshes import Mesh
    from polhode.free.free_motion import FreeMotion
    from polhode.solution import Solution
    from polhode.systems.solution import SystemSolution

VERSION = 1
"""The version of the data, which the page checks."""
MOST_RUNS = 12
"""Most runs on one page: there are so many distinct colours and dashes."""
MOST_POINTS = 20
"""The points of the body whose trails are drawn, at most."""
CURVE_BUCKETS = 330
"""Stretches of a curve, each with its least and its greatest value and its ends: together they have as many points as
a screen has columns, and two runs fit into a page of 1.2 MB."""
PERIODS, MOST_PERIODS_TURNS = 3.0, 60.0
"""A free motion is shown for this number of periods, if the body makes no more turns in them than the second number."""
LONGEST_CAPTION = 160
"""The characters of a line of the caption."""
AXIS_BEYOND = 0.42
"""How far the arrows of body axes go beyond the box, in units of its largest half edge (`viewer/src/panels.ts`)."""
UNITS = {"time": "s", "rate": "rad/s", "momentum": "kg m²/s", "torque": "N m", "moments": "kg m²"}

Curve = dict[str, Any]
Span = tuple[float, float] | None


def encoded(values: Any, kind: str = "<f4") -> str:
    """Numbers as base64 of little-endian binary."""
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def curve(key: str, title: str, unit: str, t: Floats, values: dict[str, Floats], *, log: bool = False) -> Curve:
    """A panel of curves over time; of long ones the points that show all extremes."""
    parts = [thinned(y, CURVE_BUCKETS // len(values)) for y in values.values()]
    shown = np.unique(np.concatenate(parts))
    return {
        "key": key,
        "title": title,
        "unit": unit,
        "log": log,
        "labels": list(values),
        "t": encoded(t[shown], "<f8"),
        "values": [encoded(np.maximum(y[shown], FLOOR) if log else y[shown]) for y in values.values()],
    }


def error_curve(key: str, t: Floats, values: dict[str, Floats]) -> Curve:
    """The curve of how far something has changed that should be conserved."""
    what = {"energy_error": "energy", "momentum_error": "angular momentum"}[key]
    return curve(key, f"relative error of the {what}", "", t, values, log=True)


class Run(ABC):
    """A motion as a page takes it."""

    body: Body
    name: str
    span: tuple[float, float]
    """The times that are shown, the earlier first."""
    chosen: ShownRows

    @abstractmethod
    def states(self, t: Floats) -> tuple[Floats, Floats]:
        """Quaternions and momenta at increasing times within the span."""

    @abstractmethod
    def caption(self) -> list[str]:
        """The computation, in lines of text."""

    @property
    def rows(self) -> MotionRows:
        """The rows that the page gets."""
        return self.chosen.rows

    @property
    def shown_span(self) -> tuple[float, float]:
        """The first and the last time that the page shows."""
        return float(self.rows.t[0]), float(self.rows.t[-1])

    @property
    def space_axis(self) -> Floats | None:
        """The direction in space that is shown upright; None: that of the angular momentum."""
        return None

    @property
    def is_free(self) -> bool:
        """Whether neither a torque nor a rotor acts, so that Poinsot's construction holds."""
        return not self.body.has_rotor

    def torques(self) -> Floats | None:
        """The torque in each row, in body axes; None: there is none, or it cannot be had."""
        return None

    def further_curves(self) -> list[Curve]:
        """Curves besides those that follow from the rows."""
        return []

    def events(self) -> list[dict[str, Any]]:
        """Names and times of events."""
        return []

    # --- what the page gets

    @cached_property
    def first_momentum(self) -> Floats:
        """The angular momentum in space axes in the first row."""
        first: Floats = to_space(self.rows.quaternion[:1], self.rows.momentum[:1])[0]
        return first

    @property
    def main_axis(self) -> int:
        """The principal axis nearest to the angular momentum in the first row: the last of equal ones."""
        along = np.abs(self.rows.momentum[0] @ self.body.axes)
        return 2 - int(along[::-1].argmax())

    def data(self, upright: Floats, points: Floats | None, mesh: Mesh | None, pointing: Any) -> dict[str, Any]:
        """The run for the page."""
        rows, body = self.rows, self.body
        torque = self.torques()
        if points is None:
            points = self._tip()[None, :]
        return {
            "name": one_line(self.name),
            "caption": [one_line(line) for line in (*self.caption(), *self._about_rows())],
            "moments": body.moments.tolist(),
            "principal": body.axes_quaternion.tolist(),
            "rotor": body.rotor.tolist() if body.has_rotor else None,
            "free": self.is_free,
            "upright": upright.tolist(),
            "units": UNITS,
            "t": encoded(rows.t, "<f8"),
            "q": encoded(rows.quaternion),
            "omega": encoded(rows.omega),
            "torque": None if torque is None else encoded(torque),
            "points": points.tolist(),
            "mesh": None if mesh is None else mesh.data(),
            "curves": [self._rates(), *self.further_curves(), self._pointing(pointing)],
            "events": self.events(),
        }

    def _tip(self) -> Floats:
        """The end of the arrow along the main axis, in units of the largest half edge of the box."""
        edges = np.sqrt(np.maximum(self.body.moments.sum() - 2.0 * self.body.moments, 0.0))
        out = float(edges[self.main_axis] / edges.max()) + AXIS_BEYOND
        return np.asarray(out * self.body.axes.T[self.main_axis])

    def _about_rows(self) -> list[str]:
        first, last = self.shown_span
        lines = [f"between rows the picture is within {_degrees(self.chosen.angle)} of the motion"]
        if self.chosen.is_part:
            lines.append(
                f"shown is the part from {first:g} to {last:g} s of {self.span[0]:g} to {self.span[1]:g} s: the whole "
                "has too many turns for one page; t_span (--span) chooses another part"
            )
        return lines

    def _rates(self) -> Curve:
        """The curve of the rates, which the page has already."""
        about = {"title": "angular rate in body axes", "unit": "rad/s", "log": False, "labels": list("xyz")}
        return {"key": "omega", **about, "t": None, "values": None}

    def _pointing(self, pointing: Any) -> Curve:
        if pointing is not None:
            axis, direction = pointing
            title = f"angle between body axis {_named(axis)} and {_named(direction)} in space"
        else:
            axis = self.body.axes.T[self.main_axis]
            name = "xyz"[self.main_axis] if self.body.aligned else f"principal axis {self.main_axis + 1}"
            up = self.space_axis
            size = float(np.sqrt(self.first_momentum @ self.first_momentum))
            direction = up if up is not None else self.first_momentum if size > 0.0 else np.array([0.0, 0.0, 1.0])
            whom = "the angular momentum at the start" if size > 0.0 else "axis Z of space"
            whom = "the vertical" if up is not None else whom
            title = f"angle between {'body axis ' if self.body.aligned else ''}{name} and {whom}"
        angle = pointing_angle(self.rows.quaternion, axis, direction, degrees=True)
        return curve("pointing", title, "°", self.rows.t, {"angle": angle})


def _named(axis: Any) -> str:
    return axis if isinstance(axis, str) else f"({', '.join(f'{float(x):g}' for x in axis)})"


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.1g}°"


def _in_span(t_span: Span, first: float, last: float, name: str) -> tuple[float, float]:
    """The times to be shown, the earlier first."""
    if t_span is None:
        return (first, last) if first <= last else (last, first)
    (a, b), (low, high) = _any_span(t_span), sorted((first, last))
    if a < low or b > high:
        raise ValueError(f"t_span ({a:g}, {b:g}) is not within the run {name!r}, which goes from {low:g} to {high:g} s")
    return a, b


def _moments(body: Body) -> str:
    rotor = f", rotor ({', '.join(f'{x:.4g}' for x in body.rotor)}) kg m²/s" if body.has_rotor else ""
    return f"{body.name or 'body'}: moments {', '.join(f'{x:.6g}' for x in body.moments)} kg m²{rotor}"


class FreeRun(Run):
    """The exact motion of a free body."""

    def __init__(self, motion: FreeMotion, t_span: Span = None, name: str | None = None) -> None:
        if motion._shape:
            raise ValueError(f"a page shows single motions, and these are {len(motion)}: take one with motion[i]")
        self.motion, self.body, self.name = motion, motion._bodies[0], name or "exact"
        self.span = self._default() if t_span is None else _any_span(t_span)
        spin = float(motion._column("spin").max())
        first, last = self.span
        count = math.ceil(min(max(spin * (last - first) / 0.4, 200.0), 20_000.0))
        t = np.linspace(first, last, count)
        self.chosen = chosen(self.body, MotionRows.of(self.body, t, *self.states(t)), self.states)

    def _default(self) -> tuple[float, float]:
        """A span of a few periods, or of some turns."""
        motion, spin = self.motion, float(self.motion._column("spin").max())
        turn = 2.0 * math.pi / spin if spin > 0.0 else 1.0
        span = PERIODS * motion.period
        flip = float(motion.flip_times(1)[0]) - motion.t0
        if not math.isfinite(span) or span > MOST_PERIODS_TURNS * turn:
            span = max(20.0 * turn, min(2.0 * flip, MOST_PERIODS_TURNS * turn) if math.isfinite(flip) else 0.0)
        return motion.t0, motion.t0 + max(span, 5.0 * turn)

    def states(self, t: Floats) -> tuple[Floats, Floats]:
        """Quaternions and momenta in closed form."""
        state = self.motion.at_checked(np.ascontiguousarray(t))
        return state.quaternion, state.momentum

    def further_curves(self) -> list[Curve]:
        """How far energy and angular momentum of the closed form are from constant: by round-off."""
        t = self.rows.t
        q, m = self.states(t)
        kinetic = np.einsum("ij,ij->i", self.body.rate(m), self.body.own_momentum(m)) / 2.0
        momenta = to_space(q, m)
        size = float(np.sqrt(momenta[0] @ momenta[0]))
        apart = np.sqrt(np.einsum("ij,ij->i", momenta - momenta[0], momenta - momenta[0]))
        return [
            error_curve("energy_error", t, {"energy": _relative(kinetic - kinetic[0], float(kinetic[0]))}),
            error_curve("momentum_error", t, {"spatial momentum": _relative(apart, size)}),
        ]

    def caption(self) -> list[str]:
        """The body, how it moves, and that this is exact."""
        motion = self.motion
        period = f", period {motion.period:.6g} s" if math.isfinite(motion.period) else ""
        return [
            _moments(self.body),
            f"no torque; {motion.mode} motion{period}",
            "exact, in closed form; the error is a few units in the last digit",
        ]


def _relative(change: Floats, size: float) -> Floats:
    return np.abs(change) / (size or 1.0)


def _any_span(t_span: Any) -> tuple[float, float]:
    a, b = sorted(checks.numbers("t_span", t_span, 2))
    if a == b:
        raise ValueError(f"t_span must have a length, but begins and ends at {a:g} s")
    return a, b


class SolutionRun(Run):
    """A solution: its rows, and the true motion between them."""

    def __init__(self, solution: Solution, t_span: Span = None, name: str | None = None) -> None:
        self.solution, self.body = solution, solution.body
        self.name = name or method_name(solution)
        problem = solution.problem
        self.why_not = ""
        """Why states between rows cannot be had; empty: they can, or were not asked for."""
        rows = self._given()
        ends = (problem.t_start, solution.t_last)
        self.span = _in_span(t_span, *ends, self.name)
        first, last = self.span
        within = (rows.t >= first) & (rows.t <= last)
        rows = rows if within.all() else rows[np.flatnonzero(within)]
        self._refuse_nan(rows)
        rows = self._with_ends(rows)
        if rows.t.size < 2:
            count = "no row" if rows.t.size == 0 else f"one row, at t = {rows.t[0]:g} s"
            why = f", and states between rows cannot be had: {self.why_not}" if self.why_not else ""
            raise ValueError(f"the run {self.name!r} has {count}{why}: a page needs two rows or more to show a motion")
        known = rows.t.size > 2 * MOST_ROWS or not self._reaches(rows)
        self.chosen = chosen(self.body, rows, None if known else self.states)

    def _given(self) -> MotionRows:
        """The rows of the solution and its two ends, at increasing times."""
        s, problem = self.solution, self.solution.problem
        t, q, m = s.t, s.quaternion, s.momentum
        rising = np.diff(t)
        if problem.direction < 0 and (rising < 0).all():
            t, q, m = t[::-1], q[::-1], m[::-1]
        elif not (rising > 0).all():
            t, order = np.unique(t, return_index=True)
            q, m = q[order], m[order]
        ends = (
            (problem.t_start, problem.quaternion_start, problem.momentum_start),
            (s.t_last, s.last_quaternion, s.last_momentum),
        )
        for at, a, b in ends:
            if t.size == 0 or at < t[0]:
                t, q, m = np.concatenate([[at], t]), np.vstack([a, q]), np.vstack([b, m])
            elif at > t[-1]:
                t, q, m = np.concatenate([t, [at]]), np.vstack([q, a]), np.vstack([m, b])
        return MotionRows(t, q, m, m)

    def _refuse_nan(self, rows: MotionRows) -> None:
        sizes = np.einsum("ij,ij->i", rows.quaternion, rows.quaternion)
        if math.isfinite(float(rows.momentum.sum())) and bool(((sizes > 0.0) & (sizes < math.inf)).all()):
            return
        bad = ~(np.isfinite(rows.momentum).all(axis=1) & (sizes > 0.0) & (sizes < math.inf))
        if bad.any():
            t = float(rows.t[int(np.argmax(bad))])
            raise ValueError(
                f"the run {self.name!r} holds a state at t = {t:g} s that is none: a number in it is NaN or infinite, "
                "or its quaternion is zero. Show the part before it, by t_span"
            )

    def _with_ends(self, rows: MotionRows) -> MotionRows:
        """The rows with states at the ends of the span, and with their rates."""
        missing = [x for x in self.span if not (rows.t.size and x in (rows.t[0], rows.t[-1]))]
        t, q, m = rows.t, rows.quaternion, rows.momentum
        if missing and (made := self._reached(np.array(missing))) is not None:
            t = np.concatenate([t, missing])
            order = np.argsort(t, kind="stable")
            t, q, m = t[order], np.vstack([q, made[0]])[order], np.vstack([m, made[1]])[order]
        if t.size == 0:
            return rows
        return MotionRows.of(self.body, t, q, m)

    def _reaches(self, rows: MotionRows) -> bool:
        """Whether states between rows can be had."""
        k = int(np.argmax(np.diff(rows.t)))
        return self._reached(rows.t[k : k + 1] / 2 + rows.t[k + 1 : k + 2] / 2) is not None

    def _reached(self, t: Floats) -> tuple[Floats, Floats] | None:
        try:
            return self.states(t)
        except Exception as problem:  # a file keeps no function, a function may raise anything: the rows are shown
            if is_from_handler(problem):
                raise
            self.why_not = str(problem)
            return None

    def states(self, t: Floats) -> tuple[Floats, Floats]:
        """Quaternions and momenta at increasing times, by steps from the rows before them."""
        made = self.solution.at(t)
        return made.quaternion, made.momentum

    @property
    def is_free(self) -> bool:
        """Whether neither a torque nor a rotor acts."""
        s = self.solution
        return s.torque.depends is Depends.NOTHING and not s.torque_changed and super().is_free

    @property
    def space_axis(self) -> Floats | None:
        """Against the torque's axis, for weights; none without a torque."""
        axis = self.solution.torque.axis
        if axis is None or self.solution.torque.depends is Depends.NOTHING:
            return None
        return -np.array(axis)

    @cached_property
    def _in_rows(self) -> Solution | None:
        """The solution with the rows that the page gets; None: it cannot be had."""
        s, t = self.solution, self.rows.t
        order = np.argsort(s.t, kind="stable") if (np.diff(s.t) <= 0).any() else None
        place = np.minimum(np.searchsorted(s.t, t, sorter=order), max(s.t.size - 1, 0))
        if order is not None:
            place = order[place]
        known = s.t.size and (s.t[place] == t).all()
        return attempted(lambda: _with_rows(s, place) if known else s.at(t), None)

    def torques(self) -> Floats | None:
        """The torque in each row; None: the body is free, or the file keeps no function."""
        if self.is_free or self._in_rows is None or self.solution.torque.depends is Depends.NOTHING:
            return None
        found = attempted(self._in_rows.torque_of, None)
        return found if found is not None and np.isfinite(found).all() else None

    def further_curves(self) -> list[Curve]:
        """Errors of what should be conserved, and carried numbers."""
        first, last = self.shown_span
        s = self.solution
        inside = np.flatnonzero((s.t >= first) & (s.t <= last))
        seen = self._in_rows if self._in_rows is not None and inside.size < self.rows.t.size else None
        if seen is None:
            if inside.size == s.t.size and not (np.diff(s.t) <= 0).any():
                seen = s
            else:
                seen = _with_rows(s, inside[np.argsort(s.t[inside], kind="stable")])
        if seen.t.size == 0:
            return []
        return [*self._errors(seen), *self._carried(seen)]

    def _errors(self, seen: Solution) -> list[Curve]:
        errors: dict[str, Floats] = attempted(lambda: seen.invariant_errors, {})  # the potential is the user's code
        found = []
        for key, names in (
            ("energy_error", ("energy", "energy in turning axes")),
            ("momentum_error", ("spatial momentum", "axial momentum")),
        ):
            shown = {name: errors[name] for name in names if name in errors and not np.isnan(errors[name]).all()}
            if shown:
                found.append(error_curve(key, seen.t, shown))
        return found

    def _carried(self, seen: Solution) -> list[Curve]:
        carried = dict(zip(seen.state_names[:8], seen.state.T, strict=False))
        return [curve("state", "numbers that the torque carries", "", seen.t, carried)] if carried else []

    def events(self) -> list[dict[str, Any]]:
        """The events in the part that is shown."""
        first, last = self.shown_span
        return [
            {
                "name": one_line(str(e.metadata.get("event", f"event {k}"))),
                "t": np.sort(e.t[(e.t >= first) & (e.t <= last)]).tolist(),
            }
            for k, e in enumerate(self.solution.events)
        ]

    def caption(self) -> list[str]:
        """Scenario, body, torque, method, step and the stated error."""
        s = self.solution
        title = s.metadata.get("title") or s.metadata.get("scenario")
        lines = [str(title)] if title else []
        free = s.torque.depends is Depends.NOTHING
        torque = "no torque" if free else f"torque: {describe_torque(s.torque)}"
        lines += [_moments(self.body), shortened(torque, LONGEST_CAPTION)]
        steps = "in one step" if s.stats.steps == 1 else f"{s.steps_in_words}, {s.stats.steps:,} steps"
        rows = "1 row" if s.t.size == 1 else f"{s.t.size:,} rows"
        lines.append(f"method {s.method}, {steps}, {rows}")
        if s.error_estimate is not None:
            asked = f", asked for {s.rtol:.1e}" if s.rtol is not None else ""
            lines.append(f"stated error: at most {s.error_estimate:.1e} rad{asked}")
        else:
            lines.append("no stated error: the step was given")
        if not s.success:
            lines.append(f"the run did not end well: {s.message}")
        return lines

    def _about_rows(self) -> list[str]:
        lines = super()._about_rows()
        if self.why_not:
            lines.append(shortened(f"states between rows cannot be had: {self.why_not}", LONGEST_CAPTION))
        return lines


def method_name(solution: Solution) -> str:
    """The name of the method without its options, which the caption has."""
    return solution.method.split("(", 1)[0]


class BodyRun(Run):
    """One body of a system: its rows, joined by arcs."""

    is_free = False

    def __init__(self, solution: SystemSolution, number: int, t_span: Span = None) -> None:
        self.solution, self.body = solution, solution.system.bodies[number]
        self.name = f"{self.body.name or 'body'} {number}"
        if solution.t.size < 2:
            raise ValueError(f"the solution has {solution.t.size} rows: two or more are needed to show a motion")
        order = np.argsort(solution.t)
        t = solution.t[order]
        self.span = _in_span(t_span, t[0], t[-1], self.name)
        inside = order[(t >= self.span[0]) & (t <= self.span[1])]
        q, m = solution.quaternion[inside, number], solution.momentum[inside, number]
        self.all_rows = MotionRows.of(self.body, solution.t[inside], q, m).scaled()
        self.places = solution.position[inside, number]
        self.chosen = chosen(self.body, self.all_rows, None)

    def states(self, t: Floats) -> tuple[Floats, Floats]:
        """Quaternions on arcs, and momenta on lines, between rows."""
        rows = self.all_rows
        return slerp(rows.t, rows.quaternion, t), self._between(rows.momentum, t)

    def place(self, t: Floats) -> Floats:
        """The centre of mass, on lines between rows."""
        return self._between(self.places, t)

    def _between(self, values: Floats, t: Floats) -> Floats:
        return np.stack([np.interp(t, self.all_rows.t, x) for x in values.T], axis=1)

    def caption(self) -> list[str]:
        """The body, what acts on it, and how it was computed."""
        s = self.solution
        return [
            _moments(self.body),
            f"one of {len(s.system)} bodies; {s.forces.name}",
            f"{s.method}, step {s.step:g} s",
        ]


def _with_rows(s: Solution, place: NDArray[np.intp]) -> Solution:
    """A solution with some of its rows."""
    kept = None if s.saved_potential is None else s.saved_potential[np.concatenate([[0], 1 + place])]
    state = s.state[place] if s.state_names else np.empty((place.size, 0))
    return dataclasses.replace(
        s, t=s.t[place], quaternion=s.quaternion[place], momentum=s.momentum[place], state=state, saved_potential=kept
    )


# --- the whole page ------------------------------------------------------------------------------------------------


def page_data(
    runs: Sequence[Run], *, title: str | None = None, points: Any = None, mesh: Mesh | None = None, pointing: Any = None
) -> dict[str, Any]:
    """The data of a page with these runs, whose names become different from each other."""
    if not runs:
        raise ValueError("a page needs a run to show: give a solution or a free motion")
    if len(runs) > MOST_RUNS:
        raise ValueError(too_many(len(runs)))
    at = None if points is None else _points(points)
    if pointing is not None:
        _check_pointing(pointing)
    first = runs[0]
    uprights = [upright(first if run.body == first.body else run) for run in runs]  # one space for one body
    shown = [run.data(upright, at, mesh, pointing) for run, upright in zip(runs, uprights, strict=True)]
    for one, name in zip(shown, distinct([str(one["name"]) for one in shown]), strict=True):
        one["name"] = name
    return {
        "version": VERSION,
        "title": one_line(title if title is not None else _title(runs, shown)),
        "runs": shown,
        "differences": [d for k in range(1, len(runs)) if (d := _difference(runs[0], runs[k], k)) is not None],
    }


def playground_data(title: str = "Free rotation of rigid bodies") -> dict[str, Any]:
    """The data of the page that holds the exact free motion itself."""
    return {"version": VERSION, "title": title, "playground": True, "runs": [], "differences": []}


def too_many(count: int) -> str:
    """Error message for too many runs."""
    return f"a page shows at most {MOST_RUNS} runs, which can still be distinguished, not {count}: choose some"


def _points(points: Any) -> Floats:
    shape = checks.shape_of("points", points)
    given = checks.array(
        "points", [points] if len(shape) == 1 else points, (shape[0], 3) if len(shape) == 2 else (1, 3)
    )
    if not 0 < len(given) <= MOST_POINTS:
        raise ValueError(f"points must be 1 to {MOST_POINTS} points of the body, not {len(given)}")
    return given


def _check_pointing(pointing: Any) -> None:
    if isinstance(pointing, str) or not hasattr(pointing, "__len__") or len(pointing) != 2:
        raise ValueError(
            f'pointing must be a body axis and a direction in space, such as ("z", [0, 0, 1]), not {pointing!r}'
        )
    pointing_angle(np.array([[1.0, 0.0, 0.0, 0.0]]), *pointing)


def upright(run: Run) -> Floats:
    """The turn of space that puts the angular momentum, or the vertical of a torque, upright."""
    axis = run.space_axis
    v = run.first_momentum if axis is None else axis
    size = float(np.sqrt(v @ v))
    if not size > 0.0:
        return np.array([1.0, 0.0, 0.0, 0.0])
    x, y, z = (v / size).tolist()
    if z < -1.0 + 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([1.0 + z, y, -x, 0.0])  # half way from v to z: 1 + v.z, v x z
    return np.asarray(q / np.sqrt(q @ q))


def distinct(names: list[str]) -> list[str]:
    """Names of which none comes twice."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if names.count(name) == 1 else f"{name} ({seen[name]})")
    return out


def _title(runs: Sequence[Run], shown: Sequence[dict[str, Any]]) -> str:
    body = runs[0].body.name
    if len(shown) == 1:
        return body or "Rotation of a rigid body"
    names = " and ".join(str(one["name"]) for one in shown) if len(shown) < 4 else f"{len(shown)} runs"
    return f"{body}: {names}" if body else names


def _difference(a: Run, b: Run, k: int) -> dict[str, Any] | None:
    """The angle between two runs along their true motions; None: they share no time, or no body."""
    if a.body != b.body:
        return None
    first, last = max(a.shown_span[0], b.shown_span[0]), min(a.shown_span[1], b.shown_span[1])
    t = np.union1d(a.rows.t, b.rows.t)
    t = t[(t >= first) & (t <= last)]
    if t.size > MOST_ROWS:
        t = t[np.linspace(0, t.size - 1, MOST_ROWS).astype(np.intp)]
    if t.size < 2:
        return None
    apart = np.degrees(angles(*(attitudes(run, t) for run in (a, b))))
    shown = thinned(apart, CURVE_BUCKETS)
    return {"a": 0, "b": k, "t": encoded(t[shown], "<f8"), "degrees": encoded(apart[shown])}


def attitudes(run: Run, t: Floats) -> Floats:
    """Unit quaternions of the true motion, or along arcs where it is not known."""
    found = attempted(lambda: run.states(t), None)
    if found is None:
        return slerp(run.rows.t, run.rows.quaternion, t)
    q = found[0]
    return np.asarray(q / np.sqrt(np.einsum("ij,ij->i", q, q))[:, None])
