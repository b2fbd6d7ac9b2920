"""The changelog goes with the version."""

import re
from pathlib import Path

import polhode

ROOT = Path(__file__).parents[2]
LOG = (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_newest_section_is_this_version() -> None:
    versions = re.findall(r"^## (\d+\.\d+\.\d+)", LOG, re.MULTILINE)
    assert versions[0] == polhode.__version__
    assert versions == sorted(versions, key=lambda v: tuple(map(int, v.split("."))), reverse=True)


def test_users_are_told_what_to_do() -> None:
    page = (ROOT / "docs" / "reference" / "changes.md").read_text("utf-8")
    minor = re.findall(r"^## From (\S+) to (\S+)$", page, re.MULTILINE)
    assert minor[0][1] == polhode.__version__.rpartition(".")[0]
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert all(line.count("|") == rows[0].count("|") == 4 for line in rows)
