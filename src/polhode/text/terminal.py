"""Text for terminals: nothing in it moves the cursor, and columns stay in line."""

import math
import unicodedata

_SILENT = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Categories of characters that a terminal obeys instead of showing them, or that turn the direction of writing."""


def printable(text: str, *, keep: str = "\n") -> str:
    """The text with escapes, such as \\x1b, for all that a terminal obeys and does not show, but for `keep`."""
    if text.isprintable():
        return text
    seen = (c in keep or c.isprintable() or (unicodedata.category(c) not in _SILENT and c != "\x7f") for c in text)
    return "".join(c if s else c.encode("unicode_escape").decode("ascii") for c, s in zip(text, seen, strict=True))


def one_line(text: str) -> str:
    """The text as one line that can be printed."""
    return printable(text, keep="")


def shortened(text: str, most: int) -> str:
    """The text, or its beginning where it has more than this number of characters."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


TIME_UNITS = ((86400.0, "days"), (3600.0, "h"))
LEAST_UNITS = 3
"""A long time has the longest unit of which it is so many."""


def long_unit(seconds: float) -> tuple[float, str]:
    """The unit of a time that is so long, in s, and its name."""
    return next(((unit, name) for unit, name in TIME_UNITS if seconds >= LEAST_UNITS * unit), (1.0, "s"))


def duration(seconds: float) -> str:
    """A time in s, and a long one in hours or days as well."""
    unit, name = long_unit(seconds)
    return f"{seconds:.8g} s" + (f" ({seconds / unit:.4g} {name})" if math.isfinite(seconds) and unit > 1.0 else "")


def clock(seconds: float) -> str:
    """A time as hours, minutes and seconds."""
    if seconds == float("inf"):
        return "unknown time"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def cell_width(text: str) -> int:
    """The number of columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int) -> str:
    """The text with blanks after it, up to this number of columns."""
    return text + " " * (width - cell_width(text))
