"""Update the panel's own LMDB from segments: after a crash, after a restart, or on another machine.

The LMDB is a cache. It is rebuilt from PostgreSQL if the segments do not lead to the target, because they were pruned,
are damaged or belong to another epoch.
"""

import logging

from dnspanel.publish.errors import DamagedObject, SegmentsAhead, StoreAhead
from dnspanel.publish.keys.segment_signing import all_public_keys
from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.publisher_session import Connection
from dnspanel.publish.storage.damage import record_damage
from dnspanel.publish.storage.objects import open_segment_object
from dnspanel.texts import gettext
from dnspanel.zones.log.publish_hold import is_of_this_history
from replication.errors import BadBytes, BadSegment, Diverged, ReplicationError, WrongEpoch
from replication.store.store import Store
from replication.wire.position import Position
from replication.wire.segment import open_segment

logger = logging.getLogger(__name__)


def catch_up(store: Store, conn: Connection, head: Position, encoded: publication_log.Encoded) -> None:
    """Apply segments to the store up to the last one that has a row, and check the result.

    Raise SegmentsAhead, StoreAhead or WrongEpoch if log, segments and store don't belong together. A person then has to
    decide which of them is right. Raise BadSegment or Diverged if the segments don't lead to the target. The caller
    must then rebuild the files with `rebuild_files`.
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
    _apply(store, publication_log.stored_segments(conn, store.schema.number, head.epoch, after=have), have)
    if (end := store.position()) is None or end.sequence != encoded.sequence:
        raise BadSegment(
            reason=gettext("the panel’s LMDB is at {end}, but the segments up to {sequence} are missing").format(
                end=end, sequence=encoded.sequence
            )
        )
    logger.info("caught up schema=%s from=%s to=%s", store.schema.number, have, encoded.sequence)
    if encoded.digests and (found := store.digests()) != encoded.digests:
        raise Diverged(expected=b"".join(encoded.digests), found=b"".join(found), what=gettext("the panel’s LMDB"))


def is_cured_by_rebuild(error: ReplicationError) -> bool:
    """Return True if a rebuild of the panel's LMDB fixes the error, without a person's help.

    A wrong epoch is fixed only if it is an earlier epoch of this database, not if it is unknown.
    """
    if isinstance(error, WrongEpoch):
        return is_of_this_history(error.ours)
    return isinstance(error, BadSegment | BadBytes | Diverged)


def _apply(store: Store, segments: list[publication_log.StoredSegment], have: int) -> None:
    keys = all_public_keys()
    for segment in segments:
        if segment.first > have + 1:
            raise BadSegment(
                reason=gettext("sequences {value} to {value2} were pruned from the log").format(
                    value=have + 1, value2=segment.first - 1
                )
            )
        if segment.damaged:
            raise DamagedObject(
                object_name=segment.object_name,
                reason=gettext("{object_name} is marked as damaged").format(object_name=segment.object_name),
            )
        try:
            with open_segment_object(segment.object_name) as file:
                store.apply(open_segment(file, keys))
        except DamagedObject as exc:
            record_damage(object_name=exc.object_name, reason=exc.reason)
            raise
        have = segment.last
