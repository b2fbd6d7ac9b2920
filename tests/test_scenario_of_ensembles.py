"""Ensembles from scenario files and from the shell."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner
from xarray import open_dataset

import polhode as ph
from polhode.cli import app
from polhode.cli._terminal import BAD_INPUT, FAILED, INTERRUPTED
from polhode.scenario import ScenarioError, load_scenario
from tests.contract._measure import interpreted

NOMINAL = """
[body]
moments = [1.0, 2.0, 2.5]
[initial]
omega = [0.1, 0.2, 1.0]
rotation_vector = [0.3, 0.0, 0.0]
[torque]
model = "HeavyTop"
weight = 0.5
[run]
t_span = [0, 1]
step = 0.125
method = "MR2"
samples = 3
[ensemble]
count = 5
seed = 4
"""
DRAWN = """
omega = {kind = "Normal", sd = [0.1, 0.1, 0.2]}
attitude = {kind = "Attitude", sd = 0.05}
"""
KEPT = """
reduce.rate = "omega.mean(body)"
reduce.spread = "omega.quantile([0.1, 0.9], body)"
reduce.worst = "energy_error.max(time).quantile(0.99, body)"
reduce.final = "quaternion.last()"
reduce.low = "omega.quantile(1e-3, body)"
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    monkeypatch.chdir(tmp_path)

    def written(text: str) -> Path:
        path = tmp_path / "many.toml"
        path.write_text(text)
        return path

    return written


def expected(**more: Any) -> Any:
    turn = [np.cos(0.15), np.sin(0.15), 0.0, 0.0]
    return ph.ensemble(
        ph.Body([1.0, 2.0, 2.5]), ph.HeavyTop(0.5), omega=ph.samples.Normal([0.1, 0.2, 1.0], [0.1, 0.1, 0.2]),
        attitude=ph.samples.Attitude(turn, 0.05), count=5, seed=4, t_span=(0, 1), step=0.125, method="MR2",
        t_eval=[0.0, 0.5, 1.0], **more,
    )  # fmt: skip


def test_what_is_drawn_is_around_the_nominal_body(write: Callable[[str], Path]) -> None:
    with interpreted():
        many, wanted = load_scenario(write(NOMINAL + DRAWN)).ensemble(), expected()
    assert isinstance(many, ph.Ensemble)
    assert np.allclose(many.quaternion, wanted.quaternion, atol=1e-15)
    assert np.allclose(many.omega, wanted.omega, atol=1e-15)


def test_whole_tensors_are_drawn_about_that_of_the_body(write: Callable[[str], Path]) -> None:
    tensor = [[1.0, 0.1, 0.0], [0.1, 2.0, 0.0], [0.0, 0.0, 2.5]]
    text = NOMINAL.replace("moments = [1.0, 2.0, 2.5]", f"tensor = {tensor}")
    drawn = 'moments = {kind = "Inertia", moments = [0.02, 0.02, 0.05], axes = 0.01}'
    many = load_scenario(write(text + drawn)).ensemble()
    near = ph.samples.Inertia(ph.Body(tensor), moments=[0.02, 0.02, 0.05], axes=0.01)
    alike = ph.ensemble(
        near, ph.HeavyTop(0.5), omega=[0.1, 0.2, 1.0], attitude=[np.cos(0.15), np.sin(0.15), 0.0, 0.0], count=5, seed=4,
        t_span=(0, 1), step=0.125, method="MR2", t_eval=[0.0, 0.5, 1.0],
    )  # fmt: skip
    assert isinstance(many, ph.Ensemble)
    assert np.allclose(many.omega, alike.omega, atol=1e-14)
    with pytest.raises(ScenarioError, match=r"give body\.moments instead of body\.tensor, or kind = 'Inertia'"):
        load_scenario(write(text + 'moments = {kind = "Normal", sd = 0.1}'))


def test_reductions_are_written_as_in_python(write: Callable[[str], Path]) -> None:
    q = ph.quantity
    reduce = {
        "rate": q("omega").mean("body"),
        "spread": q("omega").quantile([0.1, 0.9], "body"),
        "worst": q("energy_error").max("time").quantile(0.99, "body"),
        "final": q("quaternion").last(),
        "low": q("omega").quantile(1e-3, "body"),
    }
    with interpreted():
        many, wanted = load_scenario(write(NOMINAL + DRAWN + KEPT)).ensemble(), expected(reduce=reduce)
    assert isinstance(many, ph.Reduced)
    for name in reduce:
        assert np.allclose(many[name], wanted[name], atol=1e-14), name


def test_from_the_shell(write: Callable[[str], Path]) -> None:
    path = write(NOMINAL + DRAWN + KEPT)
    with interpreted():
        done = CliRunner().invoke(app, ["run", str(path), "--plot"])
    assert done.exit_code == 0, done.stderr
    assert "5 bodies" in done.stdout
    assert "failed" not in done.stdout
    assert Path("many.png").read_bytes().startswith(b"\x89PNG")
    with open_dataset("many.nc") as table:
        assert table["rate"].dims == ("time", "component")
        assert table.attrs["bodies"] == 5
    shown = CliRunner().invoke(app, ["show", "many.nc"])
    assert shown.exit_code == 0, shown.stderr
    assert re.search(r"ensemble +5 bodies, 0 failed\n", shown.stdout)
    assert re.search(r"method +MR2, step 0.125 s\n", shown.stdout)
    assert re.search(r"rate +rad s-1 +3 time x 3 component", shown.stdout)
    again = CliRunner().invoke(app, ["show", "many.nc", "--plot", "--force"])
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "plotted as many.png")


def test_failures_are_part_of_the_result(write: Callable[[str], Path]) -> None:
    free = NOMINAL.replace('[torque]\nmodel = "HeavyTop"\nweight = 0.5', "").replace('"MR2"', '"DMV2"')
    some, all_of_them = (
        f'omega = {{kind = "Isotropic", length = [{least}, 30.0]}}' for least in (0.1, 25.0)
    )  # fmt: skip
    codes = []
    for text in (free + some, free + all_of_them):
        with interpreted():
            done = CliRunner().invoke(app, ["run", str(write(text)), "--force"])
        codes.append(done.exit_code)
        assert "of 5 bodies failed; number" in done.stderr
        assert "DMV2 could not solve its step equation" in done.stderr
    assert codes == [0, FAILED]


@pytest.mark.parametrize("begun", [True, False])
def test_ctrl_c_saves_what_was_computed(
    begun: bool, write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    with interpreted():
        path = write(NOMINAL + DRAWN)
        made = load_scenario(path).ensemble()
        if not begun:
            made = replace(made, stats=replace(made.stats, steps=0))

        def interrupted(*_: Any, **__: Any) -> Any:
            raise ph.EnsembleInterrupted(made)

        monkeypatch.setattr("polhode.api.ensemble.ensemble", interrupted)
        done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == INTERRUPTED
    assert ("what was computed is in many.nc" if begun else "nothing was saved") in done.stderr
    assert Path("many.nc").exists() == begun


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ensemble: all bodies would be the same"),
        ('omega = {kind = "Norml", sd = 1}', "ensemble.omega.kind: there is no distribution 'Norml': did you mean"),
        ('omega = {kind = "Normal", sd = -1}', "ensemble.omega: sd must not be negative"),
        ('omega = {kind = "Normal", sdd = 1}', "ensemble.omega.sdd: unknown key; did you mean 'sd'?"),
        ('omega = {sd = 1}', "ensemble.omega.kind: missing"),
        ('omega = {kind = "Uniform", low = 1}', "ensemble.omega.high: missing"),
        ('omga = {kind = "Normal", sd = 1}', "ensemble.omga: unknown key; did you mean 'omega'?"),
        ('parameters = {kind = "Normal", sd = 1}', "only a torque function of your own has parameters, not HeavyTop"),
        (DRAWN + 'reduce.x = "omga.mean(body)"', "ensemble.reduce.x: there is no quantity 'omga'"),
        (DRAWN + 'reduce.x = "omega.average(body)"', "ensemble.reduce.x: 'average(body)' in"),
        (DRAWN + 'reduce.x = "omega.mean(bodies)"', "ensemble.reduce.x: dim must be 'time' or 'body'"),
        (DRAWN + 'reduce.x = "omega.mean()"', "ensemble.reduce.x: 'mean()' in"),
        (DRAWN + 'reduce.x = "omega.quantile([0.1, body)"', "must be like 'mean(body)'"),
        (DRAWN + "reduce.x = 3", "ensemble.reduce.x: must be text in quotes"),
        (DRAWN.replace("\nomega", "\ncount = 100_000_000\nomega"), "100000000 bodies with 3 rows each take 8.94 GiB"),
    ],
)  # fmt: skip
def test_bad_files_are_explained(write: Callable[[str], Path], text: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(NOMINAL.replace("count = 5\n", "") + text if "count" in text else NOMINAL + text))
    assert words in str(caught.value)


def test_what_cannot_be_reduced_is_told(write: Callable[[str], Path]) -> None:
    text = NOMINAL.replace('model = "HeavyTop"\nweight = 0.5', 'model = "ConstantBodyTorque"\nvector = [1, 0, 0]')
    done = CliRunner().invoke(app, ["run", str(write(text + DRAWN + 'reduce.x = "energy_error.max(time)"'))])
    assert done.exit_code == BAD_INPUT
    assert "does not conserve the energy" in done.stderr
