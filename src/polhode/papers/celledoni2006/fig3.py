"""Heavy top: execution time against the error at t = 1

A body with the moments (1000, 5000, 6000) that starts with the rates (10, 10, 10), under a unit weight at the point
(0, 0, 1) of the body, from 0 to 1. The paper tells neither its steps nor its norm: steps 1/16 (a turn by 1.1) to
1/256; to the left the error of the attitude matrix (Frobenius), to the right that of attitude and momentum together,
which is that of the momentum, in kg m²/s. The reference is a run of DOP853 at a tolerance of 1e-14. Times are those
of this machine.
"""

from functools import partial

from polhode.papers._measure import tight
from polhode.papers.celledoni2006._common import TOP, curves, drawn_work, work_precision
from polhode.papers.study import Claim, Data, Size, claim

METHODS = ("MR2", "SEJ", "SEJ4")
STEPS = tuple(2.0**-k for k in range(4, 9))
TESTED = STEPS.index(2.0**-6)
WHERE = "figure 3 and section 4.2"
plot = partial(drawn_work, both="error of attitude and momentum (SI)")


def run(size: Size) -> Data:
    """Computes errors and times."""
    last = tight(TOP, 1.0, 1 / 256)
    return work_precision(TOP, METHODS, STEPS, last.momentum[-1], last.attitude[-1].as_matrix(), size)


def check(data: Data, size: Size) -> list[Claim]:
    """Judges SEJ4 against SEJ against MR, by two norms."""
    c, both = curves(data, "attitude"), curves(data, "both")
    at = {name: float(curve.error[TESTED]) for name, curve in c.items()}
    whole = {name: float(curve.error[TESTED]) for name, curve in both.items()}
    orders = {name: curve.order for name, curve in both.items()}
    claims = [
        claim(
            "SEJ4 has a clear advantage over SEJ and MR",
            paper="quite clear, by a figure without numbers",
            measured="attitude errors with the step 1/64: " + _listed(at),
            holds=at["SEJ4"] < min(at["SEJ"], at["MR2"]) / 100,
            test="more than 100 times more accurate than either in attitude, with the step 1/64",
        ),
        claim(
            "MR and SEJ perform similarly",
            paper="similar, by a figure without numbers",
            measured=f"with the step 1/64, MR2 / SEJ: {whole['MR2'] / whole['SEJ']:.1e} with the momentum, "
            f"{at['MR2'] / at['SEJ']:.1f} in attitude alone",
            holds=0.2 < whole["MR2"] / whole["SEJ"] < 5,
            test="errors of attitude and momentum within a factor of 5",
            reading="if the error is that of the attitude alone, within a factor of 5; the momentum is far more "
            "accurate with SEJ, which leaves nothing of it to approximate but a torque of 1 N m",
            holds_when_read_so=0.2 < at["MR2"] / at["SEJ"] < 5,
        ),
        claim(
            "All three methods have order 2",
            source="caption of figure 3",
            paper="2",
            measured="with the momentum: "
            + ", ".join(f"{n} {o:.2f}" for n, o in orders.items())
            + f"; in attitude alone SEJ4 shows {c['SEJ4'].order:.2f}, since the weight is so small",
            holds=all(abs(order - 2) < 0.2 for order in orders.values()),
            test="slopes of the error of attitude and momentum within 0.2, at the four finest steps",
        ),
    ]
    if not size.quick:
        t = float(c["SEJ4"].seconds[TESTED])
        gain = {name: c[name].error_after(t) / at["SEJ4"] for name in ("MR2", "SEJ")}
        claims.append(
            claim(
                "In the same time SEJ4 is far more accurate than SEJ and MR",
                paper="quite clear advantage",
                measured=f"on this machine, in the time of SEJ4 with the step 1/64: attitude errors MR2 / SEJ4 "
                f"{gain['MR2']:.0f}, SEJ / SEJ4 {gain['SEJ']:.0f}",
                holds=min(gain.values()) > 10,
                test="attitude errors by more than 10",
            )
        )
    return claims


def _listed(errors: dict[str, float]) -> str:
    return ", ".join(f"{name} {e:.1e}" for name, e in errors.items())
