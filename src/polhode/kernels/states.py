"""What loops and steps do with states, plain ones and those that carry numbers of a torque.

A `StateForm` has all of it for a given number of carried numbers. The functions for plain states are written here; the
others are written by hand nowhere, because they differ in the number of their terms only: their text is made.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import derivative, norm2
from polhode.kernels.algebra.vec import combine, cross
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import body_at, rate_of
from polhode.kernels.ops import fma
from polhode.kernels.types import CarriedState, Inertia, Params, Pull, Quat, State, Vec3

STATE = 7
"""The numbers of a plain state: quaternion 4, momentum 3. Carried numbers follow."""

LEAST_SHARE = 1e-6
"""A carried number of no given size that is smaller than this part of the largest one has errors relative to that part:
it may be nothing but round-off."""
NO_ERROR = sys.float_info.max
"""The size of a carried number that has no error of its own, such as a count: others are not compared with it."""
LIKE_THE_LARGEST = -1.0
"""The size of a carried number whose errors are relative to the largest of all, as in the columns of a matrix."""

Slope = Callable[[Inertia, Params, float, Any], Any]


class StateForm(NamedTuple):
    """The functions for states with a number of carried numbers."""

    carried: int
    size: int
    """The numbers of a state."""
    load: Callable[[Any, int], Any]
    """`load(x, k)` reads a state from the numbers at x[k] and after."""
    store: Callable[[Any, int, Any], None]
    """`store(x, k, s)` writes it there."""
    sound: Callable[[Any], bool]
    """Whether all numbers are finite and the quaternion is near unit length."""
    moved: Callable[[Any, float, Any], Any]
    """`moved(s, h, d)` is s + h d."""
    scaled: Callable[[float, Any], Any]
    """`scaled(h, d)` is h d."""
    summed: Callable[[Any, Any], Any]
    """`summed(s, d)` is s + d."""
    turned: Callable[[Any, Quat], Any]
    """`turned(s, q)` is the same state with another attitude."""
    slope_of: Callable[[Any], Slope]
    """The function that computes the time derivatives of a state."""


def sound(s: State) -> bool:
    """Whether all numbers are finite and the quaternion is near unit length. NaN fails every comparison."""
    n = norm2(s.q)
    return (n > 0.25) & (n < 4.0) & ((s.m[0] + s.m[1] + s.m[2]) * 0.0 == 0.0)


def load_state(x: Any, k: int) -> State:
    """Reads a state from seven numbers."""
    return State((x[k], x[k + 1], x[k + 2], x[k + 3]), (x[k + 4], x[k + 5], x[k + 6]))


def store_state(x: Any, k: int, s: State) -> None:
    """Writes a state as seven numbers."""
    q: Quat = s.q
    m: Vec3 = s.m
    x[k] = q[0]
    x[k + 1] = q[1]
    x[k + 2] = q[2]
    x[k + 3] = q[3]
    x[k + 4] = m[0]
    x[k + 5] = m[1]
    x[k + 6] = m[2]


def moved(s: State, h: float, d: State) -> State:
    """s + h d."""
    q, a = s.q, d.q
    return State((fma(h, a[0], q[0]), fma(h, a[1], q[1]), fma(h, a[2], q[2]), fma(h, a[3], q[3])), combine(s.m, h, d.m))


def scaled(h: float, d: State) -> State:
    """h d."""
    q, m = d.q, d.m
    return State((h * q[0], h * q[1], h * q[2], h * q[3]), (h * m[0], h * m[1], h * m[2]))


def summed(s: State, d: State) -> State:
    """s + d."""
    q, m, a, b = s.q, s.m, d.q, d.m
    return State((q[0] + a[0], q[1] + a[1], q[2] + a[2], q[3] + a[3]), (m[0] + b[0], m[1] + b[1], m[2] + b[2]))


def turned(s: State, q: Quat) -> State:
    """The same state with another attitude."""
    return State(q, s.m)


def slope_of(pull: Pull) -> Callable[[Inertia, Params, float, State], State]:
    """The function that computes the time derivatives of quaternion and momentum."""

    def slope(body: Inertia, p: Params, t: float, s: State) -> State:
        now = body_at(body, p, t)
        w = rate_of(now, s.m)
        return State(derivative(s.q, w), combine(cross(s.m, w), 1.0, pull(now, p, t, s)))

    return slope


def _slope_of_carried(pull: Any) -> Slope:
    """The function that computes the time derivatives of quaternion, momentum and carried numbers."""

    def slope(body: Inertia, p: Params, t: float, s: CarriedState) -> CarriedState:
        now = body_at(body, p, t)
        w = rate_of(now, s.m)
        n, dz = pull(now, p, t, s)
        return CarriedState(derivative(s.q, w), combine(cross(s.m, w), 1.0, n), dz)

    return slope


_NAMES = {
    "CarriedState": CarriedState, "combine": combine, "fma": fma, "load_state": load_state, "scaled": scaled,
    "sound": sound, "store_state": store_state, "summed": summed,
}  # fmt: skip


@cache
def form_of(count: int) -> StateForm:
    """The functions for states with this number of carried numbers."""
    if count == 0:
        return StateForm(0, STATE, load_state, store_state, sound, moved, scaled, summed, turned, slope_of)
    places = range(count)

    def made(head: str, lines: Sequence[str]) -> Any:
        return function(head, lines, {k: v for k, v in _NAMES.items() if any(k in line for line in lines)})

    def row(item: str) -> str:
        return f"({''.join(f'{item.format(i)}, ' for i in places)})"

    numbers = f"({''.join(f'x[k + {STATE + i}], ' for i in places)})"
    total = " + ".join(f"z[{i}]" for i in places)
    return StateForm(
        count,
        STATE + count,
        made("load(x, k)", ["s = load_state(x, k)", f"return CarriedState(s.q, s.m, {numbers})"]),
        made("store(x, k, s)", ["z = s.z", "store_state(x, k, s)", *(f"x[k + {STATE + i}] = z[{i}]" for i in places)]),
        made("is_sound(s)", ["z = s.z", f"return sound(s) & (({total}) * 0.0 == 0.0)"]),
        made(
            "moved(s, h, d)",
            [
                "q, a, z, b = s.q, d.q, s.z, d.z",
                "r = (fma(h, a[0], q[0]), fma(h, a[1], q[1]), fma(h, a[2], q[2]), fma(h, a[3], q[3]))",
                f"return CarriedState(r, combine(s.m, h, d.m), {row('fma(h, b[{0}], z[{0}])')})",
            ],
        ),
        made("times(h, d)", ["z, s = d.z, scaled(h, d)", f"return CarriedState(s.q, s.m, {row('h * z[{0}]')})"]),
        made("total(s, d)", [
                "y, z, b = summed(s, d), s.z, d.z",
                f"return CarriedState(y.q, y.m, {row('z[{0}] + b[{0}]')})",
            ]),
        made("turned(s, q)", ["return CarriedState(q, s.m, s.z)"]),
        _slope_of_carried,
    )  # fmt: skip


class CarriedSizes(NamedTuple):
    """How the largest sizes so far of carried numbers, to which their errors are relative, are kept and used."""

    of: Callable[[Any], Any]
    """`of(memory)` reads them from a memory, in which they follow three other numbers."""
    grown: Callable[[Any, Any], Any]
    """`grown(sizes, s)` are the sizes with those of a state among them."""
    error: Callable[[Any, Any, Any, float], float]
    """`error(d, new, sizes, rtol)` is the largest of the errors d.z, in units of the tolerance."""
    units: Callable[[Any], Any]
    """`units(sizes)` are the sizes to which errors are relative."""
    nothing: str
    """The text of sizes at the very start: zeros, each followed by a comma."""
    text: str
    """The text of the sizes as items of a tuple, each followed by a comma."""


@cache
def sizes_of(least: tuple[float, ...]) -> CarriedSizes:
    """Returns these functions for carried numbers that count as zero below the sizes `least`, one for each.

    Where the size is 0.0, none was given.
    """
    places = range(len(least))
    tops = "".join(f"v[{i}], " for i, x in enumerate(least) if x != NO_ERROR)
    each = "".join(
        "whole, " if x == LIKE_THE_LARGEST else f"max(v[{i}], {repr(x) if x > 0.0 else 'most'}), "
        for i, x in enumerate(least)
    )
    largest = [f"whole = max({tops}0.0, 0.0)", f"most = {LEAST_SHARE!r} * whole"]
    units = function("units(v)", [*largest, f"return ({each})"], {})
    grown = function("grown(v, s)", [f"return ({''.join(f'max(v[{i}], abs(s.z[{i}])), ' for i in places)})"], {})
    of = function("of(memory)", [f"return ({''.join(f'memory[{3 + i}], ' for i in places)})"], {})
    ratios = ", ".join(f"abs(d.z[{i}]) / max(rtol * u[{i}], 1e-300)" for i in places)
    error = function(
        "error(d, new, v, rtol)",
        ["u = units(grown(v, new))", f"return max({ratios}, 0.0)"] if len(least) else ["return 0.0"],
        {"units": units, "grown": grown} if len(least) else {},
    )
    return CarriedSizes(of, grown, error, units, "0.0, " * len(least), "".join(f"v[{i}], " for i in places))
