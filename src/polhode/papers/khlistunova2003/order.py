"""The order of the leapfrog scheme and of Simpson's

Left and middle: the error of the momentum, relative to its length, after 24 s for the body of figure 1 and
after 6 s for one far from symmetric, with moments 1, 2, 3, started at 0.3, 0.2, 0.4 rad/s. Right: the error at a fixed
step of bodies with moments 1, 1 + eps, 1.25 against their asymmetry eps, started at 0.3, 0.2, 0.4 rad/s, after 12 s;
there and in the middle one application of SS and of LS advance the same. Dotted: slopes 2 and 4, and 1 and 2. The paper
proves no order; these problems are chosen here, and any others show the same slopes.
"""

from collections.abc import Sequence

import numpy as np

from polhode.body import Body
from polhode.papers._figure import Figure, loglog, panels, ticks_at
from polhode.papers._measure import end_states, free_end, slope
from polhode.papers.khlistunova2003._common import BODY, LABELS, OMEGA
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

OWN_STEPS = (0.8, 0.4, 0.2, 0.1)
OWN_END = 24.0
FAR = Body([1.0, 2.0, 3.0])
FAR_START = (0.3, 0.2, 0.4)
FAR_STEPS = (0.3, 0.15, 0.075, 0.0375)
FAR_END = 6.0
ASYMMETRIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
NEAR_STEP = 0.5
NEAR_STEPS = (1.0, 0.5, 0.25)
"""Steps for the order at the least asymmetry: with shorter ones there is nothing but round-off."""
NEAR_END = 12.0
SCHEMES = ("LS", "SS", "SSh")


def run(size: Size) -> Data:
    """Computes errors against steps and asymmetries. The runs are short, so both sizes compute the same."""
    near = [_errors(_nearly(eps), FAR_START, (NEAR_STEP,), NEAR_END)[:, 0] for eps in ASYMMETRIES]
    return Data(
        method=named("method", list(SCHEMES), "schemes: SS advances 2h at once, SSh h"),
        step=named("step", OWN_STEPS, "steps for the paper's body", "s"),
        own=named("method step", _errors(BODY, OMEGA, OWN_STEPS, OWN_END), "relative error of the momentum"),
        far_step=named("step", FAR_STEPS, "steps for a body far from symmetric", "s"),
        far=named("method step", _errors(FAR, FAR_START, FAR_STEPS, FAR_END), "relative error of the momentum"),
        asymmetry=named("asymmetry", ASYMMETRIES, "I2 / I1 - 1"),
        near=named("method asymmetry", np.transpose(near), "relative error of the momentum"),
        near_step=named("near_step", NEAR_STEPS, "steps for the least asymmetry", "s"),
        least=named(
            "method near_step",
            _errors(_nearly(ASYMMETRIES[-1]), FAR_START, NEAR_STEPS, NEAR_END),
            "relative error of the momentum at the least asymmetry",
        ),
    )


def _nearly(eps: float) -> Body:
    return Body([1.0, 1.0 + eps, 1.25])


def _errors(body: Body, omega: Sequence[float] | Floats, steps: Sequence[float], t_end: float) -> Floats:
    """The errors of the momentum at the end, relative to its length: a row for each scheme."""
    exact = free_end(body, t_end, omega=omega)[0]
    rows = [end_states(body, None, m, steps, t_end, omega=omega) for m in SCHEMES]
    ends = np.array([[run.momentum[-1] for run in row if run is not None] for row in rows])
    error: Floats = np.linalg.norm(ends - exact, axis=2) / np.linalg.norm(exact)
    return error


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the orders."""
    steps, far_steps = data["step"], data["far_step"]
    own = {m: slope(steps, e) for m, e in zip(SCHEMES, data["own"], strict=True)}
    far = {m: slope(far_steps, e) for m, e in zip(SCHEMES, data["far"], strict=True)}
    by_asymmetry = {
        m: np.diff(np.log(e)) / np.diff(np.log(data["asymmetry"])) for m, e in zip(SCHEMES, data["near"], strict=True)
    }
    small = {m: slope(data["near_step"], e) for m, e in zip(SCHEMES, data["least"], strict=True)}
    shrinks = data["own"][1] / data["own"][0]
    return [
        claim(
            "The leapfrog scheme is accurate to O(h^2)",
            source="sec. 3, after (25)",
            paper="2",
            measured=f"slope {own['LS']:.2f} for the paper's body, {far['LS']:.2f} far from symmetry",
            holds=abs(own["LS"] - 2) < 0.1 and abs(far["LS"] - 2) < 0.1,
            test="2 within 0.1 for both bodies",
        ),
        claim(
            "Simpson's scheme is accurate to O(h^3), of third order",
            source="abstract, and sec. 3, after (27)",
            paper="3",
            measured=f"slope {own['SS']:.2f} for the paper's body, {far['SS']:.2f} far from symmetry",
            holds=abs(own["SS"] - 3) < 0.1 and abs(far["SS"] - 3) < 0.1,
            test="3 within 0.1 for both bodies",
            otherwise=f"The order is 2 ({own['SS']:.2f} and {far['SS']:.2f}). The scheme is symmetric, so its order is "
            "even; Simpson's rule removes the error of second order only to first order in the asymmetry",
        ),
        claim(
            "To first order in the perturbation, a scheme made from a quadrature has the order of its error: 4 for "
            "Simpson's rule",
            source="sec. 1, after (12)",
            paper="that of the quadrature",
            measured=f"at eps = {data['asymmetry'][-1]:g} slopes LS {small['LS']:.2f}, SS {small['SSh']:.2f}; against "
            f"eps LS {by_asymmetry['LS'][-1]:.2f} throughout, SS {by_asymmetry['SSh'][1]:.2f} while eps >> h^2, "
            f"{by_asymmetry['SSh'][-1]:.2f} when eps << h^2",
            holds=abs(small["SSh"] - 4) < 0.2 and abs(by_asymmetry["SSh"][-1] - 1) < 0.2,
            test="at the least asymmetry the error of SS goes like eps h^4: slopes 1 and 4 within 0.2",
        ),
        claim(
            "The difference between the errors of LS and SS agrees with their orders and the step",
            source="sec. 4, on figs. 4-6",
            paper="one order of the step between them",
            measured=f"SS / LS = {', '.join(f'{r:.5f}' for r in shrinks)} for h = {', '.join(f'{h:g}' for h in steps)}",
            holds=abs(slope(steps, shrinks) - 1) < 0.2,
            test="SS / LS shrinks like the first power of the step",
            otherwise="The ratio does not depend on the step: both schemes are of order 2, and what makes SS better is "
            "the small asymmetry of the body",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws error against step for two bodies, and against asymmetry."""
    figure, axes = panels(1, 3, width=13.0, height=4.0)
    own, far, near = axes[0]
    loglog(own, data["step"], _curves(data["own"], SCHEMES), "step h (s)", "relative error of M", slopes=(2,))
    single = ("LS", "SSh")
    rows = [SCHEMES.index(m) for m in single]
    loglog(far, data["far_step"], _curves(data["far"][rows], single), "step h (s)", "", slopes=(2,))
    loglog(near, data["asymmetry"], _curves(data["near"][rows], single), "asymmetry eps", "", slopes=(1, 2))
    near.set_ylim(0.3 * data["near"].min(), 10 * data["near"].max())
    ticks_at(own, data["step"])
    ticks_at(far, data["far_step"])
    for ax, title in (
        (own, "the paper's body"),
        (far, "moments 1, 2, 3"),
        (near, "moments 1, 1 + eps, 1.25; h = 0.5 s"),
    ):
        ax.set_title(title, fontsize=10)
    return figure


def _curves(rows: Floats, methods: Sequence[str]) -> dict[str, Floats]:
    return {LABELS[m]: row for m, row in zip(methods, rows, strict=True)}
