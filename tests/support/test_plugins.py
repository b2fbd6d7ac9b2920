"""Methods and torques of other packages: the example package, and packages that cannot be used.

A package is installed as an installer would do it, by its files and a `.dist-info`, in a folder of the test.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from polhode import methods, torques
from polhode.methods import Method
from polhode.support import plugins

EXAMPLE = Path(__file__).parents[1] / "plugin_package"
SCENARIO = """
[body]
moments = [2.0, 3.0, 4.0]
[initial]
omega = [0.3, 1.0, 0.2]
[torque]
model = "spring"
stiffness = 0.5
[run]
t_span = [0.0, 1.0]
step = 0.05
method = "mclachlan4"
"""


def install(folder: Path, name: str, points: Mapping[str, Mapping[str, str]], **modules: str) -> None:
    about = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    groups = (f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in named.items()) for group, named in points.items())
    (about / "entry_points.txt").write_text("\n".join(groups))
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A folder in which the example package is installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    install(folder, project["name"], project["entry-points"])
    shutil.copy(EXAMPLE / "polhode_example.py", folder)
    return folder


def run(folder: Path, *arguments: str, code: str = "") -> tuple[int, str, str]:
    """What a new process prints that finds the packages in the folder."""
    command = [sys.executable, "-c", code or "from polhode.cli import main; main()", *arguments]
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[2] / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1", "COLUMNS": "150"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    return done.returncode, done.stdout, done.stderr


# --- a package that works ------------------------------------------------------------------------------------------


def test_the_shell_lists_them_with_their_package(example: Path) -> None:
    code, out, err = run(example, "methods", "--all")
    assert (code, err) == (0, "")
    head, _, below = out.partition("From the package polhode-example 1.2\n")
    assert "\nMR2 " in head
    assert below.split()[:2] == ["McLachlan4", "4/4"]
    assert "From the package polhode-example 1.2\nMcLachlan4\n" in run(example, "methods")[1]
    assert "McLachlan4" not in head
    assert "\nMR2 " not in below, "what a package imports from polhode is not its own"

    code, out, err = run(example, "torques")
    assert (code, err) == (0, "")
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["Spring"])
    assert line.split() == ["Spring", "stiffness", "attitude", "no", "polhode-example", "1.2"]
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["HeavyTop"])
    assert line.split()[-1] == "yes"


def test_cards_name_the_package(example: Path) -> None:
    code, out, err = run(example, "methods", "McLachlan4")
    assert (code, err) == (0, "")
    assert "Five steps of MR2 with McLachlan's fractions." in out
    assert "From the package polhode-example 1.2" in out
    code, out, err = run(example, "torques", "Spring")
    assert (code, err) == (0, "")
    assert "package     polhode-example 1.2\n" in out
    assert "    Torque per unit of the quaternion's vector part, in N m." in out


def test_scenarios_and_files_know_them(example: Path) -> None:
    (example / "spring.toml").write_text(SCENARIO)
    code, _, err = run(example, "run", "spring.toml")
    assert (code, err) == (0, "")
    code, out, err = run(example, "show", "spring.nc")
    assert (code, err) == (0, "")
    assert "Spring(stiffness=0.5)" in out
    assert "McLachlan4" in out


def test_simulate_knows_the_method(example: Path) -> None:
    code = """
import pickle
import polhode as ph
from polhode import methods, torques
assert "McLachlan4" in methods.catalogue() and methods.package("McLachlan4") == "polhode-example 1.2"
assert methods.package("MR2") is None and torques.package("HeavyTop") is None
assert torques.find("spring") is torques.catalogue()["Spring"]
method = methods.find("McLachlan4")
assert pickle.loads(pickle.dumps(method)) is method
run = dict(omega=[0.3, 1, 0.2], t_span=(0, 1))
exact = ph.simulate(ph.Body([2, 3, 4]), method="Exact", step=1.0, **run).momentum[-1]
errors = [abs(ph.simulate(ph.Body([2, 3, 4]), method="McLachlan4", step=h, **run).momentum[-1] - exact).max()
          for h in (0.25, 0.125)]
print(errors[0] / errors[1])
"""
    status, out, err = run(example, code=code)
    assert (status, err) == (0, "")
    assert 12 < float(out) < 20  # 2**4: the order that the card states


def test_other_packages_are_not_looked_for_without_need(example: Path) -> None:
    (example / "polhode_example.py").write_text("raise RuntimeError('imported')")
    code = """
import polhode as ph
from polhode import methods, torques
top = ph.simulate(ph.Body([2, 3, 4]), ph.HeavyTop(1), omega=[0, 0, 9], t_span=(0, 1), step=0.1, method="mr2")
top.save("top.nc")
assert ph.load("top.nc").torque == ph.HeavyTop(1)
assert torques.find("heavytop") is ph.HeavyTop
assert methods._added.cache_info().misses == torques._added.cache_info().misses == 0
"""
    assert run(example, code=code) == (0, "", "")


# --- packages that cannot be used ----------------------------------------------------------------------------------


def test_a_broken_package_costs_one_warning(tmp_path: Path) -> None:
    broken = {"polhode.methods": {"all": "broken"}, "polhode.torques": {"all": "broken:Gone"}}
    install(tmp_path, "broken-thing", broken, broken="import a_module_that_nobody_has")
    code, out, err = run(tmp_path, "methods", "--all")
    assert code == 0
    assert "MR2 " in out
    assert err.count("polhode: ") == 1
    assert "without the methods of the package broken-thing 1.2" in err
    assert "No module named 'a_module_that_nobody_has'" in err
    assert "uninstall" in err
    assert run(tmp_path, "torques", "HeavyTop")[::2] == (0, "")


METHOD = "from polhode.methods.axes import MR2\nfrom dataclasses import replace\n"


@pytest.mark.parametrize(
    ("group", "source", "why"),
    [
        ("methods", "x = 1", "TypeError: expected a polhode.methods.Method, or a module that has some, not <module"),
        ("methods", METHOD + "odd = replace(MR2, name='two words')", "digits, _ and - only, unlike 'two words'"),
        ("methods", "raise SystemExit('no licence')", "SystemExit: no licence"),
        (
            "torques",
            "from polhode import HeavyTop",
            "expected a class derived from polhode.torques.Torque, or a module",
        ),
        (
            "torques",
            "from polhode.torques import Torque\nclass Odd(Torque):\n    torque_kernel = None",
            "a torque model is a frozen dataclass, unlike Odd",
        ),
    ],
)
def test_something_else_is_refused(
    group: str, source: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"polhode_odd_{abs(hash((group, source)))}"
    install(tmp_path, "odd", {f"polhode.{group}": {"odd": name}}, **{name: source})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(UserWarning, match="of the package odd 1.2, because its entry point odd") as told:
        assert added(group) == ({}, {})
    assert len(told) == 1
    assert why in str(told[0].message)


def added(group: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What the packages of this moment add, whatever was found before."""
    if group == "methods":
        return plugins.additions("polhode.methods", methods._own(), methods._methods_in)
    return plugins.additions("polhode.torques", torques._own(), torques._models_in)


def test_a_name_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its case: names are found in any."""
    source = METHOD + "one = replace(MR2, name='Mr2')\ntwo = replace(MR2, name='fresh')\n"
    install(tmp_path, "aaa", {"polhode.methods": {"x": "polhode_aaa", "again": "polhode_aaa:two"}}, polhode_aaa=source)
    install(tmp_path, "bbb", {"polhode.methods": {"x": "polhode_bbb"}}, polhode_bbb=source.replace("'Mr2'", "'other'"))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(UserWarning, match="polhode ignores") as told:
        values, packages = added("methods")
    assert sorted(values) == ["fresh", "other"]
    assert all(isinstance(value, Method) for value in values.values())
    assert packages == {"fresh": "aaa 1.2", "other": "bbb 1.2"}
    messages = [str(warning.message).partition(", and")[0] for warning in told]
    assert messages == [
        "polhode ignores Mr2 of the package aaa 1.2: polhode already has one of that name",
        "polhode ignores fresh of the package bbb 1.2: the package aaa 1.2 already has one of that name",
    ]
