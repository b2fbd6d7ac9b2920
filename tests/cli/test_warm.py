"""`polhode warm`: what it compiles is found by later processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polhode.cli._first_programs import run_task, tasks
from polhode.cli._terminal import FAILED
from tests.cli.test_cli import POLHODE

FIRST_HOUR = """
import polhode as ph
from polhode.compiler import programs as native

ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.005, 5, 0]).at(3.2e9)
top = dict(omega=[0.1, 0, 50], attitude=[0.96, 0.28, 0, 0], t_span=(0, 10))
for rtol in (1e-3, 1e-6, 1e-9, 1e-12):
    ph.simulate(ph.Body([5, 5, 1]), ph.HeavyTop(20), rtol=rtol, **top)
ph.simulate(ph.Body([5, 5, 1]), ph.HeavyTop(20), step=1e-3, method="MR2", **top)
print(native.compilations)
"""
"""What a newcomer types, with other numbers than those of the tasks."""

DEMO = """
import runpy, sys
from polhode.compiler import programs as native

sys.argv = ["demo.py", "demo"]
runpy.run_path({!r}, run_name="__main__")
print(native.compilations)
"""


def run(command: list[str], cache: Path) -> str:
    setting = {**os.environ, "POLHODE_CACHE_DIR": str(cache), "POLHODE_QUIET": "1"}
    return subprocess.run(command, env=setting, capture_output=True, text=True, check=True).stdout


def test_a_task_is_done_once_for_all_processes(tmp_path: Path) -> None:
    task = [
        sys.executable,
        "-c",
        "from polhode.cli._first_programs import run_task; print(run_task('free motion').programs)",
    ]
    assert int(run(task, tmp_path)) > 0
    assert int(run(task, tmp_path)) == 0


def test_tasks_run_here() -> None:
    name = "MR2 of a free body and of a top"
    assert name in tasks()
    run_task(name)
    assert run_task(name).programs == 0


def test_where_nothing_is_compiled_there_is_nothing_to_warm() -> None:
    done = subprocess.run(
        [*POLHODE, "warm"], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == FAILED
    assert done.stderr == "polhode: compiled programs are not kept, because NUMBA_DISABLE_JIT is set\n"


@pytest.mark.evidence
def test_the_first_hour_compiles_nothing(here: Path) -> None:
    first_hour = [sys.executable, "-c", FIRST_HOUR]
    assert "programs compiled in" in run([*POLHODE, "warm"], here)
    assert run([*POLHODE, "warm"], here).splitlines()[-1].startswith("0 programs compiled")
    assert run(first_hour, here) == "0\n"
    demo = [sys.executable, "-c", DEMO.format(str(Path(__file__).parents[2] / "examples" / "demo.py"))]
    assert run(demo, here).splitlines()[-1] == "0"
