"""Euler angles, modified Rodrigues parameters and pointing angles: against SciPy's rotations and mpmath."""

import warnings
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import attitudes, cli
from polhode.attitudes import AttitudeQuantity
from polhode.scenario import ScenarioError, load_scenario

FIXED = [a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c]
SEQUENCES = [*FIXED, *(s.upper() for s in FIXED)]
RUN: dict[str, Any] = {"omega": [0.3, 1.0, -0.4], "t_span": (0.0, 4.0), "step": 0.25, "method": "Exact"}


def some(count: int = 300) -> Any:
    q = np.random.default_rng(11).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def apart(a: Any, b: Any) -> float:
    """The largest difference of quaternions, whose sign has no meaning."""
    return float(np.minimum(np.abs(a - b).max(axis=-1), np.abs(a + b).max(axis=-1)).max())


@pytest.fixture(scope="module")
def motion() -> ph.Solution:
    return ph.simulate(ph.Body([2.0, 3.0, 4.0]), **RUN, attitude=ph.quaternion_from_euler("ZXZ", [0.1, 0.2, 0.3]))


def test_there_are_twelve_sequences() -> None:
    assert len(set(FIXED)) == 12


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_euler_angles_are_those_of_scipy(sequence: Any) -> None:
    q = some()
    turns = Rotation.from_quat(q, scalar_first=True)
    angles = attitudes.euler(q, sequence)
    np.testing.assert_allclose(angles, turns.as_euler(sequence), atol=1e-12)  # SciPy's own error, near a lock
    assert np.array_equal(attitudes.euler(q, sequence, degrees=True), np.degrees(angles))
    assert apart(ph.quaternion_from_euler(sequence, angles), q) < 2e-15
    given = np.random.default_rng(4).uniform(-400, 400, (50, 3))
    expected = Rotation.from_euler(sequence, given, degrees=True).as_quat(scalar_first=True)
    assert apart(ph.quaternion_from_euler(sequence, given, degrees=True), expected) < 2e-15


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_gimbal_lock(sequence: Any) -> None:
    """At the lock the third angle is zero, as SciPy has it; at any distance the angles give the attitude back."""
    ends = (0.0, np.pi) if sequence[0] == sequence[2] else (-np.pi / 2, np.pi / 2)
    for end, inward in zip(ends, (1.0, -1.0), strict=True):
        for distance in (0.0, 1e-15, 1e-12, 1e-8, 1e-4):
            given = [0.7, end + inward * distance, -2.5]
            q = Rotation.from_euler(sequence, given).as_quat(scalar_first=True)
            found = attitudes.euler(q, sequence)
            assert apart(ph.quaternion_from_euler(sequence, found), q) < 2e-15
            if distance == 0.0:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # SciPy warns of the lock
                    expected = Rotation.from_quat(q, scalar_first=True).as_euler(sequence)
                assert found[2] == 0.0
                np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * expected), atol=1e-7)


def test_one_or_two_turns() -> None:
    half = np.sqrt(0.5)
    np.testing.assert_allclose(ph.quaternion_from_euler("Z", np.pi / 2), [half, 0, 0, half], atol=1e-16)
    expected = Rotation.from_euler("ZX", [30, 40], degrees=True).as_quat(scalar_first=True)
    assert apart(ph.quaternion_from_euler("ZX", [30, 40], degrees=True), expected) < 1e-15


def test_modified_rodrigues_parameters() -> None:
    q = some()
    turns = Rotation.from_quat(q, scalar_first=True)
    inner, outer = attitudes.mrp(q), attitudes.mrp(q, shadow=True)
    np.testing.assert_allclose(inner, turns.as_mrp(), rtol=1e-14, atol=1e-15)
    assert (np.linalg.norm(inner, axis=1) <= 1).all()
    np.testing.assert_allclose(outer, -inner / np.sum(inner**2, axis=1)[:, None], rtol=1e-13)
    for given in (inner, outer):
        assert apart(ph.quaternion_from_mrp(given), q) < 2e-15
        assert apart(ph.quaternion_from_mrp(given), Rotation.from_mrp(given).as_quat(scalar_first=True)) < 2e-15
    assert np.array_equal(attitudes.mrp(np.array([1.0, 0, 0, 0])), [0, 0, 0])
    assert np.isnan(attitudes.mrp(np.array([1.0, 0, 0, 0]), shadow=True)).all()
    assert apart(ph.quaternion_from_mrp([1e200, 0, 0]), np.array([1.0, 0, 0, 0])) < 1e-15  # SciPy overflows


def test_pointing_angle_is_accurate_at_every_angle() -> None:
    for tilt in (1e-12, 1e-5, 0.7, np.pi / 2, np.pi - 1e-7):
        q = ph.quaternion_from_euler("XZ", [tilt, 0.3])[None, :]
        with mpmath.workdps(40):
            across = mpmath.hypot(q[0, 1], q[0, 2])
            along = mpmath.hypot(q[0, 0], q[0, 3])
            exact = 2 * mpmath.atan2(across, along)  # of the quaternion as it is
        np.testing.assert_allclose(
            attitudes.pointing_angle(q, "z", [0, 0, 5.0])[0], float(exact), rtol=4e-16, atol=2e-16
        )


def test_pointing_angle_of_any_axis(motion: ph.Solution) -> None:
    axis, aim = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.3, -1.0])
    seen = motion.attitude.apply(axis) @ aim / np.linalg.norm(axis) / np.linalg.norm(aim)
    np.testing.assert_allclose(motion.pointing_angle(axis, aim), np.arccos(seen), atol=1e-14)
    np.testing.assert_allclose(motion.pointing_angle(axis, aim, degrees=True), np.degrees(np.arccos(seen)), atol=1e-12)
    np.testing.assert_allclose(motion.pointing_angle("-y", "z"), np.arccos(-motion.attitude.as_matrix()[:, 2, 1]))
    moving = motion.attitude.apply([0.0, 0.0, 2.0])  # a direction for each row
    assert motion.pointing_angle("z", moving).max() < 1e-15
    with pytest.raises(ValueError, match=r"one for each of the \(17,\) rows, not of shape \(3, 3\)"):
        motion.pointing_angle("z", np.eye(3))
    with pytest.raises(ValueError, match=r"direction\[1\] must point somewhere"):
        motion.pointing_angle("z", np.ones((17, 3)) * (np.arange(17) != 1)[:, None])
    with pytest.raises(ValueError, match="body_axis must point somewhere"):
        motion.pointing_angle([0, 0, 0], "z")


# --- solutions, ensembles, free motions ----------------------------------------------------------------------------


def test_solutions(motion: ph.Solution) -> None:
    np.testing.assert_allclose(motion.euler("ZXZ")[0], [0.1, 0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(motion.euler("zyx", degrees=True), motion.attitude.as_euler("zyx", degrees=True))
    np.testing.assert_allclose(motion.mrp(), motion.attitude.as_mrp(), atol=1e-15)
    np.testing.assert_allclose(motion.spatial_omega, motion.attitude.apply(motion.omega), atol=1e-14)
    # of a free body the rate along the momentum is constant: 2 T / G
    along = np.sum(motion.spatial_omega * motion.spatial_momentum, axis=1)
    np.testing.assert_allclose(along, 2 * motion.kinetic_energy, rtol=1e-14)
    free = ph.FreeMotion(motion.body, RUN["omega"], motion.quaternion[0])
    np.testing.assert_allclose(free.at(motion.t).euler("YZX"), motion.euler("YZX"), atol=1e-12)


def test_ensembles_tables_and_reductions(motion: ph.Solution) -> None:
    rates = np.random.default_rng(1).normal(size=(4, 3))
    run = {**RUN, "omega": rates, "t_eval": motion.t, "attitude": motion.quaternion[0]}
    many = ph.ensemble(motion.body, **run)
    assert many.euler("ZYX").shape == (4, 17, 3)
    np.testing.assert_allclose(many.euler("ZYX")[2], many[2].euler("ZYX"), atol=1e-15)
    np.testing.assert_allclose(many.spatial_omega[2], many[2].spatial_omega, atol=1e-15)
    assert np.array_equal(many.each("spatial_omega"), many.spatial_omega)
    asked = ["euler_deg(ZYX)", "mrp", "pointing_angle_deg(z, [0, 0, 1])"]
    table = many.to_xarray(quantities=asked)
    assert table["euler_deg(ZYX)"].dims == ("body", "time", "euler_angle")
    assert np.array_equal(table["mrp"], many.mrp())
    one = many[1].to_xarray(quantities="pointing_angle_deg(z, [0, 0, 1])")
    assert one["pointing_angle_deg(z, [0, 0, 1])"].attrs["units"] == "degree"
    assert np.array_equal(one["spatial_omega"], many[1].spatial_omega)
    found = ph.ensemble(
        motion.body, **run,
        reduce={
            "lean": ph.quantity("pointing_angle_deg(z, [0, 0, 1])").max("time"),
            "angles": ph.quantity("euler(ZYX)").mean("body"),
            "turning": ph.quantity("spatial_omega").last(),
        },
    )  # fmt: skip
    np.testing.assert_allclose(found["lean"], many.pointing_angle("z", "z", degrees=True).max(axis=1))
    np.testing.assert_allclose(found["angles"], many.euler("ZYX").mean(axis=0), atol=1e-14)
    assert found.to_xarray()["lean"].attrs["units"] == "degree"
    assert found.to_xarray()["angles"].dims == ("time", "euler_angle")
    assert np.array_equal(found["turning"], many.spatial_omega[:, -1])


def test_pictures_have_a_panel_for_each_quantity(motion: ph.Solution) -> None:
    figure = motion.plot(quantities=["euler_deg(ZYX)", "pointing_angle_deg(z, [0, 0, 1])"])
    assert len(figure.axes) == 5
    assert figure.axes[3].get_ylabel() == "Euler angle (°)"
    assert [len(panel.get_lines()) for panel in figure.axes[3:]] == [6, 2]  # the true motion, and the rows on it
    curve, rows = figure.axes[4].get_lines()
    np.testing.assert_array_equal(rows.get_ydata(), motion.pointing_angle("z", "z", degrees=True))
    np.testing.assert_array_equal(
        curve.get_ydata(), motion.at(curve.get_xdata()).pointing_angle("z", "z", degrees=True)
    )


SCENARIO = """
[body]
moments = [2.0, 3.0, 4.0]

[initial]
omega = [0.3, 1.0, -0.4]
{}

[run]
t_span = [0.0, 4.0]
step = 0.25
method = "Exact"

[output]
quantities = ["euler_deg(ZYX)", "mrp"]
"""


def test_scenarios_and_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def attitude(text: str) -> Any:
        file = tmp_path / "a.toml"
        file.write_text(SCENARIO.format(text))
        return np.array(load_scenario(file).attitude)

    expected = Rotation.from_euler("ZYX", [0.1, 0.2, 0.3]).as_quat(scalar_first=True)
    assert apart(attitude('euler = {sequence = "ZYX", angles = [0.1, 0.2, 0.3]}'), expected) < 1e-15
    degrees = ", ".join(map(repr, np.degrees([0.1, 0.2, 0.3]).tolist()))
    assert apart(attitude(f'euler_deg = {{sequence = "ZYX", angles = [{degrees}]}}'), expected) < 1e-15
    assert apart(attitude("mrp = [0.1, 0.2, -0.3]"), ph.quaternion_from_mrp([0.1, 0.2, -0.3])) == 0
    for wrong, problem in (
        ('mrp = [0, 0, 0]\neuler_deg = {sequence = "X", angles = [1]}', "found mrp and euler_deg"),
        ('euler = {sequence = "XXY", angles = [1, 2, 3]}', "initial.euler: .*twice in a row"),
        ('euler = {sequence = "XYZ", angles = [1, 2]}', "initial.euler: .*needs 3 angles"),
    ):
        with pytest.raises(ScenarioError, match=problem):
            attitude(wrong)
    file = tmp_path / "top.toml"
    file.write_text(SCENARIO.format("mrp = [0.1, 0.2, -0.3]"))
    run_command("run", str(file), "--plot", "--out", str(tmp_path))
    assert (tmp_path / "top.png").stat().st_size > 10_000
    capsys.readouterr()
    run_command("show", str(tmp_path / "top.nc"), "--quantity", "mrp", "--rows", "2", "--quantity", "euler_deg(ZYX)")
    shown = capsys.readouterr().out
    assert "euler_deg(ZYX)" in shown
    first = next(line for line in shown.splitlines() if line.lstrip().startswith("0 "))
    assert [float(x) for x in first.split()][8:11] == [0.1, 0.2, -0.3]
    file.write_text(SCENARIO.format("").replace("mrp", "mrq"))
    with pytest.raises(ScenarioError, match="output: there is no quantity of attitudes 'mrq': did you mean 'mrp'"):
        load_scenario(file)
    many = '\n[ensemble]\ncount = 3\nseed = 1\nomega = {kind = "Normal", sd = 0.1}\n'
    file.write_text(SCENARIO.format("") + many)
    with pytest.raises(
        ScenarioError, match=r"output\.quantities: these are for tables and for the picture of one body"
    ):
        load_scenario(file)
    lean = 'reduce.lean = "pointing_angle_deg(z, [0, 0.5, 1e-3]).max(time).quantile([0.5, 0.9], body)"'
    file.write_text(SCENARIO.format("").replace("quantities", "# quantities") + many + lean)
    found: Any = load_scenario(file).ensemble()
    assert found["lean"].shape == (2,)


def run_command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.app(list(arguments))
    assert not ended.value.code


# --- bad input -----------------------------------------------------------------------------------------------------


def test_bad_input(motion: ph.Solution) -> None:
    for wrong in ("", "XYZX", "XyZ", "ABC", 3):
        with pytest.raises(ValueError, match="sequence must be up to three of XYZ"):
            ph.quaternion_from_euler(wrong, [0.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sequence must be three of XYZ"):
        motion.euler("ZX")
    with pytest.raises(ValueError, match="'ZZX' turns about Z twice in a row"):
        motion.euler("ZZX")
    with pytest.raises(ValueError, match="needs 3 angles"):
        ph.quaternion_from_euler("ZYX", [1.0, 2.0])
    with pytest.raises(ValueError, match=r"angles must be finite, but angles\[1\] is nan"):
        ph.quaternion_from_euler("ZYX", [1.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="mrp must have three components"):
        ph.quaternion_from_mrp([1.0, 2.0])
    for text, problem in (
        ("euler", r"must be written like 'euler\(ZYX\)'"),
        ("euler(ZYX", "there is no quantity"),
        ("mrp(2)", "must be written 'mrp' or"),
        ("pointing_angle(z)", "must be written like"),
        ("pointing_angle(z, [0, 0])", "direction"),
        ("pointing_angle(w, [0, 0, 1])", "body_axis must be x, y, z"),
    ):
        with pytest.raises(ValueError, match=problem):
            AttitudeQuantity.read(text)
    with pytest.raises(ValueError, match="did you mean 'euler_deg'"):
        ph.quantity("euler_dag")
