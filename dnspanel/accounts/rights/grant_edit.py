"""Give and delete grants, and check that their authors have the rights that they give. Verbs.

Administrators can give any right, because they have all rights. A token that manages users can't give more than its
scope allows.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors import name_patterns
from dnspanel.accounts.actors.actors import (
    ROLE_RIGHTS,
    Actor,
    Author,
    Grant,
    Permission,
    as_if_open,
    is_below,
    is_part,
    powers_of,
    user_of,
)
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AboveYou, AllRightsNeeded, GrantRefused, GrantUnknown, OpensMore
from dnspanel.accounts.models import GrantRow, Role, Team, User
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import not_found
from dnspanel.texts import gettext
from replication.dns import rdtypes

LONGEST_TAG = 64
MOST_ENTRIES = 1_000  # zones, tags or patterns in one grant
MOST_GRANTS = 100  # in one token
# Patterns with stars per grant and per token: each changed RRset is compared with all of them.
MOST_STARRED = 100
_LARGEST_ID = 2**31 - 1


def grant_by_id(pk: int) -> GrantRow:
    """Return the grant with this id. Raise GrantUnknown if it doesn't exist."""
    return first_or(GrantRow.objects.select_related("user", "team", "created_by").filter(pk=pk), GrantUnknown)


def give_grant(*, grant: Grant, to: User | Team, by: Author, now: datetime) -> GrantRow:
    """Give the grant to the user, or to every member of the team. The caller checks that the zones exist.

    Raise GrantRefused if the grant is invalid or exceeds the author's rights. Raise the errors of `refuse_at_or_above`.
    """
    refuse_bad_grant(grant)
    if isinstance(to, User):
        refuse_at_or_above(by, to)
    refuse_more_than_own(by, grant)
    person, team = (to, None) if isinstance(to, User) else (None, to)
    with transaction.atomic():
        row = GrantRow.objects.create(
            user=person, team=team, grant=grant.to_json(), created_by=user_of(by), created_at=now
        )
        audit.record(action="grant.give", by=by, now=now, target=receiver(row), grant=row.pk, **grant.to_json())
    return row


def take_grant(*, row: GrantRow, by: Author, now: datetime) -> None:
    """Delete a grant. Do nothing if it is already deleted. Raise the errors of `refuse_at_or_above`."""
    if row.user is not None:
        refuse_at_or_above(by, row.user)
    with transaction.atomic():
        if GrantRow.objects.filter(pk=row.pk).delete()[0]:
            audit.record(action="grant.take", by=by, now=now, target=receiver(row), grant=row.pk, **row.grant)


def receiver(row: GrantRow) -> str:
    """Return the name of the grant's user or team, for display."""
    if row.team is not None:
        return gettext("team {team}").format(team=row.team.name)
    return row.user.username if row.user else ""


def refuse_bad_grant(grant: Grant) -> None:
    """Raise GrantRefused with each invalid field of the grant."""
    faults: dict[str, list[str]] = {}
    if not grant.rights:
        faults["rights"] = [gettext("Select at least one right.")]
    faults |= _faults_of_zones(grant) | _faults_of_rrsets(grant)
    for field, entries in (("zones", grant.zones), ("tags", grant.tags), ("names", grant.names)):
        if len(entries) > MOST_ENTRIES:
            faults[field] = [gettext("Enter at most {most_entries:,} entries.").format(most_entries=MOST_ENTRIES)]
    if faults:
        raise GrantRefused(faults)


def _faults_of_zones(grant: Grant) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    if not (grant.everywhere or grant.zones or grant.tags or grant.teams):
        faults["zones"] = [gettext("Select all zones, or enter zones, tags or teams.")]
    if any(not 0 < zone_id <= _LARGEST_ID for zone_id in grant.zones):
        faults["zones"] = [not_found(gettext("Zone not found."))]
    if missing := _missing_teams(grant.teams):
        faults["teams"] = [not_found(gettext("No team has the ID {pk}.").format(pk=pk)) for pk in missing]
    if reasons := [reason for tag in sorted(grant.tags) if (reason := _fault_of_tag(tag))]:
        faults["tags"] = reasons
    return faults


def _faults_of_rrsets(grant: Grant) -> dict[str, list[str]]:
    faults: dict[str, list[str]] = {}
    if reasons := [reason for pattern in grant.names if (reason := name_patterns.fault(pattern))]:
        faults["names"] = reasons
    elif _count_starred([grant]) > MOST_STARRED:
        faults["names"] = [
            gettext("Use at most {most_starred} patterns with an asterisk.").format(most_starred=MOST_STARRED)
        ]
    if reasons := [reason for type_ in sorted(grant.types) if (reason := _fault_of_type(type_))]:
        faults["types"] = reasons
    return faults


def faults_of_scope(scope: Sequence[Grant]) -> list[str]:
    """Return the errors in a token's scope, each with its field, and with the grant's number if there are several."""
    if len(scope) > MOST_GRANTS:
        return [gettext("A token can have at most {most_grants} grants.").format(most_grants=MOST_GRANTS)]
    faults: list[str] = []
    for number, grant in enumerate(scope, 1):
        try:
            refuse_bad_grant(grant)
        except GrantRefused as exc:
            message = gettext("{field}: {reason}")
            if len(scope) > 1:
                message = gettext("grant {number}, {field}: {reason}")
            faults += [
                message.format(number=number, field=field, reason=reason)
                for field, reasons in exc.fields.items()
                for reason in reasons
            ]
    if not faults and _count_starred(scope) > MOST_STARRED:
        faults = [
            gettext("Use at most {most_starred} patterns with an asterisk across all grants.").format(
                most_starred=MOST_STARRED
            )
        ]
    return faults


def refuse_more_than_own(by: Author, grant: Grant) -> None:
    """Raise GrantRefused if the grant exceeds the actor's own rights, as compared by `grants.is_part`."""
    if isinstance(by, Actor) and not all(any(is_part(grant, mine) for mine in layer) for layer in by.layers):
        raise GrantRefused({"rights": [gettext("You can’t grant rights that you don’t have.")]})


def refuse_at_or_above(by: Author, user: User) -> None:
    """Raise AboveYou if a partial token would change its owner, or a user with the owner's role or a higher one.

    A partial token has fewer rights than its owner. Without this check, a thief with a token that only manages users
    could take over administrators' accounts.
    """
    if not isinstance(by, Actor) or by.token is None or _may_all_that_its_owner_may(by):
        return
    if not is_below(user.role, by.user.role):
        raise AboveYou(user.username)


def refuse_to_open(by: Author, user: User) -> None:
    """Raise OpensMore if a token would give access to an account that has more rights than the token.

    For example, a new password, second factor or token gives access. Also raise the errors of `refuse_at_or_above`.
    """
    refuse_at_or_above(by, user)
    if not isinstance(by, Actor) or by.token is None:
        return
    theirs = as_if_open(user)
    rights = all(any(is_part(grant, mine) for mine in layer) for layer in by.layers for grant in theirs.grants)
    if not rights or not theirs.permissions - {Permission.SECRETS} <= by.permissions:
        raise OpensMore(user.username)


def refuse_partial_token(by: Author, user: User) -> None:
    """Raise OpensMore if a token with fewer rights than its owner would decide who owns this account."""
    if isinstance(by, Actor) and by.token is not None and not _may_all_that_its_owner_may(by):
        raise OpensMore(user.username)


def _may_all_that_its_owner_may(by: Actor) -> bool:
    everywhere = Grant(ROLE_RIGHTS.get(Role(by.user.role), frozenset()), everywhere=True)
    return powers_of(by.user.role) <= by.permissions and any(is_part(everywhere, mine) for mine in by.scope or ())


def refuse_more_permissions(by: Author, permissions: Collection[Permission]) -> None:
    """Raise GrantRefused if the permissions exceed the actor's own. SECRETS isn't checked."""
    if isinstance(by, Actor) and not set(permissions) - {Permission.SECRETS} <= by.permissions:
        raise GrantRefused({"role": [gettext("You can’t assign a role with more rights than you have.")]})


def refuse_higher_role(by: Author, role: str) -> None:
    """Raise GrantRefused if the role has more rights than the actor who gives it."""
    if not isinstance(by, Actor):
        return
    refuse_more_permissions(by, powers_of(role))
    rights = ROLE_RIGHTS.get(Role(role))
    if rights is not None:
        refuse_more_than_own(by, Grant(rights, everywhere=True))


def require_all_rights(by: Author) -> None:
    """Raise AllRightsNeeded unless the actor has all rights of an administrator."""
    try:
        refuse_higher_role(by, Role.ADMINISTRATOR)
    except GrantRefused as exc:
        raise AllRightsNeeded from exc


def _missing_teams(team_ids: Iterable[int]) -> list[int]:
    team_ids = set(team_ids)
    possible = [pk for pk in team_ids if 0 < pk <= _LARGEST_ID]
    known = set(Team.objects.filter(pk__in=possible).values_list("pk", flat=True))
    return sorted(team_ids - known)


def _count_starred(scope: Iterable[Grant]) -> int:
    return sum(bool(name_patterns.stars(pattern)) for grant in scope for pattern in grant.names)


def _fault_of_tag(tag: str) -> str:
    if not tag or tag != tag.strip().lower() or not tag.isprintable():
        return gettext("{tag!a} isn’t a valid tag. Use lowercase letters, without spaces at the start or end.").format(
            tag=tag
        )
    return (
        ""
        if len(tag) <= LONGEST_TAG
        else gettext("A tag can have at most {longest_tag} characters.").format(longest_tag=LONGEST_TAG)
    )


def _fault_of_type(type: int) -> str:
    if not 0 < type <= 0xFFFF:
        return gettext("{type} isn’t a valid record type number.").format(type=type)
    return rdtypes.refusal(type) or ""
