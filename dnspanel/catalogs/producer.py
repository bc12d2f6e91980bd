"""Create producer catalogs (RFC 9432), zones of the panel that list their member zones, and move members. Verbs.

No node serves a producer catalog, and no person edits it: the panel updates it when its members change. Transfers of a
catalog are allowed as for any zone: with a TSIG key, from a network, or to a secondary that lists the zone by name. The
members have their own transfer settings. A zone in the trash is in no catalog. If a zone is restored or added again, it
gets another label, and consumers start from scratch. A zone that moves to another catalog keeps its label.

Locks are taken in this order: zones, their `Produced`, their `Leaving`, then `Producer`, each in the order of their
ids.
"""

import logging
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from dnspanel.accounts.actors.actors import Actor, Author, Right, SystemRight
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team, User
from dnspanel.catalogs import ownership_change
from dnspanel.catalogs.errors import CatalogRefused, CatalogUnknown
from dnspanel.catalogs.models import Produced, Producer
from dnspanel.catalogs.signals import produced
from dnspanel.database.first_rows import first_or
from dnspanel.database.sql import fetch_all
from dnspanel.field_faults import not_found
from dnspanel.secondaries.secondary_catalog import (
    GROUP_OF_TAGS,
    NOWHERE,
    TTL,
    VERSION,
    catalog_soa,
    member_owner,
    member_rrsets,
)
from dnspanel.secondaries.set_up_secondaries import checked_group_tags
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import RightMissing, SettingsRefused, ZoneError
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import bulk, edit
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import canonical_tags
from dnspanel.zones.values.soa import first_serial
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset, make
from replication.errors import BadName

logger = logging.getLogger(__name__)

MOST = 50
MOST_MEMBERS = 10_000
# The largest number of members that one publication of a catalog changes.
AT_ONCE = 2_000
# The largest number of names in an audit entry about several members, and of errors for a field.
FIRST_NAMES = 10
_ENOUGH = MOST_MEMBERS + 1
# Rows that no verb wrote (in a restored database, for example) are found after this time.
COMPARED_EVERY = timedelta(hours=1)

_ON_ITS_WAY = "EXISTS (SELECT FROM catalogs_leaving w WHERE w.zone_id = p.zone_id AND w.way = 0)"
# A row for each label whose records in the catalog differ from the wanted records.
_DIFFERING = f"""
WITH expected AS (
    SELECT p.label COLLATE "C" AS label, z.name AS member,
        {GROUP_OF_TAGS.format(groups="c.group_tags", tags="z.tags")} AS tag, '' AS coo, p.ttl AS ttl
    FROM catalogs_producer c JOIN catalogs_produced p ON p.catalog_id = c.zone_id JOIN zones_zone z ON z.id = p.zone_id
    WHERE c.zone_id = %(catalog)s AND z.deleted_at IS NULL AND NOT {_ON_ITS_WAY}
    UNION ALL
    SELECT l.label COLLATE "C", z.name, {GROUP_OF_TAGS.format(groups="c.group_tags", tags="z.tags")}, other.name, 0
    FROM catalogs_producer c JOIN catalogs_leaving l ON l.catalog_id = c.zone_id
    JOIN zones_zone z ON z.id = l.zone_id
    JOIN catalogs_produced p ON p.zone_id = z.id JOIN zones_zone other ON other.id = l.entered_id
    WHERE c.zone_id = %(catalog)s AND z.deleted_at IS NULL AND l.way < 2
        AND (p.catalog_id <> c.zone_id OR {_ON_ITS_WAY})
), told AS (
    SELECT split_part(name, '.', CASE WHEN split_part(name, '.', 1) IN ('coo', 'group') THEN 2 ELSE 1 END)
            COLLATE "C" AS label,
        max(rdata[1]) FILTER (WHERE type = %(ptr)s AND name NOT LIKE 'coo.%%') AS member,
        COALESCE(max(trim('"' FROM rdata[1])) FILTER (WHERE type = %(txt)s), '') AS tag,
        COALESCE(max(rdata[1]) FILTER (WHERE type = %(ptr)s AND name LIKE 'coo.%%'), '') AS coo,
        max(ttl) FILTER (WHERE type = %(ptr)s AND name NOT LIKE 'coo.%%') AS ttl
    FROM zones_rrset WHERE zone_id = %(catalog)s AND (type = %(ptr)s OR type = %(txt)s AND name LIKE 'group.%%')
    GROUP BY 1
)
SELECT label, expected.member, expected.tag, expected.coo, expected.ttl FROM expected FULL JOIN told USING (label)
WHERE (expected.member, expected.tag, expected.coo, expected.ttl)
    IS DISTINCT FROM (told.member, told.tag, told.coo, told.ttl)
ORDER BY label LIMIT %(most)s"""


NO_APEX = edit.Apex()  # with the panel's default SOA and NS


@dataclass(frozen=True, slots=True)
class Chosen:
    """The zones to add to a catalog: by name, by tag or by team.

    A tag or a team only selects zones whose settings the author is allowed to change.
    """

    zones: Collection[str] = ()
    tag: str = ""
    team: int | None = None


def create_producer(
    *,
    zone: edit.NewZone,
    acting: Acting,
    apex: edit.Apex = NO_APEX,
    in_transaction: Callable[[], None] = lambda: None,
    team: Team | None = None,
    group_tags: Collection[str] = (),
) -> Publication:
    """Create a catalog without members. `zone` can only have SOA and NS records at its apex.

    If no NS is given, the zone gets an NS with an unusable name. Raise the errors of `edit.create_zone`, and
    CatalogRefused for other RRsets, invalid tags, or too many catalogs.
    """
    groups, rrsets = _checked_groups(group_tags), zone.rrsets or ()
    name = names.parse(zone.name)
    if any(rrset.name != name or rrset.type not in {rdtypes.SOA, rdtypes.NS} for rrset in rrsets):
        reason = gettext(
            "You can only enter SOA and NS records for a catalog. The panel generates all other records from "
            "its members."
        )
        raise CatalogRefused({"rrsets": [reason]})
    if _producers().count() >= MOST:
        raise CatalogRefused({"name": [gettext("The panel can have at most {most} catalogs.").format(most=MOST)]})
    has_ns = apex.nameservers or any(rrset.type == rdtypes.NS for rrset in rrsets)

    def begin() -> None:
        made = Zone.objects.get(name=name, deleted_at=None)
        Zone.objects.filter(pk=made.pk).update(is_catalog=True)
        Producer.objects.create(zone=made, group_tags=groups)
        in_transaction()
        audit.record(action="catalog.produce", by=acting.author, now=acting.now, target=name, group_tags=groups)

    return edit.create_zone(
        zone=edit.NewZone(zone.name, [*rrsets, make(f"version.{name}", rdtypes.TXT, TTL, [f'"{VERSION}"'])]),
        apex=apex if has_ns else replace(apex, nameservers=[NOWHERE]),
        acting=acting,
        in_transaction=begin,
        awaits_transfer=True,
        team=team,
    )


def create_catalog(*, name: str, acting: Acting, team: Team | None = None, group_tags: Collection[str] = ()) -> Zone:
    """Create an empty producer catalog with this name. Its SOA makes consumers check for changes often.

    If a form is sent twice, only one catalog is created. Raise the errors of `create_producer`.
    """
    zone_name = names.parse(name)
    create_producer(
        zone=edit.NewZone(zone_name, [catalog_soa(zone_name, first_serial(acting.now).value)]),
        acting=acting,
        team=team,
        group_tags=group_tags,
    )
    return Zone.objects.get(name=zone_name, deleted_at=None)


def put_into(*, zone: Zone, catalog_name: str, author: Author, now: datetime) -> None:
    """Move the zone to the named producer catalog. If no catalog has this name, remove the zone from its catalog.

    A zone is in one catalog at most. The catalog zone changes soon after. The caller checks the right to change the
    zone. Raise RightMissing if the author is not allowed to change a catalog that the zone enters or leaves. Raise
    CatalogRefused if the zone is a catalog, the catalog is full, or too many zones already leave the old catalog.
    """
    catalog = _producers().filter(zone__name=catalog_name).first() if catalog_name else None
    if catalog is not None or Produced.objects.filter(zone=zone).exists():
        _move([zone.pk], catalog, author=author, now=now)


def take_in(*, catalog: Zone, zone_ids: Collection[int], author: Author, now: datetime) -> int:
    """Move the zones to the producer catalog. Return the number of zones that moved. Raise the errors of `put_into`."""
    return len(_move(zone_ids, Producer.objects.get(zone=catalog), author=author, now=now))


def put_in(*, catalog: Zone, chosen: Chosen, author: Actor | User, now: datetime) -> int:
    """Move the chosen zones to the producer catalog. Return the number of zones that moved.

    Raise the errors of `put_into`. Also raise CatalogRefused, with the fields of `Chosen`, for an invalid choice or a
    named zone whose settings the author is not allowed to change.
    """
    return take_in(catalog=catalog, zone_ids=_chosen_ids(chosen, author), author=author, now=now)


def take_out(*, catalog: Zone, zones: Collection[str], author: Actor | User, now: datetime) -> int:
    """Remove the zones with these names from the producer catalog, and return their number.

    Raise RightMissing as `put_into` does. Raise CatalogRefused if a name is invalid or not in the catalog, or if the
    author is not allowed to change the zone's settings.
    """
    faults: dict[str, list[str]] = {}
    named = _canonical(zones, faults)
    inside = Produced.objects.filter(catalog=catalog, zone__name__in=named)
    seen = dict(inside.filter(zone__in=access.zones_within_reach(author, Right.READ)).values_list("zone__name", "zone"))
    missing = [gettext("{name} is not in this catalog.").format(name=name) for name in sorted(named - seen.keys())]
    _refuse(faults, "zones", [*missing, *_without_right(author, seen)])
    return len(_move(list(seen.values()), None, out_of=catalog.pk, author=author, now=now))


def set_groups(*, catalog: Zone, group_tags: Collection[str], author: Author, now: datetime) -> list[str]:
    """Set the tags that define the groups of this producer catalog, and return the canonical tags.

    A member is in the group of its first matching tag. Raise RightMissing if the author is not allowed to change the
    catalog's settings. Raise CatalogUnknown if the catalog is deleted, and CatalogRefused for invalid tags.
    """
    checked = _checked_groups(group_tags)
    with transaction.atomic():
        stored = first_or(_lock_catalogs([catalog.pk]).filter(zone__deleted_at=None), CatalogUnknown)
        access.require_right(author, stored.zone, Right.SETTINGS)
        before = stored.group_tags
        if before != checked:
            Producer.objects.filter(pk=stored.pk).update(group_tags=checked, moves=F("moves") + 1)
            audit.record(
                action="catalog.groups", by=author, now=now, target=stored.zone.name, before=before, after=checked
            )
            transaction.on_commit(lambda: produced.send_robust(sender=Produced), robust=True)
    return checked


def follow_members(*, now: datetime) -> int:
    """Advance moves, and update the producer catalogs that are due. Return the number of changed catalogs.

    At most AT_ONCE members of each catalog change per call. A catalog is due after its members change, and at least
    once every COMPARED_EVERY. If a catalog can't be published now, it stays due.
    """
    ownership_change.take_steps(now=now)
    changed = 0
    due = Q(moves__gt=F("followed")) | Q(compared_at=None) | Q(compared_at__lte=now - COMPARED_EVERY)
    for catalog in _producers().filter(due).order_by("pk"):
        try:
            changed += _follow(catalog, now)
        except ZoneError as exc:  # for example, a hold or a quota; the catalog is updated when it ends
            logger.warning("the catalog %s does not follow its members: %s", catalog.zone.name, exc)
    return changed


def _producers() -> QuerySet[Producer]:
    """Return the producer catalogs that are not in the trash."""
    return Producer.objects.filter(zone__deleted_at=None).select_related("zone")


def _move(
    zone_ids: Collection[int], catalog: Producer | None, *, out_of: int | None = None, author: Author, now: datetime
) -> list[Zone]:
    """Move these zones to this catalog, or out of any catalog if `catalog` is None. Return the zones that moved.

    With `out_of`, move only zones that are in that catalog. A zone's old catalog names the new one for a limited time.
    Each catalog zone changes soon after. The number of statements does not depend on the number of zones.
    """
    with transaction.atomic():
        locked = Zone.objects.select_for_update(no_key=True).filter(pk__in=zone_ids).order_by("pk")
        zones = {zone.pk: zone for zone in locked}
        rows = Produced.objects.select_for_update(of=("self",)).filter(zone__in=list(zones)).order_by("pk")
        before = {row.pk: row for row in rows.select_related("zone", "catalog")}
        catalogs = {pk: row.catalog_id for pk, row in before.items()}
        entered = None if catalog is None else catalog.pk
        moving = [zone for pk, zone in zones.items() if catalogs.get(pk) != entered]
        moving = [zone for zone in moving if out_of is None or catalogs[zone.pk] == out_of]
        if not moving:
            return []
        left = [before[zone.pk] for zone in moving if zone.pk in before]
        on_their_way = ownership_change.locked_of(moving) if left else []
        ids = {entered, *(row.catalog_id for row in left)} - {None}
        touched = {each.pk: each for each in _lock_catalogs({*ids, *(row.catalog_id for row in on_their_way)})}
        catalog_names = {pk: each.zone.name for pk, each in touched.items() if pk in ids}
        for pk in catalog_names:
            access.require_right(author, touched[pk].zone, Right.SETTINGS)
        labels: dict[int, str] = {}
        if catalog is None:
            ownership_change.end(on_their_way)
        else:
            _refuse_members(moving, catalog, left)
            silent = [pk for pk, each in touched.items() if each.zone.deleted_at is not None]
            labels = ownership_change.send(left=left, rows=on_their_way, silent=silent, entered=catalog.pk, now=now)
        Produced.objects.filter(zone__in=moving).delete()
        if catalog is not None:
            Produced.objects.bulk_create(
                [
                    Produced(zone=zone, catalog_id=catalog.pk, label=labels.get(zone.pk) or uuid.uuid4().hex)
                    for zone in moving
                ]
            )
        Producer.objects.filter(pk__in=list(touched)).update(moves=F("moves") + 1)
        _record(moving, catalogs, entered, catalog_names, author, now)
        transaction.on_commit(lambda: produced.send_robust(sender=Produced), robust=True)
        return moving


def _lock_catalogs(ids: Collection[int | None]) -> QuerySet[Producer]:
    """Select and lock these catalogs, which keeps other transactions from moving their members."""
    found = Producer.objects.select_for_update(of=("self",)).select_related("zone")
    return found.filter(pk__in=ids).order_by("pk")


def _record(
    moving: Sequence[Zone],
    before: dict[int, int],
    entered: int | None,
    catalog_names: dict[int, str],
    author: Author,
    now: datetime,
) -> None:
    """Record moves in the audit log: one entry for a single zone, or else one per catalog with the first names."""
    if len(moving) == 1:
        left = before.get(moving[0].pk)
        audit.record(
            action="catalog.member",
            by=author,
            now=now,
            target=moving[0].name,
            before=catalog_names[left] if left else "",
            after=catalog_names[entered] if entered else "",
        )
        return
    for pk, name in catalog_names.items():
        of_catalog = sorted(zone.name for zone in moving if pk in (entered, before.get(zone.pk)))
        audit.record(
            action="catalog.members",
            by=author,
            now=now,
            target=name,
            how="put in" if pk == entered else "taken out",
            zones=len(of_catalog),
            first=of_catalog[:FIRST_NAMES],
        )


def _follow(catalog: Producer, now: datetime) -> bool:
    zone = catalog.zone
    values = {"catalog": zone.pk, "ptr": rdtypes.PTR, "txt": rdtypes.TXT, "most": AT_ONCE + 1}
    differing = fetch_all(_DIFFERING, values)
    changes: dict[tuple[str, int], RRset | None] = {}
    for label, *of_member in differing[:AT_ONCE]:  # the records of one member (zone, group, `coo`) follow each other
        owner = member_owner(zone.name, label)
        changes[owner, rdtypes.PTR] = changes[f"group.{owner}", rdtypes.TXT] = changes[f"coo.{owner}", rdtypes.PTR] = (
            None
        )
        if of_member[0] is not None:
            changes |= {(rrset.name, rrset.type): rrset for rrset in member_rrsets(zone.name, label, *of_member)}
    publication = None
    if changes:
        publication, left = bulk.change_zones(
            changes=[bulk.ZoneChange(zone.pk, zone.revision, changes)],
            acting=Acting(None, Channel.SYSTEM, now, panel_reasons.CATALOG_MEMBERS),
            under=SystemRight.MEMBERS,
        )
        if left:
            return False
    if len(differing) <= AT_ONCE:
        Producer.objects.filter(pk=zone.pk).update(followed=catalog.moves, compared_at=now)
    return publication is not None


def _chosen_ids(chosen: Chosen, author: Actor | User) -> list[int]:
    """Return the ids of the chosen zones. Raise CatalogRefused, with all invalid fields, if the choice is invalid."""
    faults: dict[str, list[str]] = {}
    named = _canonical(chosen.zones, faults)
    if not chosen.zones and not chosen.tag and chosen.team is None:
        _add(faults, "zones", [gettext("Enter zones, a tag or a team.")])
    seen = dict(access.zones_visible_to(author).filter(name__in=named).values_list("name", "pk"))
    missing = [not_found(gettext("Zone not found: {name}").format(name=name)) for name in sorted(named - seen.keys())]
    _add(faults, "zones", [*missing, *_without_right(author, seen)])
    found = set(seen.values())
    mine = access.zones_within_reach(author, Right.SETTINGS).filter(deleted_at=None, is_catalog=False)
    if chosen.tag:
        try:
            found |= set(
                mine.filter(access.has_any_tag(canonical_tags([chosen.tag]))).values_list("pk", flat=True)[:_ENOUGH]
            )
        except SettingsRefused as exc:
            _add(faults, "tag", [str(exc)])
    if chosen.team is not None:
        found |= set(mine.filter(team=chosen.team).values_list("pk", flat=True)[:_ENOUGH])
    _refuse(faults)
    return sorted(found)


def _canonical(texts: Collection[str], faults: dict[str, list[str]]) -> set[str]:
    """Return the canonical names of these zones. Add a fault for each invalid name, or one if there are too many."""
    if len(texts) > MOST_MEMBERS:
        _add(faults, "zones", [gettext("Enter at most {most:,} zones at once.").format(most=MOST_MEMBERS)])
        return set()
    found = set()
    for text in texts:
        try:
            found.add(names.parse(text))
        except BadName as exc:
            _add(faults, "zones", [str(exc)])
    return found


def _without_right(author: Actor | User, zones: dict[str, int]) -> list[str]:
    """Return a message for each of these zones (name → id) whose settings the author is not allowed to change."""
    mine = set(
        access.zones_within_reach(author, Right.SETTINGS).filter(pk__in=zones.values()).values_list("pk", flat=True)
    )
    return [str(RightMissing(Right.SETTINGS, name)) for name, pk in sorted(zones.items()) if pk not in mine]


def _add(faults: dict[str, list[str]], field: str, messages: Sequence[str]) -> None:
    """Add messages to a field's faults, up to FIRST_NAMES in total."""
    if messages:
        there = faults.setdefault(field, [])
        there += messages[: max(0, FIRST_NAMES - len(there))]


def _refuse(faults: dict[str, list[str]], field: str = "", messages: Sequence[str] = ()) -> None:
    _add(faults, field, messages)
    if faults:
        raise CatalogRefused(faults)


def _checked_groups(group_tags: Collection[str]) -> list[str]:
    faults: dict[str, list[str]] = {}
    checked = checked_group_tags(group_tags, faults)
    _refuse(faults)
    return checked


def _refuse_members(zones: Sequence[Zone], catalog: Producer, left: Sequence[Produced]) -> None:
    if any(zone.is_catalog for zone in zones):
        raise CatalogRefused({"zones": [gettext("A catalog can’t be a member of another catalog.")]})
    if Produced.objects.filter(catalog=catalog.pk).count() + len(zones) > MOST_MEMBERS:
        reason = gettext("A catalog can have at most {most:,} members.").format(most=MOST_MEMBERS)
        raise CatalogRefused({"zones": [reason]})
    if left and ownership_change.most_on_their_way({each.catalog_id for each in left}) + len(left) > MOST_MEMBERS:
        reason = gettext("At most {most:,} zones per hour can move from one catalog to another.")
        raise CatalogRefused({"zones": [reason.format(most=MOST_MEMBERS)]})
