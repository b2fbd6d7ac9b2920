"""The check cases with their pictures: docs/reference/cases.md and a sheet for each group, written by `make docs`."""

import math
import re
import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import polhode as ph
from polhode import cases
from polhode.plots.plot import AXES, blank

HERE = Path(__file__).parent
PAGE = HERE / "reference" / "cases.md"
SHEETS = HERE / "reference" / "cases"
COLUMNS, CURVE_POINTS = 6, 400
MOST_RADIANS = 40.0
"""A longer motion is drawn up to here."""

INTRODUCTION = f"""\
# All check cases

The {len(cases.all_cases())} motions of version {cases.VERSION} with the sha256 `{cases.checksum()[:16]}...`, which
`polhode cases DIR` writes. [Check cases](../howto/cases.md) says what they are for and how to use them.

A simulator meets a case if its attitudes, in rad, and its rates, relative to the greatest, stay within the tolerance.
The last column has the simulators and settings of [the board](../evidence/engines.md) whose attitudes do not; a dash
means that the board does not have the case. Pictures show the three rates in body axes (rad/s) over time (s), of
motions of more than {MOST_RADIANS:g} rad their beginning.

```text
{cases.CONVENTIONS.split("    HeavyTop")[0].strip()}
```
"""


def page() -> str:
    """Returns the whole page, and draws the sheets that are not there."""
    missed, formulas = on_the_board(), formulas_of_torques()
    parts = [INTRODUCTION]
    for group, about in cases.GROUPS.items():
        sheet = SHEETS / f"{group}-{cases.checksum()[:8]}.png"
        chosen = cases.all_cases(group)
        if not sheet.exists():
            draw(group, [(c.name.removeprefix(f"{group}-"), *motion(c)) for c in chosen], sheet)
        models = dict.fromkeys(c.definition["torque"]["model"] for c in chosen if c.definition["torque"])
        lines = "\n".join(f"{model}: {formulas[model]}" for model in models)
        rows = [
            f"| `{c.name}` | {c.about} | {numbers(c.definition)} | {c.tolerance[0]:g} | {c.tolerance[1]:g} | "
            f"{'; '.join(missed[c.name]) if c.name in missed else '–'} |"
            for c in chosen
        ]
        head = ["| case | what moves | numbers | attitude | rate | who does not meet it |", "|---|---|---|---|---|---|"]
        parts.append(f"## {group}: {about}\n\n![Rates of the cases of the group {group}]({SHEETS.name}/{sheet.name})")
        parts += [f"```text\n{lines}\n```"] if lines else []
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join([*parts, *of_pairs()]) + "\n"


def of_pairs() -> list[str]:
    """The section of two bodies."""
    sheet = SHEETS / f"pair-{cases.checksum()[:8]}.png"
    if not sheet.exists():
        curves = []
        for c in cases.pairs():
            t = np.linspace(0.0, c.t[-1], CURVE_POINTS)
            run = ph.simulate_system(c.system, c.forces, t_span=(0.0, c.t[-1]), t_eval=t, rtol=1e-7)
            curves.append((c.name.removeprefix("pair-"), t, run.omega[:, 0]))
        draw("pair", curves, sheet)
    formula = cases.CONVENTIONS[cases.CONVENTIONS.index("Pairs are two") : cases.CONVENTIONS.index("The tolerance is")]
    rows = [
        f"| `{c.name}` | {c.about} | {'; '.join(short(s) for s in c.definition['springs'])} | "
        f"{' | '.join(f'{x:g}' for x in c.tolerance)} |"
        for c in cases.pairs()
    ]
    head = ["| case | what moves | springs | attitude | rate | position |", "|---|---|---|---|---|---|"]
    picture = f"![Rates of the first body of each pair]({SHEETS.name}/{sheet.name})"
    return ["## pair: two bodies on springs", picture, f"```text\n{formula.strip()}\n```", "\n".join([*head, *rows])]


def formulas_of_torques() -> dict[str, str]:
    """The formula of each model, from the conventions of the cases."""
    block = cases.CONVENTIONS.split("\n\n")[1]
    found = re.split(r"^    (?=[A-Z])", block, flags=re.MULTILINE)
    pairs = (re.sub(r"\s+", " ", text).strip().partition(" ")[::2] for text in found if text.strip())
    return dict(pairs)


def numbers(d: Any) -> str:
    """The body, the torque and the start of a case."""
    torque = {k: v for k, v in (d["torque"] or {}).items() if k != "model"}
    named = {**d["body"], **torque, "omega": d["omega"], "attitude": d["attitude"], "span": d["t"][-1]}
    return "; ".join(f"{name} {short(value)}" for name, value in named.items())


def short(value: Any) -> str:
    """A value with at most six digits."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {short(x)}" for name, x in value.items() if name not in ("first", "second"))
    return f"({', '.join(map(short, value))})" if isinstance(value, list) else f"{value:.6g}"


def on_the_board() -> dict[str, list[str]]:
    """Who does not meet a case, for each case that the board has."""
    missed: dict[str, list[str]] = defaultdict(list)
    text = (HERE / "evidence" / "engines.md").read_text("utf-8").partition("## Case by case")[2]
    for part in text.split("### ")[1:]:
        engine, _, table = part.partition("\n")
        head, _, *rows = ([x.strip() for x in line.strip("| ").split("|")] for line in table.strip().splitlines())
        for setting, *errors in rows:
            for name, error in zip(head[1:], errors, strict=True):
                if error != "refused" and not math.radians(float(error)) <= cases.case(name).tolerance[0]:
                    missed[name].append(f"{engine} ({setting.removeprefix('default: ')})")
                missed.setdefault(name, [])
    return missed


def motion(c: cases.Case) -> tuple[Any, Any]:
    """Times and rates of a case, up to so many radians."""
    end = min(c.duration, MOST_RADIANS / max(float(np.abs(c.rate).max()), 1e-12))
    t = np.linspace(0.0, end, CURVE_POINTS)
    if c.definition["proof"] == "theorem":
        return t, ph.FreeMotion(c.body, c.omega, c.attitude).at(t).omega
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start: dict[str, Any] = {"omega": c.omega, "attitude": c.attitude, "t_span": (0.0, end)}
        return t, ph.simulate(c.body, c.torque, **start, t_eval=t, rtol=1e-7).omega


def draw(group: str, curves: Sequence[tuple[str, Any, Any]], sheet: Path) -> None:
    """Draws the rates of all cases of a group."""
    rows = -(-len(curves) // COLUMNS)
    figure = blank(2.6 * COLUMNS, 1.7 * rows, "")
    panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for panel in panels[len(curves) :]:
        panel.set_axis_off()
    for panel, (name, t, omega) in zip(panels, curves, strict=False):
        for k, (color, _) in enumerate(AXES):
            panel.plot(t, omega[:, k], color=color, linewidth=1.0)
        panel.set_title(name, fontsize=9)
        panel.tick_params(labelsize=7)
    sheet.parent.mkdir(exist_ok=True)
    for old in sheet.parent.glob(f"{group}-*.png"):
        old.unlink()
    figure.savefig(sheet, dpi=80)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
