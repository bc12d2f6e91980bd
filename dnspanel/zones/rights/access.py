"""Check access to zones. Functions return a zone only if the person or token is allowed to use it.

Pages and APIs use these functions. How a change affects each RRset is only known after planning. The functions that
publish therefore call `refuse_changes` themselves.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import (
    RECORD_RIGHTS,
    Actor,
    Author,
    Grant,
    Permission,
    Right,
    SystemRight,
    actor_of,
    can,
    passes_rules,
)
from dnspanel.accounts.actors.actors import Person as Person
from dnspanel.accounts.models import Team
from dnspanel.database.first_rows import first_or
from dnspanel.zones.errors import FollowsMembers as FollowsMembers
from dnspanel.zones.errors import Forbidden as Forbidden
from dnspanel.zones.errors import InTrash as InTrash
from dnspanel.zones.errors import RightMissing as RightMissing
from dnspanel.zones.errors import Transferred as Transferred
from dnspanel.zones.errors import Unknown as Unknown
from dnspanel.zones.models import Zone, gone_at
from dnspanel.zones.rights.lock_rules import refuse_locked
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store.find_zones import has_name, ids_of_living, living_zone
from dnspanel.zones.values import soa
from replication.dns import names
from replication.dns.rrset import Change
from replication.errors import BadName

Visibility = Callable[[str, int], bool]  # owner name, type


def zones_visible_to(person: Person) -> QuerySet[Zone]:
    """Select the zones that this person is allowed to see, except zones in the trash."""
    return zones_within_reach(person, Right.READ).filter(deleted_at=None)


def zones_seen_by(person: Person) -> QuerySet[Zone]:
    """Select the zones that this person sees completely. A token isn't allowed to search partly visible zones."""
    actor = actor_of(person)
    if actor is None or actor.scope is None:
        return zones_visible_to(person)
    unlimited = tuple(grant for grant in actor.scope if Right.READ in grant.rights and not grant.is_limited)
    return zones_visible_to(replace(actor, scope=unlimited))


def closest_zones_visible_to(person: Person, owners: Collection[str]) -> dict[str, Zone]:
    """Return the closest live zone at or above each name, with two queries. Omit zones that the person can't see."""
    return closest_zones(owners, zones_visible_to(person))


def closest_zones(owners: Collection[str], among: QuerySet[Zone]) -> dict[str, Zone]:
    """Return the closest live zone at or above each name. Omit zones that are not in `among`. Needs two queries."""
    chains = {owner: [owner, *ancestors_within(owner, names.ROOT)] for owner in owners}
    live = ids_of_living({at for chain in chains.values() for at in chain})
    closest = {owner: next((live[at] for at in chain if at in live), None) for owner, chain in chains.items()}
    ids = {zone_id for zone_id in closest.values() if zone_id is not None}
    found = among.in_bulk(ids) if ids else {}
    return {owner: found[zone_id] for owner, zone_id in closest.items() if zone_id is not None and zone_id in found}


def trash_visible_to(person: Person) -> QuerySet[Zone]:
    """Select the deleted zones that this person is allowed to see."""
    return zones_within_reach(person, Right.READ).exclude(deleted_at=None)


def zones_within_reach(person: Person, right: Right) -> QuerySet[Zone]:
    """Select the zones in which the person has the right, at least for some name and type. Include deleted zones."""
    actor = actor_of(person)
    if actor is None:
        return Zone.objects.none()
    zones = Zone.objects.all()
    for layer in actor.layers:
        giving = [grant for grant in layer if right in grant.rights]
        if not giving:
            return Zone.objects.none()
        if not any(grant.everywhere for grant in giving):
            zones = zones.filter(reduce(or_, map(_zones_of_grant, giving)))
    return zones


def zone_for_reading(person: Person, name: str) -> Zone:
    """Return the zone with this name. Raise Unknown if it doesn't exist or the person isn't allowed to see it."""
    try:
        canonical = names.parse(name)
    except BadName as exc:
        raise Unknown(name) from exc
    return first_or(
        zones_visible_to(person).select_related("changed_by").filter(name=canonical),
        lambda: unknown_to(person, canonical),
    )


def zone_alone(person: Person, name: str, relations: tuple[str, ...] = ()) -> Zone:
    """Return the zone with this canonical name, without the related rows that pages need.

    Raise Unknown if the person isn't allowed to see it. For `relations`, see `find_zones.living_zone`.
    """
    zone = living_zone(name, relations)
    if zone is None or not has_right(person, zone, Right.READ):
        raise unknown_to(person, name)
    return zone


def unknown_to(person: Person, name: str) -> Unknown:
    """Return the error if no visible zone has this name: Unknown, or InTrash if the person sees the zone in the trash.

    If the trash has several zones with this name, InTrash describes the most recently deleted one.
    """
    trashed = trash_visible_to(person).filter(has_name(name)).order_by("-deleted_at").first()
    if trashed is None or trashed.deleted_at is None:
        return Unknown(name)
    deleted_at = trashed.deleted_at
    return InTrash(name, zone_id=trashed.pk, deleted_at=deleted_at, gone_at=gone_at(deleted_at))


def zone_for_editing(person: Person, name: str) -> Zone:
    """Return the zone with this name for changing its records.

    Raise Unknown if it isn't visible, Forbidden if it is read-only for the person, or the errors of
    `refuse_transferred`.
    """
    zone = zone_for_reading(person, name)
    require_editor(person, zone)
    refuse_transferred(zone)
    return zone


def refuse_transferred(zone: Zone) -> None:
    """Raise Transferred if the zone's primary is elsewhere, because only transfers change such a zone.

    Raise FollowsMembers for a producer catalog, which changes only with its members.
    """
    if zone.transferred_from:
        raise Transferred(zone.name, zone.transferred_from)
    if zone.is_catalog:
        raise FollowsMembers(zone.name)


def zone_for(person: Person, name: str, right: Right) -> Zone:
    """Return the zone with this name. Raise Unknown if it isn't visible, RightMissing if the person lacks the right."""
    zone = zone_for_reading(person, name)
    require_right(person, zone, right)
    return zone


def trashed_zone_for_reading(person: Person, zone_id: int) -> Zone:
    """Return the deleted zone with this id. Raise Unknown if the person isn't allowed to see it."""
    return first_or(
        trash_visible_to(person).select_related("changed_by").filter(pk=zone_id), lambda: Unknown(str(zone_id))
    )


def trashed_zone_for_restoring(person: Person, zone_id: int) -> Zone:
    """Return the deleted zone with this id. Raise Unknown if it isn't visible, RightMissing without DELETE_ZONE."""
    zone = trashed_zone_for_reading(person, zone_id)
    require_right(person, zone, Right.DELETE_ZONE)
    return zone


def may_publish_lua(author: Author) -> bool:
    """Return True if LUA records are on, and the author has the permission for them. The panel itself has it."""
    return settings.ALLOW_LUA_RECORDS and (author is None or can(author, Permission.LUA))


def require(author: Person | None, permission: Permission) -> None:
    """Raise Forbidden unless the author has this permission. The panel itself (None) has all permissions."""
    if author is not None and not can(author, permission):
        raise Forbidden(permission)


def require_right(author: Person | None, zone: Zone, right: Right) -> None:
    """Raise RightMissing unless the author has this right over the zone. The panel itself (None) has all rights."""
    if author is not None and not has_right(author, zone, right):
        raise RightMissing(right, zone.name)


def require_editor(author: Person | None, zone: Zone) -> None:
    """Raise Forbidden unless the author can change some records of the zone. The panel itself (None) can."""
    if author is not None and not may_edit_zone(author, zone):
        raise Forbidden(Permission.EDIT)


def has_right(person: Person, zone: Zone, right: Right) -> bool:
    """Return True if the person has the right over this zone, at least for some name and type."""
    actor = actor_of(person)
    return actor is not None and actor.may(right, zone_id=zone.pk, tags=zone.tags, team_id=zone.team_id)


def may_edit_zone(person: Person, zone: Zone) -> bool:
    """Return True if the person can change some records of this zone."""
    return any(has_right(person, zone, right) for right in RECORD_RIGHTS)


def may_edit_here(person: Person, zone: Zone) -> bool:
    """Return True if the person can change some records of this zone, and the zone is edited in this panel.

    Pages use this function to decide which buttons to show. Changing a zone with its primary elsewhere raises
    Transferred.
    """
    return zone.is_edited_here and may_edit_zone(person, zone)


def may_edit(person: Person) -> bool:
    """Return True if the person has the permission to change zones."""
    return can(person, Permission.EDIT)


def may_create_zones(person: Person) -> bool:
    """Return True if the person is allowed to create zones, at least with some name or for some team."""
    actor = actor_of(person)
    return actor is not None and actor.may_somewhere(Right.CREATE_ZONE)


def team_for_new_zone(author: Author, team: Team | None, zone_name: str) -> Team | None:
    """Return the team of a new zone: `team`, or else the only team in which the author can create zones.

    Return None if `team` is None and the author can create zones everywhere. Raise RightMissing if the author can't
    create zones in `team`, or if `team` is None and the author can't create zones in exactly one team.
    """
    actor = None if author is None else actor_of(author)
    if author is None or (actor is not None and actor.may_everywhere(Right.CREATE_ZONE)):
        return team
    team_id = None if team is None else team.pk
    teams = set() if actor is None else _teams_to_create_in(actor)
    if team_id is None and len(teams) == 1:
        return Team.objects.get(pk=teams.pop())
    if team_id is None or team_id not in teams:
        raise RightMissing(Right.CREATE_ZONE, zone_name)
    return team


def refuse_changes(author: Author, zone: Zone, changes: Iterable[Change], under: SystemRight | None = None) -> None:
    """Raise an error if the author isn't allowed to publish one of the changes, or if the zone isn't edited here.

    Raise Locked, RightMissing, or, for any author, the errors of `refuse_transferred`. The right to change an SOA isn't
    checked if only its serial changes.
    """
    refuse_transferred(zone)
    if zone.has_locks and not passes_rules(under):
        changes = list(changes)
        refuse_locked(author, zone, changes)
    actor = None if author is None else actor_of(author)
    if author is None:
        return
    limited = {right: actor is None or not _may_at_all_names(actor, right, zone) for right in RECORD_RIGHTS}
    for change in changes:
        name, type_, before, after = change.name, change.type, change.before, change.after
        right = Right.ADD if before is None else Right.REMOVE if after is None else Right.CHANGE
        if not limited[right] or soa.same(before, after):
            continue
        if actor is None or not all(_allows(layer, zone, right, name, type_) for layer in actor.layers):
            raise RightMissing(right, zone.name, name, type_)


def refuse_unseen(person: Person, zone: Zone, changes: Iterable[Change]) -> None:
    """Raise Unknown if the person can't see the zone, or RightMissing if one of these RRsets is not visible."""
    if not has_right(person, zone, Right.READ):
        raise Unknown(zone.name)
    if (visibility := visibility_of(person, zone)) is None:
        return
    for change in changes:
        if not visibility(*change.key):
            raise RightMissing(Right.CHANGE, zone.name, *change.key)


def visibility_of(person: Person, zone: Zone) -> Visibility | None:
    """Return a test for the RRsets that the person can see in a visible zone, or None if all are visible.

    People can see the whole zone. A token can see only the RRsets that its scope allows, because it should see only
    what it needs for its task.
    """
    actor = actor_of(person)
    if actor is None or actor.scope is None:
        return None
    reading = [g for g in actor.scope if Right.READ in g.rights and g.covers_zone(zone.pk, zone.tags, zone.team_id)]
    if any(not grant.is_limited for grant in reading):
        return None
    return lambda name, type: any(grant.covers_rrset(zone.name, name, type) for grant in reading)


def may_know_author(person: Person, token_id: int | None = None) -> bool:
    """Return True if the person is allowed to see the author, token and reason of a publication.

    A token limited to some names or types can see these only for its own publications (`token_id`), because reasons can
    mention RRsets that the token can't see.
    """
    actor = actor_of(person)
    if actor is None or actor.scope is None or actor.token is None:
        return actor is not None
    is_limited = any(Right.READ in grant.rights and grant.is_limited for grant in actor.scope)
    return not is_limited or actor.token.pk == token_id


def _may_at_all_names(actor: Actor, right: Right, zone: Zone) -> bool:
    """Return True if the actor has the right over all RRsets of the zone, so that they don't need separate checks."""
    return all(
        any(
            right in grant.rights and not grant.is_limited and grant.covers_zone(zone.pk, zone.tags, zone.team_id)
            for grant in layer
        )
        for layer in actor.layers
    )


def _allows(layer: tuple[Grant, ...], zone: Zone, right: Right, name: str, type: int) -> bool:
    return any(
        right in grant.rights
        and grant.covers_zone(zone.pk, zone.tags, zone.team_id)
        and grant.covers_rrset(zone.name, name, type)
        for grant in layer
    )


def has_any_tag(tags: Iterable[str]) -> Q:
    """Return a query condition for zones with at least one of these tags.

    The condition also excludes zones without tags, so that PostgreSQL can use the partial index.
    """
    return Q(tags__overlap=sorted(tags)) & ~Q(tags=[])


def _zones_of_grant(grant: Grant) -> Q:
    covered = Q(pk__in=grant.zones)
    if grant.tags:
        covered |= has_any_tag(grant.tags)
    if grant.teams:
        covered |= Q(team__in=grant.teams)
    return covered


def _teams_to_create_in(actor: Actor) -> set[int]:
    """Return the ids of the teams in which all layers of the actor's rights allow creating zones."""
    found: set[int] | None = None
    for layer in actor.layers:
        giving = [grant for grant in layer if Right.CREATE_ZONE in grant.rights and not grant.is_limited]
        if any(grant.everywhere for grant in giving):
            continue
        teams = {team for grant in giving for team in grant.teams}
        found = teams if found is None else found & teams
    return found or set()
