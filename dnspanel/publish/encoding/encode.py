"""Encode publications as rows of the panel's LMDB and as sealed segments. Verbs.

A step, for each PowerDNS schema in use:

1. Take the publisher's lock, or return if another process has it, because only one process may write.
2. Apply segments that a crash left unapplied to the panel's own LMDB. If they do not lead to the end of the log,
   rebuild it from PostgreSQL. A new epoch, and a schema that is added later, begins with a snapshot of everything.
3. Read the next range of the log in one database snapshot. Stop if a zone would no longer validate. Compile the range's
   changes, or use the rows that an import has prepared.
4. Seal the segment. The digests that the files will have are known before anything is written.
5. Store the object and sync it. Then commit its row, which makes it valid. After a crash between the two, the object
   has no row, and the next step stores it again.
6. Send `segment_sealed`: nodes can now be updated.
7. Apply the segment to the panel's LMDB. After a crash before this, step 2 applies the segment next time. While a large
   segment is applied, edits of other zones go through steps 3 to 6 (`meanwhile`). Their segments are applied after the
   large one.
8. Remove prepared rows whose sequences are in a segment of every schema.
"""

import logging
import time
from datetime import datetime
from functools import partial
from uuid import UUID

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import DatabaseError, InterfaceError

from dnspanel.publish.encoding.batches import next_batch
from dnspanel.publish.encoding.meanwhile import Meanwhile
from dnspanel.publish.encoding.stall import clear_stall, record_stall
from dnspanel.publish.errors import ChainBroken, SegmentsAhead, StoreAhead, ZoneNotEncoded
from dnspanel.publish.files.catch_up import catch_up, is_cured_by_rebuild
from dnspanel.publish.files.publisher import Publisher, this_publisher
from dnspanel.publish.files.rebuild_files import make_anew
from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.prepared import drop_prepared
from dnspanel.publish.reading.publisher_session import Connection, plan_anew, planned_once, snapshot
from dnspanel.publish.reading.schemas import read_schemas
from dnspanel.publish.reading.sealing import Batch, seal_batch
from dnspanel.publish.signals import segment_sealed
from dnspanel.publish.storage.objects import object_name, put_object
from dnspanel.zones.log.publish_hold import hold
from replication.errors import ReplicationError
from replication.store.store import Store
from replication.wire.position import Position
from replication.wire.segment import open_segment

# If the log is longer than this, a schema that is added later begins with a snapshot of everything.
LONGEST_FROM_BEGINNING = 256

_INSERT_SEGMENT = """
WITH segment AS (
    INSERT INTO publish_segment (epoch, schema, first, last, object_name, size, digest, sealed_at, mergeable)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING epoch, schema, last, sealed_at
)
INSERT INTO publish_firstsealing (epoch, schema, last, at)
SELECT epoch, schema, last, sealed_at FROM segment ON CONFLICT DO NOTHING"""

logger = logging.getLogger(__name__)


def encode_step(*, now: datetime) -> Position | None:
    """Encode one range for each schema. Return the newest position reached, or None if nothing was encoded.

    Nothing is encoded if the log is already encoded, publishing is on hold, another process publishes, or every schema
    has stopped (see `stall`). Raise psycopg.Error or DatabaseError if PostgreSQL is unreachable. Unexpected exceptions
    propagate.
    """
    publisher = this_publisher()
    positions = []
    with publisher.session.publishing() as conn:
        if conn is None:
            return None
        schemas = read_schemas(conn)
        for schema in schemas:
            if position := _encode_schema(publisher, conn, schema, now):
                positions.append(position)
        if positions:
            drop_prepared(conn, schemas=schemas, epoch=positions[0].epoch)
    return max(positions, key=lambda position: position.sequence, default=None)


def _encode_schema(publisher: Publisher, conn: Connection, schema: int, now: datetime) -> Position | None:
    """Encode one range for one schema. Return the new position, or None if nothing was encoded.

    An error is stored as a stall, which pages show. If segments or the store are ahead of the log, publishing is also
    put on hold. Errors of the panel's database are raised without a stall. Bugs are raised after the stall is stored.
    """
    encoded = None
    try:
        with snapshot(conn):
            head = publication_log.read_head(conn)
            if head is None or head.on_hold:
                return None
            encoded = publication_log.read_encoded(conn, schema, head.position.epoch)
            store = _caught_up(publisher, conn, head.position, encoded, schema, head.cluster)
            batch = next_batch(conn, store, head, encoded, now) if store else None
        if store is None:
            reached: Position | None = make_anew(publisher, conn, head, encoded, schema, now)
        else:
            reached = _publish_batch(publisher, conn, store, batch, now) if batch else None
        if encoded.stalled:  # not earlier, because a range that can be read may still be impossible to store
            clear_stall(schema=schema)
        return reached
    except (psycopg.Error, DatabaseError, InterfaceError):
        raise
    except Exception as exc:
        if isinstance(exc, SegmentsAhead | StoreAhead):
            hold(reason=exc.reason, now=now)
        record_stall(
            schema=schema,
            sequence=encoded.sequence + 1 if encoded else 0,
            zone_name=exc.zone_name if isinstance(exc, ZoneNotEncoded | ChainBroken) else "",
            message=str(exc) or type(exc).__name__,
            now=now,
        )
        if not isinstance(exc, ReplicationError | OSError):
            raise  # a bug: write its traceback to the log as well
        return None


def _caught_up(
    publisher: Publisher, conn: Connection, head: Position, encoded: publication_log.Encoded, schema: int, cluster: UUID
) -> Store | None:
    """Return the panel's LMDB, updated to the end of the schema's log, or None if it has to be rebuilt.

    Must run in a REPEATABLE READ transaction. Raise the errors of `catch_up` that a rebuild can't fix.
    """
    if encoded.digests is None and (encoded.is_new_epoch or head.sequence > LONGEST_FROM_BEGINNING):
        return None
    try:
        store = publisher.store(schema, cluster)
        catch_up(store, conn, head, encoded)
    except ReplicationError as exc:
        if encoded.digests is None or not is_cured_by_rebuild(exc):
            raise
        logger.warning("the panel's LMDB is made anew from PostgreSQL schema=%s: %s", schema, exc)
        return None
    return store


def _publish_batch(publisher: Publisher, conn: Connection, store: Store, batch: Batch, now: datetime) -> Position:
    """Seal the batch, store it, send the signal and apply it (steps 4 to 7). Return the new position.

    While a large batch is applied in step 7, later edits go through steps 3 to 6.
    """
    key = publisher.signing_key(now=now)  # one key for all segments, because they are opened with it below
    keys = [key.public_key().public_bytes_raw()]
    seal = partial(_seal, conn, store.schema.number, key)
    sealed = seal(batch, now)
    meanwhile = Meanwhile(conn, store, batch, seal, now=now)
    watch = (lambda _: meanwhile.encode_edits()) if batch.is_large else None
    store.apply(open_segment(sealed, keys), watch=watch)
    for following in meanwhile.sealed:
        store.apply(open_segment(following, keys))
    if batch.is_large:  # plans made for few rows would now read too much
        plan_anew(conn)
    return meanwhile.position


def _seal(conn: Connection, schema: int, key: Ed25519PrivateKey, batch: Batch, now: datetime) -> bytes:
    """Seal the batch as a valid segment for nodes (steps 4 to 6), and return the segment."""
    started = time.perf_counter()
    sealed = seal_batch(batch, schema, key)
    _keep_segment(conn, batch, schema, sealed, now)
    segment_sealed.send_robust(sender=None, schema=schema)
    logger.info(
        "encoded schema=%s from=%s to=%s bytes=%s ms=%.1f",
        schema,
        batch.range.first,
        batch.range.last,
        len(sealed),
        (time.perf_counter() - started) * 1000,
    )
    return sealed


def _keep_segment(conn: Connection, batch: Batch, schema: int, sealed: bytes, now: datetime) -> None:
    """Store the sealed bytes as an object, then commit the segment's unique row, which makes the segment valid."""
    epoch, span = batch.head.position.epoch, batch.range
    name = object_name(schema=schema, epoch=epoch, first=span.first, last=span.last, content=sealed)
    put_object(name, sealed)
    planned_once(conn).execute(
        _INSERT_SEGMENT,
        (epoch, schema, span.first, span.last, name, len(sealed), b"".join(batch.digests), now, batch.is_mergeable),
    )
