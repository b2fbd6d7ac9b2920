"""Compositions of any symmetric method of second order: steps of certain fractions in a row, as one step.

The option `of` names the method, with options of its own if need be: `KL6(of=Strang)`, `TJ(of=MR2(axes=231))`.
"""

from dataclasses import replace
from functools import partial

from polhode.kernels.steps.coefficients import (
    KAHAN_LI_6,
    KAHAN_LI_8,
    PROCESSED_4,
    PROCESSED_6,
    SUZUKI_4,
    TRIPLE_JUMP_4,
    TRIPLE_JUMP_6,
    TRIPLE_JUMP_8,
    Row,
)
from polhode.kernels.steps.compose import Splitting
from polhode.kernels.steps.correctors import ProcessedComposition
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
    "SRKN11 and 5 times as long as G8.",
    "kahan1997",
)  # fmt: skip
KL8 = _composition(
    "KL8", KAHAN_LI_8, 8, "Kahan and Li's seventeen-step composition",
    "Seventeen steps, five of them backward, of order eight; s17odr8a of kahan1997.",
    "kahan1997",
)  # fmt: skip

_PROCESSED = {4: PROCESSED_4, 6: PROCESSED_6}
_ABOUT_PROCESSED = (
    "Steps in other variables, which a processor enters at the start and leaves for outputs. The processor takes away"
    " all errors that are commutators with the motion, so the steps need to cancel fewer (blanes2024, for three parts"
    " and more; the fractions here were solved for). Order 6 takes eleven steps, two of them backward, where five"
    " would do, but of 1.5, -2.2, 2.4, -2.2 and 1.5 times the whole; order 4 takes eight of a sixth and one of -1/3. A"
    " passage costs eight or six steps more, and an output between grid points three passages; so it is for few"
    " outputs. The torque is also evaluated up to a fifth of a step before the start and two thirds beyond the end."
    " A processed run is symplectic; it is time-symmetric only in the changed variables. Measured for four bodies drawn"
    " at random through 200 radians under a torque as large as the energy, with steps of MR2: it needs the fewest"
    " evaluations of all compositions for errors from 1e-4 to 1e-7, where KL8 has 1.25 to 1.04 times as many and KL6"
    " 1.4 to 1.8 times, so it is the best composition where evaluations are dear; under a cheap torque KL8 takes five"
    " sixths of its time, since it has nothing to enter and leave, and KL6 one and a half times for 1e-8. With a rotor"
    " KL8 has 1.33 to 1.05 times as many for 1e-4 to 1e-6, and fewer for smaller errors; splittings that alternate"
    " flows and kicks have order 2 there. For one body without a rotor it is never the best choice: SRKN11 needs 0.6"
    " of its evaluations for 1e-6, and G8 takes a third to a sixth of its time for 1e-8 and 1e-10."
)


def _processed(order: int, of: str) -> Method:
    kernel, processor = _PROCESSED[order]
    base = _symmetric("Processed", of)
    if not isinstance(base.scheme, Splitting):
        raise ValueError(f"Processed is made of splittings, such as MR2 or Strang; {base.name} is not one")
    made = _composed("Processed", of, kernel, order, "processed composition", _ABOUT_PROCESSED, "blanes2024")
    rotor, lost = made.with_rotor, Keeps.REVERSIBLE
    return replace(
        made,
        scheme=ProcessedComposition(base.scheme, kernel, processor),
        keeps=made.keeps & ~lost,
        keeps_when_free=made.keeps_when_free & ~lost,
        with_rotor=rotor and rotor._replace(keeps=rotor.keeps & ~lost, keeps_when_free=rotor.keeps_when_free & ~lost),
    )


Processed = with_options(
    _processed,
    Option("order", 6, "of the composition; Processed4 is short for Processed(order=4)", (4, 6), short="Processed{}"),
    OF,
)
