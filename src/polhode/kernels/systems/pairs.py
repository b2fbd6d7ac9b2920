"""Forces on systems, as kernels: pairs of sites, springs, gravity, a central body, torques on each body.

A kernel `(t, n, x, q, p, work, g)` adds forces in space and torques in body axes to g; its energy is `(t, n, x, q, p,
work)`. What differs from system to system is data in p, so that one program serves all of them.
"""

from collections.abc import Callable
from functools import lru_cache
from math import erfc, exp, pi, sqrt
from typing import Any

from polhode.kernels.algebra.quat import to_body, to_space
from polhode.kernels.algebra.vec import combine, cross, dot
from polhode.kernels.callback_torques import call_forces
from polhode.kernels.ops import beginning_at, matrix, of_arrays, triple, view
from polhode.kernels.states import put_vector, quaternion_at, vector_at
from polhode.kernels.systems.bodies import Energy, Forces, add_vector
from polhode.kernels.types import Quat, UserTorque, Vec3

# --- pairs of sites

PAIRS_HEAD = 11
"""Numbers in front of the sites: their number, numbers of each, where switching begins, the cutoff, box 3, damping, the
number of kinds of sites, where their table begins, and the energy that bodies have by themselves."""
SITE = 8
"""Numbers of a site before the user's: its body, the first site of the next body, position 3, axis 3. A site without an
axis has its kind there."""


TO_WHOLE = 1.5 * 2.0**52
"""A number of less than 2^51 becomes whole when this is added and taken off again: faster than `round`."""


def nearest(d: float, side: float) -> float:
    """A component of the vector to the nearest image in a periodic box."""
    return d - side * (d * (1.0 / side) + TO_WHOLE - TO_WHOLE)


@lru_cache(maxsize=2)
def separation(*, periodic: bool) -> Callable[[Vec3, Vec3, Vec3], tuple[Vec3, float]]:
    """Returns `apart(x, y, side)`: the vector from x to y, or to its nearest image in a box, and its length."""

    def apart(x: Vec3, y: Vec3, side: Vec3) -> tuple[Vec3, float]:
        d = (y[0] - x[0], y[1] - x[1], y[2] - x[2])
        if periodic:
            d = (nearest(d[0], side[0]), nearest(d[1], side[1]), nearest(d[2], side[2]))
        return d, sqrt(dot(d, d))

    return apart


def switch(r: float, begin: float, end: float) -> tuple[float, float]:
    """The factor that takes a potential smoothly to zero at a cutoff, and its derivative.

    It is 1 - s^3 (10 - 15 s + 6 s^2), whose first two derivatives vanish at both ends.
    """
    s = (r - begin) / (end - begin)
    if s <= 0.0:
        return 1.0, 0.0
    if s >= 1.0:
        return 0.0, 0.0
    return 1.0 - s * s * s * (10.0 - s * (15.0 - 6.0 * s)), -30.0 * s * s * (1.0 - s) * (1.0 - s) / (end - begin)


@lru_cache(maxsize=64)
def switched(value: Callable[..., Any], slope: Callable[..., Any]) -> tuple[Any, Any]:
    """Returns V(r) and V with its derivative, taken to zero by `switch`."""

    def switched_value(r: float, p: Any, a: int, b: int) -> float:
        return float(value(r, p, a, b) * switch(r, p[2], p[3])[0])

    def switched_slope(r: float, p: Any, a: int, b: int) -> tuple[float, float]:
        (v, dv), (factor, change) = slope(r, p, a, b), switch(r, p[2], p[3])
        return v * factor, dv * factor + v * change

    return switched_value, switched_slope


@lru_cache(maxsize=64)
def switched_directed(value: Callable[..., Any], slope: Callable[..., Any]) -> tuple[Any, Any]:
    """Returns V(d, u, w) and V with its derivatives, taken to zero by `switch`."""

    def switched_value(d: Vec3, u: Vec3, w: Vec3, p: Any, a: int, b: int) -> float:
        return float(value(d, u, w, p, a, b) * switch(sqrt(dot(d, d)), p[2], p[3])[0])

    def switched_slope(d: Vec3, u: Vec3, w: Vec3, p: Any, a: int, b: int) -> Any:
        r = sqrt(dot(d, d))
        v, vd, vu, vw = slope(d, u, w, p, a, b)
        factor, change = switch(r, p[2], p[3])
        c = v * change / r
        vd = (factor * vd[0] + c * d[0], factor * vd[1] + c * d[1], factor * vd[2] + c * d[2])
        vu = (factor * vu[0], factor * vu[1], factor * vu[2])
        return v * factor, vd, vu, (factor * vw[0], factor * vw[1], factor * vw[2])

    return switched_value, switched_slope


@lru_cache(maxsize=64)
def damped(value: Callable[..., Any], slope: Callable[..., Any]) -> tuple[Any, Any]:
    """Returns V(r) erfc(k r) with the damping k, and the same with its derivative.  [wolf1999]"""

    def damped_value(r: float, p: Any, a: int, b: int) -> float:
        return float(value(r, p, a, b) * erfc(p[7] * r))

    def damped_slope(r: float, p: Any, a: int, b: int) -> tuple[float, float]:
        (v, dv), x = slope(r, p, a, b), p[7] * r
        factor = erfc(x)
        return v * factor, dv * factor - v * (TWO_OVER_ROOT_PI * p[7] * exp(-x * x))

    return damped_value, damped_slope


TWO_OVER_ROOT_PI = 2.0 / sqrt(pi)


@lru_cache(maxsize=64)
def shifted(value: Callable[..., Any], slope: Callable[..., Any]) -> tuple[Any, Any]:
    """Returns V(r) - V(c) - (r - c) V'(c) with the cutoff c: neither energy nor force jumps there. [fennell2006]

    V(c) and V'(c) are in the table, for every pair of kinds of sites.
    """

    def at_cutoff(p: Any, a: int, b: int) -> int:
        return int(p[9] + 2.0 * (p[8] * p[a - 3] + p[b - 3]))

    def shifted_value(r: float, p: Any, a: int, b: int) -> float:
        k = at_cutoff(p, a, b)
        return float(value(r, p, a, b) - p[k] - (r - p[3]) * p[k + 1])

    def shifted_slope(r: float, p: Any, a: int, b: int) -> tuple[float, float]:
        (v, dv), k = slope(r, p, a, b), at_cutoff(p, a, b)
        return v - p[k] - (r - p[3]) * p[k + 1], dv - p[k + 1]

    return shifted_value, shifted_slope


@lru_cache(maxsize=64)
def along_line(value: Callable[..., Any]) -> Callable[..., float]:
    """A potential of the distance with the arguments of one of directions."""

    def directed_value(d: Vec3, u: Vec3, w: Vec3, p: Any, a: int, b: int) -> float:
        return float(value(sqrt(dot(d, d)), p, a, b))

    return directed_value


@lru_cache(maxsize=64)
def slope_along_line(slope: Callable[..., Any]) -> Callable[..., Any]:
    """A potential of the distance and its derivative, with the arguments and results of one of directions."""

    def directed_slope(d: Vec3, u: Vec3, w: Vec3, p: Any, a: int, b: int) -> Any:
        r = sqrt(dot(d, d))
        v, dv = slope(r, p, a, b)
        c, none = dv / r, (0.0, 0.0, 0.0)
        return v, (c * d[0], c * d[1], c * d[2]), none, none

    return directed_slope


def place_sites(n: int, x: Any, q: Any, p: Any, work: Any, directed: bool) -> None:
    """Writes the positions of all sites to the room, zeros behind them, and their axes in space if there are any."""
    count, stride = int(p[0]), SITE + int(p[1])
    for a in range(count):
        k = PAIRS_HEAD + stride * a
        i = int(p[k])
        turn, here = quaternion_at(q, 4 * i), vector_at(x, 3 * i)
        put_vector(work, 3 * a, combine(here, 1.0, to_space(turn, vector_at(p, k + 2))))
        put_vector(work, 3 * (count + a), (0.0, 0.0, 0.0))
        if directed:
            put_vector(work, 3 * (2 * count + a), to_space(turn, vector_at(p, k + 5)))
            put_vector(work, 3 * (3 * count + a), (0.0, 0.0, 0.0))


def collect_sites(n: int, q: Any, p: Any, work: Any, g: Any, directed: bool) -> None:
    """Adds the forces on sites to the forces and torques on their bodies."""
    count, stride = int(p[0]), SITE + int(p[1])
    for a in range(count):
        k = PAIRS_HEAD + stride * a
        i = int(p[k])
        f, turn = vector_at(work, 3 * (count + a)), quaternion_at(q, 4 * i)
        add_vector(g, 3 * i, f)
        torque = cross(vector_at(p, k + 2), to_body(turn, f))
        if directed:  # the derivative by the axis, as a force at its tip
            torque = combine(
                torque, 1.0, cross(vector_at(p, k + 5), to_body(turn, vector_at(work, 3 * (3 * count + a))))
            )
        add_vector(g, 3 * (n + i), torque)


@lru_cache(maxsize=64)
def radial_pairs(slope: Callable[..., Any], *, cut: bool, periodic: bool) -> Forces:
    """The forces between sites by a potential of their distance: `slope(r, p, a, b)` is V and dV/dr."""
    apart = separation(periodic=periodic)

    def forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
        count, stride = int(p[0]), SITE + int(p[1])
        cutoff, side = p[3], vector_at(p, 4)
        place_sites(n, x, q, p, work, False)
        for a in range(count):
            k = PAIRS_HEAD + stride * a
            xa, fa = vector_at(work, 3 * a), (0.0, 0.0, 0.0)
            for b in range(int(p[k + 1]), count):
                d, r = apart(xa, vector_at(work, 3 * b), side)
                if cut and r >= cutoff:
                    continue
                c = slope(r, p, k + SITE, PAIRS_HEAD + stride * b + SITE)[1] / r
                f = (c * d[0], c * d[1], c * d[2])
                fa = (fa[0] + f[0], fa[1] + f[1], fa[2] + f[2])
                add_vector(work, 3 * (count + b), (-f[0], -f[1], -f[2]))
            add_vector(work, 3 * (count + a), fa)
        collect_sites(n, q, p, work, g, False)

    return forces


@lru_cache(maxsize=64)
def directed_pairs(slope: Callable[..., Any], *, cut: bool, periodic: bool) -> Forces:
    """The forces between sites with axes: `slope(d, u, w, p, a, b)` is V and its derivatives by d, u and w."""
    apart = separation(periodic=periodic)

    def forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
        count, stride = int(p[0]), SITE + int(p[1])
        cutoff, side = p[3], vector_at(p, 4)
        place_sites(n, x, q, p, work, True)
        for a in range(count):
            k = PAIRS_HEAD + stride * a
            u = vector_at(work, 3 * (2 * count + a))
            for b in range(int(p[k + 1]), count):
                d, r = apart(vector_at(work, 3 * a), vector_at(work, 3 * b), side)
                if cut and r >= cutoff:
                    continue
                w = vector_at(work, 3 * (2 * count + b))
                _, vd, vu, vw = slope(d, u, w, p, k + SITE, PAIRS_HEAD + stride * b + SITE)
                add_vector(work, 3 * (count + a), vd)
                add_vector(work, 3 * (count + b), (-vd[0], -vd[1], -vd[2]))
                add_vector(work, 3 * (3 * count + a), (-vu[0], -vu[1], -vu[2]))
                add_vector(work, 3 * (3 * count + b), (-vw[0], -vw[1], -vw[2]))
        collect_sites(n, q, p, work, g, True)

    return forces


@lru_cache(maxsize=64)
def pairs_of_bodies(slope: Callable[..., Any], *, directed: bool, periodic: bool) -> Forces:
    """The forces between all sites of two bodies, if their centres of mass are nearer than the cutoff.

    With E, the sum of `slope(d, u, w, p, a, b)[0]` over the sites of two bodies, and S, the factor that switches them
    off at the distance r of their centres, the energy is S(r) E: sites are pushed by S grad E, centres by E grad S. All
    sites of a body belong to the image whose centre is nearest.
    """
    apart = separation(periodic=periodic)

    def forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
        count, stride = int(p[0]), SITE + int(p[1])
        cutoff, side = p[3], vector_at(p, 4)
        place_sites(n, x, q, p, work, directed)
        first = 0
        while first < count:
            k = PAIRS_HEAD + stride * first
            i, other = int(p[k]), int(p[k + 1])
            beyond, here = other, vector_at(x, 3 * i)
            while other < count:
                m = PAIRS_HEAD + stride * other
                j, begin, end = int(p[m]), other, int(p[m + 1])
                other = end
                there = vector_at(x, 3 * j)
                d, r = apart(here, there, side)
                if r >= cutoff:
                    continue
                factor, change = switch(r, p[2], cutoff)
                image = (here[0] + d[0] - there[0], here[1] + d[1] - there[1], here[2] + d[2] - there[2])
                total = 0.0
                for a in range(first, beyond):
                    xa = combine(image, -1.0, vector_at(work, 3 * a))
                    u = vector_at(work, 3 * (2 * count + a)) if directed else image
                    for b in range(begin, end):
                        w = vector_at(work, 3 * (2 * count + b)) if directed else image
                        at = PAIRS_HEAD + stride * a + SITE, PAIRS_HEAD + stride * b + SITE
                        v, vd, vu, vw = slope(combine(xa, 1.0, vector_at(work, 3 * b)), u, w, p, at[0], at[1])
                        total += v
                        push = (factor * vd[0], factor * vd[1], factor * vd[2])
                        add_vector(work, 3 * (count + a), push)
                        add_vector(work, 3 * (count + b), (-push[0], -push[1], -push[2]))
                        if directed:
                            turn = (-factor * vu[0], -factor * vu[1], -factor * vu[2])
                            add_vector(work, 3 * (3 * count + a), turn)
                            turn = (-factor * vw[0], -factor * vw[1], -factor * vw[2])
                            add_vector(work, 3 * (3 * count + b), turn)
                c = total * change / r
                add_vector(g, 3 * i, (c * d[0], c * d[1], c * d[2]))
                add_vector(g, 3 * j, (-c * d[0], -c * d[1], -c * d[2]))
            first = beyond
        collect_sites(n, q, p, work, g, directed)

    return forces


@lru_cache(maxsize=64)
def pair_energy(potential: Callable[..., Any], *, directed: bool, by_body: bool, cut: bool, periodic: bool) -> Energy:
    """The energy of all pairs, by `potential(d, u, w, p, a, b)`; it is that of the forces of the same kind."""
    apart = separation(periodic=periodic)

    def energy(t: float, n: int, x: Any, q: Any, p: Any, work: Any) -> float:
        count, stride = int(p[0]), SITE + int(p[1])
        cutoff, side = p[3], vector_at(p, 4)
        place_sites(n, x, q, p, work, directed)
        total = float(p[10])
        for a in range(count):
            k = PAIRS_HEAD + stride * a
            for b in range(int(p[k + 1]), count):
                m, factor = PAIRS_HEAD + stride * b, 1.0
                d, r = apart(vector_at(work, 3 * a), vector_at(work, 3 * b), side)
                if by_body:
                    here, there = vector_at(x, 3 * int(p[k])), vector_at(x, 3 * int(p[m]))
                    away, r = apart(here, there, side)
                    from_here, from_there = combine(vector_at(work, 3 * a), -1.0, here), combine(there, -1.0, away)
                    d = combine(combine(vector_at(work, 3 * b), -1.0, from_there), -1.0, from_here)
                    factor = switch(r, p[2], cutoff)[0]
                if cut and r >= cutoff:
                    continue
                u = vector_at(work, 3 * (2 * count + a)) if directed else d
                w = vector_at(work, 3 * (2 * count + b)) if directed else d
                total += factor * potential(d, u, w, p, k + SITE, m + SITE)
        return total

    return energy


@lru_cache(maxsize=64)
def by_hand(potential: Callable[..., Any], slope: Callable[..., Any], count: int, *, directed: bool) -> tuple[Any, Any]:
    """A user's V(r, a, b), or V(d, u, w, a, b), and V with derivatives that were given, as kernels."""

    def value(*given: Any) -> float:
        p, a, b = given[-3:]
        return float(potential(*given[:-3], view(beginning_at(p, a), count), view(beginning_at(p, b), count)))

    def value_and_slope(*given: Any) -> Any:
        p, a, b = given[-3:]
        one, other = view(beginning_at(p, a), count), view(beginning_at(p, b), count)
        v, dv = float(potential(*given[:-3], one, other)), slope(*given[:-3], one, other)
        return (v, triple(dv[0]), triple(dv[1]), triple(dv[2])) if directed else (v, float(dv))

    return value, value_and_slope


# --- springs

SPRING = 10
"""Numbers of a spring: body and point, twice, stiffness, length at rest; the second body is -1 for a point in space."""


def spring_ends(x: Any, q: Any, p: Any, k: int) -> tuple[int, int, Vec3, Vec3]:
    """The bodies of a spring and its ends in space."""
    i, j = int(p[k]), int(p[k + 4])
    a = combine(vector_at(x, 3 * i), 1.0, to_space(quaternion_at(q, 4 * i), vector_at(p, k + 1)))
    b = vector_at(p, k + 5)
    if j >= 0:
        b = combine(vector_at(x, 3 * j), 1.0, to_space(quaternion_at(q, 4 * j), b))
    return i, j, a, b


def spring_forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
    """Springs between points of bodies: a force k (r - length) along each."""
    for s in range(int(p[0])):
        k = 1 + SPRING * s
        i, j, a, b = spring_ends(x, q, p, k)
        d = combine(b, -1.0, a)
        r = sqrt(dot(d, d))
        c = p[k + 8] * (1.0 if p[k + 9] == 0.0 else (r - p[k + 9]) / r)
        f = (c * d[0], c * d[1], c * d[2])
        add_vector(g, 3 * i, f)
        add_vector(g, 3 * (n + i), cross(vector_at(p, k + 1), to_body(quaternion_at(q, 4 * i), f)))
        if j >= 0:
            f = (-f[0], -f[1], -f[2])
            add_vector(g, 3 * j, f)
            add_vector(g, 3 * (n + j), cross(vector_at(p, k + 5), to_body(quaternion_at(q, 4 * j), f)))


def spring_energy(t: float, n: int, x: Any, q: Any, p: Any, work: Any) -> float:
    """k (r - length)^2 / 2."""
    total = 0.0
    for s in range(int(p[0])):
        k = 1 + SPRING * s
        _, _, a, b = spring_ends(x, q, p, k)
        d = combine(b, -1.0, a)
        stretch = sqrt(dot(d, d)) - p[k + 9]
        total += 0.5 * p[k + 8] * stretch * stretch
    return total


# --- gravity


def gravity_forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
    """m g, with g in p[0:3] and the masses behind it; no torque about the centre of mass."""
    for i in range(n):
        m = p[3 + i]
        add_vector(g, 3 * i, (m * p[0], m * p[1], m * p[2]))


def gravity_energy(t: float, n: int, x: Any, q: Any, p: Any, work: Any) -> float:
    """-m g . x."""
    total = 0.0
    for i in range(n):
        total -= p[3 + i] * dot(vector_at(p, 0), vector_at(x, 3 * i))
    return total


CENTRAL_HEAD, CENTRAL_BODY = 4, 7
"""Numbers of a central body: its parameter and position; for each body: its mass and its tensor xx, yy, zz, yz, xz,
xy."""


def tensor_times(p: Any, k: int, v: Vec3) -> Vec3:
    """Returns I v for a tensor that is stored as xx, yy, zz, yz, xz, xy."""
    return (
        p[k] * v[0] + p[k + 5] * v[1] + p[k + 4] * v[2],
        p[k + 5] * v[0] + p[k + 1] * v[1] + p[k + 3] * v[2],
        p[k + 4] * v[0] + p[k + 3] * v[1] + p[k + 2] * v[2],
    )


def central_forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
    """The attraction of a body of finite size by a mass point, to second order in size over distance.

    V = -mu m / r - mu (tr I - 3 e . I e) / (2 r^3), with the direction e from the centre (MacCullagh). Its gradient is
    the force; the torque is 3 mu e x I e / r^3.
    """
    for i in range(n):
        k = CENTRAL_HEAD + CENTRAL_BODY * i
        d = combine(vector_at(x, 3 * i), -1.0, vector_at(p, 1))
        r = sqrt(dot(d, d))
        e = (d[0] / r, d[1] / r, d[2] / r)
        turn = quaternion_at(q, 4 * i)
        inside = to_body(turn, e)
        ie = tensor_times(p, k + 1, inside)
        trace, along, c = p[k + 1] + p[k + 2] + p[k + 3], dot(inside, ie), 3.0 * p[0] / (r * r * r)
        pull, out = -p[0] * p[k] / (r * r) - 0.5 * c * (trace - 5.0 * along) / r, to_space(turn, ie)
        add_vector(g, 3 * i, combine((pull * e[0], pull * e[1], pull * e[2]), -c / r, out))
        torque = cross(inside, ie)
        add_vector(g, 3 * (n + i), (c * torque[0], c * torque[1], c * torque[2]))


def central_energy(t: float, n: int, x: Any, q: Any, p: Any, work: Any) -> float:
    """-mu m / r - mu (tr I - 3 e . I e) / (2 r^3)."""
    total = 0.0
    for i in range(n):
        k = CENTRAL_HEAD + CENTRAL_BODY * i
        d = combine(vector_at(x, 3 * i), -1.0, vector_at(p, 1))
        r = sqrt(dot(d, d))
        inside = to_body(quaternion_at(q, 4 * i), (d[0] / r, d[1] / r, d[2] / r))
        along = dot(inside, tensor_times(p, k + 1, inside))
        total -= p[0] * p[k] / r + 0.5 * p[0] * (p[k + 1] + p[k + 2] + p[k + 3] - 3.0 * along) / (r * r * r)
    return total


# --- torques on each body, and users' functions


@lru_cache(maxsize=64)
def torques_on_each(torque: UserTorque, *, windowed: bool = False) -> Forces:
    """A torque that acts on every body; p has the number of its parameters, then those for each body.

    Where it jumps, the times between which it is asked stand before them: see `principal_torque`.
    """
    head = 3 if windowed else 1

    def forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
        count = int(p[0])
        if windowed:
            t = min(max(t, p[1]), p[2])
        for i in range(n):
            turn: Quat = quaternion_at(q, 4 * i)
            own = view(beginning_at(p, head + count * i), count)
            add_vector(g, 3 * (n + i), triple(torque(t, turn, (0.0, 0.0, 0.0), own)))

    return forces


@lru_cache(maxsize=64)
def energy_of_each(potential: Callable[..., float], *, windowed: bool = False) -> Energy:
    """The energy of the same."""
    head = 3 if windowed else 1

    def energy(t: float, n: int, x: Any, q: Any, p: Any, work: Any) -> float:
        count, total = int(p[0]), 0.0
        for i in range(n):
            total += potential(t, quaternion_at(q, 4 * i), view(beginning_at(p, head + count * i), count))
        return total

    return energy


WRONG_SHAPE = "forces and torques must both have the shape (bodies, 3)"


@lru_cache(maxsize=64)
def forces_of_arrays(function: Callable[..., Any]) -> Forces:
    """A user's function of arrays: `f(t, x, q, p)` returns forces and torques. p begins with its length."""

    @of_arrays
    def added(t: float, n: int, x: Any, q: Any, p: Any, g: Any) -> None:
        force, torque = function(t, x, q, p)
        if force.shape[0] != n or force.shape[1] != 3 or torque.shape[0] != n or torque.shape[1] != 3:
            raise ValueError(WRONG_SHAPE)
        for i in range(n):
            for k in range(3):
                g[3 * i + k] += force[i, k]
                g[3 * (n + i) + k] += torque[i, k]

    def forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
        added(t, n, matrix(x, n, 3), matrix(q, n, 4), view(beginning_at(p, 1), int(p[0])), g)

    return forces


@lru_cache(maxsize=64)
def energy_of_arrays(potential: Callable[..., float]) -> Energy:
    """The potential `V(t, x, q, p)` of a user's function of arrays."""

    def energy(t: float, n: int, x: Any, q: Any, p: Any, work: Any) -> float:
        return float(potential(t, matrix(x, n, 3), matrix(q, n, 4), view(beginning_at(p, 1), int(p[0]))))

    return energy


def outside_forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
    """Forces outside of the program, called by the address at the beginning of p."""
    for k in range(6 * n):
        work[k] = 0.0
    call_forces(t, n, x, q, p, work)
    for k in range(6 * n):
        g[k] += work[k]
