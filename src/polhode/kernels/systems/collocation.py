"""Gauss collocation of a system of bodies: all eight nodes of a step at once, and steps that adapt to the motion.

The solution within a step is the polynomial whose slope is right at the nodes of Gauss's quadrature: order 16,
time-symmetric. [hairer2006b, sec. II.1.3] The data of a step are rows over the nodes, one for each component of each
body. Compiled, a row is one value in the lanes of the vector registers, and one call of the forces serves all nodes;
forces that cannot be computed in lanes are called for one node after the other.

The equations are solved in the order in which they depend on each other. Forces at the nodes give velocities, and these
give positions; torques give angular momenta and these attitudes, in sweeps for each body alone. Forces are evaluated
again only after that: so an evaluation gains two powers of the step where a plain iteration gains one.

Slopes of the last step are kept as coefficients of Legendre polynomials. Continued, they begin the iteration of the
next step, of whatever length. How their last coefficients fall says how large the error of the step is: with a goal for
that the length of steps adapts, much as in IAS15 [rein2015].
"""

from collections.abc import Callable, Sequence
from typing import Any

from polhode.kernels.algebra.quat import derivative, tidied
from polhode.kernels.algebra.vec import combine, cross
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import rate_of
from polhode.kernels.ops import (
    apart,
    beginning_at,
    fma,
    largest_in,
    row_maximum,
    row_of,
    rows_of,
    sum_of_row,
)
from polhode.kernels.states import put_quaternion, put_vector, quaternion_at, vector_at
from polhode.kernels.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.kernels.steps.gauss_collocation import collocation as gauss_numbers
from polhode.kernels.systems.bodies import (
    AT,
    ROW,
    Forces,
    copy_numbers,
    filling,
    inverse_mass,
    is_sound,
    load_gyrostat,
    load_rotor,
)

NODES = 8
MOST_ITERATIONS = 40
"""A step that needs more does not converge in any useful time."""
STILL = 2.0**-50
"""Changes of the state, relative to its size, below which the iteration has ended."""
STUCK = 2.0**-40
"""Changes that no longer shrink are round-off if they are as small as this."""
MOST_SWEEPS = 12
"""Sweeps over momentum and attitude of a body between two evaluations of the forces."""

NOISE, EPSILON = 2.0**-49, 2.0**-53
"""Last coefficients below the first part of the first ones, or the second part of the size of what they change, are
round-off, which does not fall with the step."""
LEAST_RATE, FIRST_RATE = 1e-3, 0.1
"""No evaluation of the forces is trusted to gain more than the first factor, and the first one of a step, whose gain is
not measured, no more than the second: where bodies meet, it is not that of the step before."""
INNER = 0.5
"""Sweeps end where they leave less than this part of what the next evaluation of the forces will leave."""

# Numbers of a step, at the beginning of its room: whether a polynomial is known, where it begins, its length, the error
# that the iteration may leave, the error that the polynomial suggests, the rate of convergence, the next step, the time
# reached, whether a step is one aside, which leaves the polynomial as it is, the sum of the errors of all steps, and
# for the step before the last: the length that it should have had over that which it had, and its length.
KNOWN, BEGIN, LENGTH, LEFT, ERROR, RATE, NEXT, TIME, ASIDE, SUGGESTED, LAST_RATIO, LAST_STEP = range(12)
HEAD = 16
ROWS = 39
"""Rows of a body: slopes of velocity, momentum and attitude (10), velocities, positions, attitudes, momenta, forces and
torques at the nodes (19), and coefficients of the last polynomials of the slopes (10)."""

_numbers = gauss_numbers(NODES)
PLACES = _numbers.nodes
"""The nodes in a step of unit length."""


def room_of(n: int, forces: int) -> int:
    """The numbers of room for n bodies under forces that need this room for themselves."""
    return HEAD + NODES * (ROWS * n + 4 * n + forces + 1) + 7 * n


def _legendre_at(x: float) -> list[float]:
    out = [1.0, x]
    for k in range(1, NODES - 1):
        out.append(((2 * k + 1) * x * out[k] - k * out[k - 1]) / (k + 1))
    return out


def _row(numbers: Sequence[float]) -> str:
    return f"row_of(({', '.join(repr(float(x)) for x in numbers)},))"


def _tuple_of_rows(head: str, rows: Sequence[str]) -> Any:
    return function(head, [f"return ({', '.join(rows)},)"], {"row_of": row_of})


_values = [_legendre_at(2.0 * c - 1.0) for c in _numbers.nodes]
_to_coefficients = [
    [(2 * k + 1) * _numbers.weights[j] * _values[j][k] for k in range(NODES)] for j in range(NODES)
]  # row j: what the slope at node j adds to each coefficient

node_places = function("node_places()", [f"return {_row(_numbers.nodes)}"], {"row_of": row_of})
integrals = _tuple_of_rows(
    "integrals(h)", [f"h * {_row([_numbers.inside[i][j] for i in range(NODES)])}" for j in range(NODES)]
)
coefficients = _tuple_of_rows("coefficients()", [_row(line) for line in _to_coefficients])
legendre = function(
    "legendre(z)",
    [
        f"p0 = {_row([1.0] * NODES)}",
        "p1 = z",
        *(f"p{k + 1} = ({2 * k + 1}.0 * z * p{k} - {k}.0 * p{k - 1}) * {1.0 / (k + 1)!r}" for k in range(1, NODES - 1)),
        f"return ({', '.join(f'p{k}' for k in range(NODES))})",
    ],
    {"row_of": row_of},
)


def _chain(first: int, last: int, start: str) -> str:
    text = start
    for j in range(first, last):
        text = f"fma(a[{j}], x[k + {j}], {text})" if text else f"a[{j}] * x[k + {j}]"
    return text


half = NODES // 2
mixed = function(
    "mixed(a, x, k, start)", [f"return {_chain(0, half, 'start')} + {_chain(half, NODES, '')}"], {"fma": fma}
)
"""`mixed(a, x, k, start)` is start + the sum of the rows in a, times the numbers from x[k] on."""
weighted = function(
    "weighted(x, k)",
    [
        "return "
        + " + ".join(
            "(" + " + ".join(f"{_numbers.weights[j]!r} * x[k + {j}]" for j in part) + ")"
            for part in (range(half), range(half, NODES))
        )
    ],
    {},
)
"""The mean of the slopes from x[k] on."""


def held_vector(v: Any) -> Any:
    """Rows that stay as they are when others are written in their place: in plain Python a row is a view."""
    return (1.0 * v[0], 1.0 * v[1], 1.0 * v[2])


def held_quaternion(q: Any) -> Any:
    """The rows of a quaternion that stay as they are when others are written in their place."""
    return (1.0 * q[0], 1.0 * q[1], 1.0 * q[2], 1.0 * q[3])


def farthest(p: Any, q: Any) -> Any:
    """The largest difference of the components of two quaternions, node by node."""
    return row_maximum(row_maximum(abs(p[0] - q[0]), abs(p[1] - q[1])), row_maximum(abs(p[2] - q[2]), abs(p[3] - q[3])))


def collocation(forces: Forces, *, tilted: bool, gyrostat: bool, in_lanes: bool) -> Callable[..., int]:
    """The step of Gauss collocation on positions, attitudes, velocities and angular momenta together.

    The iteration ends where the state changes by less than the tolerance in its room, relative to its size, and at
    round-off if that is zero.
    """
    fill = filling(forces, tilted=tilted)
    load = load_gyrostat if gyrostat else load_rotor
    nodes = _numbers.nodes

    def in_turn(
        t: float, h: float, n: int, setting: Any, values: Any, memory: Any, g: Any, work: Any, room: int
    ) -> int:
        """Evaluates the forces at one node after the other."""
        base = HEAD + NODES * 13 * n
        into = HEAD + NODES * 23 * n
        here = beginning_at(memory, HEAD + NODES * (43 * n + room))
        for i in range(NODES):
            for k in range(7 * n):
                here[k] = memory[base + NODES * k + i]
            fill(t + nodes[i] * h, n, setting, values, here, g, work)
            for k in range(6 * n):
                memory[into + NODES * k + i] = g[k]
        return first_unsound(n, memory)

    def at_once(
        t: float, h: float, n: int, setting: Any, values: Any, memory: Any, g: Any, work: Any, room: int
    ) -> int:
        """Evaluates the forces at all nodes together."""
        rows = rows_of(memory, HEAD, 8)
        places = node_places()
        fill(
            t + h * places, n, setting, values, beginning_at(rows, 13 * n), beginning_at(rows, 23 * n),
            beginning_at(rows, ROWS * n),
        )  # fmt: skip
        return first_unsound(n, memory)

    def first_unsound(n: int, memory: Any) -> int:
        """The first body whose forces are no numbers at some node, or -1."""
        rows = rows_of(memory, HEAD, 8)
        total = 0.0 * rows[23 * n]
        for k in range(23 * n, 29 * n):
            total += 0.0 * rows[k]
        if sum_of_row(total) == 0.0:  # NaN is unequal to everything
            return -1
        for i in range(n):
            for k in range(3 * i, 3 * i + 3):
                if sum_of_row(0.0 * rows[23 * n + k] + 0.0 * rows[26 * n + k]) != 0.0:
                    return i
        return 0

    evaluate = at_once if in_lanes else in_turn

    def integrate(first: int, target: int, count: int, memory: Any, y: Any, at: int, ha: Any) -> None:
        """Writes the values at the nodes of components that begin with y[at]; slopes begin with row `first`."""
        rows = rows_of(memory, HEAD, 8)
        for k in range(count):
            rows[target + k] = mixed(ha, memory, HEAD + NODES * (first + k), y[at + k])

    def sweep(i: int, n: int, setting: Any, memory: Any, y: Any, ha: Any) -> None:
        """Computes slopes of momentum and attitude of a body from their values at the nodes, and values from these."""
        rows = rows_of(memory, HEAD, 8)
        body, at = load(setting, i), 20 * n + 3 * i
        m, torque = vector_at(rows, at), vector_at(rows, 26 * n + 3 * i)
        put_vector(rows, 3 * n + 3 * i, combine(cross(m, rate_of(body, m)), 1.0, torque))
        integrate(3 * n + 3 * i, at, 3, memory, y, 10 * n + 3 * i, ha)
        w = rate_of(body, vector_at(rows, at))
        put_quaternion(rows, 6 * n + 4 * i, derivative(quaternion_at(rows, 16 * n + 4 * i), w))
        integrate(6 * n + 4 * i, 16 * n + 4 * i, 4, memory, y, 3 * n + 4 * i, ha)

    def begin(
        t: float, h: float, n: int, setting: Any, values: Any, memory: Any, y: Any, g: Any, work: Any, count: Any
    ) -> int:
        """Guesses all slopes: by the last polynomial, continued, or by those at the start."""
        rows = rows_of(memory, HEAD, 8)
        if memory[KNOWN] != 0.0:
            c = 2.0 / memory[LENGTH]
            p = legendre(node_places() * (c * h) + (c * (t - memory[BEGIN]) - 1.0))
            for k in range(10 * n):
                rows[k] = mixed(p, memory, HEAD + NODES * (29 * n + k), 0.0)
            return -1
        fill(t, n, setting, values, y, g, work)
        count[AT.evaluations] += 1
        for i in range(n):
            body, q, m = load(setting, i), quaternion_at(y, 3 * n + 4 * i), vector_at(y, 10 * n + 3 * i)
            w, a, f = rate_of(body, m), inverse_mass(setting, i), vector_at(g, 3 * i)
            torque = vector_at(g, 3 * (n + i))
            if (f[0] + f[1] + f[2] + torque[0] + torque[1] + torque[2]) * 0.0 != 0.0:
                return i
            put_vector(rows, 3 * i, (a * f[0], a * f[1], a * f[2]))
            put_vector(rows, 3 * n + 3 * i, combine(cross(m, w), 1.0, torque))
            put_quaternion(rows, 6 * n + 4 * i, derivative(q, w))
        return -1

    def keep(t: float, h: float, n: int, memory: Any, size_v: float, size_m: float) -> None:
        """Keeps the polynomials of the slopes, and the error of the step that their last coefficients suggest.

        It is that of the coefficient of twice the degree, if coefficients go on falling as they do at the end: a step
        has twice the order of its polynomial. Where they do not fall, it is the last ones: the motion is not resolved.
        """
        rows, c = rows_of(memory, HEAD, 8), coefficients()
        most = 0.0
        for k in range(10 * n):
            rows[29 * n + k] = mixed(c, memory, HEAD + NODES * k, 0.0)
            at = HEAD + NODES * (29 * n + k)
            size = size_v if k < 3 * n else size_m if k < 6 * n else 1.0
            last, before = abs(memory[at + 6]) + abs(memory[at + 7]), abs(memory[at + 4]) + abs(memory[at + 5])
            if last > max(NOISE * (abs(memory[at]) + abs(memory[at + 1])), EPSILON * size / abs(h)):
                ratio = last / before if last < before else 1.0
                ratio *= ratio
                most = max(most, last * ratio * ratio / size)
        memory[ERROR] = most * abs(h)
        memory[KNOWN], memory[BEGIN], memory[LENGTH] = 1.0, t, h

    def step(
        t: float, h: float, number: int, setting: Any, values: Any, ops: Any, kinds: Any, memory: Any, y: Any, g: Any,
        work: Any, count: Any,
    ) -> int:  # fmt: skip
        n, room = count[AT.bodies], count[AT.room]
        rows, ha = rows_of(memory, HEAD, 8), integrals(h)
        bad = begin(t, h, n, setting, values, memory, y, g, work, count)
        if bad >= 0:
            count[AT.body] = bad
            return UNSOUND
        integrate(0, 10 * n, 3 * n, memory, y, 7 * n, ha)
        integrate(10 * n, 13 * n, 3 * n, memory, y, 0, ha)
        integrate(3 * n, 20 * n, 3 * n, memory, y, 10 * n, ha)
        integrate(6 * n, 16 * n, 4 * n, memory, y, 3 * n, ha)
        size_v, size_m = 1e-300, 1e-300
        for k in range(3 * n):
            size_v, size_m = max(size_v, abs(y[7 * n + k])), max(size_m, abs(y[10 * n + k]))
        expected = memory[RATE] if memory[KNOWN] != 0.0 else 1.0
        before, rate, sweeps = 1e300, max(expected, FIRST_RATE), 1
        for iteration in range(MOST_ITERATIONS):
            count[AT.iterations] += 1
            count[AT.evaluations] += NODES
            bad = evaluate(t, h, n, setting, values, memory, g, work, room)
            if bad >= 0:
                count[AT.body] = bad
                return UNSOUND
            moved_v, moved_m, moved_q = 0.0 * ha[0], 0.0 * ha[0], 0.0 * ha[0]
            for i in range(n):
                a = inverse_mass(setting, i)
                for k in range(3 * i, 3 * i + 3):
                    new = a * rows[23 * n + k]
                    moved_v = row_maximum(moved_v, abs(new - rows[k]))
                    rows[k] = new
                m, q = held_vector(vector_at(rows, 3 * n + 3 * i)), held_quaternion(quaternion_at(rows, 6 * n + 4 * i))
                sweep(i, n, setting, memory, y, ha)
                d, e = vector_at(rows, 3 * n + 3 * i), quaternion_at(rows, 6 * n + 4 * i)
                moved_m = row_maximum(moved_m, abs(d[0] - m[0]))
                moved_m = row_maximum(moved_m, abs(d[1] - m[1]))
                moved_m = row_maximum(moved_m, abs(d[2] - m[2]))
                turned = farthest(q, e)
                moved_q = row_maximum(moved_q, turned)
                if iteration > 0:
                    for _ in range(1, sweeps):
                        sweep(i, n, setting, memory, y, ha)
                else:
                    first = largest_in(turned)
                    last, k = first, 1
                    while k < MOST_SWEEPS and abs(h) * last > memory[LEFT]:
                        q = held_quaternion(quaternion_at(rows, 6 * n + 4 * i))
                        sweep(i, n, setting, memory, y, ha)
                        now = largest_in(farthest(q, quaternion_at(rows, 6 * n + 4 * i)))
                        k += 1
                        if now * now <= INNER * expected * first * first or now >= last:
                            break
                        last = now
                    sweeps = max(sweeps, k)
            integrate(0, 10 * n, 3 * n, memory, y, 7 * n, ha)
            integrate(10 * n, 13 * n, 3 * n, memory, y, 0, ha)
            if iteration == 0:
                top_v, top_m = 0.0 * ha[0], 0.0 * ha[0]
                for k in range(3 * n):
                    top_v, top_m = row_maximum(top_v, abs(rows[k])), row_maximum(top_m, abs(rows[3 * n + k]))
                size_v, size_m = max(size_v, abs(h) * largest_in(top_v)), max(size_m, abs(h) * largest_in(top_m))
            moved = row_maximum(moved_q, row_maximum(moved_v * (1.0 / size_v), moved_m * (1.0 / size_m)))
            change = abs(h) * largest_in(moved)
            if iteration > 0:
                rate = min(max(change / before, LEAST_RATE), 1.0)
            if (
                change <= STILL
                or change * rate < memory[LEFT]
                or (change <= STUCK and iteration > 0 and change >= 0.5 * before)
            ):
                if memory[ASIDE] == 0.0:
                    keep(t, h, n, memory, size_v, size_m)
                    memory[RATE] = rate
                for k in range(3 * n):
                    y[k] += h * weighted(memory, HEAD + NODES * (10 * n + k))
                    y[7 * n + k] += h * weighted(memory, HEAD + NODES * k)
                    y[10 * n + k] += h * weighted(memory, HEAD + NODES * (3 * n + k))
                for k in range(4 * n):
                    y[3 * n + k] += h * weighted(memory, HEAD + NODES * (6 * n + k))
                for i in range(n):
                    put_quaternion(y, 3 * n + 4 * i, tidied(quaternion_at(y, 3 * n + 4 * i)))
                return OK
            if not change < 1e10:
                return NO_CONVERGENCE
            before = change
        return NO_CONVERGENCE

    return apart(step)


# --- steps that adapt

SHORTEST = 2.0**-45
"""Steps shorter than this part of the time and the span are not made: the motion cannot go on."""
LONGER, SHORTER = 2.0, 0.25
"""Limits of the change from one step to the next."""
SLIGHTLY_LESS = 0.9
"""Steps are this part of the length that the goal allows."""
TOO_FAR = 50.0
"""A step whose error is larger than the goal by this factor is made again, shorter."""
ORDER = 15.0
"""The power of its length with which the suggested error of a step grows: 7 of the last coefficients, 4 times 2 of
their ratio."""


def adaptive_driver(step: Callable[..., int]) -> Callable[..., int]:
    """The loop over steps that adapt, so that their polynomials suggest errors as small as `goal`.

    It stops at the end, after `stop` steps in all, or where no step can be made, with the state before. Output times
    between steps are reached by steps aside, which begin with the polynomial of the step around them.
    """

    def drive(
        setting: Any, values: Any, ops: Any, memory: Any, y: Any, g: Any, before: Any, work: Any, out: Any, times: Any,
        kinds: Any, count: Any, t_end: float, span: float, goal: float, stop: int,
    ) -> int:  # fmt: skip
        n = count[AT.bodies]
        size = ROW * n
        while count[AT.done] < stop and memory[TIME] != t_end:
            t, h = memory[TIME], memory[NEXT]
            left = t_end - t
            ends = abs(left) <= 1.05 * abs(h)
            if ends:
                h = left
            else:
                h = 0.5 * left if abs(left) < 2.0 * abs(h) else h
                h = (t + h) - t  # what is added to t is h, to the last digit
            copy_numbers(y, 0, before, 0, size)
            memory[ASIDE] = 0.0
            status = step(t, h, count[AT.done], setting, values, ops, kinds, memory, y, g, work, count)
            if status == OK:
                bad = is_sound(n, y)
                if bad >= 0:
                    count[AT.body] = bad
                    status = UNSOUND
            factor = 0.5
            ratio = (goal / max(memory[ERROR], 1e-300)) ** (1.0 / ORDER)
            if status == OK:
                factor = SLIGHTLY_LESS * ratio
                if memory[LAST_STEP] != 0.0:  # where steps have to become shorter, they go on doing so
                    factor *= min(max(ratio / memory[LAST_RATIO] * abs(h) / memory[LAST_STEP], 0.5), 1.0)
                factor = min(max(factor, SHORTER), LONGER)
            memory[NEXT] = h * factor
            if status != OK or memory[ERROR] > TOO_FAR * goal:
                copy_numbers(before, 0, y, 0, size)
                count[AT.rejected] += 1
                if status == UNSOUND:
                    memory[KNOWN] = 0.0
                if abs(memory[NEXT]) < SHORTEST * max(abs(t), abs(span)):
                    return status if status != OK else NO_CONVERGENCE
                continue
            new = t_end if ends else t + h
            while count[AT.row] < count[AT.rows]:
                due, row = times[count[AT.row]], size * count[AT.row]
                if (due - new) * span > 0.0:
                    break
                if due == new:
                    copy_numbers(y, 0, out, row, size)
                else:
                    copy_numbers(before, 0, out, row, size)
                    memory[ASIDE] = 1.0
                    there = beginning_at(out, row)
                    if due != t:
                        status = step(t, due - t, 0, setting, values, ops, kinds, memory, there, g, work, count)
                        if status != OK:
                            copy_numbers(before, 0, y, 0, size)
                            return status
                count[AT.row] += 1
            memory[TIME], memory[LAST_RATIO], memory[LAST_STEP] = new, ratio, abs(h)
            memory[SUGGESTED] += memory[ERROR]
            count[AT.done] += 1
        return OK

    return drive
