"""A plan on a Dask cluster whose processes are killed at random: `python -m tests.cluster.killed [kills] [seed]`."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polhode as ph
from tests.cluster.tasks import BODY, TOP, tilt

PARTS = 48
GIVEN: dict[str, Any] = {
    "omega": ph.samples.Normal([0.1, 0.2, 2.0], 0.4), "attitude": ph.samples.Attitude(), "seed": 5,
    "count": 1024 * PARTS - 100, "t_span": (0.0, 50.0), "step": 0.005, "method": "MR2", "t_eval": [0.0, 25.0, 50.0],
    "part_bodies": 1024,
    "reduce": {
        "mean": ph.quantity("omega").mean("body"), "spread": ph.quantity(tilt).quantile([0.1, 0.9], "body"),
        "final": ph.quantity("quaternion").last(),
    },
}  # fmt: skip
QUICK = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s", "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "15s"}


def plan(store: Path) -> ph.EnsemblePlan:
    """Returns the plan that the driver runs."""
    return ph.plan_ensemble(BODY, TOP, store=store, **GIVEN)


def drive(store: Path, scheduler: Path) -> None:
    """Runs the plan by the workers of the cluster."""
    from distributed import Client

    with Client(scheduler_file=str(scheduler), timeout=10) as client:
        plan(store).run(client.get_executor())


class Cluster:
    """A scheduler, workers and a driver, each in a process of its own; those that end are started again."""

    def __init__(self, folder: Path, store: Path, workers: int = 2) -> None:
        self.folder, self.store = folder, store
        self.scheduler = folder / "scheduler.json"
        self.names = ["scheduler", *(f"worker {k}" for k in range(workers)), "driver"]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def _command(self, name: str) -> list[str]:
        dask = [sys.executable, "-m", "dask"]
        file = ["--scheduler-file", str(self.scheduler)]
        if name == "scheduler":
            return [*dask, "scheduler", *file, "--no-dashboard", "--port", "0"]
        if name == "driver":
            return [sys.executable, "-m", "tests.cluster.killed", "--drive", str(self.store), str(self.scheduler)]
        more = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)]
        return [*dask, "worker", *file, *more]

    def start(self, name: str) -> None:
        """Starts one of them."""
        if name == "scheduler":
            self.scheduler.unlink(missing_ok=True)
        log = (self.folder / f"{name}.log").open("ab")
        with log:
            self.processes[name] = subprocess.Popen(
                self._command(name), stdout=log, stderr=log, env={**os.environ, **QUICK}
            )
        while name == "scheduler" and not self.scheduler.exists():
            time.sleep(0.1)

    def mend(self) -> bool:
        """Starts again what has ended; returns whether the driver has done all."""
        for name in self.names:
            process = self.processes.get(name)
            if process is not None and process.poll() is None:
                continue
            if name == "driver" and process is not None and process.returncode == 0:
                return True
            self.start(name)
        return False

    def kill(self, name: str) -> None:
        """Kills one of them."""
        process = self.processes[name]
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def close(self) -> None:
        """Ends all."""
        for name in self.processes:
            self.kill(name)


def attempt(kills: int, seed: int, folder: Path) -> dict[str, Any]:
    """Runs the plan through kills at random times, and says what was killed and what came out."""
    rng, killed = random.Random(seed), list[str]()
    store = folder / "killed.zarr"
    cluster = Cluster(folder, store)
    began = time.monotonic()
    try:
        while not cluster.mend():
            time.sleep(rng.uniform(0.5, 4.0))
            if len(killed) < kills and (store / "polhode" / "manifest.json").exists():
                killed.append(rng.choice(cluster.names))
                cluster.kill(killed[-1])
    finally:
        cluster.close()
    found = plan(store)
    damaged = found.verify()
    return {
        "killed": killed, "sha256": ph.load(store).attrs["sha256"], "damaged": damaged,
        "seconds": time.monotonic() - began,
    }  # fmt: skip


def main() -> None:
    """Runs the plan undisturbed, and through kills."""
    kills, seed = [*map(int, sys.argv[1:]), 20, 1][:2] if len(sys.argv) < 3 else map(int, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        quiet = plan(Path(folder) / "quiet.zarr")
        quiet.run()
        print(json.dumps(attempt(kills, seed, Path(folder)) | {"undisturbed": quiet.sha256}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        drive(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
