"""Radau's collocation with steps chosen by a tolerance, for torques that are stiff.

Within a step the unknowns are the rotation vector r since its start, in body axes, and the momentum in body axes:
r' = w + r x w / 2 + ..., m' = m x w + torque. So attitudes stay on the sphere, a steady rotation is followed exactly,
and a strong damping that is fixed in the body is a constant matrix. The equations of a step are solved by simplified
Newton iterations with a matrix of derivatives by differences; the linear equations fall apart into a real and some
complex ones of the size of the state. [hairer1996, sec. IV.8; hairer1999]
"""

from collections.abc import Callable
from math import cos, sin, sqrt
from typing import Any, NamedTuple

import numpy as np

from polhode.kernels.algebra.quat import advanced, normalised
from polhode.kernels.algebra.rotation import exponential
from polhode.kernels.algebra.small_linear import factorise, factorise_complex, solve, solve_complex
from polhode.kernels.algebra.vec import combine, cross, dot
from polhode.kernels.codegen import function, tuple_of, writer_of
from polhode.kernels.gyrostat import body_at, rate_of
from polhode.kernels.ops import apart, scratch
from polhode.kernels.states import paired, sizes_of
from polhode.kernels.status import NO_CONVERGENCE, OK, STALLED
from polhode.kernels.steps.compose import nothing_of
from polhode.kernels.steps.radau_tableau import radau_tableau
from polhode.kernels.steps.variable_steps import length_to_try
from polhode.kernels.types import BoundStep, Depends, Inertia, Params, Pull, Quat, Scales, State

UNKNOWNS = 6
"""The numbers of a state: rotation vector and momentum."""
MOST_ATTEMPTS = 60
SAFETY, SHRINK, GROW = 0.9, 0.125, 5.0
"""Factors for the next step: the margin below the length that the estimate allows, and the bounds of a change."""
HALF = 0.5
"""The factor for a step whose equations were not solved."""
LONGEST_TURN = 2.5
"""The longest turn in a step, in radians: a rotation vector has a singularity at a whole turn."""
OLD_MATRIX = 1e-2
"""Derivatives are kept for the next step where each iteration made the error smaller by this factor."""
ITERATION_SHARE = 0.03
"""The part of the tolerance of a step that iterations may leave."""
DIFFERENCE = 2.0**-26
"""Derivatives are differences over this part of a radian, and of the rate: the root of the rounding error."""
SLOW_TURN = 1e-3
"""Rates that turn the body by less than this in a step count as this much in the differences."""
LEAST_ERROR = 1e-10
"""Smaller errors, in units of the tolerance, do not make the next step longer."""

Go = Callable[[Inertia, Params, float, State, float, Any, float], tuple[State, Any, int]]


class ScratchLayout(NamedTuple):
    """Where the arrays of a step begin in its scratch memory, for n unknowns and s nodes."""

    slope: int
    """The slope at the start."""
    matrix: int
    """The derivatives of the slope, row by row."""
    values: int
    """The values at the nodes, less that at the start, node by node."""
    before: int
    """The values at the nodes of the last step, less that at its start."""
    waves: int
    """The values in the coordinates in which the equations fall apart."""
    slopes: int
    """The slopes at the nodes, and then the corrections."""
    point: int
    """The numbers of a state."""
    right: int
    """The right-hand side of linear equations, real and imaginary."""
    pivots: int
    weights: int
    """The weights that make the rows of the matrices comparable."""
    factors: int
    """The factorised matrices: the real one, then the complex ones."""
    units: int
    """The sizes to which errors of carried numbers are relative."""
    size: int

    @classmethod
    def of(cls, n: int, s: int) -> "ScratchLayout":
        """The layout."""
        lengths = (n, n * n, s * n, s * n, s * n, s * n, n, 2 * n, n * (s + 1) // 2, n, s * n * n, n - UNKNOWNS)
        places = [0]
        for length in lengths:
            places.append(places[-1] + length)
        return cls(*places)


class Radau(NamedTuple):
    """The scheme with an odd number of nodes. Its steps are as long as the tolerances allow, but at most h.

    The tolerances are `Params.tuning`: that of the estimate, relative and absolute. The estimate has a lower order than
    the step (`estimate_tolerance`). Errors of the momentum are relative to its largest size so far, and so are those of
    numbers that the torque carries, which are further unknowns.
    """

    nodes: int

    @property
    def takes_state(self) -> bool:
        """Whether a torque may carry numbers of its own along."""
        return True

    def bind(self, pull: Pull, depends: Depends, scales: Scales | None = None) -> BoundStep:
        """Binds the step to its torque.

        The memory is: length made, length to try next, largest momentum, largest sizes of carried numbers, error of the
        last step, whether there is a matrix of derivatives, that matrix, the values at the nodes of the last step,
        evaluations.
        """
        carried = scales.carried if scales is not None else ()
        c = len(carried)
        n, s = UNKNOWNS + c, self.nodes
        go = steps_of(pull, carried, s)
        first = 5 + c
        length = first + n * n + s * n + 1

        def step(body: Inertia, p: Params, t: float, y: State, h: float, memory: Any) -> tuple[State, Any, int]:
            return go(body, p, t, y, h, memory, 1.0)

        def exactly(body: Inertia, p: Params, t: float, y: State, h: float, memory: Any) -> tuple[State, Any, int]:
            return go(body, p, t, y, h, memory, 0.0)

        def again(body: Inertia, p: Params, t: float, y: State, memory: Any) -> Any:
            return (0.0, memory[1], memory[2], *memory[3 : first - 2], 0.0, 0.0, *memory[first : length - 1], 0.0)

        return BoundStep(nothing_of(length), step, length, 0, None, exactly, again, limited=True, carried=c)


def estimate_tolerance(rtol: float, nodes: int) -> float:
    """The tolerance of the estimate, which is of order s + 1, so that errors of steps, of order 2 s, are rtol.

    It is that of Hairer's code of variable order.  [hairer1999]
    """
    return 0.1 * float(rtol ** ((nodes + 1) / (2 * nodes)))


def slope_of(pull: Any, carried: int) -> Callable[[Inertia, Params, float, Quat, Any, int, int], None]:
    """Returns `slope(body, p, t, q, x, at, to)`, which puts the slopes of the numbers at x[at] into x[to].

    The rotation vector begins at the attitude q.
    """
    both, load, store = paired(pull, carries=carried > 0), tuple_of(carried), writer_of(carried)

    def slope(body: Inertia, p: Params, t: float, q: Quat, x: Any, at: int, to: int) -> None:
        r, m = (x[at], x[at + 1], x[at + 2]), (x[at + 3], x[at + 4], x[at + 5])
        now = body_at(body, p, t)
        w = rate_of(now, m)
        e, u = exponential(r)
        torque, dz = both(now, p, t, State(advanced(q, e, u), m, load(x, at + UNKNOWNS)))
        n = combine(cross(m, w), 1.0, torque)
        turned = cross(r, w)
        d = combine(combine(w, 0.5, turned), bracket_weight(dot(r, r)), cross(r, turned))
        x[to], x[to + 1], x[to + 2] = d[0], d[1], d[2]
        x[to + 3], x[to + 4], x[to + 5] = n[0], n[1], n[2]
        store(x, to + UNKNOWNS, dz)

    return slope


def bracket_weight(square: float) -> float:
    """(1 - a cot a) / r^2 with a = r / 2, from r^2: the weight of r x (r x w) in the slope of a rotation vector."""
    if square < 0.01:
        return 1 / 12 + square * (1 / 720 + square * (1 / 30240 + square * (1 / 1209600)))
    if not square < 39.0:  # near a whole turn and beyond it, where no step ends
        return 0.0
    half = 0.5 * sqrt(square)
    return (1.0 - half * cos(half) / sin(half)) / square


def error_size(x: Any, at: int, attitude: float, momentum: float) -> float:
    """The mean square of the sizes of rotation vector and momentum at x[at], in these units."""
    r, m = (x[at], x[at + 1], x[at + 2]), (x[at + 3], x[at + 4], x[at + 5])
    return 0.5 * (dot(r, r) * attitude * attitude + dot(m, m) * momentum * momentum)


def steps_of(pull: Pull, carried: tuple[float, ...], s: int) -> Go:
    """Returns `go(body, p, t, y, h, memory, chooses)`: a step that chooses its length, or steps over exactly h."""
    count, sizes = len(carried), sizes_of(carried)
    n = UNKNOWNS + count
    tableau, at = radau_tableau(s), ScratchLayout.of(n, s)
    slope, pairs = slope_of(pull, count), s // 2
    read, write = tuple_of(count), writer_of(count)
    nodes, forth, back = np.array(tableau.nodes), np.array(tableau.forth), np.array(tableau.back)
    weights, points, bary = np.array(tableau.error), np.array([0.0, *tableau.nodes]), np.array(tableau.barycentric)
    eigen = np.array([tableau.real, 0.0, *(part for pair in tableau.pairs for part in pair)])
    gamma, power = 1.0 / tableau.real, 1.0 / (s + 1)
    most, size = 7 + (5 * (s - 3)) // 2, at.size
    shown = range(5 + count, 5 + count + n * n + s * n)
    places = [*range(at.matrix, at.matrix + n * n), *range(at.before, at.before + s * n)]
    load = function("load(x, v)", [f"x[{i}] = v[{k}]" for i, k in zip(places, shown, strict=True)], {})
    kept = (*places[: n * n], *range(at.values, at.values + s * n))

    def keep(x: Any) -> Any:
        """The derivatives and the values at the nodes, as the memory has them."""
        return tuple(x[i] for i in kept)

    def set_units(x: Any, k: int, y: State, v: Any) -> None:
        """Finds the sizes to which errors of carried numbers are relative, with the changes at x[k]."""
        z = read(x, k)
        write(x, at.units, sizes.units(tuple(max(v[i], abs(y.z[i] + z[i])) for i in range(count))))

    def error_of_numbers(x: Any, k: int) -> float:
        """The square of the largest of the numbers at x[k], relative to these sizes."""
        z, u = read(x, k), read(x, at.units)
        most = max(*(abs(z[i]) / max(u[i], 1e-150) for i in range(count)), 0.0, 0.0)
        return most * most

    def differentiate(body: Inertia, p: Params, t: float, y: State, h: float, x: Any, all_of_them: bool) -> None:
        """Computes the slope at the start, and the derivatives of the slope if they are wanted."""
        w = rate_of(body_at(body, p, t), y.m)
        rate = max(sqrt(dot(w, w)), SLOW_TURN / abs(h))
        if h < 0.0:
            rate = -rate  # as the film played backward
        for k in range(n + 1 if all_of_them else 1):
            for i in range(3):
                x[at.point + i], x[at.point + 3 + i] = 0.0, y.m[i]
            write(x, at.point + UNKNOWNS, y.z)
            change = 0.0
            if k > 0:
                value = x[at.point + k - 1]
                if k <= UNKNOWNS:
                    change = DIFFERENCE if k <= 3 else DIFFERENCE * rate * body.inertia[k - 4]
                else:
                    size = max(x[at.units + k - 1 - UNKNOWNS], abs(h * x[at.slope + k - 1]))
                    change = (DIFFERENCE if h > 0.0 else -DIFFERENCE) * (size if size > 0.0 else 1.0)
                moved = value + change
                x[at.point + k - 1] = moved
                change = moved - value
            slope(body, p, t, y.q, x, at.point, at.right)
            for i in range(n):
                if k == 0:
                    x[at.slope + i] = x[at.right + i]
                else:
                    x[at.matrix + n * i + k - 1] = (x[at.right + i] - x[at.slope + i]) / change

    def prepare(body: Inertia, h: float, x: Any) -> bool:
        """Factorises the matrices of the linear equations; returns whether that can be done."""
        good = True
        for k in range(pairs + 1):
            a = at.factors + (0 if k == 0 else (2 * k - 1) * n * n)
            for i in range(n * n):
                x[a + i] = -x[at.matrix + i]
                if k > 0:
                    x[a + n * n + i] = 0.0
            for i in range(n):
                if i < UNKNOWNS:
                    x[at.weights + i] = 1.0 if i < 3 else abs(h) * body.inverse[i - 3]
                else:
                    x[at.weights + i] = 1.0 / max(x[at.units + i - UNKNOWNS], abs(h * x[at.slope + i]), 1e-150)
                x[a + n * i + i] += eigen[2 * k] / h
                if k > 0:
                    x[a + n * n + n * i + i] = -eigen[2 * k + 1] / h
            if k == 0:
                done = factorise(x, a, n, at.pivots, at.weights)
            else:
                done = factorise_complex(x, a, n, at.pivots + n * k, at.weights)
            good = good and done
        return good

    def guess(ratio: float, x: Any) -> None:
        """Continues the polynomial of the last step into this one, `ratio` times as long; 0: nothing is known."""
        for i in range(s):
            for c in range(n):
                x[at.values + n * i + c] = 0.0
            if ratio != 0.0:
                place = 1.0 + nodes[i] * ratio
                for k in range(s + 1):
                    weight = bary[k]
                    for j in range(s + 1):
                        if j != k:
                            weight *= place - points[j]
                    if k == s:
                        weight -= 1.0  # values are counted from the end of the last step
                    if k > 0:
                        for c in range(n):
                            x[at.values + n * i + c] += weight * x[at.before + n * (k - 1) + c]

    def transform(matrix: Any, x: Any, source: int, to: int) -> None:
        for i in range(s):
            for c in range(n):
                total = 0.0
                for k in range(s):
                    total += matrix[s * i + k] * x[source + n * k + c]
                x[to + n * i + c] = total

    def iterate(
        body: Inertia, p: Params, t: float, y: State, h: float, x: Any, scale: float, largest: Any, enough: float
    ) -> tuple[bool, float, int]:
        """Solves the equations of a step; returns whether it is done, the last rate of convergence, and iterations."""
        transform(back, x, at.values, at.waves)
        before, rate, done, k = 0.0, 0.0, False, 0
        for k in range(1, most + 1):
            for i in range(s):
                for c in range(3):
                    x[at.point + c] = x[at.values + n * i + c]
                    x[at.point + 3 + c] = y.m[c] + x[at.values + n * i + 3 + c]
                write(x, at.point + UNKNOWNS, y.z)
                for c in range(UNKNOWNS, n):
                    x[at.point + c] += x[at.values + n * i + c]
                slope(body, p, t + nodes[i] * h, y.q, x, at.point, at.slopes + n * i)
            for j in range(pairs + 1):
                one, two = (0, 0) if j == 0 else (2 * j - 1, 2 * j)
                for c in range(n):
                    u = v = 0.0
                    for i in range(s):
                        u += back[s * one + i] * x[at.slopes + n * i + c]
                        v += back[s * two + i] * x[at.slopes + n * i + c]
                    f, g = x[at.waves + n * one + c], x[at.waves + n * two + c]
                    if j == 0:
                        x[at.right + c] = u - eigen[0] / h * f
                    else:
                        a, b = eigen[2 * j] / h, eigen[2 * j + 1] / h
                        x[at.right + c] = u - (a * f + b * g)
                        x[at.right + n + c] = v - (a * g - b * f)
                if j == 0:
                    solve(x, at.factors, n, at.pivots, at.right)
                else:
                    solve_complex(x, at.factors + (2 * j - 1) * n * n, n, at.pivots + n * j, at.right)
                for c in range(n):
                    x[at.waves + n * one + c] += x[at.right + c]
                    if j > 0:
                        x[at.waves + n * two + c] += x[at.right + n + c]
            # The change of the values is measured against the values before it.
            transform(forth, x, at.waves, at.slopes)
            end = at.slopes + n * (s - 1) + 3
            m = (y.m[0] + x[end], y.m[1] + x[end + 1], y.m[2] + x[end + 2])
            unit = 1.0 / max(p.tuning[0] * max(scale, sqrt(dot(m, m))) + p.tuning[1], 1e-300)
            set_units(x, end + 3, y, largest)
            total = 0.0
            for i in range(s):
                for c in range(n):
                    x[at.point + c] = x[at.slopes + n * i + c] - x[at.values + n * i + c]
                    x[at.values + n * i + c] = x[at.slopes + n * i + c]
                others = error_of_numbers(x, at.point + UNKNOWNS) / p.tuning[0] ** 2
                total += max(error_size(x, at.point, 1.0 / p.tuning[0], unit), others)
            change = sqrt(total / s)
            if not change < 1e150:
                break
            if k > 1:
                rate = change / before if before > 0.0 else 0.0
                if rate >= 1.0:
                    break
                left = rate / (1.0 - rate) * change
                if left <= enough:
                    done = True
                    break
                if left * rate ** (most - 1 - k) > enough:  # it would not be done in time
                    break
            elif change <= 0.1 * enough:
                done = True
                break
            before = change
        return done, rate, k

    def judge(
        body: Inertia, p: Params, t: float, y: State, h: float, x: Any, scale: float, again: bool
    ) -> tuple[float, float]:
        """The estimate of the error of a step in units of the tolerance, and evaluations."""
        end = at.values + n * (s - 1) + 3
        m = (y.m[0] + x[end], y.m[1] + x[end + 1], y.m[2] + x[end + 2])
        unit = 1.0 / max(p.tuning[0] * max(scale, sqrt(dot(m, m))) + p.tuning[1], 1e-300)
        error, spent = 0.0, 0.0
        for turn in range(2):
            for c in range(n):
                total = 0.0
                for i in range(s):
                    total += weights[i] * x[at.values + n * i + c]
                # The slope at the start, or at the start moved by the first estimate, which filters what is stiff.
                x[at.right + c] = total / (gamma * h) + x[(at.slope if turn == 0 else at.slopes) + c]
            solve(x, at.factors, n, at.pivots, at.right)
            size2 = error_size(x, at.right, 1.0 / p.tuning[0], unit)
            error = sqrt(max(size2, error_of_numbers(x, at.right + UNKNOWNS) / p.tuning[0] ** 2))
            if turn == 1 or not again or not 1.0 <= error < 1e150:
                break
            for c in range(3):
                x[at.point + c] = x[at.right + c]
                x[at.point + 3 + c] = y.m[c] + x[at.right + 3 + c]
            write(x, at.point + UNKNOWNS, y.z)
            for c in range(UNKNOWNS, n):
                x[at.point + c] += x[at.right + c]
            slope(body, p, t, y.q, x, at.point, at.slopes)
            spent += 1.0
        return error, spent

    @apart
    def go(
        body: Inertia, p: Params, t: float, y: State, h: float, memory: Any, chooses: float
    ) -> tuple[State, Any, int]:
        x = scratch(size)
        load(x, memory)
        rest, spent = h, memory[-1]
        scale, before, has_matrix = max(memory[2], sqrt(dot(y.m, y.m))), memory[0], memory[4 + count] == 1.0
        largest = sizes.grown(sizes.of(memory), y)
        write(x, at.units, sizes.units(largest))
        enough = max(1e-14 / p.tuning[0], min(ITERATION_SHARE, p.tuning[0] ** ((s - 1.0) / (s + 1.0))))
        length = h if chooses == 0.0 or memory[1] == 0.0 or abs(memory[1]) > abs(h) else memory[1]
        error, last_error = 0.0, memory[3 + count]
        is_fresh, has_slope, rejected, first = False, False, False, chooses == 1.0 and memory[1] == 0.0
        for _ in range(MOST_ATTEMPTS):
            if not (has_slope and has_matrix):
                differentiate(body, p, t, y, length, x, not has_matrix)
                spent += 1.0 if has_matrix else n + 1.0
                is_fresh = not has_matrix
                has_slope = has_matrix = True
                w = rate_of(body_at(body, p, t), y.m)
                speed = sqrt(dot(w, w))
                if first and not rejected:
                    f = (x[at.slope + 3], x[at.slope + 4], x[at.slope + 5])
                    push = sqrt(dot(f, f))
                    speed = max(speed, push / scale if scale > 0.0 else sqrt(push * max(body.inverse)))
                    if speed * abs(length) > p.tuning[0] ** power:
                        length = p.tuning[0] ** power / speed if length > 0.0 else -(p.tuning[0] ** power) / speed
                elif speed * abs(length) > LONGEST_TURN:
                    length = LONGEST_TURN / speed if length > 0.0 else -LONGEST_TURN / speed
            guess(length / before if before != 0.0 else 0.0, x)
            done = prepare(body, length, x)
            rate, k = 1.0, most
            if done:
                done, rate, k = iterate(body, p, t, y, length, x, scale, largest, enough)
                spent += float(s * k)
            if not done:
                if is_fresh:
                    length *= HALF
                    rejected = True
                has_matrix, before = is_fresh, 0.0
                continue
            end = at.values + n * (s - 1)
            r = (x[end], x[end + 1], x[end + 2])
            m = (y.m[0] + x[end + 3], y.m[1] + x[end + 4], y.m[2] + x[end + 5])
            if chooses == 1.0:
                error, more = judge(body, p, t, y, length, x, scale, first or rejected)
                spent += more
                safety = SAFETY * (2.0 * most + 1.0) / (2.0 * most + k)
                if not (error <= 1.0 and dot(r, r) <= 16.0):
                    allowed = safety * error**-power if 1.0 < error < 1e150 else SHRINK
                    length *= max(SHRINK, min(allowed, 0.7))
                    rejected, has_matrix, before = True, is_fresh, 0.0
                    continue
                factor = safety * max(error, LEAST_ERROR) ** -power
                # How fast the error has grown from step to step, unless this one had to be shorter  [gustafsson1994]
                if last_error > 0.0 and memory[0] != 0.0 and (rejected or not abs(length) < abs(memory[1])):
                    grown = abs(length / memory[0]) * (last_error / max(error, LEAST_ERROR) ** 2) ** power
                    factor = min(factor, safety * grown)
                factor = max(SHRINK, min(factor, 1.0 if rejected else GROW))
            following = length_to_try(length, factor if chooses == 1.0 else 1.0, memory[1])
            e, u = exponential(r)
            z = read(x, end + UNKNOWNS)
            y = State(normalised(advanced(y.q, e, u)), m, tuple(y.z[i] + z[i] for i in range(count)))
            flag = 1.0 if rate <= OLD_MATRIX else 0.0
            if chooses == 1.0:
                return y, (length, following, scale, *largest, max(error, 0.01), flag, *keep(x), spent), OK
            rest -= length
            if abs(rest) <= 1e-15 * abs(h):
                memory = (h, memory[1], memory[2], *sizes.of(memory), memory[3 + count], 0.0, *keep(x), spent)
                return y, memory, OK
            t += length
            length = rest if abs(rest) < 2.0 * abs(length) else 2.0 * length
            has_slope = has_matrix = is_fresh = False
            before = 0.0
        status = STALLED if chooses == 1.0 else NO_CONVERGENCE
        return y, (length, length, scale, *largest, last_error, 0.0, *keep(x), spent), status

    return go
