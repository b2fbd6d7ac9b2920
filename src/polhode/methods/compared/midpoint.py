"""Midpoint rules on the rotation group, implicit in the torque: krysl2004's AKW and Lewis-Simo, and the plain rule.

All turn the body by h times the mean w of the old and the new rate, and solve one equation for it,

    I w + g = m + dm / 2,

where g is the momentum of a rotor, if the body has one, and dm is the change, in the body, of a momentum that only the
torque changes in space. They differ in how the body is turned, by the exponential or by Cayley's map, in which of the
two turns the momentum, and in where the torque is taken.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from polhode.kernels.algebra.quat import normalised, tidied
from polhode.kernels.algebra.rotation import cayley, change_of_attitude, change_of_components, dexp, exponential
from polhode.kernels.algebra.vec import combine, cross, times
from polhode.kernels.gyrostat import momentum_of, rate_of
from polhode.kernels.ops import fma, internal, is_gyrostat
from polhode.kernels.status import NO_CONVERGENCE, OK, UNSOUND
from polhode.kernels.steps.compose import Increments, KickedFreeStep, Routine, nothing
from polhode.kernels.steps.newton import Columns, applied, differences, secant, size, slope_of_momentum, solved
from polhode.kernels.types import Depends, Inertia, Memory, Params, Pull, Quat, Start, State, Vec3
from polhode.methods._method import COMPENSATED, Keeps, Method, with_options
from polhode.methods.compared.newmark import NEWTON, ZERO, moved

MOST_ITERATIONS = 50
ROUND_OFF = 2.0**-52
ITERATION_ERROR = 2.0**-55
"""The error that the iteration may leave, relative to the rate: it may have the same sign in every step, and an eighth
of an ulp adds up more slowly than roundings do."""
BEST_CONVERGENCE = 2.0**-10
"""Corrections are not expected to shrink by more than this factor each time."""
ROUND_OFF_CORRECTION = 1e-9
"""Corrections that no longer shrink are round-off if they are as small as this relative to the rate. That is more than
an ulp of the rate, for bodies whose moments differ much."""

Turn = Callable[[Vec3], tuple[float, Vec3]]
Momentum = Callable[[Inertia, Vec3, float, Vec3], tuple[Vec3, Columns]]
"""`(body, m, h, w) -> (dm, slope)`: the change of a free momentum m, and the columns of the derivative of dm / 2 I."""


def by_midpoint(body: Inertia, m: Vec3, h: float, w: Vec3) -> tuple[Vec3, Columns]:
    """Changes the momentum by Euler's equation at the mean rate. This is a turn of the momentum by Cayley's map."""
    k, j = differences(body), body.inverse
    x, y, z = -h * k[0], -h * k[1], -h * k[2]
    a, b, c = 0.5 * x * j[0], 0.5 * y * j[1], 0.5 * z * j[2]
    dm = (x * (w[1] * w[2]), y * (w[2] * w[0]), z * (w[0] * w[1]))
    if is_gyrostat(body):
        g, x, y, z = internal(body), 0.5 * h * j[0], 0.5 * h * j[1], 0.5 * h * j[2]
        dm = combine(dm, h, cross(g, w))
        return dm, (
            (0.0, fma(b, w[2], y * g[2]), fma(c, w[1], -(z * g[1]))),
            (fma(a, w[2], -(x * g[2])), 0.0, fma(c, w[0], z * g[0])),
            (fma(a, w[1], x * g[1]), fma(b, w[0], -(y * g[0])), 0.0),
        )
    return dm, ((0.0, b * w[2], c * w[1]), (a * w[2], 0.0, c * w[0]), (a * w[1], b * w[0], 0.0))


def by_exponential(body: Inertia, m: Vec3, h: float, w: Vec3) -> tuple[Vec3, Columns]:
    """Keeps the momentum fixed in space while the body turns by exp(h w)."""
    v, j = (h * w[0], h * w[1], h * w[2]), body.inverse
    e, u = exponential(v)
    dm = change_of_components(e, u, m)
    new, g = combine(m, 1.0, dm), (0.5 * h * j[0], 0.5 * h * j[1], 0.5 * h * j[2])
    return dm, (
        times(g, cross(new, dexp(v, (1.0, 0.0, 0.0)))),
        times(g, cross(new, dexp(v, (0.0, 1.0, 0.0)))),
        times(g, cross(new, dexp(v, (0.0, 0.0, 1.0)))),
    )


def midpoint(pull: Pull, turn: Turn, momentum: Momentum, trapezoid: bool, newton: str) -> tuple[Start, Any]:
    """The step as an increment of the state, with the torque at its middle or as the mean of both ends.

    The memory is the torque, of the end or the middle of the last step, and the number of evaluations.
    The derivative of the free momentum by the mean rate is known; that of the torque is estimated from the iterates. So
    a free body has Newton's convergence, and every iteration costs one evaluation.
    """
    last = newton == "last"

    def start(body: Inertia, p: Params, t: float, s: State) -> Memory:
        n = pull(body, p, t, s)
        return (n[0], n[1], n[2], 1.0)

    def torque(body: Inertia, p: Params, t: float, s: State, h: float, w: Vec3) -> Vec3:
        """The torque at the end or the middle of the step, if w is the mean rate."""
        e, u = turn((h * w[0], h * w[1], h * w[2]))
        dq, m = change_of_attitude(s.q, e, u), momentum_of(body, w)
        if trapezoid:
            there = (fma(2.0, m[0], -s.m[0]), fma(2.0, m[1], -s.m[1]), fma(2.0, m[2], -s.m[2]))
            return pull(body, p, t + h, State(moved(s.q, dq), there))
        half: Quat = (0.5 * dq[0], 0.5 * dq[1], 0.5 * dq[2], 0.5 * dq[3])
        return pull(body, p, t + 0.5 * h, State(normalised(moved(s.q, half)), m))

    def change(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        j, n = body.inverse, (memory[0], memory[1], memory[2])
        h2, old = 0.5 * h, n if trapezoid else ZERO
        weight = h2 if trapezoid else h
        m = combine(s.m, h2, old)  # the momentum that is turned; `by_midpoint` does not need it
        w = rate_of(body, s.m)
        if last:
            w = rate_of(body, combine(s.m, h2, slope_of_momentum(body, w, n)))
        d, before, status, count = ZERO, 0.0, NO_CONVERGENCE, memory[3]
        b: Columns = (d, d, d)  # the estimated derivative of the torque by w
        for i in range(MOST_ITERATIONS):
            here = torque(body, p, t, s, h, w)
            count += 1.0
            if i > 0:
                b = secant(b, d, combine(n, -1.0, here))
            n = here
            free, slope = momentum(body, m, h, w)
            dm = combine(free, weight, combine(old, 1.0, n))
            d = solved(tangent(slope, 0.5 * weight, j, b), combine(rate_of(body, combine(s.m, 0.5, dm)), -1.0, w))
            w = combine(w, -1.0, d)
            moves = size(d)
            if not moves < 1e300:  # neither infinite nor NaN can be iterated away
                status = UNSOUND
                break
            if settled(moves, before, size(w)):
                status = OK
                break
            before = moves
        n = combine(n, -1.0, applied(b, d))  # extrapolated to the last w, at which the torque was not evaluated
        free, _ = momentum(body, m, h, w)
        e, u = turn((h * w[0], h * w[1], h * w[2]))
        new = State(change_of_attitude(s.q, e, u), combine(free, weight, combine(old, 1.0, n)))
        return new, (n[0], n[1], n[2], count), status

    return start, change


def lie_midpoint(pull: Pull) -> tuple[Start, Any]:
    """Two half steps of the free body by the midpoint rule on the group: each turns by w that solves I w + g = m'.

    m' is the momentum after half of that turn.  [krysl2005]
    """

    def step(body: Inertia, p: Params, t: float, s: State, h: float, memory: Any) -> tuple[State, Any, int]:
        half = 0.5 * h
        w = rate_of(body, s.m)
        for _ in range(2):
            before, status = 0.0, NO_CONVERGENCE
            for _ in range(MOST_ITERATIONS):
                dm, slope = by_exponential(body, s.m, 0.5 * half, w)
                missing = combine(rate_of(body, combine(s.m, 1.0, dm)), -1.0, w)
                d = solved(tangent(slope, 1.0, (1.0, 1.0, 1.0), slope), missing)
                w = combine(w, -1.0, d)
                moves = size(d)
                if not moves < 1e300:
                    return s, memory, UNSOUND
                if settled(moves, before, size(w)):
                    status = OK
                    break
                before = moves
            if status != OK:
                return s, memory, status
            e, u = exponential((half * w[0], half * w[1], half * w[2]))
            dq, dm = change_of_attitude(s.q, e, u), change_of_components(e, u, s.m)
            s = State(tidied(moved(s.q, dq)), combine(s.m, 1.0, dm))
        return s, memory, OK

    return nothing, step


def tangent(a: Columns, g: float, j: Vec3, b: Columns) -> Columns:
    """a + g j b - 1, where j is a diagonal matrix."""
    x, y, z = combine(a[0], g, times(j, b[0])), combine(a[1], g, times(j, b[1])), combine(a[2], g, times(j, b[2]))
    return (x[0] - 1.0, x[1], x[2]), (y[0], y[1] - 1.0, y[2]), (z[0], z[1], z[2] - 1.0)


def settled(change: float, before: float, scale: float) -> bool:
    """Whether the next correction would be round-off: this one is, or the next will be if they go on shrinking.

    They are not expected to shrink faster than by `BEST_CONVERGENCE`: the first corrections may not show the direction
    that converges worst.
    """
    shrunk = change * max(change, BEST_CONVERGENCE * before)
    return (
        change <= ROUND_OFF * scale
        or shrunk <= ITERATION_ERROR * scale * before
        or 0.0 < before <= change <= ROUND_OFF_CORRECTION * scale
    )


ANY = Depends.POSITION | Depends.TIME | Depends.RATE


def _midpoint(turn: Turn, momentum: Momentum, trapezoid: bool, **card: Any) -> Method:
    def make(newton: str, compensated: bool) -> Method:
        bound = partial(midpoint, turn=turn, momentum=momentum, trapezoid=trapezoid, newton=newton)
        return Method(
            scheme=Increments(bound, 4, 1, None, compensated),
            order=2,
            accepts=ANY,
            accepts_rotor=True,
            unscaled=compensated,
            **card,
        )

    return with_options(make, NEWTON, COMPENSATED)


AKW = _midpoint(
    cayley,
    by_midpoint,
    True,
    name="AKW",
    summary="the midpoint rule of Austin, Krishnaprasad and Wang, torque by the trapezoid",
    about="The momentum changes by Euler's equation at the mean rate and by the mean torque of both ends; the attitude "
    "turns by Cayley's map, 2 atan(h |w| / 2), as the momentum does. Two to seven torque evaluations a step, one for "
    "every iteration of the equation. A free body keeps energy and momentum in space, whatever the step. In a uniform "
    "field (HeavyTop) energy and the momentum along the field are kept as well; the flags under a torque are true of "
    "such a field alone, in other potentials neither is kept. NMB is 81 times as accurate in attitude on the free body "
    "of the paper, which found two orders of magnitude, because of Cayley's map: with exact turns, AKWexp, the factor "
    "is 3.9. In momentum AKW is twice as accurate as NMB.",
    cite="krysl2004,austin1993",
    keeps=Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.AXIAL_MOMENTUM,
    keeps_when_free=Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
)
AKWexp = _midpoint(
    exponential,
    by_midpoint,
    True,
    name="AKWexp",
    summary="AKW with an exact turn of the attitude, which costs the momentum in space",
    about="AKW with the attitude turned by exp(h w). Its momentum is that of AKW for a free body and its attitude is "
    "more accurate, but the momentum in space is no longer kept, and under a torque only time reversal is. Two to "
    "seven torque evaluations a step.",
    cite="krysl2004,austin1993",
    keeps=Keeps.REVERSIBLE,
    keeps_when_free=Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM,
)
IMR = _midpoint(
    cayley,
    by_midpoint,
    False,
    name="IMR",
    summary="the implicit midpoint rule, torque at the middle of the step",
    about="Euler's equation at the mean rate, with the torque of the middle of the step, and the attitude by Cayley's "
    "map. For a free body this is AKW, which the paper calls by both names; a torque acts where the body is in "
    "between, and then only time reversal is kept. Two to seven torque evaluations a step. It is the midpoint rule in "
    "the body's axes, which is not symplectic.",
    cite="krysl2004,austin1993",
    keeps=Keeps.REVERSIBLE,
    keeps_when_free=Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
)
LewisSimo = _midpoint(
    exponential,
    by_exponential,
    True,
    name="LewisSimo",
    summary="the implicit method of Lewis and Simo: momentum balanced in space, exact turns",
    about="The attitude turns by the exponential of h times the mean rate, and the momentum in space changes by h "
    "times the mean torque of both ends. Two to seven torque evaluations a step. A free body keeps energy and momentum "
    "in space, whatever the step; a torqued one the momentum along the axis of its potential. The paper shows the "
    "method (LS, figures 4 and 5) without its equations; with Cayley's map in place of the exponential it would be AKW "
    "for a free body, which stands beside it there. The equation has several roots, or none in reach, where a step "
    "turns the body by nearly three radians or more.",
    cite="krysl2004,lewis1994",
    keeps=Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
    keeps_when_free=Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
)
LIEMID = Method(
    "LIEMID",
    KickedFreeStep(Routine(lie_midpoint, evaluations_per_step=0)),
    summary="Krysl's explicit approximation of the midpoint rule on the group: half kicks around two half turns",
    about="Half an impulse of the torque, two half steps of the free body, half an impulse: LIEMID[EA] of krysl2005. "
    "Two methods of first order alternate: one has its impulse at the start of a half step, one at its end. Each half "
    "step is the midpoint rule on the group: w solves I w = exp(-h w / 4) m, then the body turns by h w / 2. One "
    "torque evaluation a step, and two equations. Keeps the momentum in space of a free body, not its energy, and is "
    "not symplectic. Never the best choice: Strang has the exact motion in place of the two half steps, is six times "
    "as accurate under a torque of 1% of the energy, and takes a quarter of the time.",
    cite="krysl2005",
    order=2,
    accepts=Depends.POSITION | Depends.TIME,
    accepts_rotor=True,
    keeps=Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
    keeps_when_free=Keeps.REVERSIBLE | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
)
