"""The analytical solution by Jacobi's elliptic functions

Top: the rates of a free body with moments 0.8, 0.9, 1.0, started at 1, 0, 2, by the formulas of the
handout. Bottom: the relative error of the energy, with polhode's elliptic functions and SciPy's; errors of exactly
zero are drawn at -17. The handout does not say which logarithm is meant: base 10 here. A point every 0.1 s.
"""

from functools import partial

import numpy as np

from polhode import elliptic
from polhode.free.free_motion import FreeMotion
from polhode.papers.handout._common import BODY, MOMENTS, MOTION, OMEGA, T_END, common_data, drawn, energy_error
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

WHERE = "formulas before task 1"
SPACING = 0.1
STARTS = ((1.0, 0.0, 2.0), (-1.0, 0.0, 2.0), (1.0, 0.0, -2.0), (1.0, 0.5, 2.0), (2.0, 0.0, 1.0))
"""The start of the task, and others that the formulas are not said to exclude."""
plot = partial(drawn, curves={"scipy_energy_error": "SciPy's functions", "energy_error": "polhode's functions"})


def formulas(omega: tuple[float, ...], t: Floats, *, scipy: bool = False) -> Floats:
    """The handout's solution from a start, a row for each time. It uses the start only through E and M."""
    i1, i2, i3 = MOMENTS
    w = np.square(omega)
    energy, momentum = float(w @ MOMENTS), float(w @ np.square(MOMENTS))  # 2 E and M^2
    a1, a3 = energy * i3 - momentum, momentum - energy * i1
    tau = t * np.sqrt((i3 - i2) * a3 / (i1 * i2 * i3))
    if scipy:
        from scipy.special import ellipj

        sn, cn, dn, _ = ellipj(tau, (i2 - i1) * a1 / ((i3 - i2) * a3))
    else:  # polhode's functions take 1 - k^2, which need not be a difference from 1
        sn, cn, dn = elliptic.jacobi(tau, (i3 - i1) * (momentum - energy * i2) / ((i3 - i2) * a3))
    return np.stack(
        [np.sqrt(a1 / (i1 * (i3 - i1))) * cn, np.sqrt(a1 / (i2 * (i3 - i2))) * sn, np.sqrt(a3 / (i3 * (i3 - i1))) * dn],
        axis=1,
    )


def run(size: Size) -> Data:
    """Computes the formulas at many times, and for other starts."""
    t = np.linspace(0.0, T_END, round(T_END / SPACING) + 1)
    return Data(
        **common_data(t, formulas(OMEGA, t)),
        scipy_energy_error=named("time", energy_error(formulas(OMEGA, t, scipy=True)), "the same with SciPy's ellipj"),
        start=named("start component", STARTS, "angular velocity at the start", "rad/s"),
        missed=named(
            "start", [_missed(w, scipy=False) for w in STARTS], "error of the formulas in one period", "rad/s"
        ),
        scipy_missed=named("start", [_missed(w, scipy=True) for w in STARTS], "the same with SciPy's ellipj", "rad/s"),
    )


def _missed(omega: tuple[float, ...], *, scipy: bool) -> float:
    """The error of the formulas for a start; NaN where they give nothing."""
    t = np.linspace(0.0, MOTION.period, 100)
    return float(np.abs(formulas(omega, t, scipy=scipy) - FreeMotion(BODY, omega=omega).at(t).omega).max())


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the formulas are right for this start, and to which digit, and for other starts."""
    error = float(np.abs(data["error"]).max())
    own, scipy = float(data["energy_error"].max()), float(data["scipy_energy_error"].max())
    direct = float(energy_error(MOTION.at(data["time"]).omega).max())
    first = float(data["missed"][0])
    told = ", ".join(
        f"{m:.1g} for ({', '.join(f'{x:g}' for x in w)})" for w, m in zip(STARTS, data["missed"], strict=True)
    )
    without = "; ".join(str(w) for w, m in zip(STARTS, data["scipy_missed"], strict=True) if np.isnan(m))
    return [
        claim(
            "The formulas are the motion of the body of the tasks",
            paper="exact",
            measured=f"largest difference from the exact motion {error:.1e} rad/s up to t = {T_END:g}",
            holds=error < 1e-13,
            test="below 1e-13 rad/s: the last digits of E and M become a wrong period, and the error grows with time",
        ),
        claim(
            "The energy of the analytical solution is constant",
            source="task 1",
            paper="to be computed",
            measured=f"largest relative error {own:.1e}; {scipy:.1e} with SciPy's elliptic functions; {direct:.1e} if "
            "the motion is computed without the differences of 2 E I and M^2",
            holds=own < 1e-14 and direct < 1e-15,
            test="below 1e-14, since the differences of nearly equal numbers in the formulas cost a digit or more, and "
            "below 1e-15 without them; with SciPy's functions it grows: its dn does not fit its sn to the last digits",
        ),
        claim(
            "The formulas solve Euler's equations",
            paper="no restriction is stated",
            measured=f"off within one period by {told} rad/s; where k^2 > 1, SciPy's functions give nothing: {without}",
            holds=bool((data["missed"] < 1e-13).all()),
            test="right to round-off for all five starts",
            reading="Holds for I1 < I2 < I3, omega_2(0) = 0 and positive omega_1(0), omega_3(0), which the tasks have: "
            "there is no phase and there are no signs in the formulas; and for M^2 > 2 E I2, unless the elliptic "
            "functions are made for k^2 > 1 as well",
            holds_when_read_so=first < 1e-13,
        ),
    ]
