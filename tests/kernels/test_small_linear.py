"""Linear equations in scratch memory, against NumPy."""

import numpy as np
import pytest

from polhode.kernels.algebra.small_linear import factorise, factorise_complex, solve, solve_complex


@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_solutions_are_right(n: int) -> None:
    """Also where the largest number of a column is never on the diagonal, and rows have units of their own."""
    random = np.random.default_rng(n)
    for _ in range(20):
        units = 10.0 ** random.integers(-6, 7, n)
        real, imaginary = (units[:, None] * random.normal(size=(n, n)) for _ in range(2))
        right, other = (units * random.normal(size=n) for _ in range(2))
        pivots, weights, b = 2 * n * n, 2 * n * n + n, 2 * n * n + 2 * n
        x = [*real.flat, *[0.0] * (n * n), *[0.0] * n, *(1.0 / units), *right, *[0.0] * n]
        assert factorise(x, 0, n, pivots, weights)
        solve(x, 0, n, pivots, b)
        expected = np.linalg.solve(real / units[:, None], right / units)
        assert x[b : b + n] == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)
        x = [*real.flat, *imaginary.flat, *[0.0] * n, *(1.0 / units), *right, *other]
        assert factorise_complex(x, 0, n, pivots, weights)
        solve_complex(x, 0, n, pivots, b)
        whole = np.linalg.solve((real + 1j * imaginary) / units[:, None], (right + 1j * other) / units)
        assert x[b : b + n] == pytest.approx(whole.real.tolist(), rel=1e-9, abs=1e-9)
        assert x[b + n :] == pytest.approx(whole.imag.tolist(), rel=1e-9, abs=1e-9)


def test_a_matrix_without_an_inverse_is_reported() -> None:
    for bad in ([[1.0, 2.0], [2.0, 4.0]], [[float("nan"), 1.0], [1.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]):
        flat = [number for row in bad for number in row]
        assert not factorise([*flat, *[0.0] * 4, 0.0, 0.0, 1.0, 1.0], 0, 2, 8, 10)
        assert not factorise_complex([*flat, *[0.0] * 4, 0.0, 0.0, 1.0, 1.0], 0, 2, 8, 10)
