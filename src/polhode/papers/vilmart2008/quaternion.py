"""Quaternions that are not normalised lose nothing

The preprocessed Moser-Veselov map of order 10 without compensated summation, each step multiplying the quaternion by
(1, c), a million steps of 0.01 from 100 starts as in figure 1. What becomes of the quaternion then differs: nothing
(its norm grows), a power of two brings it back near 1, its norm is corrected once it is off by 2^-48, or it is
normalised at every step. Left: the norm of the first, from (4). Right: deviation (bars) and mean (crosses, with twice
the standard error) of the components of the momentum in space at the end. The paper says that nothing is lost, and
draws nothing.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from polhode.compiler import program
from polhode.kernels.algebra.quat import normalised, rescaled, tidied
from polhode.kernels.algebra.vec import dot
from polhode.kernels.compared import moser_veselov
from polhode.kernels.status import OK
from polhode.kernels.types import Inertia, Quat
from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.papers.vilmart2008._common import EPS, LONG_RUNS, STEPS, WATER, H, invariants, starts, walk

WHERE = "section 5"
COUNT = 100
STRETCHES = 10
"""Parts into which a run is cut, to see the norm grow."""


def untouched(q: Quat) -> Quat:
    """Q."""
    return q


TREATMENTS: dict[str, Callable[[Quat], Quat]] = {
    "untouched": untouched,
    "powers of two": rescaled,
    "corrected at times": tidied,
    "normalised": normalised,
}


def repeated(tidy: Callable[[Quat], Quat]) -> Callable[..., int]:
    """A loop over many steps, to be compiled: x holds quaternion, momentum, moments; it returns a status.

    The drivers of the library stop a run whose quaternion has left the neighbourhood of norm 1, so this has its own.
    """
    adapt = moser_veselov.other_moments(10)

    def run(x: Any, h: float, count: int) -> int:
        body = Inertia((x[7], x[8], x[9]), (1.0 / x[7], 1.0 / x[8], 1.0 / x[9]))
        q, m = (x[0], x[1], x[2], x[3]), (x[4], x[5], x[6])
        energy, casimir = moser_veselov.invariants(body, m)
        moments, length, status = adapt(body, energy, casimir, h)
        for _ in range(count):
            if status != OK:
                return status
            c, b, status = moser_veselov.solved(moments, m, length)
            k = 4.0 / (length * (1.0 + dot(c, c)))
            a = moser_veselov.stretching(q, c)
            q = tidy((q[0] + a[0], q[1] + a[1], q[2] + a[2], q[3] + a[3]))
            m = (m[0] + k * b[0], m[1] + k * b[1], m[2] + k * b[2])
        x[0], x[1], x[2], x[3] = q
        x[4], x[5], x[6] = m
        return status

    return run


def run(size: Size) -> Data:
    """Computes the momentum in space for each treatment of the norm, and the norm where it is not corrected."""
    count, steps = (4, 200) if size.quick else (COUNT, STEPS)
    first = np.array([[1.0, 0.0, 0.0, 0.0, *m, *WATER.moments] for m in starts(count)])
    before = _space(first)
    norms, ends, changed = {}, {}, {}
    for way, tidy in TREATMENTS.items():
        x, norms[way] = first.copy(), [1.0]
        for _ in range(STRETCHES):
            _advance(x, tidy, steps // STRETCHES)
            norms[way].append(float(np.linalg.norm(x[0, :4])))
        ends[way], changed[way] = x[:, :4], np.asarray((_space(x) - before) / EPS, dtype=np.float64)
    return Data(
        way=named("way", list(TREATMENTS), "what becomes of the quaternion"),
        momentum=named("way trajectory component", list(changed.values()), "change of Qy", "eps kg m2 s-1"),
        apart=named(
            "trajectory",
            _apart(ends["untouched"], ends["powers of two"]),
            "largest difference in components of quaternions, untouched and scaled by powers of two",
        ),
        t=named("time", np.linspace(0.0, steps * H, STRETCHES + 1), "time", "s"),
        norm=named("time", norms["untouched"], "norm of the untouched quaternion from (4)"),
    )


def _advance(x: Floats, tidy: Callable[[Quat], Quat], count: int) -> None:
    """Advances all trajectories, on all cores."""
    steps = program(repeated(tidy), "pdi")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        statuses = list(pool.map(lambda row: steps(row, H, count), x))
    if any(status != OK for status in statuses):
        raise RuntimeError("the equation of a step had no solution")


def _space(x: Floats) -> Any:
    """The momentum in space, in extended precision."""
    wide = x.astype(np.longdouble)
    return invariants(wide[:, :4], wide[:, 4:7], wide[:, 7:])[:, 2:]


def _apart(a: Floats, b: Floats) -> Floats:
    """The largest difference in components, with a scaled by the power of two that fits it to b."""
    ratio = np.linalg.norm(b, axis=1) / np.linalg.norm(a, axis=1)
    return np.asarray(np.abs(a * np.exp2(np.round(np.log2(ratio)))[:, None] - b).max(axis=1))


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether directions are the same to the bit, and walks no longer than with normalisation."""
    steps = round(float(data["t"][-1]) / H)
    norm = float(data["norm"][-1])
    lasting = np.log(np.finfo(np.float64).max) / 2 * steps / np.log(norm)
    found = {str(way): walk(x, steps) for way, x in zip(data["way"], data["momentum"], strict=True)}
    same = float(data["apart"].max())
    said = ", ".join(f"{way} {w.deviation.min():.2f} to {w.deviation.max():.2f}" for way, w in found.items())
    scores = {way: float(np.abs(w.scores).max()) for way, w in found.items()}
    return [
        claim(
            "No information is lost if quaternions are not normalised",
            paper="none",
            measured=f"|q| = {norm:.1e} after {steps} steps; divided by a power of two it differs from a quaternion"
            f" kept near 1 by {same:.0e}",
            holds=same == 0.0,
            test="no difference in any bit: floating-point numbers carry a common factor for nothing, until its square"
            f" overflows, here after {lasting:.1e} steps",
        ),
        claim(
            "Momentum in space is kept as well as with normalised quaternions, or better",
            late=LONG_RUNS,
            paper="no loss",
            measured=f"deviation / (eps sqrt(N)): {said}; means off by"
            f" {', '.join(f'{x:.1f}' for x in scores.values())} standard errors",
            holds=bool(
                found["untouched"].deviation.max() < 1.2 * found["normalised"].deviation.max()
                and scores["untouched"] < 3.3
            ),
            test="no longer walks than normalised, within a fifth, and no drift (3.3 standard errors)",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws the norm and the statistics."""
    figure, axes = panels(1, 2, width=11.5)
    left, right = axes[0]
    left.semilogy(data["t"], data["norm"], color=COLOURS[0])
    labelled(left, "time (s)", "norm of the untouched quaternion")
    steps = round(float(data["t"][-1]) / H)
    x = np.arange(3)
    for k, (way, momentum) in enumerate(zip(map(str, data["way"]), data["momentum"], strict=True)):
        w = walk(momentum, steps)
        place = x + 0.2 * (k - 1.5)
        right.bar(place, w.deviation, width=0.18, color=COLOURS[k], alpha=0.55, label=way)
        error = 2 * momentum.std(axis=0) / np.sqrt(steps * momentum.shape[0])
        right.errorbar(place, w.mean, yerr=error, fmt="x", color=COLOURS[k], markersize=6, capsize=2)
    right.set_xticks(x, ["$(Qy)_1$", "$(Qy)_2$", "$(Qy)_3$"])
    right.axhline(0.0, color="0.3", linewidth=0.8)
    labelled(right, "", r"deviation and mean / (eps $\sqrt{N}$)")
    return figure
