"""SEJ and SEJ4: time-symmetric, not symplectic, of order 2, and close to Strang's splitting

A body with the moments (1, 2, 3) that starts with the rates (1, 2, 3) under a unit weight at the point (0, 0, 1) of the
body: figure 6 with alpha = 1. The paper claims these properties without a figure. Left: by how much one step changes
the symplectic form of the phase space (largest entry; numerical derivatives). Middle: error of attitude and momentum
after 1 s. Right: distance from Strang's splitting with the exact free body, which SEJ approximates, after 1 s.
"""

import numpy as np

from polhode import simulate
from polhode.body import Body
from polhode.papers._figure import Figure, loglog, panels
from polhode.papers._maps import defect
from polhode.papers._measure import integrate, pose, slope, tight
from polhode.papers.celledoni2006._common import WEIGHT
from polhode.papers.study import Claim, Data, Size, claim, named
from polhode.solution import Solution

TASK = pose(Body([1.0, 2.0, 3.0]), WEIGHT, (1.0, 2.0, 3.0))
METHODS = ("MR2", "SEJ", "SEJ4", "Strang")
STEPS = tuple(0.2 * 2.0**-k for k in range(5))
BACK = 10
NOISE = 1e-10
"""Far above the noise of the numerical derivatives, far below what is not symplectic, at the longest step."""
WHERE = "section 2"


def run(size: Size) -> Data:
    """Computes defects, errors and distances."""
    steps = STEPS[: 3 if size.quick else None]
    true = tight(TASK, 1.0, 0.01)
    last = [[integrate(TASK, m, 1.0, h, t_eval=[1.0]) for h in steps] for m in METHODS]
    return Data(
        method=named("method", METHODS, "method"),
        step=named("step", steps, "step", "s"),
        symplectic=named(
            "method step", [[defect(TASK, m, h) for h in steps] for m in METHODS], "change of the symplectic form"
        ),
        reversal=named("method", [reversal_defect(m, steps[0]) for m in METHODS], "state after steps forth and back"),
        error=named("method step", [[_apart(s, true) for s in row] for row in last], "error after 1 s"),
        from_strang=named(
            "method step",
            [[_apart(s, t) for s, t in zip(row, last[-1], strict=True)] for row in last],
            "distance from Strang after 1 s",
        ),
    )


def _apart(a: Solution, b: Solution) -> float:
    """The distance of the last states: attitude matrices and momenta together."""
    turned = np.linalg.norm(a.attitude[-1].as_matrix() - b.attitude[-1].as_matrix())
    return float(np.hypot(turned, np.linalg.norm(a.momentum[-1] - b.momentum[-1])))


def reversal_defect(method: str, h: float) -> float:
    """How far from its start a run ends that makes some steps forth and as many back."""
    forth = integrate(TASK, method, BACK * h, h)
    back = simulate(
        TASK.body, TASK.torque, omega=forth.omega[-1], attitude=forth.quaternion[-1],
        t_span=(BACK * h, 0.0), step=-h, method=method,
    )  # fmt: skip
    start = np.linalg.norm(back.attitude[-1].as_matrix() - np.eye(3))
    return float(np.hypot(start, np.linalg.norm(back.momentum[-1] - forth.momentum[0])))


def check(data: Data, size: Size) -> list[Claim]:
    """Judges what section 2 says."""
    names = [str(m) for m in data["method"]]
    back, form = (dict(zip(names, data[key], strict=True)) for key in ("reversal", "symplectic"))
    order = {m: slope(data["step"], e) for m, e in zip(names, data["error"], strict=True)}
    near = {m: slope(data["step"], e) for m, e in zip(names, data["from_strang"], strict=True) if m.startswith("SEJ")}
    finest = data["from_strang"][:, -1]
    return [
        claim(
            "SEJ and SEJ4 are time-symmetric",
            paper="a step forth and a step back is the identity",
            measured=f"{BACK} steps of {data['step'][0]:g} forth and back: "
            + ", ".join(f"{m} {back[m]:.0e}" for m in ("SEJ", "SEJ4")),
            holds=bool(max(back["SEJ"], back["SEJ4"]) < 1e-13),
            test="back at the start within 1e-13, that is round-off",
        ),
        claim(
            "MR is symplectic, SEJ is not",
            paper="symmetric, but not symplectic",
            measured=f"change of the form in a step of {data['step'][0]:g}: "
            + ", ".join(f"{m} {form[m][0]:.0e}" for m in names),
            holds=bool(
                max(form["MR2"][0], form["Strang"][0]) < NOISE and min(form["SEJ"][0], form["SEJ4"][0]) > 100 * NOISE
            ),
            test=f"below {NOISE:g} for MR2 and Strang's splitting, a hundred times more for SEJ and SEJ4",
        ),
        claim(
            "SEJ and SEJ4 are of second order",
            paper="2",
            measured=", ".join(f"{m} {o:.2f}" for m, o in order.items()),
            holds=all(abs(order[m] - 2) < 0.15 for m in ("SEJ", "SEJ4")),
            test="slopes within 0.15",
        ),
        claim(
            "With more terms of Magnus's series the method comes closer to the splitting with the exact free body",
            paper="more accurate",
            measured=f"distance with the step {data['step'][-1]:g}: SEJ {finest[1]:.1e}, SEJ4 {finest[2]:.1e}"
            f"; slopes {near['SEJ']:.2f} and {near['SEJ4']:.2f}",
            holds=bool(finest[2] < finest[1] / 10 and abs(near["SEJ"] - 2) < 0.2 and abs(near["SEJ4"] - 4) < 0.2),
            test="SEJ4 more than 10 times closer; slopes 2 and 4 within 0.2",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws defects, errors, distances."""
    figure, axes = panels(1, 3, width=13.5)
    names = [str(m) for m in data["method"]]
    for ax, key, what in zip(
        axes[0],
        ("symplectic", "error", "from_strang"),
        ("change of the symplectic form in a step", "error after 1 s", "distance from Strang after 1 s"),
        strict=True,
    ):
        lines = {m: e for m, e in zip(names, data[key], strict=True) if key != "from_strang" or m != "Strang"}
        loglog(ax, data["step"], lines, "step (s)", what)
        ax.minorticks_off()
        ax.set_xticks(data["step"], [f"{h:g}" for h in data["step"]])
    return figure
