"""Heavy top by SEJ: the vertical seen from the body, and the energy error

The heavy top of figure 3 from 0 to 100 with the steps 0.1, 0.05 and 0.01, by SEJ. To the left u = Q u0 with
u0 = (0, 0, 1), which the paper calls the centre of mass: in its own convention u is the vertical seen from the body.
To the right the change of the energy since the start.
"""

from functools import partial

import numpy as np

from polhode.papers._measure import integrate, tight
from polhode.papers.celledoni2006._common import TOP, distance, draw_tracks, track, vertical
from polhode.papers.study import Claim, Data, Size, claim, named

METHOD = "SEJ"
STEPS = (0.1, 0.05, 0.01)
WHERE = "figure 4 and section 4.2"
SAME = 0.15
"""Trajectories with a distance of at most this look the same."""
plot = partial(draw_tracks, titles=[f"{METHOD}, h = {h}" for h in STEPS], energy="energy error (J)")


def run(size: Size) -> Data:
    """Computes three runs and the true motion."""
    runs = [integrate(TOP, METHOD, 2.0 if size.quick else 100.0, h) for h in STEPS]
    true = vertical(tight(TOP, runs[-1].t, 0.1))
    tracks = {name: v for k, r in enumerate(runs, 1) for name, v in track(k, r).items()}
    same = [true[:: round(h / STEPS[-1])] for h in STEPS]
    off = [np.linalg.norm(vertical(r) - u, axis=1)[1:].mean() for r, u in zip(runs, same, strict=True)]
    own = [distance(vertical(r), vertical(runs[-1])) for r in runs]
    return Data(
        step=named("step", STEPS, "step", "s"),
        mean_error=named("step", off, "mean distance of u from the true motion"),
        unlike_finest=named("step", own, "how differently u fills the sphere than with the finest step"),
        **tracks,
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Judges whether energy errors grow with the step while trajectories stay alike."""
    worst = [float(np.abs(data[f"energy_{k}"]).max()) for k in (1, 2, 3)]
    unlike, off = data["unlike_finest"], data["mean_error"]
    measured = (
        f"shares of points below a level differ by {unlike[0]:.2f} (h = 0.1) and {unlike[1]:.3f} (0.05) from those "
        f"with 0.01; mean distance from the true u {off[0]:.2f}, {off[1]:.2f}, {off[2]:.2f}"
    )
    return [
        claim(
            "The energy error grows with the step",
            paper="by figures without numbers",
            measured="largest error " + ", ".join(f"{e:.2e} J (h = {h})" for e, h in zip(worst, STEPS, strict=True)),
            holds=worst[0] > worst[1] > worst[2],
            test="largest error with 0.1 > with 0.05 > with 0.01",
        ),
        claim(
            "Trajectories have the same character with all three steps",
            late="needs the whole trajectories",
            paper="by sight",
            measured=measured,
            holds=float(unlike.max()) < SAME,
            test=f"points fill the sphere alike: shares within {SAME}. Point by point the coarse ones are wrong: the "
            "body turns by 1.7 in a step of 0.1",
        ),
    ]
