"""All problems of the paper: errors of the explicit methods against each other

Errors of the explicit methods and of AKW at a step where all of them converge, as multiples of the error of NMB: left
of the momentum in the body, right of the attitude matrix. Free body: step 1/16, t = 100; fast top: 0.001 and 10; slow
top: 0.01 and 10; soft wall, with the torque as printed and with the opposite sign: 0.01 and 10. LP2, MR2 here, is the
symplectic splitting into turns about the axes, which the paper shows for the free body alone.
"""

import numpy as np

from polhode.papers._figure import COLOURS, MARKERS, Figure, labelled, panels
from polhode.papers.krysl2004 import _common as common
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.problem import Problem

LATE = "needs the steps and times of the paper's problems"

METHODS = ("NMB", "SW", "HSTAGM", "MR2", "AKW")
EXPLICIT = ("SW", "HSTAGM")
PROBLEMS: dict[str, tuple[Problem, float, float]] = {
    "free body": (common.FREE, 1 / 16, 100.0),
    "fast top": (common.FAST_TOP, 0.001, 10.0),
    "slow top": (common.SLOW_TOP, 0.01, 10.0),
    "wall, printed": (common.soft_wall("printed"), 0.01, 10.0),
    "wall, opposite": (common.soft_wall("physical"), 0.01, 10.0),
}
CLOSE = 2.0
"""A method with at most this multiple of the best error is still among the best."""


def run(size: Size) -> Data:
    """Computes errors with one step for each problem; at the quick size the step is longer and the time a tenth."""
    longer, shorter = (8.0, 10.0) if size.quick else (1.0, 1.0)
    found = [common.convergence(p, METHODS, [h * longer], t / shorter) for p, h, t in PROBLEMS.values()]
    return Data(
        problem=named("problem", list(PROBLEMS), "problem"),
        method=named("method", METHODS, "method"),
        momentum=named("problem method", [d["momentum_error"][:, 0] for d in found], "error of momentum", "kg m2 s-1"),
        attitude=named("problem method", [d["attitude_error"][:, 0] for d in found], "error of attitude, 2-norm"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges NMB against its rivals, and against a splitting."""
    rivals = [METHODS.index(m) for m in EXPLICIT]
    behind = {w: data[w][:, 0] / data[w][:, rivals].min(axis=1) for w in ("attitude", "momentum")}
    worst = np.maximum(behind["attitude"], behind["momentum"])
    split = data["attitude"][:, 0] / data["attitude"][:, METHODS.index("MR2")]
    lost = ", ".join(str(p) for p, far in zip(data["problem"], behind["attitude"] > CLOSE, strict=True) if far)
    return [
        claim(
            "NMB is one of the best explicit methods known",
            source="introduction and conclusions",
            paper="one of the best-performing",
            measured="NMB / the better of SW and HSTAGM: "
            + "; ".join(
                f"{p} {a:.2g} in attitude, {m:.2g} in momentum"
                for p, a, m in zip(data["problem"], behind["attitude"], behind["momentum"], strict=True)
            )
            + ". NMB / MR2 in attitude: "
            + ", ".join(f"{s:.2g}" for s in split),
            holds=bool((worst < CLOSE).all()),
            test="on every problem at most twice the error of the better of SW and HSTAGM, in attitude and momentum",
            reading=f"Holds in attitude for all problems but one ({lost}), where SW and HSTAGM are far ahead; on "
            "the slow top and at the wall HSTAGM is unstable later. A symplectic splitting, MR2, has the more "
            "accurate attitude wherever there is a torque",
            holds_when_read_so=int((behind["attitude"] > CLOSE).sum()) == 1 and bool((split[1:] > 1).all()),
        )
    ]


def plot(data: Data) -> Figure:
    """Draws multiples of the error of NMB, a column for each problem."""
    figure, axes = panels(1, 2, width=11.5, height=4.4, sharey=True)
    for ax, what in zip(axes[0], ("momentum", "attitude"), strict=True):
        relative: Floats = data[what] / data[what][:, :1]
        x = np.arange(len(data["problem"]))
        for k, method in enumerate(METHODS):
            ax.semilogy(
                x, relative[:, k], MARKERS[k], color=COLOURS[k], markersize=8, label=common.LABELS.get(method, method)
            )
        ax.set_xticks(x, [str(p).replace(" ", "\n", 1) for p in data["problem"]])
        ax.set_xlim(-0.5, len(x) - 0.5)
        labelled(ax, "problem", "error / error of NMB" if what == "momentum" else "", what, legend=what == "attitude")
    return figure
