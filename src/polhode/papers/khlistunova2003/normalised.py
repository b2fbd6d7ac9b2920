"""LS1 and SS1 with a momentum that is normalised once a step

The schemes with shortened sine and cosine lose the length of the momentum; one factor a step, 3/2 - M.M / (2 M0.M0),
brings it back for 7 multiplications and 3 additions. Left: |M| - |M0| over 100 minutes, body and start as in figure 1,
h = 0.1 s, a point a minute. Middle: the energy. Right: error of the angular velocity after 100 minutes against the
operations per second of motion, for the step and its half. The paper says nothing of the length that its shortened
functions lose.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np

from polhode.compiler import program
from polhode.papers._figure import COLOURS, Figure, labelled, panels, style
from polhode.papers.khlistunova2003 import _common as common
from polhode.papers.khlistunova2003._momentum import Step, leapfrog, normalised, repeated, short, simpson
from polhode.papers.khlistunova2003.operations import MOMENTS, Counted
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

WHERE = "our addition, on sec. 4, end"
LATE = common.LONG_RUNS
START = common.BODY.momentum(common.OMEGA)
SQUARE = float(START @ START)
SCHEMES: dict[str, tuple[Callable[[float], Step], int]] = {
    "LS": (lambda h: leapfrog(MOMENTS, h), 1),
    "LS1": (lambda h: leapfrog(MOMENTS, h, short), 1),
    "LS1, normalised": (lambda h: normalised(leapfrog(MOMENTS, h, short), SQUARE), 1),
    "SS": (lambda h: simpson(MOMENTS, h), 2),
    "SS1": (lambda h: simpson(MOMENTS, h, short), 2),
    "SS1, normalised": (lambda h: normalised(simpson(MOMENTS, h, short), SQUARE), 2),
}
"""The step of each scheme, and how many h it advances."""
STEPS = (common.STEP, common.STEP / 2)


def run(size: Size) -> Data:
    """Computes momenta minute by minute, errors at the end, and operations."""
    minutes = 2 if size.quick else 100
    end = common.exactly(minutes * common.MINUTE)
    momenta = {(name, h): _followed(name, h, minutes) for name in SCHEMES for h in STEPS}
    length = [np.linalg.norm(momenta[name, STEPS[0]], axis=1) for name in SCHEMES]
    energy = [(momenta[name, STEPS[0]] ** 2 / common.BODY.moments).sum(axis=1) / 2 for name in SCHEMES]
    errors = [
        [common.largest(np.degrees(common.BODY.rate(momenta[name, h][-1])) - end) for h in STEPS] for name in SCHEMES
    ]
    return Data(
        time=named("time", common.MINUTE * np.arange(minutes + 1), "time", "s"),
        scheme=named("scheme", list(SCHEMES), "schemes; SS and SS1 advance 2h at once"),
        step=named("step", STEPS, "step", "s"),
        length=named("scheme time", [row - row[0] for row in length], "|M(t)| - |M(0)|", "kg m2/s"),
        energy=named("scheme time", [row - row[0] for row in energy], "H(t) - H(0)", "J"),
        error=named("scheme step", errors, "largest error of the angular velocity at the end", "deg/s"),
        work=named("scheme step", [[_operations(n) / h for h in STEPS] for n in SCHEMES], "operations per second"),
    )


def _followed(name: str, h: float, minutes: int) -> Floats:
    """The momenta at the end of each minute."""
    make, advance = SCHEMES[name]
    step, x, rows = program(repeated(make(h)), "pi"), START.copy(), [START.copy()]
    for _ in range(minutes):
        step(x, round(common.MINUTE / h / advance))
        rows.append(x.copy())
    return np.array(rows)


def _operations(name: str) -> float:
    """How many operations the scheme takes for each h, with the sines and cosines of the library counted as one."""
    make, advance = SCHEMES[name]
    tally: Counter[str] = Counter()
    scheme = simpson if name.startswith("SS") else leapfrog
    plain = name in ("LS", "SS")
    step = scheme(MOMENTS, common.STEP, Counted.sine_cosine) if plain else make(common.STEP)
    step((Counted(0.7, tally), Counted(0.2, tally), Counted(8.7, tally)))
    return tally.total() / advance


def check(data: Data, size: Size) -> list[Claim]:
    """Judges what normalisation mends, and what it costs."""
    length, energy, error, work = (
        dict(zip(SCHEMES, data[name], strict=True)) for name in ("length", "energy", "error", "work")
    )
    lost = {m: common.largest(length[m]) for m in SCHEMES}
    told = "; ".join(
        f"{m}: |M| {lost[m]:.0e} kg m^2/s, energy {common.largest(energy[m]):.1e} J, rate {error[m][0]:.1e} deg/s,"
        f" {work[m][0]:.0f} operations a second"
        for m in SCHEMES
    )
    mended = [lost[f"{m}, normalised"] < 1e-11 < lost[m] for m in ("LS1", "SS1")]
    gains = [common.largest(energy[m]) / common.largest(energy[f"{m}, normalised"]) for m in ("LS1", "SS1")]
    rates = [error[f"{m}, normalised"][0] / error[m][0] for m in ("LS1", "SS1")]
    return [
        claim(
            "One factor a step gives LS1 and SS1 the length of the momentum back, and most of the energy",
            paper="none",
            measured=f"{told}; energy {gains[0]:.1f} and {gains[1]:.1f} times better, rate {rates[0]:.1f} and"
            f" {rates[1]:.1f} times worse",
            holds=all(mended) and min(gains) > 3,
            test="|M| kept within 1e-11 where it was not, and the energy better by more than 3. It does not pay: the"
            " rate does not become more accurate, and LS with a sine takes fewer operations",
        ),
    ]


def plot(data: Data) -> Figure:
    """Draws length, energy, and error against work."""
    figure, axes = panels(1, 3, width=15.0, height=4.2)
    left, middle, right = axes[0]
    minutes = data["time"][1:] / common.MINUTE
    for k, name in enumerate(map(str, data["scheme"])):
        for ax, what in ((left, "length"), (middle, "energy")):
            ax.semilogy(minutes, np.maximum(np.abs(data[what][k, 1:]), 1e-16), color=COLOURS[k], label=name)
        right.loglog(data["work"][k], data["error"][k], label=name, **style(k))
    labelled(left, "time (min)", "||M| - |M0|| (kg m²/s)", legend=False)
    labelled(middle, "time (min)", "|dH| (J)", legend=False)
    labelled(right, "operations per second of motion", "error after 100 min (deg/s)")
    return figure
