"""The panel's sealed segments of one schema, as `replication.push` reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from django.db.models import Min, QuerySet

from dnspanel.publish.models import Segment
from dnspanel.publish.objects import open_object
from dnspanel.zones.models import LogHead
from replication.errors import Diverged
from replication.position import Position
from replication.protocol import Ack
from replication.push import SealedSegment


@dataclass(frozen=True, slots=True)
class _Newest:
    position: Position
    digest: bytes


class DatabaseChangeLog:
    """Implements `push.ChangeLog` over the rows of `Segment` and the objects that they name.

    `head` is read anew each time, so a push that takes long ends at the head
    of its end, not of its beginning.
    """

    def __init__(self, schema: int) -> None:
        self._schema = schema
        self._newest: _Newest | None = None
        self._oldest: int | None = None

    def head(self) -> Position | None:
        newest = self._segments().order_by("-last").values_list("epoch", "last", "digest").first()
        self._newest = _Newest(Position(newest[0], newest[1]), bytes(newest[2])) if newest else None
        return self._newest.position if self._newest else None

    def oldest(self) -> int:
        if self._oldest is None:
            self._oldest = self._segments().aggregate(oldest=Min("first"))["oldest"] or 1
        return self._oldest

    def segments_after(self, sequence: int) -> Iterator[SealedSegment]:
        missing = self._segments().filter(last__gt=sequence).order_by("last")
        rows = missing.values_list("first", "last", "size", "object_name")
        for first, last, size, name in rows.iterator(chunk_size=1000):
            yield SealedSegment(first, last, size, partial(open_object, name))

    def check(self, ack: Ack) -> None:
        """Raise Diverged when a node acknowledges the head with other digests than the panel has there."""
        found = ack.digest_main + ack.digest_records
        if self._newest and ack.position == self._newest.position and found != self._newest.digest:
            raise Diverged(expected=self._newest.digest, found=found, what="the node's database")

    def _segments(self) -> QuerySet[Segment]:
        """The segments of the present epoch."""
        return Segment.objects.filter(schema=self._schema, epoch__in=LogHead.objects.values("epoch"))
