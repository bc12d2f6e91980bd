"""Create and use one-time links that set a password, mailed on request or created by an administrator. Verbs.

Links aren't stored. As in Django, a link's signature covers values that change when the link is used. It also covers
the number of times that all sessions were ended, so that a link doesn't work again after an account was closed and
reopened.
"""

from datetime import datetime

from django.contrib.auth import password_validation
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.http import base36_to_int, int_to_base36

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused, LinkDead, PersonUnknown
from dnspanel.accounts.models import Session, User
from dnspanel.accounts.rights.grant_edit import refuse_to_open
from dnspanel.texts import gettext

_LONGEST_ID = 13  # base-36 digits of an id


class _Links(PasswordResetTokenGenerator):
    key_salt = "dnspanel.accounts.sign_in.password_links"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.sessions_ended}{user.is_active}"


_links = _Links()


def make_password_link(*, user: User, by: Author, now: datetime) -> str:
    """Return a link that sets this user's password and is valid for a day, as the path after `/password/`.

    Write an audit entry. The link becomes invalid when it is used or the user signs in. A new password or email
    address, a closed account and ended sessions also make the link invalid. `by` is None for a link requested by mail
    or on the console. Raise the errors of `refuse_to_open`, PersonUnknown for a service account, and AccountRefused for
    a user whose password an LDAP server checks.
    """
    refuse_to_open(by, user)
    if user.signs_in_by_ldap:
        raise AccountRefused(
            {
                "password": [
                    gettext("{username} uses a password from an LDAP server, which can only be changed there.").format(
                        username=user.username
                    )
                ]
            }
        )
    if user.is_service:
        raise PersonUnknown
    audit.record(action="person.password-link", by=by, now=now, target=user.username)
    return f"{int_to_base36(user.pk)}-{_links.make_token(user)}"


def person_of_link(link: str) -> User:
    """Return the user whose password this link can set. Raise LinkDead if the link is invalid."""
    pk, _, token = link.partition("-")
    people = User.objects.filter(is_active=True, is_service=False)
    try:
        user = people.filter(pk=base36_to_int(pk)).first() if len(pk) <= _LONGEST_ID else None
    except (ValueError, OverflowError):
        user = None
    if user is None or not _links.check_token(user, token):
        raise LinkDead
    return user


def set_password_by_link(*, link: str, password: str, now: datetime) -> User:
    """Set the user's password and end all of the user's sessions. Return the user.

    If the link is used twice at the same time, only one use succeeds. Raise LinkDead if the link is invalid. Raise
    AccountRefused if the password is weak; the link then stays valid.
    """
    user = person_of_link(link)
    try:
        password_validation.validate_password(password, user)
    except ValidationError as exc:
        raise AccountRefused({"password": list(exc.messages)}) from exc
    with transaction.atomic(durable=True):
        locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if not locked.is_active or not _links.check_token(locked, link.partition("-")[2]):
            raise LinkDead
        locked.set_password(password)
        locked.save(update_fields=["password"])
        Session.objects.filter(user=locked).delete()
        audit.record(action="person.password", by=locked, now=now, target=locked.username, by_link=True)
    return locked
