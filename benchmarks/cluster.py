"""What parts and Dask cost: `python -m benchmarks.cluster [parts]`.

The parts of equal plans take turns: one in this process, with one thread; one by Dask with one worker process; two by
Dask with two. Processor time is that of all processes, the scheduler's too, which hardly depends on what else the
machine does. Times of the clock are worth something on a free machine only: the load is printed, too.
"""

import json
import statistics
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


def timed(plan: ph.EnsemblePlan, executor: Any, parts: list[int]) -> dict[str, float]:
    """Runs some parts, and returns the time of the clock, the processor time, and the time spent within parts."""
    began, spent = time.monotonic(), processor_seconds()
    plan.run(executor, threads=1, parts=parts)
    wall, spent = time.monotonic() - began, processor_seconds() - spent
    return {"wall": wall, "processor": spent, "within": sum(plan._receipt(part)["seconds"] for part in parts)}


def _import() -> None:
    import polhode.api.plan  # noqa: F401


def main() -> None:
    from distributed import Client, LocalCluster

    parts = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    rows: dict[int, list[dict[str, float]]] = {0: [], 1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        plans = {workers: planned(Path(folder) / f"{workers}.zarr", 2 * parts + 2) for workers in rows}
        with (
            LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as one,
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
            Client(one) as first, Client(two) as second,
        ):  # fmt: skip
            executors = {0: None, 1: first.get_executor(), 2: second.get_executor()}
            for client in (first, second):
                client.run(_import)
            for workers, executor in executors.items():
                plans[workers].run(executor, threads=1, parts=[0, 1])  # the canary, and what is done once
            for k in range(parts):
                for workers, executor in executors.items():
                    some = [2 * k + 2, 2 * k + 3]
                    rows[workers].append(found := timed(plans[workers], executor, some))
                    about = {"workers": workers, "parts": some, "load": psutil.getloadavg()[0]}
                    print(json.dumps(about | found), flush=True)
        digests = {workers: [plan._receipt(k)["sha256"] for k in range(plan.parts)] for workers, plan in plans.items()}
        assert digests[0] == digests[1] == digests[2], "other bits"
    for what in ("processor", "wall", "within"):
        for workers in (1, 2):
            ratios = [a[what] / b[what] for a, b in zip(rows[workers], rows[0], strict=True)]
            low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
            print(f"{what}: {workers} of Dask over this process: {middle:.3f} ({low:.3f} to {high:.3f})")
    between = [b["wall"] / a["wall"] for a, b in zip(rows[2], rows[1], strict=True)]
    print(f"strong scaling, two workers: {statistics.median(between):.2f} ({min(between):.2f} to {max(between):.2f})")


if __name__ == "__main__":
    main()
