"""Declared orders against observed ones."""

import math
from itertools import pairwise

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.steps.adams_steps import Adams
from polhode.methods import Method, catalogue
from polhode.run.integration import SimulationFailed
from tests.authorities import paper_case, paper_records
from tests.contract._measure import (
    COARSEST,
    EPS,
    FINEST,
    FLOOR,
    HIGHEST_ORDER,
    Errors,
    accepted,
    compared,
    errors,
    floor_of,
    interpreted,
    observed_order,
    of_today,
    pairs,
)
from tests.contract.test_keeps import DRIFTING

WITHIN = 0.2
"""The allowed distance from a declared order. Most fits come within 0.01."""


@pytest.mark.parametrize(("method", "name"), pairs())
def test_declared_orders_are_observed(method: Method, name: str) -> None:
    """On bodies without symmetry, free and under every kind of torque that the method takes."""
    if method.adaptive:
        pytest.skip(f"the steps of {method.name} are chosen by a tolerance")
    if (
        (method.order or 0) > HIGHEST_ORDER
        or isinstance(method.scheme, Adams)
        or method.name in ("SRKN19", "Processed")
    ):
        pytest.skip(f"the order of {method.name} shows at longer steps, or in longer runs")
    told = name == "free" and method.orders_when_free is not None
    floor = FLOOR / 10 if told else floor_of(method)
    momentum = observed_order(lambda n: errors(name, method, n).momentum, floor=floor)
    attitude = observed_order(lambda n: errors(name, method, n).attitude, floor=floor)
    for observed, declared in zip((momentum, attitude), method.orders(free=name == "free"), strict=True):
        if declared is None:
            assert observed == math.inf
        elif not (observed == math.inf and name == "free" and len(accepted(method)) > 1):  # exact without a torque
            assert abs(observed - declared) < WITHIN


def test_exact_methods_err_by_round_off(method: Method) -> None:
    """Whatever the step: a few roundings each."""
    if method.order is not None:
        pytest.skip(f"{method.name} has an order")
    for steps in (1, 2, COARSEST, FINEST):
        done = errors("free", method, steps)
        assert done.momentum < 4 * EPS * math.sqrt(steps)
        # the body turns by 3 radians in all: one step of that length rounds like three
        assert done.attitude < 8 * EPS * math.sqrt(steps) or method.attitude_order is not None


# --- the problems of the papers: they have symmetries, and some methods do better than they promise; none may do worse


def radians(record_id: str) -> float:
    """How far the body turns, more or less."""
    record = paper_records()[record_id]
    ends = (np.array(record[key], dtype=np.float64) for key in ("omega", "omega_end"))
    return max(float(np.linalg.norm(w)) for w in ends) * float(record["t"])


def model(record_id: str) -> str:
    return str(paper_records()[record_id]["torque"]["model"])


def lower_bound(method: Method, record_id: str, finer: int = 1) -> tuple[float, float]:
    """The smaller of observed order less declared order, for momentum and attitude."""
    if method.adaptive or isinstance(method.scheme, Adams):
        pytest.skip(f"the steps of {method.name} are chosen by a tolerance, or mostly those of its start")
    case = paper_case(record_id)
    done: dict[int, Errors] = {}

    def measured(n: int) -> Errors:
        if n not in done:
            try:
                solution = ph.simulate(
                    case.body, case.torque, omega=case.omega, attitude=case.attitude,
                    t_span=(0.0, case.t), step=case.t / n, method=method, every=n,
                )  # fmt: skip
            except SimulationFailed:  # steps far too long
                done[n] = Errors(math.inf, math.inf)
            else:
                done[n] = compared(solution, case.R, case.omega_end)
        return done[n]

    finest = finer * max(COARSEST, 2 * math.ceil(40 * radians(record_id)))
    floor = max(FLOOR, 10 * math.sqrt(finest) * 1.1e-16 * case.sensitivity)  # roundings add up like a random walk
    # Round-off that piles up in one direction acts like a change of the input, more of it with every step.
    floor += DRIFTING.get(method.name, 0.0) * 2.0**-52 * 4 * finest * case.sensitivity
    if method.order is not None and finest > 2 * COARSEST and max(measured(2 * COARSEST)) < 10 * floor:
        return 0.0, 0.0  # round-off in a few steps, which are too long to show an order
    if pulses := segments_of(record_id):
        # A pulse has whole steps: with fewer than 16 their number does not follow that of all steps.
        resolving = 2 * math.ceil(8 * case.t / min(pulses))
        if resolving <= finest and max(measured(resolving)) < 30 * floor:
            return 0.0, 0.0  # round-off on every grid that could show an order
    halved = (finest // 2**k for k in range(finest.bit_length()))
    least = min(max(measured(n)) for n in halved if n > COARSEST)
    orders = method.orders(free=model(record_id) == "free")
    # Where errors are within a factor of 30 of the least one, they are round-off; unless they still fall.
    if least < 1000 * floor and not still_falls(measured(finest // 2), measured(finest), orders):
        floor = max(floor, 30 * least)
    momentum = observed_order(lambda n: measured(n).momentum, finest, floor)
    attitude = observed_order(lambda n: measured(n).attitude, finest, floor)
    # An exact method has an infinite order to live up to: its error may not rise above the floor.
    return tuple(  # type: ignore[return-value]
        observed - declared if declared is not None else 0.0 if observed == math.inf else -math.inf
        for observed, declared in zip((momentum, attitude), orders, strict=True)
    )


def still_falls(coarse: Errors, fine: Errors, orders: tuple[int | None, int | None]) -> bool:
    """Whether both errors become smaller with half the step as their orders say: round-off does not."""
    return all(
        declared is not None and fine[k] > 0 and coarse[k] / fine[k] > 2 ** (declared - WITHIN)
        for k, declared in enumerate(orders)
    )


def torques_taken(method: Method, record_id: str) -> bool:
    return not method.refuses(paper_case(record_id).torque.depends)


SHORT = [r for r in paper_records() if radians(r) <= 30]
MODELS = sorted({model(r) for r in SHORT})


def first_of(kind: str) -> str:
    return next(r for r in SHORT if model(r) == kind)


LONG_COMPOSITIONS = 6
"""Compositions of this order and above have so many parts that they take seconds to compile: they are evidence."""


def short() -> list[object]:
    """Methods with the models that they take: one each, another in turn, is always run."""
    out: list[object] = []
    for k, method in enumerate(catalogue().values()):
        kinds = [kind for kind in MODELS if torques_taken(method, first_of(kind))]
        for i, kind in enumerate(kinds):
            is_run = i == k % len(kinds) and (method.order or 0) < LONG_COMPOSITIONS
            marks = [] if is_run else [pytest.mark.evidence]
            out.append(pytest.param(method, kind, id=f"{method.name}-{kind}", marks=marks))
    return out


@pytest.mark.parametrize(("method", "kind"), short())
def test_papers_short(method: Method, kind: str) -> None:
    """One state of each torque model."""
    with interpreted():
        assert min(lower_bound(method, first_of(kind))) > -WITHIN


def resolved(record_id: str) -> bool:
    """Whether the steps are shorter than every segment of the torque: one step that spans it has no order to show."""
    t = paper_records()[record_id]["t"]
    return all(gap > t / (40 * radians(record_id)) for gap in segments_of(record_id))


def segments_of(record_id: str) -> list[float]:
    """The lengths of the segments of a torque that is constant in each."""
    record = paper_records()[record_id]
    ends = [0.0, *(end for end, _ in record["torque"].get("segments", ()))]
    return [b - a for a, b in pairwise(ends) if a < record["t"]]


@pytest.mark.evidence
@pytest.mark.parametrize("record_id", of_today([r for r in paper_records() if radians(r) <= 1500 and resolved(r)]))
def test_papers_all(method: Method, record_id: str) -> None:
    """Every state that is not too long to be reached with every method."""
    if torques_taken(method, record_id):
        # Over many turns the errors of low orders follow them at short steps only.
        within = WITHIN * max(1.0, (method.order or 0) / 4)  # a high order shows at long steps only, and not as sharply
        if (method.order or 0) > HIGHEST_ORDER:
            # From steps that cannot be made at all to those that err by round-off it is a factor of three, in which the
            # slope rises to the order: measured from 14.5 to 15.9 for 16. `tests/methods/test_gauss.py` asks as much.
            within = 2.0
        assert any(min(lower_bound(method, record_id, finer)) > -within for finer in (1, 8, 64, 512))
