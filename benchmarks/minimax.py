"""The polynomials of `polhode.kernels.elementary`: `python -m benchmarks.minimax` prints their coefficients and errors.

Each is the polynomial of its degree with the least greatest error, found by the exchange of Remez at 60 digits. Its
coefficients are then rounded to floats; the error is that of the rounded polynomial.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[Any], Any]


class Task(NamedTuple):
    """A function, the weight of its errors, the interval, and the number of coefficients."""

    function: Function
    weight: Function
    interval: tuple[Any, Any]
    size: int


def _series(terms: Callable[[int], Any]) -> Function:
    """Returns the sum of terms(k) z^k, for arguments at which a closed formula would cancel."""

    def value(z: Any) -> Any:
        total, power = mp.mpf(0), mp.mpf(1)
        for k in range(400):
            added = terms(k) * power
            total += added
            power *= z
            if abs(added) < mp.mpf(10) ** -58 * abs(total):
                break
        return total

    return value


def _asin_term(k: int) -> Any:
    n = k + 1
    return mp.binomial(2 * n, n) / (mp.mpf(4) ** n * (2 * n + 1))


sine = _series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3))  # (sin r - r) / r^3 of z = r^2
cosine = _series(lambda k: (-1) ** k / mp.factorial(2 * k + 4))  # (cos r - 1 + z / 2) / z^2
sinh = _series(lambda k: 1 / mp.factorial(2 * k + 3))  # (sinh x - x) / x^3
exponential = _series(lambda k: 1 / mp.factorial(k + 2))  # (exp r - 1 - r) / r^2
logarithm = _series(lambda k: mp.mpf(2) / (2 * k + 5))  # (2 atanh s - 2 s - 2 s^3 / 3) / s^5 of z = s^2
arctangent = _series(lambda k: mp.mpf((-1) ** (k + 1)) / (2 * k + 3))  # (atan t - t) / t^3
arcsine = _series(_asin_term)  # (asin s - s) / s^3

QUARTER = (mp.pi / 4) ** 2 * mp.mpf("1.0001")
HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")
WIDEST = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")
EIGHTH = mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.0001")


def _of_root(f: Function) -> Function:
    return lambda z: f(mp.sqrt(z)) if z else mp.mpf(1)


TASKS = {
    "SINE": Task(sine, lambda z: z / _of_root(lambda r: mp.sin(r) / r)(z), (mp.mpf(0), QUARTER), 6),
    "COSINE": Task(cosine, lambda z: z * z / mp.cos(mp.sqrt(z)), (mp.mpf(0), QUARTER), 6),
    "EXPONENTIAL": Task(exponential, lambda r: r * r, (-HALF_LN2, HALF_LN2), 11),
    "LOGARITHM": Task(logarithm, lambda z: z * z / 2, (mp.mpf(0), WIDEST), 8),
    "ARCTANGENT": Task(arctangent, lambda z: z, (mp.mpf(0), EIGHTH), 12),
    "ARCSINE": Task(arcsine, lambda z: z, (mp.mpf(0), mp.mpf("0.2501")), 13),
    "SINH": Task(sinh, lambda z: z, (mp.mpf(0), mp.mpf("1.001")), 7),
    "CUBE_ROOT": Task(mp.cbrt, lambda m: 1 / mp.cbrt(m), (mp.mpf(1), mp.mpf(2)), 6),
}


def _solved(task: Task, nodes: list[Any]) -> tuple[list[Any], Any]:
    """Returns the coefficients whose weighted error has one size, and alternate signs, at the nodes; and that size."""
    n = task.size
    left, right = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
    for i, z in enumerate(nodes):
        w = task.weight(z)
        for j in range(n):
            left[i, j] = w * z**j
        left[i, n] = (-1) ** i
        right[i] = w * task.function(z)
    found = mp.lu_solve(left, right)
    return [found[j] for j in range(n)], found[n]


def remez(task: Task) -> list[Any]:
    """Returns the coefficients of the best polynomial."""
    low, high = task.interval
    steps = 50 * task.size
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * i / steps)) / 2 for i in range(steps + 1)]
    known = [(z, task.weight(z), task.function(z)) for z in grid]
    nodes = grid[25 :: steps // (task.size + 1)][: task.size + 1]
    for _ in range(20):
        coefficients, level = _solved(task, nodes)
        extremes: list[tuple[Any, Any]] = []  # the greatest error of each run of one sign
        for z, w, f in known:
            v = w * (mp.polyval(coefficients[::-1], z) - f)
            if extremes and (extremes[-1][1] > 0) == (v > 0):
                if abs(v) > abs(extremes[-1][1]):
                    extremes[-1] = (z, v)
            elif v != 0:
                extremes.append((z, v))
        while len(extremes) > task.size + 1:
            extremes.pop(0 if abs(extremes[0][1]) < abs(extremes[-1][1]) else -1)
        if len(extremes) <= task.size:
            raise ArithmeticError("an error that does not alternate: another weight, or more digits, may help")
        nodes = [z for z, _ in extremes]
        if max(abs(v) for _, v in extremes) < abs(level) * mp.mpf("1.02"):
            return coefficients
    raise ArithmeticError("the exchange has not ended")


def rounded(task: Task) -> tuple[list[float], Any]:
    """Returns the coefficients as floats, and the greatest weighted error of the polynomial that they make."""
    found = [float(c) for c in remez(task)]
    low, high = task.interval
    places = [low + (high - low) * mp.mpf(i) / 300 for i in range(301)]
    exact = [mp.mpf(c) for c in found[::-1]]
    return found, max(abs(task.weight(z) * (mp.polyval(exact, z) - task.function(z))) for z in places)


def main() -> None:
    """Prints every polynomial, or those that the command line names."""
    for name, task in TASKS.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        coefficients, error = rounded(task)
        print(f"{name}: 2^{float(mp.log(error, 2)):.1f}\n    {', '.join(map(repr, coefficients))}", flush=True)


if __name__ == "__main__":
    main()
