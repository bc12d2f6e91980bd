"""Read the log of publications for the publisher.

The log alone determines the effect of a range of sequences. Revisions name the zones, and changes contain each RRset
after the change. Only a zone that was created or restored inside the range is read as a whole: its current RRsets with
later changes undone. The encoding of a sequence therefore never depends on later publications.

SQL is written by hand for speed, because these queries run for every edit.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from dnspanel.publish.reading.prepared import Prepared
from dnspanel.publish.reading.publisher_session import Connection, planned_once
from dnspanel.zones.models import NOT_SERVED, RevisionKind
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns import rdtypes
from replication.dns.rrset import RRset, Serial
from replication.errors import WrongEpoch
from replication.wire.position import Position

# A batch ends with the publication that reaches this number of RRsets. A publication is never split.
BATCH_RRSETS = 20_000
_BATCH_PUBLICATIONS = 1_000
# Publications per query. Usually few are new, except after a standstill or during an import.
_PUBLICATIONS_PAGE = 32
_CURSOR_ROWS = 2_000

Changes = dict[tuple[str, int], RRset | None]


@dataclass(frozen=True, slots=True)
class Head:
    """The newest position of the log. If `on_hold` is True, publishing is on hold and nothing is encoded."""

    cluster: UUID
    position: Position
    on_hold: bool = False


@dataclass(frozen=True, slots=True)
class Encoded:
    """The last encoded sequence of a schema's log. `digests` (main, records) is None if nothing is encoded.

    A schema's log starts with a segment, or with a snapshot if the epoch is new or the schema was added later.
    `stalled` is True while encoding fails.
    """

    sequence: int
    digests: tuple[bytes, bytes] | None
    stalled: bool
    is_new_epoch: bool = False  # a person began this epoch, and nothing of it is encoded yet


@dataclass(frozen=True, slots=True)
class StoredSegment:
    first: int
    last: int
    object_name: str
    damaged: bool


@dataclass(frozen=True, slots=True)
class Range:
    """The sequences first..last. `at` is the time of the last publication.

    If `prepared` is set, the range is a single sequence whose new zones have prepared rows.
    """

    first: int
    last: int
    at: datetime
    prepared: Prepared | None = None


@dataclass(frozen=True, slots=True)
class ZoneStep:
    """The effects of a range on one zone. `serial` is None if the zone isn't served at the end of the range."""

    zone_id: int
    name: str
    serial: int | None
    served_before: bool
    is_full: bool  # created or restored inside the range: read the whole zone

    @property
    def changed(self) -> bool:
        """True if the zone was served before the range and throughout the range."""
        return self.serial is not None and not self.is_full

    @property
    def leaves_no_trace(self) -> bool:
        """True if nodes don't have the zone before the range, and don't get it with the range."""
        return self.serial is None and not self.served_before


_HEAD = "SELECT cluster, epoch, sequence, held_reason <> '' FROM zones_loghead"

_ENCODED = """
    SELECT EXISTS (SELECT FROM publish_stall WHERE schema = %(schema)s), newest.last, newest.digest
    FROM (SELECT 1) one LEFT JOIN (
        (SELECT last, digest FROM publish_segment
            WHERE schema = %(schema)s AND epoch = %(epoch)s ORDER BY last DESC LIMIT 1)
        UNION ALL
        (SELECT sequence, digest FROM publish_snapshot
            WHERE schema = %(schema)s AND epoch = %(epoch)s ORDER BY sequence DESC LIMIT 1)
        ORDER BY 1 DESC LIMIT 1
    ) newest ON true"""

_STORED = """
    SELECT first, last, object_name, damaged FROM publish_segment
    WHERE schema = %s AND epoch = %s AND last > %s ORDER BY last"""

_BEGUN = "SELECT EXISTS (SELECT FROM zones_epoch WHERE epoch = %s)"

_OTHER_EPOCH = "SELECT epoch FROM publish_segment WHERE schema = %s AND epoch <> %s LIMIT 1"

# The subqueries make PostgreSQL use the indexes, even if its statistics about tables that just grew are wrong.
_READ_PUBLICATIONS = """
    SELECT p.sequence, p.at, r.object_name, r.rows, r.digest, r.size, CASE WHEN r.sequence IS NULL THEN (
        SELECT coalesce(sum(v.added + v.changed + v.removed), 0)::bigint
        FROM zones_revision v WHERE v.publication_id = p.sequence
    ) END, r.sequence IS NULL AND EXISTS (
        SELECT FROM zones_revision v
        JOIN zones_signingchange c ON c.zone_id = v.zone_id AND c.revision_number = v.number
        WHERE v.publication_id = p.sequence
    )
    FROM zones_publication p LEFT JOIN publish_preparedrows r ON r.sequence = p.sequence"""

_PUBLICATION = f"{_READ_PUBLICATIONS} WHERE p.sequence = %s"

_PUBLICATIONS = f"{_READ_PUBLICATIONS} WHERE p.sequence > %s AND p.sequence <= %s ORDER BY p.sequence LIMIT %s"

_REVISIONS = """
    SELECT v.zone_id, z.name, v.kind, v.serial
    FROM zones_revision v JOIN zones_zone z ON z.id = v.zone_id
    WHERE v.publication_id BETWEEN %s AND %s ORDER BY v.zone_id, v.number"""

_SERVED = """
    SELECT DISTINCT ON (v.zone_id) v.zone_id, z.name, v.kind, v.serial
    FROM zones_revision v JOIN zones_zone z ON z.id = v.zone_id
    WHERE v.publication_id <= %s ORDER BY v.zone_id, v.number DESC"""

_CHANGES = """
    SELECT DISTINCT ON (v.zone_id, c.owner_key, c.type) v.zone_id, c.name, c.type, c.after
    FROM zones_revision v
    CROSS JOIN LATERAL (SELECT * FROM zones_change c WHERE c.revision_id = v.id OFFSET 0) c
    WHERE v.publication_id BETWEEN %s AND %s AND v.zone_id = ANY(%s)
    ORDER BY v.zone_id, c.owner_key, c.type, v.number DESC"""

_LATER = """
    SELECT DISTINCT ON (v.zone_id, c.owner_key, c.type) v.zone_id, c.name, c.type, c.before
    FROM zones_revision v
    CROSS JOIN LATERAL (SELECT * FROM zones_change c WHERE c.revision_id = v.id OFFSET 0) c
    WHERE v.publication_id > %s AND v.zone_id = ANY(%s)
    ORDER BY v.zone_id, c.owner_key, c.type, v.number"""

_RRSETS = """
    SELECT zone_id, name, type, ttl, rdata, disabled FROM zones_rrset
    WHERE zone_id = ANY(%s) ORDER BY zone_id, owner_key, type"""

_SOME_RRSETS = """
    SELECT r.zone_id, r.name, r.type, r.ttl, r.rdata, r.disabled
    FROM unnest(%s::int[], %s::bytea[], %s::int[]) AS w (zone_id, owner_key, type)
    JOIN zones_rrset r USING (zone_id, owner_key, type)"""

_SOME_LATER = """
    SELECT DISTINCT ON (w.zone_id, w.owner_key, w.type) w.zone_id, c.name, c.type, c.before
    FROM unnest(%s::int[], %s::bytea[], %s::int[]) AS w (zone_id, owner_key, type)
    JOIN zones_revision v ON v.zone_id = w.zone_id AND v.publication_id > %s
    JOIN zones_change c ON c.revision_id = v.id AND c.owner_key = w.owner_key AND c.type = w.type
    ORDER BY w.zone_id, w.owner_key, w.type, v.number"""


def read_head(conn: Connection) -> Head | None:
    """Return the newest position of the log, or None if the log doesn't exist yet."""
    row = planned_once(conn).execute(_HEAD).fetchone()
    return Head(row[0], Position(row[1], row[2]), row[3]) if row else None


def read_encoded(conn: Connection, schema: int, epoch: UUID) -> Encoded:
    """Return how far the schema's log is encoded. Raise WrongEpoch if the log exists only in an unknown epoch."""
    row = planned_once(conn).execute(_ENCODED, {"schema": schema, "epoch": epoch}).fetchone()
    stalled, last, digest = row or (False, None, b"")
    if last is not None:
        return Encoded(last, (bytes(digest[:16]), bytes(digest[16:])), stalled)
    if (conn.execute(_BEGUN, (epoch,)).fetchone() or (False,))[0]:
        return Encoded(0, None, stalled, is_new_epoch=True)
    if other := conn.execute(_OTHER_EPOCH, (schema, epoch)).fetchone():
        raise WrongEpoch(ours=other[0], theirs=epoch)
    return Encoded(0, None, stalled)


def stored_segments(conn: Connection, schema: int, epoch: UUID, *, after: int) -> list[StoredSegment]:
    """Return the segments that end after a sequence, in order."""
    return [StoredSegment(*row) for row in conn.execute(_STORED, (schema, epoch, after))]


def next_range(conn: Connection, *, after: int, head: int, together: bool = False) -> Range | None:
    """Return the next range to encode, or None if nothing is left. RRsets and publications per range are limited.

    A publication with prepared rows has its own range. Two changes of signing must not be applied at once. A
    publication that changes how zones are signed therefore also has its own range, unless `together` is True.
    """
    size = 0
    found: Range | None = None
    for sequence, at, prepared, rrsets, signs in _publications(conn, after, min(head, after + _BATCH_PUBLICATIONS)):
        alone = (signs and not together) or prepared is not None
        if found is not None and (alone or size + rrsets > BATCH_RRSETS):
            break
        size += rrsets
        found = Range(after + 1, sequence, at, prepared)
        if alone:
            break
    return found


def _publications(
    conn: Connection, after: int, head: int
) -> Iterator[tuple[int, datetime, Prepared | None, int, bool]]:
    """Yield (sequence, time, prepared rows or None, number of RRsets, whether it changes signing) per publication.

    Publications are read page by page, because most callers stop early. Publications with prepared rows are not checked
    for changes of signing: they have their own range anyway, and the check would be slow for thousands of zones.
    """
    while after < head:
        if head == after + 1:  # the usual case after an edit
            found = planned_once(conn).execute(_PUBLICATION, (head,))
        else:
            found = conn.execute(_PUBLICATIONS, (after, head, _PUBLICATIONS_PAGE))
        for sequence, at, name, rows, digest, size, rrsets, signs in found.fetchall():
            prepared = Prepared(name, rows, int.from_bytes(digest, "big"), size) if name else None
            yield sequence, at, prepared, rrsets or 0, signs
        after += _PUBLICATIONS_PAGE


def zone_steps(conn: Connection, span: Range) -> list[ZoneStep]:
    """Return the effects of the range on each zone that it touches, ordered by zone id."""
    rows = conn.execute(_REVISIONS, (span.first, span.last)).fetchall()
    return [_zone_step(list(revisions)) for _, revisions in groupby(rows, key=itemgetter(0))]


def _zone_step(revisions: Sequence[tuple[int, str, str, int]]) -> ZoneStep:
    kinds = [kind for _, _, kind, _ in revisions]
    zone_id, name, last_kind, serial = revisions[-1]
    served = last_kind not in NOT_SERVED
    return ZoneStep(
        zone_id=zone_id,
        name=name,
        serial=serial if served else None,
        served_before=kinds[0] in (RevisionKind.CHANGE, RevisionKind.DELETE, RevisionKind.EXPIRE),
        is_full=served and (RevisionKind.CREATE in kinds or RevisionKind.RESTORE in kinds),
    )


def zones_served_at(conn: Connection, sequence: int) -> list[ZoneStep]:
    """Return all zones that are served at this sequence, as if they were newly created, ordered by zone id."""
    rows = conn.execute(_SERVED, (sequence,)).fetchall()
    return [
        ZoneStep(zone_id, name, serial, served_before=False, is_full=True)
        for zone_id, name, kind, serial in rows
        if kind not in NOT_SERVED
    ]


def changes_in(conn: Connection, span: Range, zone_ids: Sequence[int]) -> dict[int, Changes]:
    """Return the RRsets that the range changed, keyed by zone id, as of the end of the range (None if deleted)."""
    found: dict[int, Changes] = {zone_id: {} for zone_id in zone_ids}
    if zone_ids:
        for zone_id, name, type, after in conn.execute(_CHANGES, (span.first, span.last, list(zone_ids))):
            found[zone_id][name, type] = RRset.from_json(name, type, after) if after else None
    return found


def rrsets_at(conn: Connection, sequence: int, serials: Mapping[int, int]) -> Iterator[tuple[int, list[RRset]]]:
    """Yield (zone id, all RRsets at this sequence) for each zone in `serials`, ordered by zone id.

    Only one zone is in memory at a time. Must run in a REPEATABLE READ transaction, because current RRsets and the
    changes to undo must be read at the same moment.
    """
    if not serials:
        return
    undo: dict[int, Changes] = {}
    for zone_id, name, type, before in conn.execute(_LATER, (sequence, list(serials))):
        undo.setdefault(zone_id, {})[name, type] = RRset.from_json(name, type, before) if before else None
    with conn.cursor(name="rrsets") as cursor:
        cursor.itersize = _CURSOR_ROWS
        cursor.execute(_RRSETS, (list(serials),))
        for zone_id, rows in groupby(cursor, key=itemgetter(0)):
            yield zone_id, _undone(rows, undo.get(zone_id, {}), serials[zone_id])


def some_rrsets_at(
    conn: Connection, sequence: int, places: Collection[tuple[int, str, str, int]]
) -> dict[tuple[int, str, int], RRset]:
    """Return the RRsets at these places as of the sequence number. A missing RRset is left out. Needs REPEATABLE READ.

    A place is (zone id, zone name, owner name, type). The key of an RRset is (zone id, owner name, type).
    """
    ids, keys, types = (list(each) for each in zip(*((i, relative_key(n, z), t) for i, z, n, t in places), strict=True))
    found: dict[tuple[int, str, int], RRset | None] = {
        (zone_id, name, type): RRset(name, type, ttl, tuple(rdata), tuple(disabled))
        for zone_id, name, type, ttl, rdata, disabled in conn.execute(_SOME_RRSETS, (ids, keys, types))
    }
    for zone_id, name, type, before in conn.execute(_SOME_LATER, (ids, keys, types, sequence)):
        found[zone_id, name, type] = RRset.from_json(name, type, before) if before else None
    return {key: rrset for key, rrset in found.items() if rrset is not None}


def _undone(rows: Iterator[tuple[Any, ...]], undo: Changes, serial: int) -> list[RRset]:
    """Return a zone's RRsets with the later changes in `undo` undone, and with `serial` in the SOA."""
    rrsets = {
        (name, type): RRset(name, type, ttl, tuple(rdata), tuple(disabled))
        for _, name, type, ttl, rdata, disabled in rows
    }
    for key, before in undo.items():
        if before is None:
            rrsets.pop(key, None)
        else:
            rrsets[key] = before
    # No change contains a serial that a restore moved, so undoing changes does not bring back the former serial.
    return [soa.with_serial(rrset, Serial(serial)) if rrset.type == rdtypes.SOA else rrset for rrset in rrsets.values()]
