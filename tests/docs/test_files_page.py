"""The examples of docs/howto/files.md run as they stand."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "files.md"


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: None) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs the extra `tables`")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "files.md"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(compile(block, "files.md", "exec"), names)
    df = names["df"]
    assert len(df) == 301
    assert df.attrs["units"]["omega_x"] == "rad s-1"
    assert list(pd.read_csv("spin.csv").columns) == list(pd.read_parquet("spin.parquet").columns)
    many, again = names["many"], names["again"]
    assert (again.momentum == many.momentum).all()
    assert len(pd.read_csv("many-bodies.csv")) == 50
