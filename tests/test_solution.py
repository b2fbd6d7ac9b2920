"""What follows from the states, and what survives in files and pictures."""

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import solution
from polhode.files import netcdf
from polhode.files.netcdf import BadFile
from polhode.files.records import TorqueFromFile
from polhode.kernels.steps.compose import triple_jump
from polhode.methods import compose, find
from polhode.solution import Solution
from polhode.support import thinning

EPS = float(np.finfo(float).eps)
TENSOR = np.array([[5.0, 1.0, 0.2], [1.0, 4.0, 0.5], [0.2, 0.5, 3.0]])
TILT = Rotation.from_euler("XYZ", [0.3, -0.2, 0.5])

pytestmark = pytest.mark.usefixtures("plain")


def hanging(t: float, q: Any, w: Any, p: Any) -> Any:
    """The torque of a weight p[0] at the point (0, 0, 1)."""
    x, y, _ = ph.to_body(q, (0.0, 0.0, -p[0]))
    return (-y, x, 0.0)


def height(t: float, q: Any, p: Any) -> float:
    """Its potential energy."""
    z: float = p[0] * (1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]))
    return z


def rubbing(t: float, q: Any, w: Any, p: Any) -> Any:
    """A torque that conserves nothing."""
    return (-p[0] * w[0], -p[0] * w[1], -p[0] * w[2])


HANGING = ph.torque(hanging, parameters=[3.0], potential=height)
RUBBING = ph.torque(rubbing, parameters=[0.1])
TOP = ph.HeavyTop(weight=3.0)


def run(torque: Any = None, body: Any = TENSOR, method: Any = "RK4", **changed: Any) -> Solution:
    settings: dict[str, Any] = {
        "omega": [1.0, 2.0, -0.5],
        "attitude": TILT,
        "t_span": (0.0, 2.0),
        "step": 0.01,
    } | changed
    body = body if isinstance(body, ph.Body) else ph.Body(body)
    return ph.simulate(body, torque, method=method, **settings)


def bits(a: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(a).tobytes()


# --- what follows from the states ----------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [TENSOR, [5.0, 4.0, 3.0]], ids=["tilted", "aligned"])
@pytest.mark.parametrize("span", [(0.0, 2.0), (1.0, -1.0)], ids=["forward", "backward"])
@pytest.mark.parametrize("torque", [TOP, HANGING], ids=["model", "function"])
def test_against_plain_numpy(body: Any, span: tuple[float, float], torque: Any) -> None:
    s = run(torque, body, t_span=span, step=0.01 if span[1] > span[0] else -0.01)
    inertia = np.diag(body) if np.ndim(body) == 1 else np.asarray(body)
    matrices = s.attitude.as_matrix()
    omega = np.linalg.solve(inertia, s.momentum.T).T
    spatial = np.array([r @ m for r, m in zip(matrices, s.momentum, strict=True)])
    kinetic = np.array([w @ inertia @ w / 2 for w in omega])
    potential = 3.0 * matrices[:, 2, 2]  # weight times height of the point (0, 0, 1)
    # Both sides are sums of a few products of numbers up to 15: some ulps of that.
    for ours, theirs in (
        (s.omega, omega),
        (s.spatial_momentum, spatial),
        (s.kinetic_energy, kinetic),
        (s.potential_energy, potential),
        (s.energy, kinetic + potential),
    ):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=16 * 15 * EPS)
    start = TILT.as_matrix()
    w = np.array([1.0, 2.0, -0.5])
    energy_start = w @ inertia @ w / 2 + 3.0 * start[2, 2]
    error = np.abs(kinetic + potential - energy_start) / (w @ inertia @ w / 2 + abs(3.0 * start[2, 2]))
    np.testing.assert_allclose(s.energy_error, error, rtol=0, atol=16 * EPS)
    assert s.energy_error.max() < 1e-8  # RK4 with 200 steps; about 1e-9 here
    if torque is TOP:
        change = np.abs(spatial[:, 2] - (start @ inertia @ w)[2]) / np.linalg.norm(inertia @ w)
        np.testing.assert_allclose(s.momentum_error, change, rtol=0, atol=16 * EPS)


def test_free_body_keeps_the_vector() -> None:
    s = run()
    assert list(s.invariant_errors) == ["energy", "momentum norm", "spatial momentum", "quaternion norm"]
    change = np.linalg.norm(s.spatial_momentum - TILT.apply(TENSOR @ [1.0, 2.0, -0.5]), axis=1)
    np.testing.assert_allclose(s.momentum_error, change / np.linalg.norm(TENSOR @ [1.0, 2.0, -0.5]), atol=16 * EPS)
    assert bits(s.energy) == bits(s.kinetic_energy)
    assert not s.potential_energy.any()


def test_errors_are_measured_from_the_start_even_if_it_is_no_output() -> None:
    full, listed = run(TOP, step=0.1), run(TOP, step=0.1, t_eval=[1.0, 2.0])
    assert bits(listed.energy_error) == bits(full.energy_error[[10, 20]])
    assert listed.energy_error[0] > 1e-9  # far above round-off: it is not measured from the first row


def test_errors_of_a_resumed_run_are_measured_from_its_first_start() -> None:
    body = [5.0, 4.0, 3.0]
    whole, half = run(TOP, body, step=0.1), run(TOP, body, step=0.1, t_span=(0.0, 1.0))
    assert bits(ph.resume(half, 2.0).energy_error) == bits(whole.energy_error)


def test_what_is_not_conserved_has_no_error() -> None:
    s = run(RUBBING)
    assert list(s.invariant_errors) == ["quaternion norm"]
    with pytest.raises(AttributeError, match=r"rubbing does not conserve the energy.*conserved are: quaternion norm"):
        _ = s.energy_error
    with pytest.raises(AttributeError, match="does not conserve the axial momentum"):
        _ = s.momentum_error
    assert np.isnan(s.energy).all()
    assert np.isfinite(s.kinetic_energy).all()


def test_at_rest() -> None:
    s = run(omega=[0.0, 0.0, 0.0])
    assert all((e <= 2 * EPS).all() for e in s.invariant_errors.values())  # the norm of a unit quaternion rounds
    released = run(TOP, omega=[0.0, 0.0, 0.0])
    assert released.energy_error.max() < 1e-8
    assert np.isfinite(released.momentum_error).all()


def empty() -> Solution:
    """A run that fails before its first output."""

    @ph.torque
    def explodes(t: float, q: Any, w: Any, p: Any) -> Any:
        return (0.0, 0.0, 0.0 if t < 0.05 else 1e308 * (10.0 + t))

    with np.errstate(all="ignore"), pytest.raises(ph.SimulationFailed) as failure:
        run(explodes, t_eval=[1.0])
    found: Solution = failure.value.solution
    assert found.t.size == 0
    return found


def test_no_output_at_all(tmp_path: Path) -> None:
    s = empty()
    assert s.omega.shape == s.spatial_momentum.shape == (0, 3)
    assert s.kinetic_energy.shape == s.energy.shape == s.invariant_errors["quaternion norm"].shape == (0,)
    assert len(s.attitude) == 0
    assert "0 rows" in repr(s)
    assert isinstance(s.plot(), Figure)
    assert s.to_xarray().sizes["time"] == 0
    s.save(tmp_path / "e.nc")
    back = ph.load(tmp_path / "e.nc")
    assert back.t.shape == (0,)
    assert back.quaternion.shape == (0, 4)
    assert not back.success
    assert bits(back.last_momentum) == bits(s.last_momentum)


def test_states_near_the_largest_number_give_no_warning() -> None:
    s = run()
    huge = replace(s, momentum=s.momentum * 1e200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "errors" in repr(huge)


def with_rows(s: Solution, rows: int) -> Solution:
    """The solution with its rows repeated, until there are so many."""
    return replace(
        s, t=np.resize(s.t, rows), quaternion=np.resize(s.quaternion, (rows, 4)),
        momentum=np.resize(s.momentum, (rows, 3)),
    )  # fmt: skip


def test_what_follows_from_many_rows_is_that_of_few() -> None:
    """Many rows are worked on in blocks, and potentials of many are compiled: neither shows."""
    s = run(HANGING, [5.0, 4.0, 3.0])
    many = with_rows(s, 70_000)
    for name in ("spatial_momentum", "kinetic_energy", "potential_energy"):
        few = getattr(s, name)
        assert bits(getattr(many, name)) == bits(np.resize(few, (70_000, *few.shape[1:])))
    for name, error in s.invariant_errors.items():
        assert bits(many.invariant_errors[name]) == bits(np.resize(error, 70_000))


def test_compiled_potential_equals_the_interpreted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    s = run(HANGING)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert bits(with_rows(s, 25_000).potential_energy) == bits(np.resize(s.potential_energy, 25_000))


def test_errors_keep_no_copies_of_the_states() -> None:
    s = run()
    _ = s.energy_error
    assert set(s.__dict__) & {"omega", "attitude", "spatial_momentum", "kinetic_energy", "energy"} == set()


# --- tables and files ----------------------------------------------------------------------------------------------


def test_xarray_dataset() -> None:
    s = run(TOP)
    data = s.to_xarray()
    assert data["omega"].sel(component="z").values.tolist() == s.omega[:, 2].tolist()
    assert data["quaternion"].sel(quaternion_component="w").values.tolist() == s.quaternion[:, 0].tolist()
    assert data["time"].values.tolist() == s.t.tolist()
    assert data["energy_error"].values.tolist() == s.energy_error.tolist()
    assert {n: v.attrs["units"] for n, v in data.data_vars.items()} == {
        "quaternion": "1",
        "momentum": "kg m2 s-1",
        "omega": "rad s-1",
        "kinetic_energy": "J",
        "potential_energy": "J",
        "spatial_momentum": "kg m2 s-1",
        "spatial_omega": "rad s-1",
        "energy_error": "1",
        "axial_momentum_error": "1",
        "quaternion_norm_error": "1",
    }
    assert all(v.attrs["long_name"] for v in data.variables.values())
    assert data.attrs["method"] == "RK4"
    assert data.attrs["torque"] == "HeavyTop"
    assert data.attrs["step"] == 0.01


MODELS = {
    "free": None,
    "HeavyTop": ph.HeavyTop(weight=0.1, point=(0.1, 0.2, 0.3), down=(1.0, 2.0, 3.0)),
    "PiecewiseTorque": ph.PiecewiseTorque(((0.5, (1.0, 0.0, 0.1)), (0.7, (0.0, 1.0, 0.0)))),
    "LinearDamping": ph.LinearDamping(((0.1, 0.2, 0.3), (0.0, 0.1, 0.0), (0.3, 0.0, 1.0))),
    "CoulombSoftWall": ph.CoulombSoftWall("physical"),
}


@pytest.mark.parametrize("model", MODELS)
def test_a_file_gives_back_every_bit(model: str, tmp_path: Path) -> None:
    body = ph.Body(TENSOR, name="größe α")
    s = replace(run(MODELS[model], body, every=7), metadata={"note": ["a", 1.5, None]})
    s.save(tmp_path / "s.nc")
    back = ph.load(tmp_path / "s.nc")
    assert back.body == s.body
    assert back.body.name == s.body.name
    assert back.torque == s.torque
    assert back.plan.method is s.plan.method
    for name in ("t", "quaternion", "momentum", "last_quaternion", "last_momentum"):
        assert bits(getattr(back, name)) == bits(getattr(s, name)), name
    for noun, names in (
        ("plan", ["step"]),
        ("problem", ["t_start", "t_end", "every"]),
        ("stats", ["steps", "nfev", "seconds"]),
    ):
        for name in names:
            new, old = (getattr(getattr(x, noun), name) for x in (back, s))
            assert new == old, name
            assert type(new) is type(old), name
    assert bits(back.problem.quaternion_start) == bits(s.problem.quaternion_start)
    assert bits(back.problem.momentum_start) == bits(s.problem.momentum_start)
    assert (back.status, back.message, back.t_last, back.success) == (s.status, s.message, s.t_last, s.success)
    assert bits(back.potential_energy) == bits(s.potential_energy)
    assert list(back.invariant_errors) == list(s.invariant_errors)
    assert back.metadata["note"] == ["a", 1.5, None]
    assert back.metadata["polhode"] == ph.__version__
    # And once more: a copy of the copy says the same, and when it was first made.
    back.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "s.nc").read_bytes()
    # What goes on from the file is what would have gone on without it.
    assert bits(ph.resume(back, 3.0).momentum) == bits(ph.resume(s, 3.0).momentum)


def test_a_file_of_listed_times_that_ends_later(tmp_path: Path) -> None:
    s = run(t_eval=[0.5, 1.005])
    s.save(tmp_path / "s.nc")
    back = Solution.load(tmp_path / "s.nc")
    assert back.problem.every is None
    assert back.t_last == 2.0
    resumed = ph.resume(back, 3.0, t_eval=[2.5])
    assert resumed.t.tolist() == [0.5, 1.005, 2.5]


def test_unphysical_bodies_and_plain_ones(tmp_path: Path) -> None:
    for k, body in enumerate((ph.Body.named("book"), ph.Body([3.0, 2.0, 1.5]))):
        run(body=body).save(tmp_path / f"{k}.nc")
        back = ph.load(tmp_path / f"{k}.nc").body
        assert (back, back.name) == (body, body.name)
        assert bits(back.moments) == bits(body.moments)
        assert back.aligned


def test_a_function_is_known_by_name_and_numbers(tmp_path: Path) -> None:
    s = run(HANGING)
    s.save(tmp_path / "s.nc")
    back = ph.load(tmp_path / "s.nc")
    assert isinstance(back.torque, TorqueFromFile)
    assert (back.torque.name, list(back.torque.parameters(back.body))) == ("hanging", [3.0])
    assert back.torque.depends == s.torque.depends
    assert bits(back.energy) == bits(s.energy)
    assert bits(back.energy_error) == bits(s.energy_error)
    assert "hanging(3)" in repr(back)
    back.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "s.nc").read_bytes()
    words = r"^the file keeps the name and the numbers of the torque hanging.*load\(path, torque=hanging\)"
    with pytest.raises(ValueError, match=words):
        ph.resume(back, 3.0)
    with pytest.raises(ValueError, match=words):
        back.at(0.0512)
    again = ph.load(tmp_path / "s.nc", torque=HANGING)
    assert bits(again.at(0.0512).quaternion) == bits(s.at(0.0512).quaternion)
    with pytest.raises(
        ValueError, match=r"made with the torque hanging\(3\), which is not hanging\(4\): give the function"
    ):
        ph.load(tmp_path / "s.nc", torque=HANGING.with_parameters([4.0]))
    whole, resumed = ph.resume(s, 3.0), ph.resume(back, 3.0, torque=HANGING)
    assert bits(resumed.momentum) == bits(whole.momentum)
    assert bits(resumed.energy_error) == bits(whole.energy_error)


def test_a_function_without_potential(tmp_path: Path) -> None:
    s = run(RUBBING)
    s.save(tmp_path / "s.nc")
    back = ph.load(tmp_path / "s.nc")
    assert np.isnan(back.potential_energy).all()
    assert list(back.invariant_errors) == ["quaternion norm"]


@pytest.mark.parametrize("name", ["mine", "RK4"])
def test_a_method_that_is_not_ours_is_known_by_name(name: str, tmp_path: Path) -> None:
    """Also one that only has the name of ours."""
    mine = compose(find("MR2"), triple_jump(2), name=name, order=4)
    s = run(method=mine)
    s.save(tmp_path / "s.nc")
    back = ph.load(tmp_path / "s.nc")
    assert back.method == name
    with pytest.raises(ValueError, match=f"keeps the name of the method {name}.*method="):
        ph.resume(back, 3.0)
    assert bits(ph.resume(back, 3.0, method=mine).momentum) == bits(ph.resume(s, 3.0).momentum)


def test_a_model_that_this_version_does_not_know(tmp_path: Path) -> None:
    s = run(TOP)
    s.save(tmp_path / "s.nc")
    variables, attributes = netcdf.read(tmp_path / "s.nc")
    for changed in (
        {"torque": "LaterModel"},
        {"torque_record": str(attributes["torque_record"]).replace("weight", "w")},
    ):
        netcdf.write(tmp_path / "later.nc", variables, attributes | changed, overwrite=True)
        back = ph.load(tmp_path / "later.nc")
        assert isinstance(back.torque, TorqueFromFile)
        assert bits(back.energy_error) == bits(s.energy_error)
        assert bits(back.momentum_error) == bits(s.momentum_error)


@pytest.mark.parametrize("torque", [None, TOP, HANGING, RUBBING], ids=["free", "model", "function", "rubbing"])
def test_xarray_opens_the_file(torque: Any, tmp_path: Path) -> None:
    s = run(torque)
    s.save(tmp_path / "s.nc")
    with xarray.open_dataset(tmp_path / "s.nc") as data:
        expected = s.to_xarray()
        assert set(data.data_vars) >= {"quaternion", "momentum", "omega", "kinetic_energy"}
        for name, variable in data.variables.items():
            assert (variable.values == expected[name].values).all(), name
            assert variable.dims == expected[name].dims
            assert variable.attrs == expected[name].attrs
        assert data["omega"].sel(component="y").values.tolist() == s.omega[:, 1].tolist()
        assert data.attrs["method"] == "RK4"
        assert json.loads(data.attrs["metadata"])["polhode"] == ph.__version__


def test_a_file_cut_or_damaged_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.nc"
    run(HANGING, every=100).save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 13):  # the file layer is tried with every length
        path.write_bytes(whole[:length])
        with pytest.raises(BadFile, match=r"s\.nc"):
            ph.load(path)


def test_files_that_are_not_ours(tmp_path: Path) -> None:
    xarray.Dataset({"a": ("t", np.ones(3))}).to_netcdf(tmp_path / "x.nc", engine="scipy")
    with pytest.raises(BadFile, match=r"x\.nc does not hold a polhode solution"):
        ph.load(tmp_path / "x.nc")
    run(every=100).save(tmp_path / "s.nc")
    variables, attributes = netcdf.read(tmp_path / "s.nc")
    netcdf.write(tmp_path / "later.nc", variables, attributes | {"format_version": 5})
    with pytest.raises(BadFile, match="later version of polhode"):
        ph.load(tmp_path / "later.nc")
    del variables["momentum"]
    netcdf.write(tmp_path / "less.nc", variables, attributes)
    with pytest.raises(BadFile, match=r"damaged.*momentum"):
        ph.load(tmp_path / "less.nc")


def test_a_file_that_went_through_xarray_loads(tmp_path: Path) -> None:
    s = run(TOP)
    s.save(tmp_path / "s.nc")
    with xarray.open_dataset(tmp_path / "s.nc") as data:
        data.to_netcdf(tmp_path / "x.nc", engine="scipy", format="NETCDF3_64BIT")
    back = ph.load(tmp_path / "x.nc")
    assert bits(back.momentum) == bits(s.momentum)
    assert back.torque == s.torque


def test_save_refuses_what_it_must(tmp_path: Path) -> None:
    s = run(every=100)
    s.save(tmp_path / "s.nc")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        s.save(tmp_path / "s.nc")
    s.save(str(tmp_path / "s.nc"), overwrite=True)
    with pytest.raises(TypeError, match="metadata must be plain enough for JSON"):
        replace(s, metadata={"a": object()}).save(tmp_path / "t.nc")
    assert os.listdir(tmp_path) == ["s.nc"]


def test_too_many_rows_for_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcdf, "LARGEST_BYTES", 1000)
    with pytest.raises(netcdf.TooLarge, match=r"no more than 4 GiB: save fewer rows, with every= or t_eval="):
        run().save(tmp_path / "s.nc")
    assert os.listdir(tmp_path) == []


# --- what is seen --------------------------------------------------------------------------------------------------


def test_repr_says_what_matters() -> None:
    lines = repr(run(TOP, ph.Body([5, 4, 3], name="thing"), "MR2")).splitlines()
    assert lines[0] == "Solution"
    assert "Body([5.0, 4.0, 3.0], name='thing')" in lines[1]
    assert "HeavyTop(weight=3.0" in lines[2]
    assert "MR2, step 0.01 s" in lines[3]
    assert "0 to 2 s in 200 steps, 201 rows" in lines[4]
    assert "reached t = 2" in lines[5]
    assert "energy" in lines[6]
    assert "axial momentum" in lines[6]
    assert len(lines) == 7


def test_html_escapes_all_text() -> None:
    s = run(body=ph.Body([5, 4, 3], name="<script>alert(1)</script>"))
    text = replace(s, message="a < b & c")._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "a &lt; b &amp; c" in text


def forbidden(*_: Any, **__: Any) -> Any:
    raise AssertionError("this must not be called")


def test_repr_of_a_large_solution_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solution, "program", forbidden)
    s = run(HANGING, step=0.1)
    rows = 10_000_000
    large = replace(
        s,
        t=np.broadcast_to(0.0, (rows,)),
        quaternion=np.broadcast_to(s.last_quaternion, (rows, 4)),
        momentum=np.broadcast_to(s.last_momentum, (rows, 3)),
    )
    text = repr(large)
    assert "10,000,000 rows" in text
    start, end = s.energy[0], s.energy[-1]
    scale = s.kinetic_energy[0] + abs(s.potential_energy[0])
    assert f"energy {abs(end - start) / scale:.1e}" in text
    assert "in the last row" in text
    assert "invariant_errors" not in large.__dict__
    loaded = replace(large, saved_potential=np.append(np.zeros(rows), 1.0))
    assert "energy nan" not in repr(loaded)


def test_repr_survives_a_potential_that_raises() -> None:
    calls: list[int] = []

    def broken(t: float, q: Any, p: Any) -> float:
        calls.append(1)
        if len(calls) > 1:  # the run tries it once
            raise RuntimeError("no energy today")
        return 0.0

    s = run(ph.torque(hanging, parameters=[3.0], potential=broken))
    assert "unknown: RuntimeError: no energy today" in repr(s)


def drawn(line: Line2D) -> NDArray[np.float64]:
    return np.asarray(line.get_ydata(), dtype=np.float64)


def panels(s: Solution) -> list[Axes]:
    return s.plot().axes


def test_plot_shows_the_data() -> None:
    s = run(TOP)
    rates, errors, attitude = panels(s)
    for k, line in enumerate(rates.get_lines()):
        assert bits(drawn(line)) == bits(s.omega[:, k])
        assert bits(np.asarray(line.get_xdata())) == bits(s.t)
    assert [line.get_label() for line in rates.get_lines()] == ["x", "y", "z"]
    assert [line.get_label() for line in errors.get_lines()][:-1] == ["energy", "axial momentum"]
    loose = replace(s, quaternion=1.001 * s.quaternion)  # a norm is shown when it is not as it should be
    assert "quaternion norm" in [line.get_label() for line in panels(loose)[1].get_lines()]
    assert bits(drawn(errors.get_lines()[0])) == bits(np.maximum(s.energy_error, thinning.FLOOR))
    assert errors.get_yscale() == "log"
    # The momentum points nearest to y: where the body's y axis points is the second column of R.
    for k, line in enumerate(attitude.get_lines()):
        np.testing.assert_allclose(drawn(line), s.attitude.as_matrix()[:, k, 1], atol=8 * EPS)
    assert "rad/s" in rates.get_ylabel()
    assert attitude.get_xlabel() == "time (s)"
    assert attitude.get_ylabel() == "direction of body axis y"


def test_plot_of_what_conserves_nothing_and_of_one_row() -> None:
    assert [panel.get_ylabel() for panel in panels(run(RUBBING))] == [
        "angular rate (rad/s)",
        "direction of body axis y",
    ]
    one = panels(run(t_eval=[1.0]))[0].get_lines()[0]
    assert one.get_marker() == "."


def test_legends_do_not_cover_data() -> None:
    figure = run(TOP).plot()
    figure.canvas.draw()
    for panel in figure.axes:
        legend = panel.get_legend()
        assert legend is not None
        assert legend.get_window_extent().x0 >= panel.get_window_extent().x1
        assert legend.get_window_extent().x1 <= figure.bbox.x1


def test_title_takes_any_text() -> None:
    s = run(body=ph.Body([5, 4, 3], name="costs $5 or $x_{ & more " + 12 * "and more "))
    figure = s.plot()
    figure.canvas.draw()
    assert figure._suptitle is not None  # type: ignore[attr-defined]
    box = figure._suptitle.get_window_extent()  # type: ignore[attr-defined]
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


@pytest.mark.parametrize("rows", [6000, 6001, 123_457, 1_000_000])
def test_thinning_keeps_every_extreme(rows: int) -> None:
    y = np.sin(np.arange(rows) * 0.9)
    y[rows // 3], y[rows // 2] = 17.0, -19.0
    y[rows // 4] = np.nan
    shown = thinning.thinned(y)
    assert shown.size <= 4 * thinning.BUCKETS + 4
    assert (np.diff(shown) > 0).all()
    assert {0, rows - 1, rows // 3, rows // 2} <= set(shown.tolist())
    size = -(-rows // thinning.BUCKETS)
    for k in range(0, rows, size):
        here = shown[(shown >= k) & (shown < k + size)]
        assert np.nanmin(y[here]) == np.nanmin(y[k : k + size])
        assert np.nanmax(y[here]) == np.nanmax(y[k : k + size])


def test_short_curves_are_not_thinned() -> None:
    assert thinning.thinned(np.ones(5999)).size == 5999
    assert thinning.thinned(np.empty(0)).size == 0


STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("ending", STARTS)
def test_pictures_are_saved(ending: str, tmp_path: Path) -> None:
    s = run(TOP)
    path = tmp_path / f"a.{ending.upper()}"
    figure = s.plot(path)
    assert isinstance(figure, Figure)
    assert path.read_bytes().startswith(STARTS[ending])
    s.plot(path)  # a picture may be drawn again
    assert os.listdir(tmp_path) == [path.name]


def test_pictures_are_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = run(TOP)
    with pytest.raises(ValueError, match=r"saved as \.png, \.svg or \.pdf"):
        s.plot(tmp_path / "a.bmp")

    def half(self: Any, file: Any, **_: Any) -> None:
        file.write(b"half a picture")
        raise MemoryError("midway")

    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.raises(MemoryError, match="midway"):
        s.plot(tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


def test_plot_leaves_no_global_state(in_fresh_python: Callable[[str], str]) -> None:
    said = in_fresh_python(
        "import sys, polhode as ph\n"
        "s = ph.simulate(ph.Body([3, 2, 1.5]), omega=[1, 1, 1], t_span=(0, 1), step=0.1, method='RK4')\n"
        "print('matplotlib' in sys.modules, 'xarray' in sys.modules, 'scipy' in sys.modules)\n"
        "s.save(sys.argv[1] + '/s.nc'); ph.load(sys.argv[1] + '/s.nc')\n"
        "print('xarray' in sys.modules, 'scipy' in sys.modules)\n"
        "figure = s.plot()\n"
        "print('matplotlib.pyplot' in sys.modules, figure._repr_png_()[1:4].decode())\n"
    )
    assert said.split() == ["False", "False", "False", "False", "False", "False", "PNG"]


@pytest.fixture
def in_fresh_python(tmp_path: Path) -> Callable[[str], str]:
    import subprocess
    import sys

    def run_it(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_it
