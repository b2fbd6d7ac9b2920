"""The examples of docs/howto/orbit.md run as they stand."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.scenario import load_scenario

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "orbit.md").read_text("utf-8")
CUBESAT, IGRF, MSIS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(*blocks: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "orbit"}
    for block in blocks:
        exec(compile(block, "orbit.md", "exec"), names)
    return names


@pytest.mark.evidence
def test_the_cubesat() -> None:
    names = run(CUBESAT)
    s, orbit = names["s"], names["orbit"]
    assert s.success
    assert s.error_estimate < 1e-7
    dark = ph.environment.eclipses(orbit, names["sides"].sun, 0, orbit.period)
    assert set(s.torque.breakpoints) == set(dark.ravel().tolist()) - {0.0, orbit.period}
    largest = [np.linalg.norm(s.torque_of(name), axis=1).max() for name in s.torque.parts]
    assert len(largest) == 3
    assert all(1e-10 < size < 1e-4 for size in largest)


def test_the_field() -> None:
    pytest.importorskip("ppigrf")
    before = CUBESAT.partition("gravity =")[0]
    field = run(before, IGRF)["field"]
    assert (np.linalg.norm(field.vectors([0.0, 60.0]), axis=1) > 1.5e-5).all()


def test_the_air() -> None:
    pytest.importorskip("pymsis")
    before = CUBESAT.partition("gravity =")[0]
    drag = run(before, MSIS)["drag"].for_span(0.0, 60.0)
    assert len(drag.parameters(ph.Body([1.0, 1.0, 1.0]))) > 0


def test_the_tables(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    rest = "[body]\nmoments = [2, 3, 4]\n[initial]\nomega = [1, 0, 0]\n[run]\nt_span = [0, 1]\nrtol = 1e-6\n"
    (tmp_path / "orbit.toml").write_text(rest + block, "utf-8")
    orbit = ph.environment.Orbit(6.778e6, 0.001, 51.6)
    field = ph.environment.IGRF(orbit, "2026-03-20T14:46:00")
    total = ph.GravityGradient(orbit=orbit) + ph.MagneticDipole((0.0, 0.0, 0.3), field)
    assert load_scenario(tmp_path / "orbit.toml").torque == total
