"""The fixed-point iteration of figure 2, and when it ends

Left: deviations of the invariants after 200 000 steps of 0.01 from 100 starts as in figure 1, by the preprocessed
Moser-Veselov map of order 10, whose equation is solved by Newton's iteration or to a fixed point: until a change is
zero, longer than the one before, or as long. Right: the number of iterations to the fixed point in steps of different
length, from 3,000 states of the paper's motion. Iterates that alternate between doubles never meet the printed rule,
which asks for a longer change, and are not counted. The paper has no such pictures.
"""

import numpy as np

from polhode.free.free_motion import FreeMotion
from polhode.kernels.compared.moser_veselov import fixed_point
from polhode.kernels.status import OK
from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.papers.vilmart2008._common import LONG_RUNS, QUANTITIES, START, WATER, errors, starts, walk

WHERE = "section 5"
WAYS = {
    "Newton": "PDMV10",
    "fixed point": "PDMV10(iteration=fixed_point)",
    "Newton, compensated": "PDMV10(compensated=true)",
    "fixed point, compensated": "PDMV10(iteration=fixed_point, compensated=true)",
}
COUNT, STEPS, STATES = 100, 200_000, 3000
LENGTHS = (0.01, 0.1, 0.3, 0.6)


def run(size: Size) -> Data:
    """Computes the errors of both iterations, and how the fixed-point iteration ends."""
    count, steps, states = (4, 60, 100) if size.quick else (COUNT, STEPS, STATES)
    moments = np.array(WATER.moments)
    i = (float(moments[0]), float(moments[1]), float(moments[2]))
    free = FreeMotion(WATER, omega=np.array(START) / moments)
    momenta = np.asarray(free.at(free.period * np.arange(states) / states).momentum)
    ended = np.array(
        [[fixed_point(i, (float(x), float(y), float(z)), h, True)[1:] for x, y, z in momenta] for h in LENGTHS]
    )
    return Data(
        steps=named("one", [steps], "steps"),
        way=named("way", list(WAYS), "how the equation of a step is solved, and increments added"),
        quantity=named("quantity", QUANTITIES, "invariant"),
        end=named(
            "way trajectory quantity", [errors(m, starts(count), steps)[:, -1] for m in WAYS.values()], "changes", "eps"
        ),
        length=named("length", LENGTHS, "step", "s"),
        iterations=named("length state", ended[:, :, 0], "iterations by the printed rule"),
        unended=named("length state", ended[:, :, 1] != OK, "1 where the printed rule is never met"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the errors by the fixed-point iteration, and whether its rule ends it."""
    steps = int(data["steps"][0])
    found = dict(zip(WAYS, (walk(x, steps) for x in data["end"]), strict=True))
    never = data["unended"].mean(axis=1)
    worst = {way: float(np.abs(w.scores).max()) for way, w in found.items() if way.startswith("fixed")}
    ratios = [
        float(np.median(found[f"fixed point{more}"].deviation / np.maximum(found[f"Newton{more}"].deviation, 1e-300)))
        for more in ("", ", compensated")
    ]
    told = ", ".join(f"{100 * n:.2g} % (h = {h:g})" for h, n in zip(data["length"], never, strict=True))
    return [
        claim(
            "With the fixed-point iteration the map shows the correct behaviour",
            late=LONG_RUNS,
            paper="random walks, by figure 2",
            measured=f"deviations over those by Newton's iteration, median of the invariants: {ratios[0]:.2f} plain,"
            f" {ratios[1]:.2f} compensated; means within {max(worst.values()):.1f} standard errors of zero",
            holds=all(2 / 3 < r < 1.5 for r in ratios) and max(worst.values()) < 3.3,
            test="deviations within a factor of 1.5 of those by Newton's iteration, means within 3.3 standard errors",
        ),
        claim(
            "The iteration ends where a change is zero, or longer than the one before",
            paper="a stopping rule, used with h = 0.01",
            measured=f"it never ends in {told} of the steps, where iterates alternate for ever",
            holds=bool(never[0] == 0.0),
            test="every iteration ends with the paper's step. A rule that serves longer steps ends where a change is as"
            " long as the one before, too",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws deviations as bars, and numbers of iterations."""
    figure, axes = panels(1, 2, width=11.5)
    left, right = axes[0]
    steps, places = int(data["steps"][0]), np.arange(len(QUANTITIES))
    left.set_yscale("log")
    for k, (way, end) in enumerate(zip(data["way"], data["end"], strict=True)):
        left.bar(places + 0.2 * (k - 1.5), walk(end, steps).deviation, 0.18, color=COLOURS[k], label=str(way))
    left.set_ylim(top=3 * max(walk(end, steps).deviation.max() for end in data["end"]))
    left.set_xticks(places, ["$H$", "$C$", "$(Qy)_1$", "$(Qy)_2$", "$(Qy)_3$"])
    labelled(left, "", r"deviation / (eps $\sqrt{N}$)")
    for k, (h, n, never) in enumerate(zip(data["length"], data["iterations"], data["unended"], strict=True)):
        values, counts = np.unique(n[never == 0], return_counts=True)
        right.bar(values, 100 * counts / n.size, 0.8, color=COLOURS[k], label=f"h = {h:g}")
    labelled(right, "iterations", "steps (%)")
    return figure
