"""Jacobi's elliptic functions and the elliptic integrals, accurate on both sides of the separatrix and on it.

Every function takes the complementary parameter mc = 1 - m = k'^2 (and nc = 1 - n): near m = 1, where a rigid body
tumbles from one end of its intermediate axis to the other, m itself has no digits left for the distance from 1.
Arguments are numbers or arrays that broadcast; numbers give numbers. The result is NaN where there is no real value.
`docs/understand/elliptic.md` has the measured error of each function.

In a torque, or in any other function that polhode compiles, each name stands for its kernel in
`polhode.kernels.free.elliptic_functions`.

Examples
--------
>>> ph.elliptic.ellipk(0.5)
1.8540746773013719
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polhode.compiler import repaid_program
from polhode.kernels.codegen import function
from polhode.kernels.free import elliptic_functions as kernels
from polhode.support import checks

__all__ = ["amplitude", "ellipe", "ellipe_inc", "ellipf", "ellipk", "ellippi", "ellippi_complete", "jacobi"]

Values = Any
"""A float if every argument is a number, else an array of float64."""

MOST_INTERPRETED = 500
"""Values up to which a call is computed in plain Python, at 2 to 35 us a value, if no compiled program is kept. The
program gives the same bits."""

FEW_VALUES = 4
"""Up to this many values at once are always computed in plain Python: to call the program takes as long."""


def jacobi(u: ArrayLike, mc: ArrayLike) -> tuple[Values, Values, Values]:
    """sn, cn, dn of argument u, for every real mc; at mc = 0 they are tanh, sech, sech.

    The period 4 K is subtracted in two doubles: a million periods lose none of the digits of u.
    """
    s, c, d = _each(kernels.jacobi, 3, u=u, mc=mc)
    return s, c, d


def amplitude(u: ArrayLike, mc: ArrayLike) -> Values:
    """am(u), the inverse of `ellipf`: continuous, sin(am) = sn, cos(am) = cn, d am/du = dn."""
    return _each(kernels.amplitude, 1, u=u, mc=mc)[0]


def ellipk(mc: ArrayLike) -> Values:
    """K, the complete integral of the first kind, the quarter period of sn, for mc >= 0; it is infinite at 0."""
    return _each(kernels.ellipk, 1, mc=mc)[0]


def ellipe(mc: ArrayLike) -> Values:
    """E, the complete integral of the second kind, for mc >= 0."""
    return _each(kernels.ellipe, 1, mc=mc)[0]


def ellipf(phi: ArrayLike, mc: ArrayLike) -> Values:
    """F(phi), the integral of 1 / sqrt(1 - m sin^2) from 0 to phi; for mc < 0 as long as the root is real."""
    return _each(kernels.ellipf, 1, phi=phi, mc=mc)[0]


def ellipe_inc(phi: ArrayLike, mc: ArrayLike) -> Values:
    """E(phi), the integral of sqrt(1 - m sin^2) from 0 to phi; for mc < 0 as long as the root is real."""
    return _each(kernels.ellipe_inc, 1, phi=phi, mc=mc)[0]


def ellippi(nc: ArrayLike, phi: ArrayLike, mc: ArrayLike) -> Values:
    """Pi(n; phi), the integral of 1 / ((1 - n sin^2) sqrt(1 - m sin^2)) from 0 to phi, in the sign of DLMF 19.2.7.

    phi is any number for mc >= 0; for mc < 0 the root must be real. For nc < 0 the integrand has poles, and the
    integral across them is Cauchy's principal value, as in the DLMF: the real part of what a complex program returns.
    Beyond the double pole of nc = 0 it is infinite.
    """
    return _each(kernels.ellippi, 1, nc=nc, phi=phi, mc=mc)[0]


def ellippi_complete(nc: ArrayLike, mc: ArrayLike) -> Values:
    """Pi(n), the integral of `ellippi` up to a right angle, for mc >= 0."""
    return _each(kernels.ellippi_complete, 1, nc=nc, mc=mc)[0]


for _public in __all__:  # the compiler replaces each function by its kernel
    globals()[_public].py_func = getattr(kernels, _public)


def _each(kernel: Callable[..., Any], results: int, **arguments: ArrayLike) -> list[Values]:
    """Applies the kernel to every set of arguments, which broadcast."""
    arrays = np.broadcast_arrays(*(_numbers(name, value) for name, value in arguments.items()))
    shape, size = arrays[0].shape, arrays[0].size
    rows = None
    if size > FEW_VALUES:
        signature, what = "p" * (len(arrays) + results) + "i", f"elliptic.{kernel.__name__}"
        rows = repaid_program(
            _loop(kernel, len(arrays), results), signature, is_large=size > MOST_INTERPRETED, what=what
        )
    if rows is not None:
        found = [np.empty(size) for _ in range(results)]
        rows(*(np.ascontiguousarray(a).reshape(-1) for a in arrays), *found, size)
    else:
        values = [kernel(*row) for row in zip(*(a.ravel().tolist() for a in arrays), strict=True)]
        found = list(np.array(values, dtype=np.float64).reshape(size, results).T)
    return [float(f[0]) if shape == () else np.ascontiguousarray(f).reshape(shape) for f in found]


def _numbers(name: str, value: ArrayLike) -> NDArray[np.float64]:
    return checks.floats(name, value, "be real numbers")


@cache
def _loop(kernel: Any, arguments: int, results: int) -> Any:
    """The loop, to be compiled, that applies the kernel to rows of numbers."""
    given = [f"x{k}" for k in range(arguments)]
    made = [f"out{k}" for k in range(results)]
    call = f"{', '.join(f'{y}[i]' for y in made)} = kernel({', '.join(f'{x}[i]' for x in given)})"
    head = f"rows({', '.join([*given, *made])}, count)"
    return function(head, ["for i in range(count):", f"    {call}", "return 0"], {"kernel": kernel})
