"""Compositions of any symmetric method of second order: steps of certain fractions in a row, as one step.

The option `of` names the method, with options of its own if need be: `KL6(of=Strang)`, `TJ(of=MR2(axes=231))`.
"""

from functools import partial

from polhode.kernels.steps.coefficients import (
    KAHAN_LI_6,
    KAHAN_LI_8,
    SUZUKI_4,
    TRIPLE_JUMP_4,
    TRIPLE_JUMP_6,
    TRIPLE_JUMP_8,
    Row,
)
from polhode.methods._method import Keeps, Method, Option, compose, with_options
from polhode.methods.axes import MR2


def _symmetric(name: str, of: str) -> Method:
    """The method of this name, if it can be composed."""
    from polhode.methods import find  # it knows all methods, these here included

    base = MR2 if of == MR2.name else find(of)
    if base.order != 2 or base.attitude_order != 2:
        raise ValueError(f"{name} is made of methods of second order, in momentum and attitude; {base.name} is not one")
    if Keeps.REVERSIBLE not in (base.keeps if base.accepts else base.keeps_when_free):
        raise ValueError(f"{name} is made of time-symmetric methods; {base.name} is not one")
    return base


OF = Option("of", MR2.name, "the symmetric method of second order to compose", names_a_method=True)


def _composed(name: str, of: str, row: Row, order: int, words: str, about: str, cite: str) -> Method:
    base = _symmetric(name, of)
    return compose(
        base,
        row,
        name=name,
        order=order,
        summary=f"{words} of {base.name}",
        about=f"{about} Keeps what {base.name} keeps and costs {len(row)} times as much.",
        cite=f"{cite},{base.cite}",
    )


def _composition(name: str, row: Row, order: int, words: str, about: str, cite: str) -> Method:
    made = partial(_composed, name, row=row, order=order, words=words, about=about, cite=cite)
    return with_options(made, OF)


_JUMP = (
    "Three steps, the middle one backward, raise the order by two; {}. The backward step is long, and so is the error."
)
_JUMPS = {
    4: (TRIPLE_JUMP_4, "triple jump", "to four here"),
    6: (TRIPLE_JUMP_6, "double triple jump", "twice, to six, here"),
    8: (TRIPLE_JUMP_8, "threefold triple jump", "three times, to eight, here"),
}


def _jump(order: int, of: str) -> Method:
    row, words, how = _JUMPS[order]
    return _composed("TJ", of, row, order, words, _JUMP.format(how), "creutz1989,yoshida1990")


TJ = with_options(
    _jump, Option("order", 4, "of the composition; TJ6 is short for TJ(order=6)", tuple(_JUMPS), short="TJ{}"), OF
)
Suzuki4 = _composition(
    "Suzuki4",
    SUZUKI_4,
    4,
    "Suzuki's composition",
    "Five steps, the middle one backward: shorter steps and much smaller errors than those of a triple jump.",
    "suzuki1990",
)
KL6 = _composition(
    "KL6", KAHAN_LI_6, 6, "Kahan and Li's nine-step composition",
    "Nine steps, two of them backward, of order six; s9odr6a of kahan1997. Four bodies drawn at random, a "
    "torque as large as the energy, an error of 1e-4 after 200 radians: there KL6(of=MR2) takes 1.4 times as long as "
    "SRKN11 and 5 times as long as G8. Processed compositions (blanes2024), "
    "which change variables at the start and at outputs, need five steps at least for order six, of 1.5, -2.2, 2.4, "
    "-2.2 and 1.5 times the whole (or in another order): no method here is processed so.",
    "kahan1997,blanes2024",
)  # fmt: skip
KL8 = _composition(
    "KL8", KAHAN_LI_8, 8, "Kahan and Li's seventeen-step composition",
    "Seventeen steps, five of them backward, of order eight; s17odr8a of kahan1997.",
    "kahan1997",
)  # fmt: skip
