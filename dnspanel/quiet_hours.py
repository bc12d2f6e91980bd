"""Quiet hours, during which a person gets no messages, or only critical ones. Pure."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from dnspanel.texts import gettext


def faults_of(begin: time | None, end: time | None) -> dict[str, list[str]]:
    """Return an error if only the beginning or only the end of quiet hours is given, keyed by the missing field."""
    if (begin is None) == (end is None):
        return {}
    missing = "quiet_from" if begin is None else "quiet_until"
    return {missing: [gettext("Enter both the start and the end of quiet hours, or leave both empty.")]}


def quiet_until(begin: time | None, end: time | None, zone: str, now: datetime) -> datetime | None:
    """Return the end of the current quiet hours in this time zone, or None if it isn't a quiet hour now.

    If the end is earlier than the beginning, it is on the next day. If one of the two is missing, or if they are equal,
    the person has no quiet hours.
    """
    if begin is None or end is None or begin == end:
        return None
    local = now.astimezone(ZoneInfo(zone))
    at = local.time().replace(tzinfo=None)
    is_quiet = begin <= at < end if begin < end else (at >= begin or at < end)
    if not is_quiet:
        return None
    day = local.date() if at < end else local.date() + timedelta(days=1)
    return datetime.combine(day, end, tzinfo=ZoneInfo(zone)).astimezone(now.tzinfo)
