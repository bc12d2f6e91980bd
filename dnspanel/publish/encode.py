"""Encode: publications become rows of the panel's LMDB and one sealed segment.

A step, for each PowerDNS schema in use:

1. Take the publisher's lock, or leave: one writer at a time.
2. Catch the panel's own LMDB up from segments that a crash left unapplied.
3. Read the next range of the log in one snapshot; compile what it changes,
   or take what an import has prepared.
4. Seal the segment: the digests that the files will have are known before
   anything is written.
5. Store the object, synced; then commit its row, which makes it count. A
   crash between the two leaves an object without a row: the next step does
   the same again.
6. Ring the bell: nodes can be brought further.
7. Apply the segment to the panel's LMDB. A crash before this line is step 2
   of the next time.
8. Remove what was prepared for sequences that every schema has in a segment.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import DatabaseError

from dnspanel.publish import log, operations, referrers
from dnspanel.publish.errors import SegmentsAhead, StoreAhead, ZoneNotEncoded
from dnspanel.publish.objects import object_name, open_object, put_object
from dnspanel.publish.prepared import drop_prepared, prepared_puts
from dnspanel.publish.publisher import Publisher, this_publisher
from dnspanel.publish.session import Connection, snapshot
from dnspanel.publish.signals import segment_sealed
from dnspanel.publish.signing import all_public_keys
from dnspanel.publish.stall import clear_stall, record_stall
from replication.errors import Diverged, ReplicationError, WrongEpoch
from replication.position import Position
from replication.segment import Op, PackedPuts, ZoneMark, digest_bytes, open_segment, seal
from replication.store import Store

_INSERT_SEGMENT = """
    INSERT INTO publish_segment (epoch, schema, first, last, object_name, size, digest, sealed_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """A range of the log, compiled for one schema, and the digests that both files will have after it."""

    head: log.Head
    range: log.Range
    marks: list[ZoneMark]
    ops: list[Op]
    digests: tuple[bytes, bytes]
    puts: PackedPuts | None = None  # the rows of new zones, when they were prepared; then `ops` has no records


def encode_step(*, now: datetime) -> Position | None:
    """Encode one range for each schema; return the newest position reached, or None when there was nothing to do.

    Also None while another process publishes, and for a schema that stands
    still: `stall` then says why. Raises psycopg.Error and DatabaseError when
    PostgreSQL is away, and whatever is a bug.
    """
    publisher = this_publisher()
    reached = []
    with publisher.session.publishing() as conn:
        if conn is None:
            return None
        for schema in settings.SCHEMAS:
            if position := _encode_schema(publisher, conn, schema, now):
                reached.append(position)
        if reached:
            drop_prepared(conn, schemas=settings.SCHEMAS, epoch=reached[0].epoch)
    return max(reached, key=lambda position: position.sequence, default=None)


def _encode_schema(publisher: Publisher, conn: Connection, schema: int, now: datetime) -> Position | None:
    """Encode one range for one schema; what stops it is kept as a stall, for pages to show."""
    encoded = None
    try:
        with snapshot(conn):
            head = log.read_head(conn)
            if head is None:
                return None
            encoded = log.read_encoded(conn, schema, head.position.epoch)
            store = publisher.store(schema, head.cluster)
            catch_up(store, conn, head.position, encoded)
            batch = _next_batch(conn, store, head, encoded)
        if encoded.stalled:
            clear_stall(schema=schema)
        return _publish_batch(publisher, conn, store, batch, now) if batch else None
    except (psycopg.Error, DatabaseError):
        raise
    except Exception as exc:
        record_stall(
            schema=schema,
            sequence=encoded.sequence + 1 if encoded else 0,
            zone_name=exc.zone_name if isinstance(exc, ZoneNotEncoded) else "",
            message=str(exc) or type(exc).__name__,
            now=now,
        )
        if not isinstance(exc, ReplicationError | OSError):
            raise  # a bug: let the log have its traceback too
        return None


def _next_batch(conn: Connection, store: Store, head: log.Head, encoded: log.Encoded) -> Batch | None:
    """Compile the next range of the log against the store, or return None at the head. Needs a snapshot."""
    range = log.next_range(conn, after=encoded.sequence, head=head.position.sequence)
    if range is None:
        return None
    steps = [step for step in log.zone_steps(conn, range) if not step.leaves_no_trace]
    changed = log.changes_in(
        conn, range, [step.zone_id for step in steps if step.serial is not None and not step.whole]
    )
    puts = _prepared_puts(range, steps)
    ops = list(operations.zone_list_operations(steps, store.schema))
    if puts is None:
        ops += _record_operations(conn, store, range, steps, changed)
    marks = [operations.mark_of(step) for step in steps] + _referring_marks(conn, range, steps, changed)
    main, records = store.digest_delta(ops)
    if puts is not None and range.prepared is not None:
        records = digest_bytes(int.from_bytes(records, "big") + range.prepared.digest)
    return Batch(head, range, marks, ops, (main, records), puts)


def _prepared_puts(range: log.Range, steps: Sequence[log.ZoneStep]) -> PackedPuts | None:
    """Return what is prepared for the range, if that is all there is to write."""
    if range.prepared is None or any(step.serial is None or step.served_before for step in steps):
        return None
    return prepared_puts(range.prepared, [step.zone_id for step in steps])


def _referring_marks(
    conn: Connection, range: log.Range, steps: Sequence[log.ZoneStep], changed: Mapping[int, log.Changes]
) -> list[ZoneMark]:
    """Return the marks of zones that did not change, but whose answers hold what did."""
    names = {name for changes in changed.values() for name, _ in changes}
    touched = [step.zone_id for step in steps]
    whole = [zone_id for zone_id in touched if zone_id not in changed]
    return referrers.referring_marks(conn, range, names, touched=touched, whole=whole)


def _record_operations(
    conn: Connection,
    store: Store,
    range: log.Range,
    steps: Sequence[log.ZoneStep],
    changed: Mapping[int, log.Changes],
) -> Iterator[Op]:
    """Yield what happens to records."""
    for step in steps:
        if step.serial is None:
            yield from operations.removed_zone_operations(step)
        elif step.changed:
            yield from operations.changed_zone_operations(step, store.rows(step.zone_id), changed[step.zone_id])
    whole = {step.zone_id: step for step in steps if step.whole}
    serials = {zone_id: step.serial for zone_id, step in whole.items() if step.serial is not None}
    for zone_id, rrsets in log.rrsets_at(conn, range.last, serials):
        step = whole[zone_id]
        if step.served_before:
            yield from operations.restored_zone_operations(step, store.rows(zone_id), rrsets)
        else:
            yield from operations.new_zone_operations(step, rrsets)


def _publish_batch(publisher: Publisher, conn: Connection, store: Store, batch: Batch, now: datetime) -> Position:
    """Seal, store, ring, apply: steps 4 to 7."""
    started = time.perf_counter()
    key = publisher.signing_key(now=now)
    sealed = seal_batch(batch, store.schema.number, key)
    _keep_segment(conn, batch, store.schema.number, sealed, now)
    segment_sealed.send_robust(sender=None, schema=store.schema.number)
    store.apply(open_segment(sealed, [key.public_key().public_bytes_raw()]))
    logger.info(
        "encoded schema=%s from=%s to=%s bytes=%s ms=%.1f",
        store.schema.number, batch.range.first, batch.range.last, len(sealed), (time.perf_counter() - started) * 1000,
    )  # fmt: skip
    return Position(batch.head.position.epoch, batch.range.last)


def seal_batch(batch: Batch, schema: int, key: Ed25519PrivateKey) -> bytes:
    """Return the signed segment. Its time is that of its last publication, so the same batch gives the same bytes."""
    return seal(
        schema=schema,
        cluster=batch.head.cluster,
        epoch=batch.head.position.epoch,
        first=batch.range.first,
        last=batch.range.last,
        time_ns=int(batch.range.at.timestamp() * 1_000_000) * 1000,
        digest_main=batch.digests[0],
        digest_records=batch.digests[1],
        marks=batch.marks,
        ops=batch.ops,
        key=key,
        puts=batch.puts,
    )


def _keep_segment(conn: Connection, batch: Batch, schema: int, sealed: bytes, now: datetime) -> None:
    """Store the object, then commit the row that makes it count; unique constraints let only one publisher do it."""
    epoch, range = batch.head.position.epoch, batch.range
    name = object_name(schema=schema, epoch=epoch, first=range.first, last=range.last, content=sealed)
    put_object(name, sealed)
    conn.execute(
        _INSERT_SEGMENT,
        (epoch, schema, range.first, range.last, name, len(sealed), b"".join(batch.digests), now),
    )


def catch_up(store: Store, conn: Connection, head: Position, encoded: log.Encoded) -> None:
    """Make the store equal to the last segment that has a row, and see that it is.

    Raises SegmentsAhead, StoreAhead, WrongEpoch or Diverged when the three do
    not belong together; only a person can say which one is right.
    """
    if encoded.sequence > head.sequence:
        raise SegmentsAhead(segments=encoded.sequence, head=head.sequence)
    position = store.position()
    if position is not None and position.epoch != head.epoch:
        raise WrongEpoch(ours=position.epoch, theirs=head.epoch)
    have = position.sequence if position else 0
    if have > encoded.sequence:
        raise StoreAhead(store=have, segments=encoded.sequence)
    if have == encoded.sequence:
        return
    schema, keys = store.schema.number, all_public_keys()
    for name in log.segment_objects(conn, schema, head.epoch, after=have):
        with open_object(name) as file:
            store.apply(open_segment(file, keys))
    logger.info("caught up schema=%s from=%s to=%s", schema, have, encoded.sequence)
    if encoded.digests and (found := store.digests()) != encoded.digests:
        raise Diverged(expected=b"".join(encoded.digests), found=b"".join(found), what="the panel's LMDB")
