"""Look at a built site: `python -m docs.check_site build/site`.

Every link within the site must lead to a page, and to a place on it that exists. Nothing that a browser loads by itself
(scripts, styles, pictures, fonts, frames) may come from another host. Addresses of other hosts are only counted:
`make docs-links` asks for them.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "license", "help"}
STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])([^'\")\s]+)")
OBJECT = re.compile(r"&lt;[\w.]+(?: object)? at 0x[0-9a-f]+&gt;")
"""An object as Python prints it that has no words for itself: a block has ended with a call that draws."""


class Page(HTMLParser):
    """Collects what a page links to, what it loads, and the places on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes up one element."""
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        self._style = tag == "style"
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and set(found.get("rel", "").split()) & NOT_LOADED:
            return
        for name in LOADED.get(tag, ()):
            if name in found:
                self.loaded += (
                    [part.split()[0] for part in found[name].split(",")] if name == "srcset" else [found[name]]
                )
        self.loaded += STYLE.findall(found.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Looks for addresses in styles."""
        if self._style:
            self.loaded += STYLE.findall(data)


def faults(site: Path) -> tuple[list[str], set[str]]:
    """Returns what is wrong, and the addresses of other hosts that pages link to."""
    texts = {path: path.read_text("utf-8") for path in sorted(site.rglob("*.html"))}
    pages = {path: Page(text) for path, text in texts.items()}
    wrong = [f"{p.relative_to(site)} prints {m[0]}" for p, text in texts.items() for m in OBJECT.finditer(text)]
    others: set[str] = set()
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in page.loaded:
            if _is_foreign(address):
                wrong.append(f"{name} loads {address}")
            elif reason := _missing(site, path, address.partition("#")[0], pages):  # a frame reads its mark itself
                wrong.append(f"{name} loads {address}: {reason}")
        for address in page.links:
            if urlsplit(address).scheme in ("mailto", "javascript"):
                continue
            if _is_foreign(address):
                others.add(address)
            elif reason := _missing(site, path, address, pages):
                wrong.append(f"{name} links to {address}: {reason}")
    for style in site.rglob("*.css"):
        wrong += [f"{style.name} loads {a}" for a in STYLE.findall(style.read_text("utf-8")) if _is_foreign(a)]
    return wrong, others


def _is_foreign(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def _missing(site: Path, path: Path, address: str, pages: dict[Path, Page]) -> str:
    parts = urlsplit(address)
    if parts.scheme in ("data", "blob"):
        return ""
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if not target.is_relative_to(site.resolve()) and parts.path:
        return "it lies outside of the site"
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "there is no such file"
    place = unquote(parts.fragment)
    found = pages.get(target) or pages.get(site / target.relative_to(site.resolve()))
    return f"the page has no place {place}" if place and found is not None and place not in found.places else ""


def main() -> int:
    """Prints what is wrong; returns how much."""
    site = Path(sys.argv[1]).resolve()
    wrong, others = faults(site)
    print("\n".join(wrong) or f"all links within the site lead somewhere; nothing is loaded from other hosts, "
          f"{len(others)} addresses of which are linked to")  # fmt: skip
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
