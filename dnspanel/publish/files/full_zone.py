"""Compile all served zones at one position from PostgreSQL, and make the panel's LMDB from them.

This module compiles every zone in full, whereas segments are made by compiling changes. If both result in the same
digests, each confirms the other.
"""

import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime

from dnspanel.publish.files.publisher import Publisher, store_path
from dnspanel.publish.reading import file_operations, publication_log, zone_signing
from dnspanel.publish.reading.publisher_session import Connection
from dnspanel.publish.reading.sealing import Batch, seal_batch
from dnspanel.zones.dnssec.signing_state import UNSIGNED, SigningState
from replication.codec.schema import Dbi, Schema
from replication.store.store import Store
from replication.wire.operations import Op, digest_bytes, record_puts, row_digest
from replication.wire.segment import PackedPuts, open_segment, pack_puts


def full_batch(conn: Connection, head: publication_log.Head, sequence: int, schema: Schema, now: datetime) -> Batch:
    """Return the rows of all zones that are served at this sequence, as one batch.

    Must run in a REPEATABLE READ transaction. Only the packed form of the records is in memory.
    """
    steps = {step.zone_id: step for step in publication_log.zones_served_at(conn, sequence)}
    states = zone_signing.signings_at(conn, sequence)
    main = main_operations(conn, steps, states, schema, now)
    puts = _packed_records(conn, steps, sequence, states)
    digests = digest_bytes(sum(map(_digest, main))), digest_bytes(puts.digest)
    marks = [file_operations.mark_of(step) for step in steps.values()]
    return Batch(head, publication_log.Range(1, sequence, now), marks, main, digests, puts if puts.count else None)


def main_operations(
    conn: Connection,
    steps: Mapping[int, publication_log.ZoneStep],
    states: Mapping[int, SigningState],
    schema: Schema,
    now: datetime,
) -> list[Op]:
    """Return the operations that write these zones into an empty main file, signed according to `states`."""
    served = zone_signing.Signings({}, {zone_id: state for zone_id, state in states.items() if zone_id in steps})
    signed = [steps[zone_id] for zone_id in served.after]
    attached = zone_signing.signing_operations(conn, signed, served, schema, now)
    gone, come = file_operations.zone_list_operations(steps.values(), schema)
    return [*gone, *attached, *come]


def compiled_zones(
    conn: Connection, steps: dict[int, publication_log.ZoneStep], sequence: int, states: Mapping[int, SigningState]
) -> Iterator[tuple[publication_log.ZoneStep, bytes, int, int]]:
    """Yield each zone with its encoded PUTs, their number and the sum of their digests, ordered by zone id.

    Only one zone is in memory at a time. Must run in a REPEATABLE READ transaction.
    """
    serials = {step.zone_id: step.serial for step in steps.values() if step.serial is not None}
    for zone_id, rrsets in publication_log.rrsets_at(conn, sequence, serials):
        rows = file_operations.compiled_rows(steps[zone_id], rrsets, states.get(zone_id, UNSIGNED).denial)
        puts, digest = record_puts(zone_id, rows)
        yield steps[zone_id], puts, len(rows), digest


def replace_store(publisher: Publisher, batch: Batch, schema: int, now: datetime) -> None:
    """Write the batch to new files beside the files in use, then replace the files in use.

    After a crash during the replacement the files are missing, and the next step creates them again.
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


def _packed_records(
    conn: Connection, steps: dict[int, publication_log.ZoneStep], sequence: int, states: Mapping[int, SigningState]
) -> PackedPuts:
    count = total = 0

    def pieces() -> Iterator[bytes]:
        nonlocal count, total
        for _, puts, rows, digest in compiled_zones(conn, steps, sequence, states):
            count, total = count + rows, total + digest
            yield puts

    packed = pack_puts(pieces())
    return PackedPuts(packed, count, total)


def _digest(op: Op) -> int:
    return row_digest(Dbi(op.dbi), op.key, op.body)
