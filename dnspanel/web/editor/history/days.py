"""Parse dates in URL filters."""

from datetime import UTC, datetime, timedelta

from django.utils.dateparse import parse_date


def day_of(text: str, *, last: bool = False) -> datetime | None:
    """Return the start of a day (UTC), or of the next one (`last`), or None unless it is a date from 1970 to 9000."""
    try:
        day = parse_date(text)
    except ValueError:  # for example February 31
        day = None
    if day is None or day.year < 1970 or day.year > 9000:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=last)
