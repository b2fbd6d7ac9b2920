"""The zeros of a user's function along the motion of one body.

A motion is looked at after every step, and at least once in every quarter of a radian that the body turns. Between two
looks a function is followed by cubics through its values at four of them; more looks are taken where these do not
describe it, or where they come near to zero without passing it.
"""

import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from polhode.run.step_warnings import levels_of_polhode
from polhode.support import checks
from polhode.support.arrays import Floats
from polhode.support.interrupts import is_from_handler

EventFunction = Callable[..., float]
"""`g(t, q, w)`: time, unit quaternion (body to space, scalar first) and angular velocity in body axes. `g(t, q, w, z)`
gets the numbers that the torque carries as well."""

STATE_ARGUMENTS = 4
"""The arguments of an event function that sees what the torque carries: t, q, w and z."""
FINEST_TURN_RADIANS = 0.25
"""Events are evaluated at least once in each turn of the body by this angle, in radians, and after every step."""
ALMOST = 1e-3
"""Turns that exceed the finest by no more than this part of it count as equal: rates vary between looks."""
FIRST_LOOKS, MOST_LOOKS = 64, 4096
"""Looks that are evaluated together, at first and at most: a terminal event leaves those behind it unused."""
MOST_PARTS = 2**20
"""A step in which the body turns farther than by this number of the finest turns is not looked into; a warning says
so."""
CAUTION = 8.0
"""Cubics are trusted to this number of times their estimated error."""
MOST_HALVINGS = 10
"""Intervals between looks are halved at most this number of times where a function changes fast or jumps."""
MINIMUM_COUNTS = 3
"""A search for a minimum counts as this number of halvings."""
MOST_MORE_LOOKS = 64
"""A function gets at most this number of times the looks of its motion; a warning says so if it changes too fast."""
WIDESPREAD = 0.125
"""If a larger part of the intervals is doubtful than this, all are: the function may be faster than its looks show."""
SETTLED = 0.02
"""A cubic is good enough to lead to a minimum if its error is less than this part of its change in the interval."""
ROUND_OFF = 32.0
"""A function touches zero if its least value is at most this number of times what last digits of the state do to it."""
TOGETHER = 16
"""The least number of states at which a function is tried with arrays."""


class EventsUnresolved(RuntimeWarning):
    """An event function changes so fast that some of its zeros may be missing.

    Examples
    --------
    >>> import warnings
    >>> turned = ph.Event(lambda t, q, w: w[1])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ph.EventsUnresolved)  # zeros that may be missing are an error
    ...     run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 6), rtol=1e-9, events=turned)
    ...
    >>> len(run.events[0].t)
    1
    """


@dataclass(frozen=True)
class Event:
    """A zero of g(t, q, w), a plain Python function of time, quaternion and angular velocity.

    A function g(t, q, w, z) sees the numbers that the torque carries as well.

    `direction` 1 means zeros at which g rises along the run, -1 those at which it falls, 0 both. A run stops at the
    first zero of a `terminal` event.

    Examples
    --------
    >>> turned = ph.Event(lambda t, q, w: w[1], direction=-1, terminal=True)
    >>> run = ph.simulate(ph.Body([1, 2, 2.8]), omega=[0.1, 2, 0], t_span=(0, 60), rtol=1e-9, events=turned)
    >>> run.events[0].t.round(6)
    array([4.04174])
    """

    function: EventFunction
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"an event is a function g(t, q, w), not {checks.shown(self.function)}")
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"the direction of an event is 1 (rising), -1 (falling) or 0 (both), not {self.direction}")

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.function, "__name__", "event")

    @cached_property
    def takes_state(self) -> bool:
        """Whether the function has a fourth argument: the numbers that the torque carries."""
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):  # of a function without a signature, as some compiled ones
            return False
        needed = (
            p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        )
        return sum(1 for _ in needed) == STATE_ARGUMENTS

    def seen(self, q: Any, w: Any, z: Any) -> tuple[Any, ...]:
        """What the function is called with after the time."""
        return (q, w, z) if self.takes_state else (q, w)

    def value(self, t: float, *state: tuple[float, ...]) -> float:
        """Returns g(t, q, w) or g(t, q, w, z), and raises a ValueError if it is no number."""
        try:
            g = float(self.function(t, *state))
        except Exception as problem:  # the user's code may raise anything
            if is_from_handler(problem):
                raise
            raise ValueError(
                f"the event {self.name} raised {type(problem).__name__} at t = {t:g}: {problem}"
            ) from problem
        if math.isnan(g):
            raise ValueError(f"the event {self.name} is not a number at t = {t:g}")
        return g


def listed(events: Any) -> tuple[Event, ...]:
    """The argument `events` as a tuple: it may be one event or several, functions or Events."""
    if events is None:
        return ()
    several = events if isinstance(events, Sequence) else (events,)
    return tuple(e if isinstance(e, Event) else Event(e) for e in several)


# --- values of a function ------------------------------------------------------------------------------------------


class EventValues(NamedTuple):
    """The values of a function at states that follow each other, up to where it raised something."""

    g: Floats
    problem: BaseException | None = None


class Evaluator:
    """The function of an event, evaluated at many states."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.takes_arrays = True
        """Whether the function gives the same with arrays as with numbers, as far as it was tried."""

    def check(self, start: "EventRow") -> None:
        """Refuses a function of numbers that the torque does not carry."""
        if self.event.takes_state and not start.z.size:
            raise ValueError(f"the event {self.event.name} is a function of (t, q, w, z), but the torque carries no z")

    def values(self, looks: "Looks", body: Any) -> EventValues:
        """The values at states given by rows; with arrays in one call, if the function can take them."""
        t, w, z = looks.t, body.rate(looks.m, looks.t), looks.z
        q = looks.q / np.sqrt(np.einsum("ij,ij->i", looks.q, looks.q))[:, None]
        if self.takes_arrays and t.size >= TOGETHER:
            g = self._together(t, q, w, z)
            if g is not None:
                return EventValues(g)
            self.takes_arrays = False
        value, g = self.event.value, np.empty(t.size)
        states = (map(tuple, x.tolist()) for x in self.event.seen(q, w, z))
        for k, state in enumerate(zip(t.tolist(), *states, strict=True)):
            try:
                g[k] = value(*state)
            except BaseException as problem:  # by the user's function, or by Ctrl-C
                return EventValues(g[:k], problem)
        return EventValues(g)

    def _together(self, t: Floats, q: Floats, w: Floats, z: Floats) -> Floats | None:
        """The values of a call with arrays; None if they are not what single calls return."""
        some = [0, t.size // 3, (2 * t.size) // 3, t.size - 1]
        try:
            with np.errstate(all="ignore"):
                state = self.event.seen(q, w, z)
                found: Any = self.event.function(t, *(tuple(x.T) for x in state))
                if not isinstance(found, np.ndarray) or found.shape != t.shape or found.dtype.kind != "f":
                    return None
                single = np.array(
                    [self.event.function(float(t[k]), *(tuple(x[k].tolist()) for x in state)) for k in some]
                )
                close = np.abs(found[some] - single) <= 1e-12 * np.abs(single).max()
        except (
            Exception
        ) as problem:  # a function of numbers may do anything with arrays; single calls say what is wrong
            if is_from_handler(problem):
                raise
            return None
        g = found.astype(np.float64)
        return g if bool(close.all()) and not np.isnan(g).any() else None

    def value(self, row: "EventRow", body: Any) -> float:
        """The value at one state."""
        unit = row.q / math.sqrt(float(row.q @ row.q))
        state = self.event.seen(unit, body.rate(row.m, row.t), row.z)
        return self.event.value(row.t, *(tuple(x.tolist()) for x in state))

    def noise(self, row: "EventRow", body: Any, g: Floats) -> float:
        """What changes of the last digits of time and state, or of values like these, do to a function."""
        eps, event = 2.0**-52, self.event
        q, w = row.q / math.sqrt(float(row.q @ row.q)), body.rate(row.m, row.t)
        size = math.sqrt(float(w @ w))

        def at(t: float, q: Floats, w: Floats, z: Floats) -> float:
            return event.value(t, *(tuple(x.tolist()) for x in event.seen(q, w, z)))

        here, t, z = at(row.t, q, w, row.z), row.t, row.z
        changed = [(t + math.ulp(t), q, w, z), *((t, q + dq, w, z) for dq in eps * np.eye(4))]
        changed += [(t, q, w + dw, z) for dw in eps * size * np.eye(3)]
        changed += [(t, q, w, z + dz) for dz in eps * np.diag(np.abs(z))] if event.takes_state else []
        most = max([eps * float(np.abs(g).max()), *(abs(at(*state) - here) for state in changed)])
        return ROUND_OFF * most if math.isfinite(most) else 0.0


# --- curves between looks ------------------------------------------------------------------------------------------


class Curves(NamedTuple):
    """Cubics through four looks each, one for every interval between two looks, in Bernstein's form."""

    doubtful: Any
    """Whether a cubic, with its error, may have other zeros than the values at the two ends show."""
    error: Floats
    """The estimated error of the cubics, from the fourth differences."""
    inner: tuple[Floats, Floats]
    """The control points inside the interval; those at the ends are the values."""


def curves(t: Floats, g: Floats) -> Curves:
    """The cubics between five looks or more, whose times increase."""
    n = t.size
    d1 = np.diff(g) / np.diff(t)
    d2 = np.diff(d1) / (t[2:] - t[:-2])
    d3 = np.diff(d2) / (t[3:] - t[:-3])
    d4 = np.abs(np.diff(d3) / (t[4:] - t[:-4]))
    i = np.arange(n - 1)
    s = np.clip(i - 1, 0, n - 4)  # the first of the four looks
    a, b, h = t[:-1], t[1:], np.diff(t)
    left, right = t[np.where(i > s, s, s + 2)], t[np.where(i < s + 2, s + 3, s + 1)]  # the two that are no ends
    reach = np.maximum(np.abs(a - left), np.abs(b - left)) * np.maximum(np.abs(a - right), np.abs(b - right))
    fourth = np.maximum(d4[np.clip(s - 1, 0, n - 5)], d4[np.clip(s, 0, n - 5)])
    error = fourth * (0.25 * h * h * reach)

    def slope(x: Floats) -> Floats:
        u, v, z = x - t[s], x - t[s + 1], x - t[s + 2]
        return np.asarray(d1[s] + d2[s] * (u + v) + d3[s] * (u * v + u * z + v * z))

    ga, gb = g[:-1], g[1:]
    c1, c2 = ga + h / 3.0 * slope(a), gb - h / 3.0 * slope(b)
    margin = CAUTION * error + 1e-13 * np.abs(g).max()  # a curve that touches zero may pass it by round-off
    return Curves(doubtful(ga, c1, c2, gb, margin), error, (c1, c2))


def doubtful(ga: Floats, c1: Floats, c2: Floats, gb: Floats, margin: Any) -> Any:
    """Whether control points between two values, each known to a margin, leave room for two more zeros.

    A cubic has no more zeros than its control points have changes of sign.
    """
    changes = ((ga < 0) & (gb > 0)) | ((ga > 0) & (gb < 0))
    side = np.sign(np.where(changes, gb, np.where(ga + gb != 0, ga + gb, c1 + c2)))
    lowered = 4.0 / 3.0 * np.broadcast_to(margin, ga.shape)  # the error is 4 u (1 - u) margin: nothing at the ends
    thrice = (side * c1 + lowered > 0) & (side * c2 - lowered < 0)
    inner = ~(np.minimum(side * c1, side * c2) > lowered) & ~changes
    near = np.flatnonzero(inner)  # the control points are; the curve itself may not be
    low = [side[near] * x[near] for x in (ga, c1, c2, gb)]
    flat = (ga == 0) & (gb == 0) & (c1 == 0) & (c2 == 0)
    inner[near] = ~(_least(low[0], low[1] - lowered[near], low[2] - lowered[near], low[3]) > 0) & ~flat[near]
    return np.where(changes, thrice, inner)


def _least(c0: Floats, c1: Floats, c2: Floats, c3: Floats) -> Floats:
    """The least value of cubics inside their intervals, where they are flat; infinity where they are not."""
    a, b, c = (c1 - c0) - 2.0 * (c2 - c1) + (c3 - c2), (c2 - c1) - (c1 - c0), c1 - c0
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    big = -(b + np.copysign(root, b))  # the zeros of a u^2 + 2 b u + c are big / a and c / big
    found = [c1 * np.nan, c1 * np.nan]
    for k, (over, under) in enumerate(((big, a), (c, big))):
        u = np.where(under != 0, over / np.where(under != 0, under, 1.0), np.inf)
        v = 1.0 - u
        p = v * v * v * c0 + 3.0 * u * v * v * c1 + 3.0 * u * u * v * c2 + u * u * u * c3
        found[k] = np.where((u > 0) & (u < 1) & (b * b >= a * c), p, np.inf)
    return np.asarray(np.minimum(*found))


# --- the events of one body ----------------------------------------------------------------------------------------


class EventRow(NamedTuple):
    """A time, and the state there in the user's axes."""

    t: float
    q: Floats
    m: Floats
    z: Floats


class Hit(NamedTuple):
    """A zero of an event: the number of the event, and the state there."""

    which: int
    row: EventRow


class Earlier(NamedTuple):
    """What is known of events when a motion that was watched before goes on, or is made again."""

    happened: Sequence[int] = ()
    """The numbers of the events that are at their zeros at the start."""
    passed: Mapping[int, int] = {}
    """How often events, by their numbers, do not end the run although they are terminal: it went on behind them."""
    since: float | None = None
    """The time from which on the run is watched; None: from the start."""


class Looks(NamedTuple):
    """Times in the order of the run, and the states there in the user's axes."""

    t: Floats
    q: Floats
    m: Floats
    z: Floats

    def part(self, which: Any) -> "Looks":
        """Some of the looks."""
        return Looks(*(x[which] for x in self))

    def and_then(self, t: float, q: Floats, m: Floats, z: Floats, sign: float) -> "Looks":
        """The looks with one more, if it lies behind the last of them."""
        if self.t.size and sign * t <= sign * self.t[-1]:
            return self
        return Looks(np.append(self.t, t), *(np.vstack([x, y]) for x, y in zip(self[1:], (q, m, z), strict=True)))

    def row(self, k: int) -> EventRow:
        """One of the looks."""
        return EventRow(float(self.t[k]), self.q[k], self.m[k], self.z[k])

    def with_later(self, more: Sequence[Any]) -> "Looks":
        """These and more looks, which follow them."""
        return Looks(*(np.concatenate(x) for x in zip(self, more, strict=True)))

    def joined(self, more: "Looks", sign: float) -> tuple["Looks", Any]:
        """These and more looks in the order of the run, and where each of them was in both together."""
        order = np.argsort(sign * np.concatenate([self.t, more.t]), kind="stable")
        return self.with_later(more).part(order), order


Between = Callable[[float, Floats, Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
"""`between(t, q, m, z, times)` returns the states at times behind a state, by steps aside."""


class _Crossed(Exception):
    """A function has changed its sign where its minimum was looked for."""

    def __init__(self, t: float) -> None:
        super().__init__()
        self.t = t


class WatchedEvent(Protocol):
    """What a watch asks of an event; an evaluator knows its function."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def direction(self) -> int:
        """1: only zeros at which the function rises, -1: only those at which it falls, 0: all."""

    @property
    def terminal(self) -> bool:
        """Whether it ends the run."""


class Watch:
    """The events of a motion: those seen so far, and the last looks at each function."""

    def __init__(
        self, events: Sequence[WatchedEvent], evaluators: Sequence[Evaluator], body: Any, start: EventRow, sign: float,
        earlier: Earlier | None = None,
    ) -> None:  # fmt: skip
        """Looks at the start."""
        self.earlier = earlier or Earlier()
        self.passed = dict(self.earlier.passed)
        happened = self.earlier.happened
        self.events, self.evaluators, self.body, self.sign = events, evaluators, body, sign
        self.hits: list[Hit] = []
        self.last = start
        self.looks_together = FIRST_LOOKS if any(e.terminal for e in events) else MOST_LOOKS
        self.unresolved = dict[int, float]()
        """The first time at which functions changed too fast to be followed, by the number of their event."""
        for evaluator in evaluators:
            evaluator.check(start)
        values = [0.0 if k in happened else evaluators[k].value(start, body) for k in range(len(events))]
        self.seen = [(np.array([start.t]), np.array([g])) for g in values]
        """For each event the last few looks, and the values there."""

    def look(self, looks: Looks, between: Between) -> Hit | None:
        """Notes the events along a stretch of the motion; returns the terminal one, if there was one."""
        looks = self._after_last(looks.part(self.sign * looks.t > self.sign * self.last.t))
        ends = np.cumsum(self._parts(looks))
        first = done = 0
        while first < ends.size:
            beyond = max(first + 1, int(np.searchsorted(ends, done + self.looks_together, side="right")))
            stop = self._look_at(looks.part(slice(first + 1, beyond + 1)), between)
            if stop is not None:
                return stop
            first, done = beyond, int(ends[beyond - 1])
            self.looks_together = min(MOST_LOOKS, 2 * self.looks_together)
        return None

    def _after_last(self, looks: Looks) -> Looks:
        """Returns looks with the last one before them."""
        last = Looks(np.array([self.last.t]), self.last.q[None], self.last.m[None], self.last.z[None])
        return last.with_later(looks)

    def _look_at(self, looks: Looks, between: Between) -> Hit | None:
        """Notes the events along looks whose functions are evaluated together; returns the terminal one, if any."""
        all_looks = self._fine_enough(self._after_last(looks), between)
        first, looks = all_looks.part(slice(0, 1)), all_looks.part(slice(1, None))
        problem: BaseException | None = None
        values = list[Floats]()
        for evaluator in self.evaluators:
            found = evaluator.values(looks, self.body)
            values.append(found.g)
            if found.problem is not None:
                problem, looks = found.problem, looks.part(slice(0, found.g.size))
        if looks.t.size:
            hits = list[Hit]()
            for k, g in enumerate(values):
                hits += self._zeros(k, first, looks, g[: looks.t.size], between)
            hits.sort(key=lambda hit: self.sign * hit.row.t)
            since = self.earlier.since
            for hit in hits:
                if since is not None and self.sign * hit.row.t <= self.sign * since:
                    continue
                self.hits.append(hit)
                if self.passed.get(hit.which, 0) > 0:
                    self.passed[hit.which] -= 1
                elif self.events[hit.which].terminal:
                    return hit
            self.last = looks.row(-1)
        if problem is not None:
            raise problem
        return None

    def _fine_enough(self, looks: Looks, between: Between) -> Looks:
        """Returns looks with others between them, so that the body turns little from one to the next."""
        while True:
            parts = self._parts(looks)
            wanted = np.flatnonzero(parts > 1)
            if not wanted.size:
                return looks
            if parts.sum() > MOST_PARTS:
                for k in range(len(self.events)):
                    self.unresolved.setdefault(k, float(looks.t[wanted[0]]))
                return looks
            times = [
                looks.t[k] + (looks.t[k + 1] - looks.t[k]) * (np.arange(1, n) / n)
                for k, n in zip(wanted.tolist(), parts[wanted].tolist(), strict=True)
            ]
            looks, _ = looks.joined(self._states(looks, np.concatenate(times), between), self.sign)

    def _parts(self, looks: Looks) -> Any:
        """The number of parts into which each interval between two looks is to be cut, by the turn in it."""
        dt = np.abs(np.diff(looks.t))
        w = self.body.rate(looks.m, looks.t)
        rate = np.sqrt(np.einsum("ij,ij->i", w, w))
        lengths = np.sqrt(np.einsum("ij,ij->i", looks.q, looks.q))
        along = np.abs(np.einsum("ij,ij->i", looks.q[1:], looks.q[:-1])) / (lengths[1:] * lengths[:-1])
        angle = np.maximum(dt * np.maximum(rate[1:], rate[:-1]), 2.0 * np.arccos(np.minimum(along, 1.0)))
        return self._parts_of(looks.t, angle)

    def _parts_of(self, t: Floats, angle: Floats) -> Any:
        """The number of parts for intervals in which bodies turn by these angles."""
        parts = np.maximum(np.ceil(angle / FINEST_TURN_RADIANS * (1.0 - ALMOST)), 1.0)
        parts[np.abs(np.diff(t)) <= 16 * np.spacing(np.abs(t[1:]))] = 1.0  # times that can hardly be told apart
        parts[~(parts <= MOST_PARTS)] = MOST_PARTS + 1  # also where a motion that blows up is no number any more
        return parts.astype(np.int64)

    def _states(self, base: Looks, times: Floats, between: Between) -> Looks:
        """The states at times in the order of the run, each by a step aside from the look before it."""
        places = np.searchsorted(self.sign * base.t, self.sign * times, side="right") - 1
        groups = np.split(np.arange(times.size), np.flatnonzero(np.diff(places)) + 1)
        found = [between(*base.row(int(places[group[0]])), times[group]) for group in groups]
        return Looks(times, *(np.concatenate(x) for x in zip(*found, strict=True)))

    # --- the zeros of one function

    def _zeros(self, which: int, first: Looks, looks: Looks, g: Floats, between: Between) -> list[Hit]:
        """The zeros of a function from the last look to the last one here."""
        before_t, before_g = self.seen[which]
        values = np.append(before_g[-1], g)
        whole, g = self._followed(which, before_t[:-1], before_g[:-1], first.with_later(looks), values, between)
        self.seen[which] = (np.append(before_t[:-1], whole.t)[-5:], np.append(before_g[:-1], g)[-5:])
        direction = self.events[which].direction
        return [
            Hit(which, self._located(which, whole.row(k), whole.row(k + 1), float(g[k]), float(g[k + 1]), between))
            for k in np.flatnonzero(crosses(g[:-1], g[1:], direction)).tolist()
        ]

    def _followed(
        self, which: int, before_t: Floats, before_g: Floats, looks: Looks, g: Floats, between: Between
    ) -> tuple[Looks, Floats]:
        """The looks and the values of a function, with others where its curve asks for them."""
        base, done = looks, np.zeros(g.size - 1, dtype=bool)
        halvings = np.zeros(g.size - 1, dtype=np.int64)
        most, noise = MOST_MORE_LOOKS * max(g.size, FIRST_LOOKS), -1.0
        while True:
            t_all, g_all = np.append(before_t, looks.t), np.append(before_g, g)
            if t_all.size < 5:
                suspects, dips = ~done, np.zeros_like(done)
            else:
                with np.errstate(all="ignore"):  # of infinite values, which are followed as far as halvings go
                    shape = curves(self.sign * t_all, g_all)
                own = slice(before_t.size, None)
                error, c1, c2 = shape.error[own], shape.inner[0][own], shape.inner[1][own]
                suspects = shape.doubtful[own] & ~done
                if not suspects.any():
                    return looks, g
                if noise < 0.0:
                    noise = self.evaluators[which].noise(looks.row(int(np.argmin(np.abs(g)))), self.body, g)
                ga, gb = g[:-1], g[1:]
                with np.errstate(all="ignore"):
                    points = np.stack([ga, c1, c2, gb])
                    resolved = error <= noise
                    suspects &= np.abs(points).max(axis=0) > noise
                    suspects &= ~resolved | doubtful(ga, c1, c2, gb, noise).astype(bool)
                    settled = resolved | (error <= SETTLED * (points.max(axis=0) - points.min(axis=0)))
                if np.count_nonzero(suspects & ~settled) > WIDESPREAD * suspects.size:
                    suspects = ~done
                suspects &= halvings < MOST_HALVINGS
                dips = suspects & settled & (ga * gb > 0)
            suspects &= ~dips
            suspects &= np.abs(np.diff(looks.t)) > 1024 * np.spacing(np.abs(looks.t[1:]))
            if not suspects.any() and not dips.any():
                return looks, g
            if g.size > most:
                self.unresolved.setdefault(which, float(looks.t[0]))
                return looks, g
            looks, g, done, halvings = self._with_more(which, base, looks, g, done, halvings, suspects, dips, between)

    def _with_more(
        self, which: int, base: Looks, looks: Looks, g: Floats, done: Any, halvings: Any, suspects: Any, dips: Any,
        between: Between,
    ) -> tuple[Looks, Floats, Any, Any]:  # fmt: skip
        """Returns looks and values with one more in every doubtful interval, and at every minimum in a dip."""
        times, values = 0.5 * (looks.t[:-1] + looks.t[1:])[suspects], np.zeros(0)
        halvings, done = halvings + suspects + MINIMUM_COUNTS * dips, done.copy()
        more = Looks(times, *(x[:0] for x in looks[1:]))
        if times.size:
            more = self._states(base, times, between)
            found = self.evaluators[which].values(more, self.body)
            if found.problem is not None:
                raise found.problem
            values = found.g
        least = list[float]()
        extra = list[EventRow]()
        for k in np.flatnonzero(dips).tolist():
            low, high = k, k + 1  # the minimum may be in the interval before or behind, where a look is close to it
            if low > 0 and g[low - 1] * g[k] > 0 and not suspects[low - 1]:
                low -= 1
            if high < g.size - 1 and g[high + 1] * g[k] > 0 and not suspects[high]:
                high += 1
            row, value = self._minimum(which, looks, g, low, high, between)
            done[k] = value == 0.0  # else what is left may have dips again
            at = int(np.searchsorted(self.sign * looks.t, self.sign * row.t))
            if at < g.size and looks.t[at] == row.t:
                g[at] = value if at > 0 else g[at]
            elif all(row.t != other.t for other in extra):
                extra.append(row)
                least.append(value)
        if extra:
            t, *states = zip(*extra, strict=True)
            more = more.with_later((t, *states))
            values = np.append(values, least)
        added = np.searchsorted(self.sign * looks.t, self.sign * more.t) - 1
        copies = 1 + np.bincount(added, minlength=done.size)
        looks, order = looks.joined(more, self.sign)
        return looks, np.concatenate([g, values])[order], np.repeat(done, copies), np.repeat(halvings, copies)

    def _minimum(
        self, which: int, looks: Looks, g: Floats, low: int, high: int, between: Between
    ) -> tuple[EventRow, float]:
        """Where a function is nearest to zero between two looks, and its value there; zero within round-off.

        If it has changed its sign on the way, a place where it has is returned.
        """
        from scipy.optimize import minimize_scalar

        a, side = looks.row(low), math.copysign(1.0, float(g[low]))
        rows = {float(looks.t[k]): looks.row(k) for k in range(low, high + 1)}
        known = dict(zip(rows, g[low : high + 1].tolist(), strict=True))

        def height(after: float) -> float:  # times since the first look, so that round-off is that of the interval
            t = a.t + after
            if t not in known:
                rows[t] = self._state(a, t, between)
                known[t] = self.evaluators[which].value(rows[t], self.body)
            if side * known[t] < 0.0:
                raise _Crossed(t)
            return float(side * known[t])

        length = float(looks.t[high]) - a.t
        ends = (min(0.0, length), max(0.0, length))
        try:
            minimize_scalar(height, bounds=ends, method="bounded", options={"xatol": 1e-9 * abs(length)})
        except _Crossed as crossed:
            return rows[crossed.t], known[crossed.t]
        t = min(known, key=lambda at: side * known[at])
        return rows[t], 0.0 if abs(known[t]) <= self.evaluators[which].noise(rows[t], self.body, g) else known[t]

    def _state(self, a: EventRow, t: float, between: Between) -> EventRow:
        q, m, z = between(a.t, a.q, a.m, a.z, np.array([t]))
        return EventRow(t, q[0], m[0], z[0])

    def _located(self, which: int, a: EventRow, b: EventRow, ga: float, gb: float, between: Between) -> EventRow:
        """The state at the zero between two rows, found by steps aside from the first."""
        if gb == 0.0:
            return b
        from scipy.optimize import brentq

        seen = {a.t: (a, ga), b.t: (b, gb)}

        def value(t: float) -> float:
            if t not in seen:
                row = self._state(a, t, between)
                seen[t] = (row, self.evaluators[which].value(row, self.body))
            return seen[t][1]

        tiny = math.ulp(max(abs(a.t), abs(b.t)))
        t = float(brentq(value, a.t, b.t, xtol=2 * tiny, rtol=4 * 2.0**-52, maxiter=200))
        value(t)
        return seen[t][0]


def crosses(before: Any, after: Any, direction: int) -> Any:
    """Whether a function passes or reaches zero in this direction between two values."""
    rises, falls = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
    return (rises & (direction >= 0)) | (falls & (direction <= 0))


def warn_of_unresolved(names: Sequence[tuple[str, float]]) -> None:
    """Warns of functions that change too fast to be followed, with the first time at which they do."""
    for name, t in names:
        warnings.warn(
            f"the event {name} changes too fast to be followed, from t = {t:g} on: zeros may be missing. Take a "
            "shorter step, after each of which it is looked at, or make the function smoother",
            EventsUnresolved,
            stacklevel=levels_of_polhode(),
        )
