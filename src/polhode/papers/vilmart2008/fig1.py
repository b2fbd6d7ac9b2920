"""Energy errors by elliptic functions: Algorithm 3.1 drifts, Algorithm 4.1 walks

The change of the energy in a million steps of 0.01 by Algorithm 3.1 (Jacobi31), by the same formulas in rates (JE), and
by Algorithm 4.1 (Jacobi41), from 1,000 starts of norm 1 around (0.5, 0.2, sqrt(0.71)), of which 200 are drawn: the two
numbers of the paper's caption. Grey the trajectories, bold mean and standard deviation of all. The moments are those of
the water molecule, 0.345, 0.653, 1. The paper does not tell how close the starts are (here: normal deviations of 0.01
in each component, then scaled to norm 1). Energies are evaluated beyond double precision. Trajectories that are off by
more than 6 deviations, estimated from the median, are not counted in the bold curves, and leave the frame; `settling`
tells where they come from. Bottom right: the drift of Algorithm 3.1 by other orders of operations (40 starts, 200 000
steps), which the paper does not tell, with the size that it prints as dotted lines.
"""

import numpy as np

from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers._measure import slope
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.papers.vilmart2008 import _common as common
from polhode.papers.vilmart2008._arrangements import ARRANGEMENTS, drifts

WHERE = "section 3.1 and figure 1"
LATE = common.LONG_RUNS
LINES = {"standard": "Jacobi31", "rates": "JE", "improved": "Jacobi41"}
PRINTED = 0.056
FEW, SHORT = 40, 200_000
"""Starts and steps for each order of operations."""


def run(size: Size) -> Data:
    """Computes all trajectories by both algorithms."""
    _, steps, rows = common.scale(size)
    few, short = (3, 40) if size.quick else (FEW, SHORT)
    found = np.array([drifts(route, common.starts(few), short) for route in ARRANGEMENTS.values()])
    return Data(
        t=named("time", np.linspace(0.0, steps * common.H, rows + 1), "time", "s"),
        **{
            name: named(
                "trajectory time", common.trajectories(method, size)[:, :, 0], f"energy change by {method}", "eps J"
            )
            for name, method in LINES.items()
        },
        order=named("order", list(ARRANGEMENTS), "orders of operations"),
        drift=named(
            "order statistic",
            np.stack([found.mean(axis=1), found.std(axis=1)], axis=1),
            "mean change of the energy a step over the starts, its deviation",
            "eps J",
        ),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges which algorithm drifts and which walks."""
    steps = round(float(data["t"][-1]) / common.H)
    standard, improved = data["standard"], data["improved"]
    mean = standard.mean(axis=0)
    drift = float(mean[-1] / steps)
    rows = mean.size - 1
    k = np.arange(rows // 10, rows + 1)
    power = slope(k, np.abs(mean[k]))
    alike = float(standard[:, -1].std() / abs(mean[-1]))
    about_lines = standard[:, rows // 2] - standard[:, -1] / 2
    statistical = float(
        about_lines.std() / np.sqrt(steps / 4)
    )  # a walk that is tied at both ends has half its deviation
    share = statistical * np.sqrt(steps) / abs(mean[-1])
    alien = common.outlying(improved[:, -1])
    every, most = common.walk(improved[:, -1], steps), common.walk(improved[~alien, -1], steps)
    powers = common.growth(improved), common.growth(improved[~alien])
    sigma = float(every.deviation), float(most.deviation)
    error = 1 / np.sqrt(2 * len(improved))
    without = f"without {alien.sum()} of {len(alien)} trajectories that are off by more than 6 deviations"
    rms = [float(np.sqrt((x[:, -1] ** 2).mean())) * common.EPS for x in (standard, improved)]
    of_rates = data["rates"][:, -1] / steps
    in_rates, varies = float(of_rates.mean()), float(of_rates.std())
    means = data["drift"][:, 0]
    return [
        claim(
            "Algorithm 3.1: the energy error grows linearly with time",
            paper="linear",
            measured=f"the mean grows like t^{power:.3f}; drifts of the starts differ by {alike:.2f} of their mean",
            holds=0.95 < power < 1.05 and alike < 0.5,
            test="power of time within 0.05 of 1, and all starts drift alike",
        ),
        claim(
            "Algorithm 3.1: an energy error of 1.25e-17 a step, 0.056 eps",
            paper="1.25e-17 = 0.056 eps a step",
            measured=f"{drift * common.EPS:.2e} = {drift:.3f} eps a step as printed; {in_rates * common.EPS:.2e} ="
            f" {in_rates:.3f} ± {varies:.3f} eps in rates (JE); {means.min():+.3f} to {means.max():+.3f} by"
            f" {means.size} orders of operations",
            holds=0.8 < drift / PRINTED < 1.25,
            test="within a quarter of the paper's, sign included",
            reading="if the same formulas are computed in rates, by (12) to (17) of celledoni2006: then within a"
            " quarter of the paper's. Size and sign are set by how constants and products happen to be rounded, and"
            " the paper does not tell its order of operations",
            holds_when_read_so=0.8 < in_rates / PRINTED < 1.25,
        ),
        claim(
            "Algorithm 3.1: a small statistical error on top of a deterministic one",
            paper="superposition",
            measured=f"about its own straight line a trajectory walks with {statistical:.2f} eps sqrt(N), {share:.1%}"
            " of the mean error at the end",
            holds=share < 0.1,
            test="what is left about straight lines is less than a tenth of the drift after a million steps",
        ),
        claim(
            "Algorithm 4.1: errors grow as a random walk does, without a drift",
            source="section 3.2 and figure 1, right",
            paper="sqrt(N), mean zero",
            measured=f"growth like t^{powers[0]:.2f}, mean {float(every.scores):+.1f} standard errors from zero;"
            f" {without}: t^{powers[1]:.2f}, {float(most.scores):+.1f}",
            holds=0.4 < powers[0] < 0.6 and abs(float(every.scores)) < 3,
            test="power of time within 0.1 of 1/2, mean within 3 standard errors of zero",
            reading="but for at most one trajectory in fifty: some drift for a while, until their roundings balance",
            holds_when_read_so=alien.mean() <= 0.02 and 0.4 < powers[1] < 0.6 and abs(float(most.scores)) < 3,
        ),
        claim(
            "Algorithm 4.1: the deviation after N steps is 0.11 eps sqrt(N)",
            source="section 3.2",
            paper="0.11",
            measured=f"{sigma[0]:.3f}; {without}: {sigma[1]:.3f} (± {sigma[1] * error:.3f})",
            holds=abs(sigma[0] - 0.11) < 0.005 + 3 * error * sigma[0],
            test="0.11 to its last digit, within 3 standard errors of a deviation from so many starts",
            reading="the size, within a factor of 1.5 without such trajectories: it depends on how close to (4) the"
            " starts are, and on the order of the operations in Algorithm 4.1, which the paper does not tell",
            holds_when_read_so=1 / 1.5 < sigma[1] / 0.11 < 1.5,
        ),
        claim(
            "Algorithm 4.1 reduces round-off",
            source="figure 1",
            paper="left against right picture",
            measured=f"root mean square error at the end {rms[0]:.1e} against {rms[1]:.1e}",
            holds=rms[0] > 100 * rms[1],
            test="by a factor of more than 100 after a million steps",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws the algorithms, and below to the right the drifts by order of operations."""
    figure, axes = panels(2, 2, width=11.5, height=8.6)
    t, label = data["t"], "$H(t) - H(0)$"
    (standard, improved), (rates, orders) = axes
    in_picojoule = rf"{label}   ($10^{{-12}}$ J)"
    common.bundle(standard, t, data["standard"], 1e-12, in_picojoule, "Algorithm 3.1 (Jacobi31)", "lower left")
    common.bundle(improved, t, data["improved"], 1e-14, rf"{label}   ($10^{{-14}}$ J)", "Algorithm 4.1 (Jacobi41)")
    common.bundle(rates, t, data["rates"], 1e-12, in_picojoule, "the same as 3.1 in rates (JE)")
    mean, deviation = data["drift"].T
    places = np.arange(mean.size)[::-1]
    orders.errorbar(mean, places, xerr=deviation, fmt="o", color=COLOURS[1], capsize=3)
    for x in (-PRINTED, 0.0, PRINTED):
        orders.axvline(x, color="0.5", linewidth=0.8, linestyle=":" if x else "-")
    orders.set_yticks(places, [str(name) for name in data["order"]], fontsize=8)
    labelled(orders, "energy change a step (eps J)", "order of operations", legend=False)
    return figure
