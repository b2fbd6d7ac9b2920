"""The discrete Moser-Veselov map, plain and corrected to higher orders, with the torque as half kicks.

The map is an integrable discretisation of the free body: it moves the momentum on its exact orbit, so that energy and
momentum in space are kept at any step, but at another pace. A corrected step makes the pace right (`DMV4`, `DMV6`);
corrected moments of inertia make the attitude right as well (`PDMV4` to `PDMV10`). The corrections depend on the motion
only through its energy and the length of its momentum, which a free body keeps, so they are computed once.

A step solves an equation for three unknowns by Newton's iteration, to round-off. It has a solution as long as the body
turns by less than about a radian; beyond, a run fails with a message. (For a sphere the sine of the turn is h |w|.)
With `iteration=fixed_point` it is solved as vilmart2008 does, until the changes cease to shrink: that is never the best
choice, since round-off walks as far, and a step costs as much where the body turns by 0.02 radians and 2.3 times as
much where it turns by 0.5.
"""

from typing import Any

from polhode.kernels.compared.moser_veselov import (
    Adapt,
    MoserVeselov,
    iterated,
    other_moments,
    other_step,
    solved,
    unchanged,
)
from polhode.kernels.types import Depends
from polhode.methods._method import COMPENSATED, Keeps, Method, Option, with_options

ITERATION = Option(
    "iteration",
    "newton",
    "how the equation of a step is solved: by Newton's iteration, or to a fixed point, as vilmart2008 does",
    ("newton", "fixed_point"),
)
_FREE = Keeps.REVERSIBLE | Keeps.ENERGY | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM


def moser_veselov(name: str, adapt: Adapt, free: tuple[int, int] | None, **card: Any) -> Method:
    """A member of the family, with its orders for a free body if they are not 2."""
    symplectic = Keeps.SYMPLECTIC if adapt is unchanged else Keeps.NOTHING

    def make(iteration: str, compensated: bool) -> Method:
        return Method(
            name,
            MoserVeselov(adapt, compensated, solved if iteration == "newton" else iterated),
            order=2,
            orders_when_free=free,
            accepts=Depends.POSITION | Depends.TIME,
            keeps=symplectic | Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
            keeps_when_free=symplectic | _FREE,
            unscaled=compensated,
            **card,
        )

    return with_options(make, ITERATION, COMPENSATED)


DMV2 = moser_veselov(
    "DMV2",
    unchanged,
    None,
    summary="the discrete Moser-Veselov map, between half kicks",
    cite="moser1991,mclachlan2005,lee2005",
    also=("LGVI",),
    about="""The attitude turns by E with E D - D E^T = h hat(m), where D_j + D_k = I_i, and the momentum becomes E^T m.
    Written for the quaternion (1, c) of E these are three quadratic equations. Symplectic and time-symmetric; a free
    body keeps its energy and its momentum in space to round-off, since the momentum follows the exact orbit at another
    pace. celledoni2006 reports energy errors of 1e-13; with the equation solved to round-off they are 1e-14 and less.
    The Lie group variational integrator LGVI of lee2005 is this method: h hat(m + h n / 2) = E D - D E^T with the
    torque n is the map after half a kick. Costs one torque evaluation a step, and about as much as MR2 otherwise.""",
)

DMV4 = moser_veselov(
    "DMV4",
    other_step(4),
    (4, 2),
    summary="Moser-Veselov with another step: momentum of order 4 when free",
    cite="mclachlan2005,celledoni2006",
    about="""DMV2 with the step h (1 - s), where s = h^2 (e1 H / 3 - e2 C / 6), H is the energy, C = m.m / 2 and e1, e2
    are symmetric polynomials of the inverse moments. The momentum of a free body is then of order 4; the attitude is
    still of order 2, and under a torque everything is. A free body keeps energy and momentum in space, but the map is
    no longer symplectic, because its step depends on the state.""",
)

DMV6 = moser_veselov(
    "DMV6",
    other_step(6),
    (6, 2),
    summary="Moser-Veselov with another step: momentum of order 6 when free",
    cite="mclachlan2005,celledoni2006",
    about="""DMV4 with one more term of the series for the step. The momentum of a free body is of order 6, its attitude
    of order 2. Keeps what DMV4 keeps.""",
)


def _preprocessed(order: int) -> Method:
    return moser_veselov(
        f"PDMV{order}",
        other_moments(order),
        (order, order),
        summary=f"Moser-Veselov with other moments: order {order} when free",
        cite="hairer2006,vilmart2008",
        about=f"""DMV2 with the inverse moments (1 + s) / I + d, where s and d are series in h^2 whose coefficients
        depend on the motion by its energy and the length of its momentum: then momentum and attitude of a free body
        are of order {order}. It costs no more than DMV2, since the moments are computed once; under a torque they are
        computed at every step, and the order is 2, that of the half kicks. A free body keeps energy and momentum in
        space to round-off. The map is symplectic only to its order, because its moments depend on the state. With
        compensated summation the energy of a free body walks by h eps sqrt(N) or less in N steps, as vilmart2008
        says. For bodies as thin as needles the terms of the series cancel: if one moment is 1e-6 of the others,
        PDMV8 and PDMV10 err by 2e-5 and 4e-3 in twenty steps of 0.13 radians, and PDMV6 by 2e-8.""",
    )


PDMV4, PDMV6, PDMV8, PDMV10 = (_preprocessed(order) for order in (4, 6, 8, 10))
