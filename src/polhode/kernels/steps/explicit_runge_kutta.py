"""Explicit Runge-Kutta steps, unrolled from their coefficients: on quaternion and momentum, and on the group.

Both make increments of the state, `change(body, p, t, s, h, memory) -> (increment, memory, status)`, for the schemes
of `kernels/steps/compose.py`. The numbers that a torque carries move with the weights of the momentum.
"""

from collections.abc import Sequence
from typing import Any

from polhode.kernels.algebra.quat import advanced
from polhode.kernels.algebra.rotation import change_of_attitude, exponential
from polhode.kernels.algebra.vec import combine, cross, dot
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import bodies_at, body_at, rate_of
from polhode.kernels.ops import fma
from polhode.kernels.states import form_of
from polhode.kernels.status import OK
from polhode.kernels.steps.compose import Make, nothing
from polhode.kernels.steps.tableaux import GroupTableau, Number, Tableau, Turn, Turns, total
from polhode.kernels.types import CarriedState, Inertia, Params, Pull, Start, State, Vec3

# --- the text of a step


def time_of(row: Sequence[Number]) -> str:
    """Writes the time of a stage."""
    c = float(sum(row))
    return "t" if c == 0.0 else "t + h" if abs(c - 1.0) < 1e-14 else f"t + {c!r} * h"


def weighted(row: Sequence[Number], name: str, plus: str) -> tuple[float, str]:
    """The first weight of a weighted sum of slopes, and the text of the sum divided by it."""
    used = [(i, w) for i, w in enumerate(row) if w != 0]
    first, lead = used[0]
    text = f"{name}{first}"
    for i, w in used[1:]:
        text = f"{plus}({text}, {float(w / lead)!r}, {name}{i})"
    return float(lead), text


def body_lines(rows: Sequence[Sequence[Number]]) -> tuple[str, list[str]]:
    """Writes the line that computes the bodies at the times of stages, and their names: one that changes does so."""
    times = [time_of(row) for row in rows]
    once = list(dict.fromkeys(times))
    names = "".join(f"b{i}, " for i in range(len(once)))
    return f"{names}= bodies_at(body, p, ({', '.join(once)},))", [f"b{once.index(time)}" for time in times]


def stage_lines(tableau: Tableau, *, first: bool = False) -> list[str]:
    """Writes the lines that compute the slopes k1, k2, ... from k0, or with the `first` of them."""
    stages = tableau.stages if first else tableau.stages[1:]
    line, bodies = body_lines(stages)
    lines = [line, f"k0 = slope({bodies[0]}, p, t, s)"] if first else [line]
    for i, row in enumerate(tableau.stages[1:], 1):
        lead, mix = weighted(row, "k", "moved")
        body = bodies[i - len(tableau.stages)]
        lines.append(f"k{i} = slope({body}, p, {time_of(row)}, moved(s, {lead!r} * h, {mix}))")
    return lines


def in_space(tableau: Tableau) -> Make:
    """Returns `make(pull)` for quaternion and momentum as seven numbers; only the quaternion's direction matters."""

    def make(pull: Any, carried: tuple[float, ...] = ()) -> tuple[Start, Any]:
        form = form_of(len(carried))
        lead, mix = weighted(tableau.step, "k", "moved")
        lines = [*stage_lines(tableau, first=True), f"return scaled({lead!r} * h, {mix}), memory, OK"]
        names = {"slope": form.slope_of(pull), "moved": form.moved, "scaled": form.scaled, "OK": OK}
        names |= {"bodies_at": bodies_at}
        return nothing, function("change(body, p, t, s, h, memory)", lines, names)

    return make


# --- on the group: rotations relative to the start of the step, as quaternions (1 - e, v)


def followed(a: tuple[float, Vec3], b: tuple[float, Vec3]) -> tuple[float, Vec3]:
    """The rotation a followed by b, both in body axes."""
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


def numbers_moved(count: int) -> Any:
    """Returns `further(z, h, d)`, which is z + h d for tuples of this length."""
    items = "".join(f"fma(h, d[{i}], z[{i}]), " for i in range(count))
    return function("further(z, h, d)", [f"return ({items})"], {"fma": fma})


def numbers_stretched(count: int) -> Any:
    """Returns `longer(h, d)`, which is h d for tuples of this length."""
    return function("longer(h, d)", [f"return ({''.join(f'h * d[{i}], ' for i in range(count))})"], {})


def on_group(tableau: GroupTableau) -> Make:
    """Returns `make(pull)`: rotations move the attitude; the same weights move the body momentum as three numbers."""

    def make(pull: Any, carried: tuple[float, ...] = ()) -> tuple[Start, Any]:
        count = len(carried)
        slope = _rates_of_carried(pull) if carried else _rates_of(pull)
        names: dict[str, Any] = _GROUP_NAMES | {"slope": slope}
        if carried:
            names |= {"further": numbers_moved(count), "longer": numbers_stretched(count)}
        else:
            names.pop("CarriedState")
        return nothing, function("change(body, p, t, s, h, memory)", _group_lines(tableau, carries=count > 0), names)

    return make


_GROUP_NAMES: dict[str, Any] = {
    "State": State, "CarriedState": CarriedState, "OK": OK, "advanced": advanced, "bodies_at": bodies_at,
    "combine": combine, "cross": cross, "exponential": exponential,
    "change_of_attitude": change_of_attitude, "followed": followed, "stretched": stretched,
}  # fmt: skip


def _group_lines(tableau: GroupTableau, *, carries: bool) -> list[str]:
    """Writes the lines of an increment on the group."""
    known: dict[Turn, str] = {}
    state, more = ("CarriedState", ", z{0}") if carries else ("State", "")
    line, bodies = body_lines([total(turns) for turns in tableau.stages])
    lines = [line, f"w0, n0{more.format(0)} = slope({bodies[0]}, p, t, s)"]

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

    def numbers(row: Sequence[Number], form: str) -> str:
        """Writes the carried numbers that belong to this row of weights; nothing if there are none."""
        lead, mix = weighted(row, "z", "further")
        return f", {form.format(lead=lead, mix=mix)}" if carries else ""

    for i, turns in enumerate(tableau.stages[1:], 1):
        row = total(turns)
        lead, mix = weighted(row, "n", "combine")
        lines.append(f"r = {rotation(turns)}")
        z = numbers(row, "further(s.z, {lead!r} * h, {mix})")
        lines.append(f"y = {state}(advanced(s.q, r[0], r[1]), combine(s.m, {lead!r} * h, {mix}){z})")
        lines.append(f"w{i}, n{i}{more.format(i)} = slope({bodies[i]}, p, {time_of(row)}, y)")
    row = total(tableau.step)
    lead, mix = weighted(row, "n", "combine")
    lines.append(f"r = {rotation(tableau.step)}")
    z = numbers(row, "longer({lead!r} * h, {mix})")
    change = f"{state}(change_of_attitude(s.q, r[0], r[1]), stretched({lead!r} * h, {mix}){z})"
    return [*lines, f"return {change}, memory, OK"]


def _rates_of(pull: Pull) -> Any:
    def slope(body: Inertia, p: Params, t: float, s: State) -> tuple[Vec3, Vec3]:
        """The rate, and the time derivative of the momentum."""
        now = body_at(body, p, t)
        w = rate_of(now, s.m)
        return w, combine(cross(s.m, w), 1.0, pull(now, p, t, s))

    return slope


def _rates_of_carried(pull: Any) -> Any:
    def slope(body: Inertia, p: Params, t: float, s: CarriedState) -> tuple[Vec3, Vec3, Any]:
        """The rate, and the time derivatives of the momentum and of the carried numbers."""
        now = body_at(body, p, t)
        w = rate_of(now, s.m)
        n, dz = pull(now, p, t, s)
        return w, combine(cross(s.m, w), 1.0, n), dz

    return slope
