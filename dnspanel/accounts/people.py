"""Roles of people, and who may no longer sign in. Verbs.

A token that may less than its owner changes nobody at or above the owner: AboveYou.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from dnspanel.accounts import audit
from dnspanel.accounts.actors import Author
from dnspanel.accounts.errors import LastAdministrator, PersonUnknown
from dnspanel.accounts.grant_edit import refuse_at_or_above, refuse_higher_role
from dnspanel.accounts.models import Invitation, Role, Token, User
from dnspanel.accounts.tokens import revoke_token


def person_by_id(pk: int) -> User:
    """The person with this id, also one whose account is closed; raises PersonUnknown."""
    person = User.objects.filter(pk=pk).first()
    if person is None:
        raise PersonUnknown
    return person


def change_role(*, user: User, role: str, by: Author, now: datetime) -> None:
    """Give the person this role; who does not manage people any more leaves no invitation behind.

    Raises LastAdministrator when nobody else would be left to administer,
    GrantRefused for a role that may more than a token, AboveYou.
    """
    role = Role(role)
    refuse_at_or_above(by, user)
    refuse_higher_role(by, role)
    with transaction.atomic(durable=True):
        if role != Role.ADMINISTRATOR:
            _keep_an_administrator(without=user)
        before = User.objects.select_for_update(no_key=True).values_list("role", flat=True).get(pk=user.pk)
        if before != role:
            User.objects.filter(pk=user.pk).update(role=role)
            audit.record(action="person.role", by=by, now=now, target=user.username, role=role, before=before)
            if before == Role.ADMINISTRATOR:
                _end_invitations(user, now)
    user.role = role


def deactivate(*, user: User, by: Author, now: datetime) -> None:
    """The person cannot sign in; sessions, tokens, keys and invitations of theirs end for good.

    What they published stays theirs. Raises LastAdministrator, AboveYou.
    """
    refuse_at_or_above(by, user)
    with transaction.atomic(durable=True):
        _keep_an_administrator(without=user)
        closing = User.objects.filter(pk=user.pk, is_active=True)
        if closing.update(is_active=False, sessions_ended=F("sessions_ended") + 1):
            audit.record(action="person.close", by=by, now=now, target=user.username)
            _end_invitations(user, now)
            for token in Token.objects.filter(owner=user, revoked_at=None).order_by("pk"):
                revoke_token(token=token, by=by, now=now)
    user.is_active = False


def reactivate(*, user: User, by: Author, now: datetime) -> None:
    """The person may sign in again; no session and no token of before comes back. Raises AboveYou."""
    refuse_at_or_above(by, user)
    with transaction.atomic(durable=True):
        if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
            audit.record(action="person.open", by=by, now=now, target=user.username)
    user.is_active = True


def _end_invitations(user: User, now: datetime) -> None:
    """Links that this person made, and nobody has used, make no account any more."""
    Invitation.objects.filter(created_by=user, used_at=None, expires_at__gt=now).update(expires_at=now)


def _keep_an_administrator(*, without: User) -> None:
    """Lock the administrators, so that two of them cannot remove each other at the same moment."""
    administrators = User.objects.filter(role=Role.ADMINISTRATOR, is_active=True)
    left = list(administrators.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    if left == [without.pk]:
        raise LastAdministrator(without.username)
