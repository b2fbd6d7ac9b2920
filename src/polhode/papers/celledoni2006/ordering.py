"""Six orders of the rotations of MR: energy errors in the paper's experiments

The largest energy error, relative to the energy, of MR2 with each order of the three rotations (the outermost first;
the paper prints 123), in the experiments of the paper: the free body of section 4.1 (step 0.4, to 400), the heavy top
of figures 4 and 5 (to 100), that of figure 6 with alpha = 10 in the rates (step 0.01, to 10), and the satellite of
figures 7 and 8 (to 400). Lines: SEJ, which has no such choice. The paper does not tell which orders it tried, nor
where. MR4 is judged as well, and not drawn.
"""

import numpy as np

from polhode.body import Body
from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers._measure import integrate, pose
from polhode.papers.celledoni2006._common import FREE, SATELLITE, TOP, WEIGHT, energy_change
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

ORDERS = ("123", "132", "213", "231", "312", "321")
FAST = pose(Body([1.0, 2.0, 3.0]), WEIGHT, (10.0, 20.0, 30.0))
EXPERIMENTS = {
    "free, h = 0.4": (FREE, 400.0, 0.4),
    "top, h = 0.01": (TOP, 100.0, 0.01),
    "top, h = 0.05": (TOP, 100.0, 0.05),
    "top of figure 6": (FAST, 10.0, 0.01),
    "satellite, h = 0.05": (SATELLITE, 400.0, 0.05),
    "satellite, h = 0.1": (SATELLITE, 400.0, 0.1),
}
WHERE = "end of section 4.3"
LATE = "needs the whole runs"
SIGNIFICANT = 10.0


def run(size: Size) -> Data:
    """Runs MR2 and MR4 with six orders of the rotations in each experiment, and SEJ."""
    methods = [*(f"{name}(axes={order})" for name in ("MR2", "MR4") for order in ORDERS), "SEJ"]
    errors = np.empty((len(EXPERIMENTS), len(methods)))
    for i, (problem, t_end, h) in enumerate(EXPERIMENTS.values()):
        for j, method in enumerate(methods):
            solution = integrate(problem, method, 20 * h if size.quick else t_end, h)
            errors[i, j] = np.abs(energy_change(solution)).max() / solution.energy[0]
    return Data(
        experiment=named("experiment", list(EXPERIMENTS), "experiment"),
        order=named("order", ORDERS, "order of the rotations, the outermost first"),
        energy_error=named("experiment order", errors[:, :6], "largest relative energy error of MR2"),
        energy_error4=named("experiment order", errors[:, 6:-1], "largest relative energy error of MR4"),
        sej=named("experiment", errors[:, -1], "largest relative energy error of SEJ"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges how much the order of the rotations matters."""
    e, names = data["energy_error"], [str(name) for name in data["experiment"]]
    spread, gain, lead = e.max(axis=1) / e.min(axis=1), e[:, 0] / e.min(axis=1), e[1:].min(axis=1) / data["sej"][1:]
    spread4 = data["energy_error4"].max(axis=1) / data["energy_error4"].min(axis=1)
    lost = int(np.argmin(lead))
    alike = [name for name, s in zip(names, spread, strict=True) if s < SIGNIFICANT]
    best = int(np.argmax(gain))
    return [
        claim(
            "In some of the experiments the order of the rotations makes no significant difference",
            paper="no significant difference, in experiments that are not named",
            measured=f"largest over smallest error of MR2: {_listed(names, spread)}; of MR4: {_listed(names, spread4)}",
            holds=bool(max(spread.max(), spread4.max()) < SIGNIFICANT),
            test=f"less than a factor of {SIGNIFICANT:g} in every experiment, with MR2 and MR4",
            reading=f"Holds with MR2 in some experiments: {'; '.join(alike)}. In the others the order decides over "
            "orders of magnitude",
            holds_when_read_so=0 < len(alike) < len(names) and bool(spread.max() > SIGNIFICANT),
        ),
        claim(
            "With no order does MR preserve the energy as well as SEJ",
            paper="no significant difference in the results",
            measured="smallest error of MR2 over that of SEJ: " + _listed(names[1:], lead),
            holds=bool(lead.min() > 1),
            test="greater than 1 in every experiment with a torque; SEJ is exact without",
            otherwise=f"not in {names[1 + lost]}",
        ),
        claim(
            "Some order may improve MR in some cases",
            paper="not excluded",
            measured=f"{names[best]}: {ORDERS[int(np.argmin(e[best]))]} is {gain[best]:.1f} times better than 123",
            holds=bool(gain[best] > 1.5),
            test="by more than 1.5 in some experiment",
        ),
    ]


def _listed(names: list[str], values: Floats) -> str:
    return "; ".join(f"{name}: {value:.2g}" for name, value in zip(names, values, strict=True))


def plot(data: Data) -> Figure:
    """Draws errors for each order, experiment by experiment."""
    figure, axes = panels(width=8.4, height=4.4)
    ax, x = axes[0, 0], np.arange(len(data["experiment"]))
    ax.set_yscale("log")
    for k, order in enumerate(map(str, data["order"])):
        look = style(k) | {"linestyle": ""}
        ax.plot(x + (k - 2.5) * 0.11, data["energy_error"][:, k], label=f"MR {order}", **look)
    torqued = data["sej"] > 1e-12  # a free body is exact
    ax.hlines(data["sej"][torqued], x[torqued] - 0.38, x[torqued] + 0.38, color="0.4", linewidth=2, label="SEJ")
    ax.set_xticks(x, [str(name).replace(", ", "\n") for name in data["experiment"]], fontsize=8)
    labelled(ax, "", "largest relative energy error")
    return figure
