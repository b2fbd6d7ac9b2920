"""Kicks and the exact flow in turn, with the fractions of the literature.

The free motion is solved exactly, so the torque is a perturbation and every error carries it as a factor: with a torque
of size eps, a method of generalised order (r1, r2, ...) errs by eps h^r1 + eps^2 h^r2 + ... Methods for weak torques
(`SABA`, `ABA84` and so on) make the first powers high; those of Blanes and Moan make all of them alike.
All are symplectic and time-symmetric.

The rotor of a gyrostat is a perturbation, too: the body turns at the constant rate -I^-1 g where kicks act. A free
gyrostat has the order of the list, since turns take the place of kicks (`SRKN11`, which asks more of kicks, has 4);
under a torque turns and kicks do not commute, and the order is 2, with an error proportional to their product.
"""

from collections.abc import Callable
from functools import partial
from itertools import chain, zip_longest
from typing import Any

from polhode.kernels.gyrostat import veer
from polhode.kernels.steps import coefficients
from polhode.kernels.steps.coefficients import Alternating
from polhode.kernels.steps.compensated import CompensatedSplitting
from polhode.kernels.steps.compose import Splitting
from polhode.kernels.steps.flows import free, kick
from polhode.kernels.types import Depends
from polhode.methods._method import COMPENSATED, Keeps, Method, Option, Promises, StepModel, split, with_options
from polhode.methods.exact import Strang

Flow = Callable[..., Any]


def alternating(row: Alternating) -> Splitting:
    """The list of flows; the kind that has one fraction more begins and ends.

    The turns by the rotor of a gyrostat are a perturbation as the torque is, and go with the kicks: half before and
    half after each, but not outside of kicks at the ends, whose torque is carried from step to step.
    """
    drifts: list[list[tuple[Flow, float]]] = [[(free, a)] for a in row.drifts]
    kicks: list[list[tuple[Flow, float]]] = [[(veer, b / 2), (kick, b), (veer, b / 2)] for b in row.kicks]
    first, second = (drifts, kicks) if len(drifts) > len(kicks) else (kicks, drifts)
    if first is kicks:
        kicks[0] = [(kick, row.kicks[0]), (veer, row.kicks[0])]
        kicks[-1] = [(veer, row.kicks[-1]), (kick, row.kicks[-1])]
    in_turn = chain.from_iterable((a, b or []) for a, b in zip_longest(first, second))
    return split(*chain.from_iterable(in_turn))


def _card(
    name: str, row: Alternating, summary: str, about: str, cite: str, order: int, generalised: tuple[int, ...],
    compensated: bool, *, model: StepModel | None = None, estimate_factor: float = 5.0,
    order_with_rotor: int | None = None, also: tuple[str, ...] = (),
) -> Method:  # fmt: skip
    order_with_rotor = order_with_rotor or order
    evaluations = min(len(row.kicks), len(row.drifts))  # kicks at both ends share one with their neighbours
    plain = alternating(row)
    return Method(
        name,
        CompensatedSplitting(plain) if compensated else plain,
        summary=summary,
        about=f"{about} Torque evaluations and exact flows a step: {evaluations} and {len(row.drifts)}.",
        cite=cite,
        order=order,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
        keeps_when_free=Strang.keeps_when_free,
        generalised_order=generalised,
        unscaled=compensated,
        accepts_rotor=not compensated,
        with_rotor=Promises(
            2,
            2,
            Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
            Strang.promises(rotor=True).keeps_when_free,
            None if order_with_rotor == 2 else (order_with_rotor, order_with_rotor),
        ),
        model=model,
        estimate_factor=estimate_factor,
        also=also,
    )


def _method(
    name: str, row: Alternating, summary: str, about: str, cite: str, order: int, generalised: tuple[int, ...],
    model: StepModel | None = None, order_with_rotor: int | None = None, also: tuple[str, ...] = (),
) -> Method:  # fmt: skip
    card = partial(
        _card, name, row, summary, about, cite, order, generalised, model=model, order_with_rotor=order_with_rotor,
        also=also,
    )  # fmt: skip
    return with_options(card, COMPENSATED)


# --- torques of any size

Omelyan2 = _method(
    "Omelyan2",
    coefficients.OMELYAN_2,
    "exact flow and kicks in two stages, optimised at order 2",
    "Three kicks around two exact flows of half a step, with fractions for which the sum of squares of both error terms"
    " is least: the optimised Verlet method of omelyan2002. vanzon2008 recommends a modified Verlet step"
    " around the exact flow, HOA, for crude simulations of water (its printed fractions were not at hand), and so"
    " does a measurement here: with 333 evaluations of the forces for"
    " a picosecond eight molecules keep their energy to 0.07% of the kinetic energy, with Chin4 to 0.18%, with Strang"
    " to 0.24%. It is the best choice there, and keeps the angular momentum of a system to round-off. For one body"
    " Chin4 has smaller errors at every cost that was measured.",
    "omelyan2002,vanzon2008",
    2,
    (2, 2),
    also=("HOA", "HOA2"),
)
BlanesMoanS6 = _method(
    "BlanesMoanS6",
    coefficients.BLANES_MOAN_S6,
    "exact flow and kicks, optimised for order 4",
    "Six stages where three would do, chosen for a small error. S6 of blanes2002.",
    "blanes2002",
    4,
    (4, 4),
)
BlanesMoanS10 = _method(
    "BlanesMoanS10",
    coefficients.BLANES_MOAN_S10,
    "exact flow and kicks, optimised for order 6",
    "Ten stages, chosen for a small error. S10 of blanes2002.",
    "blanes2002",
    6,
    (6, 6),
)
SRKN11 = _method(
    "SRKN11",
    coefficients.SRKN11,
    "exact flow and kicks, optimised for order 6 of second-order equations",
    "Eleven stages of Nystrom's kind, with fewer order conditions than S10 and a smaller error: they ask that a"
    " commutator of the drift with three kicks vanishes. It does, although momentum in body axes is not canonical:"
    " the kinetic energy is quadratic in the momentum and the potential is free of it."
    " SRKN11b of blanes2002.",
    "blanes2002",
    6,
    (6, 6),
    order_with_rotor=4,  # the commutator does not vanish with a turn in place of a kick
)

SRKN19 = _method(
    "SRKN19",
    coefficients.SRKN19,
    "exact flow and kicks, of order 8 for second-order equations",
    "Nineteen stages of Nystrom's kind, with the same condition as SRKN11, of the family of blanes2022; the fractions"
    " were solved for here. Measured, the best splitting for small errors: half the evaluations of SRKN11 for 1e-8 with"
    " a torque of a tenth of the energy, a fifth fewer for 2e-10 under one as large as the energy, as many for 1e-11 in"
    " a system of three bodies. KL8(of=Strang), of the same order, errs by 7 to 5,000 times more at equal evaluations."
    " One body under a cheap torque takes a fifth of the time with G8; larger errors are for SRKN11.",
    "blanes2022",
    8,
    (8, 8),
    order_with_rotor=4,
)


# --- weak torques


def _saba(stages: int, compensated: bool) -> Method:
    return _card(
        "SABA",
        coefficients.legendre(stages),
        f"exact flow and {'kick' if stages == 1 else f'{stages} kicks'} for weak torques, orders ({2 * stages}, 2)",
        "The torque acts at the nodes of Gauss's quadrature and with its weights. All steps are forward. With n stages"
        f" the orders are (2 n, 2). SABA{stages} of laskar2001.",
        "laskar2001",
        2,
        (2 * stages, 2),
        compensated,
        model=StepModel(6.0, (5e-9, 8e-3), 8.0, 0.18) if stages == 8 else None,  # others were not measured
        estimate_factor=10.0 if stages == 8 else 5.0,
    )


_STAGES = Option(
    "stages", 8, "kicks in a step; SABA4 is short for SABA(stages=4)", tuple(range(1, 13)), (1, 4, 10), short="SABA{}"
)
SABA = with_options(_saba, _STAGES, COMPENSATED)


def _aba(
    name: str, row: Alternating, generalised: tuple[int, ...], source: str, model: StepModel | None = None
) -> Method:
    orders = ", ".join(map(str, generalised))
    return _method(
        name,
        row,
        f"exact flow and kicks for weak torques, orders ({orders})",
        f"Some steps are backward, which SABA avoids at the price of its second order. ABA({orders}) of {source}.",
        source,
        generalised[-1],
        generalised,
        model,
    )


ABA84 = _aba("ABA84", coefficients.ABA84, (8, 4), "mclachlan1995")
ABA104 = _aba("ABA104", coefficients.ABA104, (10, 4), "blanes2013")
ABA864 = _aba("ABA864", coefficients.ABA864, (8, 6, 4), "blanes2013")
ABA1064 = _aba(
    "ABA1064", coefficients.ABA1064, (10, 6, 4), "blanes2013", StepModel(5.5, (1e-5, 1.4e-4, 1.4e-4), 8.0, 0.65)
)
