"""The splitting as it is printed: sense of its rotations, and order

Errors of the rates by the splitting with rotation matrices that turn a vector clockwise, against the step:
after one step, and after 10 s; dotted: slopes 2 and 3. Body and start as in task 1.
"""

import numpy as np

from polhode.papers._figure import Figure, loglog, panels, ticks_at
from polhode.papers._measure import slope
from polhode.papers.handout._common import BODY, MOTION, OMEGA, integrated
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

WHERE = "before task 3"
STEPS = (0.1, 0.05, 0.025, 0.0125)
T_END = 10.0


def turned(m: Floats, axis: int, angle: float) -> Floats:
    """A vector turned clockwise about an axis."""
    s, c = np.sin(angle), np.cos(angle)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    out = m.copy()
    out[j], out[k] = c * m[j] + s * m[k], c * m[k] - s * m[j]
    return out


def splitting(dt: float, count: int, sense: int = 1) -> Floats:
    """The rates after some steps by the printed product; with sense -1, by matrices that turn the other way."""
    m = BODY.momentum(np.array(OMEGA))
    for _ in range(count):
        for axis, share in ((0, 0.5), (1, 0.5), (2, 1.0), (1, 0.5), (0, 0.5)):
            m = turned(m, axis, sense * share * dt * m[axis] / BODY.moments[axis])
    return np.asarray(BODY.rate(m))


def run(size: Size) -> Data:
    """Computes both senses, and errors after one step and after many. Both sizes compute the same."""
    local = [np.abs(splitting(h, 1) - MOTION.at(h).omega).max() for h in STEPS]
    end = MOTION.at(T_END).omega
    whole = [np.abs(splitting(h, round(T_END / h)) - end).max() for h in STEPS]
    h = STEPS[-1]
    after = [splitting(h, round(1 / h), sense) for sense in (1, -1)]
    before, later = MOTION.at([-1.0, 1.0]).omega
    method = integrated("MR2", h, 1.0).omega[-1]
    return Data(
        step=named("step", STEPS, "step", "s"),
        local=named("step", local, "error of the rates after one step", "rad/s"),
        whole=named("step", whole, f"error of the rates after {T_END:g} s", "rad/s"),
        sense=named("sense", [1, -1], "clockwise, counter-clockwise"),
        forward=named("sense", [np.abs(a - later).max() for a in after], "difference from t = 1 s", "rad/s"),
        backward=named("sense", [np.abs(a - before).max() for a in after], "difference from t = -1 s", "rad/s"),
        method=named("sense", [np.abs(a - method).max() for a in after], "difference from MR2 at 1 s", "rad/s"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the sense of the rotations and the order."""
    local, whole = (slope(data["step"], data[name]) for name in ("local", "whole"))
    forward, backward = data["forward"], data["backward"]
    return [
        claim(
            "The rotation matrices are the clockwise ones",
            paper="clockwise",
            measured=f"after 1 s off by {forward[0]:.1e} rad/s, and {data['method'][0]:.0e} from MR2; the other way "
            f"off by {forward[1]:.2f}, but only by {backward[1]:.1e} from the state 1 s before the start",
            holds=bool(forward[0] < 1e-2 and data["method"][0] < 1e-13),
            test="if the matrices turn vectors clockwise, the scheme is MR2 to round-off; the others run back in time",
        ),
        claim(
            "A step is right up to O(dt^3)",
            paper="3",
            measured=f"slope {local:.2f} for one step, {whole:.2f} for a given time",
            holds=abs(local - 3) < 0.1 and abs(whole - 2) < 0.1,
            test="3 within 0.1 for one step; that makes a method of order 2",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws errors against steps."""
    figure, axes = panels(width=6.0)
    curves = {"one step": data["local"], "10 s": data["whole"]}
    loglog(axes[0, 0], data["step"], curves, "step (s)", "error of the rates (rad/s)", slopes=(2, 3))
    ticks_at(axes[0, 0], STEPS)
    return figure
