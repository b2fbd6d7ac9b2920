"""The worked examples of CONTRIBUTING.md work."""

import linecache
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.make_tree import PACKAGE, PLACE, first_sentence, tree
from docs.make_walks import WALKS, Node, picture, place, trace

import polhode as ph

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def module(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The source as a module, as if it had been saved."""
    made = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)
    monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(keepends=True), name))
    exec(compile(source, name, "exec"), made.__dict__)
    return made


def test_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    method = module("polhode.methods.mr2_reversed", BLOCKS[0], monkeypatch).MR2r
    run: dict[str, Any] = {"omega": [1, 2, 3], "t_span": (0, 10), "step": 0.05}
    one = ph.simulate(ph.Body([2, 3, 4]), method=method, **run)
    other = ph.simulate(ph.Body([2, 3, 4]), method="MR2", **run)
    assert one.method == "MR2r"
    assert one.momentum_error.max() < 1e-13
    assert 1e-6 < np.abs(one.momentum - other.momentum).max() < 0.5  # another method of the same order


def test_the_method_that_is_no_splitting(monkeypatch: pytest.MonkeyPatch) -> None:
    method = module("polhode.methods.group_midpoint", BLOCKS[1], monkeypatch).RKMK2
    body = ph.Body([2, 3, 4], rotor=[0.1, 0.2, 0.3])
    run: dict[str, Any] = {"omega": [1, 2, 3], "t_span": (0, 1)}
    free = ph.simulate(body, method=method, step=0.01, **run)
    assert np.ptp(free.spatial_momentum, axis=0).max() < 1e-12
    true = ph.simulate(body, ph.HeavyTop(weight=3), rtol=1e-12, **run)
    coarse, fine = (ph.simulate(body, ph.HeavyTop(weight=3), method=method, step=h, **run) for h in (0.01, 0.005))
    errors = [np.abs(s.omega[-1] - true.omega[-1]).max() for s in (coarse, fine)]
    assert 3.7 < errors[0] / errors[1] < 4.3  # of order 2


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("command", ["check", "format --check --line-length=88", "format --check"])
def test_a_block_passes_the_linter(block: str, command: str) -> None:
    ruff = [str(Path(sys.executable).with_name("ruff")), *command.split()]
    name = ["--stdin-filename", "src/polhode/methods/block.py", "-"]
    done = subprocess.run(ruff + name, input=block, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_torque(monkeypatch: pytest.MonkeyPatch) -> None:
    dipole = module("polhode.torques.electric_dipole", BLOCKS[2], monkeypatch).ElectricDipole
    run: dict[str, Any] = {"omega": [1, 2, 3], "t_span": (0, 5), "step": 0.01, "method": "MR2"}
    magnet = ph.simulate(ph.Body([2, 3, 4]), dipole(moment=(0, 0, 2), field=(0, 0, -1.5)), **run)
    top = ph.simulate(ph.Body([2, 3, 4]), ph.HeavyTop(weight=3), **run)
    np.testing.assert_allclose(magnet.momentum, top.momentum, atol=1e-12)  # the same mathematics
    assert magnet.energy_error.max() < 1e-3
    assert magnet.momentum_error.max() < 1e-13


def test_the_file_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = module("polhode.files.csv_rows", BLOCKS[3], monkeypatch).write_csv
    body, file = ph.Body([2, 3, 4]), tmp_path / "motion.csv"
    run = ph.simulate(body, omega=[1, 2, 3], t_span=(0, 5), t_eval=np.linspace(0, 5, 60), rtol=1e-12)
    write(file, run)
    rows = np.loadtxt(file, delimiter=",", skiprows=1)
    assert (rows == np.column_stack([run.t, run.quaternion, run.omega])).all()
    with pytest.raises(FileExistsError):
        write(file, run)
    assert ph.check(file, body=body).agrees


def test_the_package() -> None:
    """What the page shows of a package is in the example, value for value; tests/support/test_plugins.py installs
    it.
    """
    shown = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(shown) == 1
    example = tomllib.loads((ROOT / "tests" / "plugin_package" / "pyproject.toml").read_text("utf-8"))
    assert tomllib.loads(shown[0])["project"] == example["project"]


def test_every_block_is_tested() -> None:
    assert len(BLOCKS) == 4


def test_the_tree_is_that_of_the_package() -> None:
    shown = PLACE.search(PAGE)
    assert shown is not None
    assert shown.group() == tree(), "run python -m docs.make_tree"
    assert all(first_sentence(file) for file in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("name", WALKS)
def test_the_pictures_are_those_of_a_trace(name: str) -> None:
    shown = place(name).search(PAGE)
    assert shown is not None
    assert shown.group() == picture(name), "run python -m docs.make_walks"


def test_a_short_motion_passes_few_files() -> None:
    def count(nodes: list[Node]) -> int:
        return sum(1 + count(below) for _, below in nodes)

    assert 10 < count(trace("rtol")) <= 15 < count(trace("search"))


def test_every_file_that_is_named_is_there() -> None:
    walks = PAGE[PAGE.index("## Four walks") : PAGE.index("## Rules of the tree")]
    named = set(re.findall(r"`([\w/]+\.py)`", walks))
    assert len(named) > 20
    for name in named:
        assert list(PACKAGE.rglob(name)), name
