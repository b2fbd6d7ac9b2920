"""The examples of docs/understand/free_motion.md run as they stand, and give the numbers that stand there."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.authorities import gyrostat_regimes

PAGE = (Path(__file__).parents[2] / "docs" / "understand" / "free_motion.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_of_a_free_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[0], "free_motion.md", "exec"), names)
    assert f"'{names['motion'].mode}', {names['motion'].period:.2f}" in PAGE
    assert (tmp_path / "motion.png").exists()


def test_the_example_of_gyrostats() -> None:
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[-1], "free_motion.md", "exec"), names)
    assert f"'{names['motion'].mode}', {names['motion'].period:.2f}" in PAGE
    assert names["stable"].mode == "rotor-axis"
    assert f"# {names['stable'].nutation().greatest:.3f} rad" in PAGE


def test_the_example_of_proven_answers(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    block = next(b for b in BLOCKS if "proven=True" in b)
    exec(compile(block, "free_motion.md", "exec"), names)
    digits, _, _ = capsys.readouterr().out.partition(" +/-")
    assert f"# {digits} +/-" in block
    motion = names["motion"]
    assert f": {motion.at(1e6, proven=True).error(motion.at(1e6)):.0e}\n" in block


def test_the_table_of_gyrostats_has_all_regimes() -> None:
    table = PAGE[PAGE.index(gyrostat_regimes.BEGIN) : PAGE.index(gyrostat_regimes.END)]
    assert all(f"| {regime} |" in table for regime in gyrostat_regimes.REGIMES)
