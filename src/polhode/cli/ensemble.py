"""`polhode ensemble`: runs the bodies of a scenario in parts, on this machine or on many."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polhode.cli._app import app
from polhode.cli._options import Quiet, Trust
from polhode.cli._signals import stopped_by_signals
from polhode.cli._terminal import BAD_INPUT, FAILED, INTERRUPTED, is_terminal, print_text, say, stop

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from polhode import EnsemblePlan
    from polhode.cluster.crew import PlanProgress
    from polhode.scenario import Scenario

LOG_SECONDS, LINE_SECONDS = 10.0, 0.2
"""How often a line about the progress is written to a log, and how often it changes in a terminal."""
DASK_SECONDS = 30
"""How long a scheduler is waited for."""


@app.command()
@stopped_by_signals()
def ensemble(
    scenario: Annotated[Path, typer.Argument(metavar="JOB.toml", help="A scenario file with an [ensemble] table.")],
    store: Annotated[
        str | None,
        typer.Option(
            help="The store of the results, a directory or a path such as s3://bucket/x.zarr; default: the name of the "
            "scenario with the ending .zarr, here."
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(metavar="K/N", help="Run the share K of N jobs only, as in --part $SLURM_ARRAY_TASK_ID/100."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Run parts by this number of processes here.")] = None,
    dask: Annotated[
        Path | None, typer.Option(metavar="SCHEDULER.json", help="Run parts by the workers of a Dask scheduler.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads of a part; default: one with --workers and --dask, else one for each core."),
    ] = None,
    plan_only: Annotated[bool, typer.Option("--plan", help="Make the plan and stop.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say how far the store is, and stop.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare all bits of the store with their digests first.")
    ] = False,
    quiet: Quiet = False,
    trust: Trust = False,
) -> None:
    """Run the bodies of a scenario in parts, and collect them in a Zarr store.

    What is in the store already is not run again: after a crash, the same command goes on. The results have the same
    bits whatever runs the parts. Without options all parts are run here, on all cores; --part is for job arrays, whose
    jobs share one store, and the last of which joins the results. Needs the extra `cluster`.
    Exit codes: 0 all went well; 1 parts failed three times, or workers were lost; 2 bad input; 130 interrupted, 143
    terminated, 129 hung up (finished parts are in the store).
    """
    if sum(x is not None for x in (part, workers, dask)) > 1:
        stop("give one of --part, --workers and --dask")
    share = None if part is None else _share(part)
    job = _job(scenario, trust)
    place = store or str(job.file.with_suffix(".zarr").name)
    from polhode.cluster import PartsFailed, PlanInterrupted, WorkerRefused, WorkersLost

    if status and not _is_planned(place):
        stop(f"{place} has no plan yet: polhode ensemble {scenario} --plan makes it")
    try:
        with _executor(workers, dask) as executor:
            plan = job.plan(place, executor)
            if verify and (damaged := plan.verify()):
                say(f"polhode: {len(damaged)} damaged parts will be run again", err=True)
            if status:
                _say_status(plan)
            elif plan_only:
                if not quiet:
                    say(plan)
            else:
                _run(plan, executor, share, threads, quiet)
    except PlanInterrupted as stopped:
        stop(stopped, INTERRUPTED)
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    except (PartsFailed, WorkersLost, WorkerRefused) as problem:
        stop(f"{scenario}: {problem}", FAILED)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as problem:
        stop(f"{scenario}: {'; '.join([str(problem), *getattr(problem, '__notes__', [])])}", BAD_INPUT)


def _is_planned(place: str) -> bool:
    from polhode.cluster.store import MANIFEST, Store

    return Store(place).read(MANIFEST) is not None


def _share(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None:
        stop(f"--part must be like 3/100, the third of a hundred jobs, not {text}")
    number, of = int(found[1]), int(found[2])
    if not 1 <= number <= of:
        stop(f"--part {text}: the jobs are numbered from 1 to {max(of, 1)}")
    return number, of


def _job(path: Path, trust: bool) -> Scenario:
    from polhode.scenario import ScenarioError, check_scenario

    try:
        job = check_scenario(path, trust=trust, in_parts=True).scenario()
    except ScenarioError as problem:
        stop("\npolhode: ".join(str(problem).splitlines()))
    if job.many is None:
        stop(f"{path} has no [ensemble] table: run it with polhode run")
    return job


@contextmanager
def _executor(workers: int | None, dask: Path | None) -> Iterator[Executor | None]:
    """Yields what runs the parts: processes, the workers of Dask, or None for this process."""
    if workers is not None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            yield pool
    elif dask is not None:
        if not dask.is_file():
            stop(f"--dask: there is no file {dask}; `dask scheduler --scheduler-file {dask}` writes it")
        try:
            from distributed import Client
        except ImportError:
            stop("--dask needs Dask: pip install 'polhode[cluster]'")
        try:
            client = Client(scheduler_file=str(dask), timeout=DASK_SECONDS)
        except (OSError, TimeoutError) as problem:
            stop(f"--dask: the scheduler of {dask} does not answer ({problem}): is it running?", FAILED)
        with client:
            yield client.get_executor()
    else:
        yield None


def _run(
    plan: EnsemblePlan, executor: Executor | None, share: tuple[int, int] | None, threads: int | None, quiet: bool
) -> None:
    parts = None if share is None else plan.share(*share)
    with _shown(quiet) as progress:
        made = plan.run(executor, parts=parts, threads=threads, progress=progress)
    if quiet:
        return
    if made is None:
        say(f"{plan.store.path}: {plan.status()}")
    else:
        failed = f", {made.attrs['failed']:,} failed" if made.attrs["failed"] else ""
        say(f"{plan.store.path}: {made.attrs['bodies']:,} bodies{failed}, sha256 {made.attrs['sha256']}")


def _say_status(plan: EnsemblePlan) -> None:
    say(f"{plan.store.path}: {plan.status()}")
    failed = plan.messages()
    if failed:
        first = min(failed)
        say(f"bodies that failed: {len(failed):,} or more; number {first}: {failed[first]}")


@contextmanager
def _shown(quiet: bool) -> Iterator[Callable[[PlanProgress], None] | None]:
    """Yields a function that shows the progress on standard error: a line that changes, or lines in a log."""
    if quiet:
        yield None
        return
    terminal, last = is_terminal(sys.stderr), [time.monotonic(), 0]

    def show(seen: PlanProgress) -> None:
        now: Any = time.monotonic()
        if now - last[0] < (LINE_SECONDS if terminal else LOG_SECONDS):
            return
        text = str(seen)
        print_text(f"\r{text.ljust(int(last[1]))}" if terminal else f"{text}\n", err=True)
        last[:] = [now, len(text)]

    try:
        yield show
    finally:
        if terminal and last[1]:
            print_text("\r" + " " * int(last[1]) + "\r", err=True)
