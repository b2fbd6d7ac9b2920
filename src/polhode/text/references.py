"""The literature that methods and bodies cite, as sentences: from `references.bib`, which is part of the package."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_ACCENTS = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "v": "\u030c", "c": "\u0327", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a",
}  # fmt: skip
"""TeX's accents as Unicode marks that combine with the letter before them."""
_LETTERS = {"o": "ø", "O": "Ø", "ss": "ß", "aa": "å", "AA": "Å", "ae": "æ", "AE": "Æ", "l": "ł", "L": "Ł", "i": "i"}


@cache
def entries() -> dict[str, dict[str, str]]:
    """Every entry of the bibliography by its key, with its fields in plain characters."""
    found = {}
    for entry in re.split(r"^@", (files("polhode") / "references.bib").read_text("utf-8"), flags=re.MULTILINE)[1:]:
        if head := re.match(r"\w+\{\s*([^,\s]+),", entry):
            found[head[1]] = {name.lower(): plain(value) for name, value in _fields(entry[head.end() :])}
    return found


def citation(key: str) -> str:
    """Author, year, title and place of publication in one line, with the key at the end."""
    entry = entries().get(key)
    if entry is None:
        return f"{key} (not in references.bib)"
    names = _names(entry.get("author", ""))
    when = f"({entry['year']})" if "year" in entry else ""
    head = " ".join(filter(None, [names, when]))
    where = ", ".join(filter(None, [_journal(entry), entry.get("pages", ""), _publisher(entry), entry.get("note", "")]))
    # an initial ends with a full stop of its own
    sentences = [part if part.endswith(".") else f"{part}." for part in (head, entry.get("title", ""), where) if part]
    return f"{' '.join(sentences)} [{key}]"


def _names(authors: str) -> str:
    """`Last, First and Last, First` as `First Last and First Last`."""
    people = [" ".join(reversed(person.split(", ", 1))) for person in authors.split(" and ")]
    if people[-1] == "others":
        return f"{', '.join(people[:-1])} et al."
    return " and ".join(filter(None, [", ".join(people[:-1]), people[-1]]))


def _journal(entry: Mapping[str, str]) -> str:
    name = entry.get("journal") or entry.get("booktitle") or ""
    return " ".join(filter(None, [name, entry.get("volume", "")]))


def _publisher(entry: Mapping[str, str]) -> str:
    edition = f"edition {entry['edition']}" if "edition" in entry else ""
    publisher = entry.get("publisher") or entry.get("institution") or entry.get("school") or ""
    return ", ".join(filter(None, [publisher, edition]))


def _fields(text: str) -> list[tuple[str, str]]:
    """Reads `name = {value}`, `name = "value"` and `name = number`; braces inside a value come in pairs."""
    found, at = [], 0
    while head := re.compile(r"\s*,?\s*(\w+)\s*=\s*").match(text, at):
        at = head.end()
        start = at
        if text[at] == "{":
            depth = 0
            while True:
                depth += (text[at] == "{") - (text[at] == "}")
                at += 1
                if depth == 0:
                    break
            value = text[start + 1 : at - 1]
        else:
            word = re.compile(r'"([^"]*)"|[^,\s}]+').match(text, at)
            assert word is not None, f"no value for {head[1]} in references.bib"
            at, value = word.end(), word[1] or word[0]
        found.append((head[1], value))
    return found


def plain(tex: str) -> str:
    """TeX's text in Unicode: accents, letters and dashes are replaced, braces are removed."""
    text = re.sub(rf"\\({'|'.join(_LETTERS)})(?![A-Za-z])\s*", lambda found: _LETTERS[found[1]], tex)
    text = re.sub(r"\\([\"'`^~=.]|[vcuHkr](?![A-Za-z]))\s*\{?([A-Za-z])\}?", _accented, text)
    text = re.sub(r"\\([&%$#_])", r"\1", text)
    text = text.replace("---", "\u2014").replace("--", "\u2013").replace("~", " ").replace("{", "").replace("}", "")
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _accented(found: re.Match[str]) -> str:
    return found[2] + _ACCENTS[found[1]]
