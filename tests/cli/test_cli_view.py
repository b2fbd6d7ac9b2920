"""`polhode view`: files, members, meshes, the playground, and the server."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from tests.files.test_meshes import binary
from tests.page.page_tools import data_in, products  # noqa: F401

Call = Callable[..., tuple[int, str, str]]

BODY = ph.Body([1.0, 2.0, 3.0])
OMEGA = [0.01, 1.0, 0.01]

pytestmark = pytest.mark.usefixtures("products")


@pytest.fixture
def run(here: Path) -> Path:
    ph.simulate(BODY, omega=OMEGA, t_span=(0, 20), method="rk4", step=0.2).save(here / "run.nc")
    return here / "run.nc"


def test_export(call: Call, run: Path) -> None:
    (run.parent / "other").mkdir()
    second = run.parent / "other" / "run.nc"
    second.write_bytes(run.read_bytes())
    binary(run.parent / "box.stl")
    code, out, err = call("view", "run.nc", str(second), "--export", "page.html", "--mesh", "box.stl",
                          "--mesh-centre", "0,0,0", "--point", "0,0,1", "--point", "1,0,-2", "--span", "2", "15",
                          "--title", "Two <runs>")  # fmt: skip
    assert (code, out, err) == (0, "page written to page.html\n", "")
    page = data_in(Path("page.html").read_text("utf-8"))
    assert page["title"] == "Two <runs>"
    assert [r["name"] for r in page["runs"]] == ["run (1)", "run (2)"]
    assert page["runs"][0]["points"] == [[0, 0, 1], [1, 0, -2]]
    assert call("view", "run.nc", "--export", "page.html")[0] == 2
    assert call("view", "run.nc", "--export", "page.html", "--force")[0] == 0


def test_members_of_ensembles(call: Call, here: Path) -> None:
    rates = np.array([[0.01 * k, 1.0, 0.01] for k in range(1, 7)])
    ph.ensemble(BODY, omega=rates, t_span=(0, 5), method="rk4", step=0.2).save(here / "many.nc")
    code, _, err = call("view", "many.nc", "--export", "page.html")
    assert code == 0
    assert "many.nc holds 6 bodies, and the first 4 are shown: --member chooses others" in err
    code, _, err = call("view", "many.nc", "--export", "page.html", "--force", "--member", "5", "--member", "0")
    assert (code, err) == (0, "")
    assert [r["name"] for r in data_in(Path("page.html").read_text("utf-8"))["runs"]] == ["many[5]", "many[0]"]
    code, _, err = call("view", "many.nc", "--export", "new.html", "--member", "6")
    assert (code, "there is no body 6" in err) == (2, True)


def test_the_exact_motion_beside(call: Call, run: Path) -> None:
    assert call("view", "run.nc", "--exact", "--export", "page.html")[0] == 0
    page = data_in(Path("page.html").read_text("utf-8"))
    assert [r["name"] for r in page["runs"]] == ["exact", "run"]
    assert len(page["differences"]) == 1
    torque = ph.ConstantBodyTorque((0.1, 0.0, 0.0))
    ph.simulate(BODY, torque, omega=OMEGA, t_span=(0, 2), method="rk4", step=0.2).save(run.parent / "torqued.nc")
    code, _, err = call("view", "torqued.nc", "--exact", "--no-browser")
    assert (code, "there is no exact motion under the torque ConstantBodyTorque" in err) == (2, True)


def test_the_playground(call: Call, here: Path) -> None:
    code, _, err = call("view", "--playground", "--export", "play.html")
    assert (code, err) == (0, "")
    page = data_in(Path("play.html").read_text("utf-8"))
    assert (page["playground"], page["runs"]) == (True, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to show: name a result file, or give --playground"),
        (["run.nc", "--playground"], "--playground shows no files"),
        (["--playground", "--mesh", "box.stl"], "--mesh is for result files, and --playground shows none"),
        (["none.nc"], "none.nc: No such file or directory"),
        (["text.nc"], "text.nc is not a NetCDF-3 file"),
        (["run.nc"] * 100, "a page shows at most 12 runs"),
        (["run.nc", "--member", "1"], "holds a single motion"),
        (["run.nc", "--mesh", "text.stl"], "text.stl is no STL file"),
        (["run.nc", "--mesh", "none.stl"], "none.stl: No such file or directory"),
        (["run.nc", "--point", "1,2"], "--point must be three numbers such as 0,0,1, not '1,2'"),
        (["run.nc", "--mesh-centre", "middle", "--mesh", "box.stl"], "there is no centre of a mesh 'middle'"),
        (["run.nc", "--span", "0", "99"], "t_span (0, 99) is not within the run 'run'"),
        (["run.nc", "--export", "page.pdf"], "saved as .html"),
        (["run.nc", "--export", "nowhere/deep/page.txt"], "saved as .html"),
    ],
)
def test_bad_input_is_a_sentence(call: Call, run: Path, arguments: list[str], words: str) -> None:
    (run.parent / "text.nc").write_text("no result")
    (run.parent / "text.stl").write_text("no mesh")
    binary(run.parent / "box.stl")
    code, out, err = call("view", "--no-browser", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert not Path("nowhere").exists()


def test_a_port_that_is_taken(call: Call, run: Path) -> None:
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        code, _, err = call("view", "run.nc", "--no-browser", "--port", str(other.getsockname()[1]))
    assert code == 1
    assert "is taken by another program: choose another, or leave --port out" in err


def test_missing_code_is_a_sentence(call: Call, run: Path, products: Path) -> None:  # noqa: F811
    (products / "page.js").unlink()
    code, _, err = call("view", "run.nc", "--no-browser")
    assert (code, err.count("\n")) == (2, 1)
    assert "make viewer" in err


SERVED = """
import sys
from pathlib import Path
from polhode.page import html as page_html
page_html.PRODUCTS = Path(sys.argv.pop(1))
from polhode.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_the_server_runs_until_ctrl_c(run: Path, products: Path) -> None:  # noqa: F811
    without = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    with subprocess.Popen(
        [sys.executable, "-c", SERVED, str(products), "view", str(run)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**without, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    ) as process:  # fmt: skip
        assert process.stdout is not None
        # line by line to the end: `communicate` does not see what readline has taken from the pipe
        said = [process.stdout.readline() for _ in range(3)]
        address = said[0].split()[-1]
        jar = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                          urllib.request.HTTPCookieProcessor(CookieJar()))  # fmt: skip
        home = address.split("?")[0]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            jar.open(home)
        jar.open(address).close()
        with jar.open(home) as answer:
            assert [r["name"] for r in data_in(answer.read().decode())["runs"]] == ["run"]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=600)
    assert process.returncode == 0
    assert said[1].startswith("no browser could be opened: open this address yourself")
    assert said[2] == "Ctrl-C ends it\n"
    assert err == ""
    with pytest.raises(urllib.error.URLError):
        jar.open(home)
