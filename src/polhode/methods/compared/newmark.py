"""Newmark's method on the rotation group and its explicit rivals: krysl2004.

All turn the body by h w + h^2 a / 2, or by h times a rate half a step ahead, and then evaluate the torque: they are
explicit in the torque. They differ in how they find the new rate. `NMB` and its spatial form `NMS` solve Euler's
equation for it; `SW` and `SWd` (Simo and Wong) and `HSTAGM` (Hulbert) balance the momentum in space.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from polhode.kernels.algebra.quat import multiply, normalised, tidied, to_body, to_space
from polhode.kernels.algebra.rotation import (
    change_of_attitude,
    change_of_components,
    dexp,
    exponential,
    quaternion_of,
    rows,
)
from polhode.kernels.algebra.vec import combine, cross, times
from polhode.kernels.gyrostat import momentum_of, rate_of
from polhode.kernels.ops import internal, is_gyrostat
from polhode.kernels.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.kernels.steps.compose import Increments, Routine, Scheme
from polhode.kernels.steps.newton import MOST_ITERATIONS, NEWTON_TOLERANCE, balance, size, slope_of_momentum, solved
from polhode.kernels.types import Depends, Inertia, Memory, Params, Pull, Quat, Start, State, Vec3
from polhode.methods._method import COMPENSATED, Keeps, Method, Option, with_options

NEWTON = Option("newton", "last", "where Newton's iteration starts: the last acceleration, or zero", ("last", "zero"))

ZERO: Vec3 = (0.0, 0.0, 0.0)


def moved(q: Quat, d: Quat) -> Quat:
    """q + d."""
    return (q[0] + d[0], q[1] + d[1], q[2] + d[2], q[3] + d[3])


def balanced(pull: Pull) -> Callable[[Inertia, Params, float, State], Vec3]:
    """The start of most of these methods: the rate of change of the momentum by Euler's equation."""

    def start(body: Inertia, p: Params, t: float, s: State) -> Vec3:
        return slope_of_momentum(body, rate_of(body, s.m), pull(body, p, t, s))

    return start


# --- NMB


class StepResult(NamedTuple):
    """The result of a step: the turn (1 - e, u) of the body, the change of the state, the new y = I a, and a status."""

    e: float
    u: Vec3
    change: State
    y: Vec3
    status: int


def newmark(pull: Pull, gamma: float, newton: str) -> Callable[..., StepResult]:
    """The function that makes one step of NMB from a state and y = I a, the acceleration times the moments."""
    last, central = newton == "last", gamma == 0.5

    def move(body: Inertia, p: Params, t: float, s: State, h: float, y: Vec3) -> StepResult:
        h2, g, j = 0.5 * h, gamma * h, body.inverse
        dm = (h2 * y[0], h2 * y[1], h2 * y[2])
        w = rate_of(body, combine(s.m, 1.0, dm))
        v = (h * w[0], h * w[1], h * w[2])
        e, u = exponential(v)  # (30)
        dq = change_of_attitude(s.q, e, u)
        n = pull(body, p, t + h, State(moved(s.q, dq), s.m))
        if not central:  # (35); S(v) does not change v itself
            dm = combine(dm, h2 - g, times(dexp(v, times(y, j)), body.inertia))
        x, status = balance(body, n, combine(s.m, 1.0, dm), g, y if last else ZERO)  # (42), (43)
        return StepResult(e, u, State(dq, combine(dm, g, x)), x, status)  # (36)

    return move


def on_quaternion(pull: Pull, gamma: float, newton: str) -> tuple[Start, Any]:
    """The step as an increment of the state. The memory is I a."""
    move = newmark(pull, gamma, newton)

    def change(body: Inertia, p: Params, t: float, s: State, h: float, y: Vec3) -> tuple[State, Vec3, int]:
        new = move(body, p, t, s, h, y)
        return new.change, new.y, new.status

    return balanced(pull), change


def on_matrix(pull: Pull, gamma: float, newton: str) -> tuple[Start, Any]:
    """The step on an attitude matrix that is never made orthogonal again; the quaternion follows the matrix.

    The memory is I a and the matrix, row by row.
    """
    move, begin = newmark(pull, gamma, newton), balanced(pull)

    def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
        a = begin(body, p, t, s)
        x, y, z = rows(s.q)
        return (a[0], a[1], a[2], x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        a, b, c, x0, x1, x2, y0, y1, y2, z0, z1, z2 = memory
        new = move(body, p, t, s, h, (a, b, c))
        x = combine((x0, x1, x2), 1.0, change_of_components(new.e, new.u, (x0, x1, x2)))
        y = combine((y0, y1, y2), 1.0, change_of_components(new.e, new.u, (y0, y1, y2)))
        z = combine((z0, z1, z2), 1.0, change_of_components(new.e, new.u, (z0, z1, z2)))
        q = quaternion_of((x, y, z), moved(s.q, new.change.q))
        a, b, c = new.y
        kept = (a, b, c, x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2])
        return State(q, combine(s.m, 1.0, new.change.m)), kept, new.status

    return start, step


def _nmb(gamma: float, newton: str, attitude: str, compensated: bool) -> Method:
    if not 0.0 <= gamma <= 1.0:
        raise ValueError(f"gamma of NMB must lie between 0 and 1, not {gamma:g}: 0.5 gives the second order")
    if compensated and attitude == "matrix":
        raise ValueError("NMB sums with compensation on the quaternion only: leave one of the two options out")
    scheme: Scheme = Increments(partial(on_quaternion, gamma=gamma, newton=newton), 3, 1, 1, compensated)
    if attitude == "matrix":
        scheme = Routine(partial(on_matrix, gamma=gamma, newton=newton), 12, evaluations_at_start=1)
    order = 2 if gamma == 0.5 else 1
    kept = Keeps.REVERSIBLE if gamma == 0.5 else Keeps.NOTHING
    return Method(
        "NMB",
        scheme,
        summary="explicit Newmark (Verlet) in the body frame",
        about="The body turns by h w + h^2 a / 2 (30); the new acceleration solves Euler's equation together with the "
        "trapezoidal rule for the rate (36), by Newton's iteration on three unknowns (42), (43). One torque evaluation "
        "a step. Keeps time reversal, and starts by itself from any state. The factor of the last bracket of (43) is "
        "(h/2)^2. With gamma other than 1/2 the rate is carried by S of (33), whose middle term needs a minus sign for "
        "the body frame, and the method is of first order and keeps nothing: the energy of a free body grows with a "
        "smaller gamma and decays with a greater one. The paper conjectures that the method is symplectic; the "
        "measured defect is O(h^3), and the spatial momentum of a free body is not kept either.",
        cite="krysl2004",
        order=order,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=kept,
        keeps_when_free=kept,
        accepts_rotor=True,
        unscaled=compensated,
    )


NMB = with_options(
    _nmb,
    Option("gamma", 0.5, "the weight of the new acceleration in the rate, from 0 to 1", examples=(0.4, 1.0)),
    NEWTON,
    Option("attitude", "quaternion", "what carries the attitude; a matrix is never made orthogonal again",
           ("quaternion", "matrix")),
    COMPENSATED,
)  # fmt: skip


# --- NMS


def newmark_in_space(pull: Pull, newton: str) -> tuple[Start, Any]:
    """The step in space axes.

    The memory is rate and acceleration in space; the momentum in the body is computed from them.
    """
    begin, last = balanced(pull), newton == "last"

    def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
        w = to_space(s.q, rate_of(body, s.m))
        a = to_space(s.q, times(begin(body, p, t, s), body.inverse))
        return (w[0], w[1], w[2], a[0], a[1], a[2])

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        h2, a = 0.5 * h, (memory[3], memory[4], memory[5])
        wp = combine((memory[0], memory[1], memory[2]), h2, a)
        e, u = exponential((h * wp[0], h * wp[1], h * wp[2]))
        q = normalised(multiply((1.0 - e, u[0], u[1], u[2]), s.q))
        n = to_space(q, pull(body, p, t + h, State(q, s.m)))
        r = rows(q)
        inertia = (  # i = R I R^T, symmetric: its rows are its columns
            times_matrix(r, times(body.inertia, r[0])),
            times_matrix(r, times(body.inertia, r[1])),
            times_matrix(r, times(body.inertia, r[2])),
        )
        g = to_space(q, internal(body))
        x, status = a if last else ZERO, NO_CONVERGENCE
        w = combine(wp, h2, x)
        for _ in range(MOST_ITERATIONS):
            m = combine(times_matrix(inertia, w), 1.0, g) if is_gyrostat(body) else times_matrix(inertia, w)
            f = combine(combine(times_matrix(inertia, x), -1.0, n), 1.0, cross(w, m))  # (42)
            d = solved(tangent(inertia, h2, w, m), f)
            x = combine(x, -1.0, d)
            w = combine(wp, h2, x)
            change = size(d)
            if not change < 1e300:
                status = UNSOUND
                break
            if abs(h2) * change <= NEWTON_TOLERANCE * size(w):
                status = OK
                break
        return State(q, momentum_of(body, to_body(q, w))), (w[0], w[1], w[2], x[0], x[1], x[2]), status

    return start, step


def times_matrix(a: tuple[Vec3, Vec3, Vec3], x: Vec3) -> Vec3:
    """The matrix with rows a, times x."""
    return (
        a[0][0] * x[0] + a[0][1] * x[1] + a[0][2] * x[2],
        a[1][0] * x[0] + a[1][1] * x[1] + a[1][2] * x[2],
        a[2][0] * x[0] + a[2][1] * x[1] + a[2][2] * x[2],
    )


def tangent(inertia: tuple[Vec3, Vec3, Vec3], h2: float, w: Vec3, m: Vec3) -> tuple[Vec3, Vec3, Vec3]:
    """i + (h/2) (hat(w) i - hat(i w)), column by column: (43) with w at the iterate."""
    x, y, z = inertia
    return (
        combine(combine(x, h2, cross(w, x)), -h2, (0.0, m[2], -m[1])),
        combine(combine(y, h2, cross(w, y)), -h2, (-m[2], 0.0, m[0])),
        combine(combine(z, h2, cross(w, z)), -h2, (m[1], -m[0], 0.0)),
    )


def _nms(newton: str) -> Method:
    return Method(
        "NMS",
        Routine(partial(newmark_in_space, newton=newton), memory=6, evaluations_at_start=1),
        summary="explicit Newmark in the spatial frame, the same motion as NMB",
        about="NMB written in space axes (37) to (41): the inertia R I R^T turns with the body, and the tangent (43) "
        "is a full matrix. The states are those of NMB but for round-off, as the paper says. A step has one torque "
        "evaluation and takes longer than one of NMB. Keeps time reversal.",
        cite="krysl2004",
        order=2,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=Keeps.REVERSIBLE,
        keeps_when_free=Keeps.REVERSIBLE,
        accepts_rotor=True,
    )


NMS = with_options(_nms, NEWTON)


# --- SW and SWd


def simo_wong(pull: Pull, symmetric: bool) -> tuple[Start, Any]:
    """The step as an increment of the state. The memory is I a and the torque."""

    def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
        n = pull(body, p, t, s)
        y = slope_of_momentum(body, rate_of(body, s.m), n)
        return (y[0], y[1], y[2], n[0], n[1], n[2])

    def change(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        y, old = (memory[0], memory[1], memory[2]), (memory[3], memory[4], memory[5])
        h2, r = 0.5 * h, 1.0 / h
        w = rate_of(body, combine(s.m, h2, y))
        e, u = exponential((h * w[0], h * w[1], h * w[2]))
        dq = change_of_attitude(s.q, e, u)
        n = pull(body, p, t + h, State(moved(s.q, dq), s.m))
        turned = change_of_components(e, u, combine(s.m, h2, old))
        dm = combine(turned, h2, combine(old, 1.0, n))  # R I w in space changes by h times the mean torque
        x = (r * dm[0], r * dm[1], r * dm[2])
        if symmetric:
            x = combine((2.0 * x[0], 2.0 * x[1], 2.0 * x[2]), -1.0, y)
        return State(dq, dm), (x[0], x[1], x[2], n[0], n[1], n[2]), OK

    return start, change


def _simo_wong(symmetric: bool, **card: Any) -> Method:
    def make(compensated: bool) -> Method:
        return Method(
            scheme=Increments(partial(simo_wong, symmetric=symmetric), 6, 1, 1, compensated),
            cite="krysl2004,simo1991",
            order=2,
            accepts=Depends.POSITION | Depends.TIME,
            keeps=Keeps.AXIAL_MOMENTUM,
            keeps_when_free=Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
            accepts_rotor=True,
            unscaled=compensated,
            **card,
        )

    return with_options(make, COMPENSATED)


SW = _simo_wong(
    True,
    name="SW",
    summary="Simo and Wong, explicit: the momentum balanced in space",
    about="Appendix A as printed. The body turns by h w + h^2 a / 2; its momentum in space changes by h times the "
    "mean torque of both ends (T is a torque in space there), and the acceleration is 2 (w1 - w0) / h - a. One torque "
    "evaluation a step and no equation to solve. Keeps the momentum in space. The map of attitude, rate and "
    "acceleration is time-symmetric, but the acceleration is not that of Euler's equation: a run that restarts "
    "from a state, such as a run backward, does not go back along the same states. The paper says that the energy "
    "drifts for all steps; as printed it does not, and that of SWd does. At large steps the energy grows without "
    "bound: that of a book tossed as in section 3.2 with steps of 0.05, which are turns by 0.4.",
)
SWd = _simo_wong(
    False,
    name="SWd",
    summary="Simo and Wong with the mean acceleration of the last step: the energy drifts",
    about="SW with the acceleration (w1 - w0) / h, that of the middle of the last step, in place of 2 (w1 - w0) / h - "
    "a. It still keeps the momentum in space, at second order, but is not time-symmetric, and the energy of a free "
    "body drifts at every step size. The paper reports this of SW: its figures were probably made with this form.",
)


# --- HSTAGM


def staggered(pull: Pull) -> tuple[Start, Any]:
    """The step of two chains of states, half a step apart, each turned at the rate of the other chain.

    The torque of the other chain changes the momentum. The memory is the state of the other chain, the length of step
    that it was made for, and the number of evaluations. A step of another length restarts that chain.
    """

    def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
        return (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def beside(body: Inertia, p: Params, t: float, s: State, h: float) -> State:
        """The other chain's state half a step ahead, by two evaluations."""
        y = slope_of_momentum(body, rate_of(body, s.m), pull(body, p, t, s))
        w = rate_of(body, combine(s.m, 0.25 * h, y))
        v = (0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2])
        e, u = exponential((0.5 * v[0], 0.5 * v[1], 0.5 * v[2]))
        quarter = State(moved(s.q, change_of_attitude(s.q, e, u)), s.m)
        return across(s, v, 0.5 * h, to_space(quarter.q, pull(body, p, t + 0.25 * h, quarter)))

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        other = State((memory[0], memory[1], memory[2], memory[3]), (memory[4], memory[5], memory[6]))
        count = memory[8]
        if memory[7] != h:
            other = beside(body, p, t, s, h)
            count += 2.0
        w = rate_of(body, other.m)
        n = to_space(other.q, pull(body, p, t + 0.5 * h, other))
        new = across(s, (h * w[0], h * w[1], h * w[2]), h, n)
        w = rate_of(body, new.m)
        n = to_space(new.q, pull(body, p, t + h, new))
        other = across(other, (h * w[0], h * w[1], h * w[2]), h, n)
        q, m = other.q, other.m
        return new, (q[0], q[1], q[2], q[3], m[0], m[1], m[2], h, count + 2.0), OK

    return start, step


def across(s: State, v: Vec3, h: float, n: Vec3) -> State:
    """Turns the body by v, while the torque n in space acts on its momentum for a time h."""
    e, u = exponential(v)
    q = tidied(moved(s.q, change_of_attitude(s.q, e, u)))
    m = combine(s.m, 1.0, change_of_components(e, u, s.m))
    return State(q, combine(m, h, to_body(q, n)))


HSTAGM = Method(
    "HSTAGM",
    Routine(staggered, memory=9, evaluations_at_start=0, evaluations_per_step=None),
    summary="Hulbert's staggered method: two chains of states half a step apart",
    about="Appendix A. Each chain is turned at the rate of the other and its momentum in space pushed by the torque "
    "of the other: two torque evaluations a step. The second chain starts from a state with two more evaluations (the "
    "paper's first line lacks the transformation of the torque to the body), and restarts when the step changes. "
    "Keeps the momentum in space, but not time reversal. The paper supposes that it may be symplectic, which it is "
    "not, and shows that it blows up on a slow top: the two chains separate, whatever the step.",
    cite="krysl2004,hulbert1992",
    order=2,
    accepts=Depends.POSITION | Depends.TIME,
    keeps=Keeps.AXIAL_MOMENTUM,
    keeps_when_free=Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
    accepts_rotor=True,
)
