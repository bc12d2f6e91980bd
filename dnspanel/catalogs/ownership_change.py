"""Zones on their way from one catalog of ours into another one (change of ownership, RFC 9432, section 4.3.1). Verbs.

The catalog that a zone left goes on naming it for SAYS_WHERE, and says which one has it now (`coo`); that one names it,
under the same label, once readers of the first have had UNTIL_READ to learn so. Then whoever follows both goes on with
what it has. A row on LeaveStep.SAID is of the last catalog that named the zone without `coo`: a zone has at most one of
them.

Knot DNS knows no `coo`: it passes over the second catalog's record, and drops the zone once the first does. Then that
record comes anew, as the same but for its TTL, which means nothing to anybody: once those that are told of changes know
that the first has dropped it, and after UNTIL_READ for all others. Knot passes over this too unless it gets all of the
catalog (`gateway.ixfr`).

A zone that goes back while the catalog still names it is named there as before if it has not arrived elsewhere; else
it comes under another label, once the one that it leaves has said so: BIND takes no zone back under a label that it
knows already.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, F, QuerySet

from dnspanel.catalogs.models import LeaveStep, Leaving, Produced
from dnspanel.secondaries.catalog import member_owner
from dnspanel.secondaries.members import SAYS_WHERE, UNTIL_READ
from dnspanel.zones.models import RRset, Zone
from replication.dns import rdtypes

# Who is told of changes has fetched what a catalog says after so long.
UNTIL_NOTIFIED = timedelta(seconds=5)

# One statement. It reads nothing if nothing changed and nothing is on its way. The numbers are those of `LeaveStep`.
_STEPS = """
WITH due AS (
    SELECT l.id, l.zone_id, l.catalog_id, l.entered_id, CASE
        WHEN z.deleted_at IS NOT NULL OR l.way = 3 THEN 'ends' WHEN l.told_at IS NULL THEN 'told'
        WHEN l.way = 0 THEN 'arrives' WHEN l.way = 1 THEN 'goes' ELSE 'comes anew' END AS step
    FROM catalogs_leaving l
    JOIN zones_zone z ON z.id = l.catalog_id
    JOIN catalogs_producer p ON p.zone_id = l.catalog_id
    WHERE z.deleted_at IS NOT NULL OR CASE WHEN l.told_at IS NULL THEN p.followed = p.moves ELSE l.told_at <= CASE l.way
        WHEN 1 THEN %(over)s WHEN 2 THEN %(notified)s ELSE %(read)s END END
    FOR UPDATE OF l SKIP LOCKED
), ended AS (
    DELETE FROM catalogs_leaving l USING due WHERE due.id = l.id AND due.step = 'ends'
), stepped AS (
    UPDATE catalogs_leaving l SET
        way = CASE due.step WHEN 'told' THEN l.way ELSE l.way + 1 END,
        told_at = CASE due.step WHEN 'told' THEN %(now)s WHEN 'goes' THEN NULL ELSE l.told_at END
    FROM due WHERE due.id = l.id AND due.step <> 'ends'
), noted AS (
    SELECT zone_id FROM catalogs_produced WHERE moved FOR UPDATE SKIP LOCKED
), anew AS (
    SELECT zone_id FROM catalogs_produced
    WHERE zone_id IN (SELECT zone_id FROM due WHERE step IN ('comes anew', 'ends')) FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE catalogs_produced
    SET moved = FALSE, ttl = CASE WHEN zone_id IN (SELECT zone_id FROM anew) THEN ttl + 1 ELSE ttl END
    WHERE zone_id IN (SELECT zone_id FROM noted UNION SELECT zone_id FROM anew)
    RETURNING catalog_id
), changed AS (
    SELECT catalog_id FROM moved UNION SELECT catalog_id FROM due WHERE step IN ('goes', 'ends')
    UNION SELECT entered_id FROM due WHERE step IN ('arrives', 'ends')
)
UPDATE catalogs_producer SET moves = moves + 1 WHERE zone_id IN (
    SELECT zone_id FROM catalogs_producer WHERE zone_id IN (SELECT catalog_id FROM changed)
    ORDER BY zone_id FOR UPDATE
)"""


def take_steps(*, now: datetime) -> None:
    """Catalogs of which a zone changed have that to follow; so has one that a zone arrives in, or that drops it.

    A catalog has said so once it follows all that moved; what is in the trash says nothing to anybody.
    """
    with connection.cursor() as cursor:
        moments = {"notified": now - UNTIL_NOTIFIED, "read": now - UNTIL_READ, "over": now - SAYS_WHERE}
        cursor.execute(_STEPS, {"now": now, **moments})


def locked_of(zones: Collection[Zone]) -> list[Leaving]:
    """What catalogs still name of these zones; nobody else changes it until the transaction ends."""
    return list(Leaving.objects.select_for_update().filter(zone__in=zones).order_by("pk"))


def end(rows: Collection[Leaving]) -> None:
    """The zones are in no catalog any more, and none is to name them."""
    if rows:
        Leaving.objects.filter(pk__in=[row.pk for row in rows]).delete()


def send(
    *, left: Sequence[Produced], rows: Sequence[Leaving], silent: Collection[int], entered: int, now: datetime
) -> dict[int, str]:
    """The zones of `left`, which say where they were, are on their way into a catalog; returns the label of each there.

    `rows` are all that there are of these zones (`locked_of`); `silent` are catalogs that say nothing to anybody.
    Without a label is a zone that has to have another one there. By the same statements, however many they are.
    """
    holding = {row.zone_id: row for row in rows if row.way == LeaveStep.SAID}
    there = {row.zone_id: row for row in rows if row.catalog_id == entered}
    known = {zone_id for zone_id, row in there.items() if row.way == LeaveStep.ARRIVED}
    going = [each for each in left if each.zone_id not in holding]
    told = _named([each for each in going if each.catalog_id not in silent])
    past = {(each.zone_id, each.catalog_id) for each in going}
    over = [row for row in there.values() if row.way != LeaveStep.ARRIVED]
    over += [row for row in rows if (row.zone_id, row.catalog_id) in past]
    end(over)
    others = [row.pk for row in rows if row.catalog_id != entered and row not in over]
    if others:
        Leaving.objects.filter(pk__in=others).update(entered=entered, told_at=None)
    again = [row.pk for row in there.values() if row.zone_id in known]
    if again:  # they are named as they are until the zones arrive
        Leaving.objects.filter(pk__in=again).update(told_at=now)
    Leaving.objects.bulk_create(
        [
            Leaving(zone_id=each.zone_id, catalog_id=each.catalog_id, label=each.label, entered_id=entered)
            for each in going
            if each.zone_id in told
        ]
    )
    labels = {each.zone_id: holding[each.zone_id].label if each.zone_id in holding else each.label for each in left}
    return {zone_id: label for zone_id, label in labels.items() if zone_id not in known}


def still_named() -> QuerySet[Leaving]:
    """The zones that catalogs still name which they left, but those that are in them again."""
    return Leaving.objects.filter(zone__deleted_at=None, way__in=(LeaveStep.SAID, LeaveStep.ARRIVED)).exclude(
        zone__produced__catalog=F("catalog")
    )


def most_on_their_way(catalog_ids: Collection[int]) -> int:
    """How many zones that of these catalogs still names which most of them left."""
    counted = Leaving.objects.filter(catalog__in=catalog_ids).order_by().values("catalog").annotate(rows=Count("pk"))
    return max((row["rows"] for row in counted), default=0)


def _named(left: Sequence[Produced]) -> set[int]:
    """The ids of those of these zones that their catalogs name so far: what nobody was told of leaves without a word.

    Those in the trash are not: no catalog names them once it is looked at.
    """
    if not left:
        return set()
    by_owner = {(each.catalog_id, member_owner(each.catalog.name, each.label)): each for each in left}
    owners = RRset.objects.filter(zone__in={each.catalog_id for each in left}, type=rdtypes.PTR)
    found = owners.filter(name__in=[name for _, name in by_owner]).values_list("zone", "name")
    return {by_owner[key].zone_id for key in found if by_owner[key].zone.deleted_at is None}
