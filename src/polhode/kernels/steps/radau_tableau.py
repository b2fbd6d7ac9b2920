"""The numbers of Radau's collocation with an odd number of nodes, computed with forty digits.

M is the polynomial whose zeros are the nodes, and M' and so on are its derivatives. A polynomial U of degree s with
U(0) = 0 and U - k U' = M is the integral of an eigenvector: k is an eigenvalue of the matrix of the method, and since
U = M + k M' + k^2 M'' + ..., eigenvalues are the zeros of U(0) as a polynomial in k.  [hairer1996, sec. IV.5 and IV.8]
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import cache
from typing import NamedTuple

import numpy as np

Row = tuple[float, ...]
Exact = list[Decimal]
Complex = tuple[Decimal, Decimal]

DIGITS = 60
"""The digits of the computation: a few are lost on the way, and a double has seventeen."""
MOST_ITERATIONS = 20
"""Newton's iterations for a zero from a double: each doubles the digits."""


class RadauTableau(NamedTuple):
    """The numbers for a step of unit length with s nodes, of which the last is its end."""

    nodes: Row
    real: float
    """The real eigenvalue of the inverse matrix."""
    pairs: tuple[tuple[float, float], ...]
    """The complex ones, as real and imaginary parts; their conjugates are eigenvalues as well."""
    forth: Row
    """The real matrix T, row by row, of the eigenvectors: its first column, and two for each pair."""
    back: Row
    """The inverse of T."""
    error: Row
    """The weights of the values at the nodes in the estimate of the error."""
    barycentric: Row
    """The weights of Lagrange's polynomials on the start of the step and the nodes."""


@cache
def radau_tableau(count: int) -> RadauTableau:
    """The numbers for an odd number of nodes."""
    with localcontext(prec=DIGITS):
        return _computed(count)


def _computed(s: int) -> RadauTableau:
    nodes = _nodes(s)
    derivatives = [_product(nodes)]  # of M, from the constant coefficient up
    for _ in range(s):
        derivatives.append(_derivative(derivatives[-1]))
    at_zero = [d[0] for d in derivatives]
    powers = at_zero[::-1]  # in the inverse of k
    guesses = np.roots([float(c) for c in at_zero])
    real = _zero(powers, min(guesses, key=lambda z: abs(z.imag)))[0]
    pairs = [_zero(powers, z) for z in sorted(guesses, key=lambda z: z.imag) if z.imag > 0.1]
    columns = [[re for re, _ in _eigenvector((real, Decimal(0)), derivatives, nodes)]]
    for pair in pairs:
        vector = _eigenvector(pair, derivatives, nodes)
        columns += [[re for re, _ in vector], [im for _, im in vector]]
    forth = [list(row) for row in zip(*columns, strict=True)]
    unit = [[Decimal(int(i == j)) for j in range(s)] for i in range(s)]
    back = _transposed([_solved(forth, column) for column in unit])
    return RadauTableau(
        _rounded(nodes), float(real), tuple((float(a), float(b)) for a, b in pairs), _flat(forth), _flat(back),
        _rounded(_error_weights(nodes, 1 / real)), _rounded(_barycentric([Decimal(0), *nodes])),
    )  # fmt: skip


def _nodes(s: int) -> Exact:
    """The zeros of P_s - P_(s-1), of Legendre's polynomials on (0, 1]; the last one is 1."""
    before, here = [Decimal(1)], [Decimal(-1), Decimal(2)]
    for k in range(1, s):
        shifted = [Decimal(0), *here]
        longer = [2 * a - b for a, b in zip(shifted, [*here, Decimal(0)], strict=True)]
        older = [*before, Decimal(0), Decimal(0)]
        before, here = here, [((2 * k + 1) * a - k * b) / (k + 1) for a, b in zip(longer, older, strict=True)]
    polynomial = [a - b for a, b in zip(here, [*before, Decimal(0)], strict=True)]
    guesses = sorted(np.roots([float(c) for c in reversed(polynomial)]).real.tolist())
    return [*(_zero(polynomial, complex(x))[0] for x in guesses[:-1]), Decimal(1)]


def _zero(polynomial: Sequence[Decimal], guess: complex) -> Complex:
    """The zero near a guess."""
    z = (Decimal(guess.real), Decimal(guess.imag))
    slope = _derivative(polynomial)
    for _ in range(MOST_ITERATIONS):
        change = _divided(_value(polynomial, z), _value(slope, z))
        z = (z[0] - change[0], z[1] - change[1])
    return z


def _eigenvector(inverse: Complex, derivatives: Sequence[Exact], nodes: Exact) -> list[Complex]:
    """Returns U at the nodes, which is k times the eigenvector there, divided by its value at the last node."""
    k, vector = _divided((Decimal(1), Decimal(0)), inverse), []
    for node in nodes:
        total = (Decimal(0), Decimal(0))
        for d in reversed(derivatives):  # Horner's rule in k
            re, im = _times(total, k)
            total = (re + _value(d, (node, Decimal(0)))[0], im)
        vector.append(total)
    return [_divided(v, vector[-1]) for v in vector]


def _error_weights(nodes: Exact, gamma: Decimal) -> Exact:
    """The weights e of [hairer1996, (8.17)] for any number of nodes.

    The embedded formula has the weight gamma at the start of the step and integrates polynomials of degree s - 1. What
    it differs by from the method, as slopes at the nodes, becomes values by the inverse of the matrix.
    """
    s = len(nodes)
    moments = [[node**k for node in nodes] for k in range(s)]
    embedded = _solved(moments, [Decimal(1) / (k + 1) - (gamma if k == 0 else 0) for k in range(s)])
    weights = _solved(moments, [Decimal(1) / (k + 1) for k in range(s)])
    powers = [[node ** (k + 1) / (k + 1) for node in nodes] for k in range(s)]
    # A V = P with V and P of the powers of the nodes, row by node: e A = d becomes e P = d V.
    difference = [a - b for a, b in zip(embedded, weights, strict=True)]
    target = [sum((d * v for d, v in zip(difference, row, strict=True)), Decimal(0)) for row in moments]
    return _solved(powers, target)


def _barycentric(points: Exact) -> Exact:
    out = []
    for i, a in enumerate(points):
        product = Decimal(1)
        for j, b in enumerate(points):
            product *= a - b if i != j else 1
        out.append(1 / product)
    return out


def _product(zeros: Exact) -> Exact:
    """The coefficients, from the constant up, of the polynomial with these zeros."""
    out = [Decimal(1)]
    for z in zeros:
        out = [a - z * b for a, b in zip([Decimal(0), *out], [*out, Decimal(0)], strict=True)]
    return out


def _derivative(polynomial: Sequence[Decimal]) -> Exact:
    return [k * c for k, c in enumerate(polynomial)][1:]


def _value(polynomial: Sequence[Decimal], z: Complex) -> Complex:
    total = (Decimal(0), Decimal(0))
    for c in reversed(polynomial):
        re, im = _times(total, z)
        total = (re + c, im)
    return total


def _times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _divided(a: Complex, b: Complex) -> Complex:
    size = b[0] * b[0] + b[1] * b[1]
    re, im = _times(a, (b[0], -b[1]))
    return re / size, im / size


def _solved(matrix: Sequence[Exact], right: Exact) -> Exact:
    """Solves linear equations by elimination."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def _transposed(rows: list[Exact]) -> list[Exact]:
    return [list(column) for column in zip(*rows, strict=True)]


def _flat(rows: list[Exact]) -> Row:
    return tuple(float(x) for row in rows for x in row)


def _rounded(exact: Exact) -> Row:
    return tuple(map(float, exact))
