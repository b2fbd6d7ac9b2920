"""Nonsense as input: scenario files, arguments, torques."""

import random
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults.disk import damaged
from tests.faults.trial import Bench, Tally, trial

EXAMPLES = Path(__file__).parents[2] / "examples"
NONSENSE = [
    "nan", "inf", "-inf", "0", "-1", "1e308", "1e-320", "1e400", "''", '"1"', "[]", "[[]]", "{}", "true", "10**9",
    "99999999999999999999", "[1, 2]", "[nan, 1, 1]", "[0.0, 0.0, 0.0]", '["a", "b", "c"]', "[1, 2, 3, 4]",
    "1979-05-27", '"../../../etc/passwd"', '"MR2(axes=999)"', '"HeavyTop"', "[[1,0,0],[0,1,0],[0,0,1]]",
    '"\\u0000"', f'"{"x" * 300}"',
]  # fmt: skip


def _wrong(text: str, chance: random.Random) -> bytes:
    """Returns a scenario with something wrong in it."""
    kind = chance.choice(["bytes", "value", "value", "value", "line", "twice", "table"])
    lines = text.splitlines()
    given = [k for k, line in enumerate(lines) if re.match(r"\s*\w+\s*=", line)]
    k = chance.choice(given)
    if kind == "bytes":
        return damaged(text.encode(), chance)
    if kind == "value":
        lines[k] = f"{lines[k].partition('=')[0]}= {chance.choice(NONSENSE)}"
    elif kind == "line":
        del lines[k]
    elif kind == "twice":
        lines.insert(k, lines[k])
    else:
        tables = [i for i, line in enumerate(lines) if line.startswith("[")]
        lines[chance.choice(tables)] = chance.choice(["[run]", "[nothing]", "[body]", "[[run]]", "[torque.inner]"])
    return "\n".join(lines).encode()


@trial("fuzzed scenario files", "they are read, or refused by a message that names the file", short=150, full=4000)
def fuzzed_scenarios(bench: Bench, size: int, tally: Tally) -> None:
    from polhode.scenario import ScenarioError, load_scenario

    folder = bench.folder / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    texts = [p.read_text("utf-8") for p in sorted(folder.glob("*.toml"))]
    file = folder / "wrong.toml"
    for _ in range(size):
        made = _wrong(bench.chance.choice(texts), bench.chance)
        file.write_bytes(made)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                load_scenario(file)
            tally.add(True)
        except ScenarioError as problem:
            tally.add("wrong.toml" in str(problem), f"the message names no file: {problem}")
        except Exception as problem:
            tally.add(False, f"{type(problem).__name__}: {problem} for {made!r}")


VALUES: list[Any] = [
    None, "", "1", b"1", 0, -1, 1, 3.5, 1e308, -1e308, 1e-320, float("nan"), float("inf"), 10**30, True, 1j, [], {},
    set(), [1, 2], [1, 2, 3], [1, 2, 3, 4], [0, 0, 0], [float("nan")] * 3, [[1, 2, 3]], np.zeros(3), np.ones((3, 3)),
    np.eye(3), np.array(["a", "b", "c"]), np.zeros(0), object(), print, (0, 1), (1, 0), (0, float("inf")), range(3),
    np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]), np.datetime64("now"), "RK4", "MR2(axes=7)", ["RK4"], 2**63,
    np.float32(1),
]  # fmt: skip


@trial(
    "nonsense as arguments of `simulate`, `ensemble`, `Body` and `FreeMotion`",
    "an answer, or a ValueError, TypeError or MemoryError that says why",
    short=100, full=6000,
)  # fmt: skip
def fuzzed_arguments(bench: Bench, size: int, tally: Tally) -> None:
    import polhode as ph

    body, chance = ph.Body([1.0, 2.0, 2.5]), bench.chance
    run = {"omega": [1, 2, 3], "attitude": None, "t_span": (0, 1), "step": 0.1, "method": "Exact"}
    many = {"omega": [[1, 2, 3]] * 4, "parameters": None, "count": None, "seed": None, "t_span": (0, 1), "threads": 1}
    calls: list[tuple[Any, dict[str, Any]]] = [
        (lambda **k: ph.Body(**k), {"moments": [1, 2, 2.5]}),
        (lambda **k: ph.simulate(body, **k), {**run, "t_eval": None, "every": None}),
        (lambda **k: ph.simulate(body, **k), {"omega": [1, 2, 3], "t_span": (0, 1), "rtol": 1e-6}),
        (lambda **k: ph.ensemble(body, **k), {**many, "step": 0.1, "method": "Exact"}),
        (lambda **k: ph.FreeMotion(body, **k), {"omega": [1, 2, 3], "attitude": None, "t0": 0.0}),
        (lambda t: ph.FreeMotion(body, [1, 2, 3]).at(t), {"t": 1.0}),
        (lambda **k: ph.HeavyTop(**k), {"weight": 1.0, "point": (0, 0, 1)}),
    ]
    for _ in range(size):
        f, usual = chance.choice(calls)
        name, value = chance.choice(list(usual)), chance.choice(VALUES)
        given = {**usual, name: value}
        if isinstance(value, int | float) and name in ("step", "t_span", "rtol", "count", "every"):
            given["t_span"] = (0, 1)  # what is asked for must not take long
            if name in ("count", "step") and not 1e-3 < abs(value) < 1e3:
                continue
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                f(**given)
            tally.add(True)
        except (ValueError, TypeError, MemoryError, ph.SimulationFailed) as problem:
            tally.add(bool(str(problem)), f"{name}={value!r}: no message")
        except Exception as problem:
            tally.add(False, f"{name}={value!r}: {type(problem).__name__}: {problem}")
