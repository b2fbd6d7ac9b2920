"""Studies are tried at the quick size, which runs in plain Python."""

import pytest


@pytest.fixture(autouse=True)
def _in_plain_python(plain: None) -> None:
    """For every study."""
