"""Change users' roles, and close and reopen accounts. Verbs.

Functions that check rights raise AboveYou for a token with fewer rights than its owner, if it would change a user with
the owner's role or a higher one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import LastAdministrator, PersonUnknown
from dnspanel.accounts.models import Invitation, OwnRole, Role, Token, User
from dnspanel.accounts.rights.grant_edit import refuse_at_or_above, refuse_higher_role, refuse_to_open
from dnspanel.accounts.rights.own_roles import refuse_to_give
from dnspanel.accounts.tokens.tokens import end_token
from dnspanel.database.first_rows import first_or


def person_by_id(pk: int) -> User:
    """Return the user with this id, even if the account is closed. Raise PersonUnknown if no such user exists."""
    return first_or(User.objects.filter(pk=pk), PersonUnknown)


def change_role(*, user: User, role: str, by: Author, now: datetime, own_role: OwnRole | None = None) -> None:
    """Change the user's role. If an administrator is demoted, the invitations that the user created expire.

    If `own_role` is given, the user gets this custom role, and `role` must be MEMBER. Raise LastAdministrator if no
    other administrator would be left, and GrantRefused or AboveYou for a token without the necessary rights.
    """
    role = Role(role)
    assert own_role is None or role == Role.MEMBER
    refuse_at_or_above(by, user)
    refuse_higher_role(by, role)
    if own_role is not None:
        refuse_to_give(by, own_role)
    with transaction.atomic(durable=True):
        set_role(user=user, role=role, own_role=own_role, by=by, now=now)
    user.role, user.own_role = role, own_role


def set_role(
    *, user: User, role: Role, by: Author, now: datetime, own_role: OwnRole | None = None, **details: str
) -> None:
    """Change the role like `change_role`, but without checking rights, inside the caller's transaction."""
    if set_roles(changes=[RoleChange(user, role, own_role)], by=by, now=now, **details):
        raise LastAdministrator(user.username)


@dataclass(frozen=True, slots=True)
class RoleChange:
    user: User
    role: Role
    own_role: OwnRole | None = None


def set_roles(*, changes: Sequence[RoleChange], by: Author, now: datetime, **details: str) -> list[User]:
    """Change the roles of many users and write each change to the audit log. Return users whose change was skipped.

    The list has at most one user: if no administrator would be left, the last demotion is skipped. The open invitations
    of demoted administrators expire. Rights aren't checked, and the caller opens the transaction. The number of queries
    doesn't depend on the number of users.
    """
    wanted = {change.user.pk: change for change in changes}
    # Lock administrators first, as `_keep_an_administrator` does, so that all role changes wait for the same rows.
    administrators = set(locked_administrators().values_list("pk", flat=True))
    rows = User.objects.select_for_update(no_key=True, of=("self",)).select_related("own_role")
    found = {user.pk: user for user in rows.filter(pk__in=wanted).order_by("pk")}
    kept = _who_stays(administrators, [change for pk, change in wanted.items() if pk in found], found)
    real = [
        (before, wanted[pk])
        for pk, before in found.items()
        if pk not in kept and (before.role, before.own_role) != (wanted[pk].role, wanted[pk].own_role)
    ]
    alike: dict[tuple[Role, OwnRole | None], list[int]] = {}
    for before, change in real:
        alike.setdefault((change.role, change.own_role), []).append(before.pk)
    for (role, own_role), ids in alike.items():
        User.objects.filter(pk__in=ids).update(role=role, own_role=own_role)
    audit.record_all(
        action="person.role",
        by=by,
        now=now,
        entries=[(change.user.username, {**_role_names(before, change), **details}) for before, change in real],
    )
    if unmade := [before.pk for before, _ in real if before.role == Role.ADMINISTRATOR]:
        _end_invitations(unmade, now)
    return [wanted[pk].user for pk in kept]


def deactivate(*, user: User, by: Author, now: datetime) -> None:
    """Close the account. The user's sessions, tokens and open invitations end permanently, but publications remain.

    Raise LastAdministrator if no other administrator is left, or AboveYou for a token without the necessary rights.
    """
    refuse_at_or_above(by, user)
    with transaction.atomic(durable=True):
        close_account(user=user, by=by, now=now)
    user.is_active = False


def close_account(*, user: User, by: Author, now: datetime, **details: str) -> None:
    """Close the account like `deactivate`, but without checking rights, inside the caller's transaction."""
    _keep_an_administrator(without=user)
    closing = User.objects.filter(pk=user.pk, is_active=True)
    if closing.update(is_active=False, sessions_ended=F("sessions_ended") + 1):
        audit.record(action="person.close", by=by, now=now, target=user.username, **details)
        _end_invitations([user.pk], now)
        for token in Token.objects.filter(owner=user, revoked_at=None).order_by("pk"):
            end_token(token=token, by=by, now=now)


def reactivate(*, user: User, by: Author, now: datetime) -> None:
    """Reopen a closed account. Its old sessions and tokens stay invalid. Raise the errors of `refuse_to_open`."""
    refuse_to_open(by, user)
    with transaction.atomic(durable=True):
        open_account(user=user, by=by, now=now)
    user.is_active = True


def open_account(*, user: User, by: Author, now: datetime, **details: str) -> None:
    """Reopen the account like `reactivate`, but without checking rights, inside the caller's transaction."""
    if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
        audit.record(action="person.open", by=by, now=now, target=user.username, **details)


def locked_administrators() -> "QuerySet[User]":
    """Return a query that locks the administrators with open accounts."""
    administrators = User.objects.filter(role=Role.ADMINISTRATOR, is_active=True)
    return administrators.select_for_update(no_key=True).order_by("pk")


def _role_names(before: User, change: RoleChange) -> dict[str, str]:
    """Return the new and the previous role as details for the audit log."""
    return {
        "role": change.own_role.name if change.own_role else change.role,
        "before": str(before.own_role or before.role),
    }


def _who_stays(
    administrators: Collection[int], changes: Sequence[RoleChange], found: Mapping[int, User]
) -> frozenset[int]:
    """Return a set with the administrator whose demotion must be skipped, or an empty set if another one is left."""
    after = {change.user.pk: change.role == Role.ADMINISTRATOR for change in changes}
    leaving = [pk for pk, stays in after.items() if pk in administrators and not stays]
    stay = set(administrators) - set(leaving)
    come = {pk for pk, stays in after.items() if stays and found[pk].is_active}
    return frozenset(leaving[-1:]) if leaving and not stay and not come else frozenset()


def _end_invitations(user_ids: Collection[int], now: datetime) -> None:
    """Expire the unused invitations that these users created."""
    open_ones = Invitation.objects.filter(created_by__in=user_ids, used_at=None, expires_at__gt=now)
    open_ones.update(expires_at=now)


def _keep_an_administrator(*, without: User) -> None:
    """Raise LastAdministrator if `without` is the only administrator with an open account.

    Lock the administrators, so that two of them can't remove each other at the same time.
    """
    if list(locked_administrators().values_list("pk", flat=True)) == [without.pk]:
        raise LastAdministrator(without.username)
