"""May this person do that, and why: the same answer as `actors` gives, with what it comes from.

`test_explain_rights.py` proves both equal; `actors` decides, this explains.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dnspanel.accounts.actors import ROLE_RIGHTS
from dnspanel.accounts.grants import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import GrantRow, Membership, Role, User


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that gives rights: a role, being in a team, or a grant to the person or to one of their teams."""

    source: str  # "role", "team" or "grant"
    description: str
    grant: Grant
    id: int | None = None  # of the team or the grant


@dataclass(frozen=True, slots=True)
class Subject:
    """What a right is about: a zone, and maybe one RRset of it."""

    zone_id: int
    zone_name: str
    tags: Collection[str]
    team_id: int | None
    name: str = ""
    type: int = 0


def reasons_of(user: User) -> tuple[Reason, ...]:
    """Everything that gives this person rights, in two queries; nothing does to a closed account."""
    return tuple(_reasons(user)) if user.is_active else ()


def reasons_for(reasons: Collection[Reason], right: Right, subject: Subject) -> tuple[Reason, ...]:
    """Those that give this right; none means that the person may not."""
    return tuple(reason for reason in reasons if _gives(reason.grant, right, subject))


def _gives(grant: Grant, right: Right, subject: Subject) -> bool:
    if right not in grant.rights or not grant.covers_zone(subject.zone_id, subject.tags, subject.team_id):
        return False
    if not subject.name or right not in RECORD_RIGHTS:
        return True
    return grant.covers_rrset(subject.zone_name, subject.name, subject.type)


def _reasons(user: User) -> Iterator[Reason]:
    role = Role(user.role)
    if role in ROLE_RIGHTS:
        yield Reason("role", f"as {role.label.lower()}", Grant(ROLE_RIGHTS[role], everywhere=True))
    for member in Membership.objects.select_related("team").filter(user=user).order_by("team__name"):
        grant = Grant(ROLE_RIGHTS[Role(member.role)], teams=frozenset({member.team_id}))
        yield Reason("team", f"as {member.role} in the team {member.team.name}", grant, member.team_id)
    rows = GrantRow.objects.filter(user=user) | GrantRow.objects.filter(team__memberships__user=user)
    for row in rows.select_related("team").distinct().order_by("pk"):
        description = f"by grant {row.pk} to the team {row.team.name}" if row.team else f"by grant {row.pk}"
        yield Reason("grant", description, Grant.from_json(row.grant), row.pk)
