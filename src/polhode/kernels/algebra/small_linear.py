"""Linear equations of a few unknowns, in numbers that lie one after the other in scratch memory.

A matrix of n rows begins at x[a] and lies row by row; a complex one has its imaginary part n n numbers further on. The
number of unknowns is a parameter: a state with more numbers needs no other code. Rows may have different units; weights
make them comparable, so that a change of units changes no pivot. Nothing is divided by a zero pivot, and nothing
raises: a matrix without an inverse is reported.
"""

from typing import Any

from polhode.kernels.ops import apart


def exchange(x: Any, i: int, k: int) -> None:
    """Exchanges two numbers."""
    kept = x[i]
    x[i] = x[k]
    x[k] = kept


@apart
def factorise(x: Any, a: int, n: int, pivots: int, weights: int) -> bool:
    """Factorises a matrix in its place, by elimination with row exchanges, which are noted; returns whether it can.

    The weights of the rows, at x[weights], are exchanged with them.
    """
    for k in range(n):
        best, most = k, abs(x[a + n * k + k]) * x[weights + k]
        for i in range(k + 1, n):
            size = abs(x[a + n * i + k]) * x[weights + i]
            if size > most:
                best, most = i, size
        x[pivots + k] = float(best)
        if not 0.0 < most < 1e300:
            return False
        if best != k:
            exchange(x, weights + k, weights + best)
            for j in range(k, n):  # not the factors before: they are applied between the exchanges
                exchange(x, a + n * k + j, a + n * best + j)
        inverse = 1.0 / x[a + n * k + k]
        x[a + n * k + k] = inverse
        for i in range(k + 1, n):
            factor = x[a + n * i + k] * inverse
            x[a + n * i + k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    x[a + n * i + j] -= factor * x[a + n * k + j]
    return True


@apart
def solve(x: Any, a: int, n: int, pivots: int, b: int) -> None:
    """Solves with a factorised matrix, for the right-hand side at x[b], which the solution replaces."""
    for k in range(n):
        best = int(x[pivots + k])
        value = x[b + best]
        x[b + best] = x[b + k]
        x[b + k] = value
        for i in range(k + 1, n):
            x[b + i] -= x[a + n * i + k] * value
    for k in range(n - 1, -1, -1):
        total = x[b + k]
        for j in range(k + 1, n):
            total -= x[a + n * k + j] * x[b + j]
        x[b + k] = total * x[a + n * k + k]


@apart
def factorise_complex(x: Any, a: int, n: int, pivots: int, weights: int) -> bool:
    """Factorises a complex matrix in its place, with row exchanges; returns whether it can."""
    square = n * n
    for k in range(n):
        best, most = k, 0.0
        for i in range(k, n):
            at = a + n * i + k
            size = (abs(x[at]) + abs(x[at + square])) * x[weights + i]
            if size > most:
                best, most = i, size
        x[pivots + k] = float(best)
        if not 0.0 < most < 1e300:
            return False
        if best != k:
            exchange(x, weights + k, weights + best)
            for j in range(k, n):  # not the factors before: they are applied between the exchanges
                for part in (a, a + square):
                    exchange(x, part + n * k + j, part + n * best + j)
        at = a + n * k + k
        largest = max(abs(x[at]), abs(x[at + square]))
        re, im = x[at] / largest, x[at + square] / largest
        size = (re * re + im * im) * largest
        re, im = re / size, -im / size
        x[at], x[at + square] = re, im
        for i in range(k + 1, n):
            at = a + n * i + k
            u, v = x[at] * re - x[at + square] * im, x[at] * im + x[at + square] * re
            x[at], x[at + square] = u, v
            if u != 0.0 or v != 0.0:
                for j in range(k + 1, n):
                    above, here = a + n * k + j, a + n * i + j
                    x[here] -= u * x[above] - v * x[above + square]
                    x[here + square] -= u * x[above + square] + v * x[above]
    return True


@apart
def solve_complex(x: Any, a: int, n: int, pivots: int, b: int) -> None:
    """Solves with the factors of a complex matrix; the imaginary part of the right-hand side lies at x[b + n]."""
    square = n * n
    for k in range(n):
        best = int(x[pivots + k])
        re, im = x[b + best], x[b + n + best]
        x[b + best], x[b + n + best] = x[b + k], x[b + n + k]
        x[b + k], x[b + n + k] = re, im
        for i in range(k + 1, n):
            u, v = x[a + n * i + k], x[a + square + n * i + k]
            x[b + i] -= u * re - v * im
            x[b + n + i] -= u * im + v * re
    for k in range(n - 1, -1, -1):
        re, im = x[b + k], x[b + n + k]
        for j in range(k + 1, n):
            u, v = x[a + n * k + j], x[a + square + n * k + j]
            re -= u * x[b + j] - v * x[b + n + j]
            im -= u * x[b + n + j] + v * x[b + j]
        u, v = x[a + n * k + k], x[a + square + n * k + k]
        x[b + k], x[b + n + k] = re * u - im * v, re * v + im * u
