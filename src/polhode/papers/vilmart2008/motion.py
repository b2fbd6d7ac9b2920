"""The test motion: 822 periods, and the sign of equation (2)

Left: the angular momentum of the water molecule from the start (4), over two of its periods. Right: how far the
momentum in space, Qy, is from where it was if the attitude follows equation (2) as it is printed, and with the opposite
sign; both integrated with Runge-Kutta's method of order 4 along the exact momentum. The paper has no such picture.
"""

from typing import Any

import numpy as np

from polhode.free.free_motion import FreeMotion
from polhode.kernels.compared.jacobi_momentum import evaluated, orbit_of_momenta
from polhode.papers._figure import Figure, labelled, panels, style
from polhode.papers.study import Claim, Data, Floats, Size, claim, named
from polhode.papers.vilmart2008._common import EPS, START, STEPS, WATER, H, invariants

MOMENTS = np.array(WATER.moments)
PERIODS, STEPS_A_PERIOD = 2, 600
PHASE_ERROR = 1e-8


def run(size: Size) -> Data:
    """Computes the momentum, Qy with both signs, and the effect of an error of the time."""
    free = FreeMotion(WATER, omega=np.array(START) / MOMENTS)
    count = PERIODS * STEPS_A_PERIOD
    half = np.linspace(0.0, PERIODS * free.period, 2 * count + 1)
    y = np.asarray(free.at(half).momentum)
    return Data(
        period=named("one", [free.period], "period of the momentum", "s"),
        t=named("time", half[::2], "time", "s"),
        momentum=named("time component", y[::2], "angular momentum in body axes", "kg m2 s-1"),
        printed=named("time", _moved(y, half[2], -1.0), "distance of Qy from its start, (2) as printed", "kg m2 s-1"),
        turned=named(
            "time", _moved(y, half[2], 1.0), "distance of Qy from its start, (2) with the other sign", "kg m2 s-1"
        ),
        phase=named("effect", _phase_errors(), "change of momentum and energy by an error of the phase"),
    )


def _moved(y: Floats, h: float, sign: float) -> Floats:
    """|Q y - y(0)| with Q' = sign Q hat(w), whose sign is -1 in print; y is given at half steps too."""
    w = sign * y / MOMENTS
    hats = np.zeros((len(w), 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        hats[:, i, j], hats[:, j, i] = -w[:, k], w[:, k]
    q, out = np.eye(3), [0.0]
    for n in range(0, len(w) - 1, 2):
        a, b, c = hats[n], hats[n + 1], hats[n + 2]
        k1 = q @ a
        k2 = (q + h / 2 * k1) @ b
        k3 = (q + h / 2 * k2) @ b
        k4 = (q + h * k3) @ c
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out.append(float(np.linalg.norm(q @ y[n + 2] - y[0])))
    return np.array(out)


def _phase_errors() -> list[float]:
    """Changes of momentum and energy in a step of Algorithm 3.1 whose u has a relative error of 1e-8."""
    m = (START[0], START[1], START[2])
    orbit, _ = orbit_of_momenta((MOMENTS[0], MOMENTS[1], MOMENTS[2]), m)
    there: list[Any] = [evaluated(orbit, t)[0] for t in (H, H + PHASE_ERROR)]
    y = np.array(there, dtype=np.longdouble)
    energy = invariants(np.tile(np.array([1, 0, 0, 0], dtype=np.longdouble), (2, 1)), y, MOMENTS)[:, 0]
    return [float(np.abs(y[1] - y[0]).max()), float(abs(energy[1] - energy[0]))]


def check(data: Data, size: Size) -> list[Claim]:
    """Judges the number of periods, the first integrals of (1) and (2), and the phase."""
    period = float(data["period"][0])
    count = STEPS * H / period
    printed, turned = float(data["printed"].max()), float(data["turned"].max())
    moved, energy = data["phase"]
    return [
        claim(
            "A million steps of 0.01 cover about 822 periods of the momentum",
            source="section 3.1",
            paper="822",
            measured=f"{count:.2f}, the period is {period:.5f} s",
            holds=round(count) == 822,
            test="822 to the nearest whole number",
        ),
        claim(
            "The flow of (1) and (2) keeps Qy",
            source="section 2",
            paper="kept exactly",
            measured=f"Qy moves by {printed:.2f} as printed, by {turned:.0e} with the opposite sign of the matrix",
            holds=printed < 1e-7,
            test="moves by less than 1e-7, the error of the Runge-Kutta method",
            reading="the matrix of (2) has to be transposed: then Q' = Q hat(w), which goes with (1)",
            holds_when_read_so=turned < 1e-7,
        ),
        claim(
            "Errors of u and of the amplitude do not touch the first integrals",
            source="section 3",
            paper="a transformation of time",
            measured=f"a time off by {PHASE_ERROR:.0e} changes the momentum by {moved:.1e} and the energy by"
            f" {energy / EPS:.1f} eps",
            holds=bool(moved > 1e-9 and energy < 4 * EPS),
            test="the momentum moves, the energy changes by its rounding only",
        ),
    ]


def motions(size: Size) -> dict[str, FreeMotion]:
    """The test motion."""
    return {"water molecule": FreeMotion(WATER, omega=np.array(START) / MOMENTS)}


def plot(data: Data) -> Figure:
    """Draws the momentum and Qy."""
    figure, axes = panels(1, 2, width=11.5)
    left, right = axes[0]
    for k in range(3):
        left.plot(data["t"], data["momentum"][:, k], label=f"$y_{k + 1}$", **style(k, marked=False))
    labelled(left, "time (s)", "angular momentum (kg m²/s)")
    right.plot(data["t"], data["printed"], label="(2) as printed", **style(1, marked=False))
    right.plot(data["t"], data["turned"], label="(2) with the other sign", **style(0, marked=False))
    right.set_ylim(top=2.2)
    labelled(right, "time (s)", r"$|Qy(t) - Qy(0)|$ (kg m²/s)")
    return figure
