"""Other bodies and other starts

200 random bodies, one start each: greatest moment 1, the others apart from it and from each other by 0.05 or more;
momenta of norm 1 in random directions; 250 000 steps of 0.01. Left: root mean square over the bodies of the relative
energy error against the number of steps, with dotted guides for sqrt(N) and N. (Compensated, all but the last point are
states rounded to doubles.) Right: the drift of Algorithm 3.1 for each body against the one that follows from the
rounding of its constants. The paper says that it tried many and that results were similar.
"""

import numpy as np

from polhode.body import Body
from polhode.papers._figure import COLOURS, Figure, labelled, panels, style
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.papers.vilmart2008._common import EPS, LONG_RUNS, errors, growth, walk
from polhode.papers.vilmart2008._constants import predicted_drift

LATE = LONG_RUNS
METHODS = {
    "Algorithm 3.1": "Jacobi31",
    "Algorithm 4.1": "Jacobi41",
    "DMV10": "PDMV10",
    "DMV10, compensated": "PDMV10(compensated=true)",
}
COUNT, STEPS, ROWS = 200, 250_000, 50
APART = 0.05
WHERE, SIMILAR = "section 3.1", "similar to figures 1 and 2"


def bodies(count: int, seed: int = 3) -> tuple[list[Body], Floats]:
    """Random bodies of greatest moment 1, and momenta of norm 1."""
    random = np.random.default_rng(seed)
    out: list[Body] = []
    while len(out) < count:
        a, b = np.sort(random.uniform(0.0, 1.0 - APART, size=2))
        if a + b > 1.0 and b - a > APART:
            out.append(Body((a, b, 1.0)))
    m = random.normal(size=(count, 3))
    return out, np.asarray(m / np.linalg.norm(m, axis=1)[:, None])


def run(size: Size) -> Data:
    """Computes relative energy errors by each method."""
    count, steps, rows = (4, 60, 10) if size.quick else (COUNT, STEPS, ROWS)
    which, momenta = bodies(count)
    moments = np.array([b.moments for b in which])
    energy = (momenta**2 / moments).sum(axis=1) / 2
    found = [errors(method, momenta, steps, rows, body=which)[:, :, 0] / energy[:, None] for method in METHODS.values()]
    predicted = [predicted_drift(b, m) for b, m in zip(which, momenta, strict=True)]
    return Data(
        method=named("method", list(METHODS), "method"),
        n=named("time", np.arange(rows + 1) * (steps // rows), "number of steps"),
        moments=named("body component", moments, "moments of inertia", "kg m2"),
        momentum=named("body component", momenta, "momentum at the start", "kg m2 s-1"),
        error=named("method body time", found, "relative change of the energy", "eps"),
        predicted=named("body", predicted / energy, "relative drift a step from the rounding of constants", "eps"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether errors grow as they do for the water molecule."""
    steps = int(data["n"][-1])
    found = dict(zip(METHODS, data["error"], strict=True))
    drift = found["Algorithm 3.1"][:, -1] / steps
    beyond = 3 * np.sqrt((found["Algorithm 4.1"][:, -1] ** 2).mean())
    drifting = float((np.abs(found["Algorithm 3.1"][:, -1]) > beyond).mean())
    low, middle, high = np.percentile(np.abs(drift), [25, 50, 75])
    together = float(np.corrcoef(drift, data["predicted"])[0, 1])
    powers = {name: growth(x) for name, x in found.items()}
    walks = {name: walk(x[:, -1], steps) for name, x in found.items()}
    centred = {name: abs(float(w.scores)) < 3 for name, w in walks.items()}
    said = {
        name: f"growth like t^{powers[name]:.2f}, deviation {float(w.deviation):.2g} eps sqrt(N), mean"
        f" {float(w.scores):+.1f} standard errors from zero"
        for name, w in walks.items()
    }
    gain = float(walks["DMV10"].deviation / walks["DMV10, compensated"].deviation)
    return [
        claim(
            "Other bodies and starts: Algorithm 3.1 drifts",
            paper=SIMILAR,
            measured=f"growth like t^{powers['Algorithm 3.1']:.2f}; more than a walk for {drifting:.0%} of {len(drift)}"
            f" bodies; quartiles of the drift {low:.3f}, {middle:.3f}, {high:.3f} eps of the energy a step, upwards in"
            f" {(drift > 0).mean():.0%}; correlation with the drift by rounded constants {together:.3f}",
            holds=drifting > 0.8 and 0.9 < powers["Algorithm 3.1"] < 1.1 and together > 0.9,
            test="four in five bodies are off by more than 3 deviations of the walk by Algorithm 4.1, the root mean"
            " square grows like t within a tenth, and rounded constants account for the drifts (correlation above 0.9)",
        ),
        claim(
            "Other bodies and starts: Algorithm 4.1 walks",
            paper=SIMILAR,
            measured=said["Algorithm 4.1"],
            holds=0.35 < powers["Algorithm 4.1"] < 0.6 and centred["Algorithm 4.1"],
            test="power of time between 0.35 and 0.6: drifts of some bodies would raise it, invariants that settle"
            " lower it; mean within 3 standard errors of zero",
        ),
        claim(
            "Other bodies and starts: the preprocessed map walks, and compensated summation shortens its steps",
            paper=SIMILAR,
            measured=f"{said['DMV10']}; compensated {gain:.0f} times less",
            holds=0.4 < powers["DMV10"] < 0.6 and centred["DMV10"] and 100 / 3 < gain < 300,
            test="power of time within 0.1 of 1/2, mean within 3 standard errors of zero, and a gain of 1/h = 100"
            " within a factor of 3",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws growth, and drifts."""
    figure, axes = panels(1, 2, width=12.0, height=4.6)
    left, right = axes[0]
    n = data["n"][1:]
    for k, (name, x) in enumerate(zip(map(str, data["method"]), data["error"], strict=True)):
        left.loglog(n, np.sqrt((x[:, 1:] ** 2).mean(axis=0)) * EPS, label=name, **style(k, marked=False))
    for power, level in ((0.5, 3e-16), (1.0, 1e-14)):
        left.loglog(n, level * (n / n[0]) ** power, color="0.6", linewidth=0.9, linestyle=":", zorder=0)
    labelled(left, "number of steps", "relative energy error, root mean square")
    drift = data["error"][0][:, -1] / float(n[-1])
    reach = 1.1 * max(np.abs(drift).max(), np.abs(data["predicted"]).max())
    right.plot([-reach, reach], [-reach, reach], color="0.6", linewidth=0.9, linestyle=":")
    right.plot(data["predicted"], drift, "o", color=COLOURS[0], markersize=3.5, alpha=0.8)
    labelled(right, "from rounded constants (eps a step)", "measured drift (eps a step)", "Algorithm 3.1", legend=False)
    return figure
