"""The manifest of a plan: everything that is decided once for all parts, as JSON with a digest of itself."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass, fields
from importlib.metadata import version
from typing import Any

from polhode import __version__
from polhode.ensembles.batch import Survey
from polhode.ensembles.pilots import Found
from polhode.ensembles.refine import Foresight
from polhode.integration.binding import Others
from polhode.io.records import is_own, read_method
from polhode.methods import Method
from polhode.tolerance.choice import Candidate
from polhode.tolerance.estimate import Factors

FORMAT, FORMAT_VERSION = "polhode plan", 2
"""The name and the version of the format."""
LIBRARIES = ("numpy", "numba", "llvmlite")
"""The packages whose versions may change bits: NumPy draws samples, the others make machine code."""


class PlanError(ValueError):
    """A store and a plan that do not belong together, or a plan that cannot be trusted."""


@dataclass(frozen=True, eq=False)
class Manifest:
    """What is decided: the question, what the search found, the parts, and the bits of the first bodies."""

    contents: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.contents[name]

    @property
    def digest(self) -> str:
        """The digest of all the rest, by which parts know their plan."""
        return str(self.contents["digest"])

    @property
    def count(self) -> int:
        """The number of bodies."""
        return int(self["question"]["count"])

    @property
    def part_bodies(self) -> int:
        """The number of bodies of a part; the last one may have fewer."""
        return int(self["parts"]["bodies"])

    @property
    def parts(self) -> int:
        """The number of parts."""
        return int(self["parts"]["count"])

    def bodies(self, part: int) -> range:
        """The numbers of the bodies of a part."""
        first = part * self.part_bodies
        return range(first, min(self.count, first + self.part_bodies))

    @classmethod
    def made(cls, **contents: Any) -> Manifest:
        """A manifest with its digest."""
        contents = {"format": FORMAT, "format_version": FORMAT_VERSION, **contents}
        contents = json.loads(json.dumps(contents))  # as it will be read
        return cls({**contents, "digest": json_digest(contents)})

    def text(self) -> str:
        """The manifest as JSON, for people to read."""
        return json.dumps(self.contents, indent=1) + "\n"

    @classmethod
    def read(cls, raw: bytes, where: str) -> Manifest:
        """Reads a manifest; refuses one that was changed after it was written."""
        try:
            contents = json.loads(raw)
            digest = contents.pop("digest")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise PlanError(f"the manifest of {where} is damaged: delete the store, and plan anew") from None
        if contents.get("format") != FORMAT or contents.get("format_version") != FORMAT_VERSION:
            raise PlanError(
                f"{where} is no plan that this version of polhode reads: it says it is a {contents.get('format')!r}, "
                f"version {contents.get('format_version')!r}; make a new plan with another store"
            )
        if digest != json_digest(contents):
            raise PlanError(
                f"the manifest of {where} was changed after it was written, and parts that are there belong to the old "
                "one: undo the change, or make a new plan with another store"
            )
        return cls({**contents, "digest": digest})

    def check_question(self, question: dict[str, Any], where: str) -> None:
        """Raises PlanError, with what differs, unless the plan was made for this question."""
        asked, planned = json.loads(json.dumps(question)), self["question"]
        differ = [name for name in {**planned, **asked} if planned.get(name) != asked.get(name)]
        if differ:
            listed = "; ".join(f"{n} is {_short(planned.get(n))} there and {_short(asked.get(n))} here" for n in differ)
            raise PlanError(f"{where} belongs to another plan: {listed}. Choose another store, or delete this one")

    def check_versions(self, where: str, who: str = "this process") -> None:
        """Raises PlanError if this process has other versions than the one that made the plan."""
        for name, here in versions().items():
            there = self["versions"].get(name)
            if there != here and name != "python":
                raise PlanError(
                    f"{who} has {name} {here}, but {where} was begun with {name} {there}, and the bits could differ: "
                    f"install {name} {there}, or begin a new store"
                )


def versions() -> dict[str, str]:
    """The versions that may change bits."""
    found = {name: version(name) for name in LIBRARIES}
    return {"polhode": __version__, "python": platform.python_version(), **found}


def json_digest(contents: dict[str, Any]) -> str:
    """The SHA-256 of what can be written as JSON."""
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- what survey and pilots found ----------------------------------------------------------------------------------


def survey_record(survey: Survey, lead: int) -> dict[str, Any]:
    """The survey for JSON; `lead` is the fastest body that can start."""
    others = survey.others
    return {
        "lead": lead, "tilted": others.tilted, "differ_in_symmetry": others.many, "effort": list(others.effort),
        "gyrostats": others.gyrostats,
    }  # fmt: skip


def read_survey(record: dict[str, Any]) -> Survey:
    """The survey of such a record."""
    others = Others(
        bool(record["tilted"]), bool(record["differ_in_symmetry"]),
        (float(record["effort"][0]), float(record["effort"][1])), bool(record["gyrostats"]),
    )  # fmt: skip
    return Survey((int(record["lead"]),), others)


def found_record(found: Found | None) -> dict[str, Any] | None:
    """What pilots have found, for JSON; infinite numbers are text."""
    if found is None:
        return None
    candidate = {f.name: _plain(getattr(found.candidate, f.name)) for f in fields(found.candidate)}
    foresight = found.foresight and {f.name: getattr(found.foresight, f.name) for f in fields(found.foresight)}
    return {"candidate": candidate, "foresight": foresight, "own_program": found.own_program}


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        return {"method": value.name, "own": is_own(value)}
    if value in (float("inf"), float("-inf")):
        return str(value)
    return list(value) if isinstance(value, Factors) else value


def read_found(record: dict[str, Any] | None, given: Method | None) -> Found | None:
    """What pilots have found; `given` is the user's own method, if it is one."""
    if record is None:
        return None

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return given if value["own"] and given is not None else read_method(value["method"], bool(value["own"]))
        if isinstance(value, list):
            return Factors(*value)
        return float(value) if isinstance(value, str) else value

    candidate = Candidate(**{name: read(value) for name, value in record["candidate"].items()})
    foresight = None if record["foresight"] is None else Foresight(**record["foresight"])
    return Found(candidate, foresight, bool(record["own_program"]))
