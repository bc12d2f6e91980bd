"""Quotas for zones, RRsets in a zone, drafts, and operations in a draft. Only additions are checked.

Deletions and changes are never rejected, so that a person over quota can always reduce their use.
"""

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from dnspanel.accounts.actors.actors import Author, actor_of
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quotas import (
    Holder,
    holder_of,
    holders_for,
    members_bound_by,
    refusal_message,
    refuse_beyond,
    room_beyond,
)
from dnspanel.texts import gettext
from dnspanel.zones.errors import QuotaExceeded
from dnspanel.zones.models import Draft, Operation, Zone
from dnspanel.zones.plan.plan import ZonePlan


def refuse_zones(author: Author, team: Team | None, added: int) -> None:
    """Raise QuotaExceeded if `added` new zones exceed the zone quota of the author or the team.

    Until the transaction ends, others can't add zones for either. Zones in the trash can count too (`_room_taken`).
    """
    own = holders_for(author)[:1]
    of_team = () if team is None or author is None else (holder_of(team),)
    refuse_beyond((*own, *of_team), Kind.ZONES, added=added, count=_room_taken, refusal=QuotaExceeded)


def refuse_zone_of(*, creator: User | None, team: Team | None, added: int = 1) -> None:
    """Raise QuotaExceeded if `added` more existing zones exceed the zone quota of the creator or the team.

    Call this function for a zone restored from the trash, and for zones that move to a team.
    """
    own = () if creator is None else (holder_of(creator),)
    of_team = () if team is None else (holder_of(team),)
    refuse_beyond((*own, *of_team), Kind.ZONES, added=added, count=zone_count, refusal=QuotaExceeded)


def without_room(zones: Sequence[Zone], author: Author) -> dict[int, str]:
    """Return {zone id: reason} for the zones in the trash that can't be restored because of a quota.

    The quotas of creators and teams limit the number of zones, counted in the given order. The quotas of the author and
    the teams limit the RRsets in each zone. Until the transaction ends, others can't add zones for the same creators
    and teams. Creators and teams must be loaded.
    """
    holders = {
        zone.pk: [holder_of(each) for each in (zone.created_by, zone.team) if each is not None] for zone in zones
    }
    distinct = {(holder.team, holder.pk): holder for of_zone in holders.values() for holder in of_zone}
    rooms = {key: room_beyond(holder, Kind.ZONES, count=zone_count) for key, holder in sorted(distinct.items())}
    refused = _too_large(author, ((zone, 0, zone.rrset_count) for zone in zones))
    for zone in zones:
        if zone.pk in refused:
            continue
        limited = [(holder, room) for holder in holders[zone.pk] if (room := rooms[holder.team, holder.pk]) is not None]
        full = next(((holder, room) for holder, room in limited if room.left <= 0), None)
        if full is not None:
            holder, room = full
            refused[zone.pk] = refusal_message(
                holder, Kind.ZONES, limit=room.limit, used=room.limit - room.left, added=1
            )
            continue
        for _, room in limited:
            room.left -= 1
    return refused


def zones_left(team: Team) -> int | None:
    """Return the number of zones that the team can still add, or None if it has no limit."""
    holder = holder_of(team)
    limit = holder.limits[Kind.ZONES]
    return None if limit is None else limit - zone_count(holder, limit)


def zone_count(holder: Holder, most: int) -> int:
    """Count the holder's zones outside the trash: those that the person created or the team has. Stop at `most`."""
    return _zones_of(holder).filter(deleted_at=None)[:most].count()


def _room_taken(holder: Holder, most: int) -> int:
    """Return the number of zones outside the trash, or half of all zones including the trash if that is larger.

    After deleting a zone, a person can immediately create another. The second number limits how often they can repeat
    this, because a zone in the trash still uses disk space.
    """
    alive = zone_count(holder, most)
    trashed = _zones_of(holder).exclude(deleted_at=None)[: 2 * most - alive].count()
    return max(alive, (alive + trashed) // 2)


def _zones_of(holder: Holder) -> "QuerySet[Zone]":
    return Zone.objects.filter(team=holder.pk) if holder.team else Zone.objects.filter(created_by=holder.pk)


def refuse_rrsets(author: Author, team: Team | None, counts: Iterable[tuple[str, int]]) -> None:
    """Raise QuotaExceeded for the first new zone with too many RRsets. `counts` has (zone name, number of RRsets)."""
    limits = _limits(author, None if team is None else holder_of(team)) if author is not None else ()
    for name, count in counts:
        if reason := _size_refusal(limits, name, 0, count):
            raise QuotaExceeded(reason)


def refuse_growth(author: Author, plans: Sequence[ZonePlan]) -> None:
    """Raise QuotaExceeded for the first plan that makes its zone exceed the RRset quota. The zones must be locked."""
    refuse_larger(author, [(plan.zone, plan.added - plan.removed) for plan in plans])


def refuse_larger(author: Author, growth: Iterable[tuple[Zone, int]]) -> None:
    """Raise QuotaExceeded for the first zone that would exceed the RRset quota. `growth` has (zone, new RRsets)."""
    for reason in growing_too_large(author, growth).values():
        raise QuotaExceeded(reason)


def growing_too_large(author: Author, growth: Iterable[tuple[Zone, int]]) -> dict[int, str]:
    """Return {zone id: reason} for zones that exceed the RRset quota. `growth` has (zone, number of new RRsets)."""
    return _too_large(author, ((zone, zone.rrset_count, added) for zone, added in growth))


def _too_large(author: Author, sizes: Iterable[tuple[Zone, int, int]]) -> dict[int, str]:
    """Return {zone id: reason} for the zones that would exceed the RRset quota.

    `sizes` has (zone, current RRsets, new RRsets). A query is needed only if a zone's team is not loaded and isn't one
    of the author's teams.
    """
    growing = [(zone, used, added) for zone, used, added in sizes if added > 0]
    if not growing or author is None:
        return {}
    teams = _teams_of(author, [zone for zone, _, _ in growing])
    found = {}
    for zone, used, added in growing:
        team = None if zone.team_id is None else teams.get(zone.team_id)
        if reason := _size_refusal(_limits(author, team), zone.name, used, added):
            found[zone.pk] = reason
    return found


def rrset_limit(author: Author, team: Team | None) -> int | None:
    """Return the limit on RRsets in a zone of this team if this author adds RRsets, or None if no limit applies."""
    if author is None:
        return None
    holders = _limits(author, None if team is None else holder_of(team))
    limits = [holder.limits[Kind.RRSETS] for holder in holders]
    return min((limit for limit in limits if limit is not None), default=None)


def refuse_operations(author: Author, *, used: int, added: int) -> None:
    """Raise QuotaExceeded if `added` operations exceed the quota for the author's draft. The draft must be locked."""
    if added <= 0:
        return
    for holder in holders_for(author):
        limit = holder.limits[Kind.OPERATIONS]
        if limit is not None and used + added > limit:
            message = refusal_message(holder, Kind.OPERATIONS, limit=limit, used=used, added=added)
            raise QuotaExceeded(
                gettext("{message} Publish or discard part of the draft first.").format(message=message)
            )


def operations_to_count(author: Author) -> int:
    """Return the number of operations at which counting for the quota check can stop, or 0 if no quota applies."""
    limits = [holder.limits[Kind.OPERATIONS] for holder in holders_for(author)]
    return max((limit + 1 for limit in limits if limit is not None), default=0)


def operations_in(draft: Draft, most: int) -> RawSQL:
    """Return an SQL expression that counts a draft's operations up to `most`, for use as a column of another query."""
    return RawSQL(
        "(SELECT count(*) FROM (SELECT FROM zones_operation WHERE draft_id = %s LIMIT %s) AS counted)", [draft.pk, most]
    )


def operation_count(user_id: int, most: int) -> int:
    """Count the operations in a user's draft, up to `most`."""
    return Operation.objects.filter(draft__author=user_id)[:most].count()


def refuse_named_draft(author: Author) -> None:
    """Raise QuotaExceeded if one more named draft exceeds the quota of the author or of one of the author's teams."""
    refuse_beyond(holders_for(author), Kind.DRAFTS, added=1, count=named_draft_count, refusal=QuotaExceeded)


def named_draft_count(holder: Holder, most: int) -> int:
    """Count the named drafts of a user, or of the members that a team's quotas limit, up to `most`."""
    owners = members_bound_by(holder.pk) if holder.team else {"pk": holder.pk}
    found = Draft.objects.filter(owner__in=User.objects.filter(**owners).values("pk"), discarded_at=None)
    return found[:most].count()


def _limits(author: Author, team: Holder | None) -> tuple[Holder, ...]:
    """Return the holders of quotas on a zone's size: the author and the zone's team."""
    own = holders_for(author)[:1]
    return own if team is None else (*own, team)


def _teams_of(author: Author, zones: Iterable[Zone]) -> Mapping[int, Holder]:
    actor = None if author is None else actor_of(author)
    teams = {} if actor is None else {team.pk: team for team in actor.teams}
    of_zones = [zone for zone in zones if zone.team_id is not None and zone.team_id not in teams]
    teams |= {zone.team.pk: zone.team for zone in of_zones if Zone.team.is_cached(zone) and zone.team is not None}
    if missing := {zone.team_id for zone in of_zones} - teams.keys():
        teams |= Team.objects.in_bulk(missing)
    return {pk: holder_of(team) for pk, team in teams.items()}


def _size_refusal(holders: Iterable[Holder], name: str, used: int, added: int) -> str:
    """Return an error message if `added` more RRsets in a zone with `used` RRsets exceed a quota, else ""."""
    for holder in holders:
        limit = holder.limits[Kind.RRSETS]
        if limit is not None and used + added > limit:
            message = refusal_message(holder, Kind.RRSETS, limit=limit, used=used, added=added)
            return f"{name}: {message}"
    return ""
