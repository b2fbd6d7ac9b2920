"""Methods whose steps choose their length: by a tolerance, or reversibly by a monitor function."""

from dataclasses import replace

from polhode.kernels.embedded import TSITOURAS_PAPAKOSTAS_86, VERNER_98, Embedded
from polhode.kernels.steps.variable_steps import Adaptive, Monitor, Reversible, frequency, rate
from polhode.methods._method import DESPUN, Keeps, Method, Option, tolerance, tolerances, with_options
from polhode.methods.axes import MR2

MONITORS: dict[str, Monitor] = {"frequency": frequency, "rate": rate}


def variable_steps(method: Method, monitor: Monitor, *, name: str) -> Method:
    """A symmetric method with variable steps that follow a monitor function reversibly.

    `monitor(body, torque, state)` is a positive number, the density of the steps, in any unit: where it is twice as
    large as at the start, steps are half as long as the first. It is compiled with the method. `body` has `inertia` and
    `inverse` moments, `state` the quaternion `q` and the momentum `m`; everything is in principal axes. It must not
    change when the rate is reversed, or the method is not reversible.
    """
    if Keeps.REVERSIBLE not in method.keeps | method.keeps_when_free or method.variable_steps:
        only = "variable steps are reversible only if the method inside is an equal-step, symmetric method"
        raise ValueError(f"{only}, which {method.name} is not")
    lost = Keeps.SYMPLECTIC
    return replace(
        method,
        name=name,
        scheme=Reversible(method.scheme, monitor),
        summary=f"{method.name} with variable steps that stay reversible",
        cite=f"holder2001,{method.cite}",
        keeps=method.keeps & ~lost,
        keeps_when_free=method.keeps_when_free & ~lost,
        with_rotor=method.with_rotor
        and method.with_rotor._replace(
            keeps=method.with_rotor.keeps & ~lost, keeps_when_free=method.with_rotor.keeps_when_free & ~lost
        ),
        generalised_order=None,
        variable_steps=True,
        options=(),
        settings=(),
        remake=None,
    )


def _hlr(of: str, monitor: str) -> Method:
    from polhode.methods import find  # imported here, since it imports this module, too

    base = MR2 if of == MR2.name else find(of)
    return replace(
        variable_steps(base, MONITORS[monitor], name="HLR"),
        about="Steps of a symmetric method, shorter where the motion is fast or the torque strong. The density of the "
        "steps, r, follows a monitor function U by r_(n+1/2) + r_(n-1/2) = 2 U(z_n), which is explicit and undone by "
        "going back: the energy does not drift, as with equal steps. The user's step is the first, and U is measured "
        "relative to its value there. The monitor `frequency` is sqrt(|w|^2 + |torque / moments|), `rate` is |w|; "
        "polhode.methods.variable.variable_steps takes a function of your own. The symplectic form is lost, linear "
        "invariants are kept. Costs one torque evaluation a step more than the method inside. A step fails where U "
        "falls to less than half within it: then take a shorter step. It also fails where U is zero at the start but "
        "not later, as |w| is for a body at rest: then take the other monitor. The reversal needs the last density, "
        "which a continued run has; a run from a bare state starts with r = U. By Holder, Leimkuhler and Reich 2001, "
        "the source of the soft wall of krysl2004.",
    )


HLR = with_options(
    _hlr,
    Option("of", "MR2", "the symmetric method inside", examples=("NMB",), names_a_method=True),
    Option("monitor", "frequency", "what the density of the steps follows", choices=tuple(MONITORS)),
)


def _dop853(rtol: float, atol: float, largest: bool) -> Method:
    relative, absolute = tolerances("DOP853", rtol, atol)
    if largest and absolute:
        raise ValueError(f"DOP853 takes either atol or largest=true, not atol={atol:g} and both")
    return Method(
        "DOP853",
        Adaptive(),
        summary="Dormand-Prince 8(5,3) with steps chosen by a tolerance; the plain baseline",
        about="The Runge-Kutta pair of order 8 on quaternion and momentum, as in Hairer's code and in SciPy, which "
        "most people would use. A step is accepted if its estimated error is below rtol in the attitude and below "
        "rtol |m| + atol in the momentum, and none is longer than the user's step. With largest=true |m| is the "
        "largest so far: a body that comes to rest is not followed to ever smaller rates. Costs 12 evaluations a "
        "step, 11 for each attempt at it that fails, and 12 for each output between steps. The quaternion is "
        "normalised after every step. If the code of a torque says where it branches, every step sees one branch only "
        "and ends where the next begins, at some 30 evaluations a bend; a bend that costs less than a twentieth of the "
        "tolerance is passed. Where steps become absurdly short, as they do where the motion is held at a "
        "jump of the torque, a ShortSteps warning says so. Keeps nothing: energy and momentum drift by about the "
        "tolerance a step. Takes any torque.",
        cite="prince1981,hairer1993",
        order=8,
        accepts_rotor=True,
        accepts_changing=True,
        variable_steps=True,
        adaptive=True,
        locates_bends=True,
        stable_decay=6.1,
        tuning=(relative, -1.0 if largest else absolute),
        estimate_factor=3.0,
    )


DOP853 = with_options(
    _dop853,
    Option("rtol", 1e-9, "error allowed in a step: attitude, and momentum relative to its size"),
    Option("atol", 0.0, "error allowed in the momentum besides, kg m^2/s"),
    Option("largest", False, "whether errors of the momentum are relative to its largest size so far"),
)


def _embedded(name: str, scheme: Embedded, order: int, stages: int, stable: float, whose: str, cite: str) -> Method:
    seen = (scheme, scheme._replace(despun=True))  # one object of each: tolerances share a program

    def make(rtol: float, despun: bool) -> Method:
        relative = tolerance(name, rtol)
        return Method(
            name,
            seen[despun],
            summary=f"{whose} pair of orders {order} and {scheme.pair.order}, with steps chosen by a tolerance",
            about="A Runge-Kutta pair on quaternion and momentum. A step is accepted if its estimated error is below "
            "rtol, in the attitude in radians and in the rate relative to its largest size so far, and none is longer "
            f"than the user's step. Costs {stages} evaluations for each attempt at a step, and as many for each output "
            "between steps. The quaternion is normalised after every step. Where several bodies are computed at once, "
            "each has a lane with steps of its own, and makes the steps that it makes alone, bit by bit. With "
            "despun=true symmetric bodies are seen from a frame that does not take part in their spin: steps are two "
            "to ten times as long for bodies that spin fast, and for others hardly shorter. Keeps nothing: energy and "
            "momentum drift by about the tolerance a step. Takes torques of any kind, except those that carry numbers "
            "along.",
            cite=cite,
            order=order,
            accepts_rotor=True,
            variable_steps=True,
            adaptive=True,
            stable_decay=stable,
            tuning=(relative, 0.0),
            estimate_factor=3.0,
        )

    return with_options(
        make, Option("rtol", 1e-9, "error allowed in a step: attitude, and rate relative to its size"), DESPUN
    )


TsitPap86 = _embedded(
    "TsitPap86", Embedded(TSITOURAS_PAPAKOSTAS_86), 8, 12, 5.3, "Tsitouras and Papakostas's", "tsitouras1999"
)
Verner98 = _embedded("Verner98", Embedded(VERNER_98), 9, 16, 4.5, "Verner's", "verner2010")
