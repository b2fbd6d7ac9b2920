"""Instants by name: ISO texts in UTC, TAI, TT, TDB or GPS time, to the picosecond, with leap seconds.

The leap seconds are those that were announced until 2026, the last of them at the end of 2016; nothing is downloaded.
An instant is a whole number of picoseconds since 2000-01-01T00:00:00 of its own time system. In UTC leap seconds are
counted, so that differences are seconds that have passed. A second of each system is a second of the motion.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

SYSTEMS = ("UTC", "TAI", "TT", "TDB", "GPS")
"""The time systems that are known."""
PS = 10**12
"""Picoseconds in a second."""
_LEAP_DAYS = (
    "1972-01-01 1972-07-01 1973-01-01 1974-01-01 1975-01-01 1976-01-01 1977-01-01 1978-01-01 1979-01-01 1980-01-01 "
    "1981-07-01 1982-07-01 1983-07-01 1985-07-01 1988-01-01 1990-01-01 1991-01-01 1992-07-01 1993-07-01 1994-07-01 "
    "1996-01-01 1997-07-01 1999-01-01 2006-01-01 2009-01-01 2012-07-01 2015-07-01 2017-01-01"
)
"""Days from which on TAI - UTC was one second more; 10 s on the first (IERS, Bulletin C; no more until 2026)."""
_ORIGIN = date(2000, 1, 1).toordinal()
_LEAPS = tuple(date.fromisoformat(day).toordinal() - _ORIGIN for day in _LEAP_DAYS.split())
_AT_ORIGIN = 32
"""TAI - UTC on 2000-01-01, in s."""
_LEAP_STARTS = tuple(86_400 * day + 9 + k - _AT_ORIGIN for k, day in enumerate(_LEAPS))
"""When leap seconds begin, in seconds of UTC with leap seconds."""
_TEXT = re.compile(r"(\d{4})-(?:(\d{2})-(\d{2})|(\d{3}))T(\d{2}):(\d{2}):(\d{2})(?:\.(\d*))?Z?")


@dataclass(frozen=True, order=True)
class Instant:
    """An instant: picoseconds since 2000-01-01T00:00:00 of its time system, and the name of that system."""

    picoseconds: int
    system: str

    @classmethod
    def read(cls, text: str, system: str) -> Instant:
        """The instant of a text: 2026-01-31T12:00:00.25, or 2026-031T12:00:00.25 by the day of the year."""
        return cls(count(text, system), system)

    @classmethod
    def given(cls, epoch: Any, system: str) -> Instant:
        """Convert a text, an instant in any time system, or a Time of astropy."""
        system = checked_system(system)
        if isinstance(epoch, Instant):
            return epoch.to(system)
        if isinstance(epoch, str):
            return cls.read(epoch.strip(), system)
        if hasattr(epoch, "jd1") and hasattr(epoch, system.lower()):  # a Time of astropy converts itself
            if getattr(epoch, "shape", ()) != ():
                raise ValueError(f"epoch must be one time, not an array of shape {epoch.shape}")
            there = getattr(epoch, system.lower()).copy()
            there.precision = 9
            return cls.read(str(there.to_value("isot")), system)
        if hasattr(epoch, "jd1") and system == "GPS":
            return cls.given(epoch, "TAI").to("GPS")
        raise TypeError(f"epoch must be a text such as '2026-01-31T12:00:00', or a Time of astropy, not {epoch!r}")

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int | None = None) -> str:
        """The ISO text, with as many digits as it has, or as are wanted."""
        return written(self.picoseconds, self.system, digits)

    def shifted(self, seconds: float) -> Instant:
        """The instant that is this many seconds later, to the picosecond."""
        return Instant(self.picoseconds + picoseconds(seconds), self.system)

    def __sub__(self, other: Instant) -> float:
        """The seconds from another instant to this one, in the system of this one."""
        return (self.picoseconds - other.to(self.system).picoseconds) / PS

    def to(self, system: str) -> Instant:
        """This instant in another time system; between TDB and the others to 0.04 ms."""
        system = checked_system(system)
        if system == self.system:
            return self
        near_tai = self.picoseconds - 32_184 * 10**9 if self.system == "TDB" else self.picoseconds
        tai = self.picoseconds - _beyond_tai(self.system, near_tai)
        if system == "TDB":
            return Instant(tai + _beyond_tai("TDB", tai), system)
        return Instant(tai + _beyond_tai(system, 0), system)


def _beyond_tai(system: str, at: int) -> int:
    """By how much the count of a system is ahead of that of TAI, in picoseconds."""
    if system == "TDB":
        # TDB - TT by its one large term, as the kernels of SPICE have it: eccentricity and mean anomaly of the Earth.
        since_2000 = at / PS - 43_200.0
        anomaly = 6.239996 + 1.99096871e-7 * since_2000
        return 32_184 * 10**9 + round(1.657e-3 * math.sin(anomaly + 1.671e-2 * math.sin(anomaly)) * PS)
    return {"TAI": 0, "TT": 32_184 * 10**9, "GPS": -19 * PS, "UTC": -_AT_ORIGIN * PS}[system]


def checked_system(name: Any) -> str:
    """The name of a time system in capital letters, if it is known."""
    if not isinstance(name, str) or name.upper() not in SYSTEMS:
        raise ValueError(f"the time system {name!r} is not known: use one of {', '.join(SYSTEMS)}")
    return name.upper()


def picoseconds(seconds: float) -> int:
    """A time in seconds as a whole number of picoseconds."""
    numerator, denominator = float(seconds).as_integer_ratio()
    return (2 * numerator * PS + denominator) // (2 * denominator)


def count(text: str, system: str) -> int:
    """The picoseconds from 2000-01-01T00:00:00 to the instant of a text, leap seconds included."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time such as 2026-01-31T12:00:00.25 or 2026-031T12:00:00.25")
    year, month, day, of_year, hour, minute, second, fraction = found.groups()
    try:
        if of_year is None:
            days = date(int(year), int(month), int(day)).toordinal() - _ORIGIN
        else:
            start = date(int(year), 1, 1).toordinal()
            days = start + int(of_year) - 1 - _ORIGIN
            if not start <= days + _ORIGIN < date(int(year) + 1, 1, 1).toordinal():
                raise ValueError
    except ValueError:
        raise ValueError(f"{text!r} is not a time: there is no such day") from None
    h, m, s = int(hour), int(minute), int(second)
    seconds = 86_400 * days + 3600 * h + 60 * m + s
    is_leap = s == 60 and (h, m) == (23, 59) and system == "UTC" and days + 1 in _LEAPS[1:]
    if h > 23 or m > 59 or (s > 59 and not is_leap):
        why = f": {system} has no leap second then" if s == 60 else ""
        raise ValueError(f"{text!r} is not a time{why}")
    if system == "UTC":
        seconds += _leaps_before(days, text)
    digits = (fraction or "").rstrip("0")
    return seconds * PS + (int(f"{digits:0<13}"[:13]) + 5) // 10 if digits else seconds * PS


def counts(texts: Sequence[str], system: str) -> Iterator[int]:
    """Yields what `count` returns for each text; the days of texts that follow each other are looked up once."""
    days = dict[str, int]()
    for text in texts:
        day, clock, tail = text[:10], text[11:19], text[20:]
        if (
            text[10:11] == "T"
            and clock[2::3] == "::"
            and len(clock) == 8
            and text[19:20] in ("", ".")
            and len(tail) <= 12
        ):
            hour, minute, second = clock[:2], clock[3:5], clock[6:]
            digits = f"{hour}{minute}{second}{tail}"
            if digits.isdecimal() and digits.isascii() and hour < "24" and minute < "60" and second < "60":
                if day not in days:
                    days[day] = count(f"{day}T00:00:00", system) // PS
                seconds = days[day] + 3600 * int(hour) + 60 * int(minute) + int(second)
                yield seconds * PS + int(f"{tail:0<12}")
                continue
        yield count(text, system)


def _leaps_before(days: int, text: str) -> int:
    """The leap seconds between 2000 and a day of UTC."""
    known = bisect_right(_LEAPS, days)
    if known == 0:
        raise ValueError(f"{text!r} is before 1972, when UTC had no whole leap seconds: give the time in TAI or TT")
    return 9 + known - _AT_ORIGIN


def written(picoseconds: int, system: str, digits: int | None = None) -> str:
    """An instant as an ISO text; a leap second is second 60."""
    if digits is not None:
        unit = 10 ** (12 - digits)
        picoseconds = (2 * picoseconds + unit) // (2 * unit) * unit
    seconds, fraction = divmod(picoseconds, PS)
    leap = 0
    if system == "UTC":
        known = bisect_right(_LEAP_STARTS, seconds)
        if known == 0:
            raise ValueError("UTC before 1972 has no whole leap seconds: use TAI or TT")
        leap = int(known > 1 and seconds == _LEAP_STARTS[known - 1])
        seconds -= 9 + known - _AT_ORIGIN
    days, clock = divmod(seconds, 86_400)
    try:
        day = date.fromordinal(days + _ORIGIN).isoformat()
    except (ValueError, OverflowError):
        raise ValueError("the instant lies outside the years 1 to 9999: choose another epoch") from None
    shown = f"{day}T{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60 + leap:02}"
    tail = f"{fraction:012}"
    tail = tail.rstrip("0") if digits is None else tail[:digits]
    return f"{shown}.{tail}" if tail else shown
