"""Teams and who is in them; which zones a team looks after is said where zones are edited. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import ROLE_RIGHTS, Author
from dnspanel.accounts.actors.grants import Grant
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import TeamNameTaken, TeamRefused, TeamUnknown
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, User
from dnspanel.accounts.rights.grant_edit import refuse_at_or_above, refuse_more_than_own
from dnspanel.texts import gettext

LONGEST_NAME = 64
MEMBER_ROLES = (Role.READER, Role.EDITOR)


def team_by_id(pk: int) -> Team:
    """The team with this id; raises TeamUnknown."""
    team = Team.objects.filter(pk=pk).first()
    if team is None:
        raise TeamUnknown
    return team


def create_team(*, name: str, by: Author, now: datetime) -> Team:
    """The team exists, without members. Raises TeamRefused, TeamNameTaken."""
    name = _checked(name)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, created_at=now)
            audit.record(action="team.create", by=by, now=now, target=name, team=team.pk)
    except IntegrityError as exc:
        raise TeamNameTaken(name) from exc
    return team


def rename_team(*, team: Team, name: str, by: Author, now: datetime) -> None:
    """The team has this name. Raises TeamRefused, TeamNameTaken, TeamUnknown."""
    name = _checked(name)
    try:
        with transaction.atomic():
            locked = _locked(team)
            if locked.name == name:
                return
            Team.objects.filter(pk=team.pk).update(name=name)
            audit.record(action="team.rename", by=by, now=now, target=name, team=team.pk, before=locked.name)
    except IntegrityError as exc:
        raise TeamNameTaken(name) from exc
    team.name = name


def delete_team(*, team: Team, by: Author, now: datetime) -> None:
    """The team and what was granted to it are gone; its zones stay, and belong to no team. Twice changes nothing.

    Raises GrantRefused to a token that has less than the team gives: the members lose that.
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
    """The person is in the team with this role ("reader" or "editor"), whether they were before or not.

    Raises TeamRefused for another role, TeamUnknown, GrantRefused when a
    token gives more than it has itself, AboveYou to a token.
    """
    if role not in MEMBER_ROLES:
        raise TeamRefused({"role": [gettext("In a team a person is reader or editor.")]})
    _refuse_more_than_own(by, team, role)
    refuse_at_or_above(by, user)
    with transaction.atomic():
        locked = _locked(team)
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
    """The person is not in the team; nothing happens to who was not. Raises AboveYou to a token."""
    refuse_at_or_above(by, user)
    with transaction.atomic():
        if Membership.objects.filter(team=team, user=user).delete()[0]:
            audit.record(action="team.remove", by=by, now=now, target=team.name, person=user.username)


@dataclass(frozen=True, slots=True)
class MemberChange:
    """What somebody is in a team and shall be: a role, or None for no member."""

    team: Team
    user: User
    before: str | None
    after: str | None


def change_members(*, changes: Sequence[MemberChange], by: Author, now: datetime) -> None:
    """These people are in these teams so, each written down, in few queries for all of them.

    Within the caller's transaction, which has locked the teams, and for whom it is no question who asks.
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
    """Raise GrantRefused when an actor has less than a member with this role has by the team and by its grants."""
    refuse_more_than_own(by, Grant(ROLE_RIGHTS[Role(role)], teams=frozenset({team.pk})))
    for row in GrantRow.objects.filter(team=team):
        refuse_more_than_own(by, Grant.from_json(row.grant))


def _locked(team: Team) -> Team:
    """The team as it is now; nobody deletes it before the transaction ends."""
    locked = Team.objects.select_for_update().filter(pk=team.pk).first()
    if locked is None:
        raise TeamUnknown
    return locked


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise TeamRefused({"name": [gettext("A team needs a name.")]})
    if len(name) > LONGEST_NAME:
        raise TeamRefused({"name": [gettext("At most {longest_name} characters.").format(longest_name=LONGEST_NAME)]})
    if not name.isprintable():
        raise TeamRefused({"name": [gettext("The name has characters that cannot be shown.")]})
    return name
