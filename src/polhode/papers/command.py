"""What `polhode reproduce` prints."""

from collections.abc import Callable, Sequence
from pathlib import Path

from polhode.papers._reproduce import Outcome, reproduce
from polhode.papers.study import ClaimVerdict, Size, Study

Say = Callable[[str], None]

SHORT = {
    ClaimVerdict.REPRODUCED: "reproduced",
    ClaimVerdict.UNDER_A_READING: "under a reading",
    ClaimVerdict.NOT: "not",
    ClaimVerdict.NOT_JUDGED: "not judged",
}


def listing(studies: Sequence[Study], say: Say) -> None:
    """Prints the names and titles of the studies."""
    width = max(len(s.id) for s in studies)
    for study in studies:
        say(f"{study.id:{width}}  {study.title}")


def run(studies: Sequence[Study], directory: Path, size: Size, say: Say, *, go_on: bool = False) -> list[Outcome]:
    """Runs the studies, prints a line for each as it ends, and a summary."""
    width = max(len(s.id) for s in studies)

    def report(outcome: Outcome, k: int, count: int) -> None:
        verdicts = ", ".join(f"{n} {SHORT[v]}" for v in ClaimVerdict if (n := outcome.count(v)))
        end = outcome.problem and f"could not be run: {outcome.problem}"
        say(f"{k:>{len(str(count))}}/{count}  {outcome.study.id:{width}}  {outcome.seconds:6.1f} s  {end or verdicts}")

    outcomes = reproduce(studies, directory, size, report, go_on=go_on)
    say("")
    say(summary(outcomes))
    say(f"report: {directory / 'report.html'}")
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> str:
    """A table of the claims by paper and verdict."""
    papers = list(dict.fromkeys(o.study.paper for o in outcomes))
    shown = [v for v in ClaimVerdict if any(o.count(v) for o in outcomes)]
    width = max(map(len, [*papers, "all"]))
    lines = [f"{'claims':{width}}" + "".join(f"  {SHORT[v]:>15}" for v in shown)]
    for paper in [*papers, "all"]:
        counted = [o for o in outcomes if paper in (o.study.paper, "all")]
        lines.append(f"{paper:{width}}" + "".join(f"  {sum(o.count(v) for o in counted):>15}" for v in shown))
    return "\n".join(lines)
