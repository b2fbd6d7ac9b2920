"""Free body: kinetic energy by Newmark's method with large steps

The body of McLachlan and Zanna, free, by NMB with the steps 4, 2, 1 and 1/2. The paper does not tell how long its runs
are: 100 s are drawn, as long as those of figures 4 and 5, and the energies of runs 2000 times as long are
by their least, mean and largest values in the first and in the last tenth.
"""

from functools import partial

import numpy as np

from polhode.papers._measure import integrate
from polhode.papers.krysl2004._common import FREE, SHORT, drawn_over_time, over_time
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

STEPS = (4.0, 2.0, 1.0, 0.5)
LONG = 2e5
WHERE = "figure 1 and section 3.1"
plot = partial(drawn_over_time, steps=STEPS, ylabel="kinetic energy (J)")


def run(size: Size) -> Data:
    """Computes energies over time, and their ranges in long runs."""
    ranges = [_ranges(integrate(FREE, "NMB", _end(size), h).kinetic_energy) for h in STEPS]
    return Data(
        step=named("step", STEPS, "step", "s"),
        part=named("part", ["first tenth", "last tenth"], "part of the long run"),
        kind=named("kind", ["least", "mean", "largest"], "kind of value"),
        ranges=named("step part kind", ranges, "least, mean and largest kinetic energy", "J"),
        **over_time(STEPS, lambda solution: solution.kinetic_energy, "kinetic energy", "J"),
    )


def _end(size: Size) -> float:
    return SHORT if size.quick else LONG


def _ranges(energy: Floats) -> list[list[float]]:
    tenth = len(energy) // 10
    return [[float(f(part)) for f in (np.min, np.mean, np.max)] for part in (energy[:tenth], energy[-tenth:])]


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether the energy is not kept but does not drift."""
    first, last = data["ranges"][:, 0], data["ranges"][:, 1]
    height = first[:, 2] - first[:, 0]
    moved = np.abs(last - first) / height[:, None]
    start = float(data["value_0"][0])
    swing = {h: np.ptp(data[f"value_{k}"]) / start for k, h in enumerate(STEPS)}
    return [
        claim(
            "The kinetic energy is not kept exactly",
            paper="it oscillates",
            measured=", ".join(f"step {h:g}: by {s:.1e} of its size" for h, s in swing.items()),
            holds=min(swing.values()) > 1e-4,
            test="it varies by more than 1e-4 of its size with every step, far above round-off",
        ),
        claim(
            "It oscillates with an amplitude that does not change, and does not drift",
            late=f"needs runs of {LONG:g} s",
            paper="unchanging amplitude, no drift",
            measured=f"from the first to the last tenth of {_end(size):g} s least and largest values move by "
            f"{moved[:, [0, 2]].max():.1e} of the amplitude at most, means by {moved[:, 1].max():.1e}",
            holds=bool(moved.max() < 0.01),
            test="least, mean and largest energy move by less than 1 % of the amplitude",
        ),
    ]
