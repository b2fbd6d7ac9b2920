"""Declared orders against observed ones."""

import math
from itertools import pairwise

import numpy as np
import pytest

import polhode as ph
from polhode.methods import Method, catalogue
from tests.authorities import paper_case, paper_records
from tests.contract._measure import (
    COARSEST,
    EPS,
    FINEST,
    FLOOR,
    Errors,
    accepted,
    compared,
    errors,
    interpreted,
    observed_order,
)
from tests.contract.test_keeps import DRIFTING

WITHIN = 0.2
"""Of a declared order. Most fits come within 0.01."""

PAIRS = [pytest.param(m, name, id=f"{m.name}-{name}") for m in catalogue().values() for name in accepted(m)]


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_declared_orders_are_observed(method: Method, name: str) -> None:
    """On bodies without symmetry, free and under every kind of torque that the method takes."""
    momentum = observed_order(lambda n: errors(name, method, n).momentum)
    attitude = observed_order(lambda n: errors(name, method, n).attitude)
    for observed, declared in ((momentum, method.order), (attitude, method.attitude_order)):
        if declared is None:
            assert observed == math.inf
        elif not (observed == math.inf and name == "free" and len(accepted(method)) > 1):  # exact without a torque
            assert abs(observed - declared) < WITHIN


def test_exact_methods_err_by_round_off(method: Method) -> None:
    """Whatever the step: a few roundings each."""
    if method.order is not None:
        pytest.skip(f"{method.name} has an order")
    for steps in (1, 2, COARSEST, FINEST):
        assert max(errors("free", method, steps)) < 4 * EPS * math.sqrt(steps)


# --- the problems of the papers: they have symmetries, and some methods do better than they promise; none may do worse


def radians(record_id: str) -> float:
    """How far the body turns, more or less."""
    record = paper_records()[record_id]
    ends = (np.array(record[key], dtype=np.float64) for key in ("omega", "omega_end"))
    return max(float(np.linalg.norm(w)) for w in ends) * float(record["t"])


def model(record_id: str) -> str:
    return str(paper_records()[record_id]["torque"]["model"])


def lower_bound(method: Method, record_id: str) -> tuple[float, float]:
    """The smaller of observed order less declared order, for momentum and attitude."""
    case = paper_case(record_id)
    done: dict[int, Errors] = {}

    def measured(n: int) -> Errors:
        if n not in done:
            solution = ph.simulate(
                case.body, case.torque, omega=case.omega, attitude=case.attitude,
                t_span=(0.0, case.t), step=case.t / n, method=method, every=n,
            )  # fmt: skip
            done[n] = compared(solution, case.R, case.omega_end)
        return done[n]

    finest = max(COARSEST, 2 * math.ceil(40 * radians(record_id)))
    floor = max(FLOOR, 100 * 1.1e-16 * case.sensitivity)
    # Round-off that piles up in one direction acts like a change of the input, more of it with every step.
    floor += DRIFTING.get(method.name, 0.0) * 2.0**-52 * 4 * finest * case.sensitivity
    momentum = observed_order(lambda n: measured(n).momentum, finest, floor)
    attitude = observed_order(lambda n: measured(n).attitude, finest, floor)
    # An exact method has an infinite order to live up to: its error may not rise above the floor.
    return tuple(  # type: ignore[return-value]
        observed - declared if declared is not None else 0.0 if observed == math.inf else -math.inf
        for observed, declared in ((momentum, method.order), (attitude, method.attitude_order))
    )


def torques_taken(method: Method, record_id: str) -> bool:
    return not method.refuses(paper_case(record_id).torque.depends)


SHORT = [r for r in paper_records() if radians(r) <= 30]
MODELS = sorted({model(r) for r in SHORT})


@pytest.mark.parametrize("kind", MODELS)
def test_papers_short(method: Method, kind: str) -> None:
    """One state of each torque model."""
    record_id = next(r for r in SHORT if model(r) == kind)
    if torques_taken(method, record_id):
        with interpreted():
            assert min(lower_bound(method, record_id)) > -WITHIN


def resolved(record_id: str) -> bool:
    """Whether the steps are shorter than every segment of the torque: one step that spans it has no order to show."""
    ends = [0.0, *(end for end, _ in paper_records()[record_id]["torque"].get("segments", ()))]
    gaps = [b - a for a, b in pairwise(ends) if a < paper_records()[record_id]["t"]]
    return all(gap > paper_records()[record_id]["t"] / (40 * radians(record_id)) for gap in gaps)


@pytest.mark.evidence
@pytest.mark.parametrize("record_id", [r for r in paper_records() if radians(r) <= 1500 and resolved(r)])
def test_papers_all(method: Method, record_id: str) -> None:
    """Every state that is not too long to be reached with every method."""
    if torques_taken(method, record_id):
        assert min(lower_bound(method, record_id)) > -WITHIN
