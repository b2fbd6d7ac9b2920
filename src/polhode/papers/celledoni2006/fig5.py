"""Heavy top by MR: the vertical seen from the body, and the energy error

As figure 4, by MR2. With the step 0.1 the motion of MR2 is chaotic: its numbers depend on round-off, its failure does
not.
"""

from functools import partial

import numpy as np

from polhode.papers._measure import integrate
from polhode.papers.celledoni2006._common import TOP, distance, draw_tracks, energy_change, track, vertical
from polhode.papers.celledoni2006.fig4 import SAME, STEPS
from polhode.papers.study import Claim, Data, Size, about, claim, named

METHOD = "MR2"
LONG = "needs the whole trajectories"
WHERE = "figures 4, 5 and section 4.2"
plot = partial(draw_tracks, titles=[f"MR, h = {h}" for h in STEPS], energy="energy error (J)")


def run(size: Size) -> Data:
    """Computes three runs, and those that they are compared with."""
    t_end = 2.0 if size.quick else 100.0
    runs, others = ([integrate(TOP, method, t_end, h) for h in STEPS] for method in (METHOD, "SEJ"))
    tracks = {name: v for k, r in enumerate(runs, 1) for name, v in track(k, r).items()}
    own = [distance(vertical(r), vertical(runs[-1])) for r in runs]
    apart = [np.linalg.norm(vertical(a) - vertical(b), axis=1)[1:].mean() for a, b in zip(runs, others, strict=True)]
    worst = [np.abs(energy_change(r)).max() for r in others]
    return Data(
        step=named("step", STEPS, "step", "s"),
        unlike_finest=named("step", own, "how differently u fills the sphere than with the finest step"),
        apart=named("step", apart, "mean distance of u from that of SEJ with the same step"),
        sej_energy=named("step", worst, "largest energy error of SEJ", "J"),
        **tracks,
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges MR against SEJ."""
    worst = np.array([np.abs(data[f"energy_{k}"]).max() for k in (1, 2, 3)])
    ratio, apart, unlike = data["sej_energy"] / worst, float(data["apart"][-1]), data["unlike_finest"]
    return [
        claim(
            "With the step 0.01 the energy error of SEJ is 1e-4 of that of MR",
            paper="1e-4",
            measured=f"{ratio[-1]:.2e} ({data['sej_energy'][-1]:.2e} J against {worst[-1]:.1f} J)",
            holds=about(ratio[-1], 1e-4),
            test="1e-4 is the nearest power of ten to the ratio of the largest errors",
        ),
        claim(
            "SEJ has a much smaller energy error than MR with every step",
            paper="by figures without numbers",
            measured="ratios " + ", ".join(f"{r:.1e} (h = {h})" for r, h in zip(ratio, STEPS, strict=True)),
            holds=bool(ratio.max() < 1e-3),
            test="largest errors of SEJ below 1e-3 of those of MR2",
        ),
        claim(
            "The energy error of MR grows with the step",
            paper="by figures without numbers",
            measured="largest error " + ", ".join(f"{e:.1e} J (h = {h})" for e, h in zip(worst, STEPS, strict=True)),
            holds=bool(worst[0] > worst[1] > worst[2]),
            test="largest error with 0.1 > with 0.05 > with 0.01",
        ),
        claim(
            "With the step 0.01 the mean distance between the trajectories of SEJ and MR is of the order of 0.1",
            late=LONG,
            paper="O(1e-1)",
            measured=f"{apart:.3f}",
            holds=about(apart, 0.1),
            test="0.1 is the nearest power of ten",
        ),
        claim(
            "With the step 0.1 the trajectory of MR differs from that with 0.01",
            late=LONG,
            paper="by sight",
            measured=f"shares of points below a level differ by {unlike[0]:.2f}, those of 0.05 by {unlike[1]:.3f}",
            holds=bool(unlike[0] > 2 * SAME),
            test=f"more than {2 * SAME:g}, where {SAME:g} was taken for alike in figure 4",
        ),
    ]
