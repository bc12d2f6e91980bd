"""Look up zones by name and lock zones by id. The statements are prepared, because every change needs them."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Model, OneToOneRel, Q, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Exact

from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.zones.models import Zone

_FIELDS = [field.attname for field in Zone._meta.concrete_fields]
_COLUMNS = ", ".join(str(field.column) for field in Zone._meta.concrete_fields)

# Zone by zone, as for names below: with an `ANY` of many ids, PostgreSQL would scan the whole table.
_LOCKED = f"""
SELECT z.* FROM (SELECT DISTINCT id FROM unnest(%s::int[]) AS id ORDER BY id) AS wanted
CROSS JOIN LATERAL (
    SELECT {_COLUMNS} FROM zones_zone WHERE id = wanted.id AND deleted_at IS NULL FOR NO KEY UPDATE
) AS z
"""

_NAMES = """
SELECT z.name, z.id FROM unnest(%s::text[]) AS wanted (name)
CROSS JOIN LATERAL (SELECT name, id FROM zones_zone WHERE deleted_at IS NULL AND name = wanted.name LIMIT 1) AS z
"""


def living_zone(name: str, relations: tuple[str, ...] = ()) -> Zone | None:
    """Return the zone with this canonical name, or None. Ignore deleted zones. Rights are not checked.

    `relations` names one-to-one relations to load with the zone, such as `signing` or `produced__catalog`, as with
    `select_related`. That method would need more time to build the SQL than PostgreSQL needs to run it. Needs one
    query.
    """
    statement = _statement_with(relations)
    with prepared_cursor() as cursor:
        cursor.execute(statement.sql, [name])
        row = cursor.fetchone()
    return None if row is None else statement.zone_of(row)


def has_name(name: str) -> Q:
    """Return the query condition for zones with this canonical name, including zones in the trash."""
    # The second condition is for the trigram index. The other name indexes only have zones that aren't deleted.
    return Q(name=name) & Q(Exact(Upper("name"), Upper(Value(name))))


def lock_zones(zone_ids: Collection[int]) -> list[Zone]:
    """Lock and return these zones, except deleted ones, in the order of their ids, which prevents deadlocks."""
    with prepared_cursor() as cursor:
        cursor.execute(_LOCKED, [f"{{{','.join(map(str, zone_ids))}}}"])
        return [Zone.from_db(connection.alias, _FIELDS, row) for row in cursor.fetchall()]


def ids_of_living(names: Collection[str]) -> dict[str, int]:
    """Return {name: id} for the names of live zones. Needs one query."""
    if not names:
        return {}
    with prepared_cursor() as cursor:
        cursor.execute(_NAMES, [list(names)])
        return dict(cursor.fetchall())


class _Table(NamedTuple):
    """One table in a statement. `relation` joins its rows to the table with the index `of`."""

    model: type[Model]
    names: list[str]  # names of the fields, as in the statement
    key: int  # the index of the primary key in `names`
    conversions: list[tuple[int, Any]]  # fields that Django converts when reading: JSON arrives as text
    relation: Any
    of: int

    @classmethod
    def of_model(cls, model: type[Model], relation: Any = None, of: int = 0) -> "_Table":
        fields = list(model._meta.concrete_fields)
        conversions = [(n, field.from_db_value) for n, field in enumerate(fields) if hasattr(field, "from_db_value")]
        return cls(model, [field.attname for field in fields], fields.index(model._meta.pk), conversions, relation, of)

    def instance(self, values: list[Any]) -> Model | None:
        """Return a model instance with these values, or None if a join found no row."""
        if values[self.key] is None:
            return None
        for place, convert in self.conversions:
            values[place] = convert(values[place], None, connection)
        return self.model.from_db(connection.alias, self.names, values)


class _Statement(NamedTuple):
    sql: str
    tables: list[_Table]

    def zone_of(self, row: Sequence[Any]) -> Zone:
        found: list[Model | None] = []
        begin = 0
        for table in self.tables:
            end = begin + len(table.names)
            one = table.instance(list(row[begin:end]))
            found.append(one)
            begin = end
            if table.relation is not None and (holder := found[table.of]) is not None:
                table.relation.set_cached_value(holder, one)
                if one is not None and isinstance(table.relation, OneToOneRel):
                    table.relation.field.set_cached_value(one, holder)
        zone = found[0]
        assert isinstance(zone, Zone)
        return zone


@cache
def _statement_with(relations: tuple[str, ...]) -> _Statement:
    tables, places, joins = [_Table.of_model(Zone)], {"": 0}, []
    for path in relations:
        steps = path.split("__")
        for depth, step in enumerate(steps):
            above, here = "__".join(steps[:depth]), "__".join(steps[: depth + 1])
            if here in places:
                continue
            of = places[above]
            relation: Any = tables[of].model._meta.get_field(step)
            places[here] = len(tables)
            tables.append(_Table.of_model(relation.related_model, relation, of))
            # The columns on both sides. Either model can have the foreign key.
            ours, theirs = relation.get_joining_fields()[0]
            table = relation.related_model._meta.db_table
            alias = f"t{places[here]}"
            joins.append(f'LEFT JOIN {table} {alias} ON {alias}."{theirs.column}" = t{of}."{ours.column}"')
    columns = ", ".join(
        f't{place}."{field.column}"'
        for place, table in enumerate(tables)
        for field in table.model._meta.concrete_fields
    )
    where = "t0.name = %s AND t0.deleted_at IS NULL"
    return _Statement(f"SELECT {columns} FROM zones_zone t0 {' '.join(joins)} WHERE {where}", tables)
