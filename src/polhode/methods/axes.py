"""Rotations about one body axis after the other, with the torque as half kicks.

Each m_i^2 / (2 I_i) generates a rotation at a constant rate, which is exact, and so does (m_i - g_i)^2 / (2 I_i) of a
gyrostat. `MR2` is the map Phi_M of celledoni2006,
section 4, after McLachlan 1993, Reich 1996 and Dullweber, Leimkuhler, McLachlan 1997; `MR4` and `MR4S` are
compositions of it.
"""

from polhode.kernels.steps.coefficients import SUZUKI_4, TRIPLE_JUMP_4
from polhode.kernels.steps.flows import RANKED, kick, spin1, spin2, spin3
from polhode.kernels.types import Depends
from polhode.methods._method import Keeps, Method, Option, compose, split, with_options

SPINS = {"1": spin1, "2": spin2, "3": spin3}
ORDERS = ("123", "132", "213", "231", "312", "321")

AXES = Option(
    "axes", "123", "the order of the rotations, from the ends of the step to its middle; auto: by rising moments",
    (*ORDERS, "auto"), ("231", "321", "auto"),
)  # fmt: skip


def _mr2(axes: str) -> Method:
    outer, inner, middle = RANKED if axes == "auto" else (SPINS[axis] for axis in axes)
    return Method(
        "MR2",
        split(
            (kick, 1 / 2), (outer, 1 / 2), (inner, 1 / 2), (middle, 1), (inner, 1 / 2), (outer, 1 / 2), (kick, 1 / 2)
        ),
        summary="symplectic splitting into rotations about the body axes",
        about="Turns the body about its principal axes, one after the other and back again, and lets the torque act at"
        " both ends of the step. Symplectic and time-symmetric; keeps the spatial momentum of a free body, and its"
        " component along the symmetry axis of a potential. Costs five rotations and one torque evaluation a step."
        " celledoni2006, section 4, tried several orders of the axes and found no significant difference; on its own"
        " top and satellite, with steps of 0.01, the energy error of the worst order is two and three hundred times"
        " that of the best. fasso2003 chooses the order by the moments. axes=auto takes the axis of the smallest"
        " moment first and that of the largest in the middle: over 4,000 bodies drawn at random its error is 1.5"
        " times that of the best order for each body in the geometric mean, if the body is free, and an order that"
        " knows nothing of the moments has 4.4 times; under a torque as large as the energy these are 1.8 and 2.8. It"
        " is the best choice of axes unless you measure your own body. The bodies of an ensemble must agree on that"
        " order. With fractions that depend on the moments eight rotations a step are of order four for a free body"
        " (laskar2019): solved for 95 bodies drawn at random, 63 have real ones, and need 0.43 of the rotations of"
        " MR4S for the same error; for nearly symmetric bodies none were found, so no method here has them. The exact"
        " flow costs less than any of these: measured, 1.3 times as much as a step of MR2, which has five rotations,"
        " and MR4 three times as much.",
        cite="celledoni2006,fasso2003,laskar2019,mclachlan1993,reich1996,dullweber1997",
        order=2,
        accepts=Depends.POSITION | Depends.TIME,
        keeps=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.AXIAL_MOMENTUM,
        keeps_when_free=Keeps.SYMPLECTIC | Keeps.REVERSIBLE | Keeps.MOMENTUM_NORM | Keeps.SPATIAL_MOMENTUM,
        accepts_rotor=True,
        accepts_changing=True,
    )


def _mr4(axes: str) -> Method:
    return compose(
        _mr2(axes),
        TRIPLE_JUMP_4,
        name="MR4",
        order=4,
        summary="triple jump of MR2",
        about="Three steps of MR2, the middle one backward. Keeps what MR2 keeps and costs three times as much. The"
        " order-4 method of celledoni2006, most likely: the paper does not name its composition, but reports an energy"
        " error of about 1e-5, which a triple jump has (6.5e-5) and Suzuki's composition has not (5.3e-7).",
        cite="celledoni2006,yoshida1990,creutz1989",
    )


def _mr4s(axes: str) -> Method:
    return compose(
        _mr2(axes),
        SUZUKI_4,
        name="MR4S",
        order=4,
        summary="Suzuki's composition of MR2",
        about="Five steps of MR2, the middle one backward. Keeps what MR2 keeps and costs five times as much; its error"
        " is far smaller than that of MR4, by a factor of about 140 on the free body of celledoni2006.",
        cite="celledoni2006,suzuki1990",
    )


MR2, MR4, MR4S = (with_options(make, AXES) for make in (_mr2, _mr4, _mr4s))
