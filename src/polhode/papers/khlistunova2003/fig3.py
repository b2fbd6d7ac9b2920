"""The hodograph of the angular velocity by the leapfrog scheme

The tip of the angular velocity, seen from the body, in the run of figure 1. It stays on the curve in which
the ellipsoids of constant energy and of constant momentum meet. The vertical axis is stretched: to the eye the curve
would be a flat circle.
"""

import numpy as np

from polhode.papers._figure import Figure, panels, style
from polhode.papers.khlistunova2003._common import BODY, OMEGA, leapfrog_run
from polhode.papers.study import Claim, Data, Size, claim, named


def run(size: Size) -> Data:
    """Computes the curve, and its distance from both ellipsoids."""
    omega = leapfrog_run(size).omega
    moments = BODY.moments
    energy, momentum = (np.sqrt(omega**2 @ k) / np.sqrt(np.degrees(OMEGA) ** 2 @ k) - 1 for k in (moments, moments**2))
    return Data(
        omega=named("time component", omega, "angular velocity", "deg/s"),
        energy=named("time", energy, "relative distance from the ellipsoid of energy"),
        momentum=named("time", momentum, "relative distance from the ellipsoid of momentum"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the curve is closed."""
    off = {name: float(np.abs(data[name]).max()) for name in ("energy", "momentum")}
    return [
        claim(
            "The leapfrog scheme draws the closed curve of the angular velocity",
            source="fig. 3",
            paper="drawn as one closed curve",
            measured=f"off the ellipsoid of energy by {off['energy']:.1e}, of momentum by {off['momentum']:.1e} "
            "(relative)",
            holds=off["energy"] < 1e-8 and off["momentum"] < 1e-13,
            test="off the curve by less than 1e-8 in energy, which the scheme does not keep, and 1e-13 in momentum, "
            "which it does",
        )
    ]


def plot(data: Data) -> Figure:
    """Draws a curve in space."""
    figure, axes = panels(width=6.0, height=5.0, subplot_kw={"projection": "3d"})
    ax = axes[0, 0]
    ax.plot(*data["omega"].T, **style(0, marked=False))
    ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], xlabel=r"$\omega_1$ (deg/s)", ylabel=r"$\omega_2$ (deg/s)")
    ax.locator_params(axis="z", nbins=5)
    ax.ticklabel_format(axis="z", useOffset=False)
    ax.tick_params(axis="z", pad=10)
    ax.set_zlabel(r"$\omega_3$ (deg/s)", labelpad=24)
    ax.set_box_aspect((4, 4, 3), zoom=0.8)
    return figure
