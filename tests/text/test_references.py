"""Whatever is cited can be looked up."""

import re
from pathlib import Path

from polhode.body import NAMED
from polhode.methods import catalogue

KEYS = set(
    re.findall(r"^@\w+\{(\w+),", (Path(__file__).parents[2] / "references.bib").read_text("utf-8"), re.MULTILINE)
)


def test_methods_cite_known_references() -> None:
    for method in catalogue().values():
        assert set(method.cite.split(",")) <= KEYS, method.name


def test_named_bodies_have_known_sources() -> None:
    assert {body.source for body in NAMED.values()} <= KEYS
