"""Free body: rates by Newmark's method with steps of up to a turn

The components of the angular velocity in the body by NMB with the steps 5, 4, 2 and 1/8, for 100 s (the paper does
not tell how long), one below the other. Compared with them at the step 5 are the methods of the report that the
paper refers to: the implicit midpoint rule (IMR), Lie-Poisson splitting (LP2, here MR2) and discrete Moser-Veselov of
the orders 2, 4 and 6. True motion circulates about the first axis: that rate keeps its sign, the others change it
twice a period. Periods are means over a longer run.
"""

from typing import NamedTuple

import numpy as np

from polhode import FreeMotion, SimulationFailed
from polhode.papers._figure import Figure, labelled, panels
from polhode.papers._measure import integrate
from polhode.papers.krysl2004._common import FREE, LABELS, draw_over_time, legend_beside, over_time
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

STEPS = (5.0, 4.0, 2.0, 0.125)
LONG = 4000.0
METHODS = ("NMB", "IMR", "MR2", "DMV2", "DMV4", "DMV6")
LARGEST = 5.0
WHERE = "figure 3 and section 3.1"


class MotionCharacter(NamedTuple):
    """Holds the character of a motion: its mean period, the least rate about the first axis, the largest rates."""

    period: float
    least: float
    largest: Floats

    def alike(self, true: "MotionCharacter", within: float) -> bool:
        """Tells whether it circulates as it should, with period and largest rates within this part of the true ones."""
        off = max(abs(self.period / true.period - 1), float(np.abs(self.largest / true.largest - 1).max()))
        return self.least > 0 and off < within


LOST = MotionCharacter(np.nan, np.nan, np.full(3, np.nan))


def run(size: Size) -> Data:
    """Computes the rates, and what becomes of the methods at the largest step."""
    t_end = LONG / 20 if size.quick else LONG
    found = [_true(), *(_character(m, t_end) for m in METHODS)]
    limits = [np.nan, *(_longest_step(m, 0.2 if size.quick else 0.01) if "DMV" in m else np.nan for m in METHODS)]
    return Data(
        step=named("step", STEPS, "step of NMB", "s"),
        method=named("method", ["exact", *METHODS], f"method, with the step {LARGEST:g}"),
        period=named("method", [c.period for c in found], "period of the rates; NaN if there is none", "s"),
        least=named("method", [c.least for c in found], "least rate about the first axis", "rad s-1"),
        largest=named("method component", [c.largest for c in found], "largest rates", "rad s-1"),
        limit=named("method", limits, "longest step that discrete Moser-Veselov can make", "s"),
        **over_time(STEPS, lambda solution: solution.omega, "angular velocity", "rad s-1"),
    )


def _true() -> MotionCharacter:
    exact = FreeMotion(FREE.body, FREE.omega_start)
    w = np.asarray(exact.at(np.linspace(0.0, float(exact.period), 4001)).omega)
    return MotionCharacter(float(exact.period), float(w[:, 0].min()), np.abs(w).max(axis=0))


def _character(method: str, t_end: float) -> MotionCharacter:
    try:
        r = integrate(FREE, method, t_end, LARGEST)
    except SimulationFailed:
        return LOST
    w = r.omega
    return MotionCharacter(_period(r.t, w[:, 1]), float(w[:, 0].min()), np.abs(w).max(axis=0))


def _period(t: Floats, x: Floats) -> float:
    """The mean time between passages through zero, upward, by straight lines between the points."""
    k = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    crossing = t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])
    return float(np.diff(crossing).mean()) if len(crossing) > 1 else np.nan


def _longest_step(method: str, within: float) -> float:
    """The longest step with which a method runs for a period, by bisection."""
    low, high = 0.5, LARGEST
    while high - low > within:
        h = (low + high) / 2
        try:
            integrate(FREE, method, 35.0, h, t_eval=[35.0])
        except SimulationFailed:
            high = h
        else:
            low = h
    return low


def check(data: Data, size: Size) -> list[Claim]:
    """Judges which methods keep the character of the motion."""
    found = {
        str(m): MotionCharacter(float(p), float(least), largest)
        for m, p, least, largest in zip(data["method"], data["period"], data["least"], data["largest"], strict=True)
    }
    true, newmark, midpoint, splitting = (found[m] for m in ("exact", "NMB", "IMR", "MR2"))
    late = {m: c.period / true.period - 1 for m, c in found.items()}
    lower = {m: float(np.abs(c.largest / true.largest - 1).max()) for m, c in found.items()}
    limit = dict(zip(map(str, data["method"]), data["limit"], strict=True))
    veselov = [m for m in METHODS if "DMV" in m]
    return [
        claim(
            "Newmark's method keeps the character of the motion even with large steps",
            paper="very well preserved",
            measured=f"step {LARGEST:g}: rate about the first axis above {newmark.least:.2f}; period "
            f"{newmark.period:.2f}, truly {true.period:.2f}; largest rates off by {lower['NMB']:.1%} at most",
            holds=newmark.alike(true, 0.15),
            test="it circulates about the first axis, with period and largest rates within 15 % of the true ones",
        ),
        claim(
            "With the step 5 it is on a par with the implicit midpoint rule",
            paper="on a par",
            measured=f"period off by {late['NMB']:.1%} against {late['IMR']:.1%}, largest rates by {lower['NMB']:.1%} "
            f"against {lower['IMR']:.1%}",
            holds=abs(late["NMB"]) < 1.5 * abs(late["IMR"]) and lower["NMB"] < 1.5 * lower["IMR"],
            test="its errors of period and largest rates are at most half as large again",
            reading="on a par in character only: both circulate as they should, with period and largest rates within "
            "15 %, but the midpoint rule keeps energy and momentum and has the better period",
            holds_when_read_so=newmark.alike(true, 0.15) and midpoint.alike(true, 0.15),
        ),
        claim(
            "Of the report's methods the midpoint rule alone captures the character with this step",
            paper="the only one",
            measured=f"least rate about the first axis: IMR {midpoint.least:.2f}, LP2 {splitting.least:.2f}; "
            f"{', '.join(LABELS.get(m, m) for m in veselov)} fail",
            holds=midpoint.alike(true, 0.15)
            and splitting.least < 0
            and all(np.isnan(found[m].period) for m in veselov),
            test="IMR circulates as it should, LP2 tumbles over, discrete Moser-Veselov gives no motion",
        ),
        claim(
            "All discrete Moser-Veselov methods fail with this step",
            paper="all fail",
            measured="longest steps that they can make: "
            + ", ".join(f"{LABELS.get(m, m)} {limit[m]:.2f}" for m in veselov),
            holds=max(limit[m] for m in veselov) < LARGEST - 1,
            test="the step 5 is too long: at order 2 their equation has no solution from about a radian on; at "
            "the higher orders the step would be corrected by more than half of itself, far outside its series",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws a panel for each component."""
    figure, axes = panels(3, 1, width=8.4, height=7.6, sharex=True)
    for i, ax in enumerate(axes[:, 0]):
        draw_over_time(ax, data, STEPS, i)
        labelled(ax, "time (s)" if i == 2 else "", rf"$\Omega_{i + 1}$ (rad/s)", legend=False)
    legend_beside(axes[0, 0])
    figure.align_ylabels(axes[:, 0])
    return figure
