"""Read and set the time zone for times on a user's pages. Verbs."""

from datetime import tzinfo
from zoneinfo import ZoneInfo

from dnspanel.accounts.models import User
from dnspanel.time_zones import UTC_NAME, UnknownTimeZone, time_zone_named


def time_zone_of(person: User) -> tzinfo:
    """Return the user's time zone, or UTC if this machine doesn't know the time zone. Needs no query."""
    try:
        return time_zone_named(person.time_zone)
    except UnknownTimeZone:
        return ZoneInfo(UTC_NAME)


def set_time_zone(*, person: User, name: str) -> None:
    """Set the time zone of the user's pages. Raise UnknownTimeZone for an unknown name."""
    time_zone_named(name)
    User.objects.filter(pk=person.pk).update(time_zone=name)
    person.time_zone = name
