"""Gragg's method: the midpoint rule, extrapolated to order 14.

The rule is made with 2, 4, ..., 14 substeps in a step, and extrapolated to substeps of no length. Its error has even
powers of the substep only, so that each further sequence raises the order by two. [gragg1965; bulirsch1966; hairer1993,
sec. II.9] Sequences carry increments of the state: their round-off is that of what a step adds.

Compiled, sequences stand in the lanes of a vector register: long ones beside two short ones after each other, so that
all end together. Their layout and their weights are data.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import norm2, tidied
from polhode.kernels.algebra.vec import dot, times
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import body_at, rate_of
from polhode.kernels.ops import exchanged, fma, fraction_exponent, from_lanes, lane, nearest_whole, power_of_two, where
from polhode.kernels.states import moved, scaled, summed
from polhode.kernels.status import OK, STALLED
from polhode.kernels.steps.despun import Frame, View, left, view_of
from polhode.kernels.types import BoundStep, Depends, Inertia, Params, Pull, Scales, State, Vec3

Attempt = Callable[..., tuple[State, Any, Any]]
"""`attempt(body, p, t, s, h, slope at s, frame) -> (new state, errors of attitude and rate)`, the errors squared."""

NEVER = 99
"""The place of a stop that is not made."""
CHECKED = 4
"""The evaluation, in the first sequence of each lane, at which the torque is asked for at the true turn about the axis:
at an odd number of substeps, which the result does not leap over."""


class Layout(NamedTuple):
    """The sequences of a step in lanes: each lane has one, by its number of substeps, and maybe another after it."""

    order: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    """0: none."""

    @property
    def sequences(self) -> list[int]:
        """The numbers of substeps, rising."""
        return sorted(n for n in self.first + self.second if n)

    @property
    def evaluations(self) -> int:
        """Evaluations of the torque beside that at the start, those that two lanes repeat counted once."""
        return sum(n - 1 for n in self.sequences)

    def stops(self, total: int) -> list[int]:
        """After how many evaluations, of `total`, the first sequence of each lane ends before the last."""
        return [n - 1 if n - 1 < total else NEVER for n in self.first]


RUN = Layout(14, (14, 12, 10, 8), (0, 2, 4, 6))
"""The method's own: all lanes end after thirteen evaluations."""
COMPANION = Layout(12, (12, 10, 8, 2), (0, 4, 6, 0))
"""The method of order 12 within the same thirteen evaluations, for a companion that goes beside the run."""


def weights(sequences: Sequence[int]) -> dict[int, Fraction]:
    """The weights of the extrapolation in even powers, by number of substeps.  [hairer1993, II.9.25]"""
    return {
        n: prod((Fraction(n * n, n * n - m * m) for m in sequences if m != n), start=Fraction(1)) for n in sequences
    }


class Tables(NamedTuple):
    """The numbers of some layouts side by side, each a row over the lanes."""

    first: tuple[float, ...]
    """The substep of the first sequence, in steps."""
    second: tuple[float, ...]
    stops: tuple[float, ...]
    caught: tuple[float, ...]
    """The weights of sequences that have ended before the last evaluation."""
    last: tuple[float, ...]
    """The weights of sequences that end with the last evaluation."""
    caught_error: tuple[float, ...]
    last_error: tuple[float, ...]
    """Both kinds of weights for the error: the step less that of the next order, without the coarsest sequence."""
    root: tuple[float, ...]
    """The power of the square of an error with which steps change."""


def tables(*layouts: Layout) -> Tables:
    """The numbers of these layouts."""
    total, columns = max(layouts[0].first) - 1, list[tuple[float, ...]]()
    for layout in layouts:
        full, lower = weights(layout.sequences), weights(layout.sequences[1:])
        error = {n: w - lower.get(n, 0) for n, w in full.items()}
        for n, m, stop in zip(layout.first, layout.second, layout.stops(total), strict=True):
            early, late = (n, m) if stop != NEVER else (0, n)
            found = (full.get(early, 0), full.get(late, 0), error.get(early, 0), error.get(late, 0))
            columns.append((1.0 / n, 1.0 / m if m else 0.0, stop, *map(float, found), 0.5 / (layout.order - 1)))
    return Tables(*zip(*columns, strict=True))


PARTS = ("q[0]", "q[1]", "q[2]", "q[3]", "m[0]", "m[1]", "m[2]")


def _state(items: Sequence[str]) -> str:
    return f"State(({', '.join(items[:4])}), ({', '.join(items[4:])}))"


def _ending(d: Callable[[int], str], e: Callable[[int], str]) -> list[str]:
    """Writes the lines that end an attempt: d and e write the increment and the error of a part of the state."""
    return [
        *(f"d{i} = {d(i)}" for i in range(7)),
        *(f"e{i} = {e(i)}" for i in range(7)),
        f"q = ({', '.join(f's.q[{i}] + d{i}' for i in range(4))})",
        "m = (s.m[0] + d4, s.m[1] + d5, s.m[2] + d6)",
        "w = times((e4, e5, e6), body_at(body, p, t + length).inverse)",
        "return ended(State(tidied(q), m), frame, length), 4.0 * norm2((e0, e1, e2, e3)), dot(w, w)",
    ]


ENDING = {"State": State, "tidied": tidied, "times": times, "body_at": body_at, "norm2": norm2, "dot": dot, "fma": fma}


def in_lanes(view: View, *layouts: Layout) -> Attempt:
    """An attempt at a step, sequences in lanes: of one motion, or of two side by side, each by its layout.

    Where there is one motion, its state may be given in floats.
    """
    x = tables(*layouts)
    total, parts = max(layouts[0].first) - 1, range(7)
    stops = sorted({*x.stops, total} - {NEVER})

    def lanes(numbers: Sequence[float]) -> str:
        return f"from_lanes(({', '.join(repr(float(n)) for n in numbers)},))"

    lines = [
        f"h = length * {lanes(x.first)}",
        f"following = length * {lanes(x.second)}",
        f"ends = {lanes(x.stops)}",
        "two, nothing, since, done = h + h, 0.0 * h, h, 0.0",
        *(f"b{i} = r{i} = nothing" for i in parts),
        *(f"z{i} = h * k.{part}" for i, part in enumerate(PARTS)),
        f"for stop in ({', '.join(f'{n}.0' for n in stops)}):",
        "    while done < stop:",
        f"        y = {_state([f's.{part} + z{i}' for i, part in enumerate(PARTS)])}",
        f"        g = slope(body, p, t + since, y, frame, since, 1.0 if done == {CHECKED}.0 else 0.0)",
        *(f"        z{i}, b{i} = fma(two, g.{part}, b{i}), z{i}" for i, part in enumerate(PARTS)),
        "        since, done = since + h, done + 1.0",
        f"    if stop < {total}.0:",  # where a first sequence has ended, the second begins
        "        over = ends == stop",
        "        h, since = where(over, following, h), where(over, 0.0, since)",
        "        two = h + h",
        *(f"        r{i} = where(over, z{i}, r{i})" for i in parts),
        # with an Euler step back, so that its first midpoint step is Euler's
        *(f"        b{i} = where(over, -h * k.{part}, b{i})" for i, part in enumerate(PARTS)),
        *(f"        z{i} = where(over, 0.0, z{i})" for i in parts),
        f"c, a = {lanes(x.caught)}, {lanes(x.last)}",
        f"u, v = {lanes(x.caught_error)}, {lanes(x.last_error)}",
        *_ending(lambda i: f"sum_of_four(fma(c, r{i}, a * z{i}))", lambda i: f"sum_of_four(fma(u, r{i}, v * z{i}))"),
    ]
    names = {"from_lanes": from_lanes, "where": where, "sum_of_four": sum_of_four, **ENDING}
    names |= {"slope": view.slope, "ended": view.ended}
    made: Attempt = function("attempt(body, p, t, s, length, k, frame)", lines, names)
    return made


def sum_of_four(x: Any) -> Any:
    """The sum of each four lanes, in all four of them."""
    y = x + exchanged(x, 1)
    return y + exchanged(y, 2)


def one_by_one(view: View, layout: Layout) -> Attempt:
    """An attempt with one sequence after the other: it has the bits of `in_lanes`, for torques without lanes."""
    x, text, slope = tables(layout), ["zero = scaled(0.0, k)"], view.slope

    def sequence(
        body: Inertia, p: Params, t: float, s: State, k: State, frame: Frame, h: float, n: int, again: int
    ) -> State:  # fmt: skip
        """The increment after n substeps; `again`: its first one is rounded as that of a lane's second."""
        two = h + h
        before, z, since = scaled(0.0, k), scaled(h, k), h
        if again != 0:
            z = moved(scaled(-h, k), two, k)
        for i in range(n - 1):
            g = slope(body, p, t + since, summed(s, z), frame, since, 1.0 if again == 0 and i == CHECKED else 0.0)
            before, z = z, moved(before, two, g)
            since = since + h
        return z

    for j, (n, m) in enumerate(zip(layout.first, layout.second, strict=True)):
        early, late = (n, m) if x.stops[j] != NEVER else (0, n)
        for name, count, again in (("r", early, 0), ("z", late, int(late == m))):
            step = f"length * {x.second[j] if again else x.first[j]!r}"
            made = f"sequence(body, p, t, s, k, frame, {step}, {count}, {again})" if count else "zero"
            text.append(f"{name}{j} = {made}")

    def total(caught: Sequence[float], last: Sequence[float]) -> Callable[[int], str]:
        def of(i: int) -> str:
            a, b, c, d = (f"fma({caught[j]!r}, r{j}.{PARTS[i]}, {last[j]!r} * z{j}.{PARTS[i]})" for j in range(4))
            return f"({a} + {b}) + ({c} + {d})"

        return of

    lines = [*text, *_ending(total(x.caught, x.last), total(x.caught_error, x.last_error))]
    names = {"sequence": sequence, "scaled": scaled, "ended": view.ended, **ENDING}
    attempt: Attempt = function("attempt(body, p, t, s, length, k, frame)", lines, names)
    return attempt


# --- the length of steps ---------------------------------------------------------------------------------------------

MOST_ATTEMPTS = 60
SAFETY, SHRINK, GROW = 0.8, 0.2, 3.0
"""Factors for the next step: the margin below the length that the error allows, and the bounds of a change."""
ACCEPTED = 1.5
"""Steps with an error of up to this many tolerances are accepted: to repeat them would cost more than they spoil."""
FIRST_TURN_RADIANS = 0.5
"""What the first step turns, by the rate or by the swing that the torque could cause."""
NEARLY = 0.49
"""Steps are so stretched or shortened that they end where they have to: a rest of at most 1.01 lengths is one step."""
LEAST_RATE2 = 1e-300
LN2, HALF_SQUARE = 0.6931, 0.2402
"""2^x is about 1 + LN2 x + HALF_SQUARE x^2 where x is below a half."""


def rate2(body: Inertia, m: Vec3) -> Any:
    """The square of the rate."""
    w = rate_of(body, m)
    return dot(w, w)


def first_length(body: Inertia, k: State, h: Any) -> Any:
    """The length of the first step on a way of length h, from the slope k at its start."""
    a = times(k.m, body.inverse)
    rate = sqrt(4.0 * norm2(k.q) + sqrt(dot(a, a)))
    return h * min(1.0, FIRST_TURN_RADIANS / max(rate * abs(h), 1e-300))


def fitted(h: Any, longest: Any) -> Any:
    """The number of equal steps on a way of length h, each about as long as allowed."""
    return max(1.0, nearest_whole(h / longest + NEARLY))


def factor_of(tolerance2: Any, error2: Any, root: Any) -> Any:
    """The factor by which the next step may be longer: 0.8 (tolerance / error)^(1 / (order - 1)), about."""
    error2 = where(error2 < 1e60, error2, 1e60)  # NaN is a large error, too
    m, e = fraction_exponent(tolerance2 / max(error2, 1e-60))
    x = root * (e + (m - 1.0))  # about the logarithm to base 2
    whole = nearest_whole(x)
    part = x - whole
    return min(GROW, max(SHRINK, SAFETY * (power_of_two(whole) * fma(part, fma(part, HALF_SQUARE, LN2), 1.0))))


class ExtrapolationScheme(NamedTuple):
    """The scheme: steps are as long as a tolerance, `Params.tuning[0]`, allows, and at most h.

    The error of a step is that of the attitude in radians and of the rate, relative to the largest rate so far.
    """

    despun: bool = False
    """Whether symmetric bodies are seen from a frame that does not spin (`kernels/steps/despun.py`)."""

    @property
    def in_lanes(self) -> tuple[str, ...]:
        """The forms that compute the points of a step together."""
        return ("sequences in lanes",)

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque.

        The memory is: length made, length to try next, largest rate so far, squared, for how many steps the spin may
        be left out (`View.asked`; 0: to be found), evaluations.
        """
        view, per_attempt = (
            view_of(pull, despun=self.despun and not (scales and scales.changing)),
            float(RUN.evaluations),
        )
        begun, slope, asked, by_asking = view.begun, view.slope, view.asked, view.evaluations
        if scales is not None and scales.form is not None:
            attempt, wide, one = in_lanes(view, RUN), _wide, lane
        else:
            attempt, wide, one = one_by_one(view, RUN), _same, _whole
        root = tables(RUN).root[0]

        def begin(body: Inertia, p: Params, t: float, s: State) -> Any:
            return (0.0, 0.0, 0.0, 0.0, 0.0)

        def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            a, blind, spent = wide(s), memory[3], memory[4] + 1.0
            if blind == 0.0:
                blind, spent = one(asked(body, p, t, a), 0), spent + by_asking
            frame = begun(body, a, blind)
            k = slope(body, p, t, a, frame, 0.0, 0.0)
            largest = max(memory[2], rate2(body_at(body, p, t), s.m), LEAST_RATE2)
            longest = memory[1]
            if longest == 0.0:
                longest = one(first_length(body_at(body, p, t), k, h), 0)
            tolerance2 = p.tuning[0] * p.tuning[0]
            for tries in range(MOST_ATTEMPTS):
                length = h / fitted(h, longest)
                new, attitude2, change2 = attempt(body, p, t, a, length, k, frame)
                spent += per_attempt
                error2 = one(attitude2, 0) + one(change2, 0) / largest
                longest = factor_of(tolerance2, error2, root) * length
                if error2 <= ACCEPTED * ACCEPTED * tolerance2:
                    return first_of(new), (length, longest, largest, left(blind, tries > 0), spent), OK
            return s, (longest, longest, largest, blind, spent), STALLED

        def exactly(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
            a, blind = wide(s), memory[3]
            if blind == 0.0:
                blind = one(asked(body, p, t, a), 0)
            frame = begun(body, a, blind)
            new, _, _ = attempt(body, p, t, a, h, slope(body, p, t, a, frame, 0.0, 0.0), frame)
            return first_of(new), (h, memory[1], memory[2], memory[3], memory[4] + 1.0 + per_attempt), OK

        def again(body: Inertia, p: Params, t: float, s: State, memory: Any) -> Any:
            return (0.0, memory[1], memory[2], 0.0, 0.0)

        def first_of(s: State) -> State:
            q, m = s.q, s.m
            a, b, c, d = one(q[0], 0), one(q[1], 0), one(q[2], 0), one(q[3], 0)
            return State((a, b, c, d), (one(m[0], 0), one(m[1], 0), one(m[2], 0)))

        return BoundStep(begin, step, 5, 0, None, exactly, again, limited=True)


_wide = function(
    "wide(s)",
    [f"return {_state([f'from_lanes((s.{part}, s.{part}, s.{part}, s.{part}))' for part in PARTS])}"],
    {"State": State, "from_lanes": from_lanes},
)
"""Spreads a state over the lanes."""


def _same(s: State) -> State:
    return s


def _whole(x: float, i: int) -> float:
    return x
