"""Move zones from one producer catalog to another (change of ownership, RFC 9432, section 4.3.1). Verbs.

For SAYS_WHERE, the old catalog still lists the zone and names the new catalog (`coo`). The new catalog lists the zone
under the same label after UNTIL_READ, which gives consumers of the old catalog time to read the `coo`. Consumers of
both catalogs then keep the zone's content. A row with LeaveStep.SAID belongs to the last catalog that listed the zone
without `coo`. A zone has at most one such row.

Knot DNS doesn't support `coo`. It ignores the new catalog's record, and drops the zone when the old catalog drops it.
The panel then publishes the new record again with another TTL, which has no meaning in a catalog. It does so
UNTIL_NOTIFIED after the old catalog's change for notified consumers, and UNTIL_READ after the change for all others.
Knot ignores even the repeated record unless it receives the whole catalog (`gateway.ixfr_out`).

If a zone returns to a catalog that still lists it, and no other catalog lists it yet, its record stays unchanged. In
all other cases, a returning zone gets another label, because BIND does not accept a zone again under a former label. It
gets the label after the catalog that it leaves has published the move.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, F, QuerySet

from dnspanel.catalogs.models import LeaveStep, Leaving, Produced
from dnspanel.secondaries.members import SAYS_WHERE, UNTIL_READ
from dnspanel.secondaries.secondary_catalog import member_owner
from dnspanel.zones.models import RRset, Zone
from replication.dns import rdtypes

# The time that notified consumers get to fetch a catalog's change.
UNTIL_NOTIFIED = timedelta(seconds=5)

# One statement. It reads nothing if nothing changed and no zone is moving. The numbers are those of `LeaveStep`.
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
    """Advance the moves whose next step is due, and mark the catalogs that must therefore be rewritten.

    The waiting time of a step starts when the old catalog has published all changes of its members. If the old catalog
    is in the trash, its moves end.
    """
    with connection.cursor() as cursor:
        moments = {"notified": now - UNTIL_NOTIFIED, "read": now - UNTIL_READ, "over": now - SAYS_WHERE}
        cursor.execute(_STEPS, {"now": now, **moments})


def locked_of(zones: Collection[Zone]) -> list[Leaving]:
    """Lock and return the rows of these zones, one for each catalog that a zone left and whose move isn't over."""
    return list(Leaving.objects.select_for_update().filter(zone__in=zones).order_by("pk"))


def end(rows: Collection[Leaving]) -> None:
    """Delete these `Leaving` rows, because their moves are over or another move replaces them."""
    if rows:
        Leaving.objects.filter(pk__in=[row.pk for row in rows]).delete()


def send(
    *, left: Sequence[Produced], rows: Sequence[Leaving], silent: Collection[int], entered: int, now: datetime
) -> dict[int, str]:
    """Move the zones of `left` to the catalog `entered` with a change of ownership. Return each zone's label there.

    `rows` are all rows of these zones (`locked_of`). `silent` are the ids of catalogs in the trash, which publish
    nothing. A zone that needs a new label is not in the result. The number of statements is constant.
    """
    holding = {row.zone_id: row for row in rows if row.way == LeaveStep.SAID}
    there = {row.zone_id: row for row in rows if row.catalog_id == entered}
    known = {zone_id for zone_id, row in there.items() if row.way == LeaveStep.ARRIVED}
    going = [each for each in left if each.zone_id not in holding]
    listed_ids = _ids_of_listed([each for each in going if each.catalog_id not in silent])
    past = {(each.zone_id, each.catalog_id) for each in going}
    over = [row for row in there.values() if row.way != LeaveStep.ARRIVED]
    over += [row for row in rows if (row.zone_id, row.catalog_id) in past]
    end(over)
    others = [row.pk for row in rows if row.catalog_id != entered and row not in over]
    if others:
        Leaving.objects.filter(pk__in=others).update(entered=entered, told_at=None)
    again = [row.pk for row in there.values() if row.zone_id in known]
    if again:  # the old catalog keeps their records until the zones arrive
        Leaving.objects.filter(pk__in=again).update(told_at=now)
    Leaving.objects.bulk_create(
        [
            Leaving(zone_id=each.zone_id, catalog_id=each.catalog_id, label=each.label, entered_id=entered)
            for each in going
            if each.zone_id in listed_ids
        ]
    )
    labels = {each.zone_id: holding[each.zone_id].label if each.zone_id in holding else each.label for each in left}
    return {zone_id: label for zone_id, label in labels.items() if zone_id not in known}


def still_named() -> QuerySet[Leaving]:
    """Select the rows of zones that a catalog still lists after they left it, except zones that have returned to it."""
    return Leaving.objects.filter(zone__deleted_at=None, way__in=(LeaveStep.SAID, LeaveStep.ARRIVED)).exclude(
        zone__produced__catalog=F("catalog")
    )


def most_on_their_way(catalog_ids: Collection[int]) -> int:
    """Return the largest number of unfinished moves out of any of these catalogs."""
    counted = Leaving.objects.filter(catalog__in=catalog_ids).order_by().values("catalog").annotate(rows=Count("pk"))
    return max((row["rows"] for row in counted), default=0)


def _ids_of_listed(left: Sequence[Produced]) -> set[int]:
    """Return the ids of the zones that their catalogs currently list.

    Zones that are not listed can leave without a change of ownership. Zones in the trash are omitted, because catalogs
    drop them at the next check.
    """
    if not left:
        return set()
    by_owner = {(each.catalog_id, member_owner(each.catalog.name, each.label)): each for each in left}
    owners = RRset.objects.filter(zone__in={each.catalog_id for each in left}, type=rdtypes.PTR)
    found = owners.filter(name__in=[name for _, name in by_owner]).values_list("zone", "name")
    return {by_owner[key].zone_id for key in found if by_owner[key].zone.deleted_at is None}
