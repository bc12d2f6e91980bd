"""Zones by name, and zones locked by id: what every change asks first, in statements that are planned once."""

from collections.abc import Collection
from typing import Any

from django.db import connection

from dnspanel.prepared_statements import prepared_cursor
from dnspanel.zones.models import Zone

_FIELDS = [field.attname for field in Zone._meta.concrete_fields]
_COLUMNS = ", ".join(str(field.column) for field in Zone._meta.concrete_fields)

_NAMED = f"SELECT {_COLUMNS} FROM zones_zone WHERE name = %s AND deleted_at IS NULL"

_LOCKED = f"""
SELECT {_COLUMNS} FROM zones_zone WHERE id = ANY(%s::int[]) AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
"""

# Name by name: PostgreSQL takes hundreds of them in an `ANY` for a reason to read the whole table.
_NAMES = """
SELECT z.name, z.id FROM unnest(%s::text[]) AS wanted (name)
CROSS JOIN LATERAL (SELECT name, id FROM zones_zone WHERE deleted_at IS NULL AND name = wanted.name LIMIT 1) AS z
"""


def living_zone(name: str) -> Zone | None:
    """The zone of this canonical name that is not deleted. One query. For the doors: anybody may get it here."""
    found = _zones(_NAMED, name)
    return found[0] if found else None


def locked(zone_ids: Collection[int]) -> list[Zone]:
    """These zones, without deleted ones, locked in the order of their ids, so that no two publishers deadlock."""
    return _zones(_LOCKED, f"{{{','.join(map(str, zone_ids))}}}")


def ids_of_living(names: Collection[str]) -> dict[str, int]:
    """The ids of those of these names that have a zone. One query."""
    if not names:
        return {}
    with prepared_cursor() as cursor:
        cursor.execute(_NAMES, [list(names)])
        return dict(cursor.fetchall())


def _zones(sql: str, parameter: Any) -> list[Zone]:
    with prepared_cursor() as cursor:
        cursor.execute(sql, [parameter])
        return [Zone.from_db(connection.alias, _FIELDS, row) for row in cursor.fetchall()]
