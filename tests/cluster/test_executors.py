"""The executors of others, real clusters, object stores, and processes that are killed."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.cluster.store import Store
from tests.cluster.killed import attempt
from tests.cluster.killed import plan as long_plan
from tests.cluster.tasks import BODY, GIVEN, TOP, WANTED

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def planned(store: Path | str, **other: Any) -> ph.EnsemblePlan:
    return ph.plan_ensemble(BODY, TOP, store=store, **GIVEN, part_bodies=1024, reduce=WANTED, **other)


@pytest.fixture(scope="module")
def sha(tmp_path_factory: pytest.TempPathFactory) -> str:
    plan = planned(tmp_path_factory.mktemp("here") / "x.zarr")
    plan.run()
    return plan.sha256


def test_dask(tmp_path: Path, sha: str) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        plan = planned(tmp_path / "x.zarr")
        found = plan.run(client.get_executor())
        with pytest.raises(TypeError, match=r"write client\.get_executor\(\)"):
            plan.run(client)
    assert found is not None
    assert found.attrs["sha256"] == sha


@pytest.mark.evidence
def test_loky(tmp_path: Path, sha: str) -> None:
    loky = pytest.importorskip("loky")
    plan = planned(tmp_path / "x.zarr")
    plan.run(loky.get_reusable_executor(max_workers=2))
    assert plan.sha256 == sha


@pytest.mark.evidence
def test_mpi(tmp_path: Path, sha: str) -> None:
    pytest.importorskip("mpi4py")
    run = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if run is None:
        pytest.skip("there is no mpiexec")
    script = tmp_path / "run.py"
    script.write_text(
        "import sys\n"
        "from mpi4py.futures import MPIPoolExecutor\n"
        "from tests.cluster.test_executors import planned\n"
        "if __name__ == '__main__':\n"
        "    with MPIPoolExecutor() as executor:\n"
        "        planned(sys.argv[1]).run(executor)\n"
    )
    command = [run, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), str(tmp_path / "x.zarr")]
    subprocess.run(command, check=True, timeout=600, env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert planned(tmp_path / "x.zarr").sha256 == sha


@pytest.mark.evidence
def test_kills_at_random_leave_the_same_bits(tmp_path: Path) -> None:
    undisturbed = long_plan(tmp_path / "quiet.zarr")
    undisturbed.run()
    found = attempt(20, 1, tmp_path)
    assert len(found["killed"]) == 20
    assert found["damaged"] == []
    assert found["sha256"] == undisturbed.sha256


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """An object store that speaks S3, on this machine."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    options = {"endpoint_url": f"http://127.0.0.1:{port}"}
    import fsspec

    for _ in range(50):
        try:
            fsspec.filesystem("s3", **options).mkdir("bucket")
            break
        except Exception:
            time.sleep(0.1)
    yield options
    server.stop()


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore")
def test_object_store(bucket: dict[str, Any], sha: str) -> None:
    path = "s3://bucket/runs/x.zarr"
    plan = planned(path, storage_options=bucket)
    plan.run(parts=[1])
    assert plan.missing == [0, 2]
    again = planned(path, storage_options=bucket)
    found = again.run()
    assert found is not None
    assert found.attrs["sha256"] == sha
    assert again.verify() == []
    assert np.isfinite(ph.load(path, storage_options=bucket)["final"][2000].values).all()


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore")
def test_one_of_many_that_plan_at_once_is_first(bucket: dict[str, Any]) -> None:
    def write(k: int) -> int:
        try:
            Store("s3://bucket/x.zarr", bucket).write("polhode/manifest.json", b"%d" % k, new=True)
        except FileExistsError:
            return 0
        return k

    with ThreadPoolExecutor(8) as executor:
        first = sum(executor.map(write, range(1, 9)))
    assert Store("s3://bucket/x.zarr", bucket).read("polhode/manifest.json") == b"%d" % first
