"""Link the accounts of one human being, so that people can't approve their own requests. Verbs.

For example, an administrator can have a second account for daily work. A service account that carries out a person's
decisions is linked to that person. Users who manage accounts create these links.
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
    """Link the account, and accounts linked to it, to the person of `other`. If None, remove the account's own link.

    Other accounts that were linked to each other stay linked.

    Raise AccountRefused if both are the same account, or if the author would undo a link between the author's own
    accounts, because the author could then approve their own changes. Raise OpensMore for a token with fewer rights
    than its owner.
    """
    refuse_partial_token(by, user)
    if other is not None:
        refuse_partial_token(by, other)
    with transaction.atomic(durable=True):
        wanted = {user.pk} | ({other.pk} if other is not None else set())
        accounts = {
            found.pk: found
            for found in User.objects.select_for_update(no_key=True).filter(pk__in=wanted).order_by("pk")
        }
        before, after = accounts[user.pk], accounts.get(other.pk) if other is not None else None
        if after is not None and after.pk == before.pk:
            raise AccountRefused({"same_person_as": [gettext("Enter the name of another account.")]})
        human = None if after is None else after.human_id
        linked = User.objects.filter(same_person_as=before.pk)
        is_alone = before.same_person_as_id is None and not linked.exists()
        if human == before.human_id or (human is None and is_alone):
            return
        if (human is None or before.same_person_as_id is not None) and _is_one_of(user_of(by), before.human_id):
            raise AccountRefused(
                {"same_person_as": [gettext("You own both accounts. Another person must unlink these accounts.")]}
            )
        if human is None and (heir := linked.order_by("pk").first()) is not None:
            linked.exclude(pk=heir.pk).update(same_person_as=heir)  # the others stay linked to each other
        User.objects.filter(Q(pk=before.pk) | Q(same_person_as=before.pk)).update(same_person_as=human)
        told = {"other": after.username if after is not None else ""}
        audit.record(action="person.same", by=by, now=now, target=before.username, **told)
    user.same_person_as_id = human


def humans_of(ids: Collection[int]) -> dict[int, int]:
    """Map each account id to the id of the human being behind the account (`User.human_id`). Uses one query."""
    found = User.objects.filter(pk__in=ids).values_list("pk", Coalesce("same_person_as", "pk"))
    return dict(found)


def accounts_of(user: User) -> list[User]:
    """Return the other accounts that belong to the same person as `user`, sorted by user name."""
    human = user.human_id
    return list(User.objects.filter(Q(pk=human) | Q(same_person_as=human)).exclude(pk=user.pk).order_by("username"))


def _is_one_of(user: User | None, human: int) -> bool:
    return user is not None and user.human_id == human
