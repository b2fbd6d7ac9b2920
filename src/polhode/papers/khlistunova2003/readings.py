"""Four readings of figures 4 to 9, and what each of them gives

Measured over printed sizes for the runs of 100 minutes, with the printed step of 0.1 s and with 0.4 s, where Simpson's
scheme advances 2h at once, as it is printed, or h. A size is reproduced between the lines; what is said to be smaller,
below one. Figure 9 is over the steps 1 to 0.06, or over four times those. The paper names neither what h counts in
Simpson's scheme nor the step of every figure.
"""

import numpy as np

from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers.khlistunova2003 import _common as common
from polhode.papers.study import ABOUT, Claim, Data, Size, about, claim, named

WHERE = "sec. 4, on figs. 4 to 9"
LATE = common.LONG_RUNS
READINGS = [(step, scheme) for step in (common.STEP, 0.4) for scheme in ("SS", "SSh")]
NAMES = [f"h = {h:g}, SS by {'2h' if scheme == 'SS' else 'h'}" for h, scheme in READINGS]
PRINTED = {
    "LS, deg/s (fig. 5)": (1e-6, True), "SS, deg/s (fig. 6)": (1e-7, True), "LS / SS (fig. 4)": (10.0, True),
    "dH, LS / SS (fig. 7)": (100.0, True), "dH, SS / RK (fig. 7)": (1.0, True), "d|M|, kg m2/s (fig. 8)": (1e-13, True),
    "first 10 min, LS (fig. 5)": (common.SMALL, False), "first 10 min, SS (fig. 6)": (common.SMALL, False),
    "dH, others / LS (fig. 9)": (1.0, False), "dH, SS / least (fig. 9)": (1.0, False),
    "dH, SS / RK (fig. 9)": (1.0, True),
}  # fmt: skip
"""What the text says, by what the study calls it: a size, and whether it is one, or a bound."""
LONG, SHORT = (1.0, 0.8, 0.6, 0.4), (0.1, 0.08, 0.06)
"""The steps of figure 9 of which the text speaks, in s."""


def run(size: Size) -> Data:
    """Computes the sizes that each reading gives."""
    return Data(
        reading=named("reading", NAMES, "step, and what Simpson's scheme advances at once"),
        what=named("what", list(PRINTED), "what the text tells"),
        printed=named("what", [p for p, _ in PRINTED.values()], "as printed, or the bound"),
        is_size=named("what", [s for _, s in PRINTED.values()], "1 for a size, 0 for a bound"),
        found=named("reading what", [_sizes(h, scheme, size) for h, scheme in READINGS], "as measured"),
    )


def _sizes(step: float, scheme: str, size: Size) -> list[float]:
    """The sizes in the order of `PRINTED`."""
    rk, ls, ss = (common.long_run(m, size, step) for m in ("RKF5", "LS", scheme))
    every = [(len(rk.t) - 1) // (len(m.t) - 1) for m in (ls, ss)]
    off = [common.largest(rk.omega[::k] - m.omega) for k, m in zip(every, (ls, ss), strict=True)]
    energy = [common.largest(m.energy) for m in (rk, ls, ss)]
    momentum = max(common.largest(m.momentum) for m in (rk, ls, ss))
    early = [
        common.largest((rk.omega[::k] - m.omega)[m.t <= 10 * common.MINUTE])
        for k, m in zip(every, (ls, ss), strict=True)
    ]
    factor = step / common.STEP
    steps = [factor * h for h in ((*LONG[:1], *SHORT[:1]) if size.quick else (*LONG, *SHORT))]
    end = 60.0 if size.quick else common.HUNDRED_MINUTES
    over = np.array([[common.largest_deviations(m, h, end)[0] for h in steps] for m in ("RKF5", "LS", scheme)])
    long = len(steps) - len(SHORT) if not size.quick else 1
    ratio = np.log10(over[2] / over[0])[long:]
    return [
        *off, off[0] / off[1], energy[1] / energy[2], energy[2] / energy[0], momentum, early[0] / off[0],
        early[1] / off[1], float((over[[0, 2]] / over[1]).max()),
        float((over[2] / over[:2].min(axis=0))[:long].max()), 10.0 ** float(ratio[np.abs(ratio).argmax()]),
    ]  # fmt: skip


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether one reading gives all of it, or both bands at least."""
    found, printed = data["found"], data["printed"]
    held = np.array(
        [[about(x, p) if s else x < p for x, p, s in zip(row, printed, data["is_size"], strict=True)] for row in found]
    )
    told = "; ".join(f"{name}: {row.sum()} of {row.size}" for name, row in zip(NAMES, held, strict=True))
    bands = np.asarray(held[:, :2].all(axis=1))
    sizes = "; ".join(f"{name}: {row[0]:.1e} and {row[1]:.1e}" for name, row in zip(NAMES, found, strict=True))
    best = int(np.argmax(bands))
    missed = ". ".join(
        f"{name}: {'; '.join(w for w, h in zip(PRINTED, row, strict=True) if not h)}"
        for name, row in zip(NAMES, held, strict=True)
    )
    return [
        claim(
            "Figures 4 to 9 show one set of runs",
            paper=f"{len(PRINTED)} statements",
            measured=f"reproduced: {told}; not so: {missed}",
            holds=bool(held.all(axis=1).any()),
            test="all sizes within a factor of 3.2, and all bounds kept, under one reading of step and scheme",
            otherwise="No reading of the four gives all of it: where the errors of the rates agree with the text, "
            "other statements do not",
        ),
        claim(
            "The errors of LS and SS are of the orders 1e-6 and 1e-7 deg/s in the same runs",
            source="sec. 4, on figs. 5 and 6",
            paper="1e-6 and 1e-7",
            measured=sizes,
            holds=bool(bands[0]),
            test="both within a factor of 3.2, with the printed step and scheme",
            reading=f"Holds with {NAMES[best]} at once, which the paper does not say",
            holds_when_read_so=bool(bands.any()),
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws measured over printed sizes."""
    figure, axes = panels(width=13.0, height=4.8)
    ax, x = axes[0, 0], np.arange(data["what"].size)
    ax.set_yscale("log")
    for k, (name, row) in enumerate(zip(data["reading"], data["found"], strict=True)):
        ax.plot(x + 0.1 * (k - 1.5), row / data["printed"], label=str(name), **(style(k) | {"linestyle": ""}))
    for edge in (ABOUT, 1 / ABOUT):
        ax.axhline(edge, color="0.5", linewidth=1)
    ax.set_xticks(x, [str(what).replace(" (", "\n(") for what in data["what"]], fontsize=8)
    labelled(ax, "", "measured / printed")
    return figure
