"""Functions that are compiled apart from the programs that call them: users' torques.

A program has a variable for the address of such a function, in which it finds it. So the loop of a method is compiled
once for all torques, a torque once for all methods, and both are kept in files of their own. A torque has a form for
floats, and one for each number of lanes that some program calls it with.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from polhode.kernels.codegen import function
from polhode.kernels.ops import triple, view, where
from polhode.kernels.status import EXCEPTION

NOT_APART = "this is compiled together with what it calls"
"""Why a function cannot be compiled apart from its program: its arguments have other types than those below."""

_NAME = re.compile(r"polhode_apart_(\d+)_(\d+)_([sl])_(a|\d+)$")


class CallForm(NamedTuple):
    """How a program calls a torque that is compiled apart."""

    place: int
    """Which one of the functions of the program it is."""
    lanes: int
    """How many states are given at once; 0: one, in floats."""
    common: bool
    """Whether all lanes have the same time, which is one float."""
    parameters: int | None
    """How many parameters each lane has of its own; None: they are one array for all."""

    @property
    def variable(self) -> str:
        """The name of the variable that holds the address."""
        parameters = "a" if self.parameters is None else self.parameters
        return f"polhode_apart_{self.place}_{self.lanes}_{'s' if self.common else 'l'}_{parameters}"

    @property
    def signature(self) -> str:
        """The arguments of the function: time, attitude and rate; then the parameters, or an array and their number.

        What is in lanes has a capital letter, the one whose place in the alphabet is the number of lanes.
        """
        number = chr(ord("A") - 1 + self.lanes) if self.lanes else "d"
        parameters = "pi" if self.parameters is None else number * self.parameters
        return f"{'d' if self.common else number}{number * 7}{parameters}"


def form_named(variable: str) -> CallForm | None:
    """The form with this name of its variable; None for the name of anything else."""
    if (found := _NAME.match(variable)) is None:
        return None
    place, lanes, time, parameters = found.groups()
    return CallForm(int(place), int(lanes), time == "s", None if parameters == "a" else int(parameters))


def lanes_in(signature: str) -> int:
    """How many states a function with these arguments takes at once; 0: one, in floats."""
    return next((ord(letter) - ord("A") + 1 for letter in signature if letter.isupper()), 0)


@lru_cache(maxsize=128)
def in_form(seen: Any, form: CallForm) -> Any:
    """A torque of `kernels.callback_torques.apart` as the function that is compiled apart, in this form."""
    count = form.parameters
    given = "values, count" if count is None else ", ".join(f"p{k}" for k in range(count))
    p = "view(values, count)" if count is None else f"({given},)" if count else "()"
    each = [f"where(True, n[{k}], a)" if form.lanes else f"n[{k}]" for k in range(3)]  # a constant becomes lanes
    made = function(
        f"apart(t, a, b, c, d, x, y, z{', ' if given else ''}{given})",
        [
            "try:",
            f"    n = triple(torque(t, (a, b, c, d), (x, y, z), {p}))",
            f"    return ({', '.join(each)}), 0",
            "except Exception:",
            f"    return (a, a, a), {EXCEPTION}",
        ],
        {"torque": seen.__torque__, "triple": triple, "view": view, "where": where},
    )
    made.__leaf__ = True
    return made
