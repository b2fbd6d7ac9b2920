"""Put the outcome of `polhode reproduce` into the documentation: `python -m docs.make_reproduction DIRECTORY`.

Studies in the directory take the place of those that are kept, so that a few may be run anew; the two figures that the
README shows are copied, the claims are written as a page to read, and the count of verdicts goes into the README.
Without a directory page and count are written anew from the claims that are kept.
"""

import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from polhode.papers.report import small
from polhode.papers.study import RULE, Claim, ClaimVerdict
from polhode.text.references import citation

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PLACE = HERE / "evidence"
CLAIMS, PAGE = PLACE / "claims.json", PLACE / "claims.md"
SHOWN = ("krysl2004/fig12", "vilmart2008/fig2")
COUNTS = re.compile(r"(?<=<!-- counts -->).*?(?=<!-- end -->)", re.DOTALL)

INTRODUCTION = f"""\
# What five papers claim, and what was measured

<!-- Made by docs/make_reproduction.py from claims.json: run `polhode reproduce`, and that. -->

`polhode reproduce` reruns every figure, table and claim of five papers, judges each claim by a measurement, and leaves
a report with the figures; `polhode reproduce krysl2004/fig13` does so for one of them. Verdicts are computed:
[claims.json](claims.json) has the test of each. Execution times are those of one machine; judged are their ratios.

{textwrap.fill(RULE, 120)}
"""


class Judged(NamedTuple):
    """Holds a claim, and the study that has judged it."""

    study: str
    claim: Claim

    @property
    def paper(self) -> str:
        """The key of the paper."""
        return self.study.partition("/")[0]

    def link(self, *, in_full: bool) -> str:
        """Returns the study, with a link to its file."""
        label = self.study if in_full else self.study.partition("/")[2]
        return f"[{label}](../../src/polhode/papers/{self.study}.py)"


def kept() -> dict[str, Any]:
    """Returns the outcome that the documentation keeps."""
    found: dict[str, Any] = json.loads(CLAIMS.read_text("utf-8"))
    return found


def merged(before: dict[str, Any], made: Path) -> dict[str, Any]:
    """Returns the outcome that is kept, with the studies that a directory holds in place of earlier ones."""
    studies = dict(before["studies"])
    for file in sorted(made.glob("*/*.json")):
        record = json.loads(file.read_text("utf-8"))
        if record.pop("size") != "full":
            raise SystemExit(f"{made} holds a quick run: the documentation shows a full one")
        studies[f"{file.parent.name}/{file.stem}"] = record
    return {"studies": studies}


def versions() -> str:
    """Returns which version has run the studies, in a sentence."""
    by = Counter(outcome["polhode"] for outcome in kept()["studies"].values())
    listed = [f"{count} by version {version}" for version, count in sorted(by.items(), reverse=True)]
    return f"Studies were run: {', '.join(listed)}; [claims.json](claims.json) says which."


def judged() -> list[Judged]:
    """Returns the claims of all studies."""
    return [
        Judged(study, Claim(**{**c, "verdict": ClaimVerdict(c["verdict"])}))
        for study, outcome in kept()["studies"].items()
        for c in outcome["claims"]
    ]


def counts() -> str:
    """Returns the verdicts in the kept claims, in a sentence."""
    verdicts = Counter(j.claim.verdict for j in judged())
    words = {
        ClaimVerdict.REPRODUCED: "are reproduced",
        ClaimVerdict.UNDER_A_READING: "are under a stated reading",
        ClaimVerdict.NOT: "are not",
    }
    listed = ", ".join(f"{verdicts[verdict]} {said}" for verdict, said in words.items())
    return f"{len(kept()['studies'])} studies, {verdicts.total()} claims: {listed}."


def page() -> str:
    """Returns all claims: those that do not reproduce, then the others, paper by paper."""
    claims = judged()
    others = [j for j in claims if j.claim.verdict is not ClaimVerdict.NOT]
    parts = [INTRODUCTION + "\n" + counts(), versions(), _summary(claims)]
    parts += _section("##", ClaimVerdict.NOT, claims, "What was found")
    for paper in dict.fromkeys(j.paper for j in claims):
        parts += [f"## {paper}", citation(paper)]
        of_paper = [j for j in others if j.paper == paper]
        for verdict in reversed(ClaimVerdict):
            parts += _section("###", verdict, of_paper, "" if verdict is ClaimVerdict.REPRODUCED else "Reading")
    return "\n\n".join(parts) + "\n"


def _summary(claims: Sequence[Judged]) -> str:
    """Returns a table of claims by paper and verdict."""
    shown = [v for v in ClaimVerdict if any(j.claim.verdict is v for j in claims)]
    rows = []
    for paper in [*dict.fromkeys(j.paper for j in claims), "all"]:
        verdicts = Counter(j.claim.verdict for j in claims if paper in (j.paper, "all"))
        rows.append([paper, *(str(verdicts[v]) for v in shown)])
    return _table(["", *(v.value for v in shown)], rows)


def _section(level: str, verdict: ClaimVerdict, claims: Sequence[Judged], why: str) -> list[str]:
    """Returns the claims with this verdict, as a table; where a measurement says it all, without the reason."""
    rows = []
    for j in claims:
        c = j.claim
        if c.verdict is verdict:
            cells = [f"{c.says} ({c.source})", c.paper, c.measured, *([c.reason] if why else [])]
            rows.append([j.link(in_full=verdict is ClaimVerdict.NOT), *map(plain, cells)])
    if not rows:
        return []
    head = ["Study", "Claim", "Paper", "Measured", *([why] if why else [])]
    return [f"{level} {verdict.value[0].upper()}{verdict.value[1:]}: {len(rows)}", _table(head, rows)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def plain(text: str) -> str:
    """Returns text that Markdown leaves alone."""
    return re.sub(r"([|*<\[\]])", r"\\\1", text)


def main(directory: str | None = None) -> None:
    """Copies the files and writes the pages."""
    if directory is not None:
        made = Path(directory)
        CLAIMS.write_text(json.dumps(merged(kept(), made), indent=1) + "\n", "utf-8")
        for study in SHOWN:
            picture = made / f"{study}.png"
            kept_as = HERE / "figures" / f"{study.replace('/', '_')}.png"
            if picture.exists():
                kept_as.write_bytes(small(picture, picture.stat().st_mtime_ns))
    PAGE.write_text(page(), "utf-8")
    README.write_text(COUNTS.sub(f"\n{counts()}\n", README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
