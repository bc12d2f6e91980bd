"""The panel's LMDB is a cache of PostgreSQL: made anew from it, and proved equal to it.

Both read the log as it was at the last segment, not as it is now, so the
digests in that segment's row must come out. They are computed here by a full
compile of every zone, whereas segments come from compiling changes.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from dnspanel.publish import log, operations
from dnspanel.publish.encode import Batch, catch_up, seal_batch
from dnspanel.publish.publisher import Publisher, store_path, this_publisher
from dnspanel.publish.session import Connection, snapshot
from replication.codec.schema import Dbi, Schema, schema_for
from replication.errors import Busy, Diverged
from replication.position import Position
from replication.segment import Op, digest_bytes, open_segment, row_digest
from replication.store import Store

# How long to wait until a running publisher has finished its step.
_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Audit:
    """What a comparison of the panel's LMDB with PostgreSQL found; `equal` when nothing differs."""

    sequence: int
    zones: int
    different: tuple[str, ...]  # names of zones whose records differ
    equal: bool  # every row of both files, those of unknown zones too


def rebuild_store(*, schema: int, now: datetime) -> Position | None:
    """Write the schema's LMDB anew from PostgreSQL, at the last segment's position, and put it in place.

    Returns that position, or None when nothing was published yet. Raises
    Diverged, leaving the old files, when the result is not what the last
    segment's row says, and Busy while another process publishes.
    """
    publisher = this_publisher()
    with publisher.session.publishing(wait_seconds=_WAIT_SECONDS) as conn:
        if conn is None:
            raise Busy(what="the publisher's lock")
        with snapshot(conn):
            head = log.read_head(conn)
            encoded = log.read_encoded(conn, schema, head.position.epoch) if head else None
            if head is None or encoded is None or encoded.digests is None:
                return None
            batch = _everything(conn, head, encoded, schema_for(schema), now)
        if batch.digests != encoded.digests:
            raise Diverged(
                expected=b"".join(encoded.digests), found=b"".join(batch.digests), what="PostgreSQL's content"
            )
        _replace_store(publisher, batch, schema, now)
        return Position(head.position.epoch, encoded.sequence)


def audit_store(*, schema: int) -> Audit | None:
    """Compare the panel's LMDB with a full compile of PostgreSQL; None when nothing was published yet.

    Catches the LMDB up first. Raises Busy while another process publishes.
    """
    publisher = this_publisher()
    with publisher.session.publishing(wait_seconds=_WAIT_SECONDS) as conn:
        if conn is None:
            raise Busy(what="the publisher's lock")
        with snapshot(conn):
            head = log.read_head(conn)
            if head is None:
                return None
            encoded = log.read_encoded(conn, schema, head.position.epoch)
            store = publisher.store(schema, head.cluster)
            catch_up(store, conn, head.position, encoded)
            return _compare(conn, store, encoded.sequence)


def _compare(conn: Connection, store: Store, sequence: int) -> Audit:
    steps = {step.zone_id: step for step in log.zones_served_at(conn, sequence)}
    main = sum(_digest(op) for op in operations.zone_list_operations(steps.values(), store.schema))
    records = 0
    different = []
    for step, ops in _compiled(conn, steps, sequence):
        total = sum(_digest(op) for op in ops)
        records += total
        if digest_bytes(total) != store.zone_digest(step.zone_id):
            different.append(step.name)
    equal = not different and store.digests() == (digest_bytes(main), digest_bytes(records))
    return Audit(sequence, len(steps), tuple(different), equal)


def _everything(conn: Connection, head: log.Head, encoded: log.Encoded, schema: Schema, now: datetime) -> Batch:
    """Return all that is served at the last segment as if it had been published at once."""
    steps = {step.zone_id: step for step in log.zones_served_at(conn, encoded.sequence)}
    main = list(operations.zone_list_operations(steps.values(), schema))
    records = [op for _, ops in _compiled(conn, steps, encoded.sequence) for op in ops]
    digests = digest_bytes(sum(map(_digest, main))), digest_bytes(sum(map(_digest, records)))
    marks = [operations.mark_of(step) for step in steps.values()]
    return Batch(head, log.Range(1, encoded.sequence, now), marks, main + records, digests)


def _compiled(
    conn: Connection, steps: dict[int, log.ZoneStep], sequence: int
) -> Iterator[tuple[log.ZoneStep, list[Op]]]:
    """Yield each zone with the operations that write all of it, one zone in memory at a time."""
    serials = {step.zone_id: step.serial for step in steps.values() if step.serial is not None}
    for zone_id, rrsets in log.rrsets_at(conn, sequence, serials):
        yield steps[zone_id], list(operations.new_zone_operations(steps[zone_id], rrsets))


def _replace_store(publisher: Publisher, batch: Batch, schema: int, now: datetime) -> None:
    """Write the batch beside the files in use and put it in their place.

    A crash in between leaves no files: the next step catches up from segments.
    """
    in_use = store_path(publisher.directory, schema)
    fresh = in_use.parent.with_name(f"{schema}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    key = publisher.signing_key(now=now)
    sealed = seal_batch(batch, schema, key)
    with Store.open(fresh / in_use.name, schema, publisher.map_size, cluster=batch.head.cluster) as store:
        store.apply(open_segment(sealed, [key.public_key().public_bytes_raw()]))
    publisher.close_store(schema)
    shutil.rmtree(in_use.parent, ignore_errors=True)
    fresh.rename(in_use.parent)


def _digest(op: Op) -> int:
    return row_digest(Dbi(op.dbi), op.key, op.body)
