"""Book toss: angular velocities in the body, NMB and SW"""

from functools import partial

import numpy as np

from polhode.papers.krysl2004 import _common as common
from polhode.papers.krysl2004._common import COARSE, DRAWN, LONG, RELEASE, RELEASES
from polhode.papers.study import Claim, Data, Floats, Size, claim
from polhode.solution import Solution

CAPTION = f"""
A book with the moments (5, 10, 1) is spun up from rest by 20 N m about x, its axis of the intermediate moment, until
the release; in the step after that an impulse of 0.2 N m s about y disturbs it. Steps 0.05 (circles) and 0.001
(lines), NMB to the left, SW to the right. The paper tells neither the time of the release nor the end: drawn is the
release at {RELEASE:g} s until {DRAWN:g} s; judged are releases at {", ".join(f"{t:g}" for t in RELEASES)} s, until
{DRAWN:g} s and until {LONG:g} s. The torque has two values at its jumps. In the picture each step has that of its own
side; judged are also both other readings, that the steps on either side sample the value before the jump, or after it.
SWd is the variant of SW with which the paper's remarks on the energy fit.
"""

WHERE = "figure 6 and section 3.2"
GROWN, KEPT = 1.1, 1.01
"""Energies of a free body relative to the start: above the first the run is unstable, below the second it is not."""
plot = partial(common.drawn_toss, ylabel="angular velocity in the body (rad/s)", symbol=r"\Omega")


def run(size: Size) -> Data:
    """Computes the drawn runs, and energies for all readings."""
    runs = common.toss_runs(size, lambda solution: solution.omega, "angular velocity in the body", "rad s-1")
    return Data(**runs, **common.tossed(size).variables)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges stability and accuracy."""
    sw, variant, newmark = (common.toss_of(data, "gain", m) for m in ("SW", "SWd", "NMB"))
    releases = np.unique(data["release"])
    fine = max(float(np.ptp(_energy(data, f"{m}_fine", data["t_fine"]))) for m in ("NMB", "SW"))
    flips = {k: _flips(data[f"value_NMB_{k}"], data[f"t_{k}"]) for k in ("coarse", "fine")}
    largest = {k: np.abs(data[f"value_NMB_{k}"]).max(axis=0) for k in ("coarse", "fine")}
    off = float(np.abs(largest["coarse"] / largest["fine"] - 1).max())
    by_release, in_the_end = (
        "; ".join(f"{t:g} s: {common.ratios(common.toss_of(data, 'gain', 'SW', t)[:, k], 3)}" for t in releases)
        for k in (0, -1)
    )
    return [
        claim(
            "SW becomes unstable with the larger step",
            late=f"needs all readings and runs to {LONG:g} s",
            paper="clearly visible",
            measured=f"largest energy of SW until {DRAWN:g} s, relative to its start, by release: {by_release}; until "
            f"{data['end'][-1]:g} s: {in_the_end}. SWd until {DRAWN:g} s: {common.ratios(variant[:, 0])}",
            holds=bool((sw[:, 0] > GROWN).all()),
            test=f"a free body's energy grows by more than a tenth until {DRAWN:g} s, for every reading",
            reading=f"the release at {RELEASE:g} s or later, or the variant SWd: then it grows by more than a tenth; "
            "after a release at 1 s the book turns half as fast, and SW as printed is stable",
            holds_when_read_so=bool(
                (sw[data["release"] >= RELEASE, 0] > GROWN).all() and (variant[:, 0] > GROWN).all()
            ),
        ),
        claim(
            "Newmark's method stays stable with it",
            paper="no trouble",
            measured=f"largest energy relative to its start, all readings: {newmark.max():.4f}",
            holds=bool(newmark.max() < KEPT),
            test="the energy never exceeds its start by more than 1 %",
        ),
        claim(
            "Its angular velocities are acceptably accurate even then",
            paper="quite acceptable",
            measured=f"step {COARSE:g} against {data['step'][1]:g}: {flips['coarse']} and {flips['fine']} flips, "
            f"largest rates off by {off:.1%}",
            holds=flips["coarse"] == flips["fine"] and off < 0.1,
            test=f"until {DRAWN:g} s the same number of flips, and largest rates within 10 %",
        ),
        claim(
            "With the small step both methods are fine",
            source="figure 6",
            paper="the curves with 0.001",
            measured=f"step {data['step'][1]:g}: in flight energies vary by {fine:.1e} of their size at most",
            holds=fine < 1e-2,
            test="by less than 1 %",
        ),
    ]


def _energy(data: Data, name: str, t: Floats) -> Floats:
    energy = data[f"value_{name}"] ** 2 @ common.BOOK.moments / 2
    flying: Floats = energy[common.Toss().flying(t, COARSE)]
    return np.asarray(flying / flying[0])


def _flips(omega: Floats, t: Floats) -> int:
    first = omega[common.Toss().flying(t, COARSE), 0]
    return int((first[1:] * first[:-1] < 0).sum())


def motions(size: Size) -> dict[str, Solution]:
    """The drawn runs with long steps; at the quick size they are short."""
    toss, end = common.Toss(), 1.0 if size.quick else DRAWN
    return {method: toss.run(method, COARSE, end) for method in ("NMB", "SW")}
