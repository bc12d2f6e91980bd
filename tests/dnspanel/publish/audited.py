"""A comparison of the panel's LMDB with a full compile of PostgreSQL at the last segment, for tests."""

from dataclasses import dataclass

from django.utils import timezone

from dnspanel.publish.files.catch_up import catch_up
from dnspanel.publish.files.full_zone import compiled_zones, main_operations
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.reading import publication_log, zone_signing
from dnspanel.publish.reading.publisher_session import Connection, snapshot
from replication.codec.schema import Dbi
from replication.store.store import Store
from replication.wire.operations import digest_bytes, row_digest
from tests.replication.panel import zone_digest


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of a comparison of the panel's LMDB with PostgreSQL. `equal` is True if nothing differs."""

    sequence: int
    zones: int
    different: tuple[str, ...]  # names of zones whose records differ
    equal: bool  # compares every row of both files, including those of unknown zones


def audit_store(*, schema: int) -> Audit | None:
    """Compare the panel's LMDB with a full compile of PostgreSQL. Return None if nothing was published yet.

    The LMDB is updated to the last segment first.
    """
    publisher = this_publisher()
    with publisher.session.publishing(wait_seconds=60) as conn:
        assert conn is not None, "somebody publishes"
        with snapshot(conn):
            head = publication_log.read_head(conn)
            if head is None:
                return None
            encoded = publication_log.read_encoded(conn, schema, head.position.epoch)
            store = publisher.store(schema, head.cluster)
            catch_up(store, conn, head.position, encoded)
            return _compare(conn, store, encoded.sequence)


def _compare(conn: Connection, store: Store, sequence: int) -> Audit:
    steps = {step.zone_id: step for step in publication_log.zones_served_at(conn, sequence)}
    states = zone_signing.signings_at(conn, sequence)
    listed = main_operations(conn, steps, states, store.schema, timezone.now())
    main = digest_bytes(sum(row_digest(Dbi(op.dbi), op.key, op.body) for op in listed))
    records = 0
    different = []
    for step, _, _, digest in compiled_zones(conn, steps, sequence, states):
        records += digest
        if digest_bytes(digest) != zone_digest(store, step.zone_id):
            different.append(step.name)
    equal = not different and store.digests() == (main, digest_bytes(records))
    return Audit(sequence, len(steps), tuple(different), equal)
