"""The lists of methods and torques in Python."""

import importlib
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

import polhode as ph
from polhode import cli
from polhode.methods import START_HERE
from polhode.methods import catalogue as all_methods
from polhode.torques import catalogue as all_torques

methods: Any = ph.methods
torques: Any = ph.torques


def shell(*arguments: str) -> str:
    return CliRunner().invoke(cli.app, arguments).output


def test_methods_are_those_of_the_shell() -> None:
    start = methods()
    assert list(start) == [name for choices in START_HERE.values() for name in choices]
    assert list(methods(all=True)) == list(all_methods())
    assert json.loads(json.dumps(list(methods(all=True).values()))) == json.loads(shell("methods", "--json"))
    assert start["RK4"]["order"] == {"momentum": 4, "attitude": 4}
    assert {name for name, m in methods(all=True).items() if "rate" in m["accepts"]} >= {"RK4", "G8", "DOP853"}


def test_methods_print_as_tables_and_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    printed, typed = repr(methods()).splitlines(), shell("methods").splitlines()
    assert printed[:-2] == typed[: len(printed) - 2]
    assert printed[-1] == 'One in full: polhode.methods("NAME")'
    assert repr(methods(all=True)).splitlines()[:-1] == shell("methods", "--all").splitlines()[:-1]
    card = methods("mr2(axes=231)")
    assert card["name"] == "MR2(axes=231)"
    assert repr(card).startswith("MR2(axes=231): symplectic splitting")
    with pytest.raises(ValueError, match="there is no method 'MR9'"):
        methods("MR9")


def test_torques() -> None:
    listed = torques()
    assert list(listed) == list(all_torques())
    assert json.loads(json.dumps(list(listed.values()))) == json.loads(shell("torques", "--json"))
    assert listed["HeavyTop"]["required"] == ["weight"]
    assert listed["HeavyTop"]["parameters"]["down"] == (0.0, 0.0, -1.0)
    assert listed["LinearDamping"]["depends_on"] == ["rate"]
    assert listed["LinearDamping"]["potential"] is False
    for name in listed:
        assert name in repr(listed)
    assert repr(torques("heavytop")).strip() == shell("torques", "HeavyTop").strip()
    assert json.loads(shell("torques", "HeavyTop", "--json"))["name"] == "HeavyTop"


def test_notebooks_and_pickles() -> None:
    for listed in (methods(), methods(all=True), torques()):
        page = listed._repr_html_()
        assert page.count("<tr>") >= len(listed) + 1
        assert "<script" not in page
        again = pickle.loads(pickle.dumps(listed))
        assert again == listed
        assert repr(again) == repr(listed)
    assert methods("RK4")._repr_html_().startswith("<pre>RK4")


def test_the_packages_stay_packages() -> None:
    """What `polhode.methods` is must not depend on what was imported before."""
    import polhode.methods
    import polhode.torques

    assert polhode.methods is methods
    assert importlib.import_module("polhode.torques") is torques
    assert methods.find("RK4").name == "RK4"
    code = "import polhode, polhode.torques.no_torque; print(len(polhode.methods(all=True)))"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert fresh.strip() == str(len(all_methods()))
