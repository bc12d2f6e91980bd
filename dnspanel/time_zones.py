"""Time zones as people name them: `Europe/Berlin`, from the IANA database of the machine. Pure."""

from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from dnspanel.texts import gettext

UTC_NAME = "UTC"
# Old names, and files that are rules rather than places: nobody looks for them.
_NOT_OFFERED = ("Etc/", "SystemV/", "US/", "posix/", "right/")


class UnknownTimeZone(Exception):
    """The machine's database has no time zone of this name."""


def time_zone_named(name: str) -> ZoneInfo:
    """The time zone of this name; raises UnknownTimeZone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise UnknownTimeZone(gettext("There is no such time zone; write it like Europe/Berlin.")) from exc


@lru_cache(maxsize=1)
def offered_names() -> tuple[str, ...]:
    """UTC, and the names of places (`Europe/Berlin`) in the order of the alphabet."""
    places = {name for name in available_timezones() if "/" in name and not name.startswith(_NOT_OFFERED)}
    return (UTC_NAME, *sorted(places))
