"""Create, change and delete a directory's groups, and update their members' roles and teams. Verbs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused, DirectoryFull, GroupUnknown, Taken
from dnspanel.accounts.models import ScimDirectory, ScimGroup, ScimPerson, Team
from dnspanel.accounts.people.teams import create_team, rename_team
from dnspanel.accounts.providers.provider_identity import LONGEST_GROUP
from dnspanel.accounts.scim.gifts import give_by_groups, gives_anything, rules_of
from dnspanel.accounts.scim.locked import locked_directory, refuse_out_of_reach
from dnspanel.accounts.scim.scim_people import kept_people
from dnspanel.accounts.texts.canonical import ascii_lower
from dnspanel.accounts.texts.same_text import same_but_for_ascii_case
from dnspanel.texts import gettext

MOST_GROUPS = 2_000
MOST_MEMBERS = 2_000  # per group
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """A group as described by the directory. `members` are account ids."""

    name: str
    external_id: str = ""
    members: frozenset[int] = frozenset()


def groups_of(directory: ScimDirectory) -> "QuerySet[ScimGroup]":
    """Return a query for the directory's groups."""
    return ScimGroup.objects.filter(directory=directory)


def group_of(directory: ScimDirectory, pk: int) -> ScimGroup:
    """Return the directory's group with this id. Raise GroupUnknown if it doesn't exist."""
    group = groups_of(directory).filter(pk=pk).first() if 0 < pk <= _LARGEST_ID else None
    if group is None:
        raise GroupUnknown
    return group


def members_of(group: ScimGroup) -> frozenset[int]:
    """Return the ids of the group's accounts. Uses one query."""
    return frozenset(group.people.values_list("user_id", flat=True))


def create_group(*, directory: ScimDirectory, terms: GroupTerms, by: Author, now: datetime) -> ScimGroup:
    """Create a group and give its members the group's roles and teams.

    Raise AccountRefused or TeamRefused if the name is invalid, Taken if it is in use, and DirectoryFull if a limit is
    exceeded. Raise PersonUnknown for an unknown member, and DirectoryUnknown if the directory was deleted. Raise
    OutOfReach if the group would give something to an administrator whose role didn't come from the directory.
    """
    _refuse(terms)
    try:
        with transaction.atomic(durable=True):
            row = locked_directory(directory)
            if groups_of(row).count() >= MOST_GROUPS:
                raise DirectoryFull(MOST_GROUPS, "groups")
            group = ScimGroup.objects.create(
                directory=row,
                name=terms.name,
                external_id=terms.external_id,
                team=_team_of(row, terms.name, by, now),
                created_at=now,
                changed_at=now,
            )
            audit.record(action="scim.group", by=by, now=now, target=group.name, directory=row.name)
            _set_members(row, group, frozenset(), terms.members, by, now)
    except IntegrityError as exc:
        raise Taken(gettext("A group with this name already exists.")) from exc
    return group


def change_group(
    *, directory: ScimDirectory, pk: int, change: Callable[[ScimGroup], GroupTerms], by: Author, now: datetime
) -> ScimGroup:
    """Change a group to the values that `change` returns. The directory is locked until the commit.

    Raise the errors of `create_group` and of `change`, and GroupUnknown if the group doesn't exist.
    """
    try:
        with transaction.atomic(durable=True):
            row = locked_directory(directory)
            group = group_of(row, pk)
            terms = change(group)
            _refuse(terms)
            members = members_of(group)
            if (terms.name, terms.external_id, terms.members) == (group.name, group.external_id, members):
                return group
            if terms.name != group.name:
                _rename(row, group, terms.name, by, now)
            group.external_id, group.changed_at = terms.external_id, now
            ScimGroup.objects.filter(pk=group.pk).update(external_id=terms.external_id, changed_at=now)
            _set_members(row, group, members, terms.members, by, now)
    except IntegrityError as exc:
        raise Taken(gettext("A group with this name already exists.")) from exc
    return group


def delete_group(
    *, directory: ScimDirectory, pk: int, check: Callable[[ScimGroup], None], by: Author, now: datetime
) -> None:
    """Delete a group and take back the roles and teams that it gave. `check` can prevent this by raising an error.

    The group's own team is kept, because zones can belong to it. Raise GroupUnknown if the group doesn't exist, and
    OutOfReach as in `create_group`.
    """
    with transaction.atomic(durable=True):
        row = locked_directory(directory)
        group = group_of(row, pk)
        check(group)
        _set_members(row, group, members_of(group), frozenset(), by, now)
        ScimGroup.objects.filter(pk=group.pk).delete()
        audit.record(action="scim.ungroup", by=by, now=now, target=group.name, directory=row.name)


def set_teams(*, directory: ScimDirectory, by: Author, now: datetime) -> None:
    """Update each group's team after the directory's settings changed.

    If the directory's groups become teams, each group without a rule gets a team. A group loses its team if no
    administrator selects the team any longer and the directory didn't create it. The caller opens the transaction and
    locks the directory.
    """
    for group in groups_of(directory).select_related("team").order_by("pk"):
        kept = group.team if group.team is not None and _may_use(directory, group.team) else None
        team = kept or _team_of(directory, group.name, by, now)
        if team != group.team:
            ScimGroup.objects.filter(pk=group.pk).update(team=team)


def teams_not_selected(directory: ScimDirectory) -> list[Team]:
    """Return teams that groups of the same name can't use because no administrator selected them, sorted by name."""
    if not directory.team_role:
        return []
    ruled = {rule.group for rule in rules_of(directory)}
    names = {ascii_lower(name) for name in groups_of(directory).filter(team=None).values_list("name", flat=True)}
    names -= {ascii_lower(name) for name in ruled}
    return [team for team in Team.objects.order_by("name") if names and ascii_lower(team.name) in names]


def _rename(directory: ScimDirectory, group: ScimGroup, name: str, by: Author, now: datetime) -> None:
    """Rename the group and apply the rules for its new name. If no rule names the group, also rename its team.

    A team keeps its name if the directory didn't create it, because other users rely on that team. A group without a
    team gets one, as in `_team_of`. Raise OutOfReach as in `refuse_out_of_reach` for any member.
    """
    before, group.name = group.name, name
    ruled = {rule.group for rule in rules_of(directory)}
    if group.team is not None and not {before, name} & ruled:
        if group.team.made_by_directory_id == directory.pk:
            rename_team(team=group.team, name=name, by=by, now=now)
    elif group.team is None:
        group.team = _team_of(directory, name, by, now)
    ScimGroup.objects.filter(pk=group.pk).update(name=name, team=group.team)
    audit.record(action="scim.group", by=by, now=now, target=name, directory=directory.name, before=before)
    people = list(group.people.select_related("user").order_by("pk"))
    for person in people:
        refuse_out_of_reach(person)
    give_by_groups(directory=directory, people=people, by=by, now=now)


def _set_members(
    directory: ScimDirectory, group: ScimGroup, before: frozenset[int], after: frozenset[int], by: Author, now: datetime
) -> None:
    """Set the members. Give the group's roles and teams to added members, and take them back from removed ones."""
    added, removed = after - before, before - after
    if not added and not removed:
        return
    coming = kept_people(directory=directory, ids=added, by=by, now=now)
    leaving = ScimPerson.objects.filter(directory=directory, user_id__in=removed).select_related("user")
    going = list(leaving.order_by("pk"))  # if no other administrator is left, the last person here stays one
    if gives_anything(directory, group):
        for person in [*coming, *going]:
            refuse_out_of_reach(person)
    group.people.add(*coming)
    group.people.remove(*going)
    names = {"added": [one.user.username for one in coming], "removed": [one.user.username for one in going]}
    audit.record(action="scim.members", by=by, now=now, target=group.name, directory=directory.name, **names)
    if gives_anything(directory, group):
        give_by_groups(directory=directory, people=[*coming, *going], by=by, now=now)


def _team_of(directory: ScimDirectory, name: str, by: Author, now: datetime) -> Team | None:
    """Return the group's team. Create the team if necessary.

    Return None if the settings don't turn groups into teams, if a rule names the group, or if a team with this name
    exists but no administrator selected it.
    """
    if not directory.team_role or any(rule.group == name for rule in rules_of(directory)):
        return None
    team = Team.objects.filter(same_but_for_ascii_case("name", name)).first()
    if team is not None:
        return team if _may_use(directory, team) else None
    team = create_team(name=name, by=by, now=now)
    Team.objects.filter(pk=team.pk).update(made_by_directory=directory)
    team.made_by_directory = directory
    return team


def _may_use(directory: ScimDirectory, team: Team) -> bool:
    """Return True if the directory created the team, or an administrator selected it for the directory."""
    return team.made_by_directory_id == directory.pk or team.pk in directory.teams


def _refuse(terms: GroupTerms) -> None:
    if not terms.name or len(terms.name) > LONGEST_GROUP or not terms.name.isprintable():
        raise AccountRefused(
            {
                "displayName": [
                    gettext("Enter 1 to {longest_group} printable characters.").format(longest_group=LONGEST_GROUP)
                ]
            }
        )
    if len(terms.members) > MOST_MEMBERS:
        raise DirectoryFull(MOST_MEMBERS, gettext("members per group"))
