"""Compositions of any symmetric method of second order: steps of certain fractions, one after the other, as one step.

The option `of` names the method, which may have options of its own: `KL6(of=Strang)`, `TJ4(of=MR2(axes=231))`.
"""

from polhode.core.coefficients import KAHAN_LI_6, KAHAN_LI_8, SUZUKI_4, TRIPLE_JUMP_4, TRIPLE_JUMP_6, TRIPLE_JUMP_8, Row
from polhode.methods._method import Keeps, Method, Option, compose, with_options
from polhode.methods.axes import MR2


def _symmetric(name: str, of: str) -> Method:
    """Returns the method `of`, or raises an error if it cannot be composed."""
    from polhode.methods import find  # imported here, since it imports this module, too

    base = MR2 if of == MR2.name else find(of)
    if base.order != 2 or base.attitude_order != 2:
        raise ValueError(f"{name} is made of methods of second order, in momentum and attitude; {base.name} is not one")
    if Keeps.REVERSIBLE not in (base.keeps if base.accepts else base.keeps_when_free):
        raise ValueError(f"{name} is made of time-symmetric methods; {base.name} is not one")
    return base


def _composition(name: str, row: Row, order: int, words: str, about: str, cite: str) -> Method:
    def make(of: str) -> Method:
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

    of = Option("of", MR2.name, "the symmetric method of second order to compose", names_a_method=True)
    return with_options(make, of)


_JUMP = (
    "Three steps, the middle one backward, raise the order by two; {}. The backward step is long, and the error large."
)

TJ4 = _composition("TJ4", TRIPLE_JUMP_4, 4, "triple jump", _JUMP.format("to four here"), "creutz1989,yoshida1990")
TJ6 = _composition(
    "TJ6", TRIPLE_JUMP_6, 6, "double triple jump", _JUMP.format("twice, to six, here"), "creutz1989,yoshida1990"
)
TJ8 = _composition(
    "TJ8",
    TRIPLE_JUMP_8,
    8,
    "threefold triple jump",
    _JUMP.format("three times, to eight, here"),
    "creutz1989,yoshida1990",
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
    "Nine steps, two of them backward, of order six; s9odr6a of kahan1997.",
    "kahan1997",
)  # fmt: skip
KL8 = _composition(
    "KL8", KAHAN_LI_8, 8, "Kahan and Li's seventeen-step composition",
    "Seventeen steps, five of them backward, of order eight; s17odr8a of kahan1997.",
    "kahan1997",
)  # fmt: skip
