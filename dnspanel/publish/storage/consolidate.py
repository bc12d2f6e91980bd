"""Merge many small segments, to let a node that is far behind catch up with few pushes. Verbs.

A node can apply a merged segment from any position inside its range. The segment contains the final value of each key,
and applying that twice has the same result as applying it once. The rows of the single segments are replaced in one
transaction. Their objects are kept for processes that have just read the old rows.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from dnspanel.publish.errors import DamagedObject
from dnspanel.publish.keys import segment_signing
from dnspanel.publish.models import Segment
from dnspanel.publish.storage.damage import record_damage
from dnspanel.publish.storage.objects import object_name, open_segment_object, put_object
from dnspanel.publish.storage.prune import discard_objects
from dnspanel.zones.models import LogHead
from replication.codec.schema import Dbi, Schema, schema_for
from replication.wire import segment as wire
from replication.wire.operations import Op, OpKind, ZoneMark

# Younger segments are not merged, because nodes get the newest changes one by one anyway.
MERGE_AFTER = timedelta(seconds=30)
FEWEST = 16
LARGEST_BYTES = 1 << 20
_ROWS_AT_ONCE = 20_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stored:
    """The columns of a segment's row that are needed for merging."""

    id: int
    first: int
    last: int
    size: int
    object_name: str


def consolidate(*, up_to: int | None, now: datetime) -> int:
    """Merge runs of small segments of the current epoch. Return the number of segments that were merged.

    Segments after `up_to` are not merged, because some nodes may still have to stop at a sequence between two of them.
    Raise StorageUnreachable if the storage fails.
    """
    head = LogHead.objects.first()
    if head is None:
        return 0
    small = Segment.objects.filter(
        epoch=head.epoch, mergeable=True, damaged=False, size__lt=LARGEST_BYTES, sealed_at__lt=now - MERGE_AFTER
    )
    if up_to is not None:
        small = small.filter(last__lte=up_to)
    merged = 0
    for schema in small.order_by().values_list("schema", flat=True).distinct():
        rows = _rows(small.filter(schema=schema).order_by("last")[:_ROWS_AT_ONCE])
        merged += sum(len(run) for run in runs_to_merge(rows) if _replace(run, schema, head.cluster, head.epoch, now))
    return merged


def merge_range(*, epoch: UUID, first: int, last: int, now: datetime) -> int:
    """Merge all segments with sequences from `first` to `last`. Return the number of schemas in which this succeeded.

    The caller must make sure that no node has a position inside the range. Nodes past the range aren't affected. The
    call can be repeated. Raise StorageUnreachable if the storage fails.
    """
    head = LogHead.objects.get()
    concerned = Segment.objects.filter(epoch=epoch, last__gte=first, first__lte=last)
    done = 0
    for schema in concerned.order_by().values_list("schema", flat=True).distinct():
        rows = _rows(concerned.filter(schema=schema).order_by("last"))
        done += len(rows) == 1 or _replace(rows, schema, head.cluster, epoch, now)
    return done


def runs_to_merge(rows: Sequence[Stored]) -> Iterator[list[Stored]]:
    """Yield groups of adjacent segments that are worth merging and fit the size limit, in order."""
    run: list[Stored] = []
    size = 0
    for row in rows:
        if run and (row.first != run[-1].last + 1 or size + row.size > LARGEST_BYTES):
            if len(run) >= FEWEST:
                yield run
            run, size = [], 0
        run.append(row)
        size += row.size
    if len(run) >= FEWEST:
        yield run


def merge(segments: Iterable[wire.Segment], schema: Schema) -> tuple[list[ZoneMark], list[Op]]:
    """Return marks and operations that have the same effect as applying these segments one after another. Pure.

    The last operation on a key wins. A deleted prefix cancels earlier operations below it. The last mark of a zone
    contains the zone's final state.
    """
    marks: dict[int, ZoneMark] = {}
    ops: dict[tuple[Dbi, bytes, bytes, bool], Op] = {}
    for segment in segments:
        for mark in segment.marks():
            marks.pop(mark.zone_id, None)
            marks[mark.zone_id] = mark
        for op in segment.ops():
            is_prefix = op.kind is OpKind.DELETE_PREFIX
            if is_prefix:
                ops = {key: old for key, old in ops.items() if not (old.dbi is op.dbi and old.key.startswith(op.key))}
            # If a key can have several values, each value is a separate row.
            value = op.body if schema.dbi(op.dbi).dupsort else b""
            key = (op.dbi, op.key, value, is_prefix)
            ops.pop(key, None)  # the last operation on a key comes last: new zones after removed zones
            ops[key] = op
    return list(marks.values()), list(ops.values())


def _replace(run: Sequence[Stored], schema: int, cluster: UUID, epoch: UUID, now: datetime) -> bool:
    """Replace the run with one merged segment. Return False if a segment is damaged or a row of the run was deleted."""
    keys = segment_signing.all_public_keys()
    try:
        opened = [_read_segment(row, keys) for row in run]
    except DamagedObject as exc:
        record_damage(object_name=exc.object_name, reason=exc.reason)
        return False
    marks, ops = merge(opened, schema_for(schema))
    newest = opened[-1]
    sealed = wire.seal(
        wire.SegmentHeader(
            schema=schema,
            cluster=cluster,
            epoch=epoch,
            first=run[0].first,
            last=run[-1].last,
            time_ns=newest.time_ns,
            digest_main=newest.digest_main,
            digest_records=newest.digest_records,
        ),
        marks=marks,
        ops=ops,
        key=segment_signing.private_key(segment_signing.ensure_signing_key(now=now)),
    )
    name = object_name(schema=schema, epoch=epoch, first=run[0].first, last=run[-1].last, content=sealed)
    put_object(name, sealed)
    is_mergeable = all(op.dbi is Dbi.RECORDS and op.kind is not OpKind.DELETE_PREFIX for op in ops)
    merged = Segment(
        epoch=epoch,
        schema=schema,
        first=run[0].first,
        last=run[-1].last,
        object_name=name,
        size=len(sealed),
        digest=newest.digest_main + newest.digest_records,
        sealed_at=now,
        mergeable=is_mergeable,
    )
    if not _swap(run, merged, now):
        return False
    logger.info(
        "merged schema=%s from=%s to=%s segments=%s bytes=%s operations=%s",
        schema,
        merged.first,
        merged.last,
        len(run),
        len(sealed),
        len(ops),
    )
    return True


def _swap(run: Sequence[Stored], merged: Segment, now: datetime) -> bool:
    """Replace the run's rows with the merged segment's row. If a row was deleted, change nothing and return False."""
    with transaction.atomic():
        deleted, _ = Segment.objects.filter(pk__in=[row.id for row in run]).delete()
        if deleted != len(run):
            transaction.set_rollback(True)
            names = [merged.object_name]
        else:
            merged.save(force_insert=True)
            names = [row.object_name for row in run]
    discard_objects(names=names, now=now)
    return len(names) == len(run)


def _read_segment(row: Stored, keys: Sequence[bytes]) -> wire.Segment:
    """Read a whole segment. Raise DamagedObject if it is damaged, or StorageUnreachable if the storage fails."""
    with open_segment_object(row.object_name) as file:
        return wire.open_segment(file.read(), keys)


def _rows(segments: Iterable[Segment]) -> list[Stored]:
    return [Stored(row.pk, row.first, row.last, row.size, row.object_name) for row in segments]
