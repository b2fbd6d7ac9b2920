"""Discussion: drift of the energy, the symplectic form, symmetry in time

Left: the mean error of the energy of the free body (figures 1 to 5) in windows of 100 s, with SW as printed, whose
acceleration is 2 (w1 - w0) / h - a; with SW begun anew at every step, so that it is always that of Euler's equation;
and with SWd, where it is (w1 - w0) / h. Middle: by how much the motion of the free
body from t = 0 to 1 misses to keep the symplectic form, the largest entry of J^T W J - W; LP2, MR2 here, is known to
keep it, and shows the round-off. Right: how far from its start a run of the slow top ends that goes 20 steps of 0.05
forth and back: with all that the method remembers (filled), or begun anew from the state (open).
"""

from collections.abc import Sequence

import numpy as np

from polhode.methods import Method
from polhode.papers._figure import COLOURS, MARKERS, Figure, labelled, loglog, panels
from polhode.papers._maps import Steps, defect
from polhode.papers._measure import integrate, slope
from polhode.papers.krysl2004 import _tops as tops
from polhode.papers.krysl2004._common import FREE, SLOW_TOP
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.problem import Problem

SIMO_WONG: dict[str, str | Method] = {"SW": "SW", "SW begun anew": tops.SW_ANEW, "SWd": "SWd"}
DRAWN_STEPS = (1.0, 0.25, 0.0625)
FREE_STEPS, FREE_END, FREE_WINDOW = (1.0, 0.5, 0.25, 0.125, 0.0625), 10_000.0, 100.0
TOP_STEPS, TOP_END, TOP_WINDOW = (0.1, 0.05, 0.02, 0.01), 1_000.0, 10.0
DRIFTS, STAYS = 2.0, 1.1
"""Bounds for the mean error of the last windows over that of the first: above one it drifts, below the other not."""
FORMS, FORM_STEPS = ("NMB", "HSTAGM", "MR2"), (0.2, 0.1, 0.05, 0.025)
RETURNED = ("NMB", "NMS", "SW", "HSTAGM", "SWd")
BACK_STEP, BACK_COUNT = 0.05, 20
ROUND_OFF = 1e-12
"""More than the round-off of 40 steps on the slow top, which amplifies differences."""
BLOW_UP_END = 30.0
SAME_COUNT = 200
HALF_COUNT, HALF_STEP = 1_000, 1.0
WHERE = "discussion"


def run(size: Size) -> Data:
    """Computes energies, symplectic forms and returns; the quick size has few and short runs."""
    free_steps, free_end = (FREE_STEPS[:1], 2 * FREE_WINDOW) if size.quick else (FREE_STEPS, FREE_END)
    top_steps, top_end = (TOP_STEPS[:1], 2 * TOP_WINDOW) if size.quick else (TOP_STEPS, TOP_END)
    form_steps = FORM_STEPS[:2] if size.quick else FORM_STEPS
    free = _windows(FREE, free_steps, free_end, FREE_WINDOW)
    top = _windows(SLOW_TOP, top_steps, top_end, TOP_WINDOW)
    back = [[_returned(m, anew=anew) for anew in (False, True)] for m in RETURNED]
    energy, length = _halfway(HALF_COUNT // 10 if size.quick else HALF_COUNT)
    blown = tops.relative_energy(integrate(SLOW_TOP, "HSTAGM", BLOW_UP_END, 0.1 if size.quick else BACK_STEP))
    return Data(
        simo_wong=named("simo_wong", list(SIMO_WONG), "versions of SW"),
        free_step=named("free_step", free_steps, "steps for the free body", "s"),
        free_t=named("free_window", FREE_WINDOW * (np.arange(free.shape[2]) + 0.5), "middle of a window", "s"),
        free=named("simo_wong free_step free_window", free, "mean relative error of the energy of the free body"),
        top_step=named("top_step", top_steps, "steps for the slow top", "s"),
        top=named("simo_wong top_step top_window", top, "mean relative error of the Hamiltonian of the slow top"),
        form=named("form", FORMS, "methods whose symplectic defect is measured"),
        form_step=named("form_step", form_steps, "their steps", "s"),
        defect=named(
            "form form_step",
            [[defect(FREE, m, h, round(1 / h)) for h in form_steps] for m in FORMS],
            "defect up to t = 1",
        ),
        once=named("form", [defect(FREE, m, 0.1) for m in FORMS], "defect of one step of 0.1"),
        halfway=named("kept", [energy, length], "relative spread of energy and length of momentum between steps"),
        whole=named("kept", _at_steps(), "the same at the ends of steps"),
        returned=named("returned", RETURNED, "methods that are reversed"),
        back=named("returned anew", back, "distance from the start: with the memory, and begun anew"),
        twins=named("twins", [_apart(p) for p in (FREE, SLOW_TOP)], "distance of NMB from NMS: free body, slow top"),
        blown=named("one", [tops.largest(blown)], "largest relative error of the Hamiltonian, HSTAGM, slow top"),
    )


def _windows(problem: Problem, steps: Sequence[float], end: float, window: float) -> Floats:
    """Mean relative errors of the energy, by version of SW, step and window."""
    count = round(end / window)
    rows = [
        [tops.relative_energy(integrate(problem, m, end, h))[1:].reshape(count, -1) for h in steps]
        for m in SIMO_WONG.values()
    ]
    return np.array([[row.mean(axis=1) for row in each] for each in rows])


def _halfway(count: int) -> tuple[float, float]:
    """Spreads of energy and |I w| half way through steps of NMB, at the rate w + h a / 2 that turns the body."""
    steps = Steps(FREE, "NMB")
    at, momenta = steps.begun(steps.start), []
    for _ in range(count):
        momenta.append(np.array(at.state.m) + HALF_STEP / 2 * np.array(at.memory))
        at = steps.after(at, HALF_STEP)
    return _spreads(np.array(momenta))


def _at_steps() -> tuple[float, float]:
    return _spreads(integrate(FREE, "NMB", 100.0, HALF_STEP).momentum)


def _spreads(m: Floats) -> tuple[float, float]:
    energy, length = (m**2 / FREE.body.moments).sum(axis=1) / 2, np.linalg.norm(m, axis=1)
    return float(np.ptp(energy) / energy[0]), float(np.ptp(length) / length[0])


def _returned(method: str, *, anew: bool) -> float:
    return tops.there_and_back(Steps(SLOW_TOP, method), BACK_STEP, BACK_COUNT, anew=anew)


def _apart(problem: Problem) -> float:
    ends = [
        (steps := Steps(problem, m)).after(steps.begun(steps.start), BACK_STEP, SAME_COUNT).state
        for m in ("NMB", "NMS")
    ]
    return tops.distance(*ends)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges six statements of the discussion."""
    growth = {m: _growth(data, k) for k, m in enumerate(SIMO_WONG)}
    back = {str(m): tuple(map(float, row)) for m, row in zip(data["returned"], data["back"], strict=True)}
    drifts = {m: bool((g > DRIFTS).all()) for m, g in growth.items()}
    stays = bool((growth["SW"] < STAYS).all())
    told = "; ".join(f"{m} {g.min():.2f} to {g.max():.3g}" for m, g in growth.items())
    steps = [", ".join(f"{h:g}" for h in data[name]) for name in ("free_step", "top_step")]
    blown = float(data["blown"][0])
    return [
        claim(
            "The energy drifts with SW, for all time steps",
            late=f"needs t = {FREE_END:g}",
            paper="drift for all steps",
            measured=f"mean error of the energy in the last tenth of {FREE_END:g} s (free body, h = {steps[0]}) and of "
            f"{TOP_END:g} s (slow top, h = {steps[1]}) / in the first hundredth: {told}",
            holds=drifts["SW"],
            test="more than doubled with every step",
            reading="Not so with SW as printed, whose mean error stays within 10 %. It holds if SW is begun anew at "
            "every step with the acceleration of Euler's equation, as the program in appendix B does at every call: it "
            "keeps attitude and rate only. That the energies were recorded so is a guess. SWd drifts too, but does not "
            "agree with HSTAGM as figure 10 says of SW",
            holds_when_read_so=drifts["SW begun anew"] and stays,
        ),
        claim(
            "NMB, NMS and SW are symmetric in time",
            paper="symmetric, by (44) to (47)",
            measured=f"{BACK_COUNT} steps forth and back on the slow top: "
            + ", ".join(f"{m} {back[m][0]:.1e}" for m in RETURNED)
            + "; begun anew for the way back: "
            + ", ".join(f"{m} {back[m][1]:.1e}" for m in RETURNED),
            holds=max(back[m][0] for m in ("NMB", "NMS", "SW")) < ROUND_OFF < back["SWd"][0],
            test="NMB, NMS and SW return to 1e-12, SWd does not. NMB and NMS may begin anew from the state; SW has to "
            "go back with the acceleration that it has, which is not that of Euler's equation",
        ),
        claim(
            "Symmetry in time does not suffice for a good energy: SW is symmetric and drifts",
            late=f"needs t = {FREE_END:g}",
            paper="SW is an example",
            measured=f"SW returns to {back['SW'][0]:.1e} and its error grows by {growth['SW'].max():.2f} at most; "
            f"begun anew it returns to {back['SW'][1]:.1e} and drifts; HSTAGM returns to {back['HSTAGM'][0]:.1e}, and "
            f"on the slow top its Hamiltonian is off by up to {blown:.0f} times its value before t = {BLOW_UP_END:g}",
            holds=back["SW"][0] < ROUND_OFF and drifts["SW"],
            test="SW is symmetric and its energy drifts",
            otherwise="SW is no example: as printed it is symmetric and does not drift, begun anew at every step it "
            "drifts and is not symmetric. What it was to show is shown by another method of the paper, HSTAGM: its two "
            "chains together are symmetric, and blow up",
        ),
        claim(
            "NMB in the body frame and NMS in space are the same method",
            source="section 2.5, (38) to (41)",
            paper="identical",
            measured=f"states after {SAME_COUNT} steps of {BACK_STEP:g}: free body {data['twins'][0]:.1e}, slow top "
            f"{data['twins'][1]:.1e} apart",
            holds=data["twins"][0] < 1e-13 and data["twins"][1] < 1e-9,
            test="equal to 1e-13 on the free body, and to 1e-9 on the slow top, which enlarges round-off as it falls",
        ),
        _form(
            data,
            "NMB",
            "It would appear that NMB is symplectic",
            paper="conjecture, on numerical evidence",
            otherwise="It is not. That its energy does not drift has another cause: half way through the steps, at the "
            "rate by which the body is turned, energy and length of the momentum of a free body are kept to "
            f"{tops.largest(data['halfway']):.0e} with steps of 1 (at the ends of steps they vary by "
            f"{data['whole'][0]:.1e} and {data['whole'][1]:.1e}), because that rate follows the implicit midpoint rule",
        ),
        _form(
            data,
            "HSTAGM",
            "HSTAGM is perhaps symplectic",
            paper="perhaps, or related to a symplectic method",
            otherwise="Its motion from t = 0 to 1 misses the symplectic form by O(h^2). That it is related to some "
            "symplectic method is not excluded by this",
        ),
    ]


def _growth(data: Data, k: int) -> Floats:
    """Returns, for all problems and steps, the mean error of the last tenth of the windows over that of the first."""
    rows = [*data["free"][k], *data["top"][k]]
    return np.array([abs(row[-max(1, len(row) // 10) :].mean() / row[0]) for row in rows])


def _form(data: Data, method: str, says: str, *, paper: str, otherwise: str) -> Claim:
    k, control = FORMS.index(method), tops.largest(data["defect"][FORMS.index("MR2")])
    defect, h = data["defect"][k], data["form_step"]
    return claim(
        says,
        source=WHERE if method == "NMB" else "section 3.5",
        paper=paper,
        measured=f"defect of the form from t = 0 to 1: {', '.join(f'{d:.1e}' for d in defect)} for h = "
        f"{', '.join(f'{x:g}' for x in h)}, slope {slope(h, defect):.2f}; one step of 0.1: {data['once'][k]:.1e}; "
        f"MR2, which is symplectic: {control:.0e} at most",
        holds=bool((defect < 100 * control).all()),
        test="no more than round-off, which is taken for 100 times the defect of MR2",
        otherwise=otherwise,
    )


def plot(data: Data) -> Figure:
    """Draws drift, symplectic form and return."""
    figure, axes = panels(1, 3, width=15.5, height=4.4)
    left, middle, right = axes[0]
    for k, h in enumerate(data["free_step"]):
        for i, dash in enumerate(("-", "--", ":")):
            if h in DRAWN_STEPS:
                label = f"{data['simo_wong'][i]}, h = {h:g}"
                left.loglog(data["free_t"], np.abs(data["free"][i, k]), linestyle=dash, color=COLOURS[k], label=label)
    labelled(left, "time (s)", "mean relative error of the energy", "free body")
    curves = {"LP2" if m == "MR2" else str(m): row for m, row in zip(data["form"], data["defect"], strict=True)}
    loglog(middle, data["form_step"], curves, "step (s)", "defect of the symplectic form")
    labelled(middle, "step (s)", "defect of the symplectic form", "free body, t = 0 to 1")
    middle.set_xticks(data["form_step"], [f"{h:g}" for h in data["form_step"]])
    middle.minorticks_off()
    x = np.arange(len(data["returned"]))
    floor = np.maximum(data["back"], 1e-17)
    right.semilogy(x, floor[:, 0], MARKERS[0], color=COLOURS[0], markersize=9, label="with the memory")
    right.semilogy(x, floor[:, 1], MARKERS[1], color=COLOURS[1], markersize=9, fillstyle="none", label="begun anew")
    right.set_xticks(x, [str(m) for m in data["returned"]])
    right.set_xlim(-0.5, len(x) - 0.5)
    labelled(right, "", "distance from the start", "slow top, 20 steps forth and back")
    return figure
