"""Which functions of `math` and NumPy the compiled form of a torque replaces, and by which."""

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from polhode.kernels.elementary import angles, exponentials, roots
from polhode.kernels.ops import primitive

Function = Callable[..., Any]


@primitive
def of_numbers(kernel: Function, usual: Function, arguments: tuple[Any, ...]) -> Any:
    """The kernel of the arguments if they are numbers of the right count, else the usual function of them."""
    return usual(*arguments)


def _also_for_arrays(kernel: Function, usual: Function) -> Function:
    """What stands for a function of NumPy: the kernel for numbers, the function itself for arrays."""

    def function(*arguments: Any) -> Any:
        return of_numbers(kernel, usual, arguments)

    return function


KERNELS: dict[str, Function] = {
    "sin": angles.sine, "cos": angles.cosine, "tan": angles.tangent, "asin": angles.arcsine, "acos": angles.arccosine,
    "atan": angles.arctangent, "atan2": angles.angle, "exp": exponentials.exponential,
    "exp2": exponentials.exponential_of_two, "expm1": exponentials.exponential_less_one,
    "log": exponentials.logarithm, "log1p": exponentials.logarithm_plus_one, "log2": exponentials.logarithm_of_two,
    "log10": exponentials.logarithm_of_ten, "pow": exponentials.raised, "sinh": exponentials.hyperbolic_sine,
    "cosh": exponentials.hyperbolic_cosine, "tanh": exponentials.hyperbolic_tangent,
    "asinh": exponentials.area_sine, "acosh": exponentials.area_cosine, "atanh": exponentials.area_tangent,
    "cbrt": roots.cube_root, "hypot": roots.length,
}  # fmt: skip
"""The kernels, by the names of the functions of `math`."""
_OF_NUMPY = {name: name for name in KERNELS} | {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip

REPLACED: dict[Any, Function] = {getattr(math, name): kernel for name, kernel in KERNELS.items()}
"""What stands for a function of `math` or NumPy in the compiled form of a torque."""
REPLACED |= {
    usual: _also_for_arrays(KERNELS[name], usual)
    for name, usual in ((name, getattr(np, of_numpy)) for name, of_numpy in _OF_NUMPY.items())
}


def calls_by_usual_names(f: types.FunctionType) -> bool:
    """Whether f is a torque, or part of one: the kernels of `polhode.kernels` call these functions by their own names.

    The derivative of a potential, which is text, calls those of `math`, too.
    """
    module = str(f.__globals__.get("__name__"))
    return not module.startswith("polhode.kernels.") or module == "polhode.kernels.codegen"


def replaced(value: Any) -> Any:
    """What stands for the value in a torque: a kernel, or the value itself."""
    return REPLACED.get(value, value) if type(value) in (types.BuiltinFunctionType, np.ufunc) else value


def has_replaced(value: Any, attributes: frozenset[str]) -> bool:
    """Whether the value is `math` or `numpy`, and one of the names that are read there stands for something else."""
    return value in (math, np) and any(replaced(found := getattr(value, a, None)) is not found for a in attributes)
