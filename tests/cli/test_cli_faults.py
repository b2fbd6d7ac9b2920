"""The command line where something goes wrong: full disks, signals, closed pipes, names and files of others."""

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import polhode
from polhode.cli import _files, app
from polhode.cli._files import keep
from polhode.cli._terminal import BAD_INPUT, FAILED
from polhode.cli.run import _RunTable
from polhode.files import atomic, netcdf
from polhode.scenario import load_scenario
from polhode.text.terminal import cell_width, one_line, padded, printable
from tests.cli.test_cli import LONG, POLHODE, SHORT, Call, written

runner = CliRunner()

MANY = SHORT + '[ensemble]\ncount = 5\nseed = 4\nomega = {kind = "Normal", sd = 0.1}\n'


# --- files that appear, links, long names --------------------------------------------------------------------------


@pytest.mark.parametrize("text", [SHORT, MANY])
def test_a_file_that_appears_during_the_run_is_left_alone(
    text: str,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = written("spin.toml", text)
    kind = polhode.scenario.Scenario
    for name in ("simulate", "ensemble"):
        run = getattr(kind, name)

        def ran(*arguments: Any, run: Any = run) -> Any:
            Path("spin.nc").write_text("theirs")
            return run(*arguments)

        monkeypatch.setattr(kind, name, ran)
    code, out, err = call("run", scenario)
    assert code == FAILED
    assert Path("spin.nc").read_text() == "theirs"
    assert "spin.nc appeared during the run and was left as it is; the result is in spin-2.nc" in err
    assert "spin-2.nc" in out
    netcdf.read("spin-2.nc")
    assert call("run", scenario, "--force")[0] == 0  # which may replace it
    netcdf.read("spin.nc")


def test_a_picture_that_appears_during_the_run_is_left_alone(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def saved(self: Any, *_: Any, **__: Any) -> None:
        Path("spin.png").write_text("theirs")

    monkeypatch.setattr(polhode.Solution, "save", saved)
    code, _, err = call("run", written("spin.toml"), "--plot")
    assert code == FAILED
    assert Path("spin.png").read_text() == "theirs"
    assert "the result is in spin-2.png" in err


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_a_link_that_leads_nowhere_is_not_followed(options: list[str], call: Call, tmp_path: Path) -> None:
    Path("out").mkdir()
    Path("out/spin.nc").symlink_to(tmp_path / "elsewhere.nc")
    code, _, err = call("run", written("spin.toml"), "--out", "out", *options)
    assert code == BAD_INPUT
    assert re.search(r"out/spin\.nc is a link to .*elsewhere\.nc, which does not exist: remove the link", err)
    assert not Path("elsewhere.nc").exists()


def test_names_that_are_too_long(call: Call) -> None:
    name = "a" * 300
    for arguments in (["--out", f"{name}.nc"], ["--out", name], ["--out", f"{name}/below"]):
        code, _, err = call("run", written("spin.toml"), *arguments)
        assert code == BAD_INPUT
        assert "File name too long; give it a shorter name" in err
    code, _, err = call("run", written("other.toml", SHORT + f'[output]\nfile = "{name}.nc"'))
    assert (code, "File name too long" in err) == (BAD_INPUT, True)
    for command in ("run", "show", "compare"):
        code, _, err = call(command, f"{name}.toml")
        assert (code, "File name too long" in err) == (BAD_INPUT, True)


# --- full disks ----------------------------------------------------------------------------------------------------


def no_room_in(*places: Path) -> Callable[[Path], Any]:
    """Makes unfinished files impossible in these directories."""
    make = atomic._unfinished

    def made(directory: Path) -> Any:
        if any(directory.resolve().is_relative_to(place) for place in places):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return make(directory)

    return made


@pytest.mark.parametrize("text", [SHORT, MANY])
def test_a_full_disk_loses_nothing(
    text: str,
    call: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.setattr(atomic, "_unfinished", no_room_in(tmp_path / "out"))
    code, out, err = call("run", written("spin.toml", text), "--out", "out")
    assert code == FAILED
    (saved,) = place.rglob("*.nc")
    assert f"No space left on device; choose another place; the result is in {saved}: move it" in err
    assert str(saved) in out
    netcdf.read(saved)


def test_no_room_anywhere_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: Any) -> Any:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    monkeypatch.setattr("os.getcwd", nowhere)
    monkeypatch.setattr("pathlib.Path.home", nowhere)

    def save(file: Path, force: bool) -> None:
        raise OSError("cannot write spin.nc: No space left on device")

    kept = keep(Path("spin.nc"), False, save)
    assert kept == (None, "the result could not be saved: cannot write spin.nc: No space left on device")


class Terminal:
    """Answers as a user at a terminal does."""

    closed = False

    def __init__(self, answers: list[str], room: list[bool]) -> None:
        self.answers, self.room = answers, room

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        del self.room[0]
        return f"{self.answers.pop(0)}\n"


@pytest.mark.parametrize("answers", [["", ""], ["", "q"]])
def test_a_user_at_a_terminal_can_make_room(
    answers: list[str],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    room = [False, False, answers[-1] == ""]

    def save(file: Path, force: bool) -> None:
        if not room[0]:
            raise OSError("cannot write spin.nc: No space left on device")
        file.write_text("result")

    monkeypatch.setattr(sys, "stdin", Terminal(answers, room))
    monkeypatch.setattr(_files, "is_terminal", lambda stream: True)
    kept = keep(Path("spin.nc"), False, save)
    assert "Make room and press Enter to try again, or type q" in capsys.readouterr().err
    if answers or not room[0]:
        assert kept.file is None
        assert "the result could not be saved: cannot write spin.nc: No space left" in kept.problem
    else:
        assert (kept.file, kept.problem) == (Path("spin.nc"), "")
        assert Path("spin.nc").read_text() == "result"
    assert list(here.glob("polhode-*")) == []


# --- signals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_save_what_was_computed(name: str, here: Path) -> None:
    assert runner.invoke(app, ["run", str(written("spin.toml"))]).exit_code == 0  # compiled
    number = getattr(signal, name)
    written("long.toml", LONG)
    # The process sends the signal to itself once the run is on its way.
    code = f"""
import os, polhode.scenario
from polhode.cli import main
simulate = polhode.scenario.simulate
def watched(**given):
    given["progress"] = lambda done, total: os.kill(os.getpid(), {int(number)}) if done > 1000 else None
    return simulate(**given)
polhode.scenario.simulate = watched
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "long.toml"], capture_output=True, text=True, check=False,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup ignores SIGHUP
    )  # fmt: skip
    assert done.returncode == 128 + number, done.stderr
    assert re.search(
        r"long\.toml: interrupted after \d+ of 1000000000 steps.*what was computed is in long\.nc", done.stderr
    )
    assert polhode.load("long.nc").stats.steps > 1000
    assert list(here.glob(".*")) == []


def test_handlers_are_put_back(call: Call) -> None:
    before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)]
    call("run", written("spin.toml"))
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)] == before


# --- pipes, terminals ----------------------------------------------------------------------------------------------


def test_a_closed_pipe_is_no_error(here: Path) -> None:
    """Every command ends in silence, and a run is finished."""
    written("spin.toml")
    reader, writer = os.pipe()
    os.close(reader)
    code = """
import sys
from polhode.cli import main
codes = []
for command in ("reproduce --list", "methods", "torques", "bodies", "run spin.toml", "show spin.nc"):
    sys.argv[1:] = command.split()
    try:
        main()
    except SystemExit as end:
        codes.append(end.code)
sys.stderr.write(repr(codes))
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, text=True, check=True)
    os.close(writer)
    assert done.stderr.replace("compiling MR2 with Free, once ...\n", "") == repr([0] * 6)
    assert polhode.load("spin.nc").success


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_printed_is_said(here: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*POLHODE, "bodies"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (FAILED, "polhode: cannot print: No space left on device\n")


ESCAPES = "\x1b[31mred\x1b]0;title\x07 \x9b31m \u202egnp.exe\nsecond line"


def assert_clean(text: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_nothing_from_a_file_reaches_the_terminal_as_a_command(call: Call) -> None:
    call("run", written("spin.toml", SHORT))
    variables, attributes = netcdf.read("spin.nc")
    for name, value in {"message": ESCAPES, "method": ESCAPES, "torque": ESCAPES, "body_name": ESCAPES}.items():
        netcdf.write("bad.nc", variables, attributes | {name: value}, overwrite=True)
        code, out, err = call("show", "bad.nc")
        assert code == 0, err
        assert_clean(out + err)
        assert "gnp.exe\nsecond" not in out
        assert "\\x1b[31mred" in out
    titled = attributes | {"metadata": '{"title": "\\u001b[31mred\\nsecond line"}'}
    netcdf.write("bad.nc", variables, titled, overwrite=True)
    assert call("show", "bad.nc")[1].startswith("\\x1b[31mred\\nsecond line\n")
    call("run", written("many.toml", MANY))
    variables, attributes = netcdf.read("many.nc")
    odd = {ESCAPES: netcdf.Variable((ESCAPES,), np.ones(2), {"units": ESCAPES})}
    netcdf.write("bad.nc", variables | odd, attributes | {"torque": ESCAPES, ESCAPES: 1.0}, overwrite=True)
    code, out, err = call("show", "bad.nc")
    assert code == 0, err
    assert_clean(out + err)
    netcdf.write("bad.nc", {ESCAPES: netcdf.Variable((ESCAPES,), np.ones(2))}, {"format": ESCAPES}, overwrite=True)
    code, out, err = call("show", "bad.nc")
    assert code == BAD_INPUT
    assert_clean(out + err)


def test_names_and_keys_of_scenarios_are_cleaned(call: Call) -> None:
    odd = "od\x1b[31md\nname.toml"
    code, out, err = call("run", written(odd), "--plot")
    assert code == 0, err
    assert_clean(out + err)
    assert len(out.splitlines()) == 2
    assert polhode.load(odd.replace(".toml", ".nc")).success
    code, out, err = call("run", written(odd, SHORT + '["\\u001b[31mkey"]\nx = 1\n'), "--force")
    assert code == BAD_INPUT
    assert_clean(out + err)
    assert len(err.splitlines()) == 1
    code, _, err = call("run", written("spin.toml", SHORT + '[output]\nfile = "a\\u0000b.nc"\n'))
    assert (code, "a name that can be printed" in err) == (BAD_INPUT, True)


def test_printable() -> None:
    assert printable("größe 日本 é\n") == "größe 日本 é\n"
    assert one_line("a\nb\tc\x1b\x7f\x9b\udcff\u202e") == r"a\nb\tc\x1b\x7f\x9b\udcff\u202e"
    assert (cell_width("日本"), cell_width("e\u0301"), padded("日本", 6)) == (4, 1, "日本  ")


# --- the table, pictures -------------------------------------------------------------------------------------------


def test_columns_stay_in_line_and_show_the_estimate(call: Call) -> None:
    chosen = SHORT.replace('step = 0.125\nmethod = "MR2"', "rtol = 1e-6")
    long = SHORT.replace('"MR2"', '"Strang(corrector=17, compensated=true)"')
    code, out, err = call("run", written("a.toml", chosen), written("日本.toml", long), written("c.toml"))
    assert code == 0, err
    rows = out.splitlines()
    names = ("saved as", "a.nc", "日本.nc", "c.nc")
    assert len({cell_width(row[: row.rindex(name)]) for row, name in zip(rows, names, strict=True)}) == 1
    estimate = polhode.load("a.nc").error_estimate
    assert estimate is not None
    assert f" {estimate:.1e} " in rows[1]


def test_a_method_with_a_long_name_has_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str], here: Path, plain: None
) -> None:
    scenario = load_scenario(written("spin.toml", SHORT.replace('step = 0.125\nmethod = "MR2"', "rtol = 1e-6")))
    table = _RunTable([scenario], quiet=False)
    solution = polhode.simulate(
        scenario.body, omega=scenario.omega, t_span=(0, 1), step=0.125, method="Strang(corrector=17, compensated=true)"
    )
    table.row(scenario, solution, [Path("spin.nc")])
    header, first, second = capsys.readouterr().out.splitlines()
    assert first == "spin      Strang(corrector=17, compensated=true)"
    assert second.index("spin.nc") == header.index("saved as")


def test_an_ensemble_is_drawn(call: Call) -> None:
    code, out, err = call("run", written("many.toml", MANY + "[output]\nplot = true\n"))
    assert code == 0, err
    assert "many.nc and many.png, 5 bodies" in out
    assert Path("many.png").read_bytes().startswith(b"\x89PNG")
    code, out, err = call("show", "many.nc", "--plot", "--force")
    assert (code, out.splitlines()[-1]) == (0, "plotted as many.png"), err


def test_what_cannot_be_drawn_is_said(call: Call) -> None:
    text = MANY + 'reduce.spread = "omega.last().std(body)"\n'
    code, _, err = call("run", written("many.toml", text), "--plot")
    assert code == FAILED
    assert "no picture was drawn: there is nothing over time to draw: spread has no time left" in err
    netcdf.read("many.nc")
    code, _, err = call("show", "many.nc", "--plot")
    assert (code, "nothing over time that could be drawn" in err) == (FAILED, True)


# --- Python files of scenarios -------------------------------------------------------------------------------------

MARKED = "from pathlib import Path\nPath('executed').touch()\ndef f(t, q, w, p):\n    return (0.0, 0.0, 0.0)\n"


def test_files_outside_the_folder_need_trust(call: Call) -> None:
    written("mine.py", MARKED)
    scenario = written("folder/spin.toml", SHORT + '[torque]\nmodel = "../mine.py:f"\n')
    for command in ("run", "compare"):
        code, _, err = call(command, scenario)
        assert code == BAD_INPUT
        assert re.search(r"mine\.py lies outside the folder of the scenario, .*--trust", err)
    assert not Path("executed").exists()
    code, _, err = call("run", scenario, "--trust")
    assert code == 0, err
    assert Path("executed").exists()


def test_nothing_is_executed_if_anything_else_is_wrong(call: Call) -> None:
    written("mine.py", MARKED)
    good = written("good.toml", SHORT + '[torque]\nmodel = "mine.py:f"\n')
    bad = written("bad.toml", SHORT.replace("step", "stepp"))
    assert call("run", good, bad)[0] == BAD_INPUT
    Path("good.nc").touch()
    assert call("run", good)[0] == BAD_INPUT  # the result is there already
    assert call("compare", good, "--output", "mine.py/below")[0] == BAD_INPUT
    assert not Path("executed").exists()


def test_help_says_that_files_are_executed(call: Call) -> None:
    for command in ("run", "compare"):
        _, out, _ = call(command, "--help")
        assert "--trust" in out
        assert "execute" in out
