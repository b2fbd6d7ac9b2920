"""The schemes as the paper runs them: the momentum or the rate alone, in the operations that it counts.

The methods of polhode carry the attitude along and keep rounding small by other formulas. These here are what the table
of operations speaks of. They work on any numbers that can be added and multiplied, so they can be counted as well as
compiled; what does not change from step to step is computed beforehand.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from polhode.kernels.codegen import function
from polhode.kernels.steps.tableaux import FEHLBERG, Tableau

Vector = tuple[Any, Any, Any]
SineCosine = Callable[[Any], tuple[Any, Any]]
Turn = Callable[[Vector, float], Vector]
Step = Callable[[Vector], Vector]
SIXTH = 1.0 / 6.0


def exact(x: Any) -> tuple[Any, Any]:
    """Sine and cosine."""
    return math.sin(x), math.cos(x)


def short(x: Any) -> tuple[Any, Any]:
    """The paper's replacements for small angles, section 4."""
    return x - x * x * x * SIXTH, 1.0 - 0.5 * x * x


def rates(inertia: Sequence[float]) -> tuple[float, float]:
    """The factors of M3 in (19) and of M1 in (22)."""
    i1, i2, i3 = inertia
    return 1 / i3 - 1 / i2, 1 / i1 - 1 / i2


def turns(inertia: Sequence[float], sine_cosine: SineCosine) -> tuple[Turn, Turn]:
    """The rotations (18) and (21), for the time h."""
    about_z, about_x = rates(inertia)

    def z(m: Vector, h: float) -> Vector:
        s, c = sine_cosine(about_z * m[2] * h)
        return c * m[0] + s * m[1], c * m[1] - s * m[0], m[2]

    def x(m: Vector, h: float) -> Vector:
        s, c = sine_cosine(about_x * m[0] * h)
        return m[0], c * m[1] + s * m[2], c * m[2] - s * m[1]

    return z, x


def leapfrog(inertia: Sequence[float], h: float, sine_cosine: SineCosine = exact) -> Step:
    """Makes a step of the scheme (25): each angle comes from the momentum that its rotation meets."""
    z, x = turns(inertia, sine_cosine)
    half = h / 2

    def step(m: Vector) -> Vector:
        return x(z(x(m, half), h), half)

    return step


def simpson(inertia: Sequence[float], h: float, sine_cosine: SineCosine = exact) -> Step:
    """Makes a step of the scheme (27), which advances 2 h."""
    z, x = turns(inertia, sine_cosine)
    third, middle = h / 3, 4 * h / 3

    def step(m: Vector) -> Vector:
        return x(z(x(z(x(m, third), h), middle), h), third)

    return step


def normalised(step: Step, square: float) -> Step:
    """Makes a step whose result is brought back to the length whose square this is, without a root."""
    half = 0.5 / square

    def scaled(m: Vector) -> Vector:
        y = step(m)
        k = 1.5 - half * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
        return k * y[0], k * y[1], k * y[2]

    return scaled


def runge_kutta(inertia: Sequence[float], h: float, tableau: Tableau = FEHLBERG, *, zeros: bool = True) -> Step:
    """Makes a step for Euler's equations of the rates; with `zeros`, zero coefficients are multiplied with as well."""
    i1, i2, i3 = inertia
    a1, a2, a3 = h * (i2 - i3) / i1, h * (i3 - i1) / i2, h * (i1 - i2) / i3

    def slope(w: Vector) -> Vector:
        return a1 * w[1] * w[2], a2 * w[2] * w[0], a3 * w[0] * w[1]

    def moved(row: Sequence[Any]) -> str:
        used = [(j, float(a)) for j, a in enumerate(row) if zeros or a != 0]
        return ", ".join(" + ".join([f"w[{c}]", *(f"{a!r} * k{j}[{c}]" for j, a in used)]) for c in range(3))

    lines = [f"k{i} = slope(({moved(row)}))" for i, row in enumerate(tableau.stages)]
    step: Step = function("step(w)", [*lines, f"return ({moved(tableau.step)})"], {"slope": slope})
    return step


def repeated(step: Step) -> Callable[..., int]:
    """A loop over many steps, to be compiled: from and to an array of three numbers."""

    def run(x: Any, count: int) -> int:
        y = (x[0], x[1], x[2])
        for _ in range(count):
            y = step(y)
        x[0], x[1], x[2] = y
        return 0

    return run
