"""Store the questions that nodes count for RRsets, and remove old ones. Verbs."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction

from dnspanel.database.sql import execute
from dnspanel.zones.models import CountingNode
from replication.wire.protocol import QueryReport

KEPT_DAYS = 100
# After a longer gap, or time with lost questions, a node is complete only from then on. Shorter ones are added up.
LONGEST_GAP = timedelta(minutes=15)
_ROWS_OF_A_STEP = 20_000

_ADD = """
INSERT INTO zones_queriedrrset (zone_id, owner_key, type, day, times)
SELECT zone, key, type, %s, times
FROM unnest(%s::int[], %s::bytea[], %s::int[], %s::bigint[]) reported (zone, key, type, times)
ORDER BY zone, key, type
ON CONFLICT (zone_id, owner_key, type, day) DO UPDATE SET times = zones_queriedrrset.times + EXCLUDED.times"""
_REMOVE = """
DELETE FROM zones_queriedrrset WHERE ctid = ANY(ARRAY(SELECT ctid FROM zones_queriedrrset WHERE day < %s LIMIT %s))"""


def note_nodes(*, nodes: Mapping[int, str], now: datetime) -> dict[int, str]:
    """Record the nodes that answer (id to name). Return the ids of their last stored reports.

    While others count, a node that joins is complete from the same time, because it had no questions before.
    """
    with transaction.atomic(durable=True):
        CountingNode.objects.exclude(node_id__in=nodes).update(has_left=True)
        known = {row.node_id: row.taken for row in CountingNode.objects.filter(has_left=False)}
        others = CountingNode.objects.filter(until__gt=now - LONGEST_GAP).order_by("-since").first()
        since = others.since if others else now
        CountingNode.objects.bulk_create(
            [
                CountingNode(node_id=id, name=name, since=since, until=now)
                for id, name in nodes.items()
                if id not in known
            ],
            update_conflicts=True,
            unique_fields=["node_id"],
            update_fields=["since", "until", "has_left"],
        )
    return {id: known.get(id, "") for id in nodes}


def store_report(*, node_id: int, report: QueryReport, now: datetime) -> None:
    """Add a node's report to the day's counts, and record until when its counts are complete.

    A repeated report changes nothing. The panel's clock is used.
    """
    with transaction.atomic(durable=True):
        row = CountingNode.objects.select_for_update().get(pk=node_id)
        if report.id and report.id == row.taken:
            return
        zones, rels, types, times = (
            (list(column) for column in zip(*report.counts, strict=True)) if report.counts else ([],) * 4
        )
        execute(_ADD, [now.date(), zones, [bytes.fromhex(rel) for rel in rels], types, times])
        row.taken, row.problem = report.id or row.taken, report.problem
        if not report.problem:
            gap = max(timedelta(0), now - timedelta(seconds=report.end - report.begin) - row.until)
            row.missed_seconds += gap.total_seconds()
            if gap > LONGEST_GAP:
                row.since, row.missed_seconds = row.until + gap, 0
            row.until = now
        row.save()


def remove_counts(*, before: datetime) -> None:
    """Remove counts of days before this time, in steps."""
    while execute(_REMOVE, [before.date(), _ROWS_OF_A_STEP]):
        pass


def remove_all_counts(*, now: datetime) -> None:
    """Remove all counts, because counting is off."""
    remove_counts(before=now + timedelta(days=2))
    CountingNode.objects.all().delete()
