"""The examples of the referee and of the conventions of others run as they stand, and the verdicts are today's."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph

DOCS = Path(__file__).parents[2] / "docs"
LOGS = Path(__file__).parents[1] / "referee" / "logs"


def run(page: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": page}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL):
        if "def test_" in block:
            continue  # tests/referee/test_plugin.py runs it
        exec(compile(block, page, "exec"), names)
    return names


def test_the_conventions_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("spiceypy", reason="spiceypy is not installed (the extra spice)")
    names = run("understand/neighbours.md")
    printed = capsys.readouterr().out.strip()
    assert f"# {printed}" in (DOCS / "understand" / "neighbours.md").read_text("utf-8")
    assert names["verdict"].convention.certainty == "certain"


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("howto/referee.md")["verdict"].agrees
    assert (tmp_path / "verdict.png").exists()
    assert (tmp_path / "verdict.html").exists()


def test_the_verdicts_on_the_page() -> None:
    page = " ".join((DOCS / "howto" / "referee.md").read_text("utf-8").split())
    for log in sorted(LOGS.glob("*.csv")):
        if f"check {log.name}" not in page:
            continue
        verdict = ph.check(log, body=ph.Body([2.0, 3.0, 4.0]))
        assert f"{log.name}: {verdict.headline}" in page, f"run python -m docs.make_referee: {verdict.headline}"


def installed(module: str) -> Any:
    return pytest.importorskip(module, reason=f"{module} is not installed (the extra peers)")


@pytest.mark.evidence
def test_mujoco_itself() -> None:
    """xmat and xquat of a body whose joint was given polhode's quaternion."""
    mujoco = installed("mujoco")
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="2 3 4"/></body></worldbody>'
        "</mujoco>"
    )
    data = mujoco.MjData(model)
    q = ph.quaternion_from_euler("ZYX", [30.0, -10.0, 5.0], degrees=True)
    data.qpos[3:] = q
    mujoco.mj_forward(model, data)
    from scipy.spatial.transform import Rotation

    assert np.allclose(data.xquat[1], q, atol=1e-15)
    assert np.allclose(data.xmat[1].reshape(3, 3), Rotation.from_quat(q, scalar_first=True).as_matrix(), atol=1e-14)


@pytest.mark.evidence
def test_basilisk_itself() -> None:
    """MRP2C and EP2C are the transpose of polhode's matrix."""
    tools = installed("Basilisk.utilities.RigidBodyKinematics")
    from scipy.spatial.transform import Rotation

    q = ph.quaternion_from_euler("ZYX", [30.0, -10.0, 5.0], degrees=True)
    R = Rotation.from_quat(q, scalar_first=True)
    assert np.allclose(tools.EP2C(q), R.as_matrix().T, atol=1e-14)
    assert np.allclose(tools.MRP2C(R.as_mrp()), R.as_matrix().T, atol=1e-14)


@pytest.mark.evidence
def test_logs_are_those_of_the_simulators(tmp_path: Path) -> None:
    """`python -m benchmarks.logs` makes the logs again."""
    for module in ("mujoco", "rebound", "Basilisk"):
        installed(module)
    from benchmarks.logs import main

    main(tmp_path)
    for log in LOGS.glob("*.csv"):
        old, new = (np.loadtxt(folder / log.name, delimiter=",", skiprows=1) for folder in (LOGS, tmp_path))
        assert np.allclose(old, new, rtol=0, atol=1e-12 * np.abs(old).max(axis=0)), log.name
