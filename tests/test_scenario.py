"""Scenario files: what they mean, and what is said when they mean nothing."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode
from polhode import scenario as module
from polhode.scenario import MOST_BYTES, ScenarioError, check_scenario, load_scenario
from polhode.torques.heavy_top import HeavyTop

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.toml"))
LONG = {"reaction_wheels"}
"""Examples that compile for more than ten seconds: they are evidence."""

GOOD = {
    "body": "moments = [1.0, 2.0, 2.5]",
    "initial": "omega = [0.1, 0.2, 0.3]",
    "run": 't_span = [0, 1]\nstep = 0.125\nmethod = "MR2"',
}


def toml(**tables: str) -> str:
    """A good scenario with some of its tables replaced."""
    return "\n".join(f"[{name}]\n{text}" for name, text in {**GOOD, **tables}.items())


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def written(text: str | bytes, name: str = "case.toml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


# --- what files mean -----------------------------------------------------------------------------------------------


def test_a_scenario_is_the_run_that_it_describes(write: Callable[..., Path]) -> None:
    text = 'title = "Spin"\n' + toml(torque='model = "heavytop"\nweight = 2\npoint = [0.0, 1, 0.0]')
    scenario = load_scenario(write(text))
    found = scenario.simulate()
    expected = polhode.simulate(
        polhode.Body([1.0, 2.0, 2.5]),
        HeavyTop(2.0, (0.0, 1.0, 0.0)),
        omega=[0.1, 0.2, 0.3],
        t_span=(0, 1),
        step=0.125,
        method="MR2",
    )
    assert found.torque == expected.torque
    np.testing.assert_array_equal(found.t, expected.t)
    np.testing.assert_array_equal(found.quaternion, expected.quaternion)
    np.testing.assert_array_equal(found.momentum, expected.momentum)
    assert found.metadata["title"] == "Spin"
    assert found.metadata["scenario"] == "case.toml"


def test_defaults(write: Callable[..., Path]) -> None:
    scenario = load_scenario(write(toml()))
    assert scenario.torque == polhode.Free()
    assert (scenario.title, scenario.plot, str(scenario.file)) == ("", False, "case.nc")


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ('name = "Book"', [5, 10, 1]),
        ("moments = [1, 1, 3]\nallow_unphysical = true", [1, 1, 3]),
        ("tensor = [[2, 0, 0], [0, 3, 0], [0, 0, 4]]", [2, 3, 4]),
    ],
)
def test_bodies(write: Callable[..., Path], text: str, moments: list[float]) -> None:
    np.testing.assert_array_equal(load_scenario(write(toml(body=text))).body.moments, moments)


@pytest.mark.parametrize(
    ("text", "omega"),
    [
        ("omega = [1, 2, 3]", [1, 2, 3]),
        ("omega = [0, 0, 0]", [0, 0, 0]),
        ("omega_deg = [180, 0, -90]", [math.pi, 0, -math.pi / 2]),
        ("momentum = [1, 2, 5]", [1, 1, 2]),
    ],
)
def test_rates(write: Callable[..., Path], text: str, omega: list[float]) -> None:
    np.testing.assert_array_equal(load_scenario(write(toml(initial=text))).omega, omega)


@pytest.mark.parametrize(
    ("text", "rotation"),
    [
        ("quaternion = [1, 2, 3, 4]", Rotation.from_quat([2, 3, 4, 1])),
        ("matrix = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]", Rotation.from_rotvec([0, 0, math.pi / 2])),
        ("rotation_vector = [0.3, -1.2, 2.0]", Rotation.from_rotvec([0.3, -1.2, 2.0])),
        ("rotation_vector = [0, 0, 0]", Rotation.identity()),
        ("rotation_vector_deg = [30, 200, -10]", Rotation.from_rotvec([30, 200, -10], degrees=True)),
        *(
            (f'euler_deg = {{sequence = "{s}", angles = {angles[: len(s)]}}}', (s, angles[: len(s)]))
            for angles in ([10.0, 20.0, 30.0], [-170.0, 75.0, 250.0])
            for s in ("ZXZ", "XYZ", "zyx", "zxz", "ZX", "y")
        ),
    ],
)
def test_attitudes_agree_with_scipy(write: Callable[..., Path], text: str, rotation: Any) -> None:
    if isinstance(rotation, tuple):
        sequence, angles = rotation
        rotation = Rotation.from_euler(sequence, angles if len(angles) > 1 else angles[0], degrees=True)
    solution = load_scenario(write(toml(initial=f"omega = [0, 0, 0]\n{text}"))).simulate()
    # A few roundings in each of up to three factors.
    assert (solution.attitude[0] * rotation.inv()).magnitude() < 1e-15 * 4


def test_output_times(write: Callable[..., Path]) -> None:
    run = GOOD["run"]
    assert load_scenario(write(toml(run=f"{run}\nevery = 4"))).simulate().t.tolist() == [0, 0.5, 1]
    assert load_scenario(write(toml(run=f"{run}\nt_eval = [0.1, 0.9]"))).simulate().t.tolist() == [0.1, 0.9]
    assert load_scenario(write(toml(run=f"{run}\nsamples = 6"))).simulate().t.tolist() == np.linspace(0, 1, 6).tolist()


def test_output_table(write: Callable[..., Path]) -> None:
    scenario = load_scenario(write(toml(output='file = "deep/top.nc"\nplot = true')))
    assert (scenario.file.as_posix(), scenario.plot) == ("deep/top.nc", True)


def test_many_dots_are_no_deep_key(write: Callable[..., Path]) -> None:
    times = ", ".join(f"{k / 1000}" for k in range(1000))
    title = f"title = '{'... ' * 100}{'a.b ' * 100}'\n"
    assert len(load_scenario(write(title + toml(run=f"{GOOD['run']}\nt_eval = [{times}]"))).t_eval or ()) == 1000


def test_windows_files_are_read(write: Callable[..., Path]) -> None:
    text = ('title = "Größe"\n' + toml()).replace("\n", "\r\n").encode("utf-8-sig")
    assert load_scenario(write(text)).title == "Größe"


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=[pytest.mark.evidence] if p.stem in LONG else []) for p in EXAMPLES],
)
def test_examples_run(path: Path) -> None:
    solution = load_scenario(path).simulate()
    assert solution.success
    assert solution.t.size <= 10_000  # a picture needs no more


def test_there_are_examples() -> None:
    assert {"intermediate_axis_flip", "heavy_top"} <= {p.stem for p in EXAMPLES}


def test_the_intermediate_axis_example_flips() -> None:
    (path,) = (p for p in EXAMPLES if p.stem == "intermediate_axis_flip")
    spin = load_scenario(path).simulate().omega[:, 1]
    assert np.count_nonzero(np.diff(np.sign(spin))) >= 4


# --- a torque from a file ------------------------------------------------------------------------------------------

TORQUES = """
import polhode
def plain(t, q, w, p):
    return (p[0], 0.0, p[1])
@polhode.torque(parameters=[3.0])
def made(t, q, w, p):
    return (0.0, p[0], 0.0)
number = 5
def wrong(a, b):
    return a
"""


def test_a_function_from_a_file(write: Callable[..., Path]) -> None:
    write(TORQUES, "mine.py")
    plain = load_scenario(write(toml(torque='model = "mine.py:plain"\nparameters = [1, 2.5]'))).torque
    assert isinstance(plain, polhode.torques.CustomTorque)
    assert plain.values == (1.0, 2.5)
    assert plain(0.0, (1, 0, 0, 0), (0, 0, 0), plain.values) == (1.0, 0.0, 2.5)
    made = load_scenario(write(toml(torque='model = "mine.py:made"'))).torque
    assert isinstance(made, polhode.torques.CustomTorque)
    assert made.values == (3.0,)
    other = load_scenario(write(toml(torque='model = "mine.py:made"\nparameters = [7]'))).torque
    assert isinstance(other, polhode.torques.CustomTorque)
    assert other.values == (7.0,)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ('model = "nine.py:plain"', "torque.model: there is no file"),
        ('model = "mine.py"', "must be like 'magnetic.py:torque_function'"),
        ('model = "mine.txt:plain"', "'mine.txt:plain' must be like"),
        ('model = "mine.py:missing"', "has no missing"),
        ('model = "mine.py:number"', "torque.model: a torque is a Python function of (t, q, w, p), unlike 5"),
        ('model = "mine.py:wrong"', "function of (t, q, w, p)"),
        ('model = "mine.py:plain"\nparameter = [1]', "torque.parameter: unknown key; did you mean 'parameters'?"),
        ('model = "mine.py:plain"\nparameters = ["a"]', 'torque.parameters[0]: must be a number, not "a"'),
        ('model = "broken.py:f"', "broken.py, line 2 raised SyntaxError"),
        ('model = "raising.py:f"', "raising.py, line 3 raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_bad_torque_file(write: Callable[..., Path], model: str, expected: str) -> None:
    write(TORQUES, "mine.py")
    write("x = 1\ny = = 2\n", "broken.py")
    write("x = 1\n\ny = 1 / 0\n", "raising.py")
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(toml(torque=model)))
    assert expected in str(caught.value)


MARKED = "from pathlib import Path\nPath({!r}).touch()\ndef f(t, q, w, p):\n    return (0.0, 0.0, 0.0)\n"


def test_a_torque_file_is_executed_last(write: Callable[..., Path], tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    write(MARKED.format(str(mark)), "mine.py")
    mine = 'model = "mine.py:f"'
    many = 'count = 3\nseed = 1\nomega = {kind = "Normal", sd = 0.1}'
    for wrong in (
        toml(torque=mine, body="moments = [1, 1, -1]"),
        toml(torque=mine, run='t_span = [0, 1]\nstep = -0.1\nmethod = "MR2"'),
        toml(torque=mine, run='t_span = [0, 1]\nstep = 0.1\nmethod = "MR3000"'),
        toml(torque=mine, run=f"{GOOD['run']}\nt_eval = [0.5, 0.2]"),
        toml(torque=mine, initial="omega = [1, 2, 3]\nquaternion = [0, 0, 0, 0]"),
        toml(torque=mine, output='file = "../x.nc"'),
        toml(torque=f"{mine}\nparameters = ['a']"),
        toml(torque=f"{mine}\nparameter = [1]"),
        toml(torque=mine, ensemble=many.replace("Normal", "Norml")),
        toml(torque=mine, ensemble=f'{many}\nreduce.x = "omga.mean(body)"'),
    ):
        with pytest.raises(ScenarioError):
            load_scenario(write(wrong))
        assert not mark.exists(), wrong
    draft = check_scenario(write(toml(torque=mine, ensemble=f'{many}\nparameters = {{kind = "Normal", sd = 1.0}}')))
    assert not mark.exists()
    assert draft.scenario().torque.name == "f"
    assert mark.exists()


def test_a_torque_file_lies_in_the_folder(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "folder" / "below").mkdir(parents=True)
    mark = tmp_path / "executed"
    outside = write(MARKED.format(str(mark)), "mine.py")
    (tmp_path / "folder" / "link.py").symlink_to(outside)
    for model in ("../mine.py", str(outside), "link.py", "below/../../mine.py"):
        path = write(toml(torque=f'model = "{model}:f"'), "folder/case.toml")
        with pytest.raises(
            ScenarioError, match=r"mine\.py lies outside the folder .*--trust \(in Python: trust=True\)"
        ):
            load_scenario(path)
        assert not mark.exists()
        assert load_scenario(path, trust=True).torque.name == "f"
        mark.unlink()
    write(MARKED.format(str(mark)), "folder/below/mine.py")
    load_scenario(write(toml(torque='model = "below/mine.py:f"'), "folder/case.toml"))


def test_a_torque_file_that_exits(write: Callable[..., Path]) -> None:
    write("import sys\nsys.exit(3)\n", "mine.py")
    with pytest.raises(ScenarioError, match=r"mine\.py, line 2 raised SystemExit: 3"):
        load_scenario(write(toml(torque='model = "mine.py:f"')))


# --- what is said of bad files -------------------------------------------------------------------------------------

RUN = GOOD["run"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # unknown and missing keys
        (toml(run='t_span = [0, 1]\nstepp = 0.1\nmethod = "MR2"'), "run.stepp: unknown key; did you mean 'step'?"),
        (toml(bdy="x = 1"), "bdy: unknown key; did you mean 'body'?"),
        (toml(zzz="x = 1"), "zzz: unknown key; known are title, epoch, time_system, body, initial, torque, run, event"),
        (toml(torque='model = "HeavyTop"\nwheight = 1'), "torque.wheight: unknown key; did you mean 'weight'?"),
        (
            toml(initial='omega = [0, 0, 1]\neuler_deg = {sequenc = "Z", angles = [1]}'),
            "initial.euler_deg.sequenc: unknown key; did you mean 'sequence'?",
        ),
        (toml(run='t_span = [0, 1]\nmethod = "MR2"'), "run: give exactly one of step, rtol; found none of them"),
        ("[body]\nmoments = [1, 1, 1]", "run: missing"),
        (toml(torque="weight = 1"), "torque.model: missing: name one of `polhode torques`"),
        (toml(torque='model = "HeavyTop"'), "torque.weight: missing"),
        # one of several
        (toml(body=""), "body: give exactly one of moments, tensor, name, moments_at, tensors_at; found none of them"),
        (toml(body='moments = [1, 1, 1]\nname = "book"'), "found moments and name"),
        (toml(initial=""), "initial: give exactly one of omega, omega_deg, momentum; found none"),
        (
            toml(initial="omega = [0, 0, 1]\nquaternion = [1, 0, 0, 0]\nrotation_vector = [0, 0, 1]"),
            "initial: give at most one of quaternion, matrix, rotation_vector",
        ),
        (toml(run=f"{RUN}\nevery = 2\nsamples = 5"), "run: give at most one of every, t_eval, samples"),
        # wrong types and numbers
        (toml(body="moments = [1, true, 1]"), "body.moments[1]: must be a number, not true"),
        (toml(body='moments = [1, "2", 1]'), 'body.moments[1]: must be a number, not "2"'),
        (toml(body="moments = [1, nan, 1]"), "body.moments[1]: must be finite, not nan"),
        (toml(body="moments = [1, inf, 1]"), "body.moments[1]: must be finite, not inf"),
        (toml(body="moments = [1, 1]"), "body.moments: too few entries in [1, 1]"),
        (toml(body="moments = [1, 1, 1, 1]"), "body.moments: 4 entries where 3 are wanted: [1, 1, 1, 1]"),
        (toml(body="moments = 1"), "body.moments: must be a list in brackets, not 1"),
        (toml(body="moments = 1979-05-27"), 'body.moments: must be a list in brackets, not "1979-05-27"'),
        (toml(body="moments = [1, 1, 1]\nallow_unphysical = 1"), "body.allow_unphysical: must be true or false, not 1"),
        (toml(body="name = 5"), "body.name: must be text in quotes, not 5"),
        ("body = 1\n", "body: must be a table, not 1"),
        (toml(run='t_span = [0, 1]\nstep = nan\nmethod = "MR2"'), "run.step: must be finite, not nan"),
        (toml(run='t_span = [0, 1]\nstep = true\nmethod = "MR2"'), "run.step: must be a number, not true"),
        (toml(run=f"{RUN}\nevery = 1.5"), "run.every: must be a whole number, not 1.5"),
        (toml(run=f"{RUN}\nevery = 0"), "run.every: input should be greater than or equal to 1, not 0"),
        (toml(run=f"{RUN}\nsamples = 1"), "run.samples: input should be greater than or equal to 2, not 1"),
        (toml(run=f"{RUN}\nsamples = 10000000000"), "run.samples: input should be less than or equal to 50000000"),
        (toml(run='t_span = [0, 1e9]\nstep = 1e-3\nmethod = "MR2"'), "run: 1e+12 rows of output"),
        # values that make no sense
        (toml(body="moments = [1, 1, 3]"), "body: no body has the moments 1, 1, 3"),
        (toml(body="moments = [1, -1, 1]"), "body: moments of inertia must be positive, not 1, -1, 1"),
        (toml(body='name = "bok"'), "body: there is no body 'bok': did you mean 'book'?"),
        (
            toml(body="tensor = [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]"),
            "body: an inertia tensor is symmetric, but inertia[0, 1] = 0.5",
        ),
        (toml(run='t_span = [0, 1]\nstep = 1\nmethod = "MR3"'), "run.method: there is no method 'MR3': did you mean"),
        (toml(torque='model = "HevyTop"'), "torque.model: there is no torque 'HevyTop': did you mean 'HeavyTop'?"),
        (toml(torque='model = "HeavyTop"\nweight = true'), "torque.weight: must be a number, not true"),
        (toml(torque='model = "HeavyTop"\nweight = nan'), "torque: weight must be finite, not nan"),
        (toml(torque='model = "HeavyTop"\nweight = 1\ndown = [0, 0, 0]'), "torque: down must point somewhere"),
        (
            toml(torque='model = "LinearDamping"\ncoefficient = "x"'),
            'torque.coefficient: must be a number, not "x"; or',
        ),
        (toml(torque='model = "PiecewiseTorque"\nsegments = []'), "torque: segments must be a list of pairs"),
        (
            toml(initial='omega = [0, 0, 1]\neuler_deg = {sequence = "ZxZ", angles = [1, 2, 3]}'),
            "initial.euler_deg: sequence must be up to three of XYZ (turning axes) or of xyz (fixed axes)",
        ),
        (
            toml(initial='omega = [0, 0, 1]\neuler_deg = {sequence = "ZZX", angles = [1, 2, 3]}'),
            "sequence 'ZZX' turns about Z twice in a row",
        ),
        (
            toml(initial='omega = [0, 0, 1]\neuler_deg = {sequence = "ZXZ", angles = [1, 2]}'),
            "sequence 'ZXZ' needs 3 angles, not 2",
        ),
        (toml(run='t_span = [0, 0]\nstep = 1\nmethod = "MR2"'), ".toml: t_span must have a length"),
        (toml(run='t_span = [0, 1]\nstep = -1\nmethod = "MR2"'), ".toml: step -1 leads away from 1"),
        (toml(run='t_span = [0, 1]\nstep = 0\nmethod = "MR2"'), ".toml: step must not be zero"),
        (toml(run=f"{RUN}\nt_eval = [0.5, 2]"), ".toml: t_eval[1] = 2.0 lies outside t_span"),
        (toml(run=f"{RUN}\nt_eval = []"), ".toml: t_eval must be a list of times"),
        (
            toml(initial="omega = [0, 0, 1]\nquaternion = [0, 0, 0, 0]"),
            ".toml: attitude must be a rotation, but the quaternion is zero",
        ),
        (
            toml(torque='model = "LinearDamping"\ncoefficient = 1.0'),
            "MR2 does not accept LinearDamping, a torque that depends on the rate: use",
        ),
        (toml(output='file = "../x.nc"'), "output: file must be a path such as 'results/top.nc'"),
        (toml(output='file = "/tmp/x.nc"'), "not '/tmp/x.nc'"),
        (toml(output='file = "x.txt"'), "ending in .nc, .csv or .parquet"),
        (toml(output='plot = "yes"'), 'output.plot: must be true or false, not "yes"'),
        # broken files
        ("[body]\nmoments = [1, 2\n[run]", "not valid TOML: Unclosed array (at line 3, column 1)"),
        ("[body]\nname = 'a'\nname = 'b'", "not valid TOML: Cannot overwrite a value"),
        ("x = " + "1" * 5000, "a whole number has thousands of digits"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("x = " + "[" * 300 + "]" * 300, "nested too deeply"),
        (".".join("a" * 400_000) + " = 1", "nested too deeply"),  # parsed, it would take 600 GB
        ("[" + " . ".join(["'a b'", '"c"'] * 100) + "]", "nested too deeply"),
        (b"title = '\xff\xfe'", "not UTF-8 text at line 1 (byte 9)"),
        (b"\x00\x01\x02", "not valid TOML"),
        (b" " * (MOST_BYTES + 1), "more than 1 MB"),
        ("", "body: missing"),
    ],
)
def test_bad_files_are_explained(write: Callable[..., Path], text: str | bytes, expected: str) -> None:
    path = write(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    message = str(caught.value)
    assert expected in message
    assert all(line.startswith(f"{path}: ") for line in message.splitlines())
    for foreign in ("pydantic", "http", "Traceback", "Input should be a valid"):
        assert foreign not in message
    assert len(message) < 2000


def test_a_misspelt_key_is_one_problem(write: Callable[..., Path]) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(toml(run='t_span = [0, 1]\nstepp = 0.1\nmethod = "MR2"')))
    assert len(str(caught.value).splitlines()) == 1


def test_all_problems_are_told_at_once(write: Callable[..., Path]) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(toml(body="moments = [1, true, nan]", output="plt = 1")))
    assert len(str(caught.value).splitlines()) == 3


def test_countless_problems_are_counted(write: Callable[..., Path]) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write("".join(f"{'x' * 40}{i} = 1\n" for i in range(5000)) + toml()))
    lines = str(caught.value).splitlines()
    assert len(lines) == module.MOST_PROBLEMS + 1
    assert lines[-1].endswith("and 4980 more problems")


def test_a_missing_file_suggests_its_neighbour(write: Callable[..., Path], tmp_path: Path) -> None:
    write(toml(), "heavy_top.toml")
    with pytest.raises(ScenarioError, match=r"there is no such file; did you mean '.*heavy_top\.toml'\?"):
        load_scenario(tmp_path / "heavytop.toml")
    with pytest.raises(ScenarioError, match=r"there is no such file$"):
        load_scenario(tmp_path / "nowhere" / "zebra.toml")


def test_a_directory_is_not_a_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="this is a directory"):
        load_scenario(tmp_path)


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(ScenarioError, match="more than 1 MB"):
        load_scenario("/dev/zero")


def test_doubles_pass_unchanged(write: Callable[..., Path]) -> None:
    rng = np.random.default_rng(1)
    numbers = (rng.standard_normal(300) * 10.0 ** rng.integers(-300, 300, 300)).tolist()
    assert module._validated(tuple[float, ...], numbers) == tuple(numbers)
