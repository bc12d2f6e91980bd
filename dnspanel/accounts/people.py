"""Roles of people, and who may no longer sign in. Verbs."""

from datetime import datetime

from django.db import transaction

from dnspanel.accounts import audit
from dnspanel.accounts.actors import Author
from dnspanel.accounts.errors import LastAdministrator, PersonUnknown
from dnspanel.accounts.models import Role, User


def person_by_id(pk: int) -> User:
    """The person with this id, also one whose account is closed; raises PersonUnknown."""
    person = User.objects.filter(pk=pk).first()
    if person is None:
        raise PersonUnknown
    return person


def change_role(*, user: User, role: str, by: Author, now: datetime) -> None:
    """Give the person this role; raises LastAdministrator when nobody else would be left to administer."""
    role = Role(role)
    with transaction.atomic(durable=True):
        if role != Role.ADMINISTRATOR:
            _keep_an_administrator(without=user)
        before = User.objects.select_for_update(no_key=True).values_list("role", flat=True).get(pk=user.pk)
        if before != role:
            User.objects.filter(pk=user.pk).update(role=role)
            audit.record(action="person.role", by=by, now=now, target=user.username, role=role, before=before)
    user.role = role


def deactivate(*, user: User, by: Author, now: datetime) -> None:
    """From now on the person cannot sign in, and open sessions end; what they published stays theirs."""
    with transaction.atomic(durable=True):
        _keep_an_administrator(without=user)
        if User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
            audit.record(action="person.close", by=by, now=now, target=user.username)
    user.is_active = False


def reactivate(*, user: User, by: Author, now: datetime) -> None:
    """The person may sign in again."""
    with transaction.atomic(durable=True):
        if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
            audit.record(action="person.open", by=by, now=now, target=user.username)
    user.is_active = True


def _keep_an_administrator(*, without: User) -> None:
    """Lock the administrators, so that two of them cannot remove each other at the same moment."""
    administrators = User.objects.filter(role=Role.ADMINISTRATOR, is_active=True)
    left = list(administrators.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    if left == [without.pk]:
        raise LastAdministrator(without.username)
