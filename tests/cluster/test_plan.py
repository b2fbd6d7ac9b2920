"""Plans: the bits of `ensemble`, whatever runs the parts; everything that may be wrong with a store or a worker."""

import errno
import inspect
import json
import operator
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import polhode as ph
from polhode.cluster import crew, manifest, worker
from polhode.cluster.decide import create_arrays
from polhode.cluster.manifest import _quantity, digest_of
from polhode.cluster.pack import packed
from polhode.cluster.store import Store
from polhode.ensembles.accumulators import Quantiles
from tests.cluster import tasks
from tests.cluster.tasks import BODY, COUNT, GIVEN, TOP, WANTED, Poisoned, kill_once, spring, tilt


def planned(store: Path | str, **other: Any) -> ph.EnsemblePlan:
    given = {**GIVEN, "part_bodies": 1024, **other}
    return ph.plan_ensemble(given.pop("body", BODY), given.pop("torque", TOP), store=store, **given)


@pytest.fixture(scope="module")
def reduced() -> ph.Reduced:
    return ph.ensemble(BODY, TOP, **GIVEN, reduce=WANTED)


@pytest.fixture(scope="module")
def motions() -> ph.Ensemble:
    made: ph.Ensemble = ph.ensemble(BODY, TOP, **GIVEN)
    return made


def same(found: xarray.Dataset, expected: ph.Reduced) -> None:
    for name in expected:
        here = found[name].values
        assert here.shape == np.shape(expected[name]), name
        assert np.array_equal(here, expected[name], equal_nan=here.dtype.kind == "f"), name


# --- the same bits -------------------------------------------------------------------------------------------------


def test_reductions_have_the_bits_of_ensemble(tmp_path: Path, reduced: ph.Reduced) -> None:
    plan = planned(tmp_path / "x.zarr", reduce=WANTED)
    assert plan.parts == 3
    assert [len(plan.bodies(k)) for k in range(3)] == [1024, 1024, COUNT - 2048]
    same(plan.run(), reduced)  # type: ignore[arg-type]


def test_motions_have_the_bits_of_ensemble(tmp_path: Path, motions: ph.Ensemble) -> None:
    found = planned(tmp_path / "x.zarr").run(parts=[2, 0])
    assert found is None  # one is missing
    found = planned(tmp_path / "x.zarr").run()
    assert found is not None
    expected = motions.to_xarray()
    for name in ("quaternion", "omega", "momentum", "kinetic_energy", "status", "t_last", "omega_start"):
        assert np.array_equal(found[name].values, expected[name].values), name
        assert found[name].attrs == expected[name].attrs
    assert np.array_equal(found["inertia"], np.diag([1.0, 2.0, 2.7]))  # what all share stands there once
    assert list(found["component"].values) == ["x", "y", "z"]
    assert found["quaternion"].chunks[0] == (1024, 1024, COUNT - 2048)  # type: ignore[index]
    assert found.attrs["bodies"] == COUNT


def test_parts_of_any_size_have_the_same_bits(tmp_path: Path, reduced: ph.Reduced) -> None:
    same(planned(tmp_path / "x.zarr", reduce=WANTED, part_bodies=2048).run(), reduced)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["threads", "fork"])
def test_executors_give_one_hash(tmp_path: Path, kind: str, reduced: ph.Reduced) -> None:
    here = planned(tmp_path / "here.zarr", reduce=WANTED)
    here.run()
    made: Callable[[], Executor] = {
        "threads": lambda: ThreadPoolExecutor(2),
        "fork": lambda: ProcessPoolExecutor(2, mp_context=get_context("fork")),
    }[kind]
    there = planned(tmp_path / "there.zarr", reduce=WANTED)
    with made() as executor:
        same(there.run(executor), reduced)  # type: ignore[arg-type]
    assert there.sha256 == here.sha256
    assert there.manifest["canary"] == here.manifest["canary"]


def test_rows_travel_with_their_parts(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rows = {"omega": rng.normal(size=(COUNT, 3)), "attitude": rng.normal(size=(COUNT, 4)), "seed": None, "count": None}
    rows |= {"body": np.tile([1.0, 2.0, 2.7], (COUNT, 1)) * rng.uniform(0.9, 1.1, (COUNT, 1))}
    plan = planned(tmp_path / "x.zarr", **rows)
    task = crew.Crew(worker.Task(plan.asked, plan.manifest, plan.store, 1), {1}, None)
    starts = task._rows(1)
    assert starts is not None
    assert len(packed(starts, plan.asked)) < 0.6 * len(packed(plan.asked.starts, plan.asked))
    with ThreadPoolExecutor(1) as executor:
        found = plan.run(executor)
    assert found is not None
    given = {**GIVEN, **rows}
    expected = ph.ensemble(given.pop("body"), TOP, **given)
    assert np.array_equal(found["quaternion"].values, expected.quaternion)


def test_survey_by_an_executor_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polhode.cluster import decide

    monkeypatch.setattr(decide, "SURVEYED_BODIES", 1024)
    with ThreadPoolExecutor(2) as executor:
        there = planned(tmp_path / "there.zarr", executor=executor)
    assert there.manifest["survey"] == planned(tmp_path / "here.zarr").manifest["survey"]


def test_tolerance_is_searched_once(tmp_path: Path) -> None:
    asked = {**GIVEN, "step": None, "rtol": 1e-6, "count": 1100}
    plan = planned(tmp_path / "x.zarr", **asked)
    assert plan.manifest["search"]["candidate"]["method"]["method"]
    found = plan.run()
    assert found is not None
    expected = ph.ensemble(BODY, TOP, **asked)
    assert np.array_equal(found["quaternion"].values, expected.quaternion)
    assert np.array_equal(found["error_estimate"].values, expected.error_estimate)


@pytest.mark.parametrize("room", [40, 469])  # parts of more, and of fewer numbers than rows have
def test_quantiles_of_parts_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    from polhode.ensembles import accumulators

    monkeypatch.setattr(accumulators, "QUANTILE_BYTES", 8 * room * 256)
    monkeypatch.setattr(accumulators, "WORST_RANK", 1.0)
    n, size = 90_000, 4096
    x = np.random.default_rng(1).normal(size=(n, 2))
    whole, total = Quantiles((0.1, 0.5), n), Quantiles((0.1, 0.5), n)
    for first in range(0, n, 256):
        whole.add(x[first : first + 256])
    for first in range(0, n, size):
        part = Quantiles((0.1, 0.5), n, range(first, min(n, first + size)))
        for k in range(first, min(n, first + size), 256):
            part.add(x[k : min(n, k + 256)])
        total.join(part.state())
    assert any(row is not None for row in whole.rows)
    assert np.array_equal(total.result(), whole.result())
    assert total.rank_error == whole.rank_error


# --- a store -------------------------------------------------------------------------------------------------------


def test_store_is_opened_lazily(tmp_path: Path, motions: ph.Ensemble) -> None:
    store = tmp_path / "x.zarr"
    planned(store).run(parts=[1])
    with pytest.raises(ph.cluster.PlanError, match=r"2 of 3 parts of .* are missing \(0, 2\): run the plan again"):
        ph.load(store)
    seen = xarray.open_zarr(store)
    assert np.isnan(seen["omega"].values).all(axis=(1, 2)).sum() == COUNT - 1024
    assert (seen["status"].values == -1).sum() == COUNT - 1024
    planned(store).run()
    found = ph.load(store)
    assert found["omega"].chunks is not None
    assert np.array_equal(found["omega"][1500].values, motions.omega[1500])
    assert sorted(p.name for p in (store / "omega" / "c").iterdir()) == ["0", "1", "2"]  # one chunk a part


def test_chunk_without_values_is_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "x.zarr")
    nothing = np.full((1024, 3), np.nan)
    table: dict[str, Any] = {
        "omega": (("body", "component"), nothing, {}),
        "status": (("body",), np.full(1024, -1), {}),
    }
    store.create(table, 2048, 1024, {})
    store.write_part(1, range(1024, 2048), table, {}, {})
    for name in table:
        assert [p.name for p in (tmp_path / "x.zarr" / name / "c").iterdir()] == ["1"]


@pytest.mark.evidence  # compiles a torque for it
def test_failed_bodies_have_messages(tmp_path: Path) -> None:
    strength = np.ones((COUNT, 1))
    strength[2400] = 1e300
    plan = planned(tmp_path / "x.zarr", torque=ph.torque(spring, parameters=[1.0]), parameters=strength)
    found = plan.run()
    assert found is not None
    assert np.flatnonzero(found["status"].values).tolist() == [2400]
    assert np.isnan(found["omega"].values[2400, 1:]).all()
    assert found.attrs["failed"] == 1
    assert list(plan.messages()) == [2400]
    assert plan.verify() == []


def test_damaged_parts_are_found_and_made_again(tmp_path: Path, reduced: ph.Reduced) -> None:
    store = tmp_path / "x.zarr"
    plan = planned(store, reduce=WANTED)
    plan.run()
    sha = plan.sha256
    chunk = next((store / "final" / "c" / "1").rglob("*"))
    while chunk.is_dir():
        chunk = next(chunk.iterdir())
    chunk.write_bytes(chunk.read_bytes()[:-7])
    partial = store / "polhode" / "partial" / "0000" / "000002.npz"
    partial.unlink()
    assert plan.verify() == [1, 2]
    with pytest.raises(ph.cluster.PlanError, match="2 of 3 parts"):
        plan.result()
    same(plan.run(), reduced)  # type: ignore[arg-type]
    assert plan.sha256 == sha


def test_missing_partial_result_is_named(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    plan = planned(store, reduce=WANTED)
    plan.run(parts=[0, 1])
    (store / "polhode" / "partial" / "0000" / "000001.npz").unlink()
    with pytest.raises(ph.cluster.PlanError, match=r"the partial results of part 1 of .* are missing: call verify"):
        plan.run()


def test_workers_in_another_directory_write_to_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    plan = planned("x.zarr", reduce={"mean": WANTED["mean"]})
    monkeypatch.chdir(tmp_path / "there")
    with ThreadPoolExecutor(1) as executor:
        assert plan.run(executor) is not None
    assert not list((tmp_path / "there").iterdir())


def test_what_another_process_has_put_into_arrays_is_kept(tmp_path: Path) -> None:
    """Two jobs take up a plan whose planner was killed: the second must not empty what the first has filled."""
    plan = planned(tmp_path / "x.zarr", reduce=WANTED)
    found = plan.run()
    assert found is not None
    create_arrays(plan.store, plan.manifest, worker.PartEngine.of(plan.asked, plan.manifest, 1))
    assert plan.verify() == []
    assert plan.result().equals(found)


@pytest.mark.parametrize("text", ["{}", "[", "[1]"])
def test_receipt_that_was_edited_is_named(tmp_path: Path, text: str) -> None:
    plan = planned(tmp_path / "x.zarr", reduce={"mean": WANTED["mean"]})
    plan.store.write("polhode/parts/0000/000001.json", text.encode())
    for call in (plan.status, plan.messages):
        with pytest.raises(ph.cluster.PlanError, match=r"receipt of part 1 in .* is damaged: call verify"):
            call()
    assert plan.verify() == [1]


def test_joined_results_that_were_edited_are_made_again(tmp_path: Path) -> None:
    plan = planned(tmp_path / "x.zarr", reduce={"mean": WANTED["mean"]})
    found = plan.run()
    assert found is not None
    expected = found["mean"].values
    plan.store.array("mean")[...] = 7.0
    assert plan.verify() == []
    assert np.array_equal(plan.result()["mean"].values, expected)


def test_what_all_bodies_share_is_written_again(tmp_path: Path) -> None:
    plan = planned(tmp_path / "x.zarr")
    found = plan.run()
    assert found is not None
    times, moments = found["time"].values, found["moments"].values
    plan.store.array("time")[...] = 7.0
    plan.store.array("moments")[...] = 7.0
    assert plan.verify() == []
    again = ph.load(tmp_path / "x.zarr")
    assert np.array_equal(again["time"].values, times)
    assert np.array_equal(again["moments"].values, moments)


def test_any_path_of_fsspec_is_a_store(reduced: ph.Reduced) -> None:
    plan = planned("memory://plans/x.zarr", reduce=WANTED)
    same(plan.run(), reduced)  # type: ignore[arg-type]
    same(ph.load("memory://plans/x.zarr"), reduced)
    assert planned("memory://plans/x.zarr", reduce=WANTED).missing == []


def test_functions_of_other_languages_are_told_apart_by_name() -> None:
    before = digest_of(np.add)
    inspect.signature(np.add)  # which numpy.add then keeps
    assert digest_of(np.add) == before
    functions = (np.add, np.multiply, operator.add, operator.mul, max)
    assert len({digest_of(f) for f in functions}) == len(functions)


def test_a_new_file_of_a_remote_store_replaces_none(monkeypatch: pytest.MonkeyPatch) -> None:
    store, key = Store("memory://new/x.zarr"), "polhode/manifest.json"
    store.write(key, b"one", new=True)
    looks = iter([False])  # as it was a moment before
    monkeypatch.setattr(type(store._files), "exists", lambda self, path: next(looks, True))
    with pytest.raises(FileExistsError, match="exists already"):
        store.write(key, b"two", new=True)
    assert store.read(key) == b"one"


def test_a_remote_store_that_knows_no_modes_is_written_to() -> None:
    class Plain(dict[str, bytes]):
        exists, pipe_file = dict.__contains__, dict.__setitem__

    store = Store("memory://plain/x.zarr")
    store.__dict__["_files"] = files = Plain()
    store.write("a", b"one", new=True)
    assert files == {"memory://plain/x.zarr/a": b"one"}
    with pytest.raises(FileExistsError, match="exists already"):
        store.write("a", b"two", new=True)


def test_full_disk_stops_the_run_and_leaves_a_store_that_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reduced: ph.Reduced
) -> None:
    plan, written = planned(tmp_path / "x.zarr", reduce=WANTED), Store.write

    def full(self: Store, key: str, contents: bytes, *, new: bool = False) -> None:
        if "000001" in key:
            with self.explained():
                raise OSError(errno.ENOSPC, "No space left on device")
        written(self, key, contents, new=new)

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(OSError, match="make room, and run the plan again"):
        plan.run()
    assert plan.missing == [1, 2]
    monkeypatch.setattr(Store, "write", written)
    same(plan.run(), reduced)  # type: ignore[arg-type]


# --- what may be wrong ---------------------------------------------------------------------------------------------


def test_store_of_another_plan_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    planned(store)
    with pytest.raises(
        ph.cluster.PlanError, match=r"belongs to another plan: seed is 5 there and 6 here\. Choose another"
    ):
        planned(store, seed=6)
    with pytest.raises(ph.cluster.PlanError, match=r"omega is .* there and .* here"):
        planned(store, omega=ph.samples.Normal([0.1, 0.2, 2.0], 0.5))
    with pytest.raises(ph.cluster.PlanError, match="part_bodies is 2048, but"):
        planned(store, part_bodies=2048)
    assert planned(store).parts == 3


def test_arrays_of_a_killed_planner_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polhode.api import plan as module

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "create_arrays", killed)
        with pytest.raises(KeyboardInterrupt):
            planned(tmp_path / "x.zarr")
    monkeypatch.setattr(module, "ARRAYS_SECONDS", 0.0)
    assert planned(tmp_path / "x.zarr").run() is not None


def test_plan_that_was_edited_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    planned(store)
    file = store / "polhode" / "manifest.json"
    contents = json.loads(file.read_text())
    contents["question"]["seed"] = 6
    file.write_text(json.dumps(contents))
    for call in (lambda: planned(store, seed=6), lambda: ph.load(store)):
        with pytest.raises(ph.cluster.PlanError, match="was changed after it was written"):
            call()
    file.write_text("{")
    with pytest.raises(ph.cluster.PlanError, match="is damaged"):
        planned(store)


def test_worker_with_another_version_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "x.zarr"
    plan = planned(store)
    there = manifest.versions()
    monkeypatch.setattr(manifest, "versions", lambda: {**there, "numpy": "1.0"})
    monkeypatch.setattr(worker, "REFUSED_SECONDS", 0.0)
    with pytest.raises(ph.cluster.WorkerRefused, match=rf"the worker {worker.worker_name()} has numpy 1\.0, but"):
        plan.run()
    with pytest.raises(ph.cluster.PlanError, match="install numpy"):
        planned(store)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.warns(UserWarning, match="has numpy 1"),
        pytest.raises(ph.cluster.PartsFailed, match="WorkerRefused: the worker"),
    ):
        plan.run(executor)


def test_worker_with_other_bits_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(tmp_path / "x.zarr")
    run = worker.PartEngine.run

    def other(self: Any, bodies: range, starts: Any = None) -> Any:
        made = run(self, bodies, starts)
        made.arrays["omega"][1][3, 1, 0] = np.nextafter(made.arrays["omega"][1][3, 1, 0], 9.0)
        return made

    monkeypatch.setattr(worker.PartEngine, "run", other)
    monkeypatch.setattr(worker, "_mine", threading.local())
    with pytest.raises(ph.cluster.WorkerRefused, match=r"makes other bits than the plan for the first 64 bodies"):
        plan.run()
    assert plan.missing == [0, 1, 2]


def test_part_that_fails_three_times_does_not_stop_the_others(tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    wanted = {"tilt": ph.quantity(Poisoned(poison, 1500)).mean("body")}
    plan = planned(tmp_path / "x.zarr", reduce=wanted)
    poison.touch()
    seen: list[Any] = []
    with pytest.raises(
        ph.cluster.PartsFailed, match=r"part 1, bodies 1024 to 2047: ArithmeticError: body 1500"
    ) as failed:
        plan.run(progress=seen.append)
    assert plan.missing == [1]
    assert list(failed.value.parts) == [1]
    assert seen[-1].failed_parts == 1
    poison.unlink()
    found = plan.run()
    assert found is not None
    assert np.array_equal(found["tilt"], ph.ensemble(BODY, TOP, **GIVEN, reduce=wanted)["tilt"])


def test_killed_worker_loses_the_parts_in_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLHODE_TEST_FLAG", str(tmp_path / "flag"))
    wanted = {"tilt": ph.quantity(kill_once).mean("body")}
    plan = planned(tmp_path / "x.zarr", reduce=wanted)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("fork")) as executor,
        pytest.raises(ph.cluster.WorkersLost, match=r"2 of 3 parts are in .*: run the plan again, with a new executor"),
    ):
        plan.run(executor)
    found = plan.run()
    assert found is not None
    expected = ph.ensemble(BODY, TOP, **GIVEN, reduce={"tilt": ph.quantity(tilt).mean("body")})
    assert np.array_equal(found["tilt"], expected["tilt"])


@pytest.mark.usefixtures("ctrl_c")
def test_interrupted_plan_goes_on(tmp_path: Path, reduced: ph.Reduced) -> None:
    plan = planned(tmp_path / "x.zarr", reduce=WANTED)

    def stop(seen: Any) -> None:
        if seen.parts_done == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(ph.cluster.PlanInterrupted, match=r"interrupted: 1 of 3 parts are in"):
        plan.run(progress=stop)
    assert plan.missing == [1, 2]
    same(planned(tmp_path / "x.zarr", reduce=WANTED).run(), reduced)  # type: ignore[arg-type]


def test_progress_has_a_rate_and_a_remaining_time(tmp_path: Path) -> None:
    seen: list[Any] = []
    plan = planned(tmp_path / "x.zarr")
    plan.run(progress=seen.append)
    assert [s.parts_done for s in seen] == [0, 1, 2, 3]
    assert seen[2].bodies_done == 2048
    assert seen[2].rate > 0.0
    assert seen[2].seconds_left == pytest.approx((COUNT - 2048) / seen[2].rate)
    assert "2 of 3 parts, 2,048 of 2,500 bodies; " in str(seen[2])
    assert "left" in str(seen[2])
    status = plan.status()
    assert (status.parts_done, status.bodies_done) == (3, COUNT)


def test_torque_that_cannot_travel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = threading.Lock()

    def wanted(many: ph.Ensemble) -> Any:
        with lock:
            return tilt(many)

    plan = planned(tmp_path / "x.zarr", torque=ph.torque(spring, parameters=[0.1]), reduce={"a": ph.quantity(wanted)})
    with ThreadPoolExecutor(1) as executor, pytest.raises(TypeError, match=r"reduce\['a'\] cannot be sent to other"):
        plan.run(executor)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    monkeypatch.delattr(tasks, "spring")  # as a function of a script, which no worker can import
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(TypeError, match=r"the torque spring cannot be sent .*from my_torque import my_torque"),
    ):
        plan.run(executor)


def test_bad_arguments(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    with pytest.raises(ValueError, match="1024 times a power of two, such as 1024 or 65536, not 3072"):
        planned(store, part_bodies=3072)
    with pytest.raises(ValueError, match=r"reduce\['a'\] is a fold without join="):
        planned(store, reduce={"a": ph.quantity(tilt).fold(max, 0.0)})
    (tmp_path / "file").touch()
    with pytest.raises(ph.cluster.PlanError, match="is a file"):
        planned(tmp_path / "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(ph.cluster.PlanError, match="is not empty"):
        planned(tmp_path / "full")
    with pytest.raises(ph.cluster.PlanError, match="is no store of polhode"):
        ph.load(tmp_path / "full")
    with pytest.raises(ValueError, match="storage_options are for remote stores"):
        planned(store, storage_options={"key": "x"})
    plan = planned(store)
    with pytest.raises(ValueError, match=r"there is no part 3: the parts of this plan are numbered from 0 to 2"):
        plan.run(parts=[3])
    with pytest.raises(ValueError, match=r"there is no share 0 of 4: shares are numbered from 1 to 4"):
        plan.share(0, 4)
    assert [plan.share(k, 2) for k in (1, 2)] == [[0, 2], [1]]
    assert plan.share(4, 4) == []
    with pytest.raises(TypeError, match=r"executor must be a concurrent\.futures\.Executor"):
        plan.run("dask")


def test_functions_that_differ_are_other_questions(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    planned(store, torque=ph.torque(spring, parameters=[1.0]))

    def spring_of_another_kind(t: float, q: Any, w: Any, p: Any) -> Any:
        return (-2.0 * p[0] * q[1], -p[0] * q[2], -p[0] * q[3])

    spring_of_another_kind.__name__ = spring_of_another_kind.__qualname__ = "spring"
    with pytest.raises(ph.cluster.PlanError, match="torque is"):
        planned(store, torque=ph.torque(spring_of_another_kind, parameters=[1.0]))


class Column:
    """A quantity that is an object with a number."""

    def __init__(self, k: int) -> None:
        self.k = k

    def __call__(self, many: ph.Ensemble) -> Any:
        return many.omega[..., self.k]


def column(many: ph.Ensemble, k: int) -> Any:
    return many.omega[..., k]


def test_objects_and_partial_functions_are_known_by_what_they_hold(tmp_path: Path) -> None:
    """Each is made anew, as another process does: an address says nothing."""

    def reader(k: int) -> Any:
        columns = [k]  # a list: it has no name by content, as torques need
        return lambda many: many.omega[..., columns[0]]

    makers: list[Callable[[int], Any]] = [Column, lambda k: partial(column, k=k), lambda k: Column(k).__call__, reader]
    questions = [
        [json.dumps(_quantity(ph.quantity(maker(k)).fold(maker(k), 0.0, join=maker(k)))) for k in (1, 1, 2)]
        for maker in makers
    ]
    for one, again, other in questions:
        assert one == again != other
        assert " at 0x" not in one


@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_an_array_that_is_damaged_is_named_at_once(tmp_path: Path, damage: str) -> None:
    plan = planned(tmp_path / "x.zarr")
    about = tmp_path / "x.zarr" / "omega" / "zarr.json"
    about.unlink() if damage == "removed" else about.write_text("{")
    with pytest.raises(ph.cluster.PlanError, match=r"the array omega of .* is missing or damaged .*call verify\(\)"):
        planned(tmp_path / "x.zarr").run()
    assert plan.missing == [0, 1, 2]
    assert plan.verify() == []
    assert plan.run() is not None


@pytest.mark.parametrize("part", [3, -1, 1.5, "1", True])
def test_parts_are_numbers(tmp_path: Path, part: Any) -> None:
    with pytest.raises(ValueError, match=r"there is no part .*numbered from 0 to 2"):
        planned(tmp_path / "x.zarr").run(parts=[part])
