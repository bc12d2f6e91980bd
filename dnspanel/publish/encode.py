"""Encode: publications become rows of the panel's LMDB and one sealed segment. Verbs.

A step, for each PowerDNS schema in use:

1. Take the publisher's lock, or leave: one writer at a time.
2. Catch the panel's own LMDB up from segments that a crash left unapplied;
   where they do not lead there, make it anew from PostgreSQL. A new epoch,
   and a schema that comes late, begins with a snapshot of everything.
3. Read the next range of the log in one snapshot; stop where a zone would
   not validate any more; compile what it changes, or take what an import has
   prepared.
4. Seal the segment: the digests that the files will have are known before
   anything is written.
5. Store the object, synced; then commit its row, which makes it count. A
   crash between the two leaves an object without a row: the next step does
   the same again.
6. Send `segment_sealed`: nodes can be brought further.
7. Apply the segment to the panel's LMDB. A crash before this line is step 2
   of the next time.
8. Remove what was prepared for sequences that every schema has in a segment.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import psycopg
from django.db import DatabaseError

from dnspanel.publish import chain_of_trust, operations, publication_log, referrers, zone_signing
from dnspanel.publish.catch_up import catch_up, is_cured_by_rebuild
from dnspanel.publish.errors import ChainBroken, SegmentsAhead, StoreAhead, ZoneNotEncoded
from dnspanel.publish.objects import object_name, put_object
from dnspanel.publish.prepared import drop_prepared, prepared_puts
from dnspanel.publish.publisher import Publisher, this_publisher
from dnspanel.publish.rebuild import make_anew
from dnspanel.publish.schemas import read_schemas
from dnspanel.publish.sealing import Batch, seal_batch
from dnspanel.publish.session import Connection, snapshot
from dnspanel.publish.signals import segment_sealed
from dnspanel.publish.stall import clear_stall, record_stall
from dnspanel.publish.zone_signing import Signings
from dnspanel.zones.dnssec.signing_state import chains_differ
from dnspanel.zones.hold import hold
from replication.errors import ReplicationError
from replication.store.store import Store
from replication.wire.operations import Op, ZoneMark, digest_bytes
from replication.wire.position import Position
from replication.wire.segment import PackedPuts, open_segment

# For a schema that comes later, a log of more publications than this begins with a snapshot of everything.
LONGEST_FROM_BEGINNING = 256

_INSERT_SEGMENT = """
    INSERT INTO publish_segment (epoch, schema, first, last, object_name, size, digest, sealed_at, mergeable)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"""

logger = logging.getLogger(__name__)


def encode_step(*, now: datetime) -> Position | None:
    """Encode one range for each schema; return the newest position reached, or None when there was nothing to do.

    Also None while another process publishes, and for a schema that stands
    still: `stall` then says why. Raises psycopg.Error and DatabaseError when
    PostgreSQL is away, and whatever is a bug.
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
    """Encode one range for one schema; what stops it is kept as a stall, for pages to show."""
    encoded = None
    try:
        with snapshot(conn):
            head = publication_log.read_head(conn)
            if head is None or head.on_hold:
                return None
            encoded = publication_log.read_encoded(conn, schema, head.position.epoch)
            store = _caught_up(publisher, conn, head.position, encoded, schema, head.cluster)
            batch = _next_batch(conn, store, head, encoded, now) if store else None
        if encoded.stalled:
            clear_stall(schema=schema)
        if store is None:
            return make_anew(publisher, conn, head, encoded, schema, now)
        return _publish_batch(publisher, conn, store, batch, now) if batch else None
    except (psycopg.Error, DatabaseError):
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
            raise  # a bug: let the log have its traceback too
        return None


def _caught_up(
    publisher: Publisher, conn: Connection, head: Position, encoded: publication_log.Encoded, schema: int, cluster: UUID
) -> Store | None:
    """Return the panel's LMDB at the end of the schema's log; None where it has to be made anew. Needs a snapshot."""
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


def _next_batch(
    conn: Connection,
    store: Store,
    head: publication_log.Head,
    encoded: publication_log.Encoded,
    now: datetime,
) -> Batch | None:
    """Compile the next range of the log against the store, or return None at the head. Needs a snapshot."""
    found = _next_sound(conn, head, encoded)
    if found is None:
        return None
    range, steps, changed, signings = found.range, found.steps, found.changed, found.signings
    # What is prepared suits zones that are not signed, and those that deny by NSEC.
    is_plain = all(state.denial is None for state in signings.after.values())
    puts = _prepared_puts(range, steps) if is_plain else None
    gone, come = operations.zone_list_operations(steps, store.schema)
    attached = zone_signing.signing_operations(conn, steps, signings, store.schema, now)
    ops = [*gone, *attached, *come]
    late: list[Op] = []
    if puts is None:
        early, late = _record_operations(conn, store, range, steps, changed, signings)
        ops += early
    marks = [operations.mark_of(step) for step in steps] + _referring_marks(conn, range, steps, changed)
    main, records = store.digest_delta([*ops, *late])
    if puts is not None and range.prepared is not None:
        records = digest_bytes(int.from_bytes(records, "big") + range.prepared.digest)
    return Batch(head, range, marks, ops, (main, records), puts, late)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a range of the log does."""

    range: publication_log.Range
    steps: Sequence[publication_log.ZoneStep]
    changed: Mapping[int, publication_log.Changes]
    signings: Signings

    @property
    def mixes_chains(self) -> bool:
        return any(chains_differ(*(state.denial for state in self.signings.of(step.zone_id))) for step in self.steps)


def _next_sound(conn: Connection, head: publication_log.Head, encoded: publication_log.Encoded) -> _Found | None:
    """What the next range does, which breaks no zone; None at the head. Raises ChainBroken.

    Where publications behind it mend what it breaks, the range has those too, unless that would mix two NSEC3 chains.
    """
    found = _found(conn, head, encoded)
    try:
        if found is not None:
            chain_of_trust.refuse_broken(conn, found.range, found.steps, found.changed, found.signings)
    except ChainBroken as broken:
        mended = _found(conn, head, encoded, together=True)
        if mended is None or mended.mixes_chains:
            raise
        try:
            chain_of_trust.refuse_broken(conn, mended.range, mended.steps, mended.changed, mended.signings)
        except ChainBroken:
            raise broken from None
        return mended
    return found


def _found(
    conn: Connection, head: publication_log.Head, encoded: publication_log.Encoded, *, together: bool = False
) -> _Found | None:
    last = head.position.sequence
    range = publication_log.next_range(conn, after=encoded.sequence, head=last, together=together)
    if range is None:
        return None
    steps = [step for step in publication_log.zone_steps(conn, range) if not step.leaves_no_trace]
    changed = publication_log.changes_in(
        conn, range, [step.zone_id for step in steps if step.serial is not None and not step.is_full]
    )
    return _Found(range, steps, changed, zone_signing.signings_around(conn, range, [step.zone_id for step in steps]))


def _prepared_puts(range: publication_log.Range, steps: Sequence[publication_log.ZoneStep]) -> PackedPuts | None:
    """Return what is prepared for the range, if that is all there is to write."""
    if range.prepared is None or any(step.serial is None or step.served_before for step in steps):
        return None
    return prepared_puts(range.prepared, [step.zone_id for step in steps])


def _referring_marks(
    conn: Connection,
    range: publication_log.Range,
    steps: Sequence[publication_log.ZoneStep],
    changed: Mapping[int, publication_log.Changes],
) -> list[ZoneMark]:
    """Return the marks of zones that did not change, but whose answers hold what did."""
    names = {name for changes in changed.values() for name, _ in changes}
    touched = [step.zone_id for step in steps]
    full = [zone_id for zone_id in touched if zone_id not in changed]
    return referrers.referring_marks(conn, range, names, touched=touched, full=full)


def _record_operations(
    conn: Connection,
    store: Store,
    range: publication_log.Range,
    steps: Sequence[publication_log.ZoneStep],
    changed: Mapping[int, publication_log.Changes],
    signings: Signings,
) -> tuple[list[Op], list[Op]]:
    """Return what happens to records, and what only once PowerDNS follows the changes of the main file."""
    ops: list[Op] = []
    late: list[Op] = []
    for step in steps:
        state_before, state_after = signings.of(step.zone_id)
        before, after = state_before.denial, state_after.denial
        if step.serial is None:
            ops += operations.removed_zone_operations(step)
        elif step.changed:
            rows, changes = store.rows(step.zone_id), changed[step.zone_id]
            if before == after:
                ops += operations.changed_zone_operations(step, rows, changes, after)
            else:
                first, last = operations.switched_zone_operations(step, rows, changes, before, after)
                ops += first
                # Of a zone that is paused nobody makes answers with the former parameters.
                (ops if state_before.paused else late).extend(last)
    full = {step.zone_id: step for step in steps if step.is_full}
    serials = {zone_id: step.serial for zone_id, step in full.items() if step.serial is not None}
    for zone_id, rrsets in publication_log.rrsets_at(conn, range.last, serials):
        step, denial = full[zone_id], signings.of(zone_id)[1].denial
        if step.served_before:
            ops += operations.restored_zone_operations(step, store.rows(zone_id), rrsets, denial)
        else:
            ops += operations.new_zone_operations(step, rrsets, denial)
    return ops, late


def _publish_batch(publisher: Publisher, conn: Connection, store: Store, batch: Batch, now: datetime) -> Position:
    """Seal, store, send the signal, apply: steps 4 to 7."""
    started = time.perf_counter()
    key = publisher.signing_key(now=now)
    sealed = seal_batch(batch, store.schema.number, key)
    _keep_segment(conn, batch, store.schema.number, sealed, now)
    segment_sealed.send_robust(sender=None, schema=store.schema.number)
    store.apply(open_segment(sealed, [key.public_key().public_bytes_raw()]))
    logger.info(
        "encoded schema=%s from=%s to=%s bytes=%s ms=%.1f",
        store.schema.number,
        batch.range.first,
        batch.range.last,
        len(sealed),
        (time.perf_counter() - started) * 1000,
    )
    return Position(batch.head.position.epoch, batch.range.last)


def _keep_segment(conn: Connection, batch: Batch, schema: int, sealed: bytes, now: datetime) -> None:
    """Store the object, then commit the row that makes it count; unique constraints let only one publisher do it."""
    epoch, range = batch.head.position.epoch, batch.range
    name = object_name(schema=schema, epoch=epoch, first=range.first, last=range.last, content=sealed)
    put_object(name, sealed)
    conn.execute(
        _INSERT_SEGMENT,
        (epoch, schema, range.first, range.last, name, len(sealed), b"".join(batch.digests), now, batch.is_mergeable),
    )
