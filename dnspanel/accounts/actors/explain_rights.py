"""Explain a user's rights: find the role, team, grant or scope that gives each right.

`actors` decides about rights; this module only explains them. `test_explain_rights.py` checks that both agree.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q, prefetch_related_objects

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, ROLE_RIGHTS, Grant, Right, rights_by_role
from dnspanel.accounts.models import GrantRow, Membership, Role, Token, User
from dnspanel.texts import gettext, gettext_noop

_AS = {
    Role.ADMINISTRATOR: gettext_noop("Administrator role"),
    Role.EDITOR: gettext_noop("Editor role"),
    Role.READER: gettext_noop("Reader role"),
    Role.MEMBER: gettext_noop("Member role"),
}
_AS_MEMBER = {
    Role.EDITOR: gettext_noop("Editor in team {team}"),
    Role.READER: gettext_noop("Reader in team {team}"),
}


@dataclass(frozen=True, slots=True)
class Reason:
    """A source of rights: a role, a team membership, a grant to a user or to a team, or a token's scope."""

    source: str  # "role", "team", "grant" or "scope"
    description: str
    grant: Grant
    id: int | None = None  # id of the team or grant


@dataclass(frozen=True, slots=True)
class Subject:
    """A zone, or an RRset in a zone, that rights are checked for."""

    zone_id: int
    zone_name: str
    tags: Collection[str]
    team_id: int | None
    name: str = ""
    type: int = 0


def reasons_of(user: User) -> tuple[Reason, ...]:
    """Return all sources of this user's rights, or () for a closed account. Uses at most three queries."""
    return reasons_of_people([user])[user.pk]


def reasons_of_people(people: Sequence[User]) -> dict[int, tuple[Reason, ...]]:
    """Return all sources of these users' rights, keyed by user id. Uses at most three queries in total."""
    active = [person for person in people if person.is_active]
    prefetch_related_objects([person for person in active if person.own_role_id is not None], "own_role")
    members: dict[int, list[Membership]] = {}
    for member in Membership.objects.select_related("team").filter(user__in=active).order_by("team__name"):
        members.setdefault(member.user_id, []).append(member)
    teams = {member.team_id for found in members.values() for member in found}
    rows = GrantRow.objects.select_related("team").filter(Q(user__in=active) | Q(team__in=teams)).order_by("pk")
    given = list(rows) if active else []
    found = {person.pk: tuple(_reasons(person, members.get(person.pk, ()), given)) for person in active}
    return {person.pk: found.get(person.pk, ()) for person in people}


def scope_of(token: Token) -> tuple[Reason, ...]:
    """Return the token's scope as reasons. A right in the scope only counts if the owner also has it (`reasons_of`)."""
    return tuple(Reason("scope", gettext("Token scope"), Grant.from_json(each)) for each in token.scope)


def reasons_over(reasons: Collection[Reason], subject: Subject) -> tuple[Reason, ...]:
    """Return the reasons that give at least one right over the zone, for some name and type."""
    zone = subject.zone_id, subject.tags, subject.team_id
    return tuple(reason for reason in reasons if reason.grant.rights and reason.grant.covers_zone(*zone))


def rights_over(reason: Reason, subject: Subject) -> frozenset[Right]:
    """Return the rights that this reason gives over the zone, and over the RRset if the subject has one."""
    return frozenset(right for right in reason.grant.rights if _gives(reason.grant, right, subject))


def reasons_for(reasons: Collection[Reason], right: Right, subject: Subject) -> tuple[Reason, ...]:
    """Return the reasons that give this right over the zone or RRset. If the result is empty, the right is missing."""
    return tuple(reason for reason in reasons if _gives(reason.grant, right, subject))


def _gives(grant: Grant, right: Right, subject: Subject) -> bool:
    if right not in grant.rights or not grant.covers_zone(subject.zone_id, subject.tags, subject.team_id):
        return False
    if not subject.name or right not in RECORD_RIGHTS:
        return True
    return grant.covers_rrset(subject.zone_name, subject.name, subject.type)


def _reasons(user: User, memberships: Collection[Membership], given: Collection[GrantRow]) -> Iterator[Reason]:
    if rights := rights_by_role(user):
        description = (
            gettext("Role {role}").format(role=user.role_name) if user.own_role_id else gettext(_AS[Role(user.role)])
        )
        yield Reason("role", description, Grant(rights, everywhere=True))
    for member in memberships:
        grant = Grant(ROLE_RIGHTS[Role(member.role)], teams=frozenset({member.team_id}))
        description = gettext(_AS_MEMBER[Role(member.role)]).format(team=member.team.name)
        yield Reason("team", description, grant, member.team_id)
    teams = {member.team_id for member in memberships}
    for row in given:
        if row.user_id == user.pk or row.team_id in teams:
            description = gettext("Grant {number}").format(number=row.pk)
            if row.team:
                description = gettext("Grant {number} to team {team}").format(number=row.pk, team=row.team.name)
            yield Reason("grant", description, Grant.from_json(row.grant), row.pk)
