"""Energy errors by elliptic functions: Algorithm 3.1 drifts, Algorithm 4.1 walks

The change of the energy in a million steps of 0.01, left by Algorithm 3.1 (Jacobi31), right by Algorithm 4.1
(Jacobi41), from 200 starts of norm 1 around (0.5, 0.2, sqrt(0.71)); grey the trajectories, bold their mean and their
standard deviation. The moments are those of the water molecule, 0.345, 0.653, 1. The paper does not tell how close the
starts are (here: normal deviations of 0.01 in each component, then scaled to norm 1), and speaks of 200 initial values
and of 1000 trajectories in the same caption (here: 200). Energies are evaluated beyond double precision. Trajectories
that are off by more than 6 deviations, estimated from the median, are not counted in the bold curves, and leave the
frame; `settling` tells where they come from.
"""

import numpy as np

from polhode.papers._figure import Figure, panels
from polhode.papers._measure import slope
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.papers.vilmart2008 import _common as common
from polhode.papers.vilmart2008._constants import predicted_drift

WHERE = "section 3.1 and figure 1"
LATE = common.LONG_RUNS
LINES = {"standard": "Jacobi31", "improved": "Jacobi41"}


def run(size: Size) -> Data:
    """Computes all trajectories by both algorithms."""
    _, steps, rows = common.scale(size)
    paper_start = np.array(common.START)
    return Data(
        t=named("time", np.linspace(0.0, steps * common.H, rows + 1), "time", "s"),
        **{
            name: named(
                "trajectory time", common.trajectories(method, size)[:, :, 0], f"energy change by {method}", "eps J"
            )
            for name, method in LINES.items()
        },
        predicted=named(
            "way",
            [predicted_drift(common.WATER, paper_start), predicted_drift(common.WATER, paper_start, roots_first=True)],
            "drift a step from the rounding of the constants, for sqrt(a / b) and for sqrt(a) / sqrt(b)",
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
    ways = data["predicted"]
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
            measured=f"{drift * common.EPS:.2e} = {drift:.3f} eps a step",
            holds=0.8 < drift / 0.056 < 1.25,
            test="within a quarter of the paper's",
            reading="the size, within a factor of 3, not the sign. Both are set by how the constants happen to be"
            f" rounded: the rounding of b0 to b3 alone would give {ways[0]:+.3f} eps a step for sqrt(a / b) and"
            f" {ways[1]:+.3f} eps for sqrt(a) / sqrt(b), and the paper does not tell how it computes them",
            holds_when_read_so=1 / 3 < abs(drift) / 0.056 < 3,
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
            test="0.11 to its last digit, within 3 standard errors of a deviation from 200 starts",
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
    """Draws the two algorithms to the left and to the right, as in the paper."""
    figure, axes = panels(1, 2, width=11.5, height=4.4)
    left, right = axes[0]
    t, label = data["t"], "$H(t) - H(0)$"
    common.bundle(
        left, t, data["standard"], 1e-12, rf"{label}   ($10^{{-12}}$ J)", "Algorithm 3.1 (Jacobi31)", "lower left"
    )
    common.bundle(right, t, data["improved"], 1e-14, rf"{label}   ($10^{{-14}}$ J)", "Algorithm 4.1 (Jacobi41)")
    return figure
