"""The page as one HTML file, which needs no network and sends nothing anywhere.

The content security policy allows the two pieces of code and style that the file was written with, by their hashes, and
nothing else: whatever a name or a title in the data holds, it cannot become code.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PRODUCTS = Path(__file__).parent / "built"
"""The folder of the code of the page, which is built from the sources in `viewer/`."""
NOTHING = "'none'"
"""Value of a policy directive that allows nothing."""


class PageNotBuilt(RuntimeError):
    """The code of the page is not there: it is built by `make viewer`, and part of the wheel."""


def is_built() -> bool:
    """Whether the code of the page is there."""
    return all((PRODUCTS / name).exists() for name in ("page.js", "page.css"))


def product(name: str) -> str:
    """The text of one of the files that the page is made of."""
    try:
        return (PRODUCTS / name).read_text("utf-8")
    except FileNotFoundError:
        raise PageNotBuilt(
            f"the page cannot be shown, because its code is not built ({name} is missing in {PRODUCTS}): run "
            "`make viewer` in a clone of polhode, or install a wheel, which has it"
        ) from None


def as_json(data: dict[str, Any]) -> str:
    """The data as JSON that can stand inside a script element: no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate has no UTF-8


def policy(script: str, style: str, frames: Iterable[str] = ()) -> str:
    """The element with the content security policy of a page with this script and this style.

    Pages in `frames` of this one are bound by its policy, too: what theirs allow is allowed.
    """
    allowed = {"script-src": {_hash(script)} if script else set(), "style-src": {_hash(style)}}
    inside = [_policy_of(page) for page in frames]
    for name, hashes in allowed.items():
        hashes.update(*(re.findall(r"'sha256-[^']*'", text.partition(name)[2].partition(";")[0]) for text in inside))
    listed = "; ".join(f"{name} {' '.join(sorted(hashes) or [NOTHING])}" for name, hashes in allowed.items())
    return (
        f'<meta http-equiv="Content-Security-Policy" content="default-src {NOTHING}; {listed}; img-src data: blob:; '
        f'{"frame-src about:; " if inside else ""}base-uri {NOTHING}; form-action {NOTHING}">'
    )


def header_policy(page: str) -> str:
    """The policy as an HTTP header, which also forbids other pages to frame this one."""
    return f"{_policy_of(page)}; frame-ancestors 'none'"


def _policy_of(page: str) -> str:
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    return found[1]


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_html(data: dict[str, Any]) -> str:
    """The whole file: the data, and the code that shows them."""
    script, style = product("page.js"), product("page.css")
    title = str(data["title"]).encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8
    for name, text, end in (("page.js", script, "</script"), ("page.css", style, "</style")):
        if end in text.lower():
            raise PageNotBuilt(f"{name} holds {end!r}, which would end its element: rebuild it with `make viewer`")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{policy(script, style)}
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
