"""Steps of many bodies that act on each other: kernels over arrays.

The state of n bodies is one row of 13 n numbers: positions (3 n), attitudes (4 n), velocities (3 n), angular momenta
(3 n); attitudes and angular momenta are those of principal axes. Forces are one row of 6 n numbers: forces in space,
then torques, in the user's body axes as forces return them and in principal axes as steps take them.

A step is a list of operations, given as data: kicks of all bodies by one evaluation of the forces, and drifts, in which
every body moves and turns freely by the flows of the method. So one program serves all compositions of a flow.
"""

from collections.abc import Callable, Sequence
from math import cos, exp, log, pi, sin, sqrt
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import conjugate, multiply, norm2, slight_turn, tidied, to_body, to_space
from polhode.kernels.algebra.rotation import change_of_attitude, exponential
from polhode.kernels.algebra.vec import combine, times
from polhode.kernels.codegen import function
from polhode.kernels.gyrostat import rate_of
from polhode.kernels.ops import beginning_at, internal
from polhode.kernels.states import put_quaternion, put_vector, quaternion_at, vector_at
from polhode.kernels.status import OK, UNSOUND
from polhode.kernels.steps.newton import balance, slope_of_momentum
from polhode.kernels.types import Gyrostat, Inertia, State, Vec3

ROW = 13
"""Numbers of a body in a state."""
SETTING = 14
"""Fixed numbers of a body: inertia 3, inverse 3, axes 4, internal momentum 3, inverse mass."""
GROUPS = (0, 3, 7, 10, 13)
"""Where positions, attitudes, velocities and angular momenta begin and end in a state, over the number of bodies."""
MODES = 42
"""Numbers of a body in a bath with resistance matrices: six modes, row by row, and how fast each forgets."""
KICK, DRIFT, HEAT, AHEAD = 0, 1, 2, 3
"""Operations of a step; `AHEAD` prepares the forces for the kick after it, as `flows.ahead` does."""


class SystemCounters(NamedTuple):
    """The index of each integer of a run in its array."""

    bodies: int = 0
    operations: int = 1
    done: int = 2  # steps made
    steps: int = 3  # steps in all
    row: int = 4  # rows of output written
    rows: int = 5  # rows there are
    every: int = 6  # output every so many steps; 0: none
    known: int = 7  # 1: the forces are those of the state
    evaluations: int = 8  # of the forces
    body: int = 9  # the body that a failure is blamed on
    seed: int = 10  # the two halves of the seed of random numbers
    seed_high: int = 11
    iterations: int = 12  # of collocation
    room: int = 13  # numbers of room that the forces need for themselves
    rejected: int = 14  # steps that were made again, shorter
    before: int = 15  # steps in stretches before, after which output is counted
    ends: int = 16  # 1: there is output after the last step


AT = SystemCounters()
COUNTERS = len(AT)

Forces = Callable[[float, int, Any, Any, Any, Any, Any], None]
"""`(t, n, x, q, p, work, g)` adds forces and torques to g; p are its numbers, work is room of its own."""
Energy = Callable[[float, int, Any, Any, Any, Any], float]
"""`(t, n, x, q, p, work)` returns the potential energy."""
BodyFlow = Callable[[Inertia, Any, float, State, float], State]


def no_forces(t: float, n: int, x: Any, q: Any, p: Any, work: Any, g: Any) -> None:
    """The forces where there are none."""


def no_energy(t: float, n: int, x: Any, q: Any, p: Any, work: Any) -> float:
    """The potential energy where there are no forces."""
    return 0.0


# --- reading and writing


def add_vector(x: Any, k: int, v: Vec3) -> None:
    """Adds three numbers."""
    x[k] += v[0]
    x[k + 1] += v[1]
    x[k + 2] += v[2]


def copy_numbers(source: Any, i: int, target: Any, j: int, count: int) -> None:
    """Copies numbers."""
    for k in range(count):
        target[j + k] = source[i + k]


def load_rotor(setting: Any, i: int) -> Inertia:
    """Reads a body."""
    k = SETTING * i
    return Inertia(vector_at(setting, k), vector_at(setting, k + 3))


def load_gyrostat(setting: Any, i: int) -> Any:
    """Reads a body with a rotor."""
    k = SETTING * i
    return Gyrostat(vector_at(setting, k), vector_at(setting, k + 3), vector_at(setting, k + 10))


def inverse_mass(setting: Any, i: int) -> float:
    """Reads the inverse mass of a body."""
    k: float = setting[SETTING * i + 13]
    return k


# --- forces of all bodies


def filling(forces: Forces, *, tilted: bool) -> Callable[[Any, int, Any, Any, Any, Any, Any], None]:
    """Returns `fill(t, n, setting, values, y, g, work)`, which fills g with forces, and torques in principal axes.

    Where bodies are tilted, the first 4 n numbers of the room hold their attitudes in the user's axes. Numbers of y, g
    and work may be rows over nodes.
    """

    def fill(t: Any, n: int, setting: Any, values: Any, y: Any, g: Any, work: Any) -> None:
        for k in range(6 * n):
            g[k] = 0.0
        if tilted:
            for i in range(n):
                axes = quaternion_at(setting, SETTING * i + 6)
                put_quaternion(work, 4 * i, multiply(quaternion_at(y, 3 * n + 4 * i), conjugate(axes)))
            forces(t, n, y, work, values, beginning_at(work, 4 * n), g)
            for i in range(n):
                axes = quaternion_at(setting, SETTING * i + 6)
                put_vector(g, 3 * (n + i), to_space(conjugate(axes), vector_at(g, 3 * (n + i))))
        else:
            forces(t, n, y, beginning_at(y, 3 * n), values, beginning_at(work, 4 * n), g)

    return fill


def evaluation(forces: Forces, *, tilted: bool) -> Callable[[float, int, Any, Any, Any, Any, Any], int]:
    """Returns `evaluate(t, n, setting, values, y, g, work)`, which fills g as `filling` does.

    It returns the first body whose forces are no numbers, or -1.
    """
    fill = filling(forces, tilted=tilted)

    def evaluate(t: float, n: int, setting: Any, values: Any, y: Any, g: Any, work: Any) -> int:
        fill(t, n, setting, values, y, g, work)
        for i in range(n):
            f, m = vector_at(g, 3 * i), vector_at(g, 3 * (n + i))
            if (f[0] + f[1] + f[2] + m[0] + m[1] + m[2]) * 0.0 != 0.0:  # NaN is unequal to everything
                return i
        return -1

    return evaluate


def energy_rows(energy: Energy) -> Callable[..., int]:
    """The program that computes the potential energy in rows of positions and attitudes in user's axes."""

    def fill(t: Any, x: Any, q: Any, values: Any, work: Any, out: Any, n: int, rows: int) -> int:
        for r in range(rows):
            out[r] = energy(t[r], n, beginning_at(x, 3 * n * r), beginning_at(q, 4 * n * r), values, work)
        return OK

    return fill


def _calls(parts: Sequence[Any], more: str = "") -> tuple[list[str], dict[str, Any]]:
    """Writes the calls of parts; numbers and room of part k begin where p[2 k] and p[2 k + 1] say."""
    given = "t, n, x, q, beginning_at(p, int(p[{0}])), beginning_at(work, int(p[{1}]))"
    calls = [f"f{k}({given.format(2 * k, 2 * k + 1)}{more})" for k in range(len(parts))]
    return calls, {f"f{k}": f for k, f in enumerate(parts)} | {"beginning_at": beginning_at}


def sum_of(parts: Sequence[Forces]) -> Forces:
    """The sum of forces, whose numbers and room follow those of the sum."""
    made: Forces = function("total(t, n, x, q, p, work, g)", *_calls(parts, ", g"))
    return made


def sum_of_energies(parts: Sequence[Energy]) -> Energy:
    """The sum of potential energies, with numbers and room as in `sum_of`."""
    calls, names = _calls(parts)
    made: Energy = function("total(t, n, x, q, p, work)", [f"return {' + '.join(calls)}"], names)
    return made


# --- a step as a list of operations


def in_turn(
    flow: BodyFlow, forces: Forces, *, tilted: bool, gyrostat: bool, leaning: bool = False, coupled: bool = False
) -> Callable[..., int]:  # fmt: skip
    """The step that makes the operations in the list, one after the other.

    `step(t, h, number, setting, values, ops, kinds, memory, y, g, work, count)` changes y and returns a status.
    `number` counts steps from the start of the run, for random numbers; `memory` holds kT and frictions of the bath,
    of a step that is `leaning`, which takes forces ahead, 7 n numbers more, and where the bath is `coupled`, by
    resistance matrices, its modes and 12 numbers of room.
    """
    evaluate = evaluation(forces, tilted=tilted)
    load = load_gyrostat if gyrostat else load_rotor

    def kick(n: int, h: float, setting: Any, y: Any, g: Any) -> None:
        for i in range(n):
            v, m = 7 * n + 3 * i, 10 * n + 3 * i
            put_vector(y, v, combine(vector_at(y, v), h * inverse_mass(setting, i), vector_at(g, 3 * i)))
            put_vector(y, m, combine(vector_at(y, m), h, vector_at(g, 3 * (n + i))))

    def drift(n: int, t: float, h: float, setting: Any, y: Any) -> None:
        for i in range(n):
            put_vector(y, 3 * i, combine(vector_at(y, 3 * i), h, vector_at(y, 7 * n + 3 * i)))
            q, m = 3 * n + 4 * i, 10 * n + 3 * i
            s = flow(load(setting, i), 0.0, t, State(quaternion_at(y, q), vector_at(y, m)), h)
            put_quaternion(y, q, tidied(s.q))
            put_vector(y, m, s.m)

    def lean(n: int, k: float, setting: Any, y: Any, g: Any, memory: Any) -> None:
        copy_numbers(y, 0, memory, 4, 7 * n)
        for i in range(n):
            put_vector(y, 3 * i, combine(vector_at(y, 3 * i), k * inverse_mass(setting, i), vector_at(g, 3 * i)))
            q, w = 3 * n + 4 * i, times(vector_at(g, 3 * (n + i)), load(setting, i).inverse)
            turn = slight_turn((0.5 * k * w[0], 0.5 * k * w[1], 0.5 * k * w[2]))
            put_quaternion(y, q, multiply(quaternion_at(y, q), turn))

    def lean_back(n: int, y: Any, g: Any, memory: Any) -> None:
        for i in range(n):
            q = 3 * n + 4 * i
            turn = multiply(conjugate(quaternion_at(memory, 4 + q)), quaternion_at(y, q))
            put_vector(g, 3 * (n + i), to_space(turn, vector_at(g, 3 * (n + i))))
        copy_numbers(memory, 4, y, 0, 7 * n)

    def warm(n: int, h: float, number: int, place: int, setting: Any, memory: Any, y: Any, count: Any) -> None:
        k, c, d = memory[0], exp(-memory[1] * h), exp(-memory[2] * h)
        a, b = sqrt(k * (1.0 - c * c)), sqrt(k * (1.0 - d * d))
        for i in range(n):
            z, w = normals(int(number), i, place, int(count[AT.seed]), int(count[AT.seed_high]))
            body, v, m = load(setting, i), 7 * n + 3 * i, 10 * n + 3 * i
            e = a * sqrt(inverse_mass(setting, i))
            u = vector_at(y, v)
            put_vector(y, v, (c * u[0] + e * z[0], c * u[1] + e * z[1], c * u[2] + e * z[2]))
            r, j, own = internal(body), body.inertia, vector_at(y, m)
            put_vector(y, m, (
                r[0] + d * (own[0] - r[0]) + b * sqrt(j[0]) * w[0],
                r[1] + d * (own[1] - r[1]) + b * sqrt(j[1]) * w[1],
                r[2] + d * (own[2] - r[2]) + b * sqrt(j[2]) * w[2],
            ))  # fmt: skip

    def warm_modes(n: int, h: float, number: int, place: int, setting: Any, memory: Any, y: Any, count: Any) -> None:
        room = beginning_at(memory, 4 + MODES * n)
        for i in range(n):
            z, w = normals(int(number), i, place, int(count[AT.seed]), int(count[AT.seed_high]))
            body, q, v, m = load(setting, i), quaternion_at(y, 3 * n + 4 * i), 7 * n + 3 * i, 10 * n + 3 * i
            im, r, j, modes = (
                inverse_mass(setting, i),
                internal(body),
                body.inverse,
                beginning_at(memory, 4 + MODES * i),
            )
            own = combine(vector_at(y, m), -1.0, r)
            put_vector(room, 0, to_body(q, vector_at(y, v)))
            put_vector(room, 3, times(own, j))  # velocity and rate
            put_vector(room, 6, z)
            put_vector(room, 9, w)
            for a in range(6):
                c = 0.0
                for b in range(6):
                    c += modes[6 * b + a] * room[b]
                e = exp(-modes[36 + a] * h)
                room[6 + a] = e * c + sqrt(memory[0] * (1.0 - e * e)) * room[6 + a]
            for b in range(6):
                c = 0.0
                for a in range(6):
                    c += modes[6 * b + a] * room[6 + a]
                room[b] = c
            p = vector_at(room, 0)
            put_vector(y, v, to_space(q, (im * p[0], im * p[1], im * p[2])))
            put_vector(y, m, combine(vector_at(room, 3), 1.0, r))

    def step(
        t: float, h: float, number: int, setting: Any, values: Any, ops: Any, kinds: Any, memory: Any, y: Any, g: Any,
        work: Any, count: Any,
    ) -> int:  # fmt: skip
        n = count[AT.bodies]
        for k in range(count[AT.operations]):
            part, time = ops[2 * k] * h, t + ops[2 * k + 1] * h
            if kinds[k] == KICK or kinds[k] == AHEAD:
                if count[AT.known] == 0:
                    bad = evaluate(time, n, setting, values, y, g, work)
                    count[AT.evaluations] += 1
                    if bad >= 0:
                        count[AT.body] = bad
                        return UNSOUND
                    count[AT.known] = 1
                if kinds[k] == KICK:
                    kick(n, part, setting, y, g)
                elif leaning:
                    lean(n, part * h, setting, y, g, memory)
                    bad = evaluate(time, n, setting, values, y, g, work)
                    count[AT.evaluations] += 1
                    lean_back(n, y, g, memory)
                    if bad >= 0:
                        count[AT.body] = bad
                        return UNSOUND
            elif kinds[k] == DRIFT:
                drift(n, time, part, setting, y)
                count[AT.known] = 0
            elif coupled:
                warm_modes(n, part, number, k, setting, memory, y, count)
            else:
                warm(n, part, number, k, setting, memory, y, count)
        return OK

    return step


def newmark(forces: Forces, *, tilted: bool, gyrostat: bool) -> Callable[..., int]:
    """The step of explicit Newmark in body axes, NMB with gamma 1/2; translation is Verlet's.  [krysl2004]"""
    evaluate = evaluation(forces, tilted=tilted)
    load = load_gyrostat if gyrostat else load_rotor

    def step(
        t: float, h: float, number: int, setting: Any, values: Any, ops: Any, kinds: Any, memory: Any, y: Any, g: Any,
        work: Any, count: Any,
    ) -> int:  # fmt: skip
        n, half = count[AT.bodies], 0.5 * h
        for k in range(2):
            if count[AT.known] == 0:
                bad = evaluate(t + k * h, n, setting, values, y, g, work)
                count[AT.evaluations] += 1
                if bad >= 0:
                    count[AT.body] = bad
                    return UNSOUND
                count[AT.known] = 1
            for i in range(n):
                body, q, v, m = load(setting, i), 3 * n + 4 * i, 7 * n + 3 * i, 10 * n + 3 * i
                put_vector(y, v, combine(vector_at(y, v), half * inverse_mass(setting, i), vector_at(g, 3 * i)))
                if k == 0:
                    put_vector(y, 3 * i, combine(vector_at(y, 3 * i), h, vector_at(y, v)))
                    momentum = vector_at(y, m)
                    slope = slope_of_momentum(body, rate_of(body, momentum), vector_at(g, 3 * (n + i)))
                    momentum = combine(momentum, half, slope)
                    w = rate_of(body, momentum)
                    e, u = exponential((h * w[0], h * w[1], h * w[2]))  # (30)
                    d, a = change_of_attitude(quaternion_at(y, q), e, u), quaternion_at(y, q)
                    put_quaternion(y, q, tidied((a[0] + d[0], a[1] + d[1], a[2] + d[2], a[3] + d[3])))
                    put_vector(y, m, momentum)
                    put_vector(memory, 4 + 3 * i, slope)
                else:
                    torque, slope = vector_at(g, 3 * (n + i)), vector_at(memory, 4 + 3 * i)
                    change, status = balance(body, torque, vector_at(y, m), half, slope)  # (42), (43)
                    if status != OK:
                        count[AT.body] = i
                        return int(status)
                    put_vector(y, m, combine(vector_at(y, m), half, change))  # (36)
            if k == 0:
                count[AT.known] = 0
        return OK

    return step


# --- the loop over steps


def is_sound(n: int, y: Any) -> int:
    """The first body whose state is not finite or whose attitude is no rotation, or -1."""
    for i in range(n):
        x, v, m = vector_at(y, 3 * i), vector_at(y, 7 * n + 3 * i), vector_at(y, 10 * n + 3 * i)
        a = norm2(quaternion_at(y, 3 * n + 4 * i))
        total = x[0] + x[1] + x[2] + v[0] + v[1] + v[2] + m[0] + m[1] + m[2]
        if not ((a > 0.25) & (a < 4.0) & (total * 0.0 == 0.0)):
            return i
    return -1


def system_driver(step: Callable[..., int]) -> Callable[..., int]:
    """The loop over steps of a system. It stops before `stop`, or where a step fails, with the state before.

    Step i of the loop has the number `first` + i and begins at t0 + (first + i) h: a run that goes on has the same
    times as one that was not cut.
    """

    def drive(
        setting: Any, values: Any, ops: Any, memory: Any, y: Any, g: Any, before: Any, work: Any, out: Any, kinds: Any,
        count: Any, t0: float, h: float, last: float, first: int, stop: int,
    ) -> int:  # fmt: skip
        n = count[AT.bodies]
        size = ROW * n
        while count[AT.done] < stop:
            i = count[AT.done]
            length = last if i == count[AT.steps] - 1 else h
            known = count[AT.known]
            copy_numbers(y, 0, before, 0, size)
            copy_numbers(g, 0, before, size, 6 * n)
            t = t0 + (first + i) * h
            status = step(t, length, first + i, setting, values, ops, kinds, memory, y, g, work, count)
            if status == OK:
                bad = is_sound(n, y)
                if bad >= 0:
                    count[AT.body] = bad
                    status = UNSOUND
            if status != OK:
                copy_numbers(before, 0, y, 0, size)
                copy_numbers(before, size, g, 0, 6 * n)
                count[AT.known] = known
                return status
            count[AT.done] = i + 1
            whole = count[AT.every] > 0 and (count[AT.before] + i + 1) % count[AT.every] == 0
            if whole or (count[AT.every] > 0 and count[AT.ends] > 0 and i + 1 == count[AT.steps]):
                copy_numbers(y, 0, out, size * count[AT.row], size)
                count[AT.row] += 1
        return OK

    return drive


# --- random numbers by a counter: Philox 4x32-10.  [salmon2011]

_MASK = 0xFFFFFFFF


def philox(a: int, b: int, c: int, d: int, k: int, m: int) -> tuple[int, int, int, int]:
    """Four numbers of 32 bits for a counter of four such numbers and a key of two."""
    for _ in range(10):
        x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = ((y >> 32) & _MASK) ^ b ^ k, y & _MASK, ((x >> 32) & _MASK) ^ d ^ m, x & _MASK
        k, m = (k + 0x9E3779B9) & _MASK, (m + 0xBB67AE85) & _MASK
    return a, b, c, d


def two_normals(a: int, b: int, c: int, d: int) -> tuple[float, float]:
    """Two normal numbers from 128 bits, by the transformation of Box and Muller."""
    u = ((a << 21) + (b >> 11) + 0.5) * 2.0**-53
    v = ((c << 21) + (d >> 11)) * 2.0**-53
    r, angle = sqrt(-2.0 * log(u)), 2.0 * pi * v
    return r * cos(angle), r * sin(angle)


def normals(number: int, body: int, place: int, seed: int, seed_high: int) -> tuple[Vec3, Vec3]:
    """Six normal numbers for a step, a body and a place in the step: whatever else is computed, the same."""
    low, high = number & _MASK, (number >> 32) & _MASK
    p = philox(low, high, body, 3 * place, seed, seed_high)
    q = philox(low, high, body, 3 * place + 1, seed, seed_high)
    r = philox(low, high, body, 3 * place + 2, seed, seed_high)
    a, b = two_normals(p[0], p[1], p[2], p[3])
    c, d = two_normals(q[0], q[1], q[2], q[3])
    e, f = two_normals(r[0], r[1], r[2], r[3])
    return (a, b, c), (d, e, f)
