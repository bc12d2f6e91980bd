"""Prepare rows: a bulk import compiles the zones that it will create before it publishes them. Verbs.

The publisher then doesn't have to read PostgreSQL or compile zones. It copies the prepared rows into the segment
without parsing them, so that other edits wait only briefly. The object's name depends on its zones, the number of rows,
and their digests. Prepared rows are a cache like the LMDB files. If they are missing, damaged or for other zones, the
publisher makes the same rows itself.
"""

import hashlib
import logging
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from dnspanel.publish.models import PreparedRows
from dnspanel.publish.reading.publisher_session import Connection, planned_once
from dnspanel.publish.storage.objects import delete_object, open_object, put_object
from dnspanel.texts import gettext
from replication.errors import BadSegment
from replication.wire.operations import digest_bytes
from replication.wire.segment import PackedPuts, pack_puts

_PREPARED = "SELECT sequence, object_name FROM publish_preparedrows ORDER BY sequence"

_ENCODED = """
    SELECT coalesce(max(g.last), 0) FROM unnest(%s::int[]) s (schema)
    LEFT JOIN publish_segment g ON g.schema = s.schema AND g.epoch = %s
    GROUP BY s.schema ORDER BY 1 LIMIT 1"""

_FORGET = "DELETE FROM publish_preparedrows WHERE sequence = ANY(%s)"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Prepared rows in the storage `segments`: their object's name and size, number, and sum of digests."""

    object_name: str
    rows: int
    digest: int
    size: int


def put_prepared(*, puts: Iterable[tuple[int, bytes]], rows: int, digest: int) -> Prepared:
    """Store the PUTs of new zones (pairs of zone id and encoded PUTs). Return the value for `record_prepared`.

    `rows` is the number of PUTs, and `digest` the sum of their digests. Raise ValueError unless the zone ids ascend.
    """
    zone_ids: list[int] = []
    packed = pack_puts(_noting(puts, zone_ids))
    name = _name_of(packed, zone_ids, rows, digest)
    put_object(name, packed)
    return Prepared(name, rows, digest, len(packed))


def _noting(puts: Iterable[tuple[int, bytes]], zone_ids: list[int]) -> Iterator[bytes]:
    """Yield the PUTs, and append the zone ids to `zone_ids`.

    Raise ValueError if the ids aren't in ascending order, because nodes would then get rows in the wrong order.
    """
    for zone_id, of_zone in puts:
        if zone_ids and zone_id <= zone_ids[-1]:
            raise ValueError(f"zone {zone_id} comes after zone {zone_ids[-1]}")
        zone_ids.append(zone_id)
        yield of_zone


def record_prepared(*, sequence: int, prepared: Prepared) -> None:
    """Record that these rows belong to the zones that `sequence` creates. Call this in the publishing transaction."""
    PreparedRows.objects.create(
        sequence=sequence,
        object_name=prepared.object_name,
        rows=prepared.rows,
        digest=digest_bytes(prepared.digest),
        size=prepared.size,
    )


def prepared_puts(prepared: Prepared, zone_ids: Collection[int]) -> PackedPuts | None:
    """Return the prepared rows. If they are missing, damaged or for other zones, log the reason and return None.

    Raise StorageUnreachable if the storage fails.
    """
    try:
        with open_object(prepared.object_name) as file:
            packed = file.read()
        if _name_of(packed, sorted(zone_ids), prepared.rows, prepared.digest) != prepared.object_name:
            raise BadSegment(reason=gettext("the object is damaged or contains rows from other zones"))
    except (BadSegment, OSError) as exc:
        logger.warning("prepared rows are not used, PostgreSQL is read object=%s: %s", prepared.object_name, exc)
        return None
    return PackedPuts(packed, prepared.rows, prepared.digest)


def drop_prepared(conn: Connection, *, schemas: Sequence[int], epoch: UUID) -> None:
    """Delete the prepared rows of publications that all of these schemas have in a segment."""
    rows = planned_once(conn).execute(_PREPARED).fetchall()
    if not rows:
        return
    encoded = conn.execute(_ENCODED, (list(schemas), epoch)).fetchone()
    done = [(sequence, name) for sequence, name in rows if encoded and sequence <= encoded[0]]
    for _, name in done:
        delete_object(name)
    conn.execute(_FORGET, ([sequence for sequence, _ in done],))


def _name_of(packed: bytes, zone_ids: Sequence[int], rows: int, digest: int) -> str:
    """Return an object name that depends on the rows, their zones, and the sum of their digests."""
    zones = struct.pack(f">{len(zone_ids)}I", *zone_ids)
    about = struct.pack(">IQ", len(zone_ids), rows) + zones + digest_bytes(digest)
    return f"prepared/{hashlib.sha256(about + packed).hexdigest()[:32]}"
