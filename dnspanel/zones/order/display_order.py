"""Store the natural order of names in large zones shortly after each publication. Verbs.

A small zone is sorted when a person opens it. For a large zone, a worker stores each name's sort key. Pages can then be
read from an index, and publishing stays fast. The reader (`by_name`) inserts names that have changed since then.
"""

from collections.abc import Collection, Iterable, Sequence

from django.db import connection

from dnspanel.database.sql import fetch_all
from dnspanel.zones.models import NamePlace, Zone
from dnspanel.zones.values.natural_order import natural_key

LARGE = 5_000  # RRsets; smaller zones are sorted in 15 ms
_AT_ONCE = 50_000

_NAMES = """
SELECT DISTINCT owner_key FROM zones_rrset WHERE zone_id = %s AND owner_key > %s ORDER BY owner_key LIMIT %s"""
_LEFT = "SELECT DISTINCT owner_key FROM zones_rrset WHERE zone_id = %s AND owner_key = ANY(%s)"
_GONE = """
DELETE FROM zones_nameplace USING unnest(%s::bytea[], %s::bytea[]) AS gone (place, owner_key)
WHERE zone_id = %s AND zones_nameplace.place = gone.place AND zones_nameplace.owner_key = gone.owner_key"""
_ADDED = """
INSERT INTO zones_nameplace (zone_id, place, owner_key)
SELECT %s, place, owner_key FROM unnest(%s::bytea[], %s::bytea[]) AS added (place, owner_key)
ON CONFLICT DO NOTHING"""
_COPY = "COPY zones_nameplace (zone_id, place, owner_key) FROM STDIN"


def place_names(zone_ids: Collection[int]) -> None:
    """Store the sort keys of all names in each large zone. For small zones, only delete the stored keys."""
    NamePlace.objects.filter(zone__in=zone_ids).delete()
    _place_large(zone_ids)


def place_changed(zone_id: int, keys: Sequence[bytes]) -> None:
    """Store the sort keys of changed names, or of all names if a large zone has no keys. Delete removed names' keys."""
    if not NamePlace.objects.filter(zone=zone_id).exists():
        _place_large([zone_id])
        return
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, [zone_id, list(keys)])
        left = {bytes(key) for (key,) in cursor.fetchall()}
        gone = [key for key in keys if key not in left]
        if gone:
            cursor.execute(_GONE, [list(map(natural_key, gone)), gone, zone_id])
        if left:
            cursor.execute(_ADDED, [zone_id, list(map(natural_key, left)), list(left)])


def _place_large(zone_ids: Collection[int]) -> None:
    for zone_id in Zone.objects.filter(pk__in=zone_ids, rrset_count__gt=LARGE).values_list("pk", flat=True):
        _place_all(zone_id)


def _place_all(zone_id: int) -> None:
    last = b""  # before the apex, whose key isn't empty
    while True:
        keys = [bytes(key) for (key,) in fetch_all(_NAMES, [zone_id, last, _AT_ONCE])]
        if not keys:
            return
        _copy_in(zone_id, keys)
        last = keys[-1]


def _copy_in(zone_id: int, keys: Iterable[bytes]) -> None:
    lines = (f"{zone_id}\t\\\\x{natural_key(key).hex()}\t\\\\x{key.hex()}\n" for key in keys)
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        copy.write("".join(lines).encode())
