"""The report: one HTML page that needs nothing else."""

import base64
import html
import io
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from polhode import __version__
from polhode.page.html import policy
from polhode.papers._reproduce import Outcome
from polhode.papers.study import RULE, ClaimVerdict, Size

COLOURS = {
    ClaimVerdict.REPRODUCED: ("#d8efe6", "#00573f"),
    ClaimVerdict.UNDER_A_READING: ("#fdf0cc", "#6b4e00"),
    ClaimVerdict.NOT: ("#f9ddd0", "#8a3300"),
    ClaimVerdict.NOT_JUDGED: ("#e8e8e8", "#444444"),
}
"""Background and text colours of a verdict. Its words are shown as well, for readers who do not see the colours."""
STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.86rem; }
.wide { overflow-x: auto; }
th, td { border: 1px solid #ccc; padding: 0.35rem 0.5rem; text-align: left; vertical-align: top; }
th { background: #f3f3f3; }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; }
h1, h2, figcaption { overflow-wrap: anywhere; }
figcaption, .small { font-size: 0.9rem; color: #444; }
code { background: #f3f3f3; padding: 0 0.2rem; }
iframe { width: 100%; height: 48rem; border: 1px solid #ccc; }
summary { cursor: pointer; font-weight: 600; }
.verdict { white-space: nowrap; font-weight: 600; padding: 0.1rem 0.4rem; border-radius: 0.3rem; }
""" + "\n".join(f".{v.name} {{ background: {back}; color: {text}; }}" for v, (back, text) in COLOURS.items())

OPENING = """
for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => {
    const frame = details.querySelector("iframe");
    if (details.open) frame.srcdoc = frame.dataset.page; else frame.removeAttribute("srcdoc");
  });
}
"""
"""Loads a page when its reader opens it, and ends it after that: browsers draw a few such scenes at a time."""


def page(outcomes: Sequence[Outcome], size: Size, unfinished: int = 0) -> str:
    """The page: the claims as a table, then every figure."""
    counts = ", ".join(
        f"{sum(o.count(v) for o in outcomes)} {v.value}" for v in ClaimVerdict if any(o.count(v) for o in outcomes)
    )
    motions = [f.read_text("utf-8") for o in outcomes if not o.problem for f in o.files if f.suffix == ".html"]
    rest = f" {unfinished} figures are still to come." if unfinished else ""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
            policy(OPENING, STYLE, motions),
            "<title>Five papers on rigid bodies, reproduced</title>",
            f"<style>{STYLE}</style></head><body>",
            "<h1>Five papers on the rotation of rigid bodies, reproduced</h1>",
            f"<p>Made by polhode {__version__} ({size.value} size) on {datetime.now(UTC):%Y-%m-%d}, "
            f"{html.escape(platform.processor() or platform.machine())}, Python {platform.python_version()}. "
            f"Claims: {counts or 'none yet'}.{rest} Execution times are those of this machine; what is judged are "
            "their ratios. Every verdict is computed from the measurement beside it.</p>",
            f"<p>{RULE}</p>",
            "<h2>Claims</h2>",
            _claims(outcomes),
            *(_figure(o) for o in outcomes),
            f"<script>{OPENING}</script>",
            "</body></html>",
        ]
    )


def _claims(outcomes: Sequence[Outcome]) -> str:
    rows = [
        f'<tr><td><a href="#{o.study.id}">{o.study.id}</a><br><span class="small">{html.escape(c.source)}</span></td>'
        f"<td>{html.escape(c.says)}</td><td>{html.escape(c.paper)}</td><td>{html.escape(c.measured)}</td>"
        f"<td>{_badge(c.verdict)}<br>{html.escape(c.reason)}</td></tr>"
        for o in outcomes
        for c in o.claims
    ]
    head = "<tr><th>where</th><th>claim</th><th>paper</th><th>measured</th><th>verdict</th></tr>"
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _badge(verdict: ClaimVerdict) -> str:
    return f'<span class="verdict {verdict.name}">{verdict.value}</span>'


def _figure(outcome: Outcome) -> str:
    study = outcome.study
    head = f'<h2 id="{study.id}">{study.id}: {html.escape(study.title)}</h2>'
    if outcome.problem:
        return f"{head}<p><strong>Could not be run:</strong> {html.escape(outcome.problem)}</p>"
    picture = next(f for f in outcome.files if f.suffix == ".png")
    png = small(picture, picture.stat().st_mtime_ns)
    image = f'<img alt="{html.escape(study.title)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
    made = f"papers/{study.paper}/{study.name}.py, {outcome.seconds:.1f} s"
    badges = " ".join(_badge(c.verdict) for c in outcome.claims)
    turning = "".join(_turning(f) for f in outcome.files if f.suffix == ".html")
    return (
        f"{head}<figure>{image}<figcaption>{html.escape(study.caption)}<br>"
        f"<code>{made}</code> {badges}</figcaption></figure>{turning}"
    )


def _turning(page: Path) -> str:
    """The page with the motions of a study, which is loaded when the reader opens it (`OPENING`)."""
    text = html.escape(page.read_text("utf-8"))
    return (
        "<details><summary>See it turn</summary>"
        f'<iframe data-page="{text}" sandbox="allow-scripts" title="the motion"></iframe></details>'
    )


@cache
def small(picture: Path, made: int) -> bytes:
    """The picture in a palette of colours, a third of the size; kept, since every study writes the page again."""
    from PIL import Image

    small = io.BytesIO()
    with Image.open(picture) as image:
        image.convert("RGB").quantize(96).save(small, format="png", optimize=True)
    return small.getvalue()
