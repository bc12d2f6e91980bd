"""Remove old revisions from the log, in bounded steps. KEEP_DAYS says how long each kind is kept. Verbs.

Revisions of dynamic updates are merged: of consecutive ones in a zone, the last remains, with the changes of all. So
the zone's state at every remaining revision can still be computed. All other revisions are removed from the beginning
of the log. A zone's newest revision always remains, and so do the revisions that a draft needs for its conflicts.

Each step is one transaction, and records in the audit log up to which sequence it removed what. A killed step leaves
nothing behind, and the next one continues: the remaining rows are the only state.
"""

from datetime import datetime

from django.db import transaction

from dnspanel.accounts.audit import audit
from dnspanel.database.sql import fetch_all
from dnspanel.zones.models import Change, Channel, Publication, Revision, RevisionKind
from replication.dns import rdtypes

# The most revisions that a step removes.
REVISIONS_OF_A_STEP = 1_000
HISTORY_PRUNED = "history.prune"

_REMOVABLE = """
SELECT v.id, v.publication_id FROM zones_revision v JOIN zones_zone z ON z.id = v.zone_id
WHERE v.publication_id > %s AND v.publication_id <= %s AND v.number < z.revision
    AND NOT EXISTS (SELECT FROM zones_operation o WHERE o.zone_id = v.zone_id AND o.base_revision < v.number)
ORDER BY v.publication_id LIMIT %s"""
# The old revisions of dynamic updates, each with the zone's next revision, if that is one too.
_DYNAMIC = f"""
WITH old AS (
    SELECT v.id, v.zone_id, v.number, v.publication_id FROM zones_publication p
    JOIN zones_revision v ON v.publication_id = p.sequence
    WHERE p.sequence > %s AND p.sequence <= %s AND p.channel = '{Channel.DYNAMIC_UPDATE}'
        AND v.kind = '{RevisionKind.CHANGE}'
        AND NOT EXISTS (SELECT FROM zones_signingchange s WHERE s.zone_id = v.zone_id AND s.revision_number = v.number)
)
SELECT old.id, old.publication_id, next.id FROM old CROSS JOIN LATERAL (
    SELECT n.* FROM zones_revision n
    WHERE n.zone_id = old.zone_id AND n.number > old.number ORDER BY n.number LIMIT 1
) next JOIN zones_publication p ON p.sequence = next.publication_id
WHERE p.sequence <= %s AND p.channel = '{Channel.DYNAMIC_UPDATE}' AND next.kind = '{RevisionKind.CHANGE}'
    AND NOT EXISTS (
        SELECT FROM zones_signingchange s WHERE s.zone_id = old.zone_id AND s.revision_number = next.number)
    AND NOT EXISTS (
        SELECT FROM zones_operation o WHERE o.zone_id = old.zone_id
            AND o.base_revision >= old.number AND o.base_revision < next.number)
ORDER BY old.publication_id LIMIT %s"""


def sequence_before(at: datetime) -> int:
    """Return the newest sequence that was published before this time, or 0. Sequences grow with the time."""
    low, high = 0, Publication.objects.order_by("-sequence").values_list("sequence", flat=True).first() or 0
    while low < high:
        middle = (low + high + 1) // 2
        found = Publication.objects.filter(sequence__lte=middle).order_by("-sequence").first()
        if found is None or found.at < at:
            low = middle
        else:
            high = found.sequence - 1
    return low


def prune_step(*, after: int, up_to: int, now: datetime) -> int | None:
    """Remove revisions of publications above `after` up to `up_to`. Return the next step's `after`, None at the end."""
    with transaction.atomic(durable=True):
        rows = fetch_all(_REMOVABLE, [after, up_to, REVISIONS_OF_A_STEP])
        if not rows:
            return None
        removed = [row[0] for row in rows]
        Change.objects.filter(revision__in=removed).delete()
        Revision.objects.filter(pk__in=removed).delete()
        audit.record(action=HISTORY_PRUNED, by=None, now=now, up_to=up_to, channel="", revisions=len(rows))
    return int(rows[-1][1]) - 1  # this publication can have more revisions


def merge_step(*, after: int, up_to: int, now: datetime) -> int | None:
    """Merge revisions of dynamic updates above `after` up to `up_to`. Return the place for the next step, as above."""
    with transaction.atomic(durable=True):
        rows = fetch_all(_DYNAMIC, [after, up_to, up_to, REVISIONS_OF_A_STEP])
        if not rows:
            return None
        into: dict[int, int] = {}
        for revision_id, _, following in reversed(rows):
            into[revision_id] = into.get(following, following)
        _merge(into)
        channel = str(Channel.DYNAMIC_UPDATE)
        audit.record(action=HISTORY_PRUNED, by=None, now=now, up_to=up_to, channel=channel, revisions=len(into))
    return int(rows[-1][1]) - 1


def _merge(into: dict[int, int]) -> None:
    """Merge the changes of these revisions into those of their targets, and remove the revisions."""
    rows = Change.objects.filter(revision__in={*into, *into.values()})
    merged: dict[tuple[int, bytes, int], Change] = {}
    for change in rows.order_by("revision__number"):
        target = into.get(change.revision_id, change.revision_id)
        first = merged.setdefault((target, bytes(change.owner_key), change.type), change)
        first.after, first.pk, first.revision_id = change.after, None, target
    kept = [change for change in merged.values() if change.before != change.after]
    Change.objects.filter(revision__in={*into, *into.values()}).delete()
    Change.objects.bulk_create(kept)
    by_revision: dict[int, list[Change]] = {}
    for change in kept:
        if change.type != rdtypes.SOA:
            by_revision.setdefault(change.revision_id, []).append(change)
    targets = list(Revision.objects.filter(pk__in=set(into.values())))
    for revision in targets:
        found = by_revision.get(revision.pk, [])
        revision.added, revision.removed = (sum(c.before is None for c in found), sum(c.after is None for c in found))
        revision.changed = len(found) - revision.added - revision.removed
    Revision.objects.bulk_update(targets, ["added", "changed", "removed"])
    Revision.objects.filter(pk__in=into).delete()
