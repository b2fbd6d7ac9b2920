"""Figures 7 and 8: the satellite by three methods with one step."""

import numpy as np

from polhode.papers._figure import Figure
from polhode.papers._measure import integrate, tight
from polhode.papers.celledoni2006._common import SATELLITE, distance, draw_tracks, track, vertical
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.solution import Solution

METHODS = ("MR2", "SEJ", "SEJ4")


def run(h: float, size: Size) -> Data:
    """Computes three runs and the true motion."""
    t_end = 100 * h if size.quick else 400.0
    runs = [integrate(SATELLITE, method, t_end, h) for method in METHODS]
    true = vertical(tight(SATELLITE, runs[0].t, h))
    tracks = {name: v for k, r in enumerate(runs, 1) for name, v in track(k, r, r.energy[0], "1").items()}
    unlike = [distance(vertical(r), true) for r in runs]
    off = [np.linalg.norm(vertical(r) - true, axis=1)[1:].mean() for r in runs]
    return Data(
        method=named("method", METHODS, "method"),
        unlike_true=named("method", unlike, "how differently Q e3 fills the sphere than in the true motion"),
        mean_error=named("method", off, "mean distance of Q e3 from the true motion"),
        **tracks,
    )


def motions(h: float, size: Size) -> dict[str, Solution]:
    """The beginning of the true motion and of the three runs."""
    t_end = (3 if size.quick else 100) * h
    runs = {method: integrate(SATELLITE, method, t_end, h) for method in METHODS}
    return {"true": tight(SATELLITE, runs["MR2"].t, h), **runs}


def relative_errors(data: Data) -> dict[str, float]:
    """The largest energy errors, relative to the energy."""
    return {m: float(np.abs(data[f"energy_{k}"]).max()) for k, m in enumerate(METHODS, 1)}


def energy_claim(data: Data, says: str, factor: float) -> Claim:
    """Judges the energies of SEJ and SEJ4 against that of MR."""
    e = relative_errors(data)
    return claim(
        says,
        paper="by figures without numbers",
        measured="largest relative errors " + ", ".join(f"{m} {x:.1e}" for m, x in e.items()),
        holds=max(e["SEJ"], e["SEJ4"]) < e["MR2"] / factor,
        test=f"more than {factor:g} times smaller",
    )


def trajectory_claim(data: Data, says: str, *, holds: bool, test: str) -> Claim:
    """Judges how good the trajectories are."""
    shares = ", ".join(f"{m} {d:.3f}" for m, d in zip(METHODS, data["unlike_true"], strict=True))
    means = ", ".join(f"{d:.2f}" for d in data["mean_error"])
    measured = f"shares of points below a level differ from the true ones by {shares}; mean distances from it {means}"
    late = "needs whole trajectories"
    return claim(says, paper="by sight", measured=measured, holds=holds, test=test, late=late)


def plot(data: Data, h: float) -> Figure:
    """Draws trajectories and energy errors."""
    return draw_tracks(data, [f"{m}, h = {h}" for m in ("MR", "SEJ", "SEJ4")], "relative energy error")
