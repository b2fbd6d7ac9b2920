"""Run studies, keep their data and pictures, and write the report."""

import json
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from polhode import __version__
from polhode.api.view import runs_of
from polhode.files import netcdf
from polhode.files.atomic import whole_file
from polhode.page.display import Page, made_page
from polhode.page.html import is_built
from polhode.papers.study import Claim, ClaimVerdict, Size, Study


@dataclass
class Outcome:
    """Holds what a study has produced."""

    study: Study
    claims: list[Claim] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    seconds: float = 0.0
    problem: str = ""
    """Why the study could not be run, if so; the others go on."""

    def count(self, verdict: ClaimVerdict) -> int:
        """The number of claims with this verdict."""
        return sum(c.verdict is verdict for c in self.claims)


KINDS = ("nc", "png", "svg")
"""The endings of the files that a study writes: data and pictures."""
Report = Callable[[Outcome, int, int], None]
"""A function that is called after each study with its outcome, its number and the number of all."""


def reproduce(
    studies: Sequence[Study], directory: Path, size: Size, report: Report | None = None, *, go_on: bool = False
) -> list[Outcome]:
    """Runs the studies one after the other; data, pictures and the report go to the directory.

    The report is written again after each study, so that an interruption loses nothing. With `go_on`, studies that an
    earlier run of this version and size has finished there are skipped.
    """
    from polhode.papers.report import page

    directory.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    with _quickly(size):
        for k, study in enumerate(studies, 1):
            outcome = (_kept(study, directory, size) if go_on else None) or _one(study, directory, size)
            outcomes.append(outcome)
            if report:
                report(outcome, k, len(studies))
            with whole_file(directory / "report.html", overwrite=True) as file:
                file.write(page(outcomes, size, unfinished=len(studies) - k).encode())
    with whole_file(directory / "claims.json", overwrite=True) as file:
        listed = {o.study.id: _record(o) for o in outcomes}
        file.write(json.dumps(_heading(size) | {"studies": listed}, indent=1).encode())
    return outcomes


def _one(study: Study, directory: Path, size: Size) -> Outcome:
    outcome = Outcome(study)
    clock = time.perf_counter()
    try:
        data = study.run(size)
        outcome.claims = study.check(data, size)
        place = directory / study.paper
        place.mkdir(exist_ok=True)
        base = place / study.name
        about = {"title": f"{study.id}: {study.title}", "polhode_version": __version__, "size": size.value}
        netcdf.write(base.with_suffix(".nc"), data.variables, about, overwrite=True)
        figure = study.plot(data)
        for kind in ("png", "svg"):
            with whole_file(base.with_suffix(f".{kind}"), overwrite=True) as file:
                figure.savefig(file, format=kind)
        outcome.files = [base.with_suffix(f".{kind}") for kind in KINDS]
        if (page := _page(study, size)) is not None:
            outcome.files.append(page.save(base.with_suffix(".html"), overwrite=True))
    except Exception as problem:  # the other figures are made all the same
        where = traceback.extract_tb(problem.__traceback__)[-1]
        outcome.problem = f"{type(problem).__name__}: {problem} ({Path(where.filename).name}, line {where.lineno})"
    outcome.seconds = time.perf_counter() - clock
    if not outcome.problem:
        with whole_file(directory / study.paper / f"{study.name}.json", overwrite=True) as file:
            file.write(json.dumps(_heading(size) | _record(outcome), indent=1).encode())
    return outcome


def _page(study: Study, size: Size) -> Page | None:
    """A page with the motions of a study; None: it has none to show, or the page is not built."""
    motions = study.motions(size) if is_built() else {}
    if not motions:
        return None
    return made_page(runs_of(list(motions.values()), None, list(motions)), title=f"{study.id}: {study.title}")


def _kept(study: Study, directory: Path, size: Size) -> Outcome | None:
    """What an earlier run left of a study, if that is complete and of this version and size."""
    base = directory / study.paper / study.name
    files = [base.with_suffix(f".{kind}") for kind in KINDS]
    try:
        record = json.loads(base.with_suffix(".json").read_text("utf-8"))
        if {k: record[k] for k in _heading(size)} != _heading(size) or not all(f.exists() for f in files):
            return None
        claims = [Claim(**{**c, "verdict": ClaimVerdict(c["verdict"])}) for c in record["claims"]]
        page = base.with_suffix(".html")
        return Outcome(study, claims, [*files, *([page] if page.exists() else [])], float(record["seconds"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


@contextmanager
def _quickly(size: Size) -> Iterator[None]:
    """Disables compilation at the quick size: runs are so short that plain Python is quicker."""
    before = os.environ.get("NUMBA_DISABLE_JIT")
    if size.quick:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    try:
        yield
    finally:
        if size.quick:
            if before is None:
                del os.environ["NUMBA_DISABLE_JIT"]
            else:
                os.environ["NUMBA_DISABLE_JIT"] = before


def _heading(size: Size) -> dict[str, object]:
    return {"polhode": __version__, "size": size.value}


def _record(outcome: Outcome) -> dict[str, object]:
    """An outcome as JSON."""
    return {
        "title": outcome.study.title,
        "seconds": round(outcome.seconds, 2),
        "problem": outcome.problem,
        "claims": [_told(c) for c in outcome.claims],
    }


def _told(claim: Claim) -> dict[str, str]:
    return {k: v.value if isinstance(v, ClaimVerdict) else v for k, v in asdict(claim).items() if k != "late"}
