"""Create, change and delete teams and their memberships. `zones.settings` assigns zones to teams. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import ROLE_RIGHTS, Author, Grant
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import TeamNameTaken, TeamRefused, TeamUnknown
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, User
from dnspanel.accounts.rights.grant_edit import refuse_at_or_above, refuse_more_than_own
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext

LONGEST_NAME = 64
MEMBER_ROLES = (Role.READER, Role.EDITOR)


def team_by_id(pk: int) -> Team:
    """Return the team with this id. Raise TeamUnknown if it doesn't exist."""
    return first_or(Team.objects.filter(pk=pk), TeamUnknown)


def create_team(*, name: str, by: Author, now: datetime) -> Team:
    """Create a team without members. Raise TeamRefused for an invalid name, or TeamNameTaken if the name is in use."""
    name = _check_name(name)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, created_at=now)
            audit.record(action="team.create", by=by, now=now, target=name, team=team.pk)
    except IntegrityError as exc:
        raise TeamNameTaken(name) from exc
    return team


def rename_team(*, team: Team, name: str, by: Author, now: datetime) -> None:
    """Rename a team. Raise TeamRefused for an invalid name, TeamNameTaken, or TeamUnknown if the team was deleted."""
    name = _check_name(name)
    try:
        with transaction.atomic():
            locked = _lock_team(team)
            if locked.name == name:
                return
            Team.objects.filter(pk=team.pk).update(name=name)
            audit.record(action="team.rename", by=by, now=now, target=name, team=team.pk, before=locked.name)
    except IntegrityError as exc:
        raise TeamNameTaken(name) from exc
    team.name = name


def delete_team(*, team: Team, by: Author, now: datetime) -> None:
    """Delete a team and its grants. The team's zones then have no team. Do nothing if the team is already deleted.

    Raise GrantRefused for a token with fewer rights than the team gives, because it must not remove such rights.
    """
    _refuse_more_than_own(by, team, Role.EDITOR)
    with transaction.atomic():
        locked = Team.objects.select_for_update().filter(pk=team.pk).first()
        if locked is None:
            return
        members = list(Membership.objects.filter(team=team).values_list("user__username", flat=True))
        Team.objects.filter(pk=team.pk).delete()
        audit.record(action="team.delete", by=by, now=now, target=locked.name, team=team.pk, members=members)


def set_member(*, team: Team, user: User, role: str, by: Author, now: datetime) -> Membership:
    """Add the user to the team, or change the user's role in it. `role` is "reader" or "editor".

    Raise TeamRefused for any other role, TeamUnknown if the team was deleted, and GrantRefused or AboveYou for a token
    without the necessary rights.
    """
    if role not in MEMBER_ROLES:
        raise TeamRefused({"role": [gettext("A team member must be an editor or a reader.")]})
    _refuse_more_than_own(by, team, role)
    refuse_at_or_above(by, user)
    with transaction.atomic():
        locked = _lock_team(team)
        before = Membership.objects.filter(team=team, user=user).first()
        if before is not None and before.role == role:
            return before
        if before is None:
            after = Membership.objects.create(team=team, user=user, role=role)
            audit.record(action="team.add", by=by, now=now, target=locked.name, person=user.username, role=role)
        else:
            Membership.objects.filter(pk=before.pk).update(role=role)
            after, was = before, before.role
            after.role = role
            audit.record(
                action="team.change", by=by, now=now, target=locked.name, person=user.username, role=role, before=was
            )
    return after


def remove_member(*, team: Team, user: User, by: Author, now: datetime) -> None:
    """Remove the user from the team, if a member. Raise AboveYou for a token without the necessary rights."""
    refuse_at_or_above(by, user)
    with transaction.atomic():
        if Membership.objects.filter(team=team, user=user).delete()[0]:
            audit.record(action="team.remove", by=by, now=now, target=team.name, person=user.username)


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A user's role in a team before and after a change. None means that the user isn't a member."""

    team: Team
    user: User
    before: str | None
    after: str | None


def change_members(*, changes: Sequence[MemberChange], by: Author, now: datetime) -> None:
    """Change many memberships and write each change to the audit log, in few queries.

    Rights aren't checked. The caller opens the transaction and locks the teams.
    """
    real = [change for change in changes if change.before != change.after]
    Membership.objects.bulk_create(
        [Membership(team=each.team, user=each.user, role=each.after) for each in real if each.after is not None],
        update_conflicts=True,
        unique_fields=["team", "user"],
        update_fields=["role"],
    )
    leaving: dict[Team, list[User]] = {}
    entries: dict[str, list[tuple[str, dict[str, str]]]] = {"team.add": [], "team.change": [], "team.remove": []}
    for each in real:
        person = {"person": each.user.username}
        if each.after is None:
            leaving.setdefault(each.team, []).append(each.user)
            entries["team.remove"].append((each.team.name, person))
        elif each.before is None:
            entries["team.add"].append((each.team.name, person | {"role": each.after}))
        else:
            entries["team.change"].append((each.team.name, person | {"role": each.after, "before": each.before}))
    for team, people in leaving.items():
        Membership.objects.filter(team=team, user__in=people).delete()
    for action, listed in entries.items():
        audit.record_all(action=action, by=by, now=now, entries=listed)


def _refuse_more_than_own(by: Author, team: Team, role: str) -> None:
    """Raise GrantRefused if membership in the team, with this role, gives more rights than the author has."""
    refuse_more_than_own(by, Grant(ROLE_RIGHTS[Role(role)], teams=frozenset({team.pk})))
    for row in GrantRow.objects.filter(team=team):
        refuse_more_than_own(by, Grant.from_json(row.grant))


def _lock_team(team: Team) -> Team:
    """Lock and return the current row of the team. Raise TeamUnknown if the team was deleted."""
    return first_or(Team.objects.select_for_update().filter(pk=team.pk), TeamUnknown)


def _check_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise TeamRefused({"name": [gettext("Enter a team name.")]})
    if len(name) > LONGEST_NAME:
        raise TeamRefused(
            {"name": [gettext("Enter at most {longest_name} characters.").format(longest_name=LONGEST_NAME)]}
        )
    if not name.isprintable():
        raise TeamRefused({"name": [gettext("The name can only have printable characters.")]})
    return name
