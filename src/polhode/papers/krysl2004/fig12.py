"""Free body and slow top: Hamiltonians of SW, NMB and HSTAGM

The Hamiltonian over time: left the free body of figures 1 to 5 with the step 1, in the middle the slow top of figure 11
with the step 0.05, right how far it is off on the slow top with HSTAGM and steps from 0.1 to 0.001. The paper tells
neither the steps nor the end of the runs; here the middle panel ends where the Hamiltonian of HSTAGM does.
"""

import numpy as np

from polhode.papers._figure import COLOURS, DASHES, Figure, labelled, panels
from polhode.papers._measure import integrate
from polhode.papers.krysl2004._common import FREE, SLOW_TOP
from polhode.papers.krysl2004._tops import growth, largest, relative_energy
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

METHODS = ("SW", "NMB", "HSTAGM")
FREE_STEP, FREE_END = 1.0, 200.0
TOP_STEP, TOP_END = 0.05, 15.0
STEPS, LONG = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001), 40.0
FALL = 5.0
"""In s: about as long as the slow top takes to fall and come back."""
LONG_STEP = 0.02
"""In s: of the steps tried, those from here on are called long."""
FOREVER = 10_000.0
"""In s: the length of the runs that show a drift of the free body."""
WHERE = "figure 12 and section 3.5"


def run(size: Size) -> Data:
    """Computes Hamiltonians; at the quick size the free body runs for 200 s, and the top with one step."""
    steps = STEPS[:1] if size.quick else STEPS
    free = [integrate(FREE, m, FREE_END, FREE_STEP) for m in METHODS]
    top = [integrate(SLOW_TOP, m, TOP_END, TOP_STEP) for m in METHODS]
    grid = np.linspace(0.0, LONG, round(LONG / STEPS[0]) + 1)
    falling = [integrate(SLOW_TOP, "HSTAGM", LONG, h, every=round(STEPS[0] / h)) for h in steps]
    forever = free if size.quick else [integrate(FREE, m, FOREVER, FREE_STEP) for m in METHODS]
    return Data(
        method=named("method", METHODS, "method"),
        t_free=named("time_free", free[0].t, "time", "s"),
        free=named("method time_free", [s.energy for s in free], "Hamiltonian of the free body", "J"),
        growth=named("method", [growth(s.energy - s.energy[0], 10) for s in forever], "last error of it, by the first"),
        t_top=named("time_top", top[0].t, "time", "s"),
        top=named("method time_top", [s.energy for s in top], "Hamiltonian of the slow top", "J"),
        step=named("step", steps, "steps of HSTAGM", "s"),
        t_long=named("time_long", grid, "time", "s"),
        off=named("step time_long", [np.abs(relative_energy(s)) for s in falling], "relative error, HSTAGM, slow top"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the methods are alike on the free body, and whether HSTAGM blows up on the top."""
    start = data["free"][0, 0]
    free = {str(m): row - start for m, row in zip(data["method"], data["free"], strict=True)}
    grown = dict(zip(map(str, data["method"]), data["growth"], strict=True))
    ratio = np.ptp(free["HSTAGM"]) / np.ptp(free["NMB"])
    spread = {m: f"{100 * row.min() / start:+.2f} to {100 * row.max() / start:+.2f} %" for m, row in free.items()}
    alike = 0.5 < ratio < 2 and all(abs(grown[m] - 1) < 0.05 for m in ("HSTAGM", "NMB"))
    falls = _falls(data["t_long"], data["off"])
    last, when = data["off"].max(axis=1), [_first(data["t_long"], row) for row in data["off"]]
    worst = {str(m): largest(row / row[0] - 1) for m, row in zip(data["method"], data["top"], strict=True)}
    grows = falls[1] > 2 * falls[0]
    blows_up = bool((last > 1).all()) and max(worst["NMB"], worst["SW"]) < 0.05
    return [
        claim(
            "On the free body the Hamiltonian of HSTAGM closely corresponds to that of NMB",
            late=f"needs t = {FOREVER:g}",
            paper="closely corresponds",
            measured=f"with the step 1 the Hamiltonian is off by {spread['NMB']} with NMB, by {spread['HSTAGM']} with "
            f"HSTAGM (SW: {spread['SW']}); largest error in the last tenth of {FOREVER:g} s / in the first: "
            f"{grown['NMB']:.3f} and {grown['HSTAGM']:.3f}",
            holds=alike and largest(free["HSTAGM"] - free["NMB"]) < 0.5 * largest(free["NMB"]),
            test="oscillations without drift, which differ by less than half of their size",
            reading="Closely corresponds in size alone: both oscillate without drift, by amounts within a factor of 2; "
            "but where NMB loses energy HSTAGM gains it, as SW does",
            holds_when_read_so=alike,
        ),
        claim(
            "On the slow top HSTAGM becomes unstable early and blows up at the end",
            paper="unstable early on, blow-up at the end",
            measured=f"h = {', '.join(f'{h:g}' for h in data['step'])}: the Hamiltonian is off by "
            f"{', '.join(f'{100 * e:.1e}' for e in falls[0])} % in the first fall of {FALL:g} s, by "
            f"{', '.join(f'{b / a:.1f}' for a, b in falls.T)} times as much in the second, by more than 100 % from "
            f"t = {', '.join(f'{t:.1f}' for t in when)} on; within {LONG:g} s up to {last.max():.0f} times its value. "
            f"In the middle panel: NMB {100 * worst['NMB']:.1f} %, SW {100 * worst['SW']:.1f} %",
            holds=bool(grows.all()) and blows_up,
            test="with every step the error more than doubles from the first fall of the top to the second, and "
            "exceeds 100 % later; NMB and SW stay below 5 %",
            reading=f"Holds with steps of {LONG_STEP:g} and longer; the paper does not tell its step. With shorter "
            "steps the error grows from the third fall on or later: a shorter step puts the blow-up off",
            holds_when_read_so=bool(grows[data["step"] >= LONG_STEP].all()) and blows_up,
        ),
    ]


def _falls(t: Floats, off: Floats) -> Floats:
    """The largest errors in the first and in the second fall of the top, a column for each step."""
    return np.array([off[:, (t > k * FALL) & (t <= (k + 1) * FALL)].max(axis=1) for k in (0, 1)])


def _first(t: Floats, off: Floats) -> float:
    """When the Hamiltonian is off by more than its own value."""
    return float(t[np.argmax(off > 1)]) if (off > 1).any() else float("nan")


def plot(data: Data) -> Figure:
    """Draws three panels."""
    figure, axes = panels(1, 3, width=15.0, height=4.2)
    free, top, long = axes[0]
    look = {"SW": (DASHES[1], COLOURS[1], ""), "NMB": ("-", COLOURS[0], "o"), "HSTAGM": ("-", COLOURS[2], "s")}
    for k, method in enumerate(data["method"]):
        dash, colour, marker = look[str(method)]
        for ax, t, rows in ((free, data["t_free"], data["free"]), (top, data["t_top"], data["top"])):
            ax.plot(
                t, rows[k], linestyle=dash, color=colour, marker=marker, markevery=max(1, len(t) // 40), markersize=4,
                linewidth=1.2, label=str(method),
            )  # fmt: skip
    labelled(free, "time (s)", "Hamiltonian (J)", "free body, h = 1")
    free.set_ylim(top=data["free"].max() + 0.35 * np.ptp(data["free"]))
    start = data["top"][0, 0]
    top.set_ylim(0.75 * start, 3.0 * start)
    labelled(top, "time (s)", "Hamiltonian (J)", "slow top, h = 0.05")
    for k, (h, row) in enumerate(zip(data["step"], data["off"], strict=True)):
        long.semilogy(
            data["t_long"], np.where(row > 0, row, np.nan), color=COLOURS[k], linewidth=1.0, label=f"h = {h:g}"
        )
    labelled(long, "time (s)", "relative error of the Hamiltonian", "slow top, HSTAGM")
    return figure
