"""Zones by name, and zones locked by id: what every change asks first, in statements that are planned once."""

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Field, Model, OneToOneRel

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


def living_zone_with(name: str, relations: Sequence[str]) -> Zone | None:
    """The same with what belongs to it: names of one-to-one relations, `__` before a foreign key of one. One query.

    It is as after Django's `select_related`, which makes the text of such a statement anew each time, for longer than
    PostgreSQL needs to answer it.
    """
    statement = _statement_with(tuple(relations))
    with prepared_cursor() as cursor:
        cursor.execute(statement.sql, [name])
        row = cursor.fetchone()
    return None if row is None else statement.zone_of(row)


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


class _Table(NamedTuple):
    """One table of a statement; what its rows belong to is in the table at the place `of`, by `relation`."""

    model: type[Model]
    relation: Any = None
    of: int = 0

    @property
    def fields(self) -> "list[Field[Any, Any]]":
        return list(self.model._meta.concrete_fields)

    @property
    def conversions(self) -> list[tuple[int, Any]]:
        """Fields that Django reads with a function of theirs: JSON comes as text."""
        return [(n, field.from_db_value) for n, field in enumerate(self.fields) if hasattr(field, "from_db_value")]


class _Statement(NamedTuple):
    sql: str
    tables: list[_Table]

    def zone_of(self, row: Sequence[Any]) -> Zone:
        """The zone in a row of the answer, with what belongs to it."""
        found: list[Model | None] = []
        for table, values in self._divided(row):
            for place, convert in table.conversions:
                values[place] = convert(values[place], None, connection)
            names = [field.attname for field in table.fields]
            is_missing = values[names.index(table.model._meta.pk.attname)] is None
            found.append(None if is_missing else table.model.from_db(connection.alias, names, values))
            if table.relation is not None and (holder := found[table.of]) is not None:
                table.relation.set_cached_value(holder, found[-1])
                if found[-1] is not None and isinstance(table.relation, OneToOneRel):
                    table.relation.field.set_cached_value(found[-1], holder)
        zone = found[0]
        assert isinstance(zone, Zone)
        return zone

    def _divided(self, row: Sequence[Any]) -> Iterator[tuple[_Table, list[Any]]]:
        begin = 0
        for table in self.tables:
            end = begin + len(table.fields)
            yield table, list(row[begin:end])
            begin = end


@cache
def _statement_with(relations: tuple[str, ...]) -> _Statement:
    tables, places, joins = [_Table(Zone)], {"": 0}, []
    for path in relations:
        steps = path.split("__")
        for depth, step in enumerate(steps):
            above, here = "__".join(steps[:depth]), "__".join(steps[: depth + 1])
            if here in places:
                continue
            of = places[above]
            relation: Any = tables[of].model._meta.get_field(step)
            places[here] = len(tables)
            tables.append(_Table(relation.related_model, relation, of))
            # The column of either side, whichever of the two models has the foreign key.
            ours, theirs = relation.get_joining_fields()[0]
            table = relation.related_model._meta.db_table
            alias = f"t{places[here]}"
            joins.append(f'LEFT JOIN {table} {alias} ON {alias}."{theirs.column}" = t{of}."{ours.column}"')
    columns = ", ".join(f't{place}."{field.column}"' for place, table in enumerate(tables) for field in table.fields)
    where = "t0.name = %s AND t0.deleted_at IS NULL"
    return _Statement(f"SELECT {columns} FROM zones_zone t0 {' '.join(joins)} WHERE {where}", tables)
