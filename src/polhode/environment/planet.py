"""The Earth: its size, its mass, and how it turns."""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

EARTH_MU = 3.986004418e14
"""The gravitational parameter of the Earth, m^3/s^2.  [iers2010, table 1.1]"""
EARTH_RADIUS = 6378137.0
"""The radius of the Earth at the equator, m: that of the ellipsoid WGS 84."""
EARTH_FLATTENING = 1.0 / 298.257223563
"""The flattening of the ellipsoid WGS 84."""
DAY_SECONDS = 86400.0
SIDEREAL_START_DEG, SIDEREAL_DEG_PER_DAY = 280.46061837, 360.98564736629
SIDEREAL_DEG_PER_CENTURY2 = 0.000387933
"""Mean sidereal time at Greenwich at noon of 2000 January 1 in deg, its rate in deg/day, and its quadratic term in
deg/century^2.  [meeus1998, eq. 12.4]"""
EARTH_RATE = math.radians(SIDEREAL_DEG_PER_DAY) / DAY_SECONDS
"""The rate at which the Earth turns, rad/s."""
NOON_2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)


def checked_date(name: str, value: Any) -> str:
    """A date and time in UTC as text, such as 2026-03-20T14:46:00; without a time it is midnight."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{name} must be a date in UTC such as '2026-03-20T14:46:00', not {value!r}") from None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise TypeError(f"{name} must be a date in UTC such as '2026-03-20T14:46:00', not {value!r}")
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat()


def date_of(text: str) -> datetime:
    """A checked date."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days_since_2000(text: str) -> float:
    """The days since noon of 2000 January 1, for a date in UTC."""
    return (date_of(text) - NOON_2000) / timedelta(days=1)


def sidereal_angle(when: str) -> float:
    """The angle in rad from the first axis of space, the equinox, to Greenwich at a date in UTC."""
    days = days_since_2000(checked_date("date", when))
    slow = SIDEREAL_DEG_PER_CENTURY2 * (days / 36525.0) ** 2
    return math.radians((SIDEREAL_START_DEG + SIDEREAL_DEG_PER_DAY * days + slow) % 360.0)
