"""Random free motions, regime by regime, and how far `FreeMotion` is from the truth on them.

`python -m tests.authorities.free_regimes` measures thousands and writes the table in docs/understand/free_motion.md.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

import polhode as ph
from polhode.compiler import program
from polhode.kernels.free import closed_form
from tests.authorities import free_motion
from tests.authorities.high_precision import rotation

EPSILON = 2.0**-52
TABLE = Path(__file__).parents[2] / "docs" / "understand" / "free_motion.md"
BEGIN, END = "<!-- accuracy -->", "<!-- end of accuracy -->"
Triple = tuple[float, float, float]


class FreeCase(NamedTuple):
    """A free motion from given rates, and the time at which it is looked at.

    A `Problem` holds the momentum, whose rate may differ in the last bit: here every bit of the rate counts.
    """

    inertia: Triple
    omega: Triple
    t: float

    @property
    def physical(self) -> bool:
        return 2 * max(self.inertia) <= sum(self.inertia) * (1 + 1e-12)


Draw = np.random.Generator
Regime = Callable[[Draw], FreeCase]


def _body(draw: Draw) -> Triple:
    """The moments of three pairs of masses: always physical, sorted."""
    x, y, z = draw.uniform(0.02, 1.0, 3)
    a, b, c = sorted((y + z, x + z, x + y))
    return a, b, c


def _signed(draw: Draw, size: int = 3) -> list[float]:
    return [float(x) for x in draw.uniform(0.1, 1.0, size) * draw.choice([-1.0, 1.0], size)]


def _case(draw: Draw, inertia: Iterable[float], omega: Iterable[float], radians: float | None = None) -> FreeCase:
    """In any order of the axes, at a time before or after the start, up to some hundred turns away."""
    order = draw.permutation(3)
    i, w = np.array(list(inertia)), np.array(list(omega))
    if radians is None:
        radians = 10.0 ** draw.uniform(-3, 3)
    t = float(draw.choice([-1.0, 1.0])) * radians / (float(np.abs(w).max()) or 1.0)
    a, b, c = i[order].tolist()
    p, q, r = w[order].tolist()
    return FreeCase((a, b, c), (p, q, r), t)


def generic(draw: Draw) -> FreeCase:
    return _case(draw, _body(draw), _signed(draw))


def near_separatrix(draw: Draw) -> FreeCase:
    """At relative distances from 0.1 to 1e-16, on both sides."""
    a, b, c = _body(draw)
    w1, w2, _ = _signed(draw)
    on = w1 * math.sqrt(a * (b - a) / (c * (c - b)))
    away = 10.0 ** draw.uniform(-16, -1) * draw.choice([-1.0, 1.0])
    return _case(draw, (a, b, c), (w1, w2, on * (1 + away)), 10.0 ** draw.uniform(-2, 2.5))


def on_separatrix(draw: Draw, ulps: int = 0) -> FreeCase:
    """Exactly: w1 = w3 and I2 = (I1^2 + I3^2) / (I1 + I3), in whole numbers."""
    while True:
        a, c = sorted(int(x) for x in draw.integers(3, 200, 2))
        inertia = (a * (a + c), a * a + c * c, c * (a + c))
        if a < c and 2 * inertia[2] <= sum(inertia):
            break
    w = float(draw.integers(1, 1000)) / 64
    w1, w2, w3 = w * draw.choice([-1, 1]), float(draw.integers(-1000, 1000)) / 64, w * draw.choice([-1, 1])
    w3 += ulps * np.spacing(w3)
    return _case(draw, map(float, inertia), (float(w1), w2, float(w3)), 10.0 ** draw.uniform(-2, 2))


def one_ulp_from_separatrix(draw: Draw) -> FreeCase:
    return on_separatrix(draw, int(draw.choice([-1, 1])))


def near_axis(draw: Draw) -> FreeCase:
    """Two components down to 1e-300 of the third, each by itself."""
    w = [s * 10.0 ** draw.uniform(-300, -2) for s in _signed(draw)]
    if draw.uniform() < 0.5:  # most of the exponents above lie where nothing but the axis itself is left to see
        w = [s * 10.0 ** draw.uniform(-17, -2) for s in _signed(draw)]
    w[int(draw.integers(3))] = _signed(draw)[0]
    return _case(draw, _body(draw), w)


def on_axis(draw: Draw) -> FreeCase:
    w = [0.0, 0.0, 0.0]
    w[int(draw.integers(3))] = _signed(draw)[0]
    return _case(draw, _body(draw), w)


def oblate(draw: Draw) -> FreeCase:
    a = draw.uniform(0.5, 1)
    return _case(draw, (a, a, a * draw.uniform(1.01, 2)), _signed(draw))


def prolate(draw: Draw) -> FreeCase:
    a = draw.uniform(0.5, 1)
    return _case(draw, (a, a, a * draw.uniform(0.01, 0.99)), _signed(draw))


def nearly_symmetric(draw: Draw) -> FreeCase:
    a, b = draw.uniform(0.5, 1, 2)
    return _case(draw, (a, a * (1 + 10.0 ** draw.uniform(-15, -3)), b), _signed(draw))


def equator(draw: Draw) -> FreeCase:
    """A symmetric body that turns about an axis of its equator, or nearly so."""
    a = draw.uniform(0.5, 1)
    w = _signed(draw)
    w[2] *= draw.choice([0.0, 1e-14, 1e-5])
    return _case(draw, (a, a, a * draw.uniform(0.2, 2)), w)


def sphere(draw: Draw) -> FreeCase:
    a = draw.uniform(0.5, 1)
    return _case(draw, (a, a, a), _signed(draw))


def nearly_sphere(draw: Draw) -> FreeCase:
    """Moments equal to 1e-15 and up."""
    size = 10.0 ** draw.uniform(-15, -3)
    return _case(draw, 0.7 * (1 + size * draw.uniform(-1, 1, 3)), _signed(draw))


def disk(draw: Draw) -> FreeCase:
    a, b = draw.uniform(0.05, 1, 2)
    return _case(draw, (a, b, a + b), _signed(draw))


def needle(draw: Draw) -> FreeCase:
    long = 10.0 ** draw.uniform(1, 5)
    return _case(draw, (1.0, long, long + draw.uniform(0, 1)), _signed(draw))


def rest(draw: Draw) -> FreeCase:
    return _case(draw, _body(draw), (0.0, 0.0, 0.0))


def scales(draw: Draw) -> FreeCase:
    """Moments from 1e-40 to 1e40, rates from 1e-30 to 1e30."""
    size, speed = 10.0 ** draw.uniform(-40, 40), 10.0 ** draw.uniform(-30, 30)
    return _case(draw, (size * x for x in _body(draw)), (speed * x for x in _signed(draw)))


def many_turns(draw: Draw) -> FreeCase:
    """From 1e6 to 1e12 turns."""
    return _case(draw, _body(draw), _signed(draw), 2 * math.pi * 10.0 ** draw.uniform(6, 12))


def unphysical(draw: Draw) -> FreeCase:
    """Moments in ratios up to a million, which no body has."""
    return _case(draw, 10.0 ** draw.uniform(-3, 3, 3), _signed(draw))


def unphysical_extremes(draw: Draw) -> FreeCase:
    """The same near separatrix and axes."""
    a, b, c = sorted(10.0 ** draw.uniform(-3, 3, 3))
    w1, w2, w3 = _signed(draw)
    kind = draw.integers(3)
    if kind == 0:
        w3 = w1 * math.sqrt(a * (b - a) / (c * (c - b))) * (1 + 10.0 ** draw.uniform(-16, -2) * draw.choice([-1, 1]))
    elif kind == 1:
        w1 *= 10.0 ** draw.uniform(-20, -2)
    else:
        w3 *= 10.0 ** draw.uniform(-20, -2)
    return _case(draw, (a, b, c), (w1, w2, w3), 10.0 ** draw.uniform(-2, 2.5))


REGIMES: dict[str, Regime] = {
    f.__name__: f
    for f in (
        generic, near_separatrix, one_ulp_from_separatrix, on_separatrix, near_axis, on_axis, oblate, prolate,
        nearly_symmetric, equator, sphere, nearly_sphere, disk, needle, rest, scales, many_turns, unphysical,
        unphysical_extremes,
    )
}  # fmt: skip

ALLOWED = {True: 4.0, False: 16.0}
"""For physical bodies and for others, in units of eps (1 + sensitivity)."""


def cases(regime: str, count: int, seed: int = 1) -> list[FreeCase]:
    draw = np.random.default_rng([seed, list(REGIMES).index(regime)])
    return [REGIMES[regime](draw) for _ in range(count)]


def state(p: FreeCase) -> tuple[Any, Any]:
    """Quaternion and rate by `FreeMotion`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of digits lost
        s = ph.FreeMotion(ph.Body(p.inertia, allow_unphysical=True), p.omega).at(p.t)
    return s.quaternion, s.omega


def _scaled(x: Triple) -> tuple[list[float], int]:
    """With the greatest between 1/2 and 1, and the power of two taken out."""
    _, power = math.frexp(max(map(abs, x)))
    return [math.ldexp(v, -power) for v in x], power


def by_kernels(p: FreeCase, compiled: bool) -> tuple[Any, Any]:
    """The same by the kernels alone, in plain Python or compiled."""
    (inertia, _), (omega, speed) = _scaled(p.inertia), _scaled(p.omega)
    identity = (1.0, 0.0, 0.0, 0.0)
    given = np.array([*inertia, *omega, math.ldexp(1.0, speed), *identity, *identity, *np.eye(3).flat])
    arrays: list[Any] = [np.empty(n) for n in (closed_form.MOTION, 1, 4, 3, 3)]
    arrays[1][:] = p.t
    set_up, evaluate = closed_form.set_up_rows, closed_form.evaluate_rows
    if compiled:
        _program(set_up, "ppi")(given, arrays[0], 1)
        _program(evaluate, "pppppdii")(*arrays, 0.0, 1, 1)
        return arrays[2], arrays[3]
    motion, t, q, w, m = (a.tolist() for a in arrays)
    set_up(given.tolist(), motion, 1)
    evaluate(motion, t, q, w, m, 0.0, 1, 1)
    return np.array(q), np.array(w)


_program = cache(program)  # to find a program again takes milliseconds


def truth(p: FreeCase) -> tuple[free_motion.Truth, float]:
    """The state and its sensitivity."""
    return free_motion.free_motion(*p), free_motion.sensitivity(*p)


def error(true: free_motion.Truth, sensitivity: float, q: Any, w: Any) -> float:
    """In units of eps (1 + sensitivity). NaN is infinitely wrong."""
    if not (np.isfinite(q).all() and np.isfinite(w).all()):
        return math.inf
    with mp.workdps(40):
        mine = free_motion.Truth(rotation(q.tolist()), [mp.mpf(x) for x in w.tolist()])
        return float(free_motion.difference(mine, true)) / EPSILON / (1 + sensitivity)


def measured(regime: str, count: int, seed: int = 1) -> dict[str, list[float]]:
    """The errors, in plain Python and compiled, of physical bodies and of others."""
    drawn = cases(regime, count, seed)
    out: dict[str, list[float]] = {"plain": [], "compiled": [], "excess": []}
    for p in drawn:
        true = truth(p)
        errors = error(*true, *by_kernels(p, compiled=False)), error(*true, *by_kernels(p, compiled=True))
        out["plain"].append(errors[0])
        out["compiled"].append(errors[1])
        out["excess"].append(max(errors) / ALLOWED[p.physical])
    return out


def main(count: int = 250) -> None:
    rows = ["| regime | problems | median | worst | worst in plain Python | allowed |", "|---|---|---|---|---|---|"]
    for name in REGIMES:
        m = measured(name, count)
        allowed = "16" if name.startswith("unphysical") else "4"
        rows.append(
            f"| {name.replace('_', ' ')} | {count} | {np.median(m['compiled']):.2f} | {max(m['compiled']):.2f} "
            f"| {max(m['plain']):.2f} | {allowed} |"
        )
        print(rows[-1], flush=True)
    if TABLE.exists():
        text = TABLE.read_text()
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        TABLE.write_text(head + BEGIN + "\n" + "\n".join(rows) + "\n" + END + tail)


if __name__ == "__main__":
    main()
