"""Data of all kinds, good and bad, and names of what is fitted."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.fitting.data import _fields, measurements
from polhode.fitting.parameters import parameters

T = np.linspace(0.0, 30.0, 60)
BODY = ph.Body([1.0, 2.0, 2.5])
STATE = ph.FreeMotion(BODY, [0.3, 1.0, 0.2], Rotation.from_rotvec([0.1, 0.2, 0.3])).at(T)
RATES = STATE.omega + 1e-3 * np.random.default_rng(0).normal(size=(60, 3))
GUESS = ph.Body([1.2, 2.0, 2.4])
ONES = {f"omega_{k}": [1.0] for k in "xyz"}


def solution() -> ph.Solution:
    return ph.simulate(BODY, omega=[0.3, 1.0, 0.2], t_span=(0, 30), t_eval=T, rtol=1e-9)


def test_tables(tmp_path: Path) -> None:
    s = solution()
    for units in (False, True):
        s.to_csv(tmp_path / "s.csv", units=units, overwrite=True)
        read = measurements(str(tmp_path / "s.csv"))
        assert np.array_equal(read.t, T)
        np.testing.assert_allclose(read.omega, s.omega, atol=1e-16)
        assert read.has_attitude.all()
    s.save(tmp_path / "s.nc")
    np.testing.assert_allclose(measurements(tmp_path / "s.nc").omega, s.omega, atol=1e-16)
    degrees = pandas.DataFrame({
        "seconds": T, **{f"{k} (deg/s)": np.degrees(RATES[:, i]) for i, k in enumerate("pqr")}, "sigma_omega": 0.01
    })  # fmt: skip
    named = measurements(degrees, columns={"t": "seconds", "omega": ["p (deg/s)", "q (deg/s)", "r (deg/s)"]})
    np.testing.assert_allclose(named.omega, RATES, rtol=1e-14)
    assert named.sigma_omega is not None
    assert (named.sigma_omega == 0.01).all()


def test_a_message_of_ccsds(tmp_path: Path) -> None:
    pytest.importorskip("ccsds_ndm")
    about: dict[str, Any] = {
        "object_name": "X",
        "object_id": "2020-001A",
        "epoch": "2026-01-01T00:00:00",
        "time_system": "UTC",
    }
    solution().to_aem(tmp_path / "a.aem", tolerance=1e-6, **about)
    read = ph.read_aem(tmp_path / "a.aem")
    assert read.is_inertial
    fit = ph.fit(GUESS, read, free=["ratios", "omega", "attitude"])
    np.testing.assert_allclose(fit.values[:2], [0.4, 0.8], rtol=1e-4)
    np.testing.assert_allclose(measurements(tmp_path / "a.aem").t, read.t)


def test_matrices_and_rotations() -> None:
    turns = STATE.attitude
    for given in (turns, turns.as_matrix(), turns.as_quat(scalar_first=True), -STATE.quaternion):
        read = measurements({"t": T, "attitude": given})
        assert (Rotation.from_quat(read.quaternion, scalar_first=True) * turns.inv()).magnitude().max() < 1e-14


def test_standard_deviations() -> None:
    for sigma in (0.1, [0.1, 0.1, 0.1], np.full(60, 0.1), np.full((60, 3), 0.1)):
        read = measurements({"t": T, "omega": RATES}, sigma_omega=sigma)
        assert read.sigma_omega is not None
        assert (read.sigma_omega == 0.1).all()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"t": T[::-1], "omega": RATES}, r"t must rise, but t\[1\] = 29.4915254237 follows t\[0\] = 30: sort the rows"),
        ({"t": [0, 1, 1], "omega": RATES[:3]}, r"t must rise, but t\[2\] = 1 follows t\[1\] = 1"),
        ({"t": [], "omega": []}, "there are no data: t is empty"),
        ({"t": T}, "the data need omega, the rates in body axes, or attitude, or both"),
        ({"omega": RATES}, "the data need t, the times in s, but have only 'omega'"),
        ({"t": T, "omgea": RATES}, "there is no kind of data 'omgea': did you mean 'omega'"),
        ({"t": T, "omega": RATES[:9]}, r"omega must have the shape \(60, 3\), as t has 60 times, not \(9, 3\)"),
        ({"t": [0, np.nan], "omega": RATES[:2]}, r"t must be finite, but t\[1\] is nan"),
        ({"t": T, "omega": np.where(RATES > 1, np.inf, RATES)}, "is infinite: remove the row"),
        ({"t": T, "omega": np.where(RATES > 1, 1e300, RATES)}, "is 1e.300, more than can be measured: correct the row"),
        ({"t": T, "attitude": np.zeros((60, 4))}, r"attitude\[0\] is a quaternion of zeros"),
        ({"t": T, "attitude": np.ones((60, 3, 3))}, "is no rotation"),
        ({"t": T, "omega": RATES, "sigma_omega": 0.0}, "sigma_omega must be positive and finite, but it is 0 in row 0"),
        ({"t": T, "omega": RATES, "sigma_omega": -np.ones(60)}, "it is -1 in row 0: leave sigma_omega out"),
        ({"t": T, "omega": RATES, "sigma_omega": [1, 2]}, r"one number, three, 60 or \(60, 3\) of them, not of shape"),
        ([], "the list of them is empty"),
        ([{"t": T, "omega": RATES}, {"t": T[::-1], "omega": RATES}], r"data\[1\]: t must rise"),
        (pandas.DataFrame({"omega_x": [1.0]}), "no column is the time; there are 'omega_x': name it"),
        (pandas.DataFrame({"t": T, "p": T}), "no columns are an attitude or a rate; there are 't', 'p': name them"),
        (pandas.DataFrame({"t": ["a"], **ONES}), "row 0 of the column 't' is no number: 'a'"),
        (pandas.DataFrame({"t": [1.0], **{f"w{k} (turns/s)": [1.0] for k in "xyz"}}), "have no common unit"),
        (pandas.DataFrame({"t": [1.0], **{f"spatial_{k}": x for k, x in ONES.items()}}), "no rates in body axes"),
        (pandas.DataFrame({"t": [1.0], **{f"q{k}": [0.5] for k in range(4)}}), r"'q3'\]\}, scalar first"),
    ],
)  # fmt: skip
def test_bad_data(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ph.fit(GUESS, data)


def test_other_kinds_of_data_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="data must be a dictionary"):
        ph.fit(GUESS, 5)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match=r"empty.csv is empty: write it again"):
        ph.fit(GUESS, tmp_path / "empty.csv")
    with pytest.raises(FileNotFoundError):
        ph.fit(GUESS, tmp_path / "none.csv")
    with pytest.raises(ValueError, match="columns are for tables"):
        ph.fit(GUESS, {"t": T, "omega": RATES}, columns={"t": "x"})
    with pytest.raises(ValueError, match="sigma_omega is given for some of the data only"):
        ph.fit(GUESS, [{"t": T, "omega": RATES, "sigma_omega": 1.0}, {"t": T, "omega": RATES}])


@pytest.mark.parametrize(
    ("free", "message"),
    [
        (["momets"], "there is no parameter to fit 'momets': did you mean 'moments'"),
        ([], "free must name what is to be fitted: moments, ratios"),
        (["moments", "ratios"], "moments and ratios overlap: name one of them"),
        (["omega", "omega"], "free names 'omega' 2 times"),
        (["torque.coeficient"], "there is no parameter to fit 'torque.coeficient': did you mean 'torque.coefficient'"),
        (["torque.coefficient[7]"], "has only 1 numbers, counted from 0"),
    ],
)
def test_names(free: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ph.fit(GUESS, {"t": T, "omega": RATES}, free=free, torque=ph.LinearDamping(0.1))


def test_the_first_attitude_is_not_taken_for_exact() -> None:
    data = {"t": T, "attitude": STATE.attitude}
    with pytest.raises(ValueError, match="attitude is not free, so that at the start must be given"):
        ph.fit(GUESS, data)


def test_a_body_at_rest_has_a_rate_of_zero() -> None:
    fit = ph.fit(GUESS, {"t": T, "omega": np.zeros((len(T), 3))})
    assert np.array_equal(fit.omega, np.zeros(3))
    assert all("omega_x" not in one.names for one in fit.undetermined)
    assert np.isfinite(fit["omega_x"]).all()


def test_names_of_torques() -> None:
    with pytest.raises(ValueError, match=r"'torque.moment' is to be fitted, but there is no torque"):
        parameters("torque.moment", BODY, None)
    with pytest.raises(ValueError, match="Free has no numbers of its own"):
        parameters("torque.moment", BODY, ph.Free())
    with pytest.raises(TypeError, match="free must hold names such as 'moments', not 3"):
        parameters([3], BODY, None)
    dipole = ph.MagneticDipole(moment=(1, 2, 3), field=(0, 0, 1))
    assert parameters("torque.moment", BODY, dipole).names == (
        "torque.moment_x", "torque.moment_y", "torque.moment_z"
    )  # fmt: skip
    both = dipole + 2.0 * ph.LinearDamping((1.0, 2.0, 3.0))
    made = parameters(["torque.LinearDamping.coefficient[1]", "torque.MagneticDipole.field"], BODY, both)
    assert made.names[0] == "torque.LinearDamping.coefficient[1]"
    assert made.units == ("",) * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "tukey"}, "there is no loss 'tukey'"),
        ({"loss_scale": 0.0}, "loss_scale must be positive"),
        ({"missing": "ignore"}, "there is no way to treat missing numbers 'ignore'"),
        ({"free": "moments"}, "omega is not free, so it must be given"),
    ],
)
def test_bad_options(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ph.fit(GUESS, {"t": T, "omega": RATES}, **change)
    with pytest.raises(TypeError, match=r"body must be a polhode.Body, a guess of it"):
        ph.fit([1.0, 2.0, 3.0], {"t": T, "omega": RATES})  # type: ignore[arg-type]


def test_too_few_data() -> None:
    with pytest.raises(ValueError, match="3 measured numbers cannot determine 6 parameters"):
        ph.fit(GUESS, {"t": [0.0], "omega": [[0.3, 1.0, 0.2]]})
    with pytest.raises(ValueError, match="these data show no rate: give omega="):
        ph.fit(GUESS, {"t": [0.0], "attitude": [[1.0, 0, 0, 0]]}, free="attitude")
    # As many numbers as parameters: the scale is not determined, and nothing is left to estimate a deviation from.
    fit = ph.fit(GUESS, {"t": T[:2], "omega": RATES[:2]}, sigma_omega=1e-3)
    assert fit.degrees_of_freedom >= 1
    assert fit.undetermined


def test_pictures(tmp_path: Path) -> None:
    fit = ph.fit(GUESS, {"t": T, "omega": RATES, "attitude": STATE.attitude}, free=["ratios", "omega", "attitude"])
    figure = fit.plot(tmp_path / "fit.svg")
    assert len(figure.axes) == 4
    assert (tmp_path / "fit.svg").read_text("utf-8").startswith("<?xml")
    with pytest.raises(ValueError, match="there is no parameter of this fit 'omega': did you mean"):
        _ = fit["omega"]
    assert fit.correlation[0, 0] == pytest.approx(1.0)


def test_short_names_of_columns() -> None:
    table = pandas.DataFrame(
        {"t": T, **{name: T + k for k, name in enumerate(("wx", "wy", "wz", "qw", "qx", "qy", "qz"))}}
    )
    found = _fields(table, None)
    np.testing.assert_array_equal(found["omega"], np.column_stack([T, T + 1, T + 2]))
    np.testing.assert_array_equal(found["attitude"], np.column_stack([T + 3, T + 4, T + 5, T + 6]))


def test_tables_as_others_write_them(tmp_path: Path) -> None:
    """The reader is that of the referee: marks, decimal commas, units, gaps, and the line of what is wrong."""
    lines = ["Time [ms];gyro_x (rpm);gyro_y (rpm);gyro_z (rpm);sigma_omega (deg/s)"]
    for t, w in zip(T, RATES * 30.0 / np.pi, strict=True):
        lines.append(";".join([f"{1e3 * t:.17g}", *(f"{x:.17g}" for x in w), "0.5"]).replace(".", ","))
    path = tmp_path / "gyro.csv"
    path.write_text("\n".join(lines), "utf-8")
    read = measurements(path)
    np.testing.assert_allclose(read.t, T, rtol=1e-15)
    np.testing.assert_allclose(read.omega, RATES, rtol=1e-14)
    assert read.sigma_omega is not None
    np.testing.assert_allclose(read.sigma_omega, np.radians(0.5), rtol=1e-15)
    cells = lines[5].split(";")
    lines[5] = ";".join([cells[0], "", *cells[2:]])
    path.write_text("\n".join(lines), "utf-8")
    assert np.isnan(measurements(path, missing="drop").omega[4]).tolist() == [True, False, False]
    with pytest.raises(
        ValueError, match=r"gyro.csv, counting its rows of numbers from 0: omega\[4, 0\] is NaN: pass missing='drop'"
    ):
        measurements(path)
    lines[7] = lines[7].replace(",", "x", 1)
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(ValueError, match=r"gyro.csv, line 8: column 1 has '\d+x\d+', which is no number: correct it"):
        measurements(path)
    path.write_bytes("t,wx (°/s),wy,wz\n1,2,3,4\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 1: the byte 0xb0 is not UTF-8: save the file as UTF-8"):
        measurements(path)


def test_other_columns_may_hold_words(tmp_path: Path) -> None:
    rows = [f"{t!r},ok,{x!r},{y!r},{z!r}" for t, (x, y, z) in zip(T.tolist(), RATES.tolist(), strict=True)]
    (tmp_path / "gyro.csv").write_text("\n".join(["t,status,wx,wy,wz", *rows]), "utf-8")
    assert np.array_equal(measurements(tmp_path / "gyro.csv").omega, RATES)


@pytest.mark.parametrize(
    ("time", "seconds", "rate", "radians"),
    [
        ("time (h)", 3600.0, "w{} (deg/h)", np.pi / 180 / 3600),
        ("time [days]", 86400.0, "w{} [rad/min]", 1 / 60),
        ("t_min", 60.0, "gyro_{}_deg_per_h", np.pi / 180 / 3600),
        ("Time (UTC)", 1.0, "w{} (°/s)", np.pi / 180),
        ("time (milliseconds)", 1e-3, "w{}", 1.0),
        ("time_\u00b5s", 1e-6, "w{}", 1.0),
    ],
)
def test_units_of_times_and_of_rates(time: str, seconds: float, rate: str, radians: float) -> None:
    rates = {rate.format(axis): RATES[:, k] / radians for k, axis in enumerate("xyz")}
    read = measurements(pandas.DataFrame({time: T / seconds, **rates}))
    np.testing.assert_allclose(read.t, T, rtol=1e-15)
    np.testing.assert_allclose(read.omega, RATES, rtol=1e-14)


def test_units_that_are_said() -> None:
    table = pandas.DataFrame({"when (ticks)": T / 3600, **{f"w{k}": RATES[:, k] * 3600 for k in range(3)}})
    read = measurements(table, columns={"t_h": "when (ticks)", "omega_rad/h": ["w0", "w1", "w2"]})
    np.testing.assert_allclose(read.t, T, rtol=1e-15)
    np.testing.assert_allclose(read.omega, RATES, rtol=1e-14)
    for key in ("t_deg", "omega_s", "t_fortnight"):
        with pytest.raises(ValueError, match=f"'{key}' must be t, omega, .* maybe with a unit as in omega_deg"):
            measurements(table, columns={key: "when (ticks)" if key[0] == "t" else ["w0", "w1", "w2"]})


def test_a_unit_that_nobody_knows_is_refused() -> None:
    rates = {f"w{axis}": RATES[:, k] for k, axis in enumerate("xyz")}
    with pytest.raises(ValueError, match=r"the times 'time \(fortnight\)' are in a unit that is not known: use s, ms"):
        measurements(pandas.DataFrame({"time (fortnight)": T, **rates}))
    with pytest.raises(ValueError, match=r"'sigma_omega \(furlong/s\)' have no common unit that is known"):
        measurements(pandas.DataFrame({"t": T, **rates, "sigma_omega (furlong/s)": 1e-3}))
