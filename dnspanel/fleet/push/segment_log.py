"""Read the panel's sealed segments for one schema, in the form that `replication.push` needs.

The SQL is written by hand because it runs twice for every edit and node. One statement reads the head and the segments
near it. A node that lacks only the newest change therefore costs one query, and a second one after the push to confirm
that the node lacks nothing.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID

from django.db import connection

from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.database.sql import fetch_one
from dnspanel.publish.errors import DamagedObject
from dnspanel.publish.storage.damage import record_damage
from dnspanel.publish.storage.objects import open_segment_object
from dnspanel.texts import gettext
from dnspanel.zones.log.publish_hold import is_of_this_history
from replication.errors import Diverged
from replication.push import SealedSegment
from replication.steps import NEW_NODE_BYTES, Way
from replication.wire.position import Position
from replication.wire.protocol import Ack

# The number of segments that are read at once.
PAGE = 256

_SEGMENTS = """
    SELECT epoch, first, last, size, object_name, digest, damaged FROM publish_segment
    WHERE epoch = (SELECT epoch FROM zones_loghead) AND schema = %s"""
_FROM = f"{_SEGMENTS} AND last >= %s ORDER BY last LIMIT %s"

_NEWEST = """
    (SELECT epoch, last FROM publish_segment
        WHERE epoch = (SELECT epoch FROM zones_loghead) AND schema = %(schema)s
            AND (%(limit)s::bigint IS NULL OR last <= %(limit)s) ORDER BY last DESC LIMIT 1)
    UNION ALL
    (SELECT epoch, sequence FROM publish_snapshot
        WHERE epoch = (SELECT epoch FROM zones_loghead) AND schema = %(schema)s
            AND (%(limit)s::bigint IS NULL OR sequence <= %(limit)s) ORDER BY sequence DESC LIMIT 1)
    ORDER BY 2 DESC LIMIT 1"""

# Segments follow each other without gaps, except at a damaged segment or before the first one that was not pruned.
_WAY = """
    SELECT coalesce(greatest(min(first), max(last) FILTER (WHERE damaged) + 1), %(target)s + 1),
        count(*) FILTER (WHERE last > %(have)s), coalesce(sum(size) FILTER (WHERE last > %(have)s), 0)::bigint
    FROM publish_segment WHERE schema = %(schema)s AND epoch = %(epoch)s AND last <= %(target)s"""

# A snapshot with content that ring 0 could not serve, and without its revert, is not sent.
_SNAPSHOT = """
    SELECT sequence, size FROM publish_snapshot s
    WHERE schema = %(schema)s AND epoch = %(epoch)s AND sequence <= %(target)s AND NOT EXISTS (
        SELECT FROM fleet_isolation i WHERE i.epoch = s.epoch AND s.sequence >= i.failed AND s.sequence < i.inverse)
    ORDER BY sequence DESC LIMIT 1"""


class _Row(NamedTuple):
    epoch: UUID
    first: int
    last: int
    size: int
    object_name: str
    digest: bytes
    damaged: bool


class DatabaseChangeLog:
    """An implementation of `push.ChangeLog` that uses the rows of `Segment` and their objects.

    If `limit` is given, no sequence beyond the limit is sent. Everything is read again for each step, so that a long
    push ends at the newest head instead of the head at its start.
    """

    def __init__(self, schema: int, *, limit: int | None = None) -> None:
        self._schema = schema
        self._limit = limit
        self._rows: list[_Row] = []

    def newest(self, limit: int | None = None) -> Position | None:
        """Return the head, or the newest position up to `limit`, without reading the segments."""
        row = fetch_one(_NEWEST, {"schema": self._schema, "limit": limit})
        return Position(*row) if row else None

    def way(self, have: Position | None) -> Way:
        near = have.sequence if have else 0
        self._rows = self._read(near)
        if 0 < len(self._rows) < PAGE and (have is None or have.epoch == self._rows[0].epoch):
            rows = [row for row in self._rows if self._limit is None or row.last <= self._limit]
            lacking = [row for row in rows if row.last > near]
            size = sum(row.size for row in lacking)
            if rows and _lead_on(lacking, near) and (have is not None or size <= NEW_NODE_BYTES):
                return Way(_end(self._rows[-1]), _end(rows[-1]), rows[0].first, len(lacking), size)
        return self.long_way(have)

    def segments_after(self, sequence: int) -> Iterator[SealedSegment]:
        here = bool(self._rows) and self._rows[0].first <= sequence + 1
        rows = self._rows if here else self._read(sequence + 1)
        while rows:
            for row in rows:
                if self._limit is not None and row.last > self._limit:
                    return
                if row.last > sequence:
                    yield SealedSegment(row.first, row.last, row.size, partial(_open, row.object_name))
            rows = self._read(rows[-1].last + 1) if len(rows) == PAGE else []

    def check(self, ack: Ack) -> None:
        """Raise Diverged if the ack's digests differ from those of the segment that ends at its position.

        Only the segments that this log has read last are compared.
        """
        found = ack.digest_main + ack.digest_records
        for row in self._rows:
            if ack.position == _end(row) and found != row.digest:
                raise Diverged(expected=row.digest, found=found, what=gettext("the node’s database"))

    def long_way(self, have: Position | None) -> Way:
        """Return the `way` of a node that is new, far behind, limited or ahead. It can include a snapshot."""
        head = self.newest()
        if head is None:
            return Way(None)
        knows_epoch = have is None or have.epoch == head.epoch or is_of_this_history(have.epoch)
        target = head if self._limit is None else self.newest(self._limit)
        if target is None:
            return Way(head, knows_epoch=knows_epoch)
        place: dict[str, Any] = {
            "schema": self._schema,
            "epoch": head.epoch,
            "target": target.sequence,
            "have": have.sequence if have and have.epoch == head.epoch else 0,
        }
        with connection.cursor() as cursor:
            cursor.execute(_WAY, place)
            oldest, segments, size = cursor.fetchone()
            cursor.execute(_SNAPSHOT, place)
            snapshot, snapshot_size = cursor.fetchone() or (None, 0)
        if snapshot is not None and snapshot < oldest - 1:
            snapshot, snapshot_size = None, 0
        return Way(head, target, oldest, segments, size, snapshot, snapshot_size, knows_epoch)

    def _read(self, sequence: int) -> list[_Row]:
        with prepared_cursor() as cursor:
            cursor.execute(_FROM, (self._schema, sequence, PAGE))
            return [_Row._make((*row[:5], bytes(row[5]), row[6])) for row in cursor.fetchall()]


def _end(row: _Row) -> Position:
    return Position(row.epoch, row.last)


def _lead_on(rows: Sequence[_Row], sequence: int) -> bool:
    """Return True if these segments are undamaged and continue from `sequence` without a gap."""
    if any(row.damaged for row in rows):
        return False
    return not rows or (rows[0].first <= sequence + 1 and all(a.last + 1 == b.first for a, b in pairwise(rows)))


def _open(object_name: str) -> BinaryIO:
    """Open a segment for a push. If it is missing or altered, mark it as damaged and raise DamagedObject."""
    try:
        return open_segment_object(object_name)
    except DamagedObject as exc:
        record_damage(object_name=object_name, reason=exc.reason)
        raise
