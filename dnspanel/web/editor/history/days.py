"""Days as filters name them in an address."""

from datetime import UTC, datetime, timedelta

from django.utils.dateparse import parse_date


def day_of(text: str, *, last: bool = False) -> datetime | None:
    """Return when a day begins (UTC), or for the last day of a range when it has ended; None if the text is no day."""
    try:
        day = parse_date(text)
    except ValueError:  # such as the 31st of February
        day = None
    if day is None or day.year < 1970 or day.year > 9000:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=last)
