"""`polhode ensemble`: a job array, processes, and what may be wrong with a job."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import polhode as ph
from polhode.cli import app
from polhode.cluster import decide
from polhode.scenario import load_scenario

JOB = """
[body]
moments = [1.0, 2.0, 2.7]
[torque]
model = "HeavyTop"
weight = 1.0
[initial]
omega = [0.1, 0.2, 2.0]
[run]
t_span = [0.0, 1.0]
step = 0.05
method = "MR2"
t_eval = [0.0, 0.33, 0.7, 1.0]
[ensemble]
count = 3000
seed = 5
omega = {kind = "Normal", sd = 0.4}
attitude = {kind = "Attitude"}
reduce.rate = "omega.mean(body)"
reduce.lean = "pointing_angle_deg(z, [0, 0, 1]).histogram([0, 30, 60, 90, 180], body)"
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(decide, "_seconds_a_body", lambda engine, count: 1e-3)  # parts are as long on every machine
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


def run(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["ensemble", "job.toml", *arguments])
    return found.exit_code, found.output


def in_parts(job: Path, store: str) -> ph.EnsemblePlan:
    """Plans the job with small parts: `polhode ensemble` takes up what is there."""
    scenario = load_scenario(job)
    return ph.plan_ensemble(**scenario._of_many(), store=store, part_bodies=1024)


def test_jobs_of_an_array_share_a_store(job: Path) -> None:
    """As `sbatch --array=1-4` does: each job is a command with its number in the environment, in any order."""
    in_parts(job, "job.zarr")
    for number in (3, 1, 4):
        assert run("--part", f"{number}/4")[0] == 0
    assert "2 of 3 parts, 1,976 of 3,000 bodies" in run("--status")[1]
    code, said = run("--part", "2/4")
    assert code == 0
    assert "job.zarr: 3,000 bodies, sha256" in said
    found = ph.load("job.zarr")
    assert found["lean"].values[:, 0].sum() == 3000
    assert run("--store", "other.zarr")[0] == 0  # in one part
    assert (ph.load("other.zarr")["rate"].values == found["rate"].values).all()


def test_plan_status_and_verify(job: Path) -> None:
    assert "job.zarr has no plan yet: polhode ensemble job.toml --plan" in run("--status")[1]
    code, said = run("--plan")
    assert code == 0
    assert "3,000 in 1 part" in said
    assert "0 of 1 parts, 0 of 3,000 bodies" in run("--status")[1]
    assert run("-q") == (0, "")
    (Path("job.zarr") / "polhode" / "partial" / "0000" / "000000.npz").write_bytes(b"damaged")
    code, said = run("--verify")
    assert code == 0
    assert "1 damaged parts will be run again" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--part", "0/4"], "the jobs are numbered from 1 to 4"),
        (["--part", "5/4"], "--part 5/4: the jobs are numbered from 1 to 4"),
        (["--part", "3"], "--part must be like 3/100"),
        (["--part", "1/2", "--workers", "2"], "give one of --part, --workers and --dask"),
        (["--dask", "none.json"], "`dask scheduler --scheduler-file none.json` writes it"),
    ],
)
def test_bad_arguments(job: Path, arguments: list[str], message: str) -> None:
    code, said = run(*arguments)
    assert code == 2
    assert message in said


def test_bad_jobs(job: Path) -> None:
    assert run("--plan")[0] == 0
    job.write_text(JOB.replace("seed = 5", "seed = 6"))
    code, said = run()
    assert code == 2
    assert "job.zarr belongs to another plan: seed is 5 there and 6 here" in said
    job.write_text(JOB[: JOB.index("[ensemble]")])
    assert "has no [ensemble] table: run it with polhode run" in run()[1]


@pytest.mark.evidence
def test_job_array_by_processes_that_start_at_once(job: Path) -> None:
    """What SLURM does: all jobs at the same time, none of which finds a plan; the first to write one wins."""
    command = [str(Path(sys.executable).with_name("polhode")), "ensemble", "job.toml", "--part"]
    jobs = [
        subprocess.Popen(["/bin/sh", "-c", f"exec {' '.join(command)} $SLURM_ARRAY_TASK_ID/3"], env=environment)
        for environment in ({**os.environ, "SLURM_ARRAY_TASK_ID": str(k)} for k in (1, 2, 3))
    ]
    assert [one.wait(timeout=600) for one in jobs] == [0, 0, 0]
    assert ph.load("job.zarr").attrs["finished"]
