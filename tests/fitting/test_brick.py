"""The inertia of NASA's tumbling brick, from the rates that other simulators computed for it."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph

ROOT = Path(os.environ.get("POLHODE_AUTHORITIES", Path(__file__).parents[3] / "shared" / "data"))
MOMENTS = np.array([0.001894220, 0.006211019, 0.007194665])
RATES = [f"bodyAngularRateWrtEi_deg_s_{k}" for k in ("Roll", "Pitch", "Yaw")]


def rates(name: str) -> dict[str, Any]:
    import pandas

    path = ROOT / "nesc" / name
    if not path.exists():
        pytest.skip(f"no {path}; POLHODE_AUTHORITIES says where the tables are")
    table = pandas.read_csv(path)
    return {"t": table["time"].to_numpy(), "omega": np.radians(table[RATES].to_numpy())}


@pytest.mark.parametrize(
    ("simulator", "digits", "degrees"),
    [("01", 1e-11, 1e-9), ("04", 1e-11, 1e-9), ("02", 1e-4, 2e-4), ("06", 1e-5, 4e-3)],
)
def test_the_free_brick(simulator: str, digits: float, degrees: float) -> None:
    data = rates(f"tumbling_brick_sim_{simulator}.csv")
    fit = ph.fit(ph.Body([0.0025, 0.005, 0.0072]), data, free=["ratios", "omega"])
    off = np.abs(fit.values[:2] / (MOMENTS[:2] / MOMENTS[2]) - 1.0).max()
    assert off < digits
    np.testing.assert_allclose(np.degrees(fit.omega), [10.0, 20.0, 30.0], atol=degrees)
    assert fit.undetermined == ()
