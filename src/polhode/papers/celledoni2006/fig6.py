"""Heavy top: mean energy error against rate and inertia

A body with the moments I = (1, 2, 3) and the rates (1, 2, 3) under a unit weight at the point (0, 0, 1) of the body,
from 0 to 10 with the step 0.01. (a) The rates are multiplied by alpha, (b) the moments are. Drawn is the mean of the
absolute energy error over the steps. The range of alpha is not told: 0.1 to 100.
"""

import numpy as np

from polhode import ensemble
from polhode.papers._figure import Figure, loglog, panels
from polhode.papers.celledoni2006._common import WEIGHT
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

METHODS = ("MR2", "SEJ", "SEJ4")
H, T_END = 0.01, 10.0
BASE = np.array([1.0, 2.0, 3.0])
LATE = "needs the whole runs"


def run(size: Size) -> Data:
    """Computes two sweeps for each method."""
    alpha = np.geomspace(0.1, 100.0, 3 if size.quick else 37)
    t_end = 0.5 if size.quick else T_END
    same, varied = np.tile(BASE, (alpha.size, 1)), alpha[:, None] * BASE
    return Data(
        method=named("method", METHODS, "method"),
        alpha=named("alpha", alpha, "factor"),
        by_rate=named("method alpha", _mean_errors(same, varied, t_end), "mean absolute energy error", "J"),
        by_inertia=named("method alpha", _mean_errors(varied, same, t_end), "mean absolute energy error", "J"),
    )


def _mean_errors(moments: Floats, omega: Floats, t_end: float) -> Floats:
    out = []
    for method in METHODS:
        many = ensemble(moments, WEIGHT, omega=omega, t_span=(0.0, t_end), step=H, method=method, every=1)
        energy = many.each("energy")
        out.append(np.abs(energy - energy[:, :1])[:, 1:].mean(axis=1))
    return np.array(out)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges where SEJ is better."""
    alpha = data["alpha"]
    says = (
        ("by_rate", "6(a)", "fast bodies, not for slow ones"),
        ("by_inertia", "6(b)", "heavy bodies, not for light ones"),
    )
    claims = []
    for name, panel, which in says:
        mr, sej = data[name][:2]
        ratio = mr / sej
        better = alpha[ratio > 1]
        measured = (
            f"MR2 / SEJ {ratio[0]:.2g} at alpha = {alpha[0]:g}, {ratio[-1]:.2g} at {alpha[-1]:g}; SEJ is better at "
            f"{better.size} of {alpha.size} values, from {better.min():.2g}"
        )
        claims.append(
            claim(
                f"The energy error of SEJ is smaller than that of MR for {which}",
                source=f"figure {panel} and section 4.2",
                paper="by a figure without numbers",
                measured=measured,
                holds=bool(ratio[0] < 1 and ratio[-1] > 10),
                test="ratio below 1 at the least alpha, above 10 at the greatest",
            )
        )
    return claims


def plot(data: Data) -> Figure:
    """Draws errors against alpha."""
    figure, axes = panels(1, 2)
    for ax, name, what in zip(axes[0], ("by_rate", "by_inertia"), ("rates", "moments"), strict=True):
        lines = dict(zip(map(str, data["method"]), data[name], strict=True))
        loglog(ax, data["alpha"], lines, r"$\alpha$", "mean energy error (J)")
        ax.set_title(f"({'a' if what == 'rates' else 'b'}) {what} " + r"$\alpha\,(1, 2, 3)$", fontsize=10)
    return figure
