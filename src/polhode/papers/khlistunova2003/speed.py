"""Time of a step, and work for a given accuracy

Left: time of one application of each method for the momentum alone, compiled, on this machine; SS and SS1
advance 2h by it. Right: the largest error of the angular velocity at the end of 100 minutes against the operations per
second of motion, sines and cosines counted as one each, body and start as in figure 1, for the steps of figure 9 down
to 0.1 s and some longer ones. The paper has no such picture; it says which method is faster per step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from polhode.compiler import program
from polhode.papers._figure import COLOURS, Figure, labelled, loglog, panels
from polhode.papers._measure import timed
from polhode.papers.khlistunova2003._common import HUNDRED_MINUTES, OMEGA, STEP, exactly, largest, motion
from polhode.papers.khlistunova2003._momentum import Step, leapfrog, repeated, runge_kutta, short, simpson
from polhode.papers.khlistunova2003.operations import counts
from polhode.papers.study import Claim, Data, Size, claim, named

WHERE = "sec. 4, end"

MOMENTS = (40.5, 40.6, 50.0)
APPLICATIONS = 20_000
SCHEMES: dict[str, Step] = {
    "RK": runge_kutta(MOMENTS, STEP),
    "LS": leapfrog(MOMENTS, STEP),
    "SS": simpson(MOMENTS, STEP),
    "LS1": leapfrog(MOMENTS, STEP, short),
    "SS1": simpson(MOMENTS, STEP, short),
}
METHODS = {"RK": "RKF5", "LS": "LS", "SS": "SS", "LS1": "LS1", "SS1": "SS1"}
STEPS = (4.0, 2.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
SHORT_ERROR = 1e-6
"""In deg/s: the error that the paper gives for LS."""


def run(size: Size) -> Data:
    """Computes times, and errors against work."""
    steps, t_end = ((4.0, 2.0), 48.0) if size.quick else (STEPS, HUNDRED_MINUTES)
    count = 10 if size.quick else APPLICATIONS
    seconds = timed({m: _job(step, count) for m, step in SCHEMES.items()}, rounds=20)
    advance = {m: 2 if m.startswith("SS") else 1 for m in METHODS}
    runs = {m: [motion(name, h, t_end) for h in steps] for m, name in METHODS.items()}
    end = exactly(t_end)
    return Data(
        method=named("method", list(SCHEMES), "methods; SS and SS1 advance 2h at once"),
        nanoseconds=named("method", [1e9 * s / count for s in seconds.values()], "time of one application", "ns"),
        step=named("step", steps, "step", "s"),
        work=named(
            "method step",
            [[sum(counts(m)) / advance[m] / h for h in steps] for m in METHODS],
            "operations per second of motion",
        ),
        error=named(
            "method step",
            [[largest(r.omega[-1] - end) for r in row] for row in runs.values()],
            "largest error of the angular velocity at the end",
            "deg/s",
        ),
        momentum=named(
            "method step",
            [[largest(r.momentum) for r in row] for row in runs.values()],
            "largest deviation of the length of the momentum",
            "kg m2/s",
        ),
    )


def _job(step: Step, count: int) -> Callable[[], Any]:
    """A function that makes many compiled applications from the paper's start."""
    return partial(program(repeated(step), "pi"), OMEGA.copy(), count)  # rates or momenta: it takes the same time


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the speed of an application, then the speed at equal error."""
    says = "LS and SS are about 3 and 2 times faster than RK, with shortened sines and cosines"
    where: dict[str, Any] = {"source": "sec. 4, end", "paper": "3 and 2"}
    if size.quick:
        late = "times are those of compiled code, at the full size"
        return [claim(says, **where, measured="", holds=False, test="", late=late)]
    time = dict(zip(SCHEMES, data["nanoseconds"], strict=True))
    ratio = {m: time["RK"] / t for m, t in time.items()}
    operations = {m: sum(counts("RK")) / sum(counts(m)) for m in ("LS1", "SS1")}
    error, work = (dict(zip(SCHEMES, data[name], strict=True)) for name in ("error", "work"))
    momentum = dict(zip(SCHEMES, data["momentum"], strict=True))
    last = list(data["step"]).index(STEP)
    cheaper = {m: work[m][last] / _work_for(error[m][last], error["RK"], work["RK"]) for m in ("LS", "SS")}
    wins = [
        e
        for m in ("LS", "SS")
        for e, w in zip(error[m], work[m], strict=True)
        if w < _work_for(e, error["RK"], work["RK"])
    ]
    loose = min(wins, default=np.inf)
    return [
        claim(
            says,
            **where,
            measured=f"one application of RK takes {ratio['LS1']:.1f} times that of LS1 and {ratio['SS1']:.1f} times "
            f"that of SS1 on this machine; {ratio['LS']:.1f} and {ratio['SS']:.1f} times those of LS and SS",
            holds=bool(ratio["LS1"] > 2.2 and ratio["SS1"] > 1.5),
            test="an application of LS1 is faster by more than 2.2, one of SS1 by more than 1.5: times depend on the "
            "machine, so this is as near as they can be judged",
            reading=f"Holds for the operations, which are {operations['LS1']:.1f} and {operations['SS1']:.1f} times "
            "fewer, and so for a processor that does one after the other. One of today overlaps those of RK that do "
            "not wait for each other; the rotations of LS and SS do",
            holds_when_read_so=operations["LS1"] > 2.5 and operations["SS1"] > 1.5,
        ),
        claim(
            "So the fastest method can be selected from the number of operations of a step",
            paper="LS, then SS, then RK",
            measured=f"for the error that LS has at h = {STEP} s, LS needs {cheaper['LS']:.1f} times the operations of "
            f"RK at the step where RK has that error; SS, for its own error, {cheaper['SS']:.1f} times",
            holds=bool(cheaper["LS"] < 1 and cheaper["SS"] < 1),
            test="LS and SS need fewer operations than RK for the same error of the angular velocity",
            reading="Holds for a given step, and for results that may be off by more than "
            f"{loose:.0e} deg/s. For better ones RK needs less work, since it can take longer steps",
            holds_when_read_so=bool(sum(counts("LS")) < sum(counts("SS")) < sum(counts("RK"))),
        ),
        claim(
            "At small steps the shortened sine and cosine are accurate enough",
            paper="in agreement with the accuracy needed",
            measured=f"at h = {STEP} s LS1 is off by {error['LS1'][last]:.1e} deg/s, LS by {error['LS'][last]:.1e}; "
            f"the length of the momentum changes by {momentum['LS1'][last]:.1e} kg m^2/s, with LS by "
            f"{momentum['LS'][last]:.1e}",
            holds=bool(error["LS1"][last] < SHORT_ERROR),
            test="the error stays in the band of 1e-6 deg/s that the paper gives for LS; but the momentum is no longer "
            "kept",
        ),
    ]


def _work_for(error: float, errors: Any, work: Any) -> float:
    """The work at which a curve of errors has this value, between its points on logarithmic scales."""
    order = np.argsort(errors)
    return float(np.exp(np.interp(np.log(error), np.log(errors[order]), np.log(work[order]))))


def plot(data: Data) -> Figure:
    """Draws bars of time, and error against work."""
    figure, axes = panels(1, 2, width=11.0, height=4.2)
    left, right = axes[0]
    left.bar(list(SCHEMES), data["nanoseconds"], color=COLOURS[: len(SCHEMES)])
    left.set_axisbelow(True)
    labelled(left, "", "time of one application (ns)")
    work, error = (dict(zip(SCHEMES, data[name], strict=True)) for name in ("work", "error"))
    loglog(right, work, error, "operations per second of motion", "error after 100 min (deg/s)")
    return figure
