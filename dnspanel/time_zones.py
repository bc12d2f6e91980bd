"""Look up time zones by name, such as `Europe/Berlin`, in the machine's IANA database. Pure."""

from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from dnspanel.texts import gettext

UTC_NAME = "UTC"
# Old names and files with rules instead of places, which people do not search for.
_NOT_OFFERED = ("Etc/", "SystemV/", "US/", "posix/", "right/")


class UnknownTimeZone(Exception):
    """The machine's database doesn't have a time zone with this name."""


def time_zone_named(name: str) -> ZoneInfo:
    """Return the time zone with this name. Raise UnknownTimeZone if it doesn't exist."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise UnknownTimeZone(gettext("Time zone not found. Enter a name such as Europe/Berlin.")) from exc


@lru_cache(maxsize=1)
def offered_names() -> tuple[str, ...]:
    """Return UTC, followed by the names of places (`Europe/Berlin`) in alphabetical order."""
    places = {name for name in available_timezones() if "/" in name and not name.startswith(_NOT_OFFERED)}
    return (UTC_NAME, *sorted(places))
