"""Accounts of programs: nobody signs in with one, and its tokens do not end with the person who made them. Verbs."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Actor, Author, can, user_of
from dnspanel.accounts.actors.find_people import name_is_taken
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused, NotYours
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.rights.grant_edit import refuse_higher_role
from dnspanel.texts import gettext, gettext_noop

_TAKEN = gettext_noop("A user with that username already exists.")


def create_service_account(*, name: str, role: str, by: Author, now: datetime) -> User:
    """The account exists, without a password and a mail address; it gets teams, grants and tokens as a person does.

    Raises GrantRefused for a role that may more than who makes it, AccountRefused for a name that cannot be.
    """
    role = Role(role)
    refuse_higher_role(by, role)
    account = User(username=name.strip(), role=role, is_service=True, date_joined=now)
    account.set_unusable_password()
    try:
        account.full_clean(exclude={"password", "email"}, validate_constraints=False)
    except ValidationError as exc:
        raise AccountRefused(exc.message_dict) from exc
    account.email = None  # cleaning makes it empty text, of which there can be but one
    if name_is_taken(account.username):
        raise AccountRefused({"username": [gettext(_TAKEN)]})
    try:
        with transaction.atomic():
            account.save(force_insert=True)
            audit.record(action="person.service", by=by, now=now, target=account.username, role=role)
    except IntegrityError as exc:  # somebody took the name since we looked
        raise AccountRefused({"username": [gettext(_TAKEN)]}) from exc
    return account


def refuse_tokens_of_another(*, owner: User, by: Author) -> None:
    """Raise NotYours where somebody would get the secret of a token that is another person's.

    Their own they may have; those of service accounts, whoever manages people; all of them, the panel itself.
    """
    person = user_of(by)
    if person is None or person.pk == owner.pk:
        return
    assert isinstance(by, User | Actor)
    if not (owner.is_service and can(by, Permission.PEOPLE)):
        raise NotYours
