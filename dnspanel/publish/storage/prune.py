"""Prune segments, snapshots and leftovers that are no longer needed, and later their objects. Verbs.

A row is deleted first, and the name of its object is recorded as garbage. The object is deleted an hour later, so a
process that has just read the row still finds it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from dnspanel.database.sql import fetch_one
from dnspanel.publish.models import FirstSealing, Garbage, PreparedRows, Segment, Snapshot
from dnspanel.publish.storage.objects import delete_object, objects_below
from dnspanel.zones.models import LogHead
from replication.store.snapshot import chunk_name

# A push reads an object in less than this time.
GARBAGE_LIFETIME = timedelta(hours=1)
# Rows prepared longer ago than this belong to an abandoned import.
PREPARED_LIFETIME = timedelta(days=2)
SNAPSHOTS_KEPT = 2
_GARBAGE_AT_ONCE = 5_000

_PRUNE = """
WITH gone AS (
    DELETE FROM publish_segment
    WHERE schema = %(schema)s AND epoch = %(epoch)s AND last <= %(snapshot)s
        AND (last <= %(needed)s OR sealed_at < %(old)s OR last <= (
            SELECT max(last) FROM publish_segment
            WHERE schema = %(schema)s AND epoch = %(epoch)s AND last <= %(snapshot)s AND damaged))
    RETURNING object_name
), garbage AS (
    INSERT INTO publish_garbage (object_name, since) SELECT object_name, %(now)s FROM gone ON CONFLICT DO NOTHING
)
SELECT count(*) FROM gone"""

_PRUNE_EPOCHS = """
WITH gone AS (
    DELETE FROM publish_segment WHERE schema = %(schema)s AND epoch <> %(epoch)s RETURNING object_name
), garbage AS (
    INSERT INTO publish_garbage (object_name, since) SELECT object_name, %(now)s FROM gone ON CONFLICT DO NOTHING
)
SELECT count(*) FROM gone"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pruned:
    segments: int
    snapshots: int
    objects: int


def prune_log(*, needed: Mapping[int, int], now: datetime) -> Pruned:
    """Delete unneeded segments, snapshots, garbage and prepared rows. Return the numbers of deletions.

    Segments of the current epoch are deleted if the newest snapshot includes them and no node needs them. `needed` maps
    each schema with nodes to the lowest sequence of a node. Segments that the snapshot includes are also deleted if
    they are older than LOG_DAYS or only lead to a damaged one. Segments of other epochs are deleted once the schema has
    a current snapshot. The newest SNAPSHOTS_KEPT snapshots stay. Times of first sealings are deleted after LOG_DAYS.
    """
    head = LogHead.objects.first()
    if head is None:
        return Pruned(0, 0, 0)
    newest = dict(Snapshot.objects.filter(epoch=head.epoch).values_list("schema").annotate(Max("sequence")))
    old, segments = now - timedelta(days=settings.LOG_DAYS), 0
    FirstSealing.objects.filter(at__lt=old).delete()
    for schema, sequence in newest.items():
        parameters = {
            "schema": schema,
            "epoch": head.epoch,
            "snapshot": sequence,
            "needed": needed.get(schema, sequence),
            "old": old,
            "now": now,
        }
        segments += _count(_PRUNE, parameters) + _count(_PRUNE_EPOCHS, parameters)
    superseded = [snapshot for schema in newest for snapshot in _old_snapshots(schema, head)]
    snapshots = discard_snapshots(snapshots=superseded, now=now)
    objects = remove_garbage(now=now) + remove_prepared_leftovers(now=now)
    if segments or snapshots:
        logger.info("pruned segments=%s snapshots=%s objects=%s", segments, snapshots, objects)
    return Pruned(segments, snapshots, objects)


def discard_snapshots(*, snapshots: Sequence[Snapshot], now: datetime) -> int:
    """Discard these snapshots, so that they are no longer sent to nodes. Return the number that still existed."""
    gone = 0
    for snapshot in snapshots:
        with transaction.atomic():
            deleted, _ = Snapshot.objects.filter(pk=snapshot.pk).delete()
            if deleted:
                discard_objects(names=objects_of(snapshot), now=now)
                gone += 1
    return gone


def discard_objects(*, names: Sequence[str], now: datetime) -> None:
    """Mark these unreferenced objects as garbage. They are deleted an hour later, unless a row refers to them again."""
    garbage = [Garbage(object_name=name, since=now) for name in names]
    Garbage.objects.bulk_create(garbage, ignore_conflicts=True)


def objects_of(snapshot: Snapshot) -> list[str]:
    """Return the names of a snapshot's objects: its manifest and all its chunks."""
    directory = snapshot.object_name.rpartition("/")[0]
    return [snapshot.object_name, *(f"{directory}/{chunk_name(number)}" for number in range(snapshot.chunks))]


def remove_garbage(*, now: datetime) -> int:
    """Delete objects that became garbage over an hour ago, unless a row refers to them again.

    Return the number of processed garbage rows. Raise StorageUnreachable if the storage fails.
    """
    rows = list(Garbage.objects.filter(since__lt=now - GARBAGE_LIFETIME).order_by("since")[:_GARBAGE_AT_ONCE])
    names = [row.object_name for row in rows]
    counts: set[str] = set()
    for model in (Segment, Snapshot, PreparedRows):
        counts.update(model.objects.filter(object_name__in=names).values_list("object_name", flat=True))
    for row in rows:
        if row.object_name not in counts:
            delete_object(row.object_name)
        Garbage.objects.filter(pk=row.pk).delete()
    return len(rows)


def remove_prepared_leftovers(*, now: datetime) -> int:
    """Delete prepared rows that no publication uses and that are older than PREPARED_LIFETIME. Return their number.

    Raise StorageUnreachable if the storage fails.
    """
    known = set(PreparedRows.objects.values_list("object_name", flat=True))
    leftovers = [name for name in objects_below("prepared", before=now - PREPARED_LIFETIME) if name not in known]
    for name in leftovers:
        delete_object(name)
    return len(leftovers)


def _old_snapshots(schema: int, head: LogHead) -> list[Snapshot]:
    """Return the schema's snapshots of other epochs, and all but the newest SNAPSHOTS_KEPT of the current epoch."""
    snapshots = Snapshot.objects.filter(schema=schema)
    return [
        *snapshots.exclude(epoch=head.epoch),
        *snapshots.filter(epoch=head.epoch).order_by("-sequence")[SNAPSHOTS_KEPT:],
    ]


def _count(sql: str, parameters: Mapping[str, Any]) -> int:
    return int(fetch_one(sql, parameters)[0])
