"""`polhode fit`."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

import polhode as ph

Called = Callable[..., tuple[int, str, str]]
T = np.linspace(0.0, 30.0, 60)
RATES = ph.FreeMotion(ph.Body([1.0, 2.0, 2.5]), [0.3, 1.0, 0.2]).at(T).omega
RATES = RATES + 1e-3 * np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture
def call(here: Path) -> Called:
    """A command in this process, with compiled programs."""
    from typer.testing import CliRunner

    from polhode.cli import app

    def called(*arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return called


def table(path: Path, names: tuple[str, ...] = ("time", "omega_x", "omega_y", "omega_z")) -> None:
    pandas.DataFrame(np.column_stack([T, RATES]), columns=list(names)).to_csv(path, index=False)


def test_a_table_and_a_picture(here: Path, call: Called) -> None:
    table(here / "gyro.csv")
    code, out, err = call("fit", "gyro.csv", "--body", "1.2,2,2.4", "--plot", "fit.png")
    assert (code, err) == (0, "")
    assert "I_x/I_z" in out
    assert "the scale of the moments" in out
    assert "Saved as fit.png." in out
    assert (here / "fit.png").stat().st_size > 10_000
    assert call("fit", "gyro.csv", "--body", "1.2,2,2.4", "--plot", "fit.png")[0] == 2


def test_columns_and_json(here: Path, call: Called) -> None:
    table(here / "gyro.csv", ("s", "p", "q", "r"))
    options = ("--body", "1.2,2,2.4", "--free", "ratios, omega", "--columns", "t=s", "--columns", "omega=p,q,r")
    code, out, _ = call("fit", "gyro.csv", *options, "--sigma-omega", "0.001", "--json")
    found = json.loads(out)
    assert code == 0
    ratio = found["parameters"]["I_x/I_z"]
    assert abs(ratio["value"] - 0.4) < 4 * ratio["standard_error"]
    assert found["undetermined"] == []


def test_a_scenario_has_the_guesses(here: Path, call: Called) -> None:
    table(here / "gyro.csv")
    (here / "guess.toml").write_text(
        "[body]\nmoments = [1.2, 2.0, 2.4]\n[initial]\nomega = [0.3, 1.0, 0.2]\n[run]\nt_span = [0, 1]\nrtol = 1e-6\n"
    )
    code, out, _ = call("fit", "gyro.csv", "--scenario", "guess.toml", "--free", "ratios,omega")
    assert code == 0
    assert "Fit of a free body to 60 rates" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--body", "1,2"), "has 2 numbers: give three moments"),
        (("--body", "sphere"), "there is no body 'sphere'"),
        (("--body", "1,2,4"), "no body has the moments 1, 2, 4"),
        ((), "give the body: --body"),
        (("--body", "1,2,2", "--scenario", "x.toml"), "either --scenario or --body"),
        (("--body", "1,2,2", "--torque", "Free(", "--free", "omega"), "must be written like"),
        (
            ("--body", "1,2,2", "--torque", "HeavyTop(weight=1)", "--free", "torque.wieght"),
            "did you mean 'torque.weight'",
        ),
        (("--body", "1,2,2", "--free", "momets"), "did you mean 'moments'?"),
        (("--body", "1,2,2", "--columns", "omega"), "must be written like omega=wx,wy,wz"),
        (("--body", "1,2,2", "--columns", "omega=p,q,r"), "there is no column 'p'"),
        (("--body", "1,2,2", "--sigma-omega", "0"), "sigma_omega must be positive"),
    ],
)
def test_bad_input(here: Path, call: Called, options: tuple[str, ...], message: str) -> None:
    table(here / "gyro.csv")
    code, out, err = call("fit", "gyro.csv", *options)
    assert (code, out) == (2, "")
    assert message in err


def attitudes(path: Path) -> None:
    q = ph.FreeMotion(ph.Body([1.0, 2.0, 2.5]), [0.3, 1.0, 0.2], [0.6, 0.0, 0.8, 0.0]).at(T).quaternion
    names = ("time", *(f"quaternion_{k}" for k in "wxyz"))
    pandas.DataFrame(np.column_stack([T, q]), columns=list(names)).to_csv(path, index=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--free", "ratios,omega"), "must be given: pass --attitude, or free it"),
        (("--free", "ratios,attitude"), "must be given: pass --omega, or free it"),
        (("--free", "torque.weight"), "there is no torque: give --torque, with a guess"),
    ],
)
def test_advice_names_options_of_the_command(
    here: Path, call: Called, options: tuple[str, ...], message: str
) -> None:  # fmt: skip
    attitudes(here / "stars.csv")
    code, _, err = call("fit", "stars.csv", "--body", "1.2,2,2.4", *options)
    assert code == 2
    assert message in err


def test_missing_numbers_name_the_option_that_drops_them(here: Path, call: Called) -> None:
    pandas.DataFrame(
        {"time": T, **{f"omega_{k}": np.where(T > 20, np.nan, w) for k, w in zip("xyz", RATES.T, strict=True)}}
    ).to_csv(here / "gaps.csv", index=False)
    assert "pass --drop-missing to fit what is there" in call("fit", "gaps.csv", "--body", "1.2,2,2.4")[2]


def test_the_start_is_given_by_options_or_by_a_scenario(here: Path, call: Called) -> None:
    attitudes(here / "stars.csv")
    (here / "guess.toml").write_text(
        "[body]\nmoments = [1.2, 2.0, 2.4]\n[initial]\nomega = [0.3, 1.0, 0.2]\nquaternion = [0.6, 0, 0.8, 0]\n"
        "[run]\nt_span = [0, 1]\nrtol = 1e-6\n"
    )
    for start in (
        ("--body", "1.2,2,2.4", "--attitude", "0.6", "0", "0.8", "0"),
        ("--body", "1.2,2,2.4", "--attitude", "0.6", "0", "0.8", "0", "--omega", "0.3", "1", "0.2"),
        ("--scenario", "guess.toml"),
    ):
        code, out, err = call("fit", "stars.csv", *start, "--free", "ratios,omega", "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert found["parameters"]["I_x/I_z"]["value"] == pytest.approx(0.4, abs=1e-6)  # the data are exact
        assert found["quaternion"] == pytest.approx([0.6, 0.0, 0.8, 0.0])


def test_no_file(here: Path, call: Called) -> None:
    code, _, err = call("fit", "none.csv", "--body", "1,2,2.5")
    assert code == 2
    assert "none.csv: No such file" in err
