from pathlib import Path

import pytest

from polhode.compiler import programs
from tests.compiler.fresh import Fresh


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def fresh(tmp_path: Path, bytecode: Path) -> Fresh:
    return Fresh(tmp_path, bytecode)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process as if it had just started, with an empty cache directory."""
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path / "programs"))
    monkeypatch.setattr(programs, "_programs", {})
    monkeypatch.setattr(programs, "compilations", 0)
    return tmp_path / "programs"
