"""What the title, the introduction and section 1 say of the schemes

Left: by how much one step changes the symplectic form of the phase space, attitude included, for a body with moments
1, 2, 3 (largest entry; numerical derivatives); RKF5, the paper's RK, is not symplectic. Middle: the product of two
exponentials of matrices against exp(A + B), as (5) is printed, and against exp(C) with C of (6), by the size of A and
B. Right: errors of LS and of TW1, Touma and Wisdom's map, after 12 s, for bodies with moments 1, 1 + eps, 1.5 + eps / 2
far beyond nearly symmetric ones. Dotted: slopes 2 and 5, and 1 and 2. The paper has no such pictures.
"""

from functools import partial

import numpy as np
from scipy.linalg import expm

from polhode import simulate
from polhode.body import Body
from polhode.papers._figure import Figure, loglog, panels, ticks_at
from polhode.papers._maps import defect
from polhode.papers._measure import end_states, free_end, hat, pose, slope, timed
from polhode.papers.khlistunova2003._common import BODY, OMEGA, STEP
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

FAR, START = Body([1.0, 2.0, 3.0]), (0.3, 0.2, 0.4)
FORMS, FORM_STEPS = ("TW1", "LS", "SSh", "LS1", "RKF5"), (1.6, 0.8, 0.4)
NOISE = 1e-11
"""Above the noise of the numerical derivatives, below what is not symplectic at the shortest step."""
SIZES = (0.4, 0.2, 0.1, 0.05)
EPSILONS = (0.1, 0.25, 0.5, 0.75, 0.9, 1.5)
MAPS, STEPS, END = ("TW1", "LS", "SSh"), (0.2, 0.1, 0.05), 12.0
TIMED = {"LS": "LS", "SS": "SSh", "elliptic functions": "Exact"}
COUNT = 100_000


def run(size: Size) -> Data:
    """Computes defects, exponentials, errors, and times."""
    task = pose(FAR, None, START)
    count = 20 if size.quick else COUNT
    jobs = {
        name: partial(
            simulate, BODY, omega=OMEGA, t_span=(0.0, count * STEP), step=STEP, method=m, t_eval=[count * STEP]
        )
        for name, m in TIMED.items()
    }
    seconds = timed(jobs, rounds=1 if size.quick else 9)
    return Data(
        form=named("form", FORMS, "methods whose symplectic defect is measured"),
        form_step=named("form_step", FORM_STEPS, "steps", "s"),
        defect=named("form form_step", [[defect(task, m, h) for h in FORM_STEPS] for m in FORMS], "symplectic defect"),
        size=named("size", SIZES, "norm of A and B"),
        exponential=named("exponent size", np.transpose([_exponentials(x) for x in SIZES]), "distance of the product"),
        map=named("map", MAPS, "methods"),
        step=named("step", STEPS, "steps", "s"),
        eps=named("eps", EPSILONS, "I2 / I1 - 1"),
        error=named("eps map step", [_errors(eps) for eps in EPSILONS], "relative error of momentum and attitude"),
        timed=named("timed", list(TIMED), "what is timed"),
        nanoseconds=named("timed", [1e9 * s / count for s in seconds.values()], "time of a step", "ns"),
    )


def _exponentials(norm: float) -> tuple[float, float]:
    """The distance of exp(A) exp(B) from exp(A + B), and from exp(C) with the terms that (6) prints."""
    a, b = (norm * hat(v) for v in ((0.6, 0.0, 0.8), (0.36, 0.8, 0.48)))

    def bracket(*x: Floats) -> Floats:
        return x[0] if len(x) == 1 else x[0] @ bracket(*x[1:]) - bracket(*x[1:]) @ x[0]

    third = (bracket(a, a, b) + bracket(b, b, a)) / 12
    c = a + b + bracket(a, b) / 2 + third + bracket(a, b, b, a) / 24
    product = expm(a) @ expm(b)
    return float(np.linalg.norm(product - expm(a + b))), float(np.linalg.norm(product - expm(c)))


def _errors(eps: float) -> list[list[float]]:
    body = Body([1.0, 1.0 + eps, 1.5 + eps / 2])
    m, attitude = free_end(body, END, omega=START)
    found = [end_states(body, None, method, STEPS, END, omega=START) for method in MAPS]
    return [
        [
            float(
                np.linalg.norm(s.momentum[-1] - m) / np.linalg.norm(m)
                + np.linalg.norm(s.attitude[-1].as_matrix() - attitude)
            )
            for s in row
            if s is not None
        ]
        for row in found
    ]


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the four statements, and the time of elliptic functions."""
    form = dict(zip(FORMS, data["defect"].max(axis=1), strict=True))
    printed, right = (slope(data["size"], row) for row in data["exponential"])
    orders = np.array([[slope(data["step"], e) for e in row] for row in data["error"]])
    first, second = orders[:, 0], orders[:, 1:]
    inside = data["eps"] < 1
    errors = data["error"][:, 1, -1]
    leapfrog, simpson, elliptic = data["nanoseconds"]
    return [
        claim(
            "The schemes are symplectic",
            source="title, and sec. 3 after (24)",
            paper="symplectic",
            measured="largest change of the form in one step: "
            + ", ".join(f"{m} {form[m]:.0e}" for m in FORMS)
            + f", for h up to {data['form_step'].max():g}",
            holds=bool(max(form["TW1"], form["LS"], form["SSh"]) < NOISE < form["RKF5"]),
            test=f"below {NOISE:.0e}, the noise of the derivatives, with attitude and momentum, while RKF5 is above."
            " With the shortened sine and cosine (LS1) it is lost",
        ),
        claim(
            "The product of the exponentials of A and B is exp(C), with C of (6)",
            source="sec. 1, (5) and (6)",
            paper="exp(A + B) = exp(C)",
            measured=f"exp(A) exp(B) misses exp(A + B) by order {printed:.2f}, exp(C) by order {right:.2f} in the size"
            " of A and B",
            holds=printed > 4.8,
            test="what is left goes like the fifth power, the first that (6) leaves out",
            reading="if the left side of (5) is read as exp(A) exp(B); then what is left goes like the fifth power, the"
            " first that (6) leaves out",
            holds_when_read_so=bool(4.8 < right < 5.2 and printed < 2.2),
        ),
        claim(
            "Touma and Wisdom's map is accurate to the first order of the step",
            source="introduction, on [3]",
            paper="1",
            measured=f"orders {first.min():.2f} to {first.max():.2f} for eps from {data['eps'][0]:g} to"
            f" {data['eps'][-1]:g}",
            holds=bool((np.abs(first - 1) < 0.15).all()),
            test="1 within 0.15 for every asymmetry",
        ),
        claim(
            "The splitting is valid not only for eps << 1 but for eps < 1 as well",
            source="sec. 2, after (17)",
            paper="eps < 1",
            measured=f"orders of LS and SS {second.min():.2f} to {second.max():.2f}; error of LS with h ="
            f" {data['step'][-1]:g}: "
            + ", ".join(f"{e:.0e} (eps = {x:g})" for e, x in zip(errors, data["eps"], strict=True)),
            holds=bool((np.abs(second[inside] - 2) < 0.2).all()),
            test="order 2 within 0.2 for every eps below 1; the one beyond shows that 1 is no limit either",
        ),
        claim(
            "The calculation of Jacobi's functions can be time consuming",
            source="introduction",
            paper="symplectic schemes are the faster way",
            measured=f"a step with its attitude: LS {leapfrog:.0f} ns, SS {simpson:.0f} ns, exact by elliptic functions"
            f" {elliptic:.0f} ns on this machine",
            holds=bool(elliptic > 2 * max(leapfrog, simpson)),
            test="a step by elliptic functions takes more than twice one of LS or SS",
            otherwise="Not here: an exact step takes about as long as one of the two schemes, and one such step reaches"
            " any time. It may have been so on the processor that the paper has in mind",
            late="times are those of compiled code, at the full size",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws defects, exponentials and errors."""
    figure, axes = panels(1, 3, width=15.0, height=4.2)
    left, middle, right = axes[0]
    forms = {str(m): row for m, row in zip(data["form"], data["defect"], strict=True)}
    loglog(left, data["form_step"], forms, "step (s)", "change of the symplectic form")
    loglog(
        middle, data["size"], dict(zip(("exp(A + B)", "exp(C)"), data["exponential"], strict=True)),
        "size of A and B", "distance of exp(A) exp(B)", slopes=(2, 5),
    )  # fmt: skip
    curves = {f"{m}, eps = {data['eps'][k]:g}": data["error"][k, j] for j, m in enumerate(MAPS[:2]) for k in (0, 2, 4)}
    loglog(right, data["step"], curves, "step (s)", "error after 12 s", slopes=(1, 2))
    for ax, x in ((left, data["form_step"]), (middle, data["size"]), (right, data["step"])):
        ticks_at(ax, x)
    return figure
