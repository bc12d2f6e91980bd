"""Roles of people, and who may no longer sign in."""

from django.db import transaction

from dnspanel.accounts.errors import LastAdministrator
from dnspanel.accounts.models import Role, User


def change_role(*, user: User, role: str) -> None:
    """Give the person this role; raises LastAdministrator when nobody else would be left to administer."""
    role = Role(role)
    with transaction.atomic(durable=True):
        if role != Role.ADMINISTRATOR:
            _keep_an_administrator(without=user)
        User.objects.filter(pk=user.pk).update(role=role)
    user.role = role


def deactivate(*, user: User) -> None:
    """From now on the person cannot sign in, and open sessions end; what they published stays theirs."""
    with transaction.atomic(durable=True):
        _keep_an_administrator(without=user)
        User.objects.filter(pk=user.pk).update(is_active=False)
    user.is_active = False


def reactivate(*, user: User) -> None:
    """The person may sign in again."""
    User.objects.filter(pk=user.pk).update(is_active=True)
    user.is_active = True


def _keep_an_administrator(*, without: User) -> None:
    """Lock the administrators, so that two of them cannot remove each other at the same moment."""
    administrators = User.objects.filter(role=Role.ADMINISTRATOR, is_active=True)
    left = list(administrators.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    if left == [without.pk]:
        raise LastAdministrator(without.username)
