"""What tests of the page share: products that stand in for the built ones, and the data read again."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polhode.page import html

SCRIPT, STYLE = "document.title;\n", "body { margin: 0 }\n"


@pytest.fixture
def products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small files in place of the built ones: what is tested here is what Python writes around them."""
    folder = tmp_path / "products"
    folder.mkdir()
    (folder / "page.js").write_text(SCRIPT)
    (folder / "page.css").write_text(STYLE)
    (folder / "widget.js").write_text("export default { render() {} };\n")
    monkeypatch.setattr(html, "PRODUCTS", folder)
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


class _Code(HTMLParser):
    """The texts of the scripts and styles of a page, and the names of all attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = ""
        self.texts: list[tuple[str, str]] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes |= {name for name, _ in attrs}
        is_code = tag == "style" or (tag == "script" and dict(attrs).get("type") is None)
        self.inside = tag if is_code else ""

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts.append((self.inside, data))


def check_policy(page: str) -> dict[str, str]:
    """Checks that a page allows its own scripts and styles and nothing else; returns what it allows."""
    found = re.search(r'<head>.*?http-equiv="Content-Security-Policy" content="([^"]*)".*?<style', page, re.DOTALL)
    assert found is not None, "there is no policy before the first style"
    allowed = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    code = _Code()
    code.feed(page)
    assert code.texts
    for tag, text in code.texts:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in allowed[f"{tag}-src"].split(), tag
    assert not {name for name in code.attributes if name == "style" or name.startswith("on")}
    assert [allowed[name] for name in ("default-src", "base-uri", "form-action")] == ["'none'"] * 3
    assert "unsafe" not in found[1]
    return allowed
