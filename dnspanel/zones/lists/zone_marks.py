"""Store the zones that a person has pinned or recently opened. Verbs."""

from dataclasses import dataclass

from django.db import connection

from dnspanel.accounts.actors.actors import Person
from dnspanel.accounts.models import User
from dnspanel.zones.models import Zone, ZoneMarks
from dnspanel.zones.rights.access import zones_visible_to

MOST_PINNED = 30
MOST_RECENT = 12

# Each is one statement, so that two windows of a person do not overwrite each other's changes.
_PIN = """
INSERT INTO zones_zonemarks (user_id, pinned, recent) VALUES (%(user)s, ARRAY[%(zone)s]::int[], '{}')
ON CONFLICT (user_id) DO UPDATE
SET pinned = (ARRAY[%(zone)s] || array_remove(zones_zonemarks.pinned, %(zone)s))[1:%(most)s]
"""
_UNPIN = "UPDATE zones_zonemarks SET pinned = array_remove(pinned, %(zone)s) WHERE user_id = %(user)s"
_NOTE = """
INSERT INTO zones_zonemarks (user_id, pinned, recent) VALUES (%(user)s, '{}', ARRAY[%(zone)s]::int[])
ON CONFLICT (user_id) DO UPDATE
SET recent = (ARRAY[%(zone)s] || array_remove(zones_zonemarks.recent, %(zone)s))[1:%(most)s]
WHERE zones_zonemarks.recent[1] IS DISTINCT FROM %(zone)s
"""


@dataclass(frozen=True, slots=True)
class MarkedZones:
    """A person's pinned zones, sorted by name, and other recently opened zones, most recent first."""

    pinned: tuple[Zone, ...]
    recent: tuple[Zone, ...]


def pin(*, zone: Zone, person: User) -> None:
    """Pin the zone. If the person then has more than MOST_PINNED pinned zones, unpin the one that was pinned first."""
    _execute(_PIN, zone, person, MOST_PINNED)


def unpin(*, zone: Zone, person: User) -> None:
    """Unpin the zone."""
    _execute(_UNPIN, zone, person, MOST_PINNED)


def note_visit(*, zone: Zone, person: User) -> None:
    """Record the zone as the one that the person opened last. Write nothing if it already is."""
    _execute(_NOTE, zone, person, MOST_RECENT)


def marked_zones(person: User) -> MarkedZones:
    """Return the person's pinned and recent zones that are still visible to the person. Makes two queries."""
    marks = ZoneMarks.objects.filter(user=person).first()
    if marks is None:
        return MarkedZones((), ())
    found = zones_visible_to(person).select_related("changed_by").in_bulk({*marks.pinned, *marks.recent})
    pinned = [found[pk] for pk in marks.pinned if pk in found]
    recent = [found[pk] for pk in marks.recent if pk in found and pk not in marks.pinned]
    return MarkedZones(tuple(sorted(pinned, key=lambda zone: zone.name)), tuple(recent))


def is_pinned(zone: Zone, person: Person) -> bool:
    """Return True if the person pinned the zone."""
    return isinstance(person, User) and ZoneMarks.objects.filter(user=person, pinned__contains=[zone.pk]).exists()


def _execute(statement: str, zone: Zone, person: User, most: int) -> None:
    with connection.wrap_database_errors, connection.cursor() as cursor:
        cursor.execute(statement, {"user": person.pk, "zone": zone.pk, "most": most})
