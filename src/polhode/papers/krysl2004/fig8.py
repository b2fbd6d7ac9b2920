"""Lagrangian top: error of the Hamiltonian with NMB

Left: the change of the Hamiltonian, relative to its exact value, with NMB and the step 0.05 up to t = 100. The paper
gives M l g = 9.81 sqrt(3)/2 alone; moments (7/8, 7/8, 2/8), a spin of 1 and a tilt of pi/16 are those of the heavy top
in DiffMan's example 9, which has the same M l g. Right: the largest error in the same time for other spins and tilts of
that body; dashed the half percent of the paper.
"""

import numpy as np

from polhode.papers._figure import COLOURS, Figure, labelled, panels, style
from polhode.papers._measure import integrate, tight
from polhode.papers.krysl2004._tops import END, SPIN, STEP, TILT, growth, lagrangian_top, largest, relative_energy
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.solution import Solution

HALF_PERCENT = 0.005
TILTS = (TILT, 0.3, 1.0)
SPINS = tuple(2.0 ** (k / 3) for k in range(-3, 19))
FEW_SPINS = (1.0, 8.0, 64.0)
QUICK_SECONDS = 10.0
"""In s: the length of the runs at the quick size, instead of 100."""
WHERE = "figure 8 and section 3.3"


def run(size: Size) -> Data:
    """Computes one run to be drawn, and the largest errors of many."""
    end = QUICK_SECONDS if size.quick else END
    spins, tilts = (FEW_SPINS, TILTS[:1]) if size.quick else (SPINS, TILTS)
    drawn = integrate(lagrangian_top(), "NMB", end, STEP)
    found = np.array([[_extremes(spin, tilt, end) for spin in spins] for tilt in tilts])
    return Data(
        t=named("time", drawn.t, "time", "s"),
        error=named("time", relative_energy(drawn), "change of the Hamiltonian, relative to its exact value"),
        spin=named("spin", spins, "spin", "rad/s"),
        tilt=named("tilt", tilts, "tilt of the axis at the start", "rad"),
        largest=named("tilt spin", found[..., 0], "largest relative error of the Hamiltonian"),
        growth=named("tilt spin", found[..., 1], "largest error in the last fifth of the time, by that in the first"),
    )


def _extremes(spin: float, tilt: float, end: float) -> tuple[float, float]:
    error = relative_energy(integrate(lagrangian_top(spin, tilt), "NMB", end, STEP))
    return largest(error), growth(error, 5)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges size and drift."""
    top, grown = largest(data["error"]), growth(data["error"], 5)
    at_tilt = data["largest"][0]
    first = int(np.flatnonzero(at_tilt >= HALF_PERCENT).max(initial=-1)) + 1  # from here on all are small
    enough = first < len(at_tilt)
    from_spin = f"from a spin of {data['spin'][first]:.2g} rad/s on" if enough else "at no spin"
    return [
        claim(
            "The error of the Hamiltonian does not drift",
            late=f"needs t = {END:g}",
            paper="no drift up to t = 100",
            measured=f"largest error in the last fifth of the time / in the first: {grown:.4f}; with other spins and "
            f"tilts {data['growth'].min():.3f} to {data['growth'].max():.3f}",
            holds=abs(grown - 1) < 0.02 and largest(data["growth"] - 1) < 0.1,
            test="within 2 %, and within 10 % with all other spins and tilts tried",
        ),
        claim(
            "The error stays below half a percent of the exact Hamiltonian",
            paper="< 0.5 %",
            measured=f"{100 * top:.2f} % with a spin of {SPIN:g} rad/s; {100 * at_tilt.min():.1e} to "
            f"{100 * at_tilt.max():.1f} % with others, below 0.5 % {from_spin}",
            holds=top < HALF_PERCENT,
            test="below 0.5 % with the data of DiffMan's heavy top",
            otherwise=f"The error is {100 * top:.2f} % with DiffMan's heavy top, the published body that has the "
            "paper's M l g. The paper does not state moments, spin and tilt. The same body and tilt stay below 0.5 % "
            f"{from_spin}, but nothing in the paper asks for so fast a spin",
        ),
    ]


def motions(size: Size) -> dict[str, Solution]:
    """The true motion and NMB."""
    end = 0.1 * QUICK_SECONDS if size.quick else 20.0
    t = np.linspace(0.0, end, 401)
    return {"true": tight(lagrangian_top(), t, STEP), "NMB": integrate(lagrangian_top(), "NMB", end, STEP)}


def plot(data: Data) -> Figure:
    """Draws error against time, largest error against spin."""
    figure, axes = panels(1, 2, width=11.0, height=4.0)
    left, right = axes[0]
    left.plot(data["t"], 100 * data["error"], color=COLOURS[0], linewidth=0.8)
    labelled(left, "time (s)", "error of the Hamiltonian (%)")
    for k, (tilt, row) in enumerate(zip(data["tilt"], data["largest"], strict=True)):
        right.loglog(data["spin"], 100 * row, label=f"tilt {tilt:.2g} rad", **style(k))
    right.axhline(100 * HALF_PERCENT, color="0.4", linestyle="--", linewidth=1)
    labelled(right, "spin (rad/s)", "largest error (%)")
    return figure
