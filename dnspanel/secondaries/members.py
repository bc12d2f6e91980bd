"""Maintain one row for each zone of each secondary, with pending NOTIFY and progress. Verbs.

`access.zone_to_transfer` checks each transfer when it is requested. The rows are used for NOTIFY and for the catalog's
members, and they show the progress of each zone.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When

from dnspanel.advisory_locks import Lock, lock_until_commit
from dnspanel.database.sql import execute, fetch_all
from dnspanel.secondaries.access import zones_given_to
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.secondaries.secondary_catalog import GROUP_OF_TAGS, catalog_name
from dnspanel.zones.models import LogHead, Revision, RevisionKind, SigningChange, Zone

# The number of zones per second that a secondary is queried for if nothing is published.
PER_SECOND = 20
# If more zones than this become members at once, NOTIFY is sent only for the catalog.
MOST_NOTIFIED = 1_000
# The number of catalog changes that are stored. A secondary that is further behind gets the whole catalog.
MOST_GONE = 5_000
# A zone that moves to another catalog of the same server stays in the old catalog, with `coo`, for this time.
SAYS_WHERE = timedelta(hours=1)
# The zone enters the new catalog when the server has read the `coo`, or after this time. BIND refuses a name that is in
# two of its catalogs, and does not try again.
UNTIL_READ = timedelta(minutes=1)

_NOTE = """
WITH news AS (
    SELECT s.id, r.zone_id, min(p.at) AS at
    FROM secondaries_secondary s
    JOIN zones_revision r ON r.publication_id > s.noted AND r.publication_id <= %(head)s
    JOIN zones_publication p ON p.sequence = r.publication_id
    WHERE s.active AND s.noted < %(head)s
    GROUP BY s.id, r.zone_id
)
UPDATE secondaries_member m SET notify_at = %(now)s, attempts = 0, question_at = %(now)s,
    behind_since = COALESCE(m.behind_since, news.at)
FROM news JOIN zones_zone z ON z.id = news.zone_id
WHERE m.secondary_id = news.id AND m.zone_id = news.zone_id AND m.until IS NULL AND m.coo = ''
    AND m.transferred_serial IS DISTINCT FROM z.serial
"""

_INSERT = """
INSERT INTO secondaries_member (secondary_id, zone_id, zone_name, label, since, notify_at, behind_since, question_at,
    attempts, notify_error, transferred_how, transferred_bytes, transferred_over_tls, refused_reason, question_error)
SELECT %s, z.id, z.name, COALESCE((
        SELECT m.label FROM secondaries_member m
        WHERE m.zone_id = z.id AND m.coo = %s AND m.until IS NULL AND NOT EXISTS (
            SELECT FROM secondaries_member own WHERE own.secondary_id = %s AND own.label = m.label)
        LIMIT 1), replace(gen_random_uuid()::text, '-', '')), %s,
    CASE WHEN count(*) OVER () <= %s THEN %s::timestamptz END, %s,
    %s + make_interval(secs => (row_number() OVER ())::float / %s - 1),
    0, '', '', 0, FALSE, '', ''
FROM ({zones}) z (id, name)
"""

_REGROUP = f"""
UPDATE secondaries_member m SET catalog_group = found.tag
FROM (
    SELECT m.id, {GROUP_OF_TAGS.format(groups="s.group_tags", tags="z.tags")} AS tag
    FROM secondaries_member m
    JOIN secondaries_secondary s ON s.id = m.secondary_id
    JOIN zones_zone z ON z.id = m.zone_id
    WHERE m.secondary_id = %s AND m.until IS NULL
) found
WHERE found.id = m.id AND m.catalog_group <> found.tag
RETURNING m.since"""


def head() -> int:
    """Return the newest sequence of the log."""
    return LogHead.objects.values_list("sequence", flat=True).get()


def lock_members() -> None:
    """Lock all members until the end of the transaction, so that processes that change members can't deadlock."""
    lock_until_commit(Lock.SECONDARY, 0)


def note_publications(*, now: datetime) -> int:
    """Queue NOTIFY for members whose zones were published since the last run. Return the number of members.

    A member counts once, even if its zone has several publications. It is omitted if the secondary already has the
    zone's serial. If zones were created or deleted, or their signing changed, members are added and removed. All this
    happens in one transaction. If no secondary is active, do nothing.
    """
    with transaction.atomic():
        if not Secondary.objects.filter(active=True).exists():
            return 0
        lock_members()
        ids = list(Secondary.objects.filter(active=True).order_by("pk").values_list("pk", "noted"))
        newest = head()
        oldest = min((noted for _, noted in ids), default=newest)
        if oldest >= newest:
            return 0
        if _moves_members(oldest, newest):
            for pk, _ in ids:
                follow(secondary_id=pk, now=now)
        count = execute(_NOTE, {"head": newest, "now": now})
        Secondary.objects.filter(active=True, noted__lt=newest).update(noted=newest)
        return count


def follow(*, secondary_id: int, now: datetime) -> bool:
    """Update the secondary's members to the zones that it can transfer. Return True if the catalog's serial changed.

    A zone that becomes a member again gets a new label, which makes consumers of the catalog reset the zone. A zone
    that moves to another catalog of the same server keeps its label there. The old catalog names the new catalog
    (`coo`, RFC 9432, section 4.3.1), and the server keeps the zone's data. The zone enters the new catalog once the
    server has read the `coo`.

    Knot DNS doesn't support `coo`. It ignores the zone in the new catalog, and deletes the zone when the old catalog no
    longer lists it. Knot DNS then gets the whole new catalog, including the zone.
    """
    with transaction.atomic():
        lock_members()
        locked = _at_same_server(secondary_id)
        secondary = locked.pop(secondary_id, None)
        if secondary is None:
            return False
        others = list(locked.values())
        for other in others:
            if _say_moves(other, [secondary], now):
                _move(other, _next_serial(other), now, floor=True)
        given = zones_given_to(secondary)
        present = Member.objects.filter(secondary=secondary, until=None)
        serial = _next_serial(secondary)
        moved = _say_moves(secondary, others, now)
        moved += present.filter(zone__in=given).exclude(coo="").update(coo="", coo_since=None, question_at=now)
        is_over = Q(coo="") | Q(coo_since__lte=now - SAYS_WHERE)
        gone = present.filter(is_over, Q(zone=None) | ~Q(zone__in=given)).update(
            until=serial,
            notify_at=None,
            question_at=None,
            behind_since=None,
            coo_since=Case(When(~Q(coo=""), then=Value(now))),
        )
        new = given.exclude(pk__in=present.filter(zone__isnull=False).values("zone"))
        new = new.exclude(pk__in=_on_their_way(secondary, now)).order_by()
        come = _insert(secondary, new, serial, now)
        regrouped = _regroup(secondary, serial)
        anew = _given_anew(secondary, now)
        if not gone and not come and not regrouped and not moved and not anew:
            return False
        # The former group or target of a member is not stored, so consumers of the catalog get the whole zone.
        _move(secondary, serial, now, floor=bool(regrouped or moved or anew))
        _forget_old(secondary_id)
        return True


def _at_same_server(secondary_id: int) -> dict[int, Secondary]:
    """Lock and return the secondary and the active secondaries that share an address with it, in order of id."""
    addresses = Secondary.objects.filter(pk=secondary_id).values_list("addresses", flat=True).first()
    alike = Q(pk=secondary_id) | Q(active=True, addresses__overlap=addresses or [])
    return {each.pk: each for each in Secondary.objects.select_for_update().filter(alike).order_by("pk")}


def _say_moves(secondary: Secondary, others: Iterable[Secondary], now: datetime) -> int:
    """Set `coo` for members that move to another secondary's catalog. Return the number of members."""
    if not secondary.active:
        return 0
    given, count = zones_given_to(secondary), 0
    for other in others:
        leaving = Member.objects.filter(secondary=secondary, until=None, coo="").exclude(zone__in=given)
        count += leaving.filter(zone__in=zones_given_to(other)).update(
            coo=catalog_name(other), coo_since=now, notify_at=None, question_at=None, behind_since=None
        )
    return count


def _on_their_way(secondary: Secondary, now: datetime) -> QuerySet[Member, Any]:
    """Return the ids of zones that are moving to this secondary's catalog and whose `coo` hasn't been read yet."""
    leaving = Member.objects.filter(coo=catalog_name(secondary), until=None, zone__isnull=False)
    return leaving.exclude(_is_read(now)).values("zone")


def _given_anew(secondary: Secondary, now: datetime) -> int:
    """Complete moves from other catalogs to this one if the server has read the `coo`. Return the number of members."""
    left = Member.objects.filter(coo=catalog_name(secondary), until__isnull=False, coo_since__isnull=False)
    return Member.objects.filter(pk__in=left.filter(_is_read(now)).values("pk")).update(coo_since=None)


def _is_read(now: datetime) -> Q:
    """Return the condition for members in a catalog that the server has read, or has had enough time to read."""
    return Q(secondary__catalog_fetched=F("secondary__catalog_serial")) | Q(coo_since__lte=now - UNTIL_READ)


def _next_serial(secondary: Secondary) -> int:
    return secondary.catalog_serial % (2**32 - 1) + 1


def _move(secondary: Secondary, serial: int, now: datetime, *, floor: bool) -> None:
    """Set the catalog's serial and queue NOTIFY for the catalog. With `floor`, drop the history before the serial."""
    moved: dict[str, Any] = {"catalog_serial": serial, "catalog_notify_at": now, "catalog_attempts": 0}
    if floor:
        moved["catalog_floor"] = serial
    Secondary.objects.filter(pk=secondary.pk).update(**moved)


def _insert(secondary: Secondary, zones: QuerySet[Zone], serial: int, now: datetime) -> int:
    """Make these zones members from this serial on, with one SQL statement. Return their number.

    If there are more than MOST_NOTIFIED zones, NOTIFY is queued only for the catalog. The zones' serials are queried
    gradually. A zone that moves from another catalog keeps its label, unless this secondary has already used the label.
    """
    try:
        sql, parameters = zones.values_list("pk", "name").query.sql_with_params()
    except EmptyResultSet:  # Django detects that the result is always empty
        return 0
    return execute(
        _INSERT.format(zones=sql),
        [
            *(secondary.pk, catalog_name(secondary), secondary.pk, serial, MOST_NOTIFIED, now, now, now),
            *(PER_SECOND, *parameters),
        ],
    )


def _regroup(secondary: Secondary, serial: int) -> bool:
    """Assign each member to a catalog group by its zone's tags. Return True if a member older than `serial` changed."""
    present = Member.objects.filter(secondary=secondary, until=None)
    if not secondary.group_tags and not present.exclude(catalog_group="").exists():
        return False
    return any(since != serial for (since,) in fetch_all(_REGROUP, [secondary.pk]))


def notify_all(*, secondary_id: int, now: datetime) -> None:
    """Queue NOTIFY for every zone of the secondary and for the catalog. This covers all publications up to now."""
    present = Member.objects.filter(secondary=secondary_id, until=None, coo="")
    present.update(notify_at=now, attempts=0, question_at=now)
    Secondary.objects.filter(pk=secondary_id).update(catalog_notify_at=now, catalog_attempts=0, noted=head())


def _moves_members(after: int, up_to: int) -> bool:
    """Return True if a publication after `after`, up to and including `up_to`, can change catalog members.

    It can if it changed a zone's signing, or did more than change records, such as create or delete a zone.
    """
    revisions = Revision.objects.filter(publication__gt=after, publication__lte=up_to)
    if revisions.exclude(kind=RevisionKind.CHANGE).exists():
        return True
    signing = SigningChange.objects.filter(zone=OuterRef("zone"), revision_number=OuterRef("number"))
    return revisions.filter(Exists(signing)).exists()


def _forget_old(secondary_id: int) -> None:
    """Delete all but the MOST_GONE most recent former members. The catalog's IXFR then starts after the others."""
    gone = Member.objects.filter(secondary=secondary_id, until__isnull=False).order_by("-until", "-pk")
    past = gone.values_list("until", flat=True)[MOST_GONE : MOST_GONE + 1]
    for until in past:
        Member.objects.filter(secondary=secondary_id, until__lte=until).delete()
        Secondary.objects.filter(pk=secondary_id).update(catalog_floor=until)
