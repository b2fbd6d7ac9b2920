"""Without the optional packages everything else works, and what needs one says how to install it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from polhode.support.extras import EXTRA_OF, MissingExtra, missing, needed

ROOT = Path(__file__).parents[1]
WITHOUT = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRA_OF)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
import polhode as ph
"""
"""Makes the optional packages vanish from a fresh interpreter."""

MOTION = """
motion = ph.FreeMotion(ph.Body([1, 2, 2.8]), omega=[0.005, 5, 0])
top = ph.simulate(ph.Body([5, 5, 1]), ph.HeavyTop(weight=20), omega=[0.1, 0, 50], t_span=(0, 0.1), rtol=1e-12)
"""


def run(code: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_works_alone(tmp_path: Path) -> None:
    code = """
top.save("top.nc"); top.to_csv("top.csv")
print(ph.load("top.nc").success, ph.check("top.csv", body=top.body, torque=top.torque).agrees)
columns = {"time": top.t, "note": ["a word"] * len(top.t)}
columns |= {f"omega_{c}": top.omega[:, k] for k, c in enumerate("xyz")}
columns |= {f"q{c}": top.quaternion[:, k] for k, c in enumerate("wxyz")}
print(ph.check(columns, body=top.body, torque=top.torque).agrees)
print(len(ph.ensemble(top.body, top.torque, omega=top.omega[:4], t_span=(0, 0.1), step=1e-2, method="MR2")))
print(motion.at(3.2e9).omega.shape)
"""
    printed = run(MOTION + code, tmp_path)
    assert printed.splitlines()[:3] == ["True True", "True", "4"]


CALLS = {
    "top.plot()": "plot",
    "motion.plot()": "plot",
    "ph.plot(top, motion)": "plot",
    "motion.animate('flip.gif')": "plot",
    "ph.check(top, body=top.body, torque=top.torque).report('page.html')": "plot",
    "top.to_xarray()": "data",
    "top.to_dataframe()": "data",
    "top.to_parquet('top.parquet')": "tables",
    "motion.at(1.0, proven=True)": "proof",
    "top.to_ck('top.bc', spacecraft_id=-99, epoch='2026-01-01T00:00:00Z')": "spice",
    "__import__('polhode.scenario')": "cli",
    "__import__('polhode.__main__').__main__.main()": "cli",
}


def test_each_missing_package_is_named(tmp_path: Path) -> None:
    code = "".join(
        f"\ntry:\n    {call}\n    print('no error')\nexcept (ImportError, SystemExit) as problem:\n    print(problem)"
        for call in CALLS
    )
    printed = run(MOTION + code, tmp_path).splitlines()
    for (call, extra), line in zip(CALLS.items(), printed, strict=True):
        assert line.endswith(f"which is not installed: pip install 'polhode[{extra}]'"), (call, line)


def test_the_extras_install_what_they_say() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    called = {"flint": "python-flint", "pydantic_core": "pydantic", "mpl_toolkits": "matplotlib"}
    for package, extra in EXTRA_OF.items():
        names = {re.split(r"[\[<>=]", requirement)[0] for requirement in extras[extra]}
        assert called.get(package, package) in names, (package, extra)


def test_errors_of_other_packages_are_left_alone() -> None:
    other = ModuleNotFoundError("No module named 'mine'", name="mine")
    assert missing(other, "this needs") is other
    with pytest.raises(ModuleNotFoundError, match="no_such_package") as caught:
        needed("no_such_package", "this needs")
    assert not isinstance(caught.value, MissingExtra)


BARE = """
import sys
from importlib.machinery import PathFinder
class Bare:
    def __init__(self, path):
        self.path = path
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        with open(self.path, encoding="utf-8") as file:
            exec(compile(file.read(), self.path, "exec"), vars(module))
class Finder:
    def find_spec(self, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path)
        if spec is not None and name.partition(".")[0] == "polhode":
            spec.loader = Bare(spec.origin)
        return spec
sys.meta_path.insert(0, Finder())
import polhode as ph
print(ph.Body([1, 2, 2.8]).moments)
"""
"""Loads polhode as pytest loads an installed one, whose plug-in it knows: by a loader that tells no source."""


def test_it_is_loaded_by_pytest(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()[-1]) == (0, "2.8]"), done.stderr
