"""Events and formats in scenario files, and on the command line."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polhode as ph
from polhode.scenario import ScenarioError, check_scenario, load_scenario

Call = Callable[..., tuple[int, str, str]]

SPIN = """
[body]
moments = [1.0, 1.0, 1.0]
[initial]
omega = [0.0, 0.5, 0.0]
[run]
t_span = [0.0, 10.0]
step = 0.1
method = "Exact"
every = 10
"""


def scenario(text: str, name: str = "spin.toml") -> Path:
    Path(name).write_text(SPIN + text, encoding="utf-8")
    return Path(name)


def times(text: str) -> list[list[float]]:
    return [e.t.tolist() for e in load_scenario(scenario(text)).simulate().events]


@pytest.mark.usefixtures("here", "plain")
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        # A sphere turns about y at half a radian a second, and its z axis with it.
        ('quantity = "pointing_angle_deg(z, [0, 0, 1])"\nvalue = 90\ndirection = 1', [math.pi]),
        ('quantity = "pointing_angle_deg(z, [0, 0, 1])"\nvalue = 90', [math.pi, 3 * math.pi]),
        ('quantity = "pointing_angle(z, [0, 0, 1])"\nvalue = 1.0', [2.0]),
        ('quantity = "euler_deg(ZYX)"\ncomponent = 2\nvalue = 30.0', [math.pi / 3, 5 * math.pi / 3]),
        ('quantity = "time"\nvalue = 3.25', [3.25]),
        ('quantity = "rate"\nvalue = 0.7', []),
        ('quantity = "omega"\ncomponent = "y"\nvalue = 0.6', []),
    ],
)
def test_a_quantity_passes_a_value(event: str, expected: list[float]) -> None:
    (found,) = times(f"[[event]]\n{event}")
    assert found == pytest.approx([t for t in expected if t < 10.0], abs=1e-12)


@pytest.mark.usefixtures("here", "plain")
def test_events_of_motion_agree_with_functions() -> None:
    path = scenario(
        '[[event]]\nquantity = "omega"\ncomponent = "x"\nvalue = 0.42\n'
        '[[event]]\nquantity = "spatial_omega"\ncomponent = "z"\nvalue = 0.2\ndirection = -1\nname = "sinking"\n'
        '[[event]]\nquantity = "rate"\nvalue = 0.75\n'
    )
    text = path.read_text().replace("[1.0, 1.0, 1.0]", "[1.0, 2.0, 2.5]").replace("[0.0, 0.5, 0.0]", "[0.4, 0.6, 0.2]")
    path.write_text(text)
    made = load_scenario(path)
    functions = [
        lambda t, q, w: w[0] - 0.42,
        ph.Event(lambda t, q, w: ph.to_space(q, w)[2] - 0.2, direction=-1),
        lambda t, q, w: math.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2) - 0.75,
    ]
    found, wanted = made.simulate().events, ph.simulate(**made.arguments(), events=functions).events
    assert [e.metadata["event"] for e in found] == ["omega_x = 0.42", "sinking", "rate = 0.75"]
    for a, b in zip(found, wanted, strict=True):
        assert a.t == pytest.approx(b.t, abs=1e-12)
    assert [e.t.size > 0 for e in found] == [True, True, True]


CARRYING = """
import polhode as ph

@ph.torque(state=["charge"])
def charging(t, q, w, p, z):
    return (0.0, 0.0, 0.0), (2.0,)

def late(t, q, w):
    return t - 4.5

def full(t, q, w, z):
    return z[0] - 3.0

ready = ph.Event(late, terminal=True)
"""


@pytest.mark.usefixtures("here", "plain")
def test_functions_and_carried_numbers() -> None:
    Path("mine.py").write_text(CARRYING)
    text = (
        '[torque]\nmodel = "mine.py:charging"\n[[event]]\nfunction = "mine.py:late"\n'
        '[[event]]\nfunction = "mine.py:full"\nname = "brimful"\n'
        '[[event]]\nquantity = "state(charge)"\nvalue = 9.5\nterminal = true\n'
    )
    path = scenario(text)
    path.write_text(path.read_text().replace('"Exact"', '"RK4"').replace("[initial]", "[initial]\nstate = [0.0]"))
    solution = load_scenario(path).simulate()
    assert [e.metadata["event"] for e in solution.events] == ["late", "brimful", "charge = 9.5"]
    assert [e.t.tolist() for e in solution.events] == [[pytest.approx(t)] for t in (4.5, 1.5, 4.75)]
    assert solution.t_last == pytest.approx(4.75)
    assert check_scenario(path).python_files == ["mine.py"]
    assert times('[event]\nfunction = "mine.py:ready"') == [[pytest.approx(4.5)]], "one event may be an [event]"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("value = 1.0", "event[0]: give exactly one of quantity, function; found none of them"),
        ('quantity = "rate"\nfunction = "a.py:g"', "found quantity and function"),
        ('function = "a.py:g"\nvalue = 2.0', "value goes with a quantity"),
        ('quantity = "rates"', "quantity must be one of time, rate, omega"),
        ('quantity = "rate"\ndirecton = 1', "event[0].directon: unknown key; did you mean 'direction'?"),
        ('quantity = "rate"\ndirection = 2', "event[0].direction: input should be -1, 0 or 1, not 2"),
        ('quantity = "rate"\ncomponent = "x"', "rate is one number: leave component out"),
        ('quantity = "omega"', "component of omega must be 'x', 'y' or 'z', not None"),
        ('quantity = "euler(ZYX)"\ncomponent = 1', "the others jump at 180 degrees"),
        ('quantity = "mrp"', "mrp jumps at 180 degrees"),
        ('quantity = "pointing_angle_deg(z)"', "must be written like"),
        ('quantity = "state(charge)"', "the torque does not carry 'charge'; it carries nothing"),
        ('function = "gone.py:g"', "event[0].function: there is no file gone.py"),
        ('function = "../a.py:g"', "event[0].function"),
        ('quantity = "rate"\nname = ""', "name must be a name that can be printed"),
    ],
)
def test_bad_events_are_explained(event: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(scenario(f"[[event]]\n{event}"))
    assert words in str(caught.value)


@pytest.mark.usefixtures("here")
def test_functions_that_are_not_there_are_named() -> None:
    Path("mine.py").write_text("level = 3.0\n")
    for function, words in [("up", "mine.py has no up"), ("level", "an event is a function g(t, q, w), not 3.0")]:
        with pytest.raises(ScenarioError) as caught:
            load_scenario(scenario(f'[[event]]\nfunction = "mine.py:{function}"'))
        assert f"event[0].function: {words}" in str(caught.value)


@pytest.mark.usefixtures("here", "plain")
def test_ensembles_have_events() -> None:
    path = scenario(
        '[[event]]\nquantity = "time"\nvalue = 2.5\nterminal = true\n'
        '[ensemble]\ncount = 3\nseed = 1\nomega = {kind = "Normal", sd = 0.1}\n'
    )
    many: Any = load_scenario(path).ensemble()
    assert many.t_last == pytest.approx([2.5] * 3)


# --- formats --------------------------------------------------------------------------------------------------------


def test_a_scenario_names_its_formats(call: Call) -> None:
    scenario('[output]\nfile = "out/spin.nc"\nformats = ["csv"]\nquantities = ["euler_deg(ZYX)"]\n')
    code, out, err = call("run", "spin.toml")
    assert (code, err) == (0, "")
    assert "out/spin.nc and out/spin.csv" in out
    table, saved = pd.read_csv("out/spin.csv"), ph.load("out/spin.nc")
    assert np.allclose(table["euler_deg(ZYX)_2"], saved.euler("ZYX", degrees=True)[:, 1], atol=1e-12)
    code, _, err = call("run", "spin.toml")
    assert code == 2
    assert "out/spin.csv exists already" in err


def test_a_table_alone(call: Call) -> None:
    scenario('[output]\nfile = "spin.csv"\n')
    assert call("run", "spin.toml")[0] == 0
    assert sorted(p.name for p in Path().iterdir()) == ["spin.csv", "spin.toml"]


def test_save_by_ending(call: Call) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs the extra `tables`")
    scenario("")
    code, out, _ = call("run", "spin.toml", "--save", "x.csv", "--save", "parquet")
    assert code == 0
    assert "spin.nc and spin.parquet and x.csv" in out
    assert len(pd.read_parquet("spin.parquet")) == len(pd.read_csv("x.csv")) == 11
    assert call("run", "spin.toml", "--out", "y.parquet")[0] == 0
    assert not Path("y.nc").exists()
    code, out, _ = call("show", "spin.nc", "--save", "again.csv", "--quantity", "mrp")
    assert code == 0
    assert "mrp_z" in pd.read_csv("again.csv")
    code, _, err = call("show", "spin.nc", "--save", "again.csv")
    assert (code, "again.csv exists already" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["spin.toml", "--save", "x.txt"], "x.txt must end in .nc (NetCDF), .csv or .parquet"),
        (["spin.toml", "two.toml", "--save", "x.csv"], "give the ending alone, as in --save csv"),
        (["spin.toml", "two.toml", "--out", "x.csv"], "--out x.csv is one file, but there are 2 scenarios"),
        (["reduced.toml", "--save", "csv"], "reduced.csv would be a table of motions, but reductions keep none"),
    ],
)
def test_bad_names_are_refused_before_the_run(call: Call, arguments: list[str], words: str) -> None:
    scenario("")
    scenario("", "two.toml")
    drawn = '[ensemble]\ncount = 3\nseed = 1\nomega = {kind = "Normal", sd = 0.1}\n'
    scenario(f'{drawn}reduce.rate = "omega.mean(body)"\n', "reduced.toml")
    code, _, err = call("run", *arguments)
    assert code == 2
    assert words in err
    assert sorted(p.suffix for p in Path().iterdir()) == [".toml"] * 3


def test_tables_of_ensembles(call: Call) -> None:
    scenario('[ensemble]\ncount = 3\nseed = 1\nomega = {kind = "Normal", sd = 0.1}\n')
    assert call("run", "spin.toml", "--save", "csv")[0] == 0
    assert len(pd.read_csv("spin-bodies.csv")) == 3
    assert len(pd.read_csv("spin.csv")) == 33
    code, out, _ = call("show", "spin.nc", "--save", "other.csv", "--quantity", "mrp")
    assert code == 0
    assert "polhode.load('spin.nc')" in out
    assert "mrp_x" in pd.read_csv("other.csv")
    Path("spin-bodies.csv").unlink()
    Path("other-bodies.csv").rename("spin-bodies.csv")
    Path("spin.csv").unlink()
    Path("spin.nc").unlink()
    code, _, err = call("run", "spin.toml", "--save", "csv")
    assert (code, "spin-bodies.csv exists already" in err) == (2, True)


def test_formats_are_checked(call: Call) -> None:
    for output, words in [('formats = ["xls"]', "formats are nc, csv, parquet, not 'xls'"), ("formats = 3", "list")]:
        scenario(f"[output]\n{output}\n")
        code, _, err = call("run", "spin.toml")
        assert (code, words in err) == (2, True)
