"""Gauss collocation: high order at long steps, for torques of any size and kind."""

from polhode import _check
from polhode.core.gauss import gauss
from polhode.core.types import Depends
from polhode.methods._method import COMPENSATED, Keeps, Method, Option, with_options

_ABOUT = (
    "Quaternion and momentum follow, within a step, the polynomial of degree {n} whose slope is right at the {n} nodes "
    "of Gauss's quadrature. The equations are solved by fixed-point iteration, component after component, which begins "
    "with the polynomial of the last step, continued: to round-off some 10 to 15 iterations of {n} torque evaluations "
    "where the body turns by one or two radians in a step. The nodes are computed together, in vector registers, where "
    "the torque can be. The iteration ends at round-off, or at the error a step that the option tolerance allows; it "
    "does not converge if the body turns by more than three to five radians in a step.{refused} Compensated and "
    "without a tolerance, what rounding leaves out of matrix, increments and state is carried along, so that "
    "invariants do not drift. Takes any torque. Of a slender symmetric body whose torque ignores its spin, as that of "
    "a weight on the axis does, the spin is left out of the steps and put into what is shown: then steps are as long "
    "as the slower motion of the axis allows, unless the run starts long after the time zero. Keeps what is quadratic: "
    "the norm of the quaternion, and of a free body energy and momentum norm; time-symmetric. Not symplectic, because "
    "quaternion and body momentum are not canonical."
)


def _gauss(name: str, nodes: int, refused: str = "") -> Method:
    def make(tolerance: float, compensated: bool) -> Method:
        allowed = _check.number(f"the option tolerance of {name}", tolerance)
        if not 0 <= allowed < 1:
            raise ValueError(f"the option tolerance of {name} must be at least 0 and less than 1, not {tolerance:g}")
        symmetric = Keeps.REVERSIBLE if allowed == 0 else Keeps.NOTHING
        quadratic = Keeps.ENERGY | Keeps.MOMENTUM_NORM if allowed == 0 else Keeps.NOTHING
        return Method(
            name,
            gauss(nodes, compensated=compensated),
            summary=f"Gauss collocation with {nodes} nodes, of order {2 * nodes}, by fixed-point iteration",
            about=_ABOUT.format(n=nodes, refused=refused),
            cite="hairer2006b,hairer2008",
            order=2 * nodes,
            attitude_order=2 * nodes,
            accepts=Depends.POSITION | Depends.TIME | Depends.RATE,
            keeps=symmetric,
            keeps_when_free=symmetric | quadratic,
            tuning=(allowed, 0.0),
        )

    return with_options(
        make,
        Option("tolerance", 0.0, "error of the iteration allowed in a step, relative to the state; 0: round-off"),
        COMPENSATED,
    )


G4 = _gauss(
    "G4", 4, " A step is refused whose polynomial does not follow the motion: its errors would be 4e-3 and more."
)
G8 = _gauss("G8", 8)
