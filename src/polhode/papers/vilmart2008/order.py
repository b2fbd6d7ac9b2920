"""Preprocessed Moser-Veselov: orders 2 to 10 in momentum and attitude

Errors of the momentum (left) and of the attitude matrix (right) at t = 12 against the step, for the discrete
Moser-Veselov map (DMV2) and its preprocessed forms; the body and the start of the paper, against the exact motion. The
paper has no such picture. Orders are slopes over the steps at which round-off does not show.
"""

import numpy as np

from polhode.papers._figure import Figure, loglog, panels, ticks_at
from polhode.papers._measure import end_states, free_end, matrix, slope
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.papers.vilmart2008._common import START, WATER

WHERE = "section 5"
METHODS = ("DMV2", "PDMV4", "PDMV6", "PDMV8", "PDMV10")
ORDERS = (2, 4, 6, 8, 10)
T_END = 12.0
STEPS = tuple(T_END / n for n in (34, 40, 48, 57, 68, 80, 96))
FLOOR = 1e-12
"""Errors above this are those of the method, not round-off."""
LONG = 0.3
"""A step at which the errors of every method are far above round-off."""


def run(size: Size) -> Data:
    """Computes errors at the end, and the change of the invariants on the way."""
    omega = np.array(START) / WATER.moments
    momentum, attitude = free_end(WATER, T_END, omega=omega)
    steps = STEPS[::2] if size.quick else STEPS
    errors = np.full((2, len(METHODS), len(steps)), np.nan)
    kept = np.full((2, len(METHODS)), np.nan)
    for i, method in enumerate(METHODS):
        runs = end_states(WATER, None, method, [*steps, LONG], T_END, omega=omega)
        for j, found in enumerate(runs):
            if found is None:
                continue
            if j < len(steps):
                errors[:, i, j] = (
                    np.linalg.norm(found.momentum[-1] - momentum),
                    np.linalg.norm(matrix(found) - attitude),
                )
            else:
                kept[:, i] = np.abs(found.energy_error).max(), np.abs(found.momentum_error).max()
    return Data(
        method=named("method", METHODS, "method"),
        step=named("step", steps, "step", "s"),
        momentum_error=named("method step", errors[0], "error of the momentum", "kg m2 s-1"),
        attitude_error=named("method step", errors[1], "error of the attitude matrix, Frobenius"),
        invariants=named("invariant method", kept, "errors of energy and momentum in space with the step 0.3"),
    )


def _order(steps: np.ndarray, errors: np.ndarray) -> float:
    good = errors > FLOOR
    return slope(steps[good], errors[good])


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the orders, and the first integrals at long steps."""
    h = data["step"]
    found = {
        str(name): (_order(h, y), _order(h, q))
        for name, y, q in zip(data["method"], data["momentum_error"], data["attitude_error"], strict=True)
    }
    off = max(abs(x - order) for order, pair in zip(ORDERS, found.values(), strict=True) for x in pair)
    said = ", ".join(f"{name} {y:.2f} and {q:.2f}" for name, (y, q) in found.items())
    worst = data["invariants"].max()
    least = data["momentum_error"][:, 0].min()
    return [
        claim(
            "The preprocessed map of figure 2 is of order 10, in momentum and attitude",
            source="section 5 and figure 2",
            paper="10",
            measured=f"{found['PDMV10'][0]:.2f} and {found['PDMV10'][1]:.2f}",
            holds=all(abs(x - 10) < 0.3 for x in found["PDMV10"]),
            test="slopes within 0.3 of 10, which the next term of the series accounts for",
        ),
        claim(
            "The plain map is of order 2, and each term of the series adds two orders",
            paper="2, and as high as one likes",
            measured=f"momentum and attitude: {said}",
            holds=off < 0.3,
            test="all slopes within 0.3 of 2, 4, 6, 8, 10",
        ),
        claim(
            "All of them keep all first integrals",
            paper="kept",
            measured=f"step {LONG}: energy and momentum in space change by {worst:.0e} at most, while the least error"
            f" of the momentum at the longest step is {least:.0e}",
            holds=bool(worst < 3e-15 < least / 1e3),
            test="changes below 3e-15, round-off, at steps where the motion itself is off by far more",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws errors against steps."""
    figure, axes = panels(1, 2, width=12.5, sharey=True)
    for ax, name, what in zip(
        axes[0], ("momentum", "attitude"), ("momentum (kg m²/s)", "attitude matrix"), strict=True
    ):
        curves = dict(zip(map(str, data["method"]), data[f"{name}_error"], strict=True))
        loglog(ax, data["step"], curves, "step (s)", f"error of the {what}")
        ticks_at(ax, [0.15, 0.2, 0.25, 0.3])
    axes[0][0].get_legend().remove()
    return figure
