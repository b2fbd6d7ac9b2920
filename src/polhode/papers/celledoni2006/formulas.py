"""The solution of Euler's equations as printed, and mended

Left: the largest error of formulas (12) to (16) in one period, relative to the largest rate, for 20 drawn bodies with
rising moments: as printed; with E = T, half of what (2) defines; with b1^2 = I2 (I3 - I2); with both. Right: the error
of the elliptic integral F by the recursion before (18) and (19), against the amplitude, with the principal value of the
arc tangent and with its branch followed.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from polhode import elliptic
from polhode.body import Body
from polhode.free.free_motion import FreeMotion
from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

SEED, BODIES, TIMES = 3, 20, 60
VARIANTS = {"printed": (False, False), "E = T": (True, False), "b1 mended": (False, True), "both": (True, True)}
"""By name: whether E is half of what (2) defines, and whether b1^2 is I2 (I3 - I2)."""
PAPERS_BODY = (5.0, 4.0, 3.0)
"""The moments of the experiments, which fall."""
PARAMETERS = (0.1, 0.5, 0.9, 0.99, 0.9999)
EPS = 2.0**-52
WHERE = "section 3, (12) to (16)"


class OrbitConstants(NamedTuple):
    """Holds the constants of (12) to (15); complex where the formulas take roots of negative numbers."""

    amplitudes: tuple[Any, Any, Any]
    rate: Any
    parameter: Any


def orbit(moments: Any, w: Any, *, half: bool, mended: bool, absolute: bool = False) -> OrbitConstants:
    """The constants of the formulas; with `absolute`, roots are taken of absolute values."""
    i1, i2, i3 = moments
    energy = float(np.sum(moments * w**2)) / (2 if half else 1)
    square = float(np.sum((moments * w) ** 2))

    def root(x: float) -> Any:
        return math.sqrt(abs(x)) if absolute or x >= 0 else 1j * math.sqrt(-x)

    a1, a3 = root(2 * energy * i3 - square), root(square - 2 * energy * i1)
    b1, b3 = root(i2 * (i3 - i2) if mended else i2 * (i3 - i1)), root(i2 * (i2 - i1))
    return OrbitConstants(
        (a1 / root(i1 * (i3 - i1)), a1 / b1, a3 / root(i3 * (i3 - i1))),
        b1 * a3 / (i2 * math.sqrt(i1 * i3)),
        (b3 * a1 / (b1 * a3)) ** 2,
    )


def missed(moments: Any, w: Any, **how: bool) -> float:
    """The largest error of the formulas in one period, relative to the largest rate; 9 where they fail."""
    free = FreeMotion(Body(moments), omega=w)
    t = np.linspace(0.0, free.period, TIMES)
    true = np.asarray(free.at(t).omega)
    made = orbit(np.array(moments), np.array(w), **how)
    (x, y, z), rate, parameter = made.amplitudes, made.rate, complex(made.parameter).real
    if not 0 <= parameter < 1:
        return 9.0
    phase = math.atan2((w[1] / y).real, (w[0] / x).real)
    u = float(complex(rate).real) * math.copysign(1.0, w[2]) * t + float(elliptic.ellipf(phase, 1 - parameter))
    sn, cn, dn = elliptic.jacobi(u, 1 - parameter)
    found = np.stack([(x * cn).real, (y * sn).real, math.copysign(1.0, w[2]) * (z * dn).real], axis=1)
    return min(9.0, float(np.abs(found - true).max() / np.abs(true).max()))


def drawn() -> list[tuple[Floats, Floats]]:
    """Bodies with rising moments and starts that circle the third axis."""
    rng, out = np.random.default_rng(SEED), list[tuple[Floats, Floats]]()
    while len(out) < BODIES:
        moments = np.sort(rng.uniform(1.0, 2.0, 3))
        w = rng.normal(size=3)
        y = moments * w
        if y @ y > 1.02 * moments[1] * (y @ w) and np.diff(moments).min() > 0.05:
            out.append((moments, w))
    return out


def recursion(phi: float, parameter: float, *, unwrapped: bool) -> tuple[float, int]:
    """F by (18) and (19), and the number of recursions until c is below round-off."""
    a, b, c, count = 1.0, math.sqrt(1 - parameter), math.sqrt(parameter), 0
    while c >= EPS:
        rest = math.remainder(phi, math.pi)  # within a quarter turn of a whole number of half turns
        step = math.atan2(b * math.sin(rest), a * math.cos(rest))
        phi += step + (phi - rest if unwrapped else 0.0)
        a, b, c, count = (a + b) / 2, math.sqrt(a * b), (a - b) / 2, count + 1
    return phi / (2**count * a), count


def run(size: Size) -> Data:
    """Computes the errors of all variants, of the paper's body, and of the recursion."""
    bodies = drawn()
    errors = [[missed(m, w, half=h, mended=b) for m, w in bodies] for h, b in VARIANTS.values()]
    w = np.array((-1.0, 0.3, 2.0)) / PAPERS_BODY
    falling = [missed(PAPERS_BODY, w, half=True, mended=True, absolute=absolute) for absolute in (False, True)]
    phi = np.linspace(0.0, 2 * np.pi, 201)[1:]
    both = [[[recursion(p, k, unwrapped=u)[0] for p in phi] for k in PARAMETERS] for u in (False, True)]
    true = np.array([[float(elliptic.ellipf(p, 1 - k)) for p in phi] for k in PARAMETERS])
    return Data(
        variant=named("variant", list(VARIANTS), "version of the formulas"),
        error=named("variant body", errors, "largest error in one period, relative to the largest rate"),
        falling=named("root", falling, "error for moments that fall: complex roots, roots of absolute values"),
        phi=named("phi", phi, "amplitude", "rad"),
        parameter=named("parameter", PARAMETERS, "parameter k^2"),
        integral=named("branch parameter phi", np.abs(np.array(both) - true) / true, "relative error of F"),
        recursions=named("parameter", [recursion(1.0, k, unwrapped=True)[1] for k in PARAMETERS], "recursions"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the formulas, the order of the moments, the integral and its cost."""
    error = {str(v): row for v, row in zip(data["variant"], data["error"], strict=True)}
    told = "; ".join(f"{v} {row.min():.1g} to {row.max():.1g}" for v, row in error.items())
    complex_roots, absolute = data["falling"]
    plain, unwrapped = data["integral"].max(axis=(1, 2))
    most = int(data["recursions"].max())
    return [
        claim(
            "(12) to (16) are the solution of Euler's equations",
            paper="the solutions are",
            measured=f"largest error in one period, relative to the largest rate, 9 where k^2 is not between 0 and 1: "
            f"{told}",
            holds=bool((error["printed"] < 1e-12).all()),
            test="as printed, below 1e-12 for 20 bodies with rising moments",
            reading="Holds with two mends: E is the kinetic energy T, half of what (2) defines, and b1^2 is "
            "I2 (I3 - I2); neither is enough without the other",
            holds_when_read_so=bool((error["both"] < 1e-12).all())
            and all(error[v].min() > 1e-3 for v in ("printed", "E = T", "b1 mended")),
        ),
        claim(
            "The formulas serve the body of the experiments, whose moments fall",
            source="section 3, and section 4.1",
            paper="no order of the moments is asked for",
            measured=f"errors {complex_roots:.1g} with roots of negative numbers that are complex, {absolute:.1g} with "
            "roots of absolute values",
            holds=absolute < 1e-12,
            test="right with real roots, taken of absolute values",
            reading="Holds in complex arithmetic, as MATLAB has it: two imaginary roots make the rate of u negative. "
            "With real roots the motion runs backward; the axes have to be sorted first",
            holds_when_read_so=complex_roots < 1e-12 and absolute > 1e-3,
        ),
        claim(
            "The recursion before (18) gives the elliptic integral of any amplitude from 0 to 2 pi",
            source="section 3, (18) and (19)",
            paper="to the desired accuracy",
            measured=f"largest relative error {plain:.1g} with the principal value of the arc tangent, "
            f"{unwrapped:.1g} with its branch followed",
            holds=plain < 1e-14,
            test="below 1e-14 with the principal value of the arc tangent",
            reading="Holds if the arc tangent is continued: one half turn more for each that the amplitude has passed",
            holds_when_read_so=unwrapped < 1e-14,
        ),
        claim(
            "Very few recursions are enough",
            source="section 3, after (19)",
            paper="very few",
            measured="; ".join(
                f"k^2 = {k:g}: {int(n)}" for k, n in zip(data["parameter"], data["recursions"], strict=True)
            ),
            holds=3 <= most <= 8,
            test="between 3 and 8 until c is below round-off, up to k^2 = 0.9999",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws errors of the formulas to the left, of the integral to the right."""
    figure, axes = panels(1, 2, width=11.5, height=4.4)
    left, right = axes[0]
    for k, (variant, row) in enumerate(zip(data["variant"], data["error"], strict=True)):
        left.semilogy(np.arange(row.size) + 1, np.maximum(np.sort(row), 1e-17), label=str(variant), **style(k))
    labelled(left, "body, by its error", "largest error in one period")
    worst = np.maximum(data["integral"].max(axis=1), 1e-17)
    for k, name in enumerate(("principal value", "branch followed")):
        right.semilogy(data["phi"], worst[k], label=name, **style(k, marked=False))
    labelled(right, "amplitude (rad)", "relative error of F")
    return figure
