"""Methods of graphics and game engines: one rotation a step, at a rate with a cheap correction."""

from typing import Any

from polhode.kernels.algebra.quat import derivative, normalised
from polhode.kernels.algebra.rotation import change_of_attitude, change_of_components, exponential
from polhode.kernels.algebra.vec import combine, cross, times
from polhode.kernels.gyrostat import rate_of
from polhode.kernels.status import OK
from polhode.kernels.steps.compose import Increments, nothing
from polhode.kernels.steps.newton import momentum_correction, slope_of_momentum
from polhode.kernels.types import Inertia, Memory, Params, Pull, Start, State, Vec3
from polhode.methods._method import COMPENSATED, Keeps, Method, with_options
from polhode.methods.compared.newmark import moved


def augmented(pull: Pull) -> tuple[Start, Any]:
    """Returns Buss's augmented second-order method, in body axes, as an increment of the state.

    The memory is the torque.
    """

    def change(body: Inertia, p: Params, t: float, s: State, h: float, n: Vec3) -> tuple[State, Vec3, int]:
        half, w = 0.5 * h, rate_of(body, s.m)
        a = times(combine(cross(s.m, w), 1.0, n), body.inverse)
        mean = combine(combine(w, half, a), h * h / 12.0, cross(a, w))
        e, u = exponential((h * mean[0], h * mean[1], h * mean[2]))
        dq = change_of_attitude(s.q, e, u)
        # Half of the old torque acts, then the momentum, fixed in space, is seen from the body that has turned.
        dm = combine(change_of_components(e, u, combine(s.m, half, n)), half, n)
        old = combine(n, 1.0, change_of_components(e, u, n))
        n = pull(body, p, t + h, State(moved(s.q, dq), combine(combine(s.m, 1.0, dm), half, old)))
        return State(dq, combine(dm, half, n)), n, OK

    return pull, change


def _buss(compensated: bool) -> Method:
    return Method(
        "Buss",
        Increments(augmented, memory=3, evaluations_at_start=1, evaluations_per_step=1, compensated=compensated),
        summary="Buss's augmented second-order method: one rotation by a corrected mean rate",
        cite="buss2000",
        about="The body turns once, by h (w + h a / 2 + h^2 (a x w) / 12), where a is the acceleration by Euler's "
        "equation and the last term is the first commutator of the Magnus series; its rotation carries the momentum, "
        "which is fixed in space. So the spatial momentum of a free body is kept. The commutator makes the error "
        "smaller but not of higher order: the change of the acceleration, another term of order 3, is missing. The "
        "paper is mainly about free bodies; the reading here is that the torque enters the acceleration at the start, "
        "and that the spatial momentum gains the mean of the torques at both ends, which is exact for a torque "
        "constant in space and keeps the momentum along the symmetry axis of a potential. A torque that depends on "
        "the rate is evaluated at the momentum that the torque at the start predicts. Costs one rotation and one "
        "torque evaluation a step. Keeps neither energy, time reversal nor the symplectic form.",
        order=2,
        keeps=Keeps.AXIAL_MOMENTUM,
        keeps_when_free=Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
        accepts_rotor=True,
        unscaled=compensated,
    )


Buss = with_options(_buss, COMPENSATED)


def semi_implicit(pull: Pull) -> tuple[Start, Any]:
    """Returns Catto's step: the torque, the gyroscopic term by one Newton step, then the attitude at the new rate."""

    def change(body: Inertia, p: Params, t: float, s: State, h: float, memory: Memory) -> tuple[State, Memory, int]:
        n = pull(body, p, t, s)
        w = rate_of(body, combine(s.m, h, n))
        y = combine(n, 1.0, momentum_correction(body, h, w, slope_of_momentum(body, w, (0.0, 0.0, 0.0))))
        d = derivative(s.q, rate_of(body, combine(s.m, h, y)))
        return State((h * d[0], h * d[1], h * d[2], h * d[3]), (h * y[0], h * y[1], h * y[2])), memory, OK

    return nothing, change


def _catto(compensated: bool) -> Method:
    return Method(
        "Catto",
        Increments(semi_implicit, evaluations_per_step=1, compensated=compensated, tidy=normalised),
        summary="semi-implicit Euler with an implicit gyroscopic term, as in game engines; loses energy",
        cite="catto2015",
        about="The method of game engines: it is stable at large steps, but loses energy. The torque changes the rate "
        "by an explicit Euler step; then the gyroscopic term changes it by an implicit one, in body axes, solved by "
        "one Newton step; then the quaternion moves by the new rate and is normalised. A free body loses both energy "
        "and momentum until it turns about the axis of its largest moment; a real body that dissipates energy keeps "
        "its momentum. With moments 1, 2, 3 and rates 1, 1.2, 0.9, steps of 0.05 leave 39 percent of the energy and "
        "72 percent of the momentum at time 400. Takes any torque and costs one evaluation and the solution of three "
        "linear equations a step. It is of first order and keeps nothing.",
        order=1,
        accepts_rotor=True,
        unscaled=compensated,
    )


Catto = with_options(_catto, COMPENSATED)
