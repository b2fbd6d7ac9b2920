"""The paper's body, its start, and the runs that several figures share."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from polhode import simulate
from polhode.body import Body
from polhode.free.free_motion import FreeMotion
from polhode.papers._figure import COLOURS, Figure, labelled, loglog, panels
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

BODY = Body([40.5, 40.6, 50.0])
"""In kg m^2; the paper prints kg m^3."""
OMEGA = np.radians([1.0, 0.0, 10.0])
"""In rad/s, from the paper's degrees per second."""
STEP = 0.1
"""The paper's step, in s."""
MINUTE = 60.0
HUNDRED_MINUTES = 100 * MINUTE
QUICK_SECONDS = 100.0
"""The length of long runs at the quick size, in s, instead of a hundred minutes."""
LONG_RUNS = f"needs the runs of 100 minutes; these are of {QUICK_SECONDS:g} s"
"""Why the quick size judges no claim on them."""
LABELS = {"RKF5": "RK", "LS": "LS", "SS": "SS (2h at once)", "SSh": "SS (h at once)"}
"""The methods of the paper by their names here; SS is printed so that it advances 2h at once."""


class Motion(NamedTuple):
    """Holds a run: times in s, rates in deg/s, and the deviations dH in J and dM in kg m^2/s from their start."""

    t: Floats
    omega: Floats
    energy: Floats
    momentum: Floats


def motion(method: str, step: float, t_end: float) -> Motion:
    """Runs the paper's body from its start, with a row for every application of the method."""
    run = simulate(BODY, omega=OMEGA, t_span=(0.0, t_end), step=step, method=method, every=1)
    length = np.linalg.norm(run.momentum, axis=1)
    energy = run.kinetic_energy
    return Motion(run.t, np.degrees(run.omega), energy - energy[0], length - length[0])


@cache
def long_run(method: str, size: Size, step: float = STEP) -> Motion:
    """A run of figures 4 to 8: 100 minutes with h = 0.1 s. At the quick size it is short."""
    return motion(method, step, QUICK_SECONDS if size.quick else HUNDRED_MINUTES)


def against_runge_kutta(method: str, size: Size) -> tuple[Floats, Floats]:
    """The paper's error e = omega_RK - omega in deg/s, with its times: a row for every application."""
    run, reference = long_run(method, size), long_run("RKF5", size)
    stride = (len(reference.t) - 1) // (len(run.t) - 1)
    return run.t, reference.omega[::stride] - run.omega


def exactly(t: Any) -> Floats:
    """The true rates in deg/s."""
    return np.degrees(FreeMotion(BODY, omega=OMEGA).at(t).omega)


def largest(values: Floats) -> float:
    """The largest absolute value."""
    return float(np.abs(values).max())


def each_second(t: Floats, *rows: Floats) -> tuple[Floats, ...]:
    """Rows a second apart: all that a picture of 100 minutes can show."""
    stride = max(1, round(1.0 / (t[1] - t[0])))
    return t[::stride], *(r[::stride] for r in rows)


@cache
def leapfrog_run(size: Size) -> Motion:
    """The run of figures 1 to 3: LS for 600 s with h = 0.1 s; with longer steps at the quick size."""
    return motion("LS", 5 * STEP if size.quick else STEP, 10 * MINUTE)


STEPS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.08, 0.06, 0.04, 0.02, 0.01)
"""The steps of figures 9 and 10, in s."""
LONG_STEPS = slice(0, 4)
"""The steps at which Simpson's scheme is said to be the best."""
MIDDLE_STEPS = slice(5, 8)
"""The steps at which it is said to equal RK."""
COMPARED = tuple(LABELS)


def deviations(size: Size) -> Data:
    """What figures 9 and 10 draw: for each method and step the largest deviations, and the error at the end."""
    steps = STEPS[:4] if size.quick else STEPS
    found = np.array(
        [[largest_deviations(m, h, 60.0 if size.quick else HUNDRED_MINUTES) for h in steps] for m in COMPARED]
    )
    return Data(
        step=named("step", steps, "step", "s"),
        method=named("method", list(COMPARED), "methods: SS advances 2h at once, SSh h; RKF5 is the paper's RK"),
        energy=named("method step", found[:, :, 0], "largest deviation of the kinetic energy", "J"),
        momentum=named("method step", found[:, :, 1], "largest deviation of the length of the momentum", "kg m2/s"),
        error=named("method step", found[:, :, 2], "largest error of the angular velocity at the end", "deg/s"),
    )


@cache
def largest_deviations(method: str, step: float, t_end: float) -> tuple[float, float, float]:
    """The largest deviations of energy and momentum, and the error of the angular velocity at the end."""
    run = motion(method, step, t_end)
    return largest(run.energy), largest(run.momentum), largest(run.omega[-1] - exactly(t_end))


def by_method(data: Data, name: str) -> dict[str, Floats]:
    """An array of `deviations`, a row for each method."""
    return dict(zip(COMPARED, data[name], strict=True))


def listed(values: Floats) -> str:
    """Numbers in a row, as text."""
    return ", ".join(f"{v:.1e}" for v in values)


def drawn_deviations(data: Data, name: str, ylabel: str) -> Figure:
    """Draws figures 9 and 10."""
    figure, axes = panels(width=6.5, height=4.4)
    curves = {LABELS[m]: v for m, v in by_method(data, name).items()}
    loglog(axes[0, 0], data["step"], curves, "step h (s)", ylabel)
    return figure


def drawn_over_time(data: Data, name: str, ylabel: str) -> Figure:
    """Draws figures 7 and 8: a deviation over time, a panel for each method, since their sizes differ."""
    figure, axes = panels(len(COMPARED), 1, width=6.5, height=7.0, sharex=True)
    for k, (ax, values) in enumerate(zip(axes[:, 0], data[name].T, strict=True)):
        ax.plot(data["time"] / MINUTE, values, color=COLOURS[k], linewidth=0.8)
        labelled(ax, "time (min)" if k == len(COMPARED) - 1 else "", ylabel, LABELS[COMPARED[k]])
    figure.align_ylabels(axes[:, 0])
    return figure


def over_time(size: Size, what: str, symbol: str, unit: str) -> Data:
    """What figures 7 and 8 draw: a deviation of all methods, a second apart, and its largest value at any step."""
    runs = [long_run(m, size) for m in COMPARED]
    t, _ = each_second(runs[0].t, runs[0].t)
    columns = [each_second(r.t, getattr(r, what))[1] for r in runs]
    return Data(
        time=named("time", t, "time", "s"),
        method=named("method", list(COMPARED), "methods: SS advances 2h at once, SSh h; RKF5 is the paper's RK"),
        deviation=named("time method", np.stack(columns, axis=1), symbol, unit),
        largest=named("method", [largest(getattr(r, what)) for r in runs], "largest deviation at any step", unit),
    )


def error_over_time(method: str, other: str, size: Size) -> Data:
    """What figures 5 and 6 draw: a method's error, and the largest of it in all, at first, and of a variant."""
    t, error = against_runge_kutta(method, size)
    figures = [largest(error), largest(error[t <= 10 * MINUTE]), largest(against_runge_kutta(other, size)[1])]
    t, error = each_second(t, error)
    return Data(
        time=named("time", t, "time", "s"),
        error=named("time component", error, f"omega_RK - omega_{method}", "deg/s"),
        what=named("figure", [method, f"{method} in the first 10 minutes", other], "whose error"),
        largest=named("figure", figures, "largest error of any component", "deg/s"),
    )


SMALL = 0.2
"""The part of the largest error that counts as small in the first tenth of the time: twice an even growth."""


def small_at_first(method: str, figure: int, band: int, data: Data) -> Claim:
    """Judges what the text says of the first ten minutes."""
    whole, early, _ = data["largest"]
    return claim(
        f"The error of {method} stays small in the first 10 minutes",
        source=f"sec. 4, on fig. {figure}",
        paper="small",
        measured=f"largest {early:.1e} deg/s in 10 minutes, {whole:.1e} in 100",
        holds=bool(early < SMALL * whole),
        test=f"below {SMALL:g} of the largest error in 100 minutes",
        reading=f"if small means beside the printed band of 1e{band}, of which it is {early / 10.0**band:.1g}. Beside "
        f"its own largest value it is not: it oscillates, and is {early / whole:.1g} of that already",
        holds_when_read_so=bool(early < 0.1 * 10.0**band),
    )


def drawn_errors(data: Data) -> Figure:
    """Draws figures 5 and 6: the three components of an error over time, each on its own axis."""
    figure, axes = panels(3, 1, width=6.5, height=6.0, sharex=True)
    for k, ax in enumerate(axes[:, 0]):
        ax.plot(data["time"] / MINUTE, data["error"][:, k], color=COLOURS[k], linewidth=0.9)
        labelled(ax, "time (min)" if k == 2 else "", rf"$e_{k + 1}$ (deg/s)")
    figure.align_ylabels(axes[:, 0])
    return figure
