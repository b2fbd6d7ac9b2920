"""Pages are run in an empty directory, as on the site: what they write stays there."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_an_empty_directory(here: Path) -> None:
    """All tests of pages."""
