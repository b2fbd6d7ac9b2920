"""The command line, called in this process where that is enough and as a process of its own where it is not."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import polhode
from polhode import methods, torques
from polhode.cli import app
from polhode.cli._terminal import BAD_INPUT, FAILED, INTERRUPTED, LINE_CHARACTERS
from polhode.files import netcdf
from polhode.scenario import load_scenario
from polhode.text.cards import families, method_card, torque_example
from polhode.text.terminal import clock

SHORT = """
title = "A spin"
[body]
moments = [1.0, 2.0, 2.5]
[initial]
omega = [0.1, 0.2, 0.3]
[run]
t_span = [0, 1]
step = 0.125
method = "MR2"
"""
LONG = SHORT.replace("[0, 1]", "[0, 1e6]").replace("0.125", "1e-3\nevery = 100000")
"""A billion steps: minutes."""

runner = CliRunner()


def written(name: str, text: str = SHORT) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


Call = Callable[..., tuple[int, str, str]]


# --- run -----------------------------------------------------------------------------------------------------------


def test_run_saves_what_simulate_computes(call: Call) -> None:
    code, out, err = call("run", written("spin.toml"))
    assert code == 0
    assert err in ("", "compiling MR2 with Free, once ...\n")
    header, row = out.splitlines()
    assert (
        " ".join(header.split()) == "scenario method steps time, s error estimate energy error momentum error saved as"
    )
    assert row.split()[:3] == ["spin", "MR2", "8"]
    assert row.endswith("  spin.nc")
    saved, expected = polhode.load("spin.nc"), load_scenario("spin.toml").simulate()
    np.testing.assert_array_equal(saved.quaternion, expected.quaternion)
    np.testing.assert_array_equal(saved.t, expected.t)
    assert saved.metadata["title"] == "A spin"
    shown = row.split()[4:7]
    assert shown == ["-", f"{expected.energy_error.max():.1e}", f"{expected.momentum_error.max():.1e}"]


def test_run_shows_a_dash_where_nothing_is_conserved(call: Call) -> None:
    text = SHORT + '[torque]\nmodel = "ConstantBodyTorque"\nvector = [0.0, 0.0, 1.0]'
    code, out, _ = call("run", written("spin.toml", text))
    assert code == 0
    assert out.splitlines()[1].split()[4:7] == ["-", "-", "-"]


def test_run_many_into_a_directory_with_plots(call: Call) -> None:
    one, two = written("one.toml"), written("two.toml", SHORT + '[output]\nfile = "deep/other.nc"\nplot = true')
    code, out, _ = call("run", one, two, "--out", "results/all")
    assert code == 0
    found = {str(p.relative_to("results/all")) for p in Path("results/all").rglob("*") if p.is_file()}
    assert found == {"one.nc", "deep/other.nc", "deep/other.png"}
    assert all(name in out for name in found)
    code, _, _ = call("run", one, "--plot")
    assert code == 0
    assert Path("one.png").read_bytes().startswith(b"\x89PNG")


def test_run_into_one_file(call: Call) -> None:
    code, _, _ = call("run", written("one.toml"), "--out", "new/named.nc")
    assert code == 0
    assert polhode.load("new/named.nc").success
    code, _, err = call("run", "one.toml", written("two.toml"), "--out", "named.nc")
    assert code == BAD_INPUT
    assert "--out named.nc is one file, but there are 2 scenarios: give a directory" in err


def test_quiet_is_quiet(call: Call) -> None:
    assert call("run", written("spin.toml"), "--quiet") == (0, "", "")


def test_existing_results_are_refused_before_anything_is_run(call: Call) -> None:
    one, two = written("one.toml"), written("two.toml")
    Path("two.nc").write_text("precious")
    code, out, err = call("run", one, two)
    assert (code, out) == (BAD_INPUT, "")
    assert "two.nc exists already: use --force to overwrite it" in err
    assert not Path("one.nc").exists()
    assert Path("two.nc").read_text() == "precious"
    assert call("run", one, two, "--force")[0] == 0
    assert polhode.load("two.nc").success


def test_existing_plots_are_refused_too(call: Call) -> None:
    Path("spin.png").write_text("precious")
    code, _, err = call("run", written("spin.toml"), "--plot")
    assert code == BAD_INPUT
    assert "spin.png exists already" in err
    assert not Path("spin.nc").exists()


def test_two_scenarios_never_share_a_result(call: Call) -> None:
    code, _, err = call("run", written("a/spin.toml"), written("b/spin.toml"))
    assert code == BAD_INPUT
    assert "a/spin.toml and b/spin.toml would both write spin.nc: give one of them another [output] file" in err


def test_unwritable_places_are_found_before_anything_is_run(call: Call) -> None:
    Path("file").write_text("")
    code, _, err = call("run", written("spin.toml"), "--out", "file/below")
    assert code == BAD_INPUT
    assert "cannot write file/below/spin.nc: Not a directory" in err
    if Path("/proc").is_dir():  # a directory in which not even root can make a file
        code, _, err = call("run", "spin.toml", "--out", "/proc")
        assert code == BAD_INPUT
        assert "cannot write /proc/spin.nc" in err
    Path("spin.nc").mkdir()
    code, _, err = call("run", "spin.toml", "--force")
    assert code == BAD_INPUT
    assert "spin.nc is a directory" in err


def test_bad_scenarios_are_told_together_and_nothing_is_run(call: Call) -> None:
    good, bad = written("good.toml"), written("bad.toml", SHORT.replace("step", "stepp"))
    code, out, err = call("run", good, bad, "missing.toml")
    assert (code, out) == (BAD_INPUT, "")
    assert err.splitlines() == [
        "polhode: bad.toml: run.stepp: unknown key; did you mean 'step'?",
        "polhode: missing.toml: there is no such file",
    ]
    assert not Path("good.nc").exists()


def test_a_torque_that_fails_at_the_start_is_told(call: Call) -> None:
    Path("mine.py").write_text("def f(t, q, w, p):\n    return (1.0 / t, 0.0, 0.0)\n")
    code, _, err = call("run", written("spin.toml", SHORT + '[torque]\nmodel = "mine.py:f"'))
    assert code == BAD_INPUT
    assert "polhode: spin.toml: the torque f raised ZeroDivisionError at t = 0" in err


def test_a_failed_run_is_saved_as_far_as_it_came(call: Call) -> None:
    text = SHORT.replace("[0, 1]", "[0, 100]").replace("MR2", "RK4").replace("[0.1, 0.2, 0.3]", "[1e3, 2e3, 3e3]")
    with np.errstate(all="ignore"):
        code, out, err = call("run", written("wild.toml", text), written("tame.toml"))
    assert code == FAILED
    assert re.search(r"wild\.toml: RK4 produced NaN .*: take a shorter step.*; what was computed is in wild\.nc\n", err)
    saved = polhode.load("wild.nc")
    assert not saved.success
    assert 0 < saved.t.size < 800
    assert out.splitlines()[1].startswith("tame ")  # the others are run all the same
    code, out, _ = call("show", "wild.nc")
    assert code == 0
    assert "RK4 produced NaN or infinity" in out


def test_no_scenario_at_all(call: Call) -> None:
    code, _, err = call("run")
    assert code == BAD_INPUT
    assert "Missing argument" in err


# --- as a process of its own ---------------------------------------------------------------------------------------

POLHODE = [sys.executable, "-c", "from polhode.cli import main; main()"]


def compiled(*arguments: str) -> None:
    """The programs of a command are in the cache: it is the run that is interrupted, not a compilation."""
    assert runner.invoke(app, [*arguments, str(written("spin.toml"))]).exit_code == 0


ON_ITS_WAY = r"[1-9]\d*%"
"""The bar of a long run beyond its first half percent: millions of steps are made, and nearly all are still to come."""


def interrupted_in_terminal(*arguments: str) -> tuple[int, str]:
    """Run with a terminal for stderr, interrupt on the way; exit code and what the terminal showed.

    There is no limit in time, because a busy machine may need any: a run that is not interrupted ends by itself.
    """
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [*POLHODE, *arguments],
        stderr=end,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    os.close(end)
    shown, sent = "", False
    try:
        while True:
            try:
                shown += os.read(terminal, 65536).decode()
            except OSError:  # the process has closed its end
                break
            if not sent and re.search(ON_ITS_WAY, shown):
                process.send_signal(signal.SIGINT)
                sent = True
        return process.wait(), shown
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def test_ctrl_c_saves_what_was_computed(here: Path) -> None:
    compiled("run")
    written("long.toml", LONG)
    code, shown = interrupted_in_terminal("run", "long.toml")
    assert code == INTERRUPTED
    assert re.search(r"[\d.e+]+ steps/s, \d+:\d\d", shown)  # the bar has a rate and a remaining time
    assert re.search(
        r"long\.toml: interrupted after \d+ of 1000000000 steps.*what was computed is\s+in long\.nc", shown
    )
    assert "Traceback" not in shown
    saved = polhode.load("long.nc")
    assert not saved.success
    assert saved.t.size > 1
    assert saved.stats.steps > 100_000
    assert list(here.glob(".*")) == []  # no half-written files


def test_ctrl_c_stops_all_scenarios(here: Path) -> None:
    compiled("run")
    written("a.toml", LONG), written("b.toml", LONG)
    code, shown = interrupted_in_terminal("run", "a.toml", "b.toml")
    assert code == INTERRUPTED
    assert "b.toml" not in shown
    assert not Path("b.nc").exists()


def test_a_compilation_is_announced_once(here: Path) -> None:
    written("spin.toml")
    setting = {**os.environ, "POLHODE_CACHE_DIR": str(here / "cache")}
    cold = subprocess.run([*POLHODE, "run", "spin.toml"], env=setting, capture_output=True, text=True, check=True)
    assert cold.stderr == "compiling MR2 with Free, once ...\n"
    warm = subprocess.run(
        [*POLHODE, "run", "spin.toml", "--force"], env=setting, capture_output=True, text=True, check=True
    )
    assert warm.stderr == ""


def modules_after(*arguments: str) -> set[str]:
    """Which modules a command has imported when it ends."""
    code = "import sys\nfrom polhode.cli import app\ntry:\n    app()\nfinally:\n    print('@', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("@")[2].split())


HEAVY = {"numba", "xarray", "pandas", "matplotlib", "scipy"}


def test_help_imports_nothing_heavy() -> None:
    heavy = HEAVY | {"numpy", "rich", "llvmlite"}
    assert not modules_after("--help") & (heavy | {"pydantic"})
    assert not modules_after("--version") & heavy
    assert not modules_after("run", "--help") & heavy  # Typer reads the arguments of a command with pydantic


def test_a_warm_run_imports_nothing_heavy(here: Path) -> None:
    load_scenario(written("spin.toml")).simulate()  # compiled now at the latest
    assert not modules_after("run", "spin.toml") & (HEAVY | {"rich"})


# --- what there is -------------------------------------------------------------------------------------------------


def test_version(call: Call) -> None:
    assert call("--version") == (0, f"polhode {polhode.__version__}\n", "")


def test_help_names_the_commands(call: Call) -> None:
    code, out, _ = call("--help")
    assert code == 0
    assert all(name in out for name in ("run", "compare", "methods", "torques", "bodies", "show"))
    assert "..." not in out.partition("Commands:")[2]  # each is described by a whole sentence


def test_methods_for_a_newcomer(call: Call) -> None:
    code, out, _ = call("methods")
    assert code == 0
    assert "rtol=1e-9" in out.split("\n\n")[0]
    listed = [line.split()[0] for line in out.splitlines() if line.strip()]
    chosen = [name for choices in methods.START_HERE.values() for name in choices]
    assert [name for name in listed if name in chosen] == chosen
    assert not set(listed) & (set(methods.catalogue()) - set(chosen))
    assert f"All {len(methods.catalogue())} methods: polhode methods --all\n" in out


def test_methods_as_json(call: Call) -> None:
    code, out, _ = call("methods", "--json")
    assert code == 0
    records = {record["name"]: record for record in json.loads(out)}
    assert set(records) == set(methods.catalogue())
    assert records["Exact"]["order"] == {"momentum": None, "attitude": None}
    code, out, _ = call("methods", "mr2", "--json")
    assert code == 0
    assert json.loads(out) == records["MR2"]
    assert records["MR2"]["accepts"] == ["position", "time"]
    assert records["MR2"]["keeps"] == ["symplectic", "reversible", "axial_momentum"]


def test_methods(call: Call) -> None:
    code, out, _ = call("methods", "--all")
    assert code == 0
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["MR2"])
    assert line.split()[:7] == ["MR2", "2/2", "SR---A", "SR-NM-", "qt-g-", "1+5f", "celledoni2006"]
    assert methods.find("MR2").summary in line
    listed = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert set(methods.catalogue()) <= listed
    headings = {family.heading for family in families()}
    assert headings <= set(out.splitlines())
    assert "S symplectic form" in out


@pytest.mark.parametrize("name", methods.catalogue())
def test_method_cards(call: Call, name: str) -> None:
    code, out, _ = call("methods", name.lower())
    assert code == 0
    assert out == method_card(methods.find(name), LINE_CHARACTERS) + "\n"


def test_a_method_with_options_has_a_card(call: Call) -> None:
    code, out, _ = call("methods", "mr2(axes=231)")
    assert code == 0
    assert out.startswith("MR2(axes=231): ")
    for wrong, message in (("MR2(axes=999)", "axes of MR2"), ("MR2(axis=231)", "did you mean 'axes'?")):
        code, out, err = call("methods", wrong)
        assert (code, out) == (BAD_INPUT, "")
        assert message in err


def test_torques(call: Call) -> None:
    code, out, _ = call("torques")
    assert code == 0
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["HeavyTop"])
    for text in ("weight, point = [0.0, 0.0, 1.0], down = [0.0, 0.0, -1.0]", "attitude", "yes"):
        assert text in line
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["LinearDamping"])
    assert line.split()[-2:] == ["rate", "no"]
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["ConstantBodyTorque"])
    assert line.split()[-2:] == ["nothing", "no"]


@pytest.mark.parametrize("name", torques.catalogue())
def test_torque_cards_have_an_example_that_works(call: Call, name: str) -> None:
    code, out, _ = call("torques", name.upper())
    assert code == 0
    snippet = out[out.index("[torque]") :]
    assert torque_example(torques.find(name)) in snippet
    scenario = load_scenario(written("example.toml", SHORT.replace("MR2", "RK4") + snippet))
    assert scenario.torque.name == name


def test_torque_cards_explain_the_parameters(call: Call) -> None:
    _, out, _ = call("torques", "HeavyTop")
    assert "weight\n    Magnitude of the force, in N." in out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [(["methods", "strng"], "did you mean 'Strang'?"), (["torques", "heavy"], "did you mean 'HeavyTop'?")],
)
def test_unknown_names_get_a_suggestion(call: Call, arguments: list[str], hint: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (BAD_INPUT, "")
    assert hint in err


def test_bodies(call: Call) -> None:
    code, out, _ = call("bodies")
    assert code == 0
    (line,) = (line for line in out.splitlines() if line.split()[:1] == ["book"])
    assert "5, 10, 1" in line
    assert "krysl2004" in line


def test_tables_fit_the_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("methods", "torques", "bodies"):
        assert max(map(len, call(command)[1].splitlines()[:-1])) <= 80


def test_the_list_of_methods_imports_nothing_heavy() -> None:
    assert not modules_after("methods") & (HEAVY | {"rich"})
    assert not modules_after("methods", "MR2") & (HEAVY | {"rich"})


# --- compare -------------------------------------------------------------------------------------------------------


def test_compare(call: Call) -> None:
    code, out, _ = call(
        "compare", written("spin.toml"), "--methods", "MR2(axes=231),RK4", "--steps", "0.1,0.05", "--output", "new/dir"
    )
    assert code == 0
    rows = [line.split() for line in out.splitlines() if re.match(r"MR2|RK4", line)]
    assert [row[:2] for row in rows] == [
        ["MR2(axes=231)", "0.1"], ["MR2(axes=231)", "0.05"], ["RK4", "0.1"], ["RK4", "0.05"]
    ]  # fmt: skip
    assert "against the exact solution of the free body" in out
    names = {p.name for p in Path("new/dir").iterdir()}
    assert names == {"spin_compare.nc", "spin_compare.png", "spin_compare.svg"}
    assert all(name in out for name in names)
    assert Path("new/dir/spin_compare.png").read_bytes().startswith(b"\x89PNG")
    assert netcdf.read("new/dir/spin_compare.nc").attributes["title"] == "A spin"


def test_compare_has_defaults(call: Call) -> None:
    code, out, _ = call("compare", written("spin.toml", SHORT.replace("[0, 1]", "[0, 2]").replace("MR2", "NMB")))
    assert code == 0
    rows = [line.split()[:2] for line in out.splitlines() if re.match(r"NMB|Exact|RK4|DOP853", line)]
    assert [step for name, step in rows if name == "NMB"] == ["0.125", "0.0625", "0.03125"]
    assert {name for name, _ in rows} == {"NMB", "Exact", "RK4", "DOP853"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "MR2,Strng"], "did you mean 'Strang'?"),
        (
            ["--steps", "0.1,x"],
            "--steps must be numbers separated by commas, such as 0.1,0.05,0.025 or KL6:0.4,0.2, not '0.1,x'",
        ),
        (["--methods", "MR2", "--steps", "RK4:0.1"], "there are steps for RK4, which is not among the methods MR2"),
        (["--steps", "0.1,-0.2"], "a step must be positive, not -0.2"),
        (["--steps", "2"], "longer than the whole time"),
        (["--output", "spin.toml/there"], "cannot write"),
    ],
)
def test_compare_refuses_bad_input(call: Call, arguments: list[str], message: str) -> None:
    code, out, err = call("compare", written("spin.toml"), *arguments)
    assert (code, out) == (BAD_INPUT, "")
    assert message in err
    assert list(Path().glob("*compare*")) == []


def test_compare_refuses_methods_that_do_not_take_the_torque(call: Call) -> None:
    path = written("spin.toml", SHORT.replace("MR2", "RK4") + '[torque]\nmodel = "LinearDamping"\ncoefficient = 1.0')
    code, out, err = call("compare", path, "--methods", "MR2,RK4,NMB")
    assert (code, out) == (BAD_INPUT, "")
    assert "LinearDamping is a torque that cannot be used with MR2, NMB" in err


def test_compare_overwrites_nothing(call: Call) -> None:
    Path("spin_compare.svg").write_text("precious")
    code, out, err = call("compare", written("spin.toml"), "--methods", "MR2")
    assert (code, out) == (BAD_INPUT, "")
    assert "spin_compare.svg exists already: use --force to overwrite it, or --output to write elsewhere" in err
    assert call("compare", "spin.toml", "--methods", "MR2", "--force")[0] == 0


def test_ctrl_c_leaves_what_was_compared(here: Path) -> None:
    compiled("compare", "--methods", "MR2", "--steps", "0.1")
    written("long.toml", LONG)
    steps = "1e4,1e-3"  # a hundred steps, and a billion
    code, shown = interrupted_in_terminal(
        "compare", "long.toml", "--methods", "MR2", "--steps", steps, "--repeats", "1"
    )  # fmt: skip
    assert code == INTERRUPTED
    assert "Traceback" not in shown
    saved = netcdf.read("long_compare.nc")
    assert saved.attributes["interrupted"] == 1
    assert saved.variables["step"].data.tolist() == [1e4]
    assert Path("long_compare.png").stat().st_size > 10_000


# --- show ----------------------------------------------------------------------------------------------------------


def test_show(call: Call) -> None:
    call("run", written("spin.toml"))
    code, out, err = call("show", "spin.nc", "--rows", 3)
    assert (code, err) == (0, "")
    for text in ("A spin", "Body([1.0, 2.0, 2.5])", "Free()", "MR2, step 0.125 s", "8 steps, 9 rows", "reached t = 1"):
        assert text in out
    assert re.search(r"spatial momentum +\d\.\de-1\d", out)
    rows = [line.split() for line in out.splitlines() if re.match(r" *[\d.]+ ", line)]
    assert [row[0] for row in rows] == ["0", "0.5", "1"]
    assert rows[0][1:] == ["0.1", "0.2", "0.3", "1", "0", "0", "0"]


def test_show_plots(call: Call) -> None:
    call("run", written("spin.toml"))
    code, out, _ = call("show", "spin.nc", "--plot")
    assert code == 0
    assert "spin.png" in out
    assert Path("spin.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = call("show", "spin.nc", "--plot")
    assert code == BAD_INPUT
    assert "spin.png exists already" in err
    assert call("show", "spin.nc", "--plot", "--force")[0] == 0


@pytest.mark.parametrize("content", [None, b"", b"junk", b"CDF\x02\x00"])
def test_show_explains_bad_files(call: Call, content: bytes | None) -> None:
    if content is not None:
        Path("bad.nc").write_bytes(content)
    code, out, err = call("show", "bad.nc")
    assert (code, out) == (BAD_INPUT, "")
    assert "bad.nc" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (61, "1:01"), (3725, "1:02:05")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
