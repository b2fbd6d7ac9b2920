"""Tables of motions: data frames, CSV, Parquet."""

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polhode as ph
from polhode.files import tables
from polhode.kernels.types import Quat, Vec3

TILTED = ph.Body([[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]])


@pytest.fixture
def spin(plain: None) -> ph.Solution:
    return ph.simulate(TILTED, None, omega=[1, 0.1, 0.3], attitude=None, t_span=(0, 3), step=0.1, method="Strang")


@ph.torque(state={"charge": 1.0, "time": 1.0})
def carrying(t: float, q: Quat, w: Vec3, p: Any, z: Any) -> Any:
    return (0.1 * z[0], 0.0, 0.0), (1.0, z[0])


def needs_pyarrow() -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs the extra `tables`")


def test_there_is_one_row_a_time_and_one_column_a_component(spin: ph.Solution) -> None:
    df = spin.to_dataframe(quantities=["euler_deg(ZYX)", "pointing_angle_deg(z, [0, 0, 1])", "mrp"])
    assert len(df) == 31
    assert not df.columns.duplicated().any()
    assert np.array_equal(df["time"], spin.t)
    for name, parts in [("quaternion", "wxyz"), ("omega", "xyz"), ("spatial_momentum", "xyz")]:
        assert np.array_equal(df[[f"{name}_{part}" for part in parts]], getattr(spin, name))
    assert np.array_equal(df[[f"euler_deg(ZYX)_{k}" for k in (1, 2, 3)]], spin.euler("ZYX", degrees=True))
    assert np.array_equal(df["pointing_angle_deg(z, [0, 0, 1])"], spin.pointing_angle("z", "z", degrees=True))
    units = df.attrs["units"]
    assert units.keys() == set(df.columns)
    assert (units["omega_y"], units["euler_deg(ZYX)_2"], units["energy_error"]) == ("rad s-1", "degree", "1")
    assert df.attrs["inertia"] == TILTED.tensor.reshape(-1).tolist()
    first = spin.omega[0, 0]
    df.loc[0, "omega_x"] = 9.0
    assert spin.omega[0, 0] == first != 9.0, "the frame is a copy"


def test_carried_numbers_have_their_names(plain: None) -> None:
    s = ph.simulate(
        TILTED, carrying, omega=[0, 0, 1], attitude=None, t_span=(0, 1), step=0.1, method="RK4", state=[0.0, 0.5]
    )
    df = s.to_dataframe()
    assert np.array_equal(df["charge"], s.state[:, 0])
    assert np.array_equal(df["state_time"], s.state[:, 1]), "the name `time` is taken"
    assert np.array_equal(df["time"], s.t)


@pytest.mark.parametrize("units", [False, True])
def test_csv_gives_the_same_doubles_again(spin: ph.Solution, tmp_path: Path, units: bool) -> None:
    quantity = "pointing_angle_deg(z, [0, 0, 1])"  # with commas
    spin.to_csv(tmp_path / "s.csv", quantities=quantity, units=units)
    df = spin.to_dataframe(quantities=quantity)
    with open(tmp_path / "s.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert np.array_equal(np.array(rows, dtype=float), df.to_numpy())
    assert head == (
        [f"{c} ({u})" if (u := df.attrs["units"][c]) != "1" else c for c in df.columns] if units else list(df.columns)
    )


def test_blocks_of_rows_are_joined(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=25_000)  # more than are text at the same time
    tables.write_csv(tmp_path / "x.csv", [tables.Column("x", x)])
    head, *rows = (tmp_path / "x.csv").read_text("utf-8").splitlines()
    assert head == "x"
    assert np.array_equal(np.array(rows, dtype=float), x)


def test_parquet_keeps_units(spin: ph.Solution, tmp_path: Path) -> None:
    needs_pyarrow()
    import pyarrow.parquet

    spin.to_parquet(tmp_path / "s.parquet", quantities="mrp")
    df, back = spin.to_dataframe(quantities="mrp"), pd.read_parquet(tmp_path / "s.parquet")
    pd.testing.assert_frame_equal(df, back, check_exact=True)
    assert back.attrs == df.attrs
    assert pyarrow.parquet.read_schema(tmp_path / "s.parquet").field("omega_x").metadata[b"units"] == b"rad s-1"


def test_without_pyarrow_the_extra_is_named(
    spin: ph.Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"polhode\[tables\]"):
        spin.to_parquet(tmp_path / "s.parquet")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_are_whole_and_not_replaced(
    spin: ph.Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "parquet":
        needs_pyarrow()
    write, path = getattr(spin, f"to_{kind}"), tmp_path / f"s.{kind}"
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write(path)
    assert path.read_bytes() == b"mine"
    write(path, overwrite=True)
    whole = path.read_bytes()
    with pytest.raises(FileNotFoundError, match="make it first"):
        write(tmp_path / "nowhere" / path.name)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        write(path, overwrite=True)
    assert path.read_bytes() == whole
    assert os.listdir(tmp_path) == [path.name]


def test_a_potential_that_fails_costs_no_states(plain: None, tmp_path: Path) -> None:
    def height(t: float, q: Quat, p: Any) -> float:
        if t > 0.4:
            raise ZeroDivisionError("no height")
        return 0.0

    @ph.torque(potential=height)
    def faulty(t: float, q: Quat, w: Vec3, p: Any) -> Vec3:
        return (0.0, 0.0, 0.0)

    s = ph.simulate(TILTED, faulty, omega=[1, 0, 0], attitude=None, t_span=(0, 1), step=0.5, method="RK4")
    with pytest.warns(UserWarning, match="no height"):
        s.to_csv(tmp_path / "s.csv")
    back = np.genfromtxt(tmp_path / "s.csv", delimiter=",", names=True)
    assert np.allclose(np.column_stack([back[f"omega_{k}"] for k in "xyz"]), s.omega, rtol=1e-15, atol=0)
    assert np.isnan(back["potential_energy"]).all()
