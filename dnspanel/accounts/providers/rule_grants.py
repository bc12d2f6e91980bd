"""Give users the roles and teams from rules about external groups, and take them back. Verbs.

`given` stores the state from before the rules applied, which is restored when the rules no longer apply: {"role": the
previous role, or null if no rule decides the role, "teams": {team id: the previous role in the team, or null if the
user wasn't a member}}.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dnspanel.accounts.actors.actors import Author, is_below
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Membership, OwnRole, Role, Team, User
from dnspanel.accounts.people.people import RoleChange, set_roles
from dnspanel.accounts.people.teams import MemberChange, change_members
from dnspanel.accounts.providers.provider_identity import Outcome


@dataclass(frozen=True, slots=True)
class Receiver:
    """A user, the user's state from before the rules applied (`given`), and the rules' current outcome."""

    user: User
    given: Mapping[str, Any]
    outcome: Outcome


def apply_outcomes(
    *, receivers: Sequence[Receiver], kind: str, source: Mapping[str, str], by: Author, now: datetime
) -> list[dict[str, Any]]:
    """Give each user the rules' current roles and teams, and remove those of earlier outcomes. Return each new `given`.

    Rights aren't checked, and the caller opens the transaction. `source` identifies the rules in the audit log. The
    last administrator stays an administrator, and the audit log records this as the action `kind` plus `.kept`. The
    number of statements doesn't depend on the number of users.
    """
    roles = _apply_roles(receivers, kind, source, by, now)
    return [{"role": role, "teams": teams} for role, teams in zip(roles, _apply_teams(receivers, by, now), strict=True)]


def apply_outcome(  # noqa: PLR0913  # the outcome of a sign-in, and the audit log's details
    *,
    user: User,
    given: Mapping[str, Any],
    outcome: Outcome,
    kind: str,
    source: Mapping[str, str],
    by: Author,
    now: datetime,
) -> dict[str, Any]:
    """Apply the rules' outcome to one user, like `apply_outcomes`. Return the new `given`."""
    return apply_outcomes(receivers=[Receiver(user, given, outcome)], kind=kind, source=source, by=by, now=now)[0]


def _apply_roles(
    receivers: Sequence[Receiver], kind: str, source: Mapping[str, str], by: Author, now: datetime
) -> list[str | None]:
    """Change the roles that rules decide. Return each user's previous role, or None if no rule decides the role."""
    own_roles = OwnRole.objects.in_bulk({each.outcome.own_role for each in receivers} - {None})
    changes = [change for each in receivers if (change := _role_change(each, own_roles)) is not None]
    if changes:
        kept = {user.pk for user in set_roles(changes=changes, by=by, now=now, **source)}
        audit.record_all(
            action=f"{kind}.kept",
            by=by,
            now=now,
            entries=[(one.user.username, {"role": one.role, **source}) for one in changes if one.user.pk in kept],
        )
    return [None if each.outcome.role is None else each.given.get("role") or each.user.role for each in receivers]


def _role_change(receiver: Receiver, own_roles: Mapping[int, OwnRole]) -> RoleChange | None:
    """Return the role change for the user, or None if the user already has the role.

    If the rules no longer decide the role, the user gets the previous role back, but only if it is lower than the
    current role.
    """
    user, role, before = receiver.user, receiver.outcome.role, receiver.given.get("role")
    target = role if role is not None else before if before and is_below(before, user.role) else user.role
    own = own_roles.get(receiver.outcome.own_role) if receiver.outcome.own_role is not None else None
    is_other = target != user.role or (role is not None and user.own_role_id != (own.pk if own else None))
    return RoleChange(user, Role(target), own) if is_other else None


def _apply_teams(receivers: Sequence[Receiver], by: Author, now: datetime) -> list[dict[str, str | None]]:
    """Change the memberships that the rules decide. Return each user's previous roles, keyed by team id."""
    named = {pk for each in receivers for pk in (*map(int, each.given.get("teams", {})), *each.outcome.teams)}
    if not named:
        return [{} for _ in receivers]
    teams = {team.pk: team for team in Team.objects.select_for_update().filter(pk__in=named).order_by("pk")}
    rows = Membership.objects.filter(user__in=[each.user for each in receivers], team__in=teams)
    mine = {(user_id, team_id): role for user_id, team_id, role in rows.values_list("user_id", "team_id", "role")}
    changes, found = [], []
    for each in receivers:
        before: Mapping[str, str | None] = each.given.get("teams", {})
        given: dict[str, str | None] = {}
        for pk in sorted({*map(int, before), *each.outcome.teams} & teams.keys()):
            key, role, is_now = str(pk), each.outcome.teams.get(pk), mine.get((each.user.pk, pk))
            was = before.get(key) if key in before else is_now
            if role is not None:
                given[key] = was
            changes.append(MemberChange(teams[pk], each.user, is_now, role or was))
        found.append(given)
    change_members(changes=changes, by=by, now=now)
    return found
