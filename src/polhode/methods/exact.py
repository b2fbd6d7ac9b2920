"""The exact flow of the free body, alone and between half kicks.

`Exact` makes steps of the closed solution, in a form that restarts from every state: its error is round-off, whatever
the step. `ExactPolished` carries the low halves of momentum and attitude along, so that round-off does not accumulate,
at two and a half times the cost. Both are for free bodies only.

`Strang` puts half kicks of the torque around the flow. It is symplectic, time-symmetric and of second order, with an
error proportional to the torque, and costs one torque evaluation a step. celledoni2006 has the idea (SEJ) with an
approximate attitude, which loses the symplectic structure; here the flow is exact. Its `corrector` is for weak torques
and few outputs: with the same steps, the error is proportional to the square of the torque.
"""

from polhode.kernels.gyrostat import veer
from polhode.kernels.steps.compensated import CompensatedFlow, CompensatedSplitting
from polhode.kernels.steps.compose import Splitting, Stage
from polhode.kernels.steps.constant_torque import ConstantTorque
from polhode.kernels.steps.correctors import AHEAD, CorrectedSplitting
from polhode.kernels.steps.flows import free, kick
from polhode.kernels.types import Depends
from polhode.methods._method import COMPENSATED, Keeps, Method, Option, Promises, StepModel, split, with_options

_FREE = Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM
_VEERED = _FREE & ~Keeps.ENERGY
"""Quantities of a free gyrostat that the exact flow between turns of the rotor conserves."""

Exact = Method(
    "Exact",
    split((free, 1)),
    summary="the exact flow of the free body, step by step",
    about="Makes steps of the closed solution, in a form that restarts from every state and has no regimes. The error"
    " is round-off, whatever the step, and all that a free body conserves is kept. celledoni2006 and vilmart2008"
    " compute the momentum by elliptic functions; here attitude and momentum come from the addition theorem.",
    cite="celledoni2006,vilmart2008",
    order=None,
    accepts=Depends.NOTHING,
    keeps_when_free=_FREE,
)

ExactPolished = Method(
    "ExactPolished",
    CompensatedFlow(),
    summary="the exact flow with round-off that does not accumulate",
    about="Exact with the low halves of momentum and attitude carried along, at two and a half times the cost: the idea"
    " of vilmart2008, whose subject is the round-off of exact methods. Quaternions are left unscaled during a run. Long"
    " steps are cut into turns of about a radian; a step of more than a hundred thousand of them fails.",
    cite="vilmart2008",
    order=None,
    accepts=Depends.NOTHING,
    keeps_when_free=_FREE,
    unscaled=True,
)


def _strang(corrector: int, compensated: bool) -> Method:
    plain = split((kick, 1 / 2), (veer, 1 / 2), (free, 1), (veer, 1 / 2), (kick, 1 / 2))
    leapfrog = CompensatedSplitting(plain) if compensated else plain
    keeps = Keeps.SYMPLECTIC | Keeps.AXIAL_MOMENTUM
    return Method(
        "Strang",
        CorrectedSplitting(leapfrog, corrector) if corrector else leapfrog,
        summary="exact free flow between half kicks",
        about="Half a kick of the torque, the exact flow of the free body, half a kick. Symplectic and"
        " time-symmetric, of second order with an error proportional to the torque; exact without one. Costs one"
        " torque evaluation and one exact flow a step. celledoni2006 has the idea (SEJ) with an approximate"
        " attitude, vanzon2007 and celledoni2008 have it with the exact flow, by elliptic functions. Nearly all of"
        " the error oscillates. A corrector of order n, a change of variables at the start that is undone for every"
        " output, removes the oscillation up to eps h^(n + 1), where eps is the size of the torque, and leaves eps^2"
        " h^2 (wisdom1996, wisdom2006). Each change of variables costs n - 1 torque evaluations and twice as many"
        " flows, and an output between grid points takes three of them; so a corrector is for weak torques and few"
        " outputs. The torque is also evaluated up to n / 5 steps before the start and beyond the end. A corrected"
        " run is symplectic; it is time-symmetric in the changed variables. With a rotor, half a turn at its constant"
        " rate -I^-1 g stands on either side of the flow: then the error is proportional to torque and rotor, and the"
        " energy of a free gyrostat is not kept, but its error is bounded.",
        cite="celledoni2006,vanzon2007,celledoni2008,wisdom1996,wisdom2006",
        order=2,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=keeps if corrector else keeps | Keeps.REVERSIBLE,
        keeps_when_free=_FREE,
        accepts_rotor=not compensated,
        with_rotor=Promises(2, 2, keeps, _VEERED & ~Keeps.REVERSIBLE)
        if corrector
        else Promises(2, 2, keeps | Keeps.REVERSIBLE, _VEERED),
        generalised_order=(corrector + 1, 2) if corrector else (2, 2),
        model=StepModel(3.0, (6.0, 0.11), 1.0, 1.0) if corrector else StepModel(1.0, (0.02, 0.02), 1.0),
        unscaled=compensated,
    )


def _takahashi_imada(corrector: int, compensated: bool) -> Method:
    kicks = Stage(kick, 1 / 2, AHEAD)
    plain = Splitting((kicks, Stage(free, 1.0), kicks))
    return Method(
        "TakahashiImada",
        CorrectedSplitting(CompensatedSplitting(plain) if compensated else plain, corrector),
        summary="exact free flow between kicks of a modified potential, corrected",
        about="Strang with its corrector leaves an error eps^2 h^2: the kick of a potential, the squared torque over"
        " the inertia. Here the kicks cancel it (takahashi1984, wisdom1996) without derivatives: they take the torque"
        " at the attitude to which it would turn the body in a time h / sqrt(6), as a vector in space (rein2019). The"
        " corrector is right to the second power of the torque, which those of the literature are not: for a body that"
        " nutates that would be the larger part of the error. The errors left are eps h^(n + 1) and eps^2 h^4. A step"
        " costs one exact flow and two torque evaluations, a change of variables about as much as that of Strang. The"
        " torque ahead is not quite the gradient of a potential: the method is symplectic up to eps^3 h^4.",
        cite="takahashi1984,wisdom1996,rein2019",
        order=4,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=Keeps.AXIAL_MOMENTUM,
        keeps_when_free=_FREE,
        generalised_order=(corrector + 1, 4),
        model=StepModel(3.0, (3.0, 0.04), 1.0, 1.0, evaluations_per_flow=2.0),
        estimate_factor=2.5,
        unscaled=compensated,
    )


def _chin(compensated: bool) -> Method:
    first, drift = Stage(kick, 1 / 6), Stage(free, 1 / 2)
    plain = Splitting((first, drift, Stage(kick, 2 / 3, AHEAD / 2), drift, first))
    return Method(
        "Chin4",
        CompensatedSplitting(plain) if compensated else plain,
        summary="exact free flow between kicks, the middle one of a modified potential: order 4",
        about="A sixth of a kick, half the exact flow, two thirds of a kick by a modified potential, and the same back:"
        " all steps are forward (suzuki1995, chin1997, 4A). The kick in the middle takes the torque a little ahead, as"
        " in TakahashiImada, in place of a derivative: a step costs three torque evaluations and two exact flows."
        " vanzon2008 recommends such a method around the exact flow, GIER4, for accurate simulations of water; its"
        " printed fractions were not at hand to compare with these, which are the only symmetric ones of order 4 with"
        " two flows, three kicks and the modified potential in the middle."
        " Measured over bodies drawn at random, the best choice of order 4 for torques from a tenth of the energy on:"
        " at equal evaluations its error is 0.7 of that of BlanesMoanS6 under a tenth, and 0.3 under a torque as large"
        " as the energy, and it takes four fifths of the time. Weaker torques are for ABA104. Water keeps its energy to"
        " 5e-6 of the kinetic energy with 1,000 evaluations for a picosecond, where Strang has 3e-4. It is"
        " time-symmetric, but symplectic only up to the error of the torque ahead; the angular momentum of a system is"
        " kept to order 4, that of one body along the axis of its potential to round-off.",
        cite="suzuki1995,chin1997,vanzon2008",
        order=4,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
        keeps_when_free=_FREE,
        generalised_order=(4, 4),
        unscaled=compensated,
        also=("GIER4",),
    )


Romano = Method(
    "Romano",
    ConstantTorque(),
    summary="exact for a constant torque on a sphere, or along the axis of a symmetric body",
    about="Strang, with a flow that is exact under a torque that is constant in the body: on a sphere any, on a"
    " symmetric body along its axis (romano2008, romano2008b). Each step holds on to the torque at its start, and half"
    " kicks carry what changes of it. So spin-up and -down by thrusters are exact at any step; a torque that changes"
    " has an error of order 2 in its change. Romano writes the attitude by Kummer's functions with complex parameters,"
    " whose series cancel far from the time of the least rate; here the Taylor series starts at every step. For bodies"
    " without symmetry, and among many bodies, it is Strang. A step costs a torque evaluation and a series for each"
    " radian of its turn. Measured for a disc that thrusters spin up through 40,000 radians: the best choice for errors"
    " below 5e-10, with 5e-11 in 8.6 ms at any step, where SABA8 comes to 5e-10 in 9.2 ms and G8 to 8e-10 in 4.4 ms;"
    " G8 with compensated sums has 2e-12 in 10 ms. Up to some 1,000 radians SABA8 and G8 are at round-off as soon, and"
    " under torques that change Strang costs a quarter: then it never is. Free bodies keep what the exact flow"
    " keeps; nothing is kept under a torque.",
    cite="romano2008,romano2008b",
    order=2,
    orders_when_free=(None, None),
    accepts=Depends.POSITION | Depends.TIME,
    keeps_when_free=_FREE,
)

_ORDERS = (3, 5, 7, 11, 17)

Strang = with_options(
    _strang,
    Option("corrector", 0, "order of the symplectic corrector; 0: none", choices=(0, *_ORDERS)),
    COMPENSATED,
)

TakahashiImada = with_options(
    _takahashi_imada, Option("corrector", 17, "order of the corrector", choices=_ORDERS), COMPENSATED
)

Chin4 = with_options(_chin, COMPENSATED)
