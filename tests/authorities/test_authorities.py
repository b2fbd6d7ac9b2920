"""The stored truth, made again in another way."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.authorities import generic_records, paper_records
from tests.authorities.high_precision import Vector, cross, end_state, rotation, seen_from_body
from tests.authorities.make_generic_states import state
from tests.authorities.problems import RECIPES


def gap(record: dict[str, Any], R: list[Vector], w: Vector) -> float:
    stored = [mp.mpf(x) for row in record["R_end"] for x in row] + [mp.mpf(x) for x in record["omega_end"]]
    made = [x for row in R for x in row] + list(w)
    return float(max(abs(a - b) for a, b in zip(stored, made, strict=True)))


def test_every_problem_is_stored() -> None:
    assert set(generic_records()) == set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_generic_states(name: str) -> None:
    """With eight steps of order 20 the integration is good to about 25 digits; the stored states have 35."""
    with mp.workdps(40):
        assert gap(generic_records()[name], *state(RECIPES[name], 8, columns=10)) < 1e-22


@pytest.mark.parametrize("name", ["celledoni2006-fig6-alpha1@t=1", "celledoni2006-free-pi0=(-1,0,2)@t=1"])
def test_paper_states(name: str) -> None:
    """Taylor series and closed forms there, extrapolation here."""
    record = paper_records()[name]
    model = record["torque"]

    def torque(t: Any, R: list[Vector], w: Vector) -> Vector:
        if model["model"] == "free":
            return [mp.mpf(0)] * 3
        return cross([mp.mpf(x) for x in model["r"]], seen_from_body(R, [mp.mpf(x) for x in model["f"]]))

    with mp.workdps(50):
        tensor = np.diag(record["inertia"]).tolist()
        end = end_state(tensor, torque, rotation(record["quaternion"]), record["omega"], record["t"], 16)
        assert gap(record, *end) < 1e-35


@pytest.mark.parametrize("record", [*paper_records().values(), *generic_records().values()], ids=lambda r: r["id"])
def test_attitudes_are_rotations(record: dict[str, Any]) -> None:
    with mp.workdps(50):
        R = mp.matrix([[mp.mpf(x) for x in row] for row in record["R_end"]])
        assert mp.mnorm(R * R.T - mp.eye(3)) < mp.mpf(10) ** -33
        assert abs(mp.det(R) - 1) < mp.mpf(10) ** -33
