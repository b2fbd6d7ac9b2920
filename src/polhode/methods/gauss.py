"""Gauss collocation: high order at long steps, for any torque."""

from collections.abc import Callable
from functools import cache, partial

from polhode.kernels.steps.comoving import comoving as comoving_collocation
from polhode.kernels.steps.compose import Increments
from polhode.kernels.steps.gauss_collocation import gauss
from polhode.methods._method import COMPENSATED, Keeps, Method, Option, StepModel, with_options
from polhode.support import checks

_ABOUT = (
    "Quaternion and momentum follow, within a step, the polynomial of degree {n} whose slope is right at the {n} "
    "nodes of Gauss's quadrature. The equations are solved by fixed-point iteration, component after component, which "
    "begins with the polynomial of the last step, continued: to round-off some 10 to 15 iterations of {n} torque "
    "evaluations where the body turns by one or two radians in a step. The nodes are computed together, in vector "
    "registers, where the torque can be, as in IRKGL16-SIMD, the same formula in Julia (antonana2025), which was not "
    "measured: PyPI has no Julia. The iteration ends at round-off, or at the error a step that the option tolerance "
    "allows; it does not converge if the body turns by more than three to five radians in a step. Compensated and "
    "without a tolerance, what rounding leaves out of matrix, increments and state is carried along, so that "
    "invariants do not drift (hairer2008, antonana2017). Takes any torque. Keeps what is quadratic: the norm of the "
    "quaternion, and of a free body energy and momentum norm; time-symmetric. Not symplectic, because quaternion and "
    "body momentum are not canonical. With the option comoving, only what the torque adds to the free motion of a "
    "symmetric body is integrated: the weaker the torque, the fewer iterations (two or three, if it is 1e-4 of the "
    "kinetic energy) and the longer the steps (three to eight radians about the momentum; a fast spin about the axis "
    "does not shorten them if the torque does not depend on it). Then no step is refused because the body turns too "
    "far: its error is at most the effect of the torque in the step. Only the expected number of iterations is "
    "remembered, and a step backward undoes a step to within its error only. The option has no effect on other "
    "bodies."
)


NODES = 8
MODEL = StepModel(
    2.5, (5.4e-17,), turn_growth=1.2, reach_loss=0.45, step_cost=1.18, compensated_step_cost=1.18, iteration_cost=0.74
)  # fmt: skip
COMOVING_MODEL = StepModel(
    8.0, (2.5e-17,), turn_growth=2.5, reach_loss=4.0, is_comoving=True, step_cost=1.06, compensated_step_cost=1.53,
    iteration_cost=0.72,
)  # fmt: skip
"""Steps where the scheme takes part in the free motion: turns are those about the momentum."""


def in_motion(nodes: int, compensated: bool) -> Callable[[int], Increments]:
    """Returns, for bodies symmetric about an axis, the scheme of what a torque adds to their free motion."""
    return partial(comoving_collocation, nodes, compensated=compensated)


@cache
def _scheme(compensated: bool, comoving: bool) -> Increments:
    """The scheme, one for all tolerances, so that runs with different ones share what is bound to a torque."""
    return gauss(NODES, compensated=compensated, symmetric=in_motion(NODES, compensated) if comoving else None)


def _collocation(tolerance: float, compensated: bool, comoving: bool) -> Method:
    allowed = checks.number("the option tolerance of G8", tolerance)
    if not 0 <= allowed < 1:
        raise ValueError(f"the option tolerance of G8 must be at least 0 and less than 1, not {tolerance:g}")
    symmetric = Keeps.REVERSIBLE if allowed == 0 and not comoving else Keeps.NOTHING
    quadratic = Keeps.ENERGY | Keeps.MOMENTUM_NORM if allowed == 0 else Keeps.NOTHING
    return Method(
        "G8",
        _scheme(compensated, comoving),
        summary=f"Gauss collocation with {NODES} nodes, of order {2 * NODES}, by fixed-point iteration",
        about=_ABOUT.format(n=NODES),
        cite="hairer2006b,hairer2008,antonana2017,antonana2025",
        order=2 * NODES,
        keeps=symmetric,
        keeps_when_free=symmetric | quadratic,
        accepts_rotor=True,
        accepts_changing=True,
        collocation=True,
        tuning=(allowed, 0.0),
        model=MODEL,
        comoving_model=COMOVING_MODEL if comoving else None,
        estimate_factor=2.0,
    )


G8 = with_options(
    _collocation,
    Option("tolerance", 0.0, "error of the iteration allowed in a step, relative to the state; 0: round-off"),
    COMPENSATED,
    Option("comoving", False, "follow what a torque adds to the free motion, of symmetric bodies"),
)
