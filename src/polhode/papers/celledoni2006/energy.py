"""Free body: energy errors from 0 to 400 with the step 0.4

The free body of figure 1, from 0 to 400 in steps of 0.4: the change of the energy since the start, by the methods
of figure 1. The paper tells the sizes of these errors and draws nothing. To the left what oscillates, to the
right what is round-off, as the largest absolute value so far; JE evaluates everything from the start, JE restarted
from step to step.
"""

import numpy as np

from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers._measure import integrate
from polhode.papers.celledoni2006._common import FREE, energy_change
from polhode.papers.study import Claim, Data, Size, about, claim, named

METHODS = ("MR2", "MR4", "MR4S", "DMV2", "DMV4", "DMV6", "JE0", "JE")
SHOWN = {"JE0": "JE", "JE": "JE restarted"}
T_END, H = 400.0, 0.4
WHERE = "section 4.1"


def run(size: Size) -> Data:
    """Computes the change of the energy, step by step."""
    runs = [integrate(FREE, method, 80.0 if size.quick else T_END, H) for method in METHODS]
    return Data(
        method=named("method", METHODS, "method"),
        t=named("time", runs[0].t, "time", "s"),
        energy=named("method time", [energy_change(r) for r in runs], "change of the energy", "J"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges sizes of the errors, and that nothing drifts."""
    error = dict(zip(map(str, data["method"]), data["energy"], strict=True))
    worst = {name: float(np.abs(e).max()) for name, e in error.items()}
    quarter = data["t"].size // 4
    drift = {
        name: float(np.abs(error[name][-quarter:]).max() / np.abs(error[name][:quarter]).max())
        for name in ("MR2", "MR4")
    }
    dmv = [worst[f"DMV{k}"] for k in (2, 4, 6)]
    return [
        claim(
            "The energy error of MR oscillates near zero",
            paper="oscillating",
            measured="largest error of the last quarter over that of the first: "
            + ", ".join(f"{name} {d:.4f}" for name, d in drift.items()),
            holds=all(abs(d - 1) < 0.01 for d in drift.values()),
            test="no growth, within 1 %; it oscillates between zero and its largest value, on one side",
        ),
        claim(
            "MR of order 2: amplitude about 1e-3",
            paper="about 1e-3",
            measured=f"{worst['MR2']:.2e}",
            holds=about(worst["MR2"], 1e-3),
            test="1e-3 is the nearest power of ten",
        ),
        claim(
            "MR of order 4: amplitude about 1e-5",
            paper="about 1e-5",
            measured=f"{worst['MR4']:.2e} by a triple jump, {worst['MR4S']:.1e} by Suzuki's composition",
            holds=about(worst["MR4"], 1e-5),
            test="1e-5 is the nearest power of ten",
            reading="the paper does not name its composition: a triple jump has the size within a factor of 10, "
            "Suzuki's composition has not",
            holds_when_read_so=1e-6 < worst["MR4"] < 1e-4 and not 1e-6 < worst["MR4S"] < 1e-4,
        ),
        claim(
            "DMV: energy error of the size of 1e-13",
            paper="1e-13",
            measured=f"orders 2, 4, 6: {dmv[0]:.1e}, {dmv[1]:.1e}, {dmv[2]:.1e}",
            holds=all(about(e, 1e-13) for e in dmv),
            test="1e-13 is the nearest power of ten, at all three orders",
            otherwise="The error is some 100 times smaller: here the implicit equation is solved to round-off. The "
            "paper does not tell when its iteration ends",
        ),
        claim(
            "JE: energy error about 1e-16",
            paper="about 1e-16",
            measured=f"{worst['JE0']:.1e} evaluated from the start, {worst['JE']:.1e} restarted at every step",
            holds=about(worst["JE0"], 1e-16) and about(worst["JE"], 1e-16),
            test="1e-16 is the nearest power of ten, from the start and restarted at every step",
            reading="within a factor of 5, some units of round-off of an energy of about one, and only if all times "
            "are evaluated with the constants of the start, as here in the paper; restarted at every step, as inside "
            "SEJ, round-off piles up",
            holds_when_read_so=0.2e-16 < worst["JE0"] < 5e-16,
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws oscillations, and round-off."""
    figure, axes = panels(1, 2, width=11.5)
    left, right = axes[0]
    for k, (name, e) in enumerate(zip(map(str, data["method"]), data["energy"], strict=True)):
        look = style(k, marked=False) | {"linewidth": 1.1, "linestyle": "-"}
        if name.startswith("MR"):
            left.semilogy(data["t"], np.where(e > 0, e, np.nan), label=name, **look)
        else:
            so_far = np.maximum.accumulate(np.abs(e))
            right.semilogy(data["t"], np.where(so_far > 0, so_far, np.nan), label=SHOWN.get(name, name), **look)
    left.set_ylim(1e-12, 1e-1)
    labelled(left, "time (s)", "energy error (J)")
    labelled(right, "time (s)", "largest absolute energy error so far (J)")
    return figure
