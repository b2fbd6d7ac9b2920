"""Printed formulas against differences: dexp (33), Newton's tangent (43), the start of HSTAGM

For drawn rotation vectors, rates, accelerations and moments: by how much (33) misses the derivative of the exponential
that (31) defines, and (43) the derivative of (42), both relative to the derivative; as printed and mended. Derivatives
are central differences.
"""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers._measure import hat
from polhode.papers.krysl2004._common import FAST_TOP, SLOW_TOP
from polhode.papers.krysl2004._literal_midpoint import about_vertical, weight
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

SEED, DRAWS = 11, 40
SPACING = 1e-6
"""The spacing of the differences, whose error is some 1e-9."""
CLOSE = 1e-7


def derivative(f: Any, x: Floats) -> Floats:
    """The matrix of derivatives of a vector by another, by central differences."""
    steps = SPACING * np.eye(len(x))
    return np.stack([(f(x + d) - f(x - d)) / (2 * SPACING) for d in steps], axis=1)


def dexp(psi: Floats, sign: float) -> Floats:
    """(33), whose linear term has the sign +1 in print."""
    angle = float(np.linalg.norm(psi))
    linear, square = (1 - np.cos(angle)) / angle**2, (1 - np.sin(angle) / angle) / angle**2
    return np.asarray(np.eye(3) + sign * linear * hat(psi) + square * hat(psi) @ hat(psi))


def _dexp_errors(psi: Floats) -> list[float]:
    """The errors of (33) as printed, and with the other sign."""
    back = Rotation.from_rotvec(psi).inv()
    true = derivative(lambda x: (back * Rotation.from_rotvec(x)).as_rotvec(), psi)
    return [float(np.abs(dexp(psi, sign) - true).max() / np.abs(true).max()) for sign in (1.0, -1.0)]


def _tangent_errors(inertia: Floats, w: Floats, alpha: Floats, h: float) -> list[float]:
    """The errors of (43) as printed; with hat(I w) for hat(I) hat(w); with (h/2)^2 for h^2/2, too."""

    def residual(a: Floats) -> Floats:
        rate = w + h / 2 * a
        return np.asarray(inertia * a + np.cross(rate, inertia * rate))

    def bracket(v: Floats, literal: bool) -> Floats:
        matrix = np.diag(inertia)
        return np.asarray(hat(v) @ matrix - (matrix @ hat(v) if literal else hat(inertia * v)))

    true = derivative(residual, alpha)
    versions = ((True, h * h / 2), (False, h * h / 2), (False, h * h / 4))
    return [
        float(
            np.abs(np.diag(inertia) + h / 2 * bracket(w, literal) + last * bracket(alpha, literal) - true).max()
            / np.abs(true).max()
        )
        for literal, last in versions
    ]


def _start_error(R: Floats) -> float:
    """By how much A_0 of HSTAGM, made with the torque in space, misses Euler's equation for the tops."""
    right, printed = R.T @ weight(R), weight(R)
    return float(np.linalg.norm(printed - right) / np.linalg.norm(about_vertical(R)) / 20.0)


def run(size: Size) -> Data:
    """Computes the errors of all versions."""
    rng = np.random.default_rng(SEED)
    vectors = rng.normal(size=(DRAWS, 3))
    tangents = [
        _tangent_errors(np.sort(rng.uniform(1, 3, 3)), rng.normal(size=3), rng.normal(size=3), 0.5)
        for _ in range(DRAWS)
    ]
    tops = [p.quaternion_start for p in (FAST_TOP, SLOW_TOP)]
    there = [Rotation.from_quat(q, scalar_first=True).as_matrix() for q in (*tops, *rng.normal(size=(DRAWS, 4)))]
    return Data(
        dexp=named("draw version", [_dexp_errors(v) for v in vectors], "error of (33): printed, with the sign mended"),
        tangent=named("draw step", tangents, "error of (43): printed, with hat(I w), with (h/2)^2, too"),
        start=named("attitude", [_start_error(R) for R in there], "error of the torque in A_0 of HSTAGM"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the two formulas and the start."""
    printed, mended = data["dexp"].T
    first, second, third = data["tangent"].T
    tops, drawn = data["start"][:2], data["start"][2:]
    return [
        claim(
            "(33) is the operator of (31) and (32)",
            source="section 2.3, (31) to (33)",
            paper="1 + ... hat(Psi) + ...",
            measured=f"off by {printed.min():.1g} to {printed.max():.1g} of the derivative as printed, by "
            f"{mended.max():.0e} at most with the opposite sign of the term in hat(Psi)",
            holds=bool((printed < CLOSE).all()),
            test="equal to the derivative to 1e-7 for 40 drawn vectors",
            reading="Holds with a minus before the term in hat(Psi): as printed it takes increments in space. NMB does "
            "not notice, since it applies the operator to a multiple of Psi",
            holds_when_read_so=bool((mended < CLOSE).all()),
        ),
        claim(
            "(43) is the derivative of (42)",
            source="section 2.6, (42) and (43)",
            paper="h^2/2, and hat(I) hat(w)",
            measured=f"off by {first.min():.1g} to {first.max():.1g} as printed, {second.min():.1g} to "
            f"{second.max():.1g} with hat(I w) for hat(I) hat(w), {third.max():.0e} at most with (h/2)^2, too",
            holds=bool((first < CLOSE).all()),
            test="equal to the derivative to 1e-7 for 40 drawn bodies, with h = 0.5",
            reading="Holds with hat(I w) for hat(I) hat(w) and (h/2)^2 for h^2/2, as the program in appendix B has it",
            holds_when_read_so=bool((third < CLOSE).all() and (second > CLOSE).all()),
        ),
        claim(
            "HSTAGM begins with the acceleration of Euler's equation",
            source="appendix A, A_0",
            paper="A_0 = I^-1 (t_0 - ...)",
            measured=f"torque in A_0 off by {drawn.min():.1g} to {drawn.max():.1g} of its size for drawn attitudes, by "
            f"{tops.max():.0e} for the tops of the paper",
            holds=bool((drawn < CLOSE).all()),
            test="equal to 1e-7 for 40 drawn attitudes",
            reading="Holds for the paper's own starts, which are turned about the axis of the torque; in general the "
            "torque has to be taken into the body first, R_0^T t_0",
            holds_when_read_so=bool((tops < CLOSE).all()),
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws the errors, sorted."""
    figure, axes = panels(1, 2, width=11.5, height=4.2)
    words = (("dexp", ("printed", "minus")), ("tangent", ("printed", "hat(I w)", "and (h/2)^2")))
    for ax, (name, versions) in zip(axes[0], words, strict=True):
        for k, (label, row) in enumerate(zip(versions, data[name].T, strict=True)):
            ax.semilogy(np.arange(row.size) + 1, np.maximum(np.sort(row), 1e-17), label=label, **style(k))
        labelled(ax, "draw, by its error", "relative error", "(33)" if name == "dexp" else "(43)")
    return figure
