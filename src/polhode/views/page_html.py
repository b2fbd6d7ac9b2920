"""The page as one HTML file, which needs no network and sends nothing anywhere.

The content security policy allows the two pieces of code and style that the file was written with, by their hashes, and
nothing else: whatever a name or a title in the data holds, it cannot become code.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

PRODUCTS = Path(__file__).parent / "page"
"""The folder of the code of the page, which is built from the sources in `viewer/`."""


class PageNotBuilt(RuntimeError):
    """The code of the page is not there: it is built by `make viewer`, and part of the wheel."""


def is_built() -> bool:
    """Whether the code of the page is there."""
    return all((PRODUCTS / name).exists() for name in ("page.js", "page.css"))


def product(name: str) -> str:
    """Returns the text of one of the files that the page is made of."""
    try:
        return (PRODUCTS / name).read_text("utf-8")
    except FileNotFoundError:
        raise PageNotBuilt(
            f"the page cannot be shown, because its code is not built ({name} is missing in {PRODUCTS}): run "
            "`make viewer` in a clone of polhode, or install a wheel, which has it"
        ) from None


def as_json(data: dict[str, Any]) -> str:
    """Returns the data as JSON that can stand inside a script element: no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate has no UTF-8


def policy(script: str, style: str) -> str:
    """Returns the content security policy of a page with this script and this style."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def header_policy(page: str) -> str:
    """Returns the same policy as a header, which also forbids other pages to frame this one."""
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    return f"{found[1]}; frame-ancestors 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def page_html(data: dict[str, Any]) -> str:
    """Returns the whole file: the data, and the code that shows them."""
    script, style = product("page.js"), product("page.css")
    title = str(data["title"]).encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8
    for name, text, end in (("page.js", script, "</script"), ("page.css", style, "</style")):
        if end in text.lower():
            raise PageNotBuilt(f"{name} holds {end!r}, which would end its element: build it anew by `make viewer`")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(script, style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<div id="polhode"><noscript>This page shows a motion by JavaScript, which is off.</noscript></div>
<script type="application/json" id="polhode-data">{as_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""
