"""Rebuild the panel's LMDB, which is a cache of PostgreSQL, and check the result by digests.

The files are rebuilt as of the last segment, not of the head, so their digests must equal those in the last segment's
row. Every zone is compiled in full, whereas segments are made by compiling changes.
"""

import logging
from datetime import datetime

from dnspanel.publish.files.full_zone import full_batch, replace_store
from dnspanel.publish.files.publisher import Publisher, this_publisher
from dnspanel.publish.files.snapshots import keep_snapshot
from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.publisher_session import Connection, snapshot
from dnspanel.publish.signals import segment_sealed
from dnspanel.texts import gettext
from replication.codec.schema import schema_for
from replication.errors import Busy, Diverged
from replication.wire.position import Position

# How long to wait for a running publisher to finish its step.
_WAIT_SECONDS = 60.0

logger = logging.getLogger(__name__)


def rebuild_store(*, schema: int, now: datetime) -> Position | None:
    """Rebuild the schema's LMDB from PostgreSQL at the last segment's position, and replace the files.

    Return this position, or None if nothing is encoded for the schema yet. Raise Diverged, and keep the old files, if
    the result doesn't match the last segment's row. Raise Busy if another process publishes for _WAIT_SECONDS.
    """
    publisher = this_publisher()
    with publisher.session.publishing(wait_seconds=_WAIT_SECONDS) as conn:
        if conn is None:
            raise Busy(what=gettext("the publisher’s lock"))
        with snapshot(conn):
            head = publication_log.read_head(conn)
            encoded = publication_log.read_encoded(conn, schema, head.position.epoch) if head else None
            if head is None or encoded is None or encoded.digests is None:
                return None
        rebuild_at(publisher, conn, head, encoded, schema, now)
        return Position(head.position.epoch, encoded.sequence)


def rebuild_at(
    publisher: Publisher,
    conn: Connection,
    head: publication_log.Head,
    encoded: publication_log.Encoded,
    schema: int,
    now: datetime,
) -> None:
    """Rebuild the LMDB at the sequence in `encoded`. Requires the publisher's lock.

    Raise Diverged, and keep the old files, if the digests differ from those in `encoded`.
    """
    with snapshot(conn):
        batch = full_batch(conn, head, encoded.sequence, schema_for(schema), now)
    if encoded.digests is not None and batch.digests != encoded.digests:
        raise Diverged(expected=b"".join(encoded.digests), found=b"".join(batch.digests), what="PostgreSQL's content")
    replace_store(publisher, batch, schema, now)


def make_anew(
    publisher: Publisher,
    conn: Connection,
    head: publication_log.Head,
    encoded: publication_log.Encoded,
    schema: int,
    now: datetime,
) -> Position:
    """Rebuild the LMDB at the end of the schema's log. If the schema has no log, start the log with a snapshot.

    Return the position. Requires the publisher's lock. Raise the errors of `rebuild_at` and `keep_snapshot`.
    """
    if encoded.digests is not None:
        rebuild_at(publisher, conn, head, encoded, schema, now)
        return Position(head.position.epoch, encoded.sequence)
    beginning = publication_log.Encoded(head.position.sequence, None, stalled=False)
    rebuild_at(publisher, conn, head, beginning, schema, now)
    store = publisher.store(schema, head.cluster)
    key = publisher.signing_key(now=now)
    keep_snapshot(store=store, directory=publisher.directory, key=key, now=now)
    segment_sealed.send_robust(sender=None, schema=schema)
    logger.info("the log begins with a snapshot schema=%s sequence=%s", schema, head.position.sequence)
    return head.position
