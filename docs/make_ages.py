"""Write docs/evidence/ages.md from the drawn drifts that were run in full: `python -m docs.make_ages`."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS, PAGE = HERE / "evidence" / "ages.json", HERE / "evidence" / "ages.md"

INTRODUCTION = """\
# Ages: does the stated error hold?

<!-- Made by docs/make_ages.py from ages.json: `python -m tests.averages` goes on with it, and writes both. -->

Every drift states its error. Here drifts are drawn and compared with runs in full over
the same span: `tests/averages/drawn.py` draws bodies of all shapes (any, plates, rods,
nearly symmetric, nearly round; half of them with tilted axes), starts in both modes and
near the axes, spans of 10,000 to 100,000 turns forward and backward, torques that move
momentum and energy by 1 % to 50 % where they do not average out, and `rtol` from 1e-7
to 1e-4. Both are seen as means under a window that the package does not use, at three
places of the span; the error is the greatest distance of momentum and energy, relative
to the start. A run in full has `rtol=1e-9`; where its distance is more than half of
what is stated, one with `rtol=1e-11` decides.
"""


def compared(rows: list[Any]) -> list[Any]:
    """The rows that were run in full."""
    return [row for row in rows if not row["refused"]]


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def page() -> str:
    """The page."""
    known = json.loads(ROWS.read_text("utf-8"))
    rows = compared(known["rows"])
    held = [row for row in rows if row["true"] <= row["stated"]]
    given_up = [row for row in known["rows"] if row["refused"].startswith("given up")]
    failed = [row for row in known["rows"] if row["refused"].startswith("failed")]
    refused = len(known["rows"]) - len(rows) - len(given_up) - len(failed)
    lines = [
        INTRODUCTION,
        f"Run on {known['date']} with version {known['polhode']}: **{len(held)} of {len(rows)}** are",
        f"below what was stated. {refused} more were refused with a sentence, {len(failed)} failed, and",
        f"{len(given_up)} were given up after 90 s of processor time.",
        "",
        "| torque | problems | below | ended early | turns, median | stated, median | stated over true: least | median "
        "| drift, median | in full, median |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        ratios = [row["stated"] / max(row["true"], 1e-300) for row in own]
        drifted, in_full = (_median([row["seconds"][k] for row in own]) for k in (0, 1))
        lines.append(
            f"| {kind} | {len(own)} | {sum(r >= 1.0 for r in ratios)} | {sum(bool(row['ended']) for row in own)} "
            f"| {_median([row['turns'] for row in own]):,.0f} | {_median([row['stated'] for row in own]):.1e} "
            f"| {min(ratios):.2g} | {_median(ratios):.2g} | {drifted:.2f} s | {in_full:.2f} s |"
        )
    lines += [
        f"\nAbove: problem {row['seed']} ({row['kind']}), stated {row['stated']:.1e}, true {row['true']:.1e}."
        for row in rows
        if row["true"] > row["stated"]
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
