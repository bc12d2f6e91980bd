"""Manage service accounts for programs. Their tokens stay valid when the creator's account is closed. Verbs."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Actor, Author, Permission, can, user_of
from dnspanel.accounts.actors.find_people import name_is_taken
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused, NotYours
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.rights.grant_edit import refuse_higher_role
from dnspanel.field_faults import name_taken
from dnspanel.texts import gettext, gettext_noop

_TAKEN = gettext_noop("A user with that username already exists.")


def create_service_account(*, name: str, role: str, by: Author, now: datetime) -> User:
    """Create an account without a password or email address. It can have teams, grants and tokens.

    Raise GrantRefused if the role exceeds the creator's rights, and AccountRefused if the name is invalid or in use.
    """
    role = Role(role)
    refuse_higher_role(by, role)
    account = User(username=name.strip(), role=role, is_service=True, date_joined=now)
    account.set_unusable_password()
    try:
        account.full_clean(exclude={"password", "email"}, validate_constraints=False)
    except ValidationError as exc:
        raise AccountRefused(exc.message_dict) from exc
    account.email = None  # clean() turns None into "", which must be unique
    if name_is_taken(account.username):
        raise AccountRefused({"username": [name_taken(gettext(_TAKEN))]})
    try:
        with transaction.atomic():
            account.save(force_insert=True)
            audit.record(action="person.service", by=by, now=now, target=account.username, role=role)
    except IntegrityError as exc:  # another request took the name after the check
        raise AccountRefused({"username": [name_taken(gettext(_TAKEN))]}) from exc
    return account


def refuse_tokens_of_another(*, owner: User, by: Author) -> None:
    """Raise NotYours if the author isn't allowed to see the secrets of the owner's tokens.

    Users can see the secrets of their own tokens. Users who manage accounts can also see the secrets of service
    accounts' tokens. The panel can see all secrets.
    """
    person = user_of(by)
    if person is None or person.pk == owner.pk:
        return
    assert isinstance(by, User | Actor)
    if not (owner.is_service and can(by, Permission.PEOPLE)):
        raise NotYours
