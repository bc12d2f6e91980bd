"""Accounts of which one human being has more than one, so that nobody approves what they asked for themselves. Verbs.

An administrator has an account for daily work and another one for the rest; a service account does what somebody
tells it. Whoever manages people says which belong together.
"""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused
from dnspanel.accounts.models import User
from dnspanel.accounts.rights.grant_edit import refuse_partial_token
from dnspanel.texts import gettext


def set_same_person(*, user: User, other: User | None, by: Author, now: datetime) -> None:
    """The account is of the same person as `other` and all other accounts of theirs; with None, of nobody else.

    Raises AccountRefused for an account with itself, and to whom they are the accounts that were said to belong
    together: they would approve their own changes. OpensMore to a token that may less than its owner.
    """
    refuse_partial_token(by, user)
    if other is not None:
        refuse_partial_token(by, other)
    with transaction.atomic(durable=True):
        wanted = {user.pk} | ({other.pk} if other is not None else set())
        accounts = {found.pk: found for found in _locked(wanted)}
        before, after = accounts[user.pk], accounts.get(other.pk) if other is not None else None
        if after is not None and after.pk == before.pk:
            raise AccountRefused({"same_person_as": [gettext("Name another account.")]})
        human = None if after is None else after.human_id
        if human == before.human_id or (human is None and before.same_person_as_id is None):
            return
        if before.same_person_as_id is not None and _is_one_of(user_of(by), before.human_id):
            raise AccountRefused(
                {"same_person_as": [gettext("These are accounts of yours: somebody else takes them apart.")]}
            )
        User.objects.filter(Q(pk=before.pk) | Q(same_person_as=before.pk)).update(same_person_as=human)
        told = {"other": after.username if after is not None else ""}
        audit.record(action="person.same", by=by, now=now, target=before.username, **told)
    user.same_person_as_id = human


def humans_of(ids: Collection[int]) -> dict[int, int]:
    """Account → which human being it is (`User.human_id`). One query."""
    found = User.objects.filter(pk__in=ids).values_list("pk", Coalesce("same_person_as", "pk"))
    return dict(found)


def accounts_of(user: User) -> list[User]:
    """The other accounts of whom this one is, by name."""
    human = user.human_id
    return list(User.objects.filter(Q(pk=human) | Q(same_person_as=human)).exclude(pk=user.pk).order_by("username"))


def _locked(ids: Collection[int]) -> list[User]:
    return list(User.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))


def _is_one_of(user: User | None, human: int) -> bool:
    return user is not None and user.human_id == human
