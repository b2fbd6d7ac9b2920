"""What tests of the page share: products that stand in for the built ones, and the data read again."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polhode.views import page_html

SCRIPT, STYLE = "document.title;\n", "body { margin: 0 }\n"


@pytest.fixture
def products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small files in place of the built ones: what is tested here is what Python writes around them."""
    folder = tmp_path / "products"
    folder.mkdir()
    (folder / "page.js").write_text(SCRIPT)
    (folder / "page.css").write_text(STYLE)
    (folder / "widget.js").write_text("export default { render() {} };\n")
    monkeypatch.setattr(page_html, "PRODUCTS", folder)
    return folder


def decoded(text: str, kind: str = "<f4", width: int = 1) -> Any:
    values = np.frombuffer(base64.b64decode(text), kind).astype(float)
    return values.reshape(-1, width) if width > 1 else values


def data_in(page: str) -> Any:
    """The data of a page, as its script would read them."""
    found = re.search(r'<script type="application/json" id="polhode-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def curve_of(run: Any, key: str) -> Any:
    (found,) = [c for c in run["curves"] if c["key"] == key]
    return found
