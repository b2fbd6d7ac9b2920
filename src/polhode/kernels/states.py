"""What loops and steps do with states, plain ones and those that carry numbers of a torque.

What is done with states is written once, for any number of carried numbers, which may be none.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import derivative, norm2
from polhode.kernels.algebra.vec import combine, cross
from polhode.kernels.codegen import tuple_of, writer_of
from polhode.kernels.gyrostat import body_at, rate_of
from polhode.kernels.ops import fma, from_lanes, lane, where
from polhode.kernels.types import Inertia, Params, Quat, State, Vec3

STATE = 7
"""The numbers of a plain state: quaternion 4, momentum 3. Carried numbers follow."""

LEAST_SHARE = 1e-6
"""A carried number of no given size that is smaller than this part of the largest one has errors relative to that part:
it may be nothing but round-off."""
NO_ERROR = sys.float_info.max
"""The size of a carried number that has no error of its own, such as a count: others are not compared with it."""
LIKE_THE_LARGEST = -1.0
"""The size of a carried number whose errors are relative to the largest of all, as in the columns of a matrix."""

Slope = Callable[[Inertia, Params, float, State], State]


class StateForm(NamedTuple):
    """How states with a number of carried numbers lie among others."""

    size: int
    """The numbers of a state."""
    load: Callable[[Any, int], State]
    """`load(x, k)` reads a state from the numbers at x[k] and after."""
    store: Callable[[Any, int, State], None]
    """`store(x, k, s)` writes it there."""


def sound(s: State) -> bool:
    """Whether all numbers are finite and the quaternion is near unit length. NaN fails every comparison."""
    n = norm2(s.q)
    good = (n > 0.25) & (n < 4.0) & ((s.m[0] + s.m[1] + s.m[2]) * 0.0 == 0.0)
    return good & (sum(s.z) * 0.0 == 0.0)


def vector_at(x: Any, k: int) -> Vec3:
    """Reads three numbers."""
    return (x[k], x[k + 1], x[k + 2])


def quaternion_at(x: Any, k: int) -> Quat:
    """Reads four numbers."""
    return (x[k], x[k + 1], x[k + 2], x[k + 3])


def put_vector(x: Any, k: int, v: Vec3) -> None:
    """Writes three numbers."""
    x[k] = v[0]
    x[k + 1] = v[1]
    x[k + 2] = v[2]


def put_quaternion(x: Any, k: int, q: Quat) -> None:
    """Writes four numbers."""
    x[k] = q[0]
    x[k + 1] = q[1]
    x[k + 2] = q[2]
    x[k + 3] = q[3]


def load_state(x: Any, k: int) -> State:
    """Reads a state from seven numbers."""
    return State(quaternion_at(x, k), vector_at(x, k + 4))


def store_state(x: Any, k: int, s: State) -> None:
    """Writes a state as seven numbers."""
    put_quaternion(x, k, s.q)
    put_vector(x, k + 4, s.m)


def moved(s: State, h: float, d: State) -> State:
    """s + h d."""
    q, a = s.q, d.q
    r = (fma(h, a[0], q[0]), fma(h, a[1], q[1]), fma(h, a[2], q[2]), fma(h, a[3], q[3]))
    return State(r, combine(s.m, h, d.m), numbers_moved(s.z, h, d.z))


def numbers_moved(z: tuple[float, ...], h: float, d: tuple[float, ...]) -> tuple[float, ...]:
    """z + h d, for any number of numbers."""
    return tuple(fma(h, d[i], z[i]) for i in range(len(z)))


def scaled(h: float, d: State) -> State:
    """h d."""
    q, m = d.q, d.m
    r = (h * q[0], h * q[1], h * q[2], h * q[3])
    return State(r, (h * m[0], h * m[1], h * m[2]), numbers_scaled(h, d.z))


def numbers_scaled(h: float, d: tuple[float, ...]) -> tuple[float, ...]:
    """h d, for any number of numbers."""
    return tuple(h * x for x in d)


def summed(s: State, d: State) -> State:
    """s + d."""
    q, m, a, b = s.q, s.m, d.q, d.m
    z = tuple(s.z[i] + d.z[i] for i in range(len(s.z)))
    return State((q[0] + a[0], q[1] + a[1], q[2] + a[2], q[3] + a[3]), (m[0] + b[0], m[1] + b[1], m[2] + b[2]), z)


def turned(s: State, q: Quat) -> State:
    """The same state with another attitude."""
    return State(q, s.m, s.z)


def chosen(condition: Any, a: State, b: State) -> State:
    """The state a in the lanes where the condition holds, else b."""
    q = tuple(where(condition, a.q[i], b.q[i]) for i in range(4))
    return State(q, tuple(where(condition, a.m[i], b.m[i]) for i in range(3)))


def in_lane(numbers: Any, i: int) -> tuple[float, ...]:
    """The numbers of one lane."""
    return tuple(lane(x, i) for x in numbers)


def from_each(found: Any, count: int) -> tuple[Any, ...]:
    """The numbers that were found for each lane, packed into lanes."""
    return tuple(from_lanes(tuple(x[k] for x in found)) for k in range(count))


def paired(pull: Any, *, carries: bool) -> Callable[[Inertia, Params, float, State], tuple[Vec3, tuple[float, ...]]]:
    """A torque that returns the derivatives of the numbers that it carries as well: none, where it carries none."""

    def both(body: Inertia, p: Params, t: float, s: State) -> tuple[Vec3, tuple[float, ...]]:
        n: Vec3 = pull(body, p, t, s)
        return n, ()

    return pull if carries else both


def slope_of(pull: Any, *, carries: bool = False) -> Slope:
    """The function that computes the time derivatives of quaternion, momentum and carried numbers."""
    both = paired(pull, carries=carries)

    def slope(body: Inertia, p: Params, t: float, s: State) -> State:
        now = body_at(body, p, t)
        w = rate_of(now, s.m)
        n, dz = both(now, p, t, s)
        return State(derivative(s.q, w), combine(cross(s.m, w), 1.0, n), dz)

    return slope


@cache
def form_of(count: int) -> StateForm:
    """The form of states with this number of carried numbers."""
    if count == 0:
        return StateForm(STATE, load_state, store_state)
    read, write = tuple_of(count), writer_of(count)

    def load(x: Any, k: int) -> State:
        s = load_state(x, k)
        return State(s.q, s.m, read(x, k + STATE))

    def store(x: Any, k: int, s: State) -> None:
        store_state(x, k, s)
        write(x, k + STATE, s.z)

    return StateForm(STATE + count, load, store)


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


@cache
def sizes_of(least: tuple[float, ...]) -> CarriedSizes:
    """These functions for carried numbers that count as zero below the sizes `least`, one for each.

    Where the size is 0.0, none was given.
    """
    count = len(least)
    bounded = tuple(i for i, x in enumerate(least) if x != NO_ERROR)

    def of(memory: Any) -> Any:
        return memory[3 : 3 + count]

    def grown(v: Any, s: State) -> Any:
        return tuple(max(v[i], abs(s.z[i])) if least[i] != NO_ERROR else v[i] for i in range(count))

    def units(v: Any) -> Any:
        whole = max(*(v[i] for i in bounded), 0.0, 0.0)
        most = LEAST_SHARE * whole
        return tuple(
            whole if least[i] == LIKE_THE_LARGEST else max(v[i], least[i] if least[i] > 0.0 else most)
            for i in range(count)
        )

    def error(d: State, new: State, v: Any, rtol: float) -> float:
        u = units(grown(v, new))
        most: float = max(*(abs(d.z[i]) / max(rtol * u[i], 1e-300) for i in bounded), 0.0, 0.0)
        return most

    return CarriedSizes(of, grown, error, units)
