"""Tangents of steps: how a step changes with its start, as the derivative of the discrete map, in its own variables.

A column is a change of the state: zeta, the rotation vector of the attitude in space axes (R becomes exp(zeta) R), and
dL, that of the angular momentum in space axes. All columns move together, as lanes of one value. Under the flow of any
energy that depends on the body's momentum m alone, L is constant, and so is dL; with R dm = dL - zeta x L,

    zeta(h) = zeta(0) + C (dL - zeta(0) x L),

with one matrix C for all columns. For the free flow, with P = R(h) (dm(h)/dm(0)) R(0)^T and the rate w in space,
C = ([L x] (1 - P) + h L w^T) / G^2: the turn about the angular momentum is the time times the change of the energy, and
no integral is differentiated. For a turn about a body axis e, C = h e e^T / I. A kick is the torque in space N(q, w, p)
for a time: dL += h dN. Composed, these are the derivative of the composition: symplectic where that is.

Steps of other methods take columns as carried numbers, in the variables that they are linear in: quaternion and body
momentum, whose differential equations are those of `slopes_of`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import nan, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import advanced, conjugate, multiply, to_space
from polhode.kernels.algebra.trig import half_turn
from polhode.kernels.algebra.vec import combine, cross, dot, placed, times
from polhode.kernels.callback_torques import apart
from polhode.kernels.codegen import function
from polhode.kernels.free.exact_flow import (
    NOTHING_MOVES,
    Resolution,
    constants_of_motion,
    cuts,
    differences,
    excess,
    finest,
    increment,
    needed,
    series_coefficients,
)
from polhode.kernels.gyrostat import rate_of, veer
from polhode.kernels.ops import fma, lane, row_of, scratch, section, view
from polhode.kernels.steps.flows import (
    HEADROOM,
    RANKED,
    TOO_MANY_PIECES,
    free,
    spherical,
    spin1,
    spin2,
    spin3,
    symmetric,
)
from polhode.kernels.types import Flow, Inertia, Params, Quat, Scales, State, UserTorque, Vec3

Matrix = tuple[Vec3, Vec3, Vec3]
Rows = tuple[Any, Any, Any]
"""A vector for each column: three values, each with a lane for every column."""


class TangentState(NamedTuple):
    """A state with columns: how it changes."""

    q: Quat
    m: Vec3
    zeta: Rows
    dL: Rows


# --- small matrices ------------------------------------------------------------------------------------------------


def _scaled(h: float, v: Vec3) -> Vec3:
    return (h * v[0], h * v[1], h * v[2])


def rotation_less_one(w: float, v: Vec3) -> Matrix:
    """R - 1, for a quaternion (w, v) of unit length: 2 w [v x] + 2 [v x]^2."""
    (x, y, z), (a, b, c) = v, _scaled(2.0, v)
    return (
        (-fma(b, y, c * z), fma(a, y, -(c * w)), fma(a, z, b * w)),
        (fma(a, y, c * w), -fma(a, x, c * z), fma(b, z, -(a * w))),
        (fma(a, z, -(b * w)), fma(b, z, a * w), -fma(a, x, b * y)),
    )


def matrix_of(q: Quat) -> Matrix:
    """R, for a quaternion of unit length."""
    a, b, c = rotation_less_one(q[0], (q[1], q[2], q[3]))
    return ((1.0 + a[0], a[1], a[2]), (b[0], 1.0 + b[1], b[2]), (c[0], c[1], 1.0 + c[2]))


def transposed(A: Matrix) -> Matrix:
    """A^T."""
    (a, b, c), (d, e, f), (g, h, i) = A
    return ((a, d, g), (b, e, h), (c, f, i))


def applied(A: Matrix, v: Any) -> Any:
    """A v, for a vector or for rows."""
    return (dot(A[0], v), dot(A[1], v), dot(A[2], v))


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    T = transposed(B)
    return transposed((applied(A, T[0]), applied(A, T[1]), applied(A, T[2])))


def summed(A: Matrix, h: float, B: Matrix) -> Matrix:
    """A + h B."""
    return (combine(A[0], h, B[0]), combine(A[1], h, B[1]), combine(A[2], h, B[2]))


def outer(a: Vec3, b: Vec3) -> Matrix:
    """a b^T."""
    return (_scaled(a[0], b), _scaled(a[1], b), _scaled(a[2], b))


def crossing(v: Vec3) -> Matrix:
    """[v x]."""
    return ((0.0, -v[2], v[1]), (v[2], 0.0, -v[0]), (-v[1], v[0], 0.0))


# --- flows -----------------------------------------------------------------------------------------------------------


def turned_columns(s: TangentState, new: State, L: Vec3, C: Matrix) -> TangentState:
    """The columns after a flow with the matrix C."""
    v = combine(s.dL, -1.0, cross(s.zeta, L))
    c = applied(C, v)
    return TangentState(new.q, new.m, (s.zeta[0] + c[0], s.zeta[1] + c[1], s.zeta[2] + c[2]), s.dL)


def freely(body: Inertia, s: TangentState, new: State, D: Matrix, E: Matrix, h: float) -> TangentState:
    """The columns after a free flow (without a rotor) from s to `new`, with R(h) = R(0) (1 + D), dm(h)/dm(0) = 1 + E.

    D and E keep the digits of short steps: P - 1 = R(0) (D + E + D E) R(0)^T.
    """
    i, m = body.inverse, s.m
    R, size = matrix_of(s.q), dot(m, m)
    B: Matrix = ((h * i[0], 0.0, 0.0), (0.0, h * i[1], 0.0), (0.0, 0.0, h * i[2]))
    if size > 0.0:
        w, g = times(m, i), 1.0 / size
        P = transposed(summed(summed(D, 1.0, E), 1.0, product(D, E)))
        K = transposed((cross(m, P[0]), cross(m, P[1]), cross(m, P[2])))
        x, y, z = h * g * m[0], h * g * m[1], h * g * m[2]
        B = (
            combine(_scaled(-g, K[0]), x, w), combine(_scaled(-g, K[1]), y, w), combine(_scaled(-g, K[2]), z, w)
        )  # fmt: skip
    return turned_columns(s, new, applied(R, m), product(product(R, B), transposed(R)))


@cache
def _series(terms: int) -> Callable[[float, float], tuple[float, float, float]]:
    """Returns `f(S, q)`: p(h) / h of the addition theorem, with its derivatives by S and q."""
    total: dict[tuple[int, int], float] = {}
    for polynomial in series_coefficients(terms):
        total |= {key: float(x) for key, x in polynomial.items()}
    by_S = {(i - 1, j): i * x for (i, j), x in total.items() if i}
    by_q = {(i, j - 1): j * x for (i, j), x in total.items() if j}
    made: Any = function("f(S, q)", [f"return {', '.join(map(_horner, (total, by_S, by_q)))}"], {"fma": fma})
    return made  # type: ignore[no-any-return]


def _horner(polynomial: dict[tuple[int, int], float]) -> str:
    """Writes a polynomial in S and q."""
    text = ""
    for j in range(max(j for _, j in polynomial), -1, -1):
        row = ""
        for i in range(max((i for i, k in polynomial if k == j), default=0), -1, -1):
            x = repr(polynomial.get((i, j), 0.0))
            row = f"fma({row}, S, {x})" if row else x
        text = f"fma({text}, q, {row})" if text else row
    return text


def _half(a: Vec3, m: Vec3, A: float, B: float, p: float, u: float, v: float) -> tuple[Vec3, Matrix]:
    """The momentum after half a step, and its derivative less one; p changes by u d(A + B) + v d(A B)."""
    X = p * p
    Q2 = a[2] * a[0] * m[1] * m[1]
    c, d, r = sqrt(fma(-A, X, 1.0)), sqrt(fma(-B, X, 1.0)), 1.0 / fma(-Q2, X, 1.0)
    t = (a[0] * m[1] * m[2], a[1] * m[0] * m[2], a[2] * m[0] * m[1])
    n = (r * fma(p * t[0], d, m[0] * c), r * fma(p, t[1], m[1] * c * d), r * fma(p * t[2], c, m[2] * d))
    dA = (0.0, 2.0 * a[0] * a[2] * m[1], -2.0 * a[0] * a[1] * m[2])
    dB = (-2.0 * a[1] * a[2] * m[0], dA[1], 0.0)
    dp = combine(_scaled(fma(v, B, u), dA), fma(v, A, u), dB)
    dX = _scaled(2.0 * p, dp)
    dc, dd = _scaled(-0.5 / c, combine(_scaled(A, dX), X, dA)), _scaled(-0.5 / d, combine(_scaled(B, dX), X, dB))
    dr = combine(_scaled(Q2, dX), X, (0.0, dA[1], 0.0))
    first = combine(_scaled(m[0], dc), t[0], combine(_scaled(d, dp), p, dd))
    second = combine(_scaled(m[1], combine(_scaled(d, dc), c, dd)), t[1], dp)
    third = combine(_scaled(m[2], dd), t[2], combine(_scaled(c, dp), p, dc))
    x, y, z = p * d * a[0], p * a[1], p * c * a[2]
    first = _scaled(r, combine((first[0], fma(x, m[2], first[1]), fma(x, m[1], first[2])), n[0], dr))
    second = _scaled(r, combine((fma(y, m[2], second[0]), second[1], fma(y, m[0], second[2])), n[1], dr))
    third = _scaled(r, combine((fma(z, m[1], third[0]), fma(z, m[0], third[1]), third[2]), n[2], dr))
    # r c - 1, r c d - 1 and r d - 1, as increments
    less, c1, d1 = Q2 * X * r, -A * X / (1.0 + c), -B * X / (1.0 + d)
    return n, (
        (first[0] + fma(less, c, c1), first[1], first[2]),
        (second[0], second[1] + fma(less, c * d, fma(c1, d, d1)), second[2]),
        (third[0], third[1], third[2] + fma(less, d, d1)),
    )


@cache
def momentum_map(terms: int) -> Callable[[Inertia, Vec3, float], Matrix]:
    """Returns `map_of(body, m, h)`: dm(h)/dm(0) - 1, by forward mode through the addition theorem, over two halves."""
    series = _series(terms)

    def map_of(body: Inertia, m: Vec3, h: float) -> Matrix:
        a = differences(body.inertia, body.inverse)
        A, B, _ = constants_of_motion(a, times(m, m))
        g = 0.5 * h
        f, fS, fq = series((A + B) * g * g, (A * g * g) * (B * g * g))
        u = g * g * g
        n, first = _half(a, m, A, B, g * f, u * fS, u * g * g * fq)
        _, second = _half(a, n, A, B, g * f, u * fS, u * g * g * fq)
        return summed(summed(first, 1.0, second), 1.0, product(second, first))

    return map_of


@cache
def triaxial_tangent(fine: Resolution) -> Flow:
    """The tangent of `flows.triaxial`, whose states it gives bit by bit."""
    move, map_of = increment(fine.nodes, fine.terms, fine.longest_turn), momentum_map(fine.terms)

    def flow(body: Inertia, p: Params, t: float, s: Any, h: float) -> Any:
        left, length = 1, h
        while left > 0:
            size = excess(fine, body, s.m, length)
            count = 1
            if not NOTHING_MOVES < size <= 1.0:
                count = cuts(size)
                if count > 0:
                    left, length = left * count, length / count
                if left > TOO_MANY_PIECES:
                    return TangentState(s.q, (nan, nan, nan), s.zeta, s.dL)
            new, E = State(s.q, s.m), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            D = E
            if count > 0:
                delta, e, v, _k, _mu = move(body, s.m, length)
                new = State(advanced(s.q, e, v), combine(s.m, 1.0, delta))
                D, E = rotation_less_one(1.0 - e, v), map_of(body, s.m, length)
            s = freely(body, s, new, D, E, length)
            left -= 1
        return s

    return flow


def _turn_less_one(v: Vec3) -> Matrix:
    """R - 1 of the rotation vector v."""
    u = _scaled(0.5, v)
    k, e = half_turn(dot(u, u))
    return rotation_less_one(1.0 - e, _scaled(k, u))


def spherical_tangent(body: Inertia, p: Params, t: float, s: Any, h: float) -> Any:
    """The tangent of `flows.spherical`."""
    zero = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    D = _turn_less_one(_scaled(h * body.inverse[0], s.m))
    return freely(body, s, spherical(body, p, t, State(s.q, s.m), h), D, zero, h)


@cache
def symmetric_tangent(axis: int) -> Flow:
    """The tangent of `flows.symmetric`: the momentum turns about the axis, at a rate proportional to its part there."""
    flow, k = symmetric(axis), axis - 1
    e, u, v = axis % 3, axis % 3, (axis + 1) % 3
    along = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)

    def tangent(body: Inertia, p: Params, t: float, s: Any, h: float) -> Any:
        i, j = body.inertia, body.inverse
        new = flow(body, p, t, State(s.q, s.m), h)
        rate = h * (i[e] - i[k]) * j[e] * j[k]
        precession, turn = _turn_less_one(_scaled(h * j[e], s.m)), _turn_less_one(_scaled(s.m[k] * rate, along))
        D = summed(summed(precession, 1.0, turn), 1.0, product(precession, turn))
        # the momentum turns the other way, and by another angle if its part along the axis is another
        E = summed(transposed(turn), rate, outer(placed(k, 0.0, new.m[v], -new.m[u]), along))
        return freely(body, s, new, D, E, h)

    return tangent


@cache
def spin_tangent(axis: int) -> Flow:
    """The tangent of the turn about a body axis: C = h e e^T / I."""
    flow, k = (spin1, spin2, spin3)[axis - 1], axis - 1

    def tangent(body: Inertia, p: Params, t: float, s: Any, h: float) -> Any:
        R = matrix_of(s.q)
        e, f = (R[0][k], R[1][k], R[2][k]), h * body.inverse[k]
        C = outer(_scaled(f, e), e)
        return turned_columns(s, flow(body, p, t, State(s.q, s.m), h), applied(R, s.m), C)

    return tangent


def veer_tangent(body: Inertia, p: Params, t: float, s: Any, h: float) -> Any:
    """The tangent of `gyrostat.veer`, which turns all bodies alike: columns stay."""
    new = veer(body, p, t, State(s.q, s.m), h)
    return TangentState(new.q, new.m, s.zeta, s.dL)


def tangent_of(flow: Any, scales: Scales | None) -> Any:
    """The tangent of a flow of a splitting for these scales."""
    flow = flow(scales) if flow in RANKED else flow
    known = {spin1: spin_tangent(1), spin2: spin_tangent(2), spin3: spin_tangent(3), veer: veer_tangent}
    if flow in known:
        return known[flow]
    made = free(scales)
    if made is spherical:
        return spherical_tangent
    for axis in (1, 2, 3):
        if made is symmetric(axis):
            return symmetric_tangent(axis)
    fine = finest() if scales is None else needed(scales, HEADROOM)[0]
    return triaxial_tangent(fine)


DIFFERENTIABLE = {free, spin1, spin2, spin3, veer, *RANKED}
"""The drifts of splittings whose tangents are known."""

# --- torques ---------------------------------------------------------------------------------------------------------


class Columns(NamedTuple):
    """What kernels know of the columns of a run: enough to write their code."""

    width: int
    """How many there are."""
    parameters: int
    """The numbers in p that belong to the torque."""
    by: int = 0
    """How many of the parameters differ between columns."""
    by_rate: bool = True
    """Whether the torque depends on the rate."""
    by_tensor: bool = False
    """Whether some columns change the tensor of the body."""

    @property
    def matrices(self) -> int:
        """The numbers by which slopes of columns are known (`slopes_of`)."""
        return 33 + 3 * self.by

    def row(self, first: str, k: int) -> str:
        """Writes the row of the k-th numbers of all columns, from p[first] on."""
        return f"row_of(({''.join(f'v[{first} + {self.width * k + j}], ' for j in range(self.width))}))"


def _seen(torque: UserTorque, slopes: Any, columns: Columns, *, tilted: bool, windowed: bool) -> Any:
    """Returns `seen(body, p, t, s)`: the torque in the user's axes, its slopes, and the attitude of these axes."""
    plain = apart(torque)
    count, more = columns.parameters, columns.by > 0 or columns.by_tensor

    def seen(body: Inertia, p: Params, t: float, s: Any) -> tuple[Vec3, Any, Quat]:
        w, q = rate_of(body, s.m), s.q
        if windowed:
            t = min(max(t, p.window[0]), p.window[1])
        if tilted:
            q = multiply(s.q, conjugate(p.axes))
            w = to_space(p.axes, w)
        if more:
            own = section(p.values, 0, count)
            return plain(t, q, w, own), slopes(t, q, w, own), q
        return plain(t, q, w, p.values), slopes(t, q, w, p.values), q

    return seen


@cache
def kick_data(
    torque: UserTorque, slopes: UserTorque, columns: Columns, *, tilted: bool, windowed: bool
) -> Any:  # fmt: skip
    """Returns `pull(body, p, t, s)`: all that a kick needs, as numbers.

    They are the torque in principal axes, and, of the torque N in space, dN/dzeta and dN/dp. No splitting takes a
    torque that depends on the rate.
    """
    lines = [
        "n, d, q = seen(body, p, t, s)",
        "R = matrix_of(q)",
        "N = applied(R, n)",
        "D = summed(product(R, ((d[0], d[1], d[2]), (d[3], d[4], d[5]), (d[6], d[7], d[8]))), -1.0, crossing(N))",
    ]
    names = [f"D[{i}][{j}]" for i in range(3) for j in range(3)]
    for k in range(columns.by):
        at = 9 + 3 * k
        lines += [f"P{k} = applied(R, (d[{at}], d[{at + 1}], d[{at + 2}]))"]
        names += [f"P{k}[{i}]" for i in range(3)]
    if tilted:
        lines += ["n = to_space(conjugate(p.axes), n)"]
    lines += [f"return (n[0], n[1], n[2], {', '.join(names)})"]
    seen = _seen(torque, slopes, columns, tilted=tilted, windowed=windowed)
    pull = function("pull(body, p, t, s)", lines, {"seen": seen, **_ALGEBRA})
    pull.__columns__, pull.__size__ = columns, 3 + len(names)
    return pull


@cache
def push_columns(columns: Columns) -> Any:
    """Returns `push(p, s, h, k)`: a kick for a time h, with the numbers k of `kick_data`."""
    lines = [
        "v = p.values",
        "c = applied(((k[3], k[4], k[5]), (k[6], k[7], k[8]), (k[9], k[10], k[11])), s.zeta)",
    ]
    for i in range(columns.by):
        at = 12 + 3 * i
        lines += [f"x = {columns.row(str(columns.parameters), i)}"]
        lines += [f"c = (fma(k[{at}], x, c[0]), fma(k[{at + 1}], x, c[1]), fma(k[{at + 2}], x, c[2]))"]
    lines += ["return TangentState(s.q, combine(s.m, h, (k[0], k[1], k[2])), s.zeta, combine(s.dL, h, c))"]
    return function("push(p, s, h, k)", lines, {"TangentState": TangentState, "row_of": row_of, **_ALGEBRA})


@cache
def spread(width: int, parts: int) -> tuple[Any, Any]:
    """Returns `opened(z)` and `closed(rows)`: between numbers that a state carries and columns in lanes."""
    places = tuple((i, j) for i in range(parts) for j in range(width))

    def opened(z: Any) -> Any:
        return tuple(row_of(z[width * i : width * (i + 1)]) for i in range(parts))

    def closed(rows: Any) -> Any:
        return tuple(lane(rows[i], j) for i, j in places)

    return opened, closed


def in_rows(step: Any, columns: Columns) -> Any:
    """A step for the torque that `slopes_of` has as `__rows__`: its columns are lanes from its start to its end."""
    opened, closed = spread(columns.width, 7)

    def opening(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        new, fresh, status = step(body, p, t, State(s.q, s.m, opened(s.z)), h, memory)
        return State(new.q, new.m, closed(new.z)), fresh, status

    return opening


def _nothing(t: float, q: Quat, w: Vec3, p: Any) -> tuple[float, ...]:
    """The slopes of a torque that are not asked for."""
    return ()


def column_slopes(columns: Columns, z: Sequence[str], number: Callable[[int], str]) -> list[str]:
    """Writes the slopes of the seven numbers z of a column, from those of the motion there.

    The numbers are dq and dm in principal axes. They obey dq' = (dq (0, w) + q (0, dw)) / 2 and
    dm' = dm x w + m x dw + dN, with dw = I^-1 (dm - dI w). Half the rate is v0, v1, v2; the other matrices are the
    numbers x0, x1, ... of `slopes_of`. `number(k)` writes what the column changes: parameters, then the tensor.
    """
    a, b = z[:4], z[4:]
    c = list(b)
    if columns.by_tensor:
        tensor = [[number(columns.by + k) for k in row] for row in ((0, 3, 4), (3, 1, 5), (4, 5, 2))]
        c = [f"({b[i]} - 2.0 * ({x} * v0 + {y} * v1 + {z} * v2))" for i, (x, y, z) in enumerate(tensor)]
    found = [
        f"fma(-{a[3]}, v2, fma(-{a[2]}, v1, -{a[1]} * v0))", f"fma({a[2]}, v2, fma(-{a[3]}, v1, {a[0]} * v0))",
        f"fma(-{a[1]}, v2, fma({a[0]}, v1, {a[3]} * v0))", f"fma({a[1]}, v1, fma({a[0]}, v2, -{a[2]} * v0))",
        *(f"fma(2.0 * v{k}, {b[j]}, (-2.0 * v{j}) * {b[k]})" for j, k in ((1, 2), (2, 0), (0, 1))),
    ]  # fmt: skip
    for i in range(7):
        terms = [(f"x{3 * i + k}", c[k]) for k in range(3)]
        if i > 3:
            terms += [(f"x{21 + 4 * (i - 4) + k}", a[k]) for k in range(4)]
            terms += [(f"x{33 + 3 * k + i - 4}", number(k)) for k in range(columns.by)]
        for x, y in terms:
            found[i] = f"fma({x}, {y}, {found[i]})"
    return found


@cache
def slopes_of(torque: UserTorque, slopes: UserTorque, columns: Columns, *, tilted: bool, windowed: bool) -> Any:
    """The torque with columns in the form that methods call one that carries numbers, first the first of all columns.

    It has the same with columns in lanes as `__rows__`, the torque alone as `__alone__`, and, as `__slopes__`, the
    torque with the matrices of `column_slopes`: dq'/dw I^-1, 4 x 3, dm'/dw I^-1, 3 x 3, dm'/dq, 3 x 4, and dm'/dp.
    """
    turned = ["n = to_space(conjugate(p.axes), n)"] if tilted else []
    lines = [
        "n, d, q = seen(body, p, t, s)",
        "i, v, q = body.inverse, times((0.5, 0.5, 0.5), body.inverse), s.q",
        "D, F = ((d[0], d[1], d[2]), (d[3], d[4], d[5]), (d[6], d[7], d[8])), crossing(s.m)",
    ]
    if tilted:
        lines += ["A = matrix_of(p.axes)", "T = transposed(A)", "D = product(T, D)"]
    first = 18 if columns.by_rate else 9
    if columns.by_rate:
        lines += ["W = ((d[9], d[10], d[11]), (d[12], d[13], d[14]), (d[15], d[16], d[17]))"]
        lines += ["W = product(product(T, W), A)"] if tilted else []
        lines += ["F = summed(F, 1.0, W)"]
    # zeta = 2 dq q*, by the quaternion of the principal axes
    parts = ("-q[1]", "-q[2]", "-q[3]"), ("q[0]", "q[3]", "-q[2]"), ("-q[3]", "q[0]", "q[1]"), ("q[2]", "-q[1]", "q[0]")
    lines += [f"C{k} = applied(D, (2.0 * {x}, 2.0 * {y}, 2.0 * {z}))" for k, (x, y, z) in enumerate(parts)]
    names = [f"{x} * v[{k}]" for row in (("-q[1]", "-q[2]", "-q[3]"), ("q[0]", "-q[3]", "q[2]"),
             ("q[3]", "q[0]", "-q[1]"), ("-q[2]", "q[1]", "q[0]")) for k, x in enumerate(row)]  # fmt: skip
    names += [f"F[{j}][{k}] * i[{k}]" for j in range(3) for k in range(3)]
    names += [f"C{k}[{j}]" for j in range(3) for k in range(4)]
    for k in range(columns.by):
        at = first + 3 * k
        lines += [f"P{k} = (d[{at}], d[{at + 1}], d[{at + 2}])"]
        lines += [f"P{k} = to_space(conjugate(p.axes), P{k})"] if tilted else []
        names += [f"P{k}[{j}]" for j in range(3)]
    head = "pull(body, p, t, s)"
    seen, alone = (
        {"seen": _seen(torque, f, columns, tilted=tilted, windowed=windowed), **_ALGEBRA} for f in (slopes, _nothing)
    )
    known = function(head, [*lines, *turned, f"return n, ({', '.join(names)})"], seen)
    z = [f"z{i}" for i in range(7)]
    both = [
        "n, x = known(body, p, t, s)", "w, v = rate_of(body, s.m), p.values", f"{', '.join(z)} = s.z",
        *(f"x{k} = x[{k}]" for k in range(columns.matrices)), *(f"v{k} = 0.5 * w[{k}]" for k in range(3)),
        *(f"y{k} = {columns.row(str(columns.parameters), k)}" for k in range(columns.by + 6 * columns.by_tensor)),
        f"return n, ({', '.join(column_slopes(columns, z, 'y{}'.format))})",
    ]  # fmt: skip
    rows = function(head, both, {"known": known, "row_of": row_of, "rate_of": rate_of, "fma": fma})
    opened, closed = spread(columns.width, 7)

    def pull(body: Inertia, p: Params, t: float, s: State) -> Any:
        n, d = rows(body, p, t, State(s.q, s.m, opened(s.z)))
        return n, closed(d)

    made: Any = pull
    made.__columns__, made.__slopes__, made.__rows__ = columns, known, rows
    made.__alone__ = function(head, ["n, d, q = seen(body, p, t, s)", *turned, "return n"], alone)
    return made


_ALGEBRA: dict[str, Any] = {
    "applied": applied, "combine": combine, "conjugate": conjugate, "cross": cross, "crossing": crossing, "fma": fma,
    "matrix_of": matrix_of, "product": product, "summed": summed, "times": times,
    "to_space": to_space, "transposed": transposed,
}  # fmt: skip


ROW_BY_ROW = tuple((i, j) for i in range(3) for j in range(3))


@cache
def slopes_given(jacobian: Callable[..., Any], by: tuple[int, ...], *, by_rate: bool) -> UserTorque:
    """The derivatives of a torque that its user gave, in the form of those that are derived from its code.

    The user's function returns dN by a small turn in body axes and by the rate, both as rows, and dN by each parameter.
    """
    places = tuple((k, i) for k in by for i in range(3))

    def slopes(t: float, q: Quat, w: Vec3, p: Any) -> tuple[float, ...]:
        g, R = jacobian(t, q, w, p), matrix_of(q)
        turned = [g[0][i][0] * R[j][0] + g[0][i][1] * R[j][1] + g[0][i][2] * R[j][2] for i, j in ROW_BY_ROW]
        rates = [g[1][i][j] for i, j in ROW_BY_ROW] if by_rate else []
        return (*turned, *rates, *(g[2][k][i] for k, i in places))

    return slopes


ANGLE = 2e-3
"""The turn, in radians, over which a torque is differenced; rates and parameters change by this part of themselves.
Differences of fourth order over four such points err by about 1e-11 of a torque that is smooth."""


@cache
def slopes_by_differences(torque: UserTorque, count: int, by: tuple[int, ...], *, by_rate: bool) -> UserTorque:
    """The derivatives of a torque by differences, in the form of those that are derived from its code."""
    seen = apart(torque)

    def turned(q: Quat, k: int, angle: float) -> Quat:
        half = 0.5 * angle
        x, z = half * (1.0 - half * half / 6.0), half * half
        return multiply(
            (1.0 - 0.5 * z * (1.0 - z / 12.0), x if k == 0 else 0.0, x if k == 1 else 0.0, x if k == 2 else 0.0), q
        )

    def slope(a: Vec3, b: Vec3, c: Vec3, d: Vec3, h: float) -> Vec3:
        k = 1.0 / (12.0 * h)
        return (
            k * ((a[0] - d[0]) - 8.0 * (b[0] - c[0])), k * ((a[1] - d[1]) - 8.0 * (b[1] - c[1])),
            k * ((a[2] - d[2]) - 8.0 * (b[2] - c[2])),
        )  # fmt: skip

    def by_turn(t: float, q: Quat, w: Vec3, p: Any, k: int) -> Vec3:
        h = ANGLE
        a, b = seen(t, turned(q, k, -2.0 * h), w, p), seen(t, turned(q, k, -h), w, p)
        return slope(a, b, seen(t, turned(q, k, h), w, p), seen(t, turned(q, k, 2.0 * h), w, p), h)

    def rate(w: Vec3, k: int, d: float) -> Vec3:
        return (w[0] + (d if k == 0 else 0.0), w[1] + (d if k == 1 else 0.0), w[2] + (d if k == 2 else 0.0))

    def by_the_rate(t: float, q: Quat, w: Vec3, p: Any, k: int) -> Vec3:
        size = max(abs(w[0]), abs(w[1]), abs(w[2]))
        h = ANGLE * (size if size > 0.0 else 1.0)
        a, b = seen(t, q, rate(w, k, -2.0 * h), p), seen(t, q, rate(w, k, -h), p)
        return slope(a, b, seen(t, q, rate(w, k, h), p), seen(t, q, rate(w, k, 2.0 * h), p), h)

    def by_number(t: float, q: Quat, w: Vec3, p: Any, i: int) -> Vec3:
        x = scratch(count)
        for j in range(count):
            x[j] = p[j]
        h = ANGLE * (abs(p[i]) if p[i] != 0.0 else 1.0)
        x[i] = p[i] - 2.0 * h
        a = seen(t, q, w, view(x, count))
        x[i] = p[i] - h
        b = seen(t, q, w, view(x, count))
        x[i] = p[i] + h
        c = seen(t, q, w, view(x, count))
        x[i] = p[i] + 2.0 * h
        return slope(a, b, c, seen(t, q, w, view(x, count)), h)

    places = tuple((k, i) for k in range(len(by)) for i in range(3))

    def slopes(t: float, q: Quat, w: Vec3, p: Any) -> tuple[float, ...]:
        a = [by_turn(t, q, w, p, k) for k in range(3)]
        b = [by_the_rate(t, q, w, p, k) for k in range(3)] if by_rate else []
        c = [by_number(t, q, w, p, k) for k in by]
        rates = [b[k][i] for i, k in ROW_BY_ROW] if by_rate else []
        return (*(a[k][i] for i, k in ROW_BY_ROW), *rates, *(c[k][i] for k, i in places))

    return slopes
