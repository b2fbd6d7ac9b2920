"""The drift of Algorithm 3.1: rounded constants, and the choice of starts

Left: the change of the energy per step, over 200 000 steps of 0.01, of the water molecule from 100 starts scattered
widely (0.1 in each component) around (4), against the place of the motion between the separatrix (0) and the steady
rotations: by Algorithm 3.1, by the same with its constants beyond double precision (Jacobi31x), and the drift that
follows from the rounding of b0 to b3 alone. Circles: the mean of single steps of Algorithm 3.1 from 10 000 states of
such a motion with random phases and random last digits. A dotted line marks the paper's start. Right: mean drift of
Algorithm 3.1 with its deviation from start to start, and the random walk of Algorithm 4.1, for starts scattered by
different amounts, which the paper does not tell (100 starts, 50 000 steps). The paper has no such pictures.
"""

import numpy as np

from polhode.free.free_motion import FreeMotion
from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.papers.vilmart2008._common import LONG_RUNS, START, WATER, errors, starts, walk
from polhode.papers.vilmart2008._constants import predicted_drift

WHERE = "section 3.1"
LATE = LONG_RUNS
MOMENTS = np.array(WATER.moments)
WIDE, SPREADS = 0.1, (0.001, 0.01, 0.03, 0.1)
COUNT, STEPS, SHORT = 100, 200_000, 50_000
MOTIONS, STATES = 30, 10_000
LAST_DIGITS = 1e-13


def place(momenta: Floats) -> Floats:
    """2 H I2 / |m|^2 - 1: negative around the axis of the greatest moment, positive around the least."""
    squares = momenta**2
    return np.asarray((squares / MOMENTS).sum(axis=1) * MOMENTS[1] / squares.sum(axis=1) - 1.0)


def single_steps(momentum: Floats, count: int) -> tuple[float, float]:
    """The mean energy change in one step of Algorithm 3.1 over states of a motion, and its standard error."""
    free, random = FreeMotion(WATER, omega=momentum / MOMENTS), np.random.default_rng(31)
    states = np.asarray(free.at(random.uniform(0.0, free.period, count)).momentum)
    found = errors("Jacobi31", states * (1.0 + LAST_DIGITS * random.normal(size=states.shape)), 1)[:, -1, 0]
    return float(found.mean()), float(found.std() / np.sqrt(count))


def run(size: Size) -> Data:
    """Computes the drift of each start, and the means for each spread."""
    count, steps, short, motions, states = (4, 60, 60, 2, 50) if size.quick else (COUNT, STEPS, SHORT, MOTIONS, STATES)
    wide = starts(count, WIDE)
    near = [starts(count, spread) for spread in SPREADS]
    drifts = np.array([errors("Jacobi31", m, short)[:, -1, 0] / short for m in near])
    single = [single_steps(m, states) for m in wide[:motions]]
    walks = [walk(errors("Jacobi41", m, short)[:, -1], short).deviation[0] for m in near]
    return Data(
        steps=named("one", [steps], "steps"),
        place=named("start", place(wide), "2 H I2 / |m|^2 - 1"),
        drift=named(
            "start", errors("Jacobi31", wide, steps)[:, -1, 0] / steps, "energy change a step, Jacobi31", "eps J"
        ),
        extended=named("start", errors("Jacobi31x", wide, steps)[:, -1, 0] / steps, "the same by Jacobi31x", "eps J"),
        predicted=named(
            "start", [predicted_drift(WATER, m) for m in wide], "from the rounding of the constants", "eps J"
        ),
        single=named("motion statistic", single, "mean energy change in single steps, its standard error", "eps J"),
        spread=named("spread", SPREADS, "standard deviation of the starts", "kg m2 s-1"),
        mean=named("spread", drifts.mean(axis=1), "mean drift a step, Jacobi31", "eps J"),
        deviation=named("spread", drifts.std(axis=1), "its deviation from start to start", "eps J"),
        walk=named("spread", walks, "deviation of the energy by Jacobi41", "eps sqrt(N) J"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the cause of the drift, and its cure by higher precision."""
    steps = int(data["steps"][0])
    drift, predicted, extended = data["drift"], data["predicted"], data["extended"]
    single, error = data["single"].T
    expected = predicted[: len(single)]
    off = float(np.sqrt((((single - expected) / error) ** 2).mean()))
    together = float(np.corrcoef(single, expected)[0, 1])
    of_runs = float(np.corrcoef(drift, predicted)[0, 1])
    signs = float((np.sign(drift) == np.sign(predicted)).mean())
    pace = float((drift * predicted).sum() / (predicted**2).sum())
    found = walk(extended * steps, steps)
    smaller = float(np.sqrt((drift**2).mean() / (extended**2).mean()))
    spread, mean, deviation = data["spread"], data["mean"], data["deviation"]
    alike = deviation < 0.5 * np.abs(mean)
    return [
        claim(
            "The same rounded constants in every step make the drift",
            paper="b0, b1, b2, b3",
            measured=f"single steps change the energy as rounded b0 to b3 do: correlation {together:.3f}, differences"
            f" of {off:.1f} standard errors. Runs do so less clearly: correlation {of_runs:.2f}, the same direction"
            f" from {signs:.0%} of {len(drift)} starts, {pace:.2f} of the pace",
            holds=together > 0.95 and off < 2 and signs > 0.8,
            test="correlation above 0.95, differences within 2 standard errors in the root mean square, and the same"
            " sign for four in five starts. Runs are slower because they linger at states where other roundings,"
            " which also repeat as long as energy and momentum are the same doubles, balance those of the constants",
        ),
        claim(
            "Constants and products with them in quadruple precision are a cure",
            paper="the author's first idea; no result is given",
            measured=f"with two-doubles: deviation {float(found.deviation):.2f} eps sqrt(N), mean"
            f" {float(found.scores):+.1f} standard errors from zero; {smaller:.0f} times less than Algorithm 3.1",
            holds=abs(float(found.scores)) < 3 and smaller > 10,
            test="mean within 3 standard errors of zero, and ten times less after so many steps",
        ),
        claim(
            "Starts close to (4) drift alike",
            source="figure 1, left",
            paper="one drift for all",
            measured="eps a step: "
            + ", ".join(f"{m:.3f} ± {d:.3f} (spread {s:g})" for s, m, d in zip(spread, mean, deviation, strict=True)),
            holds=bool(alike.all()),
            test="deviation below half of the mean, for every spread",
            reading="for starts that are scattered by 0.01 or less; a wider spread reaches across the separatrix, where"
            " the drift has the other sign",
            holds_when_read_so=bool(alike[spread <= 0.01].all()),
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws drift against the motion, and against the spread."""
    figure, axes = panels(1, 2, width=12.0, height=4.4)
    left, right = axes[0]
    order = np.argsort(data["place"])
    x = data["place"][order]
    for side in (x < 0, x > 0):
        left.plot(x[side], data["predicted"][order][side], color=COLOURS[4], linewidth=1.2)
    left.plot([], [], color=COLOURS[4], linewidth=1.2, label="from rounded constants")
    single, error = data["single"].T
    left.errorbar(
        data["place"][: len(single)], single, yerr=error, fmt="o", markerfacecolor="white", color=COLOURS[4],
        markersize=4, linewidth=0.8, label="Algorithm 3.1, single steps",
    )  # fmt: skip
    left.plot(x, data["drift"][order], "o", color=COLOURS[1], markersize=4, label="Algorithm 3.1, runs")
    left.plot(x, data["extended"][order], "^", color=COLOURS[0], markersize=4, label="constants in two-doubles, runs")
    left.axvline(float(place(np.array([START]))[0]), color="0.5", linestyle=":", linewidth=1.0)
    labelled(left, r"$2 H I_2 / |y|^2 - 1$", "energy change a step (eps J)")
    right.errorbar(
        data["spread"], data["mean"], yerr=data["deviation"], fmt="o-", color=COLOURS[1], capsize=3,
        label="Algorithm 3.1: drift (eps a step)",
    )  # fmt: skip
    right.plot(data["spread"], data["walk"], "s--", color=COLOURS[0], label=r"Algorithm 4.1: walk (eps $\sqrt{N}$)")
    right.axhline(0.0, color="0.5", linewidth=0.8)
    right.set_xscale("log")
    labelled(right, "spread of the starts (kg m²/s)", r"energy change (eps a step; eps $\sqrt{N}$)")
    return figure
