"""The parts of a study: named arrays, claims, verdicts."""

import enum
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polhode.files.netcdf import Variable
from polhode.support import checks
from polhode.support.arrays import Floats as Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.free.free_motion import FreeMotion
    from polhode.solution import Solution


class Size(enum.Enum):
    """How much is computed: what the paper shows, or a small part of it for tests."""

    FULL = "full"
    QUICK = "quick"

    @property
    def quick(self) -> bool:
        """Whether a small part is enough."""
        return self is Size.QUICK


class ClaimVerdict(enum.Enum):
    """How a claim was judged."""

    REPRODUCED = "reproduced"
    UNDER_A_READING = "reproduced under a stated reading"
    NOT = "does not reproduce"
    NOT_JUDGED = "not judged at this size"


@dataclass(frozen=True)
class Claim:
    """Holds something that a paper says, and what was measured."""

    says: str
    """The claim, in our words."""
    source: str
    """The place in the paper."""
    paper: str
    """The paper's value."""
    measured: str
    verdict: ClaimVerdict
    reason: str
    """The reason of the verdict, in a sentence: the inequality that was tested, the reading, or what differs."""
    late: str = ""
    """Why the quick size cannot judge the claim; empty: it can."""


ABOUT = 10**0.5
"""A number reproduces another if neither is more than this factor above the other: both have the same order."""

RULE = (
    f"One rule holds for all papers. A size reproduces a printed one if neither is more than {ABOUT:.2g} times the "
    "other: a far smaller error does not reproduce a printed one. A reading is one for the whole paper, or its claim "
    "lists what each reading gives; no reading is chosen claim by claim. Every test can fail: other data give other "
    "verdicts."
)
"""The rule for verdicts, as the report and the page of claims state it."""


def about(value: float, printed: float) -> bool:
    """Whether two numbers have one order, in both directions: a far smaller error does not reproduce a printed one."""
    return bool(printed / ABOUT < value < printed * ABOUT)


def claim(
    says: str,
    *,
    paper: str,
    measured: str,
    holds: bool,
    test: str,
    reading: str = "",
    holds_when_read_so: bool = False,
    otherwise: str = "",
    source: str = "",
    late: str = "",
) -> Claim:
    """A claim with its verdict, which follows from what was measured.

    It follows the `RULE`: sizes are compared by `about`, and `tests/papers/test_verdicts.py` changes the data of each
    study. `holds` is the outcome of `test`, an inequality in words, for the claim as it is printed. If it fails,
    `holds_when_read_so` is the outcome under a `reading`, which says what was understood differently. `otherwise` says
    what is known about a claim that fails. `late` says why the quick size cannot judge the claim. A study sets the
    default of `source` as WHERE, that of `late` as LATE.
    """
    if holds:
        return Claim(says, source, paper, measured, ClaimVerdict.REPRODUCED, test, late)
    if reading and holds_when_read_so:
        return Claim(says, source, paper, measured, ClaimVerdict.UNDER_A_READING, reading, late)
    return Claim(says, source, paper, measured, ClaimVerdict.NOT, otherwise or f"fails: {test}", late)


def named(dimensions: str, values: Any, what: str, unit: str = "1") -> Variable:
    """An array with the names of its dimensions, in one string, a description, and its unit."""
    data = np.asarray(values)
    if data.ndim == 0:
        raise ValueError(f"{what} must be an array: a single number is one of length 1")
    if data.dtype.kind != "U":
        data = data.astype(np.float64)
    return Variable(tuple(dimensions.split()), data, {"long_name": what, "units": unit})


class Data(Mapping[str, NDArray[Any]]):
    """Holds named arrays: as a mapping the bare numbers, in `variables` with dimensions and units."""

    def __init__(self, **variables: Variable) -> None:
        self.variables = variables
        sizes: dict[str, int] = {}
        for name, v in variables.items():
            for dimension, size in zip(v.dimensions, v.data.shape, strict=True):
                if sizes.setdefault(dimension, size) != size:
                    raise ValueError(f"{name} has {size} along {dimension}, but another array has {sizes[dimension]}")

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.variables[name].data

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)


class Study(NamedTuple):
    """Is the file of one figure, table, task or set of claims."""

    paper: str
    name: str
    module: ModuleType

    @property
    def id(self) -> str:
        """The name as it is typed: krysl2004/fig10."""
        return f"{self.paper}/{self.name}"

    @property
    def title(self) -> str:
        """What the figure shows, in a line."""
        return self._text[0]

    @property
    def caption(self) -> str:
        """What is drawn and with which parameters, in our words."""
        return " ".join(str(getattr(self.module, "CAPTION", self._text[1])).split())

    @property
    def _text(self) -> tuple[str, str]:
        title, _, caption = (self.module.__doc__ or "").partition("\n")
        return title, caption

    def run(self, size: Size) -> Data:
        """Computes the data."""
        data: Data = self.module.run(size)
        return data

    def check(self, data: Data, size: Size) -> list[Claim]:
        """Judges the claims; at the quick size those that need the full one are not judged."""
        where, late = (getattr(self.module, name, "") for name in ("WHERE", "LATE"))
        claims: list[Claim] = [replace(c, source=c.source or where) for c in self.module.check(data, size)]
        if not size.quick:
            return claims
        return [replace(c, verdict=ClaimVerdict.NOT_JUDGED, reason=r) if (r := c.late or late) else c for c in claims]

    def motions(self, size: Size) -> "dict[str, Solution | FreeMotion]":
        """Motions to look at, by what they are called; the first is the one that others are compared with."""
        found: dict[str, Solution | FreeMotion] = self.module.motions(size) if hasattr(self.module, "motions") else {}
        return found

    def plot(self, data: Data) -> "Figure":
        """Draws the figure."""
        figure: Figure = self.module.plot(data)
        return figure


def studies() -> dict[str, Study]:
    """All studies, by paper and name."""
    from polhode import papers

    found = {}
    for paper in sorted(m.name for m in pkgutil.iter_modules(papers.__path__) if m.ispkg):
        package = importlib.import_module(f"{papers.__name__}.{paper}")
        for module in sorted((m.name for m in pkgutil.iter_modules(package.__path__)), key=_natural):
            if not module.startswith("_"):
                study = Study(paper, module, importlib.import_module(f"{package.__name__}.{module}"))
                found[study.id] = study
    return found


def _natural(name: str) -> tuple[str, int]:
    """A key that sorts fig2 before fig10."""
    letters = name.rstrip("0123456789")
    return letters, int(name[len(letters) :] or 0)


def chosen(names: list[str]) -> list[Study]:
    """The studies of these names: a paper, or paper/figure; no name means all."""
    known = studies()
    if not names:
        return list(known.values())
    by_paper: dict[str, list[Study]] = {}
    for study in known.values():
        by_paper.setdefault(study.paper, []).append(study)
    out: dict[str, Study] = {}
    for name in names:
        near = [*known, *by_paper] if "/" in name else list(by_paper)
        meant = checks.choice("figure" if "/" in name else "paper", name, near, command="polhode reproduce --list")
        out |= {s.id: s for s in by_paper.get(meant, [])} or {meant: known[meant]}
    return list(out.values())
