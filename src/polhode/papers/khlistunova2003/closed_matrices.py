"""The closed matrices with the angles at the start of the step

The paper multiplies its rotations out and says that the matrices depend on the step and on the momentum at
its start. Left: the error of the angular velocity after 24 s if all angles come from there ("at the start"), and if
each comes from the momentum that its rotation meets ("in turn"), body and start as in figure 1; dotted: slopes 1 and 2.
Right: the deviation of the energy over 100 minutes with h = 0.1 s.
"""

import math
from collections.abc import Callable

import numpy as np

from polhode.papers._figure import COLOURS, Figure, labelled, loglog, panels, ticks_at
from polhode.papers._measure import slope
from polhode.papers.khlistunova2003 import _common as common
from polhode.papers.khlistunova2003._momentum import leapfrog, rates, simpson
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

STEPS = (0.8, 0.4, 0.2, 0.1)
END = 24.0
ROUND_OFF = 1e-14
MOMENTS = (40.5, 40.6, 50.0)
Matrix = Callable[[float, float], Floats]


def leapfrog_matrix(alpha: float, beta: float) -> Floats:
    """The components after (26)."""
    sa, ca = math.sin(alpha), math.cos(alpha)
    s, c = math.sin(beta / 2), math.cos(beta / 2)
    p12, p13, p23 = sa * c, sa * s, (ca + 1) * math.sin(beta) / 2
    p22, p33 = (1 + ca) * c * c - 1, (1 + ca) * c * c - ca
    return np.array([[ca, p12, p13], [-p12, p22, p23], [p13, -p23, p33]])


def simpson_matrix(alpha: float, beta: float) -> Floats:
    """The components after (28), with P12 = -P21 where P12 = -P12 is printed."""
    sa, ca = math.sin(alpha), math.cos(alpha)
    s, c = math.sin(beta / 3), math.cos(beta / 3)
    s2, c2 = math.sin(2 * beta / 3), math.cos(2 * beta / 3)
    s4, c4 = math.sin(4 * beta / 3), math.cos(4 * beta / 3)
    twice = math.sin(2 * alpha) / 2
    p11 = ca * ca - sa * sa * c4
    p12 = twice * c * (1 + c4) - s * s4 * sa
    p13 = twice * s * (1 + c4) + c * s4 * sa
    p22 = (-sa * sa + c4 * ca * ca) * c * c - s4 * s2 * ca - c4 * s * s
    p23 = s2 / 2 * (-sa * sa + c4 * ca * ca + c4) + s4 * c2 * ca
    p33 = (sa * sa - c4 * ca * ca) * s * s - s4 * s2 * ca + c4 * c * c
    return np.array([[p11, p12, p13], [-p12, p22, p23], [p13, -p23, p33]])


def about_x(angle: float) -> Floats:
    """The matrix (23)."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[1, 0, 0], [0, c, s], [0, -s, c]])


def about_z(angle: float) -> Floats:
    """The matrix (20)."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])


def leapfrog_product(alpha: float, beta: float) -> Floats:
    """The product (26)."""
    product: Floats = about_x(beta / 2) @ about_z(alpha) @ about_x(beta / 2)
    return product


def simpson_product(alpha: float, beta: float) -> Floats:
    """The product (28)."""
    outer, turn = about_x(beta / 3), about_z(alpha)
    product: Floats = outer @ turn @ about_x(4 * beta / 3) @ turn @ outer
    return product


def at_the_start(matrix: Matrix, h: float, count: int) -> Floats:
    """The momenta after each application of a closed matrix, with angles from the momentum at its start."""
    z, x = rates(MOMENTS)
    m = np.empty((count + 1, 3))
    m[0] = common.BODY.momentum(common.OMEGA)
    for k in range(count):
        m[k + 1] = matrix(z * m[k, 2] * h, x * m[k, 0] * h) @ m[k]
    return m


def in_turn(scheme: Callable[..., Callable[..., tuple[float, float, float]]], h: float, count: int) -> Floats:
    """The momenta by rotations one after the other, each with the angle of the momentum that it meets."""
    step = scheme(MOMENTS, h)
    rows = [tuple(common.BODY.momentum(common.OMEGA).tolist())]
    for _ in range(count):
        rows.append(step(rows[-1]))
    return np.array(rows)


VARIANTS: dict[str, tuple[Callable[[float, int], Floats], int]] = {
    "LS at the start": (lambda h, n: at_the_start(leapfrog_matrix, h, n), 1),
    "LS in turn": (lambda h, n: in_turn(leapfrog, h, n), 1),
    "SS at the start": (lambda h, n: at_the_start(simpson_matrix, h, n), 2),
    "SS in turn": (lambda h, n: in_turn(simpson, h, n), 2),
}
"""The functions that compute momenta, and the number of steps that one application advances."""


def run(size: Size) -> Data:
    """Computes entries of the matrices, errors against the step, and the energy over a long run."""
    angles = np.random.default_rng(2003).uniform(-np.pi, np.pi, (100, 2))
    pairs = ((leapfrog_matrix, leapfrog_product), (simpson_matrix, simpson_product))
    entries = [max(common.largest(printed(*a) - product(*a)) for a in angles) for printed, product in pairs]
    p12 = [max(abs(product(*a)[0, 1]) for a in angles) for _, product in pairs]
    exact = common.exactly(END)
    errors = [
        [common.largest(np.degrees(common.BODY.rate(way(h, round(END / h / k))[-1])) - exact) for h in STEPS]
        for way, k in VARIANTS.values()
    ]
    t_end = common.MINUTE if size.quick else common.HUNDRED_MINUTES
    t = np.arange(0.0, t_end + 0.5, 1.0)
    long = [
        way(common.STEP, round(t_end / common.STEP / k))[:: round(1 / common.STEP / k)] for way, k in VARIANTS.values()
    ]
    energy = [(m * common.BODY.rate(m)).sum(axis=1) / 2 for m in long]
    return Data(
        matrix=named("matrix", ["LS", "SS"], "closed matrices"),
        entries=named("matrix", entries, "largest difference from the product of rotations, of 100 pairs of angles"),
        p12=named("matrix", p12, "largest P12 of the product of rotations"),
        way=named("way", list(VARIANTS), "how the momentum is advanced"),
        step=named("step", STEPS, "step", "s"),
        error=named("way step", errors, f"error of the angular velocity after {END:g} s", "deg/s"),
        time=named("time", t, "time", "s"),
        energy=named("way time", [e - e[0] for e in energy], "deviation of the kinetic energy", "J"),
        late=named(
            "way",
            [common.largest(np.degrees(common.BODY.rate(m[-1])) - common.exactly(t_end)) for m in long],
            "error of the angular velocity at the end of the long run",
            "deg/s",
        ),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the matrices are the products, and whether they make the schemes."""
    orders = {way: slope(data["step"], e) for way, e in zip(VARIANTS, data["error"], strict=True)}
    late = dict(zip(VARIANTS, data["late"], strict=True))
    energy = {way: common.largest(e) for way, e in zip(VARIANTS, data["energy"], strict=True)}
    ls, ss = data["entries"]
    return [
        claim(
            "The components of the matrix of LS are those of the product of three rotations",
            source="after (26)",
            paper="equal",
            measured=f"largest difference {ls:.1e}",
            holds=bool(ls < ROUND_OFF),
            test="equal to round-off for 100 random pairs of angles",
        ),
        claim(
            "The components of the matrix of SS are those of the product of five rotations",
            source="after (28)",
            paper="equal, with P12 = -P12",
            measured=f"largest difference {ss:.1e} with P12 = -P21; P12 itself is up to {data['p12'][1]:.1f}",
            holds=bool(ss < ROUND_OFF and data["p12"][1] < ROUND_OFF),
            test="equal to round-off for 100 random pairs of angles, and P12 = -P12, so zero",
            reading="Equal to round-off for 100 random pairs of angles if P12 = -P12 is read as P12 = -P21",
            holds_when_read_so=bool(ss < ROUND_OFF),
        ),
        *(
            claim(
                f"The closed matrix of {name}, which depends on the step and on the momentum at its start, makes the "
                "scheme",
                source=source,
                paper="a scheme of second order or better",
                measured=f"order {orders[start]:.2f} with all angles from the start, {orders[turn]:.2f} with each from "
                f"the momentum that its rotation meets; after {data['time'][-1] / common.MINUTE:g} min with h = "
                f"{common.STEP} s off by {late[start]:.1e} instead of {late[turn]:.1e} deg/s, energy by "
                f"{energy[start]:.1e} instead of {energy[turn]:.1e} J",
                holds=orders[start] > 1.9,
                test="order 2 or more with all angles from the start of the step",
                reading="Holds if each angle is that of the momentum which its rotation meets; the operations that the "
                "paper counts are those of this version. With all angles from the start the order is 1",
                holds_when_read_so=orders[turn] > 1.9,
            )
            for name, source in (("LS", "after (26)"), ("SS", "after (28)"))
            for start, turn in [(f"{name} at the start", f"{name} in turn")]
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws errors against steps, and energies over time."""
    figure, axes = panels(1, 2, width=11.0, height=4.2)
    left, right = axes[0]
    errors = dict(zip(VARIANTS, data["error"], strict=True))
    loglog(left, data["step"], errors, "step h (s)", "error (deg/s)", slopes=(1, 2))
    for k, (way, energy) in enumerate(zip(VARIANTS, data["energy"], strict=True)):
        look = {"color": COLOURS[k], "linewidth": 0.7}
        right.semilogy(data["time"][1:] / common.MINUTE, np.maximum(np.abs(energy[1:]), 1e-17), label=way, **look)
    labelled(right, "time (min)", "|dH| (J)", legend=False)
    right.set_ylim(bottom=1e-15)
    right.legend(ncols=2, fontsize=8, loc="center", bbox_to_anchor=(0.55, 0.7))
    ticks_at(left, data["step"])
    return figure
