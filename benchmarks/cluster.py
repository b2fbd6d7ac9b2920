"""What parts and Dask cost: `python -m benchmarks.cluster [parts]`, in processor time, and how busy the workers are.

Runs of the same plan take turns: in this process with one thread, by Dask with one worker process, and with two. The
processor time of all processes, the scheduler's too, does not depend on what else the machine does; nor, nearly, does
the share of their time that workers spend in parts.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

import polhode as ph

PART_BODIES, STEPS = 2**20, 600


def planned(store: Path, parts: int) -> ph.EnsemblePlan:
    return ph.plan_ensemble(
        ph.Body([5.0, 5.0, 1.0]), ph.HeavyTop(20.0), omega=ph.samples.Normal([0, 0, 50.0], [0.1, 0.1, 1.0]),
        attitude=ph.samples.Attitude(sd=0.05), count=parts * PART_BODIES, seed=1, t_span=(0.0, 1.0), step=1.0 / STEPS,
        method="MR2", t_eval=[0.0, 0.5, 1.0], store=store, part_bodies=PART_BODIES,
        reduce={"rate": ph.quantity("omega").mean("body"), "worst": ph.quantity("energy_error").max("body")},
    )  # fmt: skip


def processor_seconds() -> float:
    """Returns the processor time of this process and of all its children so far."""
    here = psutil.Process()
    return sum(sum(p.cpu_times()[:2]) for p in (here, *here.children(recursive=True)))


def measured(plan: ph.EnsemblePlan, workers: int) -> dict[str, Any]:
    """Runs a plan in this process (0 workers), or by workers of Dask that have run the canary before."""
    if workers == 0:
        return _timed(plan, None, 1)
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(_import)
        return _timed(plan, client.get_executor(), workers)


def _import() -> None:
    import polhode.cluster.plan  # noqa: F401


def _timed(plan: ph.EnsemblePlan, executor: Any, workers: int) -> dict[str, Any]:
    began, spent = time.monotonic(), processor_seconds()
    plan.run(executor, threads=1)
    wall = time.monotonic() - began
    receipts = [plan._receipt(part) for part in range(plan.parts)]
    return {
        "wall_s": wall, "processor_s": processor_seconds() - spent,
        "busy": sum(r["seconds"] for r in receipts) / (workers * wall), "sha256": plan.sha256,
    }  # fmt: skip


def main() -> None:
    parts = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    with tempfile.TemporaryDirectory() as folder:
        for workers in (0, 1, 2):
            plan = planned(Path(folder) / f"{workers}.zarr", parts)
            load = psutil.getloadavg()[0]
            print(json.dumps({"workers": workers, "parts": parts, "load": load, **measured(plan, workers)}), flush=True)


if __name__ == "__main__":
    main()
