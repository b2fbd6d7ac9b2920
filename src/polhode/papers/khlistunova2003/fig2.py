"""omega_3 by the leapfrog scheme

Angular velocity about the axis of near symmetry against time, from the run of figure 1: were the first two
moments equal, it would be constant.
"""

from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers.khlistunova2003._common import exactly, largest, leapfrog_run
from polhode.papers.study import Claim, Data, Size, claim, named


def run(size: Size) -> Data:
    """Computes the rate, and how far it is from the exact motion."""
    motion = leapfrog_run(size)
    return Data(
        time=named("time", motion.t, "time", "s"),
        omega3=named("time", motion.omega[:, 2], "angular velocity about axis 3", "deg/s"),
        error=named("time", motion.omega[:, 2] - exactly(motion.t)[:, 2], "its error", "deg/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the curve is the motion."""
    error, height = largest(data["error"]), float(data["omega3"].max() - data["omega3"].min())
    return [
        claim(
            "For 600 s the leapfrog scheme follows omega_3",
            source="fig. 2",
            paper="drawn as the solution",
            measured=f"largest error {error:.1e} deg/s, of a variation by {height:.1e} deg/s",
            holds=error < 1e-3 * height,
            test="the error against the exact motion is below 1e-3 of the small variation that the figure shows",
        )
    ]


def plot(data: Data) -> Figure:
    """Draws the rate over time, on an axis that shows its variation."""
    figure, axes = panels(width=6.5)
    ax = axes[0, 0]
    ax.plot(data["time"], data["omega3"], **style(0, marked=False))
    ax.ticklabel_format(useOffset=False)
    labelled(ax, "time (s)", r"$\omega_3$ (deg/s)")
    return figure
