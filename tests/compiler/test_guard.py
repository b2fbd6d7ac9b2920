"""What users' functions may not do is an error, compiled as in plain Python."""

import ctypes
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from polhode.compiler import CompilationFailed, KernelRaised, program
from polhode.compiler.programs import c_library
from polhode.kernels.codegen import function
from polhode.kernels.ops import view

TABLE = np.array([1.0, 2.0, 3.0])


class Tables(NamedTuple):
    first: Any
    scale: float


NESTED = Tables(np.array([1.0, 2.0]), 3.0)
INSIDE = (np.array([1.0, 2.0]), 3.0)
Kernel = Callable[[Any, Any], Any]


def calling(f: Kernel) -> Any:
    """A kernel of polhode's own that calls a user's function as a torque is called: with a number and parameters."""
    return function("kernel(x, p, n)", ["x[0] = f(x[0], view(p, n))", "return 0"], {"f": f, "view": view})


def value(f: Kernel, t: float, *parameters: float, f_native: Any = None) -> float:
    """What the compiled function returns."""
    x, p = np.array([t]), np.array([*parameters, 77.0])  # beyond the parameters there is something else
    (f_native or program(calling(f), "ppi"))(x, p, len(parameters))
    return float(x[0])


# --- indices ---------------------------------------------------------------------------------------------------------


def late(t: float, p: Any) -> Any:
    return p[0] if t < 1.0 else p[1]


def from_the_end(t: float, p: Any) -> Any:
    return p[-1] if t < 1.0 else p[-2]


def helper(values: Any, k: int) -> Any:
    return values[k]


def in_a_helper(t: float, p: Any) -> Any:
    return helper(p, int(t))


def captured(t: float, p: Any) -> Any:
    return TABLE[int(3.0 * t)]


def written(t: float, p: Any) -> Any:
    own = np.zeros(3)
    own[int(3.0 * t)] = p[0]
    return own[0]


def by_a_list(t: float, p: Any) -> Any:
    return TABLE[np.array([0, int(3.0 * t)])][0] - 1.0 + p[0]


@pytest.mark.parametrize("f", [late, from_the_end, in_a_helper, captured, written, by_a_list])
def test_an_index_beyond_the_end_is_an_error(f: Kernel) -> None:
    native = program(calling(f), "ppi")
    assert value(f, 0.0, 1.0, f_native=native) == f(0.0, np.array([1.0]))
    with pytest.raises(KernelRaised, match=r"^IndexError: .* out of bounds"):
        value(f, 1.0, 1.0, f_native=native)
    with pytest.raises(IndexError):
        f(1.0, np.array([1.0]))


def usual(t: float, p: Any) -> Any:
    total = 0.0
    for k in range(len(p)):
        total += p[k] * (k + 1) ** 2
    first, second, last = p
    return total + first * np.sum(p) + p[1:][0] * p[-1] + second * last + t


def test_what_torques_do_with_their_parameters_still_works() -> None:
    p = (0.5, -1.25, 3.0)
    assert value(usual, 2.0, *p) == usual(2.0, np.array(p))


# --- writing ---------------------------------------------------------------------------------------------------------


def to_parameters(t: float, p: Any) -> Any:
    if t > 1.0:
        p[0] += 1.0
    return p[0]


def to_a_slice(t: float, p: Any) -> Any:
    if t > 1.0:
        p[:] = 2.0
    return p[0]


def in_place(t: float, p: Any) -> Any:
    if t > 1.0:
        p += 1.0
    return p[0]


def by_a_method(t: float, p: Any) -> Any:
    if t > 1.0:
        p.fill(2.0)
    return p[0]


def by_a_function(t: float, p: Any) -> Any:
    if t > 1.0:
        np.add(p, 1.0, p)
    return p[0]


def to_captured(t: float, p: Any) -> Any:
    if t > 1.0:
        TABLE[0] = t
    return p[0]


def to_an_item(t: float, p: Any) -> Any:
    if t > 1.0:
        INSIDE[0][0] = t
    return p[0]


def to_a_field(t: float, p: Any) -> Any:
    if t > 1.0:
        NESTED.first[0] = t
    return p[0]


def change(x: Any, table: Any = TABLE) -> Any:
    table[0] = x
    return table[0]


def to_a_default(t: float, p: Any) -> Any:
    return change(p[0]) if t > 1.0 else p[0]


@pytest.mark.parametrize(
    "f",
    [
        to_parameters, to_a_slice, in_place, by_a_method, by_a_function, to_captured, to_an_item, to_a_field,
        to_a_default,
    ],
)  # fmt: skip
def test_what_is_not_the_functions_own_cannot_be_written_to(f: Kernel) -> None:
    with pytest.raises(CompilationFailed, match=r"arrays from outside the function, cannot be written to.*p\.copy\(\)"):
        program(calling(f), "ppi")


def to_a_copy(t: float, p: Any) -> Any:
    own = p.copy()
    own[0] += t
    own[1:] = 2.0
    return own[0] + own[1]


def test_a_copy_can_be_written_to() -> None:
    assert value(to_a_copy, 2.0, 1.0, 2.5) == 5.0


# --- integers --------------------------------------------------------------------------------------------------------


def integers(t: float, p: Any) -> Any:
    n, k = int(t), int(p[0])
    return 1.0 * (n + 7 * k - n // k + n % k + k**3 + (k << 2) + (n >> 1) - (-n) // k + 2 * abs(-n)) + math.floor(-t)


@pytest.mark.parametrize("t", [5.0, -7.5, 1e6])
def test_small_integers_are_pythons(t: float) -> None:
    assert value(integers, t, 3.0) == integers(t, np.array([3.0]))


# --- pointers --------------------------------------------------------------------------------------------------------

PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def fails(x: float) -> float:
    raise ValueError("no")


CALLBACK = PROTOTYPE(fails)
AGAIN = PROTOTYPE(ctypes.cast(CALLBACK, ctypes.c_void_p).value or 0)
ERF = c_library().erf
ERF.restype, ERF.argtypes = ctypes.c_double, [ctypes.c_double]


@numba.cfunc("float64(float64)")
def doubled(x: Any) -> Any:
    return 2.0 * x


def by_callback(t: float, p: Any) -> Any:
    return CALLBACK(t) if t > 1.0 else 0.0


def by_address(t: float, p: Any) -> Any:
    return AGAIN(t) if t > 1.0 else 0.0


def by_library(t: float, p: Any) -> Any:
    return ERF(t)


def by_cfunc(t: float, p: Any) -> Any:
    return doubled(t)


@pytest.mark.parametrize("f", [by_callback, by_address])
def test_a_pointer_that_may_lead_to_python_is_refused(f: Kernel) -> None:
    told = r"would be lost; write it as a plain function.*compiled=False.*torque_from_pointer"
    with pytest.raises(CompilationFailed, match=told):
        program(calling(f), "ppi")


@pytest.mark.filterwarnings("ignore:compiled for this process only")
def test_a_function_of_a_library_is_called() -> None:
    assert value(by_library, 0.5) == math.erf(0.5)


def test_a_cfunc_stands_for_its_python_function(empty_cache: Path) -> None:
    assert value(by_cfunc, 0.5) == 1.0
    assert len(list(empty_cache.glob("*.code"))) == 1  # and is kept like one


# --- what is raised --------------------------------------------------------------------------------------------------


def refuses(t: float, p: Any) -> Any:
    if t > 1.0:
        raise ArithmeticError("too far", 3)
    if t > 0.0:
        raise ArithmeticError
    return t


def test_an_exception_says_what_it_was() -> None:
    native = program(calling(refuses), "ppi")
    with pytest.raises(KernelRaised, match=r"^ArithmeticError: too far, 3$"):
        value(refuses, 2.0, f_native=native)
    with pytest.raises(KernelRaised, match=r"^ArithmeticError$"):
        value(refuses, 1.0, f_native=native)


def test_windows_has_its_c_library_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """There `ctypes.CDLL(None)` raises: nothing would be compiled."""
    asked: list[str | None] = []
    monkeypatch.setattr("polhode.compiler.programs.ctypes.CDLL", asked.append)
    monkeypatch.setattr("polhode.compiler.programs.sys.platform", "win32")
    c_library()
    monkeypatch.undo()
    assert asked == ["ucrtbase"]
    assert c_library().abort
