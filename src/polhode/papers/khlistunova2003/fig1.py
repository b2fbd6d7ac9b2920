"""omega_1 and omega_2 by the leapfrog scheme

Angular velocity about the first two principal axes against time: LS with h = 0.1 s for 600 s. Moments of
inertia 40.5, 40.6, 50.0 kg m^2; at the start 1, 0 and 10 deg/s.
"""

import numpy as np

from polhode import simulate
from polhode.free.free_motion import FreeMotion
from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers.khlistunova2003._common import BODY, MINUTE, OMEGA, STEP, exactly, largest, leapfrog_run
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.solution import Solution


def run(size: Size) -> Data:
    """Computes the two rates, and how far they are from the exact motion."""
    motion = leapfrog_run(size)
    return Data(
        time=named("time", motion.t, "time", "s"),
        omega=named("time axis", motion.omega[:, :2], "angular velocity about axes 1 and 2", "deg/s"),
        error=named("time axis", motion.omega[:, :2] - exactly(motion.t)[:, :2], "error of both", "deg/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the curves are the motion."""
    error, height = largest(data["error"]), largest(data["omega"])
    turns = np.unwrap(np.arctan2(data["omega"][:, 1], data["omega"][:, 0]))
    return [
        claim(
            "For 600 s the leapfrog scheme follows omega_1 and omega_2",
            source="fig. 1",
            paper="drawn as the solution",
            measured=f"largest error {error:.1e} deg/s of {height:.2f} deg/s, after {abs(turns[-1]) / 2 / np.pi:.2f} "
            "turns about axis 3",
            holds=error < 1e-5 * height,
            test="the error against the exact motion is below 1e-5 of the amplitude: nothing that could be seen",
        )
    ]


def motions(size: Size) -> dict[str, Solution | FreeMotion]:
    """The exact motion and the leapfrog scheme."""
    t_end = 10.0 if size.quick else 2 * MINUTE
    leapfrog = simulate(BODY, omega=OMEGA, t_span=(0.0, t_end), step=STEP, method="LS")
    return {"exact": FreeMotion(BODY, OMEGA), "leapfrog": leapfrog}


def plot(data: Data) -> Figure:
    """Draws both rates over time."""
    figure, axes = panels(width=6.5)
    ax = axes[0, 0]
    for k in range(2):
        ax.plot(data["time"], data["omega"][:, k], label=rf"$\omega_{k + 1}$", **style(k, marked=False))
    labelled(ax, "time (s)", "angular velocity (deg/s)", legend=False)
    ax.set_ylim(-1.2, 1.5)
    ax.legend(ncols=2, loc="upper right", fontsize=9)
    return figure
