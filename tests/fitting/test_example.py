"""The example of a fit finds what it was made of."""

import runpy
from pathlib import Path

import numpy as np
import pytest


@pytest.mark.evidence
def test_the_example() -> None:
    fit = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "fit_gyro.py"))["found"]
    truth = np.array([0.9 / 1.7, 1.4 / 1.7, 0.02, 0.05, 0.03, np.nan, np.nan, np.nan, 12.0, -5.0, 20.0])
    assert np.nanmax(np.abs(fit.values - truth) / fit.standard_errors) < 4.0
