"""The time zone of a person: the clock of the times on their pages. Verbs."""

from datetime import tzinfo
from zoneinfo import ZoneInfo

from dnspanel.accounts.models import User
from dnspanel.time_zones import UTC_NAME, UnknownTimeZone, time_zone_named


def time_zone_of(person: User) -> tzinfo:
    """The person's time zone; UTC where the machine's database lost the one that they chose. Without a query."""
    try:
        return time_zone_named(person.time_zone)
    except UnknownTimeZone:
        return ZoneInfo(UTC_NAME)


def set_time_zone(*, person: User, name: str) -> None:
    """Pages show this person times of that time zone from now on; raises UnknownTimeZone."""
    time_zone_named(name)
    User.objects.filter(pk=person.pk).update(time_zone=name)
    person.time_zone = name
