"""The hodograph of the error of Simpson's scheme

The error vector e = omega_RK - omega_SS of the body of figure 1 over 100 minutes with h = 0.1 s, SS
advancing 2h at once as it is printed. A point a second; the dot is the end.
"""

import numpy as np

from polhode.papers._figure import COLOURS, Figure, panels
from polhode.papers.khlistunova2003._common import LONG_RUNS, against_runge_kutta, each_second, largest
from polhode.papers.study import Claim, Data, Size, about, claim, named

LATE = LONG_RUNS


def run(size: Size) -> Data:
    """Computes the error of SS as a curve, and the largest errors of both schemes."""
    t, error = against_runge_kutta("SS", size)
    single, leapfrog = (against_runge_kutta(m, size)[1] for m in ("SSh", "LS"))
    sizes = [largest(e) for e in (leapfrog, error, single)]
    t, error = each_second(t, error)
    return Data(
        time=named("time", t, "time", "s"),
        error=named("time component", error, "omega_RK - omega_SS", "deg/s"),
        method=named("method", ["LS", "SS", "SSh"], "schemes: SS advances 2h at once, SSh h"),
        largest=named("method", sizes, "largest error of any component at any time", "deg/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether Simpson's scheme is the more accurate one."""
    leapfrog, double, single = data["largest"]
    return [
        claim(
            "Of the two schemes Simpson's has the smaller error at the same step: a band of 1e-7 instead of 1e-6",
            source="sec. 4, on figs. 4-6",
            paper="smaller by about 10",
            measured=f"SS smaller than LS by {leapfrog / double:.2f} if it advances 2h at once, "
            f"by {leapfrog / single:.2f} if h",
            holds=about(leapfrog / double, 10),
            test="10 is the power of ten next to the ratio of the largest errors, of the schemes as they are printed",
            reading=f"if SS advances h at once: then it is smaller by {leapfrog / single:.1f}. As it is printed it "
            f"advances 2h, and is smaller by {leapfrog / double:.1f} only",
            holds_when_read_so=about(leapfrog / single, 10),
        )
    ]


def plot(data: Data) -> Figure:
    """Draws a curve in space."""
    figure, axes = panels(width=6.0, height=5.0, subplot_kw={"projection": "3d"})
    ax = axes[0, 0]
    e = data["error"]
    power = int(np.floor(np.log10(np.abs(e[:, :2]).max())))
    third = int(np.floor(np.log10(np.abs(e[:, 2]).max())))
    x, y, z = e[:, 0] / 10.0**power, e[:, 1] / 10.0**power, e[:, 2] / 10.0**third
    ax.plot(x, y, z, color=COLOURS[0], linewidth=0.7)
    ax.plot(x[-1:], y[-1:], z[-1:], "o", color=COLOURS[1])
    for axis in "xyz":
        ax.locator_params(axis=axis, nbins=5)
    ax.set_xlabel(rf"$e_1$ ($10^{{{power}}}$ deg/s)")
    ax.set_ylabel(rf"$e_2$ ($10^{{{power}}}$ deg/s)")
    ax.set_zlabel(rf"$e_3$ ($10^{{{third}}}$ deg/s)", labelpad=10)
    ax.set_box_aspect((4, 4, 3), zoom=0.82)
    return figure
