"""Explicit Runge-Kutta steps, unrolled from their coefficients: on quaternion and momentum, and on the group.

Both make increments of the state, `change(body, p, t, s, h, memory) -> (increment, memory, status)`, for the schemes
of `core/compose.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from polhode.core.compose import nothing
from polhode.core.ops import fma
from polhode.core.quat import advanced, derivative
from polhode.core.rotor import change_of_attitude, exponential
from polhode.core.status import OK
from polhode.core.tableaux import GroupTableau, Number, Tableau, Turn, Turns, total
from polhode.core.text import function
from polhode.core.types import Params, Pull, Rotor, Start, State, Vec3
from polhode.core.vec import combine, cross, dot, times

Slope = Callable[[Rotor, Params, float, State], State]
Make = Callable[[Pull], tuple[Start, Any]]


def moved(s: State, h: float, d: State) -> State:
    """s + h d."""
    q, a = s.q, d.q
    return State((fma(h, a[0], q[0]), fma(h, a[1], q[1]), fma(h, a[2], q[2]), fma(h, a[3], q[3])), combine(s.m, h, d.m))


def scaled(h: float, d: State) -> State:
    """h d."""
    q, m = d.q, d.m
    return State((h * q[0], h * q[1], h * q[2], h * q[3]), (h * m[0], h * m[1], h * m[2]))


def slope_of(pull: Pull) -> Slope:
    """Returns the function that computes the time derivatives of quaternion and momentum."""

    def slope(body: Rotor, p: Params, t: float, s: State) -> State:
        w = times(s.m, body.inverse)
        return State(derivative(s.q, w), combine(cross(s.m, w), 1.0, pull(body, p, t, s)))

    return slope


# --- the text of a step


def time_of(row: Sequence[Number]) -> str:
    """Writes the time of a stage."""
    c = float(sum(row))
    return "t" if c == 0.0 else "t + h" if abs(c - 1.0) < 1e-14 else f"t + {c!r} * h"


def weighted(row: Sequence[Number], name: str, plus: str) -> tuple[float, str]:
    """Returns the first weight of a weighted sum of slopes, and the text of the sum divided by it."""
    used = [(i, w) for i, w in enumerate(row) if w != 0]
    first, lead = used[0]
    text = f"{name}{first}"
    for i, w in used[1:]:
        text = f"{plus}({text}, {float(w / lead)!r}, {name}{i})"
    return float(lead), text


def stage_lines(tableau: Tableau) -> list[str]:
    """Writes the lines that compute the slopes k1, k2, ... from k0."""
    lines = []
    for i, row in enumerate(tableau.stages[1:], 1):
        lead, mix = weighted(row, "k", "moved")
        lines.append(f"k{i} = slope(body, p, {time_of(row)}, moved(s, {lead!r} * h, {mix}))")
    return lines


def in_space(tableau: Tableau) -> Make:
    """Returns `make(pull)` for quaternion and momentum as seven numbers; only the quaternion's direction matters."""

    def make(pull: Pull) -> tuple[Start, Any]:
        slope = slope_of(pull)
        lead, mix = weighted(tableau.step, "k", "moved")
        lines = ["k0 = slope(body, p, t, s)", *stage_lines(tableau), f"return scaled({lead!r} * h, {mix}), memory, OK"]
        names = {"slope": slope, "moved": moved, "scaled": scaled, "OK": OK}
        return nothing, function("change(body, p, t, s, h, memory)", lines, names)

    return make


# --- on the group: rotations relative to the start of the step, as quaternions (1 - e, v)


def followed(a: tuple[float, Vec3], b: tuple[float, Vec3]) -> tuple[float, Vec3]:
    """Returns the rotation a followed by b, both in body axes."""
    e, v = a
    f, w = b
    x = cross(v, w)
    return fma(-e, f, e) + f + dot(v, w), (
        fma(-f, v[0], v[0]) + fma(-e, w[0], w[0]) + x[0],
        fma(-f, v[1], v[1]) + fma(-e, w[1], w[1]) + x[1],
        fma(-f, v[2], v[2]) + fma(-e, w[2], w[2]) + x[2],
    )


def stretched(h: float, v: Vec3) -> Vec3:
    """h v."""
    return (h * v[0], h * v[1], h * v[2])


def rotation_vector(turn: Turn) -> str:
    """Writes the rotation vector of a turn, from the rates w0, w1, ..."""
    lead, mix = weighted(turn.weights, "w", "combine")
    text = f"stretched({lead!r} * h, {mix})"
    for i, j, c in turn.brackets:
        text = f"combine({text}, {float(c)!r} * h * h, cross(w{i}, w{j}))"
    return text


def on_group(tableau: GroupTableau) -> Make:
    """Returns `make(pull)`: rotations move the attitude; the same weights move the body momentum as three numbers."""
    lines = ["w0, n0 = slope(body, p, t, s)"]
    known: dict[Turn, str] = {}

    def rotation(turns: Turns) -> str:
        """Writes a product of exponentials; each exponential is computed once."""
        for turn in turns:
            if turn not in known:
                known[turn] = f"e{len(known)}"
                lines.append(f"{known[turn]} = exponential({rotation_vector(turn)})")
        text = known[turns[0]]
        for turn in turns[1:]:
            text = f"followed({text}, {known[turn]})"
        return text

    for i, turns in enumerate(tableau.stages[1:], 1):
        row = total(turns)
        lead, mix = weighted(row, "n", "combine")
        lines.append(f"r = {rotation(turns)}")
        lines.append(f"y = State(advanced(s.q, r[0], r[1]), combine(s.m, {lead!r} * h, {mix}))")
        lines.append(f"w{i}, n{i} = slope(body, p, {time_of(row)}, y)")
    lead, mix = weighted(total(tableau.step), "n", "combine")
    lines.append(f"r = {rotation(tableau.step)}")
    lines.append(f"return State(change_of_attitude(s.q, r[0], r[1]), stretched({lead!r} * h, {mix})), memory, OK")
    names = {
        "State": State, "OK": OK, "advanced": advanced, "combine": combine, "cross": cross, "exponential": exponential,
        "change_of_attitude": change_of_attitude, "followed": followed, "stretched": stretched,
    }  # fmt: skip

    def make(pull: Pull) -> tuple[Start, Any]:
        def slope(body: Rotor, p: Params, t: float, s: State) -> tuple[Vec3, Vec3]:
            """Returns the rate, and the time derivative of the momentum."""
            w = times(s.m, body.inverse)
            return w, combine(cross(s.m, w), 1.0, pull(body, p, t, s))

        return nothing, function("change(body, p, t, s, h, memory)", lines, names | {"slope": slope})

    return make
