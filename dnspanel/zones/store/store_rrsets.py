"""Read and write RRsets in bulk: one statement for any number of RRsets. Verbs.

Only this module converts between rows of the model and the frozen `RRset`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring as quoted
from typing import Any

from django.db import connection

from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.database.sql import execute, fetch_all
from replication.codec.keys import relative_key
from replication.dns import rdata, rdtypes
from replication.dns.rrset import NO_NOTES, Change, Key, RRset, format_notes, parse_notes

# The fields of a row: name, owner key, type, TTL, rdata texts, anything, disabled texts, comment, notes.
RowFields = tuple[str, bytes, int, int, Sequence[str], object, Sequence[str], str, str]

_CHUNK = 256 << 10
_has_capital = re.compile("[A-Z]").search
BEHIND_ALL_KEYS = b"\xff" * 64  # above all owner keys: no label has more than 63 bytes
COLUMNS = "r.zone_id, r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment, r.notes"

# OFFSET forces one look-up per name. Otherwise PostgreSQL would keep a plan from when the table was small.
_AT_NAMES = f"""
SELECT r.* FROM unnest(%s::int[], %s::text[]) AS owner (zone_id, hex)
CROSS JOIN LATERAL (
    SELECT {COLUMNS} FROM zones_rrset r
    WHERE r.zone_id = owner.zone_id AND r.owner_key = decode(owner.hex, 'hex') OFFSET 0
) AS r
"""

_BELOW = f"""
SELECT {COLUMNS}, subtree.number
FROM unnest(%s::int[], %s::bytea[], %s::bytea[], %s::int[]) WITH ORDINALITY
    AS subtree (zone_id, top, behind, most, number)
CROSS JOIN LATERAL (
    SELECT * FROM zones_rrset
    WHERE zone_id = subtree.zone_id AND owner_key > subtree.top AND owner_key < subtree.behind
    ORDER BY owner_key, type LIMIT subtree.most
) AS r
ORDER BY subtree.number, r.owner_key, r.type
"""

_WITHIN = f"""
SELECT {COLUMNS} FROM unnest(%s::bytea[], %s::bytea[]) AS subtree (first, behind)
CROSS JOIN LATERAL (
    SELECT * FROM zones_rrset WHERE zone_id = %s AND owner_key >= subtree.first AND owner_key < subtree.behind
    ORDER BY owner_key, type LIMIT %s
) AS r
"""

_SERVED_BELOW = f"""
SELECT subtree.number FROM unnest(%s::bytea[], %s::bytea[]) WITH ORDINALITY AS subtree (top, behind, number)
CROSS JOIN LATERAL (
    SELECT 1 FROM zones_rrset
    WHERE zone_id = %s AND owner_key > subtree.top AND owner_key < subtree.behind
        AND NOT rdata <@ disabled AND type <> {rdtypes.RRSIG} LIMIT 1
) AS r
"""

# Texts with capitals have lowercase forms, in a separate index with only these forms. One query per zone, joined by
# UNION ALL: if PostgreSQL doesn't see the zone and the values, it reads all RRsets of a large zone. Each statement has
# up to _ZONES_TOGETHER of them.
_WITH_RDATA = f"""
(SELECT {COLUMNS} FROM zones_rrset r
WHERE r.zone_id = %s AND (r.rdata && %s::text[] OR (r.folded && %s::text[] AND r.folded IS NOT NULL)) LIMIT %s)
"""
_ZONES_TOGETHER = 200

_POINTING = """
SELECT target, zone_id, name, type, ttl, rdata, disabled, comment FROM rrsets_pointing_at(%s::text[], %s)
"""

_OF_ZONES = f"""
SELECT {COLUMNS} FROM zones_rrset r WHERE r.zone_id = ANY(%s) ORDER BY r.zone_id, r.owner_key, r.type
"""

_BEHIND = f"""
SELECT r.owner_key, {COLUMNS} FROM zones_rrset r
WHERE (r.zone_id, r.owner_key) > (%s, %s) ORDER BY r.zone_id, r.owner_key, r.type LIMIT %s
"""

_DS_OF_ZONES = f"SELECT {COLUMNS} FROM zones_rrset r WHERE r.zone_id = ANY(%s) AND r.type = {rdtypes.DS}"

_DELETE = """
DELETE FROM zones_rrset r USING unnest(%s::int[], %s::bytea[], %s::int[]) AS gone (zone_id, owner_key, type)
WHERE r.zone_id = gone.zone_id AND r.owner_key = gone.owner_key AND r.type = gone.type
"""

# Zone by zone, so that the next revision is looked up once per zone, not once per RRset.
_REPLACE = """
INSERT INTO zones_rrset (zone_id, name, owner_key, type, ttl, rdata, folded, disabled, comment, notes, changed_in)
SELECT z.id, r.name, decode(key, 'hex'), type, ttl, rdata, folded, disabled, comment, COALESCE(notes, ''),
    z.revision + 1
FROM jsonb_to_recordset(%s::jsonb) AS of_zone (zone int, rrsets jsonb)
CROSS JOIN LATERAL (SELECT id, revision FROM zones_zone WHERE id = of_zone.zone LIMIT 1) AS z
CROSS JOIN LATERAL jsonb_to_recordset(of_zone.rrsets)
    AS r (name text, key text, type int, ttl int, rdata text[], folded text[], disabled text[], comment text,
        notes text)
ON CONFLICT (zone_id, owner_key, type) DO UPDATE
SET ttl = excluded.ttl, rdata = excluded.rdata, folded = excluded.folded, disabled = excluded.disabled,
    comment = excluded.comment, notes = excluded.notes, changed_in = excluded.changed_in
"""

_COPY = "COPY zones_rrset (zone_id, name, owner_key, type, ttl, rdata, folded, disabled, comment, notes) FROM STDIN"


def rrset_of(row: Any) -> RRset:
    """Create a frozen RRset from a model instance, or from any object with the same fields."""
    notes = parse_notes(row.notes)
    return RRset(row.name, row.type, row.ttl, tuple(row.rdata), tuple(row.disabled), row.comment, notes)


def rrsets_at_names(owners: Mapping[int, tuple[str, Collection[str]]]) -> dict[int, dict[Key, RRset]]:
    """Return all RRsets at names, given as {zone id: (zone name, owner names)}, as {zone id: {key: RRset}}."""
    zone_ids: list[str] = []
    keys: list[str] = []
    for zone_id, (zone_name, owner_names) in owners.items():
        zone_ids += [str(zone_id)] * len(owner_names)
        keys += [relative_key(name, zone_name).hex() for name in owner_names]
    found: dict[int, dict[Key, RRset]] = {zone_id: {} for zone_id in owners}
    if not keys:
        return found
    # Format arrays for PostgreSQL here: psycopg would check each member for characters to quote.
    for zone_id, rrset in _rows(_AT_NAMES, [f"{{{','.join(zone_ids)}}}", f"{{{','.join(keys)}}}"], planned_once=True):
        found[zone_id][rrset.name, rrset.type] = rrset
    return found


def rrsets_below(tops: Sequence[tuple[int, str, str, int]]) -> list[list[RRset]]:
    """Return the first RRsets below each name in `tops`, in canonical order. Needs one query.

    `tops` has (zone id, zone name, name, maximum number of RRsets).
    """
    found: list[list[RRset]] = [[] for _ in tops]
    if not tops:
        return found
    subtrees = [_subtree(name, zone_name) for _, zone_name, name, _ in tops]
    parameters: list[Any] = [
        [zone_id for zone_id, *_ in tops],
        [first for first, _ in subtrees],
        [behind for _, behind in subtrees],
        [most for *_, most in tops],
    ]
    for _, name, type_, ttl, texts, disabled, comment, notes, number in fetch_all(_BELOW, parameters):
        rrset = RRset(name, type_, ttl, tuple(texts), tuple(disabled), comment, parse_notes(notes))
        found[number - 1].append(rrset)
    return found


def names_with_served_below(zone_id: int, zone_name: str, tops: Sequence[str]) -> set[str]:
    """Return the names in `tops` that have served records below them. Needs one query.

    A name with only signatures does not count (RFC 4035 section 2.2).
    """
    if not tops:
        return set()
    subtrees = [_subtree(name, zone_name) for name in tops]
    return {
        tops[number - 1]
        for (number,) in fetch_all(
            _SERVED_BELOW, [[first for first, _ in subtrees], [behind for _, behind in subtrees], zone_id]
        )
    }


def rrsets_within(zone_id: int, zone_name: str, tops: Sequence[str], limit: int) -> list[RRset]:
    """Return the first RRsets at and below each name, up to `limit` per name. Needs one query."""
    subtrees = [_subtree(name, zone_name) for name in tops]
    parameters = [[first for first, _ in subtrees], [behind for _, behind in subtrees], zone_id, limit]
    return [rrset for _, rrset in _rows(_WITHIN, parameters)]


def rrsets_behind(zone_id: int, owner_key: bytes, limit: int) -> list[tuple[int, bytes, RRset]]:
    """Return up to `limit` RRsets after this key, also of zones with higher ids, as (zone id, owner key, RRset)."""
    return [
        (zone, bytes(key), RRset(name, type, ttl, tuple(texts), tuple(off), comment, parse_notes(notes)))
        for key, zone, name, type, ttl, texts, off, comment, notes in fetch_all(_BEHIND, [zone_id, owner_key, limit])
    ]


def ds_of_zones(zone_ids: Collection[int]) -> dict[int, list[RRset]]:
    """Return the DS RRsets in these zones, keyed by zone id. One query, whose cost doesn't depend on zone sizes."""
    found: dict[int, list[RRset]] = {}
    for zone_id, rrset in _rows(_DS_OF_ZONES, [list(zone_ids)]):
        found.setdefault(zone_id, []).append(rrset)
    return found


def rrsets_with_rdata(texts: Mapping[int, Collection[str]], limit: int) -> dict[int, list[RRset]]:
    """Return up to `limit` RRsets of each zone that have one of its values in `texts`. Needs a query per 200 zones."""
    found: dict[int, list[RRset]] = {}
    requested = [(zone_id, list(of_zone)) for zone_id, of_zone in texts.items() if of_zone]
    for start in range(0, len(requested), _ZONES_TOGETHER):
        together = requested[start : start + _ZONES_TOGETHER]
        parameters = [parameter for zone_id, of_zone in together for parameter in (zone_id, of_zone, of_zone, limit)]
        for zone_id, rrset in _rows(" UNION ALL ".join([_WITH_RDATA] * len(together)), parameters):
            found.setdefault(zone_id, []).append(rrset)
    return found


def rrsets_pointing_at(targets: Collection[str], limit: int) -> list[tuple[str, int, RRset]]:
    """Return the RRsets in all live zones that point to one of these names, as (target, zone id, RRset).

    For each target, return up to `limit` RRsets of each kind: the rdata is only a name, only a name with capital
    letters, or more than a name. Needs one query.
    """
    return [
        (target, zone_id, RRset(name, type_, ttl, tuple(texts), tuple(disabled), comment))
        for target, zone_id, name, type_, ttl, texts, disabled, comment in fetch_all(_POINTING, [list(targets), limit])
    ]


def write_changes(zones: Iterable[tuple[int, str, Sequence[Change]]]) -> None:
    """Write changes, given as (zone id, zone name, changes), to the table of RRsets. Deletions come first."""
    both = list(zones)
    # Deletions first, because a CNAME cannot exist next to the data that it replaces.
    delete_rrsets((id, zone, c.name, c.type) for id, zone, changes in both for c in changes if c.after is None)
    replace_rrsets((id, zone, c.after) for id, zone, changes in both for c in changes if c.after is not None)


def delete_rrsets(keys: Iterable[tuple[int, str, str, int]]) -> None:
    """Delete the RRsets with these keys: (zone id, zone name, owner name, type)."""
    rows = list(keys)
    if not rows:
        return
    execute(
        _DELETE,
        [
            [zone_id for zone_id, _, _, _ in rows],
            [relative_key(name, zone_name) for _, zone_name, name, _ in rows],
            [type for _, _, _, type in rows],
        ],
    )


def replace_rrsets(rrsets: Iterable[tuple[int, str, RRset]]) -> None:
    """Write RRsets, given as (zone id, zone name, RRset). Replace existing ones with the same name and type.

    The rows store the number of the zone's next revision, because that revision is only appended to the log later.
    """
    of_zones: dict[int, list[str]] = {}
    for zone_id, zone_name, r in rrsets:
        row = (
            f'{{"name": {quoted(r.name)}, "key": "{relative_key(r.name, zone_name).hex()}", '
            f'"type": {r.type}, {r.json_members}{_folded_member(r)}{_notes_member(r)}}}'
        )
        of_zones.setdefault(zone_id, []).append(row)
    if not of_zones:
        return
    zones = [f'{{"zone": {zone_id}, "rrsets": [{",".join(rows)}]}}' for zone_id, rows in of_zones.items()]
    with prepared_cursor() as cursor:
        cursor.execute(_REPLACE, [f"[{','.join(zones)}]"])


def _folded_member(rrset: RRset) -> str:
    folded = folded_texts(rrset.type, rrset.rdata)
    return f', "folded": [{",".join(map(quoted, folded))}]' if folded else ""


def folded_texts(type: int, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the rdata with names in lowercase, for the column `folded`, or () if it would be the same as `texts`."""
    if type not in rdata.WITH_NAMES:
        return ()
    # An import has millions of them, and few have capitals.
    if not any(map(_has_capital, texts)):
        return ()
    folded = rdata.fold_all(type, texts)
    return () if folded == tuple(texts) else folded


def _notes_member(rrset: RRset) -> str:
    return f', "notes": {quoted(format_notes(rrset.notes))}' if rrset.notes else ""


def rrsets_of_zones(zone_ids: Sequence[int]) -> dict[int, dict[Key, RRset]]:
    """Return all RRsets in these zones in canonical order, as {zone id: {key: RRset}}. A missing zone has no RRsets."""
    found: dict[int, dict[Key, RRset]] = {zone_id: {} for zone_id in zone_ids}
    for zone_id, rrset in _rows(_OF_ZONES, [list(zone_ids)]):
        found[zone_id][rrset.name, rrset.type] = rrset
    return found


def copy_in(rows: Iterable[bytes]) -> int:
    """Insert rows that `copy_rows` encoded. Return the number of rows."""
    with connection.wrap_database_errors, connection.cursor() as cursor:
        with cursor.copy(_COPY) as copy:
            for chunk in _chunks(rows):
                copy.write(chunk)
        return int(cursor.rowcount)


def copy_rows(zone_id: int, rrsets: Iterable[RowFields]) -> bytes:
    """Encode a zone's RRsets as rows for COPY. The rows can be stored in a file until the zone is created."""
    start, with_names = f"{zone_id}\t", rdata.WITH_NAMES
    lines = []
    for name, key, type, ttl, texts, _, disabled, comment, notes in rrsets:
        if "\\" in name:
            name = name.replace("\\", "\\\\")
        # Most have no capitals in their names, and an empty value needs no space in the table.
        folded = folded_texts(type, texts) if type in with_names else ()
        rest = "\\N\t{}\t\t\n"
        if folded or disabled or comment or notes:
            folded_array = _copy_array(folded) if folded else "\\N"
            rest = f"{folded_array}\t{_copy_array(disabled)}\t{copy_text(comment)}\t{copy_text(notes)}\n"
        lines.append(f"{start}{name}\t\\\\x{key.hex()}\t{type}\t{ttl}\t{_copy_array(texts)}\t{rest}")
    return "".join(lines).encode()


def rows_of_zone(zone_id: int, zone_name: str, rrsets: Iterable[RRset]) -> bytes:
    """Compute the owner keys of RRsets, and encode the RRsets as rows for COPY. See `copy_rows`."""
    return copy_rows(zone_id, (_fields(r, zone_name) for r in rrsets))


def _fields(rrset: RRset, zone_name: str) -> RowFields:
    key, notes = relative_key(rrset.name, zone_name), format_notes(rrset.notes)
    return rrset.name, key, rrset.type, rrset.ttl, rrset.rdata, (), rrset.disabled, rrset.comment, notes


def _subtree(name: str, zone_name: str) -> tuple[bytes, bytes]:
    """Return a name's owner key, and the first key after all keys below it."""
    key = relative_key(name, zone_name)
    # Keys below `www` start with its key. All other names are below the apex.
    return key, BEHIND_ALL_KEYS if name == zone_name else key[:-1] + b"\x01"


def _chunks(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Join the rows to larger chunks, because each write is a call into libpq and most zones are small."""
    waiting: list[bytes] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row)
        if size >= _CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _copy_array(texts: Sequence[str]) -> str:
    """Format a text[] literal for COPY: quoted for the array, then escaped for COPY's text format."""
    if not texts:
        return "{}"
    joined = texts[0] if len(texts) == 1 else "\0".join(texts)  # PostgreSQL texts cannot contain NUL
    if "\\" in joined:
        joined = joined.replace("\\", "\\\\\\\\")
    if '"' in joined:
        joined = joined.replace('"', '\\\\"')
    if not joined.isprintable():
        joined = joined.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r").replace("\0", '","')
    return f'{{"{joined}"}}'


def copy_text(text: str) -> str:
    """Escape a string for COPY's text format."""
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    if text.isprintable():
        return text
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _rows(sql: str, parameters: list[Any], *, planned_once: bool = False) -> Iterator[tuple[int, RRset]]:
    with prepared_cursor() if planned_once else connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        for zone_id, name, type_, ttl, texts, disabled, comment, notes in cursor.fetchall():
            noted = parse_notes(notes) if notes else NO_NOTES
            yield zone_id, RRset(name, type_, ttl, tuple(texts), tuple(disabled), comment, noted)
