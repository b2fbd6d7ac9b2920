"""The paper's body and starts, and how errors of invariants are measured: in units of eps, beyond double precision."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from polhode.api.ensemble import Ensemble, ensemble
from polhode.body import Body
from polhode.methods import Method
from polhode.papers._figure import COLOURS, Figure, labelled, panels
from polhode.papers._measure import slope
from polhode.papers.study import Data, Floats, Size, named

EPS = 2.0**-52
WATER = Body.named("water")
START = (0.5, 0.2, 0.71**0.5)
"""The momentum (4), of norm 1."""
H = 0.01
TRAJECTORIES, DRAWN, STEPS = 1000, 200, 1_000_000
"""How many trajectories count, and how many of them are drawn: the two numbers of the captions."""
SPREAD = 0.01
"""Standard deviation of the starts about (4), before they are scaled to norm 1. The paper names none; `drift` shows
what depends on it."""
ROWS = 100
"""The number of times at which errors are drawn."""
QUANTITIES = ("H", "C", "L1", "L2", "L3")
"""Energy, half the square of the momentum, and the components of the momentum in space."""


def scale(size: Size, count: int = TRAJECTORIES) -> tuple[int, int, int]:
    """Trajectories, steps and rows: the paper's, or few for the quick size."""
    return (4, 200, 10) if size.quick else (count, STEPS, ROWS)


def starts(count: int, spread: float = SPREAD, seed: int = 2008) -> Floats:
    """Momenta of norm 1 near the paper's; the first is the paper's own."""
    m = np.array(START) + spread * np.random.default_rng(seed).normal(size=(count, 3))
    m[0] = START
    return np.asarray(m / np.linalg.norm(m, axis=1)[:, None])


# --- errors


def invariants(q: Any, m: Any, moments: Any) -> Any:
    """H, |m|^2 / 2 and R m, for quaternions of any norm, in the precision of the arguments."""
    w, u = q[..., :1], q[..., 1:]
    along = (u * m).sum(axis=-1, keepdims=True)
    square = (u * u).sum(axis=-1, keepdims=True)
    space = ((w * w - square) * m + 2 * along * u + 2 * w * np.cross(u, m)) / (w * w + square)
    energy = (m * m / moments).sum(axis=-1, keepdims=True) / 2
    return np.concatenate([energy, (m * m).sum(axis=-1, keepdims=True) / 2, space], axis=-1)


def changes(found: Ensemble) -> Floats:
    """How much every invariant has changed since the start, in units of eps: trajectory, row, quantity.

    Evaluated in extended precision (64 bits, where the machine has it), so that what is seen are errors of the states
    and not of the sums of squares. A method that carries low halves of its state is judged by both halves in the last
    row; the rows before are rounded to doubles, which blurs them by some tenths of eps.
    """
    wide = np.longdouble
    q, m = found.quaternion.astype(wide), found.momentum.astype(wide)
    low_q, low_m = low_halves(found)
    if found.plan.method.unscaled:
        q[:, -1], m[:, -1] = found.last_quaternion.astype(wide) + low_q, found.last_momentum.astype(wide) + low_m
    moments = np.broadcast_to(found.start.bodies.moments, (len(found), 3)).astype(wide)[:, None]
    all_rows = invariants(q, m, moments)
    return np.asarray((all_rows - all_rows[:, :1]) / EPS, dtype=np.float64)


def low_halves(found: Ensemble) -> tuple[Any, Any]:
    """The low halves of quaternions and momenta at the end; zero if the method carries none."""
    name, low = found.plan.method.name, found.memory.astype(np.longdouble)
    if name == "ExactPolished":
        return low[:, 3:7], low[:, :3]
    if name.endswith("(compensated=true)"):
        return low[:, :4], low[:, 4:7]
    return 0.0, 0.0


def errors(
    method: str | Method,
    momenta: Floats,
    steps: int,
    rows: int = 1,
    *,
    body: Body | Sequence[Body] = WATER,
    step: float = H,
    attitude: Any = None,
) -> Floats:
    """The changes of the invariants in runs from these momenta, at `rows` times and, first, at the start."""
    moments = np.array([b.moments for b in ([body] if isinstance(body, Body) else body)])
    found = ensemble(
        body, omega=momenta / moments, attitude=attitude, t_span=(0.0, steps * step), step=step, method=method,
        every=steps // rows,
    )  # fmt: skip
    if not found.success.all():
        raise RuntimeError(
            f"{int((~found.success).sum())} runs failed, the first: {next(iter(found.messages.values()))}"
        )
    return changes(found)


@cache
def trajectories(method: str, size: Size, count: int = TRAJECTORIES) -> Floats:
    """Runs the test of figures 1 and 2 for a method; the result is kept for the figures that share it."""
    count, steps, rows = scale(size, count)
    return errors(method, starts(count), steps, rows)


SHOWN = {"energy": 0, "momentum": 2}
"""Quantities that are drawn over time, and their places in `trajectories`."""
SAID = {"energy": "energy", "momentum": "first component of the momentum in space"}


def drawn_trajectories(methods: Mapping[str, str], size: Size, count: int = TRAJECTORIES) -> Data:
    """What figure 2 draws, by short names of methods: energy and momentum over time, and all at the end."""
    _, steps, rows = scale(size)
    return Data(
        t=named("time", np.linspace(0.0, steps * H, rows + 1), "time", "s"),
        **{
            f"{name}_{what}": named(
                "trajectory time", trajectories(method, size, count)[:, :, k], f"{SAID[what]}, {method}", "eps"
            )
            for name, method in methods.items()
            for what, k in SHOWN.items()
        },
        **{
            f"{name}_end": named(
                "trajectory quantity", trajectories(method, size, count)[:, -1], f"all at the end, {method}", "eps"
            )
            for name, method in methods.items()
        },
    )


# --- walks and drifts


class Walk(NamedTuple):
    """Holds the statistics of errors after N steps, in units of eps sqrt(N)."""

    mean: Floats
    deviation: Floats
    """Standard deviation about zero, which a drift would add to."""
    scores: Floats
    """The mean in standard errors: beyond 3 there is a drift."""


def walk(last: Floats, steps: int) -> Walk:
    """The statistics over the starts of the errors in the last row."""
    x = last / np.sqrt(steps)
    mean = np.asarray(x.mean(axis=0))
    error = np.asarray(x.std(axis=0, ddof=1) / np.sqrt(len(x)))
    scores = np.divide(mean, error, out=np.zeros_like(mean), where=error > 0)  # no error at all: no drift
    return Walk(mean, np.sqrt((x * x).mean(axis=0)), scores)


def outlying(last: Floats) -> Any:
    """Which errors no walk explains: beyond 6 deviations, estimated from the median because of outliers."""
    return np.abs(last) > 6 * np.median(np.abs(last)) / 0.6745


def growth(x: Floats) -> float:
    """The power of time with which the errors of trajectories (first axis) grow: 1/2 for a walk, 1 for a drift.

    From the last nine tenths of the time: over less than a decade a deviation of 200 starts tells it to some 0.03, one
    of 1,000 to some 0.015.
    """
    rows = x.shape[1] - 1
    k = np.arange(rows // 10, rows + 1)
    return slope(k, np.sqrt((x[:, k] ** 2).mean(axis=0)))


LONG_RUNS = "walks and drifts show only in long runs"
"""Why the quick size judges no claim on them."""


# --- pictures

Corner = Literal["upper left", "lower left"]


def bundle(axes: Axes, t: Any, x: Any, unit: float, ylabel: str, title: str, legend: Corner = "upper left") -> None:
    """Draws trajectories, their mean and deviation; those that no walk explains do not count, and may leave it."""
    axes.plot(t, x[:DRAWN].T * EPS / unit, color="0.78", linewidth=0.35, rasterized=True)
    alien = outlying(x[:, -1])
    if alien.any():
        x = x[~alien]
        reach = 1.1 * np.abs(x).max() * EPS / unit
        axes.set_ylim(-reach, reach)
        axes.text(
            0.98, 0.02, f"{alien.sum()} not counted", transform=axes.transAxes, ha="right", va="bottom", fontsize=8
        )
    mean, deviation = x.mean(axis=0) * EPS / unit, x.std(axis=0) * EPS / unit
    axes.plot(t, mean, color=COLOURS[1], linewidth=2.4, label="mean")
    for sign in (-1, 1):
        axes.plot(t, sign * deviation, color=COLOURS[0], linewidth=2.4, label="± deviation" if sign > 0 else None)
    labelled(axes, "time (s)", ylabel, title)
    axes.legend(fontsize=8, loc=legend, framealpha=0.85)


def drawn_bundles(
    data: Data, units: Mapping[str, float], titles: Mapping[tuple[str, str], str], cut: str = ""
) -> Figure:
    """Draws energy and momentum over time, a row for each way; of `cut` without the last row, which has low halves."""
    figure, axes = panels(2, 2, width=11.5, height=8.0)
    labels = {"energy": "$H(t) - H(0)$", "momentum": "$(Qy)_1(t) - (Qy)_1(0)$"}
    for row, (way, unit) in zip(axes, units.items(), strict=True):
        for ax, what in zip(row, SHOWN, strict=True):
            label = rf"{labels[what]}   ($10^{{{np.log10(unit):.0f}}}$)"
            rows = slice(None, -1) if way == cut else slice(None)
            bundle(ax, data["t"][rows], data[f"{way}_{what}"][:, rows], unit, label, titles[way, what])
    return figure
