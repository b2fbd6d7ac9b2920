"""Ensembles in files and tables: what was drawn is there, and the same ensemble is made of it again."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from xarray import open_dataset

import polhode as ph
from polhode.files.netcdf import BadFile
from polhode.kernels.types import Quat, Vec3
from polhode.samples import Normal

TILTED = [
    ph.Body([[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]], name="first"),
    ph.Body([[2.1, 0.0, 0.3], [0.0, 3.0, 0.1], [0.3, 0.1, 3.5]], rotor=[0.0, 0.1, 0.2]),
    ph.Body([1.0, 1.5, 2.0]),
]
RATES = np.array([[0.1, 0.2, 1.0], [0.5, 0.1, 0.3], [-0.2, 0.4, 0.6]])
GRID: dict[str, Any] = {"t_span": (0.0, 1.0), "step": 0.1, "method": "RK4", "every": 5}


def lean(t: float, q: Quat, p: Any) -> float:
    return float(p[0]) * q[1] * q[1]


@ph.torque(parameters=[0.5, 0.1], potential=lean)
def spring(t: float, q: Quat, w: Vec3, p: Any) -> Any:
    return (-p[0] * q[1] * q[0], p[1] * q[2], p[1] * q[3])


@ph.torque(state={"charge": 1.0})
def charging(t: float, q: Quat, w: Vec3, p: Any, z: Any) -> Any:
    return (0.1 * z[0], 0.0, 0.0), (1.0,)


def spun(t: float, q: Any, w: Any) -> Any:
    return w[2] + t - 0.9


EVENT = ph.Event(lambda t, q, w: t - 0.62, terminal=True)
DRAWN: dict[str, Any] = {"omega": Normal([0.1, 0.2, 1.0], 0.1), "seed": 2**60, "count": 3}
MADE: dict[str, Any] = {
    "tilted, with rotors": lambda: ph.ensemble(TILTED, ph.HeavyTop(weight=2.0), omega=RATES, **GRID),
    "drawn": lambda: ph.ensemble(
        Normal([1.0, 1.1, 1.2], 0.01), None, rotor=[0.0, 0.0, 0.1], attitude=[0.6, 0.8, 0, 0], **DRAWN, **GRID
    ),
    "drawn parameters": lambda: ph.ensemble(
        TILTED[0], spring, parameters=Normal([0.5, 0.1], 0.01), **DRAWN, **GRID
    ),
    "parameters of a part": lambda: ph.ensemble(
        TILTED[0], ph.HeavyTop(weight=2.0) + spring, parameters={"spring": Normal([0.5, 0.1], 0.01)}, **DRAWN, **GRID
    ),
    "models": lambda: ph.ensemble(
        TILTED, [ph.HeavyTop(weight=1.0 + k) for k in range(3)], omega=RATES[0], **GRID
    ),
    "carried": lambda: ph.ensemble(TILTED[0], charging, omega=RATES, state=[[0.0], [1.0], [2.0]], **GRID),
    "events": lambda: ph.ensemble(TILTED, None, omega=RATES, events=[spun, EVENT], **GRID),
    "tolerance": lambda: ph.ensemble(
        TILTED[2], ph.HeavyTop(weight=2.0), omega=RATES, t_span=(0.0, 0.2), rtol=1e-4, t_eval=[0.0, 0.1, 0.2]
    ),
}  # fmt: skip


@pytest.fixture(params=MADE)
def many(request: pytest.FixtureRequest, plain: None) -> Any:
    return MADE[request.param]()


ROWS = ("t", "quaternion", "momentum", "omega", "state", "status", "t_last", "steps", "evaluations", "rows", "memory",
        "last_quaternion", "last_momentum", "last_state", "kinetic_energy", "potential_energy")  # fmt: skip


def test_the_same_ensemble_is_made_of_its_file(many: Any, tmp_path: Path) -> None:
    many.save(tmp_path / "many.nc")
    back = ph.load(tmp_path / "many.nc")
    assert isinstance(back, ph.Ensemble)
    for name in ROWS:
        assert np.array_equal(getattr(back, name), getattr(many, name), equal_nan=True), name
    assert (back.seed, back.messages, back.lanes, repr(back)) == (many.seed, many.messages, many.lanes, repr(many))
    for k in range(3):
        one, other = many[k], back[k]
        assert np.array_equal(one.body.tensor, other.body.tensor)
        assert (one.body.name, one.body.rotor.tolist()) == (other.body.name, other.body.rotor.tolist())
        assert np.array_equal(one.problem.momentum_start, other.problem.momentum_start)
        assert np.array_equal(one.problem.state_start, other.problem.state_start)
        assert list(one.torque.kept_parameters(one.body)) == list(other.torque.kept_parameters(other.body))
        assert (one.message, one.step, one.error_estimate) == (other.message, other.step, other.error_estimate)
        for e, f in zip(one.events, other.events, strict=True):
            assert (e.metadata, e.t.tolist()) == (f.metadata, f.t.tolist())
            assert np.array_equal(e.quaternion, f.quaternion)
    pd.testing.assert_frame_equal(back.bodies_to_dataframe(), many.bodies_to_dataframe(), check_exact=True)
    pd.testing.assert_frame_equal(back.to_dataframe(), many.to_dataframe(), check_exact=True)
    back.save(tmp_path / "again.nc")
    if "+" not in back.problem.torque.name:  # of a sum with functions of the user's, only the name is left
        assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "many.nc").read_bytes()
    again = ph.load(tmp_path / "again.nc")[2]
    assert list(again.torque.kept_parameters(again.body)) == list(back[2].torque.kept_parameters(again.body))


@pytest.mark.parametrize(
    ("kind", "torque"), [("drawn parameters", spring), ("parameters of a part", ph.HeavyTop(weight=2.0) + spring)]
)
def test_functions_are_given_again(kind: str, torque: Any, tmp_path: Path, plain: None) -> None:
    many = MADE[kind]()
    many.save(tmp_path / "many.nc")
    back = ph.load(tmp_path / "many.nc")
    with pytest.raises(ValueError, match=r"load\(path, torque="):
        back[1].at(0.25)
    whole = ph.Ensemble.load(tmp_path / "many.nc", torque=torque)
    for k in range(3):
        assert np.array_equal(whole[k].at(0.25).momentum, many[k].at(0.25).momentum)
    assert np.array_equal(whole.start.parameters, many.start.parameters)
    with pytest.raises(ValueError, match=r"many\.nc: the file was made with the torque"):
        ph.load(tmp_path / "many.nc", torque=spring.with_parameters([7.0, 0.1]))


def test_a_file_is_a_monte_carlo_that_can_be_rebuilt(tmp_path: Path, plain: None) -> None:
    """From nothing but the arrays, with xarray and without our reader."""
    many = MADE["drawn parameters"]()
    many.save(tmp_path / "many.nc")
    with open_dataset(tmp_path / "many.nc") as file:
        again = ph.ensemble(
            [ph.Body(i) for i in file.inertia.values], spring, omega=file.omega_start.values,
            attitude=file.quaternion_start.values, parameters=file.parameters.values, **GRID,
        )  # fmt: skip
        assert file.attrs["seed"] == str(2**60)
    assert np.array_equal(again.momentum, many.momentum)


def test_tables(tmp_path: Path, plain: None) -> None:
    many = MADE["tilted, with rotors"]()
    df = many.to_dataframe(quantities="euler_deg(ZYX)")
    assert len(df) == 3 * 3
    assert df["body"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert np.array_equal(df[["omega_x", "omega_y", "omega_z"]], many.omega.reshape(-1, 3))
    assert np.array_equal(df["euler_deg(ZYX)_2"], many.euler("ZYX", degrees=True)[..., 1].reshape(-1))
    one = many[1].to_dataframe()
    shared = [c for c in df.columns if c in one.columns and not c.endswith("_error")]
    assert {"spatial_momentum_z", "energy"} <= set(shared)
    assert np.allclose(df.loc[df["body"] == 1, shared], one[shared], rtol=1e-12, atol=1e-15)
    bodies = many.bodies_to_dataframe()
    assert bodies["inertia_xz"].tolist() == [0.0, 0.3, 0.0]
    assert bodies["rotor_z"].tolist() == [0.0, 0.2, 0.0]
    assert bodies.attrs["units"]["inertia_xz"] == "kg m2"
    many.to_csv(tmp_path / "many.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["many-bodies.csv", "many.csv"]
    assert list(pd.read_csv(tmp_path / "many-bodies.csv").columns) == list(bodies.columns)
    with pytest.raises(FileExistsError):
        many.to_csv(tmp_path / "many.csv")


def test_parquet(tmp_path: Path, plain: None) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs the extra `tables`")
    many = MADE["events"]()
    many.to_parquet(tmp_path / "many.parquet")
    back = pd.read_parquet(tmp_path / "many-bodies.parquet")
    pd.testing.assert_frame_equal(back, many.bodies_to_dataframe(), check_exact=True)
    assert back["stopped_by"].tolist() == [1, 1, 1]
    assert back["spun_count"].sum() == many.events[0].t.size > 0


def test_differing_fields_of_models_are_columns(plain: None) -> None:
    assert MADE["models"]().bodies_to_dataframe()["torque_weight"].tolist() == [1.0, 2.0, 3.0]


def test_other_files_are_refused(tmp_path: Path, plain: None) -> None:
    many = MADE["models"]()
    many.save(tmp_path / "many.nc")
    many[0].save(tmp_path / "one.nc")
    with pytest.raises(BadFile, match="does not hold a polhode ensemble"):
        ph.Ensemble.load(tmp_path / "one.nc")
    with pytest.raises(BadFile, match="does not hold a polhode solution"):
        ph.Solution.load(tmp_path / "many.nc")
    raw = bytearray((tmp_path / "many.nc").read_bytes())
    raw[-100] ^= 1
    (tmp_path / "bad.nc").write_bytes(raw)
    with pytest.raises(BadFile, match="damaged"):
        ph.load(tmp_path / "bad.nc")


def test_contents_without_a_checksum_must_fit(tmp_path: Path, plain: None) -> None:
    MADE["models"]().save(tmp_path / "many.nc")
    with open_dataset(tmp_path / "many.nc") as file:
        file = file.load()
    file.attrs["checksum"] = "none"
    for change in ({"rows": file.rows + 9}, {"status": file.status + 77}, {"inertia": file.inertia * np.nan}):
        file.assign(change).to_netcdf(tmp_path / "odd.nc", format="NETCDF3_64BIT", engine="scipy")
        with pytest.raises(BadFile, match=r"odd\.nc is damaged"):
            ph.load(tmp_path / "odd.nc")
