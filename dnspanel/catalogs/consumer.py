"""Create, change and remove the member zones of consumer catalogs (RFC 9432), turn by turn. Verbs.

The panel itself is the author of the changes. A turn makes a limited number of changes; the next turn continues. If the
catalog is faulty, a turn changes nothing. If a member is faulty, only that member is affected.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.catalogs.member_plan import Known, Plan, plan_members
from dnspanel.catalogs.member_terms import columns_of, give_terms, own_tags, team_of
from dnspanel.catalogs.models import Catalog, Listing, Rule, State
from dnspanel.catalogs.turn import BATCH, Turn
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.texts import gettext, in_english, shortened
from dnspanel.transfer.sources.catalog_members import BadCatalog, Member, Record, members
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import HookRefused, NameRefused, NamesRefused, ZoneError
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, Publication, RRset, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.publishing import bulk, edit
from replication.dns import names, rdtypes

# An unchanged catalog is checked again after this time, because a name can become free or a rule can change.
LOOK_AGAIN = timedelta(minutes=10)

logger = logging.getLogger(__name__)


def catalogs_due(now: datetime) -> list[int]:
    """Return the ids of transferred catalogs that changed since their last turn, or that are due for a check."""
    changed = ~Q(followed=F("zone__revision"))
    found = Catalog.objects.filter(
        changed | Q(due_at__lte=now), zone__deleted_at=None, zone__transferred__serial__gte=0
    )
    return list(found.order_by("pk").values_list("pk", flat=True))


def take_turn(*, catalog_id: int, now: datetime) -> bool:
    """Make the next changes that bring the members in line with the catalog. Return True if work is left.

    It is harmless if this function runs twice or late.

    1. If the catalog is broken, change nothing and store the reason, which raises an alert.
    2. Remove members that left. If too many left at once, keep them until a person confirms the removal.
    3. Store changed labels and groups. If a member has another label, transfer its zone again from scratch.
    4. Create the zones that the catalog lists, or move them here from a catalog that allows it. Store the reason for
       each refused zone, for example because another zone with the name already exists.
    5. Set each member's primaries, team and tags as the rule of its group defines.
    """
    catalog = Catalog.objects.select_related("zone", "zone__transferred", "team").filter(pk=catalog_id).first()
    if catalog is None or catalog.zone.deleted_at is not None or catalog.zone.transferred.serial is None:
        return False
    revision = catalog.zone.revision
    try:
        listed = {member.zone: member for member in _members(catalog.zone)}
    except BadCatalog as exc:
        _note_broken(catalog, str(exc), now)
        return False
    rules = {rule.pk: rule for rule in catalog.rules.select_related("team").order_by("pk")}
    turn = Turn(catalog, listed, rules, now)
    plan = plan_members(
        listed,
        _known_members(catalog),
        most_lost=catalog.most_lost,
        is_confirmed=catalog.confirmed_revision == revision,
    )
    Listing.objects.filter(catalog=catalog, zone_name__in=plan.forget).delete()
    if not plan.keeps:
        _remove(turn, plan.leave)
    _reset(turn, plan)
    _take(turn, plan.come)
    give_terms(turn)
    _note_turn(turn, plan, revision)
    return turn.left


def _members(zone: Zone) -> list[Member]:
    """Return the members that the catalog zone lists. Raise BadCatalog if the zone is not a valid catalog."""
    types = (rdtypes.PTR, rdtypes.TXT)
    rows = RRset.objects.filter(zone=zone, type__in=types).values_list("name", "type", "rdata")
    records = (Record(name, type, text) for name, type, rdata in rows.iterator(2_000) for text in rdata)
    return members(zone.name, records)


def _known_members(catalog: Catalog) -> dict[str, Known]:
    rows = Listing.objects.filter(catalog=catalog).values_list(
        "zone_name", "label", "groups", "coo", "state", "zone__deleted_at", "zone"
    )
    return {
        name: Known(label, tuple(groups), coo, state == State.MEMBER and zone_id is not None and deleted_at is None)
        for name, label, groups, coo, state, deleted_at, zone_id in rows.iterator(2_000)
    }


def _remove(turn: Turn, leaving: Collection[str]) -> None:
    """Delete zones that left the catalog, at most BATCH. If a zone is now edited here, only end its membership.

    A zone that can't be deleted, for example because of a freeze or a lock, stays a member, and the reason is stored.
    """
    here = Listing.objects.filter(catalog=turn.catalog, zone_name__in=leaving, state=State.MEMBER)
    here.filter(zone__transferred_from="").delete()
    rows = list(here.select_related("zone").order_by("zone_name")[: BATCH + 1])
    zones = [(row.zone.pk, row.zone.revision) for row in rows[:BATCH] if row.zone is not None]
    if not zones:
        return

    def in_transaction(publication: Publication) -> None:
        gone = publication.revisions.values_list("zone_id", flat=True)
        Listing.objects.filter(catalog=turn.catalog, zone__in=list(gone)).delete()

    reason = panel_reasons.NOT_NAMED.format(catalog=turn.name)
    _, kept = bulk.delete_zones(
        zones=zones,
        acting=Acting(None, Channel.TRANSFER, turn.now, reason),
        in_transaction=in_transaction,
        confirmed=True,
        under=SystemRight.CATALOG,
    )
    turn.removed += len(zones) - len(kept)
    turn.left |= len(rows) > BATCH and len(kept) < len(zones)  # kept zones wait until the next check of the catalog
    if kept:
        said = gettext(
            "The zone left the catalog but can’t be deleted because of a rule, a freeze, a lock or a change "
            "in progress."
        )
        Listing.objects.filter(catalog=turn.catalog, zone__in=kept).update(reason=said)


def _reset(turn: Turn, plan: Plan) -> None:
    """Store changed labels, groups and `coo` of at most BATCH members. With another label, transfer from scratch."""
    changed = [*dict.fromkeys([*plan.reset, *plan.retold])]
    anew = set(plan.reset)
    turn.left |= len(changed) > BATCH
    rows = list(Listing.objects.filter(catalog=turn.catalog, zone_name__in=changed[:BATCH]))
    with transaction.atomic():
        for row in rows:
            _set(row, _naming(turn.listed[row.zone_name]))
        Listing.objects.bulk_update(rows, ["label", "groups", "coo"])
        _begin_anew([row.zone_id for row in rows if row.zone_name in anew], turn.now)
    turn.reset += sum(row.zone_name in anew for row in rows)


def _naming(member: Member) -> dict[str, Any]:
    """Return the columns for a member's label, groups and `coo`, as listed in its catalog."""
    return {"label": member.label, "groups": list(member.groups), "coo": member.coo}


def _set(row: Listing, columns: Mapping[str, Any]) -> None:
    for name, value in columns.items():
        setattr(row, name, value)


def _begin_anew(zone_ids: Collection[int | None], now: datetime) -> None:
    """Mark these zones for a full transfer, regardless of their serials, as if they were new."""
    found = TransferredZone.objects.filter(pk__in=[pk for pk in zone_ids if pk is not None])
    if found.exclude(zone__transferred_from="").update(serial=None, revision=None, wants_all=True, due_at=now):
        primaries.wake_on_commit()


def _take(turn: Turn, coming: Sequence[str]) -> None:
    """Create at most BATCH of the missing zones, or move zones from other catalogs. Store the reasons of refusals."""
    refused: dict[str, tuple[State, str]] = {}
    free: list[str] = []
    turn.members = _members_here(turn)
    room = turn.catalog.most_members - Listing.objects.filter(catalog=turn.catalog, state=State.MEMBER).count()
    for part in _parts(coming):
        there = {
            zone.name: zone for zone in Zone.objects.filter(name__in=part, deleted_at=None).only("name", "is_catalog")
        }
        owners = {
            row.zone_name: row
            for row in Listing.objects.filter(zone__in=there.values(), state=State.MEMBER).select_related(
                "catalog__zone"
            )
        }
        refusals = _refusals_near(turn, [name for name in part if name not in there])
        for name in part:
            if not _lies_within(name, turn.catalog.within):
                reason = gettext("The zone isn’t below any of the names that are allowed for this catalog.")
                refused[name] = State.REFUSED, reason
            elif name in owners and owners[name].catalog_id != turn.catalog.pk:
                _take_from(turn, owners[name], refused)
            elif name in there:
                reason = gettext("A zone with this name already exists here but isn’t a member of the catalog.")
                refused[name] = State.REFUSED, reason
            elif name in refusals:
                refused[name] = State.REFUSED, refusals[name]
            elif len(free) >= room:
                reason = gettext("The catalog can’t have more than {most:,} members.").format(
                    most=turn.catalog.most_members
                )
                refused[name] = State.REFUSED, reason
            else:
                free.append(name)
    turn.left |= len(free) > BATCH
    _make(turn, free[:BATCH], refused)
    _note_refused(turn, refused)


def _take_from(turn: Turn, row: Listing, refused: dict[str, tuple[State, str]]) -> None:
    """Move a zone that another catalog gives to this one. If that isn't allowed, add the reason to `refused`."""
    name, member, other = row.zone_name, turn.listed[row.zone_name], row.catalog.zone.name
    if row.coo != turn.name:
        if member.coo == other:
            refused[name] = State.MOVED, gettext("{catalog} is now the zone’s catalog.").format(catalog=other)
        else:
            reason = gettext(
                "The zone is a member of {catalog}, which doesn’t allow moving it to this catalog (no coo property)."
            )
            refused[name] = State.REFUSED, reason.format(catalog=other)
        return
    if reason := _others_near(turn, [name]).get(name, ""):
        refused[name] = State.REFUSED, reason
        return
    with transaction.atomic():
        Listing.objects.filter(catalog=turn.catalog, zone_name=name).delete()
        anew = row.label != member.label
        taken = Listing.objects.filter(pk=row.pk, catalog=row.catalog_id, state=State.MEMBER).update(
            catalog=turn.catalog, rule=turn.rule_for(member.groups), since=turn.now, reason="", **_naming(member)
        )
        if taken and anew:
            _begin_anew([row.zone_id], turn.now)
        if taken:
            Catalog.objects.filter(pk=row.catalog_id).update(due_at=turn.now)
    turn.moved += taken


def _make(turn: Turn, free: Sequence[str], refused: dict[str, tuple[State, str]]) -> None:
    """Create zones with the primaries from their groups' rules. Add the reasons for refused zones to `refused`."""
    by_rule: dict[int | None, list[str]] = {}
    for name in free:
        by_rule.setdefault(turn.rule_for(turn.listed[name].groups), []).append(name)
    for pk, of_rule in by_rule.items():
        rule = None if pk is None else turn.rules[pk]
        team = team_of(turn.catalog, rule)
        fitting = of_rule if team is None else of_rule[: zone_quotas.zones_left(team)]
        for name in of_rule[len(fitting) :]:
            reason = gettext("The team {team} has reached its zone limit.").format(team=team)
            refused[name] = State.REFUSED, reason
        own = _make_fitting(turn, fitting, rule, team)
        refused |= {name: (State.REFUSED, own[name]) for name in fitting if name in own}


def _make_fitting(turn: Turn, fitting: Sequence[str], rule: Rule | None, team: Team | None) -> dict[str, str]:
    """Create these zones, except those that are refused. Return the reasons for the refused zones, keyed by name."""
    refused: dict[str, str] = {}
    left = list(fitting)
    while left:
        try:
            _make_all(turn, left, rule, team)
        except ZoneError as exc:
            own = _reasons_in(exc, left)
        else:
            turn.made += len(left)
            break
        refused |= own
        if not own.keys() & set(left):
            turn.left = True  # another worker was first; the next turn continues
            break
        left = [name for name in left if name not in own]
    return refused


def _reasons_in(exc: ZoneError, names: Sequence[str]) -> dict[str, str]:
    """Return the reasons for refused zones, keyed by name. An error that names no zones applies to all `names`."""
    match exc:
        case NamesRefused():
            return {name: str(each) for name, each in exc.refusals.items()}
        case HookRefused():
            return dict.fromkeys(exc.zones.values(), str(exc))
        case NameRefused():
            return {exc.name: str(exc)}
    return dict.fromkeys(names, str(exc))


def _make_all(turn: Turn, new: Sequence[str], rule: Rule | None, team: Team | None) -> None:
    columns = columns_of(turn.catalog, rule)
    tags = list(own_tags(turn.catalog, rule))
    made: set[int] = set()

    def in_transaction() -> None:
        ids = dict(Zone.objects.filter(name__in=new, deleted_at=None).values_list("name", "pk"))
        primaries.begin_all(zone_ids=list(ids.values()), columns=columns, now=turn.now)
        Zone.objects.filter(pk__in=ids.values()).update(tags=tags)
        Listing.objects.filter(catalog=turn.catalog, zone_name__in=new).delete()
        Listing.objects.bulk_create(
            Listing(
                catalog=turn.catalog,
                zone_id=ids[name],
                zone_name=name,
                rule=rule,
                state=State.MEMBER,
                since=turn.now,
                **_naming(turn.listed[name]),
            )
            for name in new
        )
        # Last: a transaction that creates a zone at the same time waits from here to the commit, and then sees these
        # zones.
        nesting.lock_names()
        if near := _refusals_near(turn, new, own=ids.values()):
            raise NamesRefused({name: NameRefused(name, reason) for name, reason in near.items()})
        made.update(ids.values())
        primaries.wake_on_commit()

    edit.create_zones(
        zones=[edit.NewZone(name, None) for name in new],
        acting=Acting(
            None, Channel.TRANSFER, turn.now, gettext("listed in the catalog {catalog}").format(catalog=turn.name)
        ),
        team=team,
        in_transaction=in_transaction,
        awaits_transfer=True,
        under=SystemRight.CATALOG,
    )
    turn.members |= made


def _members_here(turn: Turn) -> set[int]:
    """Return the ids of the catalog's members, and of other catalogs' members that move to this catalog.

    Members that are no longer transferred do not count, because they are edited here.
    """
    rows = Listing.objects.filter(state=State.MEMBER, zone__deleted_at=None).exclude(zone__transferred_from="")
    coming = rows.filter(coo=turn.name).values_list("zone_name", "zone")
    return {
        *rows.filter(catalog=turn.catalog).values_list("zone", flat=True),
        *(pk for name, pk in coming if name in turn.listed and _lies_within(name, turn.catalog.within)),
    }


def _refusals_near(turn: Turn, new: Sequence[str], own: Collection[int] = ()) -> dict[str, str]:
    """Return the reasons why names are refused, keyed by name.

    A name is refused if its enclosing zone or a zone below it isn't a member, or if rules of an enclosing zone forbid
    it. The zones in `own` count as members.
    """
    kept = publish_guards.reasons_over([Zone(name=name) for name in new], author=None, reason="", now=turn.now, own=own)
    return kept | _others_near(turn, new, own)


def _others_near(turn: Turn, new: Sequence[str], own: Collection[int] = ()) -> dict[str, str]:
    """Return {name: reason} for the names whose closest enclosing zone, or any zone below, isn't a member.

    These names are refused, because the catalog's author could otherwise answer for names inside unrelated zones here,
    such as `_acme-challenge`. A name in the catalog's `within` allows members below it. Catalog zones don't count,
    because no node serves them.
    """
    within = turn.catalog.within
    catalogs = set(Catalog.objects.filter(zone__deleted_at=None).values_list("pk", flat=True))
    free = {*turn.members, *own, *Zone.objects.filter(name__in=within, deleted_at=None).values_list("pk", flat=True)}
    inside = gettext("The zone is inside {zone}, which isn’t a member of this catalog. Add {zone} to “Allowed zones”.")
    found = {
        name: inside.format(zone=above.name)
        for name, above in nesting.zones_above(new, without=catalogs).items()
        if above.id not in free
        and not any(names.is_within(each, above.name) and names.is_within(name, each) for each in within)
    }
    others = [name for name in new if name not in found]
    over = gettext("The zone is above {zone}, which isn’t a member of this catalog. Add {zone} to “Allowed zones”.")
    below = nesting.zone_below_each(others, without=free | catalogs)
    return found | {name: over.format(zone=zone) for name, zone in below.items()}


def _note_refused(turn: Turn, refused: Mapping[str, tuple[State, str]]) -> None:
    """Store refused members with the reason, and the time since when they have this state. Skip unchanged rows."""
    for part in _parts(list(refused)):
        known = {row.zone_name: row for row in Listing.objects.filter(catalog=turn.catalog, zone_name__in=part)}
        new: list[Listing] = []
        again: list[Listing] = []
        for name in part:
            state, reason = refused[name]
            columns: dict[str, Any] = {"zone_id": None, "state": state, "reason": reason, **_naming(turn.listed[name])}
            row = known.get(name)
            if row is None:
                new.append(Listing(catalog=turn.catalog, zone_name=name, since=turn.now, **columns))
            elif any(getattr(row, field) != value for field, value in columns.items()):
                columns["since"] = row.since if row.state == state else turn.now
                _set(row, columns)
                again.append(row)
        Listing.objects.bulk_create(new, ignore_conflicts=True)
        Listing.objects.bulk_update(again, ["zone", "state", "reason", "since", "label", "groups", "coo"])


def _lies_within(name: str, within: Collection[str]) -> bool:
    return not within or any(names.is_within(name, each) for each in within)


def _parts(of: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(of), 1_000):
        yield of[start : start + 1_000]


def _note_broken(catalog: Catalog, reason: str, now: datetime) -> None:
    since = catalog.broken_since or now
    Catalog.objects.filter(pk=catalog.pk).update(
        broken_since=since,
        broken_reason=shortened(reason, 1000),
        followed=catalog.zone.revision,
        due_at=now + LOOK_AGAIN,
    )
    if catalog.broken_since is None:
        audit.record(action="catalog.broken", by=None, now=now, target=catalog.zone.name, why=in_english(reason)[:500])
    logger.warning("broken catalog=%s: %s", catalog.zone.name, reason)


def _note_turn(turn: Turn, plan: Plan, revision: int) -> None:
    catalog, now = turn.catalog, turn.now
    told = {"made": turn.made, "removed": turn.removed, "moved": turn.moved, "reset": turn.reset}
    with transaction.atomic():
        Catalog.objects.filter(pk=catalog.pk).update(
            broken_since=None,
            broken_reason="",
            listed=len(turn.listed),
            kept_since=(catalog.kept_since or now) if plan.keeps else None,
            kept_count=len(plan.leave) if plan.keeps else 0,
            kept_revision=revision if plan.keeps else None,
            due_at=now if turn.left else now + LOOK_AGAIN,
            **({} if turn.left else {"followed": revision}),
        )
        if any(told.values()):
            audit.record(action="catalog.followed", by=None, now=now, target=catalog.zone.name, **told)
        if plan.keeps and catalog.kept_since is None:
            audit.record(action="catalog.kept", by=None, now=now, target=catalog.zone.name, members=len(plan.leave))
    logger.info(
        "followed catalog=%s listed=%d made=%d removed=%d moved=%d reset=%d kept=%d left=%s",
        turn.name,
        len(turn.listed),
        turn.made,
        turn.removed,
        turn.moved,
        turn.reset,
        len(plan.leave) if plan.keeps else 0,
        turn.left,
    )
