"""RRsets from and to their table, in sets: one statement each, however many RRsets there are.

The only place where the model's row and the frozen `RRset` turn into each other.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

from replication.codec.keys import relative_key
from replication.rrset import RRset

Key = tuple[str, int]

_MANY_ZONES = 200
_BEHIND_ALL = b"\xff" * 64  # no label has more than 63 bytes
COLUMNS = "r.zone_id, r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment"

_AT_NAMES = f"""
SELECT {COLUMNS} FROM unnest(%s::int[], %s::bytea[]) AS wanted (zone_id, owner_key)
JOIN zones_rrset r USING (zone_id, owner_key)
"""

_BELOW = f"""
SELECT {COLUMNS} FROM zones_rrset r
WHERE r.zone_id = %s AND r.owner_key > %s AND r.owner_key < %s ORDER BY r.owner_key, r.type LIMIT %s
"""

_WITH_RDATA = f"SELECT {COLUMNS} FROM zones_rrset r WHERE r.zone_id = %s AND r.rdata && %s::text[] LIMIT %s"

_DELETE = """
DELETE FROM zones_rrset r USING unnest(%s::int[], %s::bytea[], %s::int[]) AS gone (zone_id, owner_key, type)
WHERE r.zone_id = gone.zone_id AND r.owner_key = gone.owner_key AND r.type = gone.type
"""

_REPLACE = """
INSERT INTO zones_rrset (zone_id, name, owner_key, type, ttl, rdata, disabled, comment)
SELECT zone, name, decode(key, 'hex'), type, ttl, rdata, disabled, comment
FROM jsonb_to_recordset(%s::jsonb)
    AS r (zone int, name text, key text, type int, ttl int, rdata text[], disabled text[], comment text)
ON CONFLICT (zone_id, owner_key, type) DO UPDATE
SET ttl = excluded.ttl, rdata = excluded.rdata, disabled = excluded.disabled, comment = excluded.comment
"""

_COPY = "COPY zones_rrset (zone_id, name, owner_key, type, ttl, rdata, disabled, comment) FROM STDIN"


def rrset_of(row: Any) -> RRset:
    """The RRset of a model instance or of anything else with its fields."""
    return RRset(row.name, row.type, row.ttl, tuple(row.rdata), tuple(row.disabled), row.comment)


def rrsets_at_names(owners: Mapping[int, tuple[str, Collection[str]]]) -> dict[int, dict[Key, RRset]]:
    """Every RRset at these owner names, per zone: {zone id: (zone name, owner names)}."""
    zone_ids: list[int] = []
    keys: list[bytes] = []
    for zone_id, (zone_name, owner_names) in owners.items():
        for name in owner_names:
            zone_ids.append(zone_id)
            keys.append(relative_key(name, zone_name))
    found: dict[int, dict[Key, RRset]] = {zone_id: {} for zone_id in owners}
    for zone_id, rrset in _rows(_AT_NAMES, [zone_ids, keys]):
        found[zone_id][rrset.name, rrset.type] = rrset
    return found


def rrsets_below(zone_id: int, zone_name: str, name: str, limit: int) -> list[RRset]:
    """The first RRsets strictly below a name of the zone, in canonical order."""
    key = relative_key(name, zone_name)
    # Keys below `www` start with its own key; everything but the apex is below the apex.
    end = _BEHIND_ALL if name == zone_name else key[:-1] + b"\x01"
    return [rrset for _, rrset in _rows(_BELOW, [zone_id, key, end, limit])]


def rrsets_with_rdata(zone_id: int, texts: Collection[str], limit: int) -> list[RRset]:
    """RRsets of the zone that hold one of these rdata."""
    return [rrset for _, rrset in _rows(_WITH_RDATA, [zone_id, list(texts), limit])]


def delete_rrsets(keys: Iterable[tuple[int, str, str, int]]) -> None:
    """No RRset stands at these (zone id, zone name, owner name, type)."""
    rows = list(keys)
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _DELETE,
            [
                [zone_id for zone_id, _, _, _ in rows],
                [relative_key(name, zone_name) for _, zone_name, name, _ in rows],
                [type for _, _, _, type in rows],
            ],
        )


def replace_rrsets(rrsets: Iterable[tuple[int, str, RRset]]) -> None:
    """These (zone id, zone name, RRset) stand in the table, in place of any of the same name and type."""
    rows = [
        {"zone": zone_id, "name": r.name, "key": relative_key(r.name, zone_name).hex(), "type": r.type, **r.to_json()}
        for zone_id, zone_name, r in rrsets
    ]
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(_REPLACE, [json.dumps(rows, ensure_ascii=False)])


def copy_rrsets(zones: Sequence[tuple[int, str, Iterable[RRset]]]) -> int:
    """Add all RRsets of new zones (zone id, zone name, RRsets) by COPY; returns how many there were."""
    count = 0
    _count_zones_anew(len(zones))
    with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for zone_id, zone_name, rrsets in zones:
            lines = [_copy_line(zone_id, zone_name, rrset) for rrset in rrsets]
            count += len(lines)
            copy.write("".join(lines))
    return count


def _count_zones_anew(added: int) -> None:
    """PostgreSQL knows that there are many zones, if that is news to it.

    It plans the check of a foreign key once per connection; planned when
    there were a dozen zones, it would read the whole table for each RRset.
    """
    if added < _MANY_ZONES:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = 'zones_zone'::regclass")
        if cursor.fetchone()[0] < 10 * _MANY_ZONES:
            cursor.execute("ANALYZE zones_zone")


def _copy_line(zone_id: int, zone_name: str, rrset: RRset) -> str:
    r = rrset
    key = relative_key(r.name, zone_name).hex()
    disabled = _copy_array(r.disabled) if r.disabled else "{}"
    name, comment = _copy_text(r.name), _copy_text(r.comment)
    return f"{zone_id}\t{name}\t\\\\x{key}\t{r.type}\t{r.ttl}\t{_copy_array(r.rdata)}\t{disabled}\t{comment}\n"


def _copy_array(texts: Sequence[str]) -> str:
    """A text[] literal in COPY's text form: quoted for the array, then escaped for COPY."""
    joined = '","'.join(texts)
    if "\\" not in joined and joined.count('"') == 2 * (len(texts) - 1):
        return '{"' + _copy_text(joined) + '"}'
    quoted = ",".join('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts)
    return "{" + _copy_text(quoted) + "}"


def _copy_text(text: str) -> str:
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if text.isprintable():
        return text
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _rows(sql: str, parameters: list[Any]) -> Iterator[tuple[int, RRset]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        for zone_id, name, type_, ttl, rdata, disabled, comment in cursor.fetchall():
            yield zone_id, RRset(name, type_, ttl, tuple(rdata), tuple(disabled), comment)
