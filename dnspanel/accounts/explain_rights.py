"""May this person do that, and why: the same answer as `actors` gives, with what it comes from.

`test_why.py` proves both equal; `actors` decides, this explains.
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
    words: str
    grant: Grant
    id: int | None = None  # of the team or the grant


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about: a zone, and maybe one RRset of it."""

    zone_id: int
    zone_name: str
    tags: Collection[str]
    team_id: int | None
    name: str = ""
    type: int = 0


def reasons_of(user: User) -> tuple[Reason, ...]:
    """Everything that gives this person rights, in two queries; nothing does to a closed account."""
    return tuple(_reasons(user)) if user.is_active else ()


def reasons_for(reasons: Collection[Reason], right: Right, asked: Asked) -> tuple[Reason, ...]:
    """Those that give this right; none means that the person may not."""
    return tuple(reason for reason in reasons if _gives(reason.grant, right, asked))


def _gives(grant: Grant, right: Right, asked: Asked) -> bool:
    if right not in grant.rights or not grant.covers_zone(asked.zone_id, asked.tags, asked.team_id):
        return False
    if not asked.name or right not in RECORD_RIGHTS:
        return True
    return grant.covers_rrset(asked.zone_name, asked.name, asked.type)


def _reasons(user: User) -> Iterator[Reason]:
    role = Role(user.role)
    if role in ROLE_RIGHTS:
        yield Reason("role", f"as {role.label.lower()}", Grant(ROLE_RIGHTS[role], everywhere=True))
    for member in Membership.objects.select_related("team").filter(user=user).order_by("team__name"):
        grant = Grant(ROLE_RIGHTS[Role(member.role)], teams=frozenset({member.team_id}))
        yield Reason("team", f"as {member.role} in the team {member.team.name}", grant, member.team_id)
    rows = GrantRow.objects.filter(user=user) | GrantRow.objects.filter(team__memberships__user=user)
    for row in rows.select_related("team").distinct().order_by("pk"):
        words = f"by grant {row.pk} to the team {row.team.name}" if row.team else f"by grant {row.pk}"
        yield Reason("grant", words, Grant.from_json(row.grant), row.pk)
