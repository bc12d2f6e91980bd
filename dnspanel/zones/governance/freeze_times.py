"""Compute when a freeze is in force: once, or repeatedly by an RFC 5545 rule in a time zone's local time."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

from dnspanel.texts import gettext
from dnspanel.zones.models import Freeze

LONGEST = timedelta(days=60)  # of one period
_CLOCK_CHANGE = timedelta(hours=3)  # more than clocks change in a period
_PARTS = frozenset({"FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "UNTIL"})
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
LONGEST_RULE = 200
MOST_INTERVAL = 52


def fault_of(repeats: str) -> str:
    """Return an error message for a repeat rule, or "" if the rule is valid and quick to compute."""
    if len(repeats) > LONGEST_RULE or not repeats.isascii():
        return gettext("A repeat rule can have at most {longest_rule} ASCII characters.").format(
            longest_rule=LONGEST_RULE
        )
    parts: dict[str, str] = {}
    for part in repeats.split(";"):
        name, has_value, value = part.partition("=")
        if not has_value or name not in _PARTS or name in parts or not value:
            return gettext(
                "{part} isn’t a valid part of a repeat rule. Use FREQ, INTERVAL, BYDAY, BYMONTHDAY and UNTIL."
            ).format(part=part[:40] or "Nothing")
        parts[name] = value
    if parts.get("FREQ") not in ("DAILY", "WEEKLY", "MONTHLY"):
        return gettext("FREQ must be DAILY, WEEKLY or MONTHLY.")
    if not _is_number(parts.get("INTERVAL", "1"), 1, MOST_INTERVAL):
        return gettext("INTERVAL must be a number from 1 to 52.")
    return _fault_of_days(parts) or _fault_of_until(repeats, parts.get("UNTIL", "20300101"))


def _fault_of_days(parts: Mapping[str, str]) -> str:
    frequency = parts["FREQ"]
    for day in parts.get("BYDAY", "MO").split(","):
        ordinal = day[:-2]
        if day[-2:] not in DAYS or (ordinal and (frequency != "MONTHLY" or ordinal not in ("1", "2", "3", "4", "-1"))):
            return gettext(
                "BYDAY must list days, for example MO,FR. With MONTHLY, 1MO to 4MO and -1FR are also allowed."
            )
    for number in parts.get("BYMONTHDAY", "1").split(","):
        if number != "-1" and not _is_number(number, 1, 28):
            return gettext("BYMONTHDAY must list days from 1 to 28, or -1 for the last day.")
    if "BYMONTHDAY" in parts and (frequency != "MONTHLY" or "BYDAY" in parts):
        return gettext("BYMONTHDAY requires MONTHLY and cannot be combined with BYDAY.")
    return ""


def _fault_of_until(repeats: str, until: str) -> str:
    if not (len(until) == 8 and _is_number(until, 19700101, 99991231)):
        return gettext("UNTIL must be a date, for example 20301231.")
    try:
        rrulestr(repeats, dtstart=datetime(2026, 1, 1))  # noqa: DTZ001 (clocks of a place, which are put on it later)
    except ValueError:
        return gettext("UNTIL isn’t a valid date.")
    return ""


def frozen_until(freeze: Freeze, now: datetime) -> datetime | None:
    """Return the end of the freeze in UTC if it is in force now, otherwise None."""
    running = takewhile(lambda period: period[0] <= now, periods(freeze, now))
    return max((end for _, end in running), default=None)


def next_begin(freeze: Freeze, now: datetime) -> datetime | None:
    """Return the freeze's next start after `now`, in UTC, or None if it doesn't start again."""
    return next((begin for begin, _ in periods(freeze, now) if begin > now), None)


def periods(freeze: Freeze, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the freeze's periods that end after `now`, as (start, end) in UTC.

    All periods have the same length in the local time of the freeze's time zone.
    """
    place = ZoneInfo(freeze.time_zone)
    first, last = (at.astimezone(place).replace(tzinfo=None) for at in (freeze.starts_at, freeze.ends_at))
    begins: Iterable[datetime] = [first]
    if freeze.repeats:
        rule: Any = rrulestr(re.sub(r"(UNTIL=\d{8})", r"\1T235959", freeze.repeats), dtstart=first)  # includes this day
        begins = rule.xafter(now.astimezone(place).replace(tzinfo=None) - (last - first) - _CLOCK_CHANGE)
    for begin in begins:
        found, end = (at.replace(tzinfo=place).astimezone(UTC) for at in (begin, begin + (last - first)))
        if end > now:
            yield found, end


def _is_number(text: str, least: int, most: int) -> bool:
    return text.isdecimal() and len(text) <= 8 and least <= int(text) <= most
