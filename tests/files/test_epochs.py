"""Instants: texts, time systems, leap seconds."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polhode.files.epochs import PS, SYSTEMS, Instant, counts

LEAP = "2016-12-31T23:59:60"


def test_a_leap_second_counts() -> None:
    before, leap, after = (Instant.read(x, "UTC") for x in ("2016-12-31T23:59:59", LEAP, "2017-01-01T00:00:00"))
    assert (leap - before, after - leap, after - before) == (1.0, 1.0, 2.0)
    assert str(before.shifted(1.5)) == "2016-12-31T23:59:60.5"
    assert str(leap.to("TAI")) == "2017-01-01T00:00:36"
    assert str(after.to("TAI")) == "2017-01-01T00:00:37"
    assert str(after.to("TT")) == "2017-01-01T00:01:09.184"
    assert str(after.to("GPS")) == "2017-01-01T00:00:18"


def test_known_differences_from_tai() -> None:
    """TAI - UTC as the IERS has it, on some days."""
    for day, seconds in {
        "1972-01-01": 10,
        "1980-01-06": 19,
        "1999-01-01": 32,
        "2012-06-30": 34,
        "2026-11-17": 37,
    }.items():
        utc = Instant.read(f"{day}T00:00:00", "UTC")
        assert utc.to("TAI").picoseconds == Instant.read(f"{day}T00:00:00", "TAI").picoseconds + seconds * PS


def test_dynamical_time() -> None:
    """TDB - TT is largest in April, 1.66 ms: the Explanatory Supplement's formula, in a year of its own."""
    for day in (1, 95, 187, 300):
        tt = Instant.read(f"2026-{day:03}T00:00:00", "TT")
        g = math.radians(
            357.53 + 0.98560028 * (9497 - 0.5 + day - 1)
        )  # the mean anomaly; days from J2000 to 2026: 9496.5
        expected = 0.001658 * math.sin(g) + 0.000014 * math.sin(2 * g)
        found = (tt.to("TDB").picoseconds - tt.picoseconds) / PS
        assert abs(found - expected) < 4e-5
        assert abs(tt.to("TDB").to("TT").picoseconds - tt.picoseconds) <= 1


@given(st.integers(-28 * 365 * 86_400 * PS, 60 * 365 * 86_400 * PS), st.sampled_from(SYSTEMS))
def test_texts_are_read_as_they_are_written(picoseconds: int, system: str) -> None:
    instant = Instant(picoseconds, system)
    assert Instant.read(instant.text(), system) == instant
    assert list(counts([instant.text()] * 2, system)) == [picoseconds] * 2


@given(st.datetimes(datetime(1972, 7, 2), datetime(2100, 1, 1)))
def test_calendars_agree(moment: datetime) -> None:
    """Without leap seconds days are those of Python's calendar, also by the day of the year."""
    origin = datetime(2000, 1, 1)
    expected = (moment - origin) // timedelta(microseconds=1) * 10**6
    text = moment.strftime("%Y-%m-%dT%H:%M:%S.%f")
    by_day = moment.strftime("%Y-%jT%H:%M:%S.%fZ")
    assert Instant.read(text, "TAI").picoseconds == Instant.read(by_day, "TAI").picoseconds == expected


@pytest.mark.parametrize(
    ("text", "system", "why"),
    [
        ("2026-02-29T00:00:00", "UTC", "no such day"),
        ("2025-366T00:00:00", "TAI", "no such day"),
        ("2026-01-01", "UTC", "is not a time such as"),
        ("2026-06-30T23:59:60", "UTC", "UTC has no leap second then"),
        (LEAP, "TAI", "TAI has no leap second then"),
        ("2026-01-01T24:00:00", "UTC", "is not a time"),
        ("1969-07-20T20:17:40", "UTC", "before 1972"),
    ],
)
def test_what_is_no_time(text: str, system: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Instant.read(text, system)
    with pytest.raises(ValueError, match=why):
        list(counts([text], system))


def test_what_users_give() -> None:
    assert Instant.given("2026-01-01T00:00:00", "tai").system == "TAI"
    with pytest.raises(TypeError, match="a Time of astropy"):
        Instant.given(datetime(2026, 1, 1, tzinfo=UTC), "UTC")
    with pytest.raises(ValueError, match="'MET' is not known: use one of UTC"):
        Instant.given("2026-01-01T00:00:00", "MET")


def test_times_of_astropy() -> None:
    time = pytest.importorskip("astropy.time", reason="astropy is not installed")
    leap = time.Time(LEAP, scale="utc")
    assert Instant.given(leap, "UTC") == Instant.read(LEAP, "UTC")
    assert Instant.given(leap, "TT") == Instant.read(LEAP, "UTC").to("TT")
    assert Instant.given(leap, "GPS") == Instant.read(LEAP, "UTC").to("GPS")
