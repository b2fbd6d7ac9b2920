"""The page as one file: nothing in the data can become code, and nothing is asked for from elsewhere."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import polhode as ph
from polhode.page.display import Page
from polhode.page.html import PageNotBuilt, as_json, header_policy, page_html
from tests.page.page_tools import SCRIPT, STYLE, data_in, products  # noqa: F401

EVIL = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \u2028 ' \" & \ud800"


class Elements(HTMLParser):
    """The elements of a page, with the texts inside of scripts, styles and the title."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data)


def page_with(title: str) -> dict[str, Any]:
    return {"version": 1, "title": title, "runs": [{"name": title, "caption": [title]}], "differences": []}


@pytest.mark.usefixtures("products")
def test_texts_stay_texts() -> None:
    page = page_html(page_with(EVIL))
    parser = Elements()
    parser.feed(page)
    assert [tag for tag, _ in parser.found] == [
        "html", "head", "meta", "meta", "meta", "meta", "meta", "link", "title", "style", "body", "div", "noscript",
        "script", "script",
    ]  # fmt: skip
    assert data_in(page)["runs"][0]["caption"] == [EVIL]
    assert EVIL.replace("\ud800", "?") in parser.texts  # the title
    assert "alert(1)</script>" not in page
    page.encode("utf-8")


@given(st.text())
def test_json_never_ends_its_element(text: str) -> None:
    written = as_json({"title": text})
    assert not re.search(r"[<>&\u2028\u2029]", written)
    import json

    assert json.loads(written) == {"title": text}


@pytest.mark.usefixtures("products")
def test_the_policy_allows_these_two_pieces_only() -> None:
    page = page_html(page_with("A flip"))
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    allowed = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    assert allowed["default-src"] == "'none'"
    for name, text in (("script-src", SCRIPT), ("style-src", STYLE)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed[name] == f"'sha256-{digest}'"
    assert "frame-ancestors 'none'" in header_policy(page)
    assert not re.search(r"https?://|unsafe", page)  # neither an address nor an exception


def test_missing_code_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polhode.page.html.PRODUCTS", tmp_path)
    with pytest.raises(PageNotBuilt, match=r"page\.js is missing.*make viewer"):
        page_html(page_with("A flip"))


def test_code_that_would_end_its_element_is_refused(products: Path) -> None:  # noqa: F811
    (products / "page.js").write_text("'</SCRIPT>'")
    with pytest.raises(PageNotBuilt, match="rebuild it with `make viewer`"):
        page_html(page_with("A flip"))


@pytest.mark.usefixtures("products")
def test_pages_are_files(tmp_path: Path) -> None:
    motion = ph.FreeMotion(ph.Body([1.0, 2.0, 3.0]), [0.01, 1.0, 0.01])
    page = motion.view(tmp_path / "flip.html", title="A flip")
    assert isinstance(page, Page)
    assert (tmp_path / "flip.html").read_text("utf-8") == page.html
    assert data_in(page.html)["title"] == "A flip"
    assert repr(page) == "Page\n  title  A flip\n  runs   exact"
    with pytest.raises(FileExistsError, match="exists already"):
        page.save(tmp_path / "flip.html")
    with pytest.raises(ValueError, match=r"saved as \.html"):
        page.save(tmp_path / "flip.txt")
    assert [p.name for p in tmp_path.glob("flip*")] == ["flip.html"]
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts"' in page._repr_html_()
