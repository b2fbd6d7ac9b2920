"""What the referee reads: tables as others write them, and what it says of those that are damaged."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.files.netcdf import BadFile
from polhode.referee.names import recognised
from polhode.referee.reading import read_log
from tests.referee.motions import Made, free_motion


@pytest.fixture(scope="module")
def made() -> Made:
    return free_motion(3, 60)


def text(made: Made, header: str = "t,qw,qx,qy,qz,wx,wy,wz", mark: str = ",", form: str = ".17g") -> str:
    rows = np.column_stack([made.t, made.q, made.w])
    return "\n".join([header, *(mark.join(f"{x:{form}}" for x in row) for row in rows)]) + "\n"


@pytest.mark.parametrize(
    ("names", "kind", "unit", "hint"),
    [
        ("t,qw,qx,qy,qz,wx,wy,wz", "quaternion", "", "first"),
        ("time,q0,q1,q2,q3,p,q,r", "quaternion", "", ""),
        ("Time [s],q_1,q_2,q_3,q_4,omega_x [deg/s],omega_y [deg/s],omega_z [deg/s]", "quaternion", "deg", ""),
        ("time,Q1,Q2,Q3,QC,rate_x,rate_y,rate_z", "quaternion", "", "first"),
        ("time,quaternion_w,quaternion_x,quaternion_y,quaternion_z,omega_x,omega_y,omega_z", "quaternion", "", "first"),
        ("time (s),gyro_x (dps),gyro_y (dps),gyro_z (dps),yaw (deg),pitch (deg),roll (deg)", "euler", "deg", "ZYX"),
        ("time,psi,theta,phi,p_deg_s,q_deg_s,r_deg_s", "euler", "deg", "ZYX or ZXZ"),
        ("time,sigma_BN_0,sigma_BN_1,sigma_BN_2,omega_BN_B_0,omega_BN_B_1,omega_BN_B_2", "mrp", "", ""),
        ("t,R11,R12,R13,R21,R22,R23,R31,R32,R33,w1,w2,w3", "matrix", "", ""),
        ("t,dcm_00,dcm_01,dcm_02,dcm_10,dcm_11,dcm_12,dcm_20,dcm_21,dcm_22,wx,wy,wz", "matrix", "", ""),
        ("time,qpos_0,qpos_1,qpos_2,qpos_3,qpos_4,qpos_5,qpos_6,qvel_0,qvel_1,qvel_2,qvel_3,qvel_4,qvel_5",
         "quaternion", "", ""),
        ("time,eulerAngle_deg_Yaw,eulerAngle_deg_Pitch,eulerAngle_deg_Roll,bodyAngularRateWrtEi_deg_s_Roll,"
         "bodyAngularRateWrtEi_deg_s_Pitch,bodyAngularRateWrtEi_deg_s_Yaw", "euler", "deg", "ZYX"),
    ],
)  # fmt: skip
def test_names_of_others_are_recognised(names: str, kind: str, unit: str, hint: str) -> None:
    listed = names.split(",")
    found = recognised(listed, "a table")
    assert found.attitude is not None
    assert found.omega is not None
    assert (found.attitude.kind, found.omega.unit, found.attitude.hint) == (kind, unit, hint)
    assert listed[found.time.columns[0]][0] in "tT"
    used = {*found.time.columns, *found.attitude.columns, *found.omega.columns}
    assert len(used) == len(found.time.columns) + len(found.attitude.columns) + len(found.omega.columns)


def test_rates_in_body_axes_are_preferred() -> None:
    names = "time,quaternion_w,quaternion_x,quaternion_y,quaternion_z,spatial_omega_x,spatial_omega_y,spatial_omega_z"
    both = [*names.split(","), "omega_x", "omega_y", "omega_z"]
    alone = recognised(names.split(","), "a table").omega
    found = recognised(both, "a table").omega
    assert found is not None
    assert alone is not None
    assert (found.columns, alone.hint) == ((8, 9, 10), "space")


FORMS = [
    (",", "t,qw,qx,qy,qz,wx,wy,wz"),
    (";", "t;qw;qx;qy;qz;wx;wy;wz"),
    ("\t", "t\tqw\tqx\tqy\tqz\twx\twy\twz"),
    ("  ", "t qw qx qy qz wx wy wz"),
    (" ", "# t qw qx qy qz wx wy wz"),
    (",", '"t","qw","qx","qy","qz","wx","wy","wz"'),
]


@pytest.mark.parametrize(("mark", "header"), FORMS)
def test_tables_come_in_many_forms(made: Made, tmp_path: Path, mark: str, header: str) -> None:
    path = tmp_path / "their.csv"
    path.write_text(f"# a simulator wrote this\n\n{text(made, header, mark)}", "utf-8")
    log = read_log(path)
    assert log.attitude is not None
    assert log.omega is not None
    assert np.array_equal(log.t, made.t)
    assert np.array_equal(log.attitude.values, made.q)
    assert np.array_equal(log.omega.values, made.w)


def test_fortran_and_decimal_commas(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "their.csv"
    path.write_text(re.sub(r"e([+-]\d+)", r"D\1", text(made, form=".16e")), "utf-8")
    assert np.allclose(read_log(path).t, made.t, rtol=1e-15)
    path.write_text(text(made, "t;qw;qx;qy;qz;wx;wy;wz", ";").replace(".", ","), "utf-8")
    assert np.array_equal(read_log(path).t, made.t)


def test_a_table_without_names(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "their.txt"
    path.write_text(text(made).partition("\n")[2], "utf-8")
    verdict = ph.check(path, body=made.body)
    assert verdict.error.is_rounding
    assert "has no names" in str(verdict)


def test_columns_can_be_named(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "their.csv"
    path.write_text(text(made, "clock,a,b,c,d,u,v,w"), "utf-8")
    with pytest.raises(ValueError, match=r"no column is the time; there are 'clock', 'a', .*: name it"):
        ph.check(path, body=made.body)
    with pytest.raises(ValueError, match=r"no columns are an attitude or a rate; there are .*: name them"):
        ph.check(path, body=made.body, columns={"t": "clock"})
    columns: dict[str, Any] = {"t": "clock", "quaternion": ["a", "b", "c", "d"], "omega": ["u", "v", "w"]}
    assert ph.check(path, body=made.body, columns=columns).error.is_rounding
    with pytest.raises(ValueError, match="there is no column 'S'; there are 'clock', 'a'"):
        ph.check(path, body=made.body, columns=columns | {"omega": ["u", "v", "S"]})
    with pytest.raises(ValueError, match="omega needs 3 columns, not 2"):
        ph.check(path, body=made.body, columns=columns | {"omega": ["u", "v"]})
    with pytest.raises(ValueError, match="'rates' must be t, omega, quaternion"):
        ph.check(path, body=made.body, columns={"rates": ["u", "v", "w"]})


def test_times_in_other_units(made: Made) -> None:
    frame = pandas.DataFrame(np.column_stack([made.t * 1e9, made.w]), columns=["time (ns)", "wx", "wy", "wz"])
    assert np.allclose(read_log(frame).t, made.t, rtol=1e-15)


def test_other_sources(made: Made, tmp_path: Path) -> None:
    solution = ph.simulate(
        made.body, omega=made.w[0], attitude=made.q[0], t_span=(0, made.t[-1]), t_eval=made.t, rtol=1e-12
    )
    solution.save(tmp_path / "run.nc")
    solution.to_csv(tmp_path / "run.csv", units=True)
    about: dict[str, Any] = {"object_name": "X", "object_id": "2026-001A", "epoch": "2026-01-01T00:00:00"}
    solution.to_aem(tmp_path / "run.aem", tolerance=None, **about)
    np.savez(tmp_path / "run.npz", t=made.t, quaternion=made.q, omega=made.w)
    sources = [solution, *(tmp_path / f"run.{e}" for e in ("nc", "csv", "aem", "npz")), solution.to_dataframe(),
               solution.to_xarray(), ph.read_aem(tmp_path / "run.aem"),
               {"t": made.t, "attitude": Rotation.from_quat(made.q, scalar_first=True), "omega": made.w},
               {"t": made.t, "qpos": np.column_stack([0 * made.w, made.q]), "qvel": np.column_stack([made.w, made.w])},
               ph.FreeMotion(made.body, made.w[0], made.q[0]).at(made.t)]  # fmt: skip
    for source in sources:
        verdict = ph.check(source, body=made.body)
        assert verdict.error.worst < 1e-9, f"{source}: {verdict}"
        assert verdict.agrees


def test_a_recorder_of_basilisk(made: Made) -> None:
    class Recorder:
        sigma_BN = Rotation.from_quat(made.q, scalar_first=True).as_mrp()
        omega_BN_B = made.w

        def times(self) -> Any:
            return np.round(made.t * 1e9).astype(np.uint64)

    assert ph.check(Recorder(), body=made.body).error.worst < 1e-6


# --- damaged files -------------------------------------------------------------------------------------------------


def test_every_damage_is_named_with_its_line_and_a_remedy(made: Made, tmp_path: Path) -> None:
    good = text(made).splitlines()

    def damaged(line: int, new: str) -> str:
        return "\n".join([*good[: line - 1], new, *good[line:]]) + "\n"

    cells = good[9].split(",")
    cases: dict[str, tuple[str | bytes, str]] = {
        "truncated": (text(made)[:-60], r"line 61: \d of 8 columns; the file seems to be cut off there: delete"),
        "ragged": (damaged(10, good[9] + ",1"), "line 10: 9 of 8 columns; correct the line"),
        "a word": (damaged(10, good[9].replace(cells[2], "oops")), "line 10: column 3 has 'oops', which is no number"),
        "empty": (damaged(10, ",".join([*cells[:4], "", *cells[5:]])), "line 10: column 5 is empty: correct it"),
        "nan": (damaged(10, ",".join([*cells[:7], "nan"])), "line 10: column 8 has nan: the simulation has failed"),
        "backward": (damaged(10, ",".join(["-1.0", *cells[1:]])), "line 10: the time -1 comes after .*: sort"),
        "twice": (
            damaged(10, ",".join([good[8].split(",")[0], *cells[1:]])),
            "line 10: the time .* stands there twice, with different states: give times more digits",
        ),
        "no quaternion": (
            damaged(10, ",".join([cells[0], "3", *cells[2:]])),
            r"line 10: the quaternion has the length 3\.\d+, not 1: give its columns",
        ),
        "latin 1": ("t,wx (°/s),wy,wz\n1,2,3,4\n".encode("latin-1"), "line 1: the byte 0xb0 is not UTF-8: save"),
        "utf-16": (text(made).encode("utf-16"), "line 1: the text is UTF-16: save it as UTF-8"),
        "no rows": (good[0] + "\n" + good[1] + "\n", "line 2: the file has 1 rows of numbers, and 4 are needed"),
        "nothing": ("", "is empty: write it again"),
        "comments": ("# nothing\n", "line 1: there is no row of numbers"),
        "binary": (bytes(range(256)) * 4, "is not a text file"),
        "no names": ("1,2,3\n" * 5, "line 1: the 3 columns have no names: write them into the first line"),
    }  # fmt: skip
    for name, (content, said) in cases.items():
        path = tmp_path / f"{name}.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(BadFile, match=said) as caught:
            ph.check(path, body=made.body)
        assert str(path) in str(caught.value), name


def test_rows_that_repeat_the_one_before_are_left_out(made: Made, tmp_path: Path) -> None:
    lines = text(made).splitlines()
    path = tmp_path / "their.csv"
    path.write_text("\n".join([*lines[:20], lines[19], *lines[20:], lines[-1]]), "utf-8")
    verdict = ph.check(path, body=made.body)
    assert verdict.error.is_rounding
    assert verdict.rows == 60
    assert any("2 rows that repeat the one before are left out, the first in line 21" in n for n in verdict.notes)


def test_reflections_are_refused(made: Made) -> None:
    matrices = Rotation.from_quat(made.q, scalar_first=True).as_matrix() * np.array([1.0, 1.0, -1.0])
    with pytest.raises(
        BadFile, match="row 0: the matrix has the determinant -1, a reflection: one of the frames is left-"
    ):
        ph.check({"t": made.t, "matrix": matrices, "omega": made.w}, body=made.body)


def test_arguments_are_checked(made: Made) -> None:
    log: dict[str, Any] = made.log()
    with pytest.raises(TypeError, match=r"body must be a polhode\.Body"):
        ph.check(log, body=[1, 2, 3])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'upside down' must be a sequence such as ZYX, or one of body to space"):
        ph.check(log, body=made.body, convention="upside down")
    with pytest.raises(ValueError, match="'ned' does not apply"):
        ph.check(log, body=made.body, convention="ned")
    with pytest.raises(ValueError, match="tolerance must be positive"):
        ph.check(log, body=made.body, tolerance=-1.0)
    with pytest.raises(ValueError, match=r"omega must have the shape \(60, 3\)"):
        ph.check(log | {"omega": made.w[:-1]}, body=made.body)
    with pytest.raises(TypeError, match="a log must be the path of a file"):
        ph.check(3.0, body=made.body)


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("qz", "of a quaternion there are only the columns 'qw', 'qx', 'qy': add the missing one, or name all"),
        ("wy", "of a rate there are only the columns 'wx', 'wz': add the missing one"),
    ],
)
def test_a_column_that_is_missing_is_named(made: Made, lost: str, words: str) -> None:
    """Else the rest would be judged alone, and nobody would know."""
    import pandas

    named = dict(zip(("qw", "qx", "qy", "qz", "wx", "wy", "wz"), np.hstack([made.q, made.w]).T, strict=True))
    table = pandas.DataFrame({"time": made.t} | {k: v for k, v in named.items() if k != lost})
    with pytest.raises(ValueError, match=words):
        ph.check(table, body=made.body)


def test_a_torque_that_needs_attitudes_is_not_judged_without(made: Made) -> None:
    with pytest.raises(ValueError, match="has no attitudes, but HeavyTop depends on them: add their columns"):
        ph.check({"t": made.t, "omega": made.w}, body=made.body, torque=ph.HeavyTop(weight=1.0))


@pytest.mark.evidence
def test_a_million_rows_are_judged() -> None:
    body, t = ph.Body([1.0, 2.0, 2.5]), np.linspace(0.0, 50.0, 1_000_001)
    omega = ph.FreeMotion(body, [0.2, 0.3, 1.0]).at(t).omega
    verdict = ph.check({"t": t, "omega": np.round(omega, 9)}, body=body)
    assert verdict.rows == 1_000_001
    assert verdict.error.is_rounding


def test_digits_are_those_of_the_text(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "their.csv"
    for form, words in ((".5f", "rates with 5 decimals"), (".8g", "rates with 8 digits"), (".17g", "all digits")):
        path.write_text(text(made, form=form), "utf-8")
        assert words in " ".join(str(ph.check(path, body=made.body)).split())


def test_columns_that_are_not_needed_may_hold_words(made: Made, tmp_path: Path) -> None:
    path, lines = tmp_path / "their.csv", text(made).splitlines()
    path.write_text("\n".join(f"{line},{word}" for line, word in zip(lines, ["status", *["ok"] * 60], strict=True)))
    assert ph.check(path, body=made.body).error.is_rounding


def test_a_number_that_is_cut_off_is_noted(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "their.csv"
    path.write_text(text(made)[:-8], "utf-8")
    assert any("Line 61 has no end, and its last number few digits" in n for n in ph.check(path, body=made.body).notes)
    path.write_text(text(made)[:-1], "utf-8")
    assert ph.check(path, body=made.body).notes == ()


def test_numbers_that_no_motion_has_are_refused(made: Made, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"row \d+: the rate has \d.*e\+2\d\d: no motion does"):
        ph.check(made.log(omega=made.w * np.array([1e280, 1.0, 1.0])), body=made.body)
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04" + bytes(300))
    with pytest.raises(BadFile, match=r"cut.npz is cut short or damaged .*: write it again"):
        ph.check(tmp_path / "cut.npz", body=made.body)


@pytest.mark.parametrize("unit", ["mrad/s", "rev/min"])
def test_rates_in_a_unit_that_is_not_known_are_refused(unit: str) -> None:
    table = {"t": np.arange(9.0), **{f"w{axis} ({unit})": np.ones(9) for axis in "xyz"}}
    with pytest.raises(ValueError, match=rf"the rates 'wx \({unit}\)' have no common unit that is known: use rad/s"):
        read_log(pandas.DataFrame(table))
    said = read_log(pandas.DataFrame(table), {"t": "t", "omega_rpm": [f"w{axis} ({unit})" for axis in "xyz"]})
    assert said.omega is not None
    assert said.omega.unit == "rpm"
    assert read_log(pandas.DataFrame({k.replace(unit, "1/s"): x for k, x in table.items()})).omega is not None
