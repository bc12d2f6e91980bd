"""The panel's sealed segments of one schema, as `replication.push` reads them.

SQL is written out here: it runs twice for every edit and node. One statement
reads the head and the segments near it, so a node that lacks the newest
change costs one query, and one more after the push to see that this was all.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from dnspanel.publish.objects import open_object
from replication.errors import Diverged
from replication.position import Position
from replication.protocol import Ack
from replication.push import SealedSegment

# How many segments are read at once.
PAGE = 256

_SEGMENTS = """
    SELECT epoch, first, last, size, object_name, digest FROM publish_segment
    WHERE epoch = (SELECT epoch FROM zones_loghead) AND schema = %s"""
_FROM = f"{_SEGMENTS} AND last >= %s ORDER BY last LIMIT %s"
_NEWEST = f"{_SEGMENTS} ORDER BY last DESC LIMIT 1"
_OLDEST = "SELECT min(first) FROM publish_segment WHERE schema = %s AND epoch = %s"

_oldest_of: dict[tuple[int, UUID], int] = {}


class _Row(NamedTuple):
    epoch: UUID
    first: int
    last: int
    size: int
    object_name: str
    digest: bytes


class DatabaseChangeLog:
    """Implements `push.ChangeLog` over the rows of `Segment` and the objects that they name.

    `near` is the sequence where the reader believes its node to be: from there
    `head` reads a page of segments along. It is read anew each time, so a push
    that takes long ends at the head of its end, not of its beginning.
    """

    def __init__(self, schema: int, near: int = 0) -> None:
        self._schema = schema
        self._near = near
        self._rows: list[_Row] = []

    def newest(self) -> Position | None:
        """Return the head without reading along what leads to it."""
        rows = self._read(_NEWEST, self._schema)
        return Position(rows[0].epoch, rows[0].last) if rows else None

    def head(self) -> Position | None:
        self._rows = self._read(_FROM, self._schema, self._near, PAGE)
        if 0 < len(self._rows) < PAGE:
            head: Position | None = Position(self._rows[-1].epoch, self._rows[-1].last)
        else:
            # None near: the node is ahead, or there is nothing. A full page: the head lies behind it.
            head = self.newest()
        if head is not None:
            self._near = head.sequence
        return head

    def oldest(self) -> int:
        """Return the first sequence that segments hold; read once per process and epoch.

        Should it have moved up since, a node behind it is sent what it cannot
        apply and answers Gap, which is shown as its refusal.
        """
        if not self._rows:
            return 1
        history = self._schema, self._rows[0].epoch
        if history not in _oldest_of:
            with connection.cursor() as cursor:
                cursor.execute(_OLDEST, history)
                _oldest_of[history] = int(cursor.fetchone()[0])
        return _oldest_of[history]

    def segments_after(self, sequence: int) -> Iterator[SealedSegment]:
        here = bool(self._rows) and self._rows[0].first <= sequence + 1
        rows = self._rows if here else self._after(sequence)
        while rows:
            for row in rows:
                if row.last > sequence:
                    yield SealedSegment(row.first, row.last, row.size, partial(open_object, row.object_name))
            rows = self._after(rows[-1].last) if len(rows) == PAGE else []

    def check(self, ack: Ack) -> None:
        """Raise Diverged when a node acknowledges the end of a segment with other digests than it should have."""
        found = ack.digest_main + ack.digest_records
        for row in self._rows:
            if ack.position == Position(row.epoch, row.last) and found != row.digest:
                raise Diverged(expected=row.digest, found=found, what="the node's database")

    def _after(self, sequence: int) -> list[_Row]:
        return self._read(_FROM, self._schema, sequence + 1, PAGE)

    def _read(self, sql: str, *parameters: int) -> list[_Row]:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return [_Row._make((*row[:5], bytes(row[5]))) for row in cursor.fetchall()]
