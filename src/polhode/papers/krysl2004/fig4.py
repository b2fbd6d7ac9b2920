"""Free body: error of the attitude at t = 100 against the step

The 2-norm of the error of the attitude matrix at t = 100, with the steps 8, 4, 2, ..., 1/256; the last step of the run
with 8 is 4. The reference is the exact motion; the paper's is a run with the step 0.001. Besides NMB, SW and LS, which
the caption of the paper names, there is AKW, of which its text speaks, with Cayley's map and with an exact turn of the
attitude, and SWd, the variant of SW with which its remarks on the energy fit. Runs whose equations could not be solved
are left out.
"""

from functools import partial

from polhode.papers.krysl2004._common import FREE, convergence, drawn_convergence, errors_of, orders_of, ratios
from polhode.papers.study import Claim, Data, Floats, Size, claim, named

METHODS = ("NMB", "SW", "SWd", "LewisSimo", "AKW", "AKWexp")
STEPS = tuple(2.0**k for k in range(3, -9, -1))
QUICK_STEPS = STEPS[3:6]
T_END, QUICK_T_END = 100.0, 25.0
REFERENCE_STEP = 0.001
SMALL = 0.25
"""Below this step the curves are straight."""
WHERE = "figure 4 and section 3.1"
plot = partial(drawn_convergence, whats=("attitude",), width=7.6)


def run(size: Size) -> Data:
    """Computes the errors, and that of the paper's reference."""
    data = convergence(FREE, METHODS, QUICK_STEPS if size.quick else STEPS, _end(size))
    step = QUICK_STEPS[-1] if size.quick else REFERENCE_STEP
    reference = convergence(FREE, ["NMB"], [step], _end(size))["attitude_error"][0]
    return Data(
        **data.variables,
        reference_step=named("reference", [step], "step of the run that the paper takes for the reference", "s"),
        reference_error=named("reference", reference, "error of its attitude, 2-norm"),
    )


def check(data: Data, size: Size) -> list[Claim]:
    """Compares NMB with AKW and the others."""
    error, small = errors_of(data, "attitude"), data["step"] <= SMALL
    cayley, exact = error["AKW"][small] / error["NMB"][small], error["AKWexp"][small] / error["NMB"][small]
    momentum = errors_of(data, "momentum")
    in_momentum = momentum["AKW"][small] / momentum["NMB"][small]
    explicit = {m: error[m][small] / error["NMB"][small] for m in ("SW", "SWd")}
    orders = orders_of(data, "attitude")
    reference, finest = float(data["reference_error"][0]), float(error["NMB"][-1])
    needs = "needs shorter steps"
    return [
        claim(
            "Newmark's method is better than AKW by two orders of magnitude",
            paper="about 100 times",
            measured=f"steps of {SMALL:g} and less: {ratios(cayley)} times with Cayley's map, {ratios(exact)} times "
            f"with an exact turn; in momentum, {ratios(in_momentum)} times",
            holds=_hundredfold(cayley) and _hundredfold(exact),
            test="30 to 300 times, however AKW turns the attitude",
            reading="AKW turns the attitude by Cayley's map, which the paper does not tell: then 30 to 300 times; with "
            "an exact turn the advantage is small",
            holds_when_read_so=_hundredfold(cayley),
        ),
        claim(
            "It is one of the best explicit algorithms: here better than Simo and Wong's",
            source="introduction, figure 4",
            paper="one of the best known",
            measured="; ".join(f"{m} / NMB: {ratios(r)}" for m, r in explicit.items()),
            holds=all(r.min() > 1 for r in explicit.values()),
            test=f"smaller errors with steps of {SMALL:g} and less",
        ),
        claim(
            "The attitude converges with the second order",
            late=needs,
            source="figure 4",
            paper="second order, by the slopes of the figure",
            measured=", ".join(f"{m} {order:.2f}" for m, order in orders.items()),
            holds=all(abs(order - 2) < 0.1 for order in orders.values()),
            test="slopes of 2 within 0.1 at the four shortest steps",
        ),
        claim(
            "A run with the step 0.001 may serve as the reference",
            late=needs,
            paper="extremely small step",
            measured=f"error with the step {data['reference_step'][0]:g}: {reference:.1e}; with the shortest of the "
            f"figure's steps: {finest:.1e}",
            holds=reference < 0.1 * finest,
            test="its own error is below a tenth of the smallest error that it is to show",
        ),
    ]


def _end(size: Size) -> float:
    return QUICK_T_END if size.quick else T_END


def _hundredfold(ratio: Floats) -> bool:
    return bool(ratio.min() > 30 and ratio.max() < 300)
