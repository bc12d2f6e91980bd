"""One-time links that set a password: mailed after a forgotten password, or made by an administrator. Verbs.

Nothing is stored. As in Django's links, the signature covers facts that change when the link is used. It also covers
facts that change when sessions are ended, so that an old link does not open an account that was closed later.
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
    """Return the path after `/password/` of a link that sets this person's password within a day.

    Write an audit entry. The link becomes invalid when it is used, when the person signs in, or when their sessions are
    ended. If `by` is None, the person requested the link by mail. Raise AboveYou as `refuse_to_open` does,
    PersonUnknown for a service account, and AccountRefused for a person whose password an LDAP server checks.
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
    """Return the person whose password this link can set. Raise LinkDead if the link is invalid."""
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
    """Set the person's password and end all their sessions. Return the person.

    If the link is used twice at the same time, one use is refused. Raise LinkDead for an invalid link. Raise
    AccountRefused for a weak password; then the link stays valid.
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
