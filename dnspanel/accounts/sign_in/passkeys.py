"""Add, remove and check passkeys (WebAuthn), used as a second factor or instead of a password. Verbs.

django-allauth and python-fido2 implement WebAuthn. This module treats browser data as untrusted. The challenge is
stored in the session, and the first correct response deletes it.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from fido2.webauthn import UserVerificationRequirement

from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import PasskeyRefused, PasskeyUnknown
from dnspanel.accounts.models import User
from dnspanel.accounts.sign_in.second_factor import Type, drop_lonely_codes, first_codes
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext

MOST_PASSKEYS = 20
# JSON characters from a browser. Keys need hundreds; certificates sent with them need some thousands.
LONGEST_CREDENTIAL = 20_000
LONGEST_NAME = 60
# The errors of allauth and python-fido2 for meaningless JSON, Base64 and CBOR.
_FAULTS = (
    *(LookupError, TypeError, ValueError, AttributeError, AssertionError, NotImplementedError),
    *(RecursionError, struct.error, ValidationError),
)


def are_possible() -> bool:
    """Return True if browsers allow passkeys at PANEL_URL, which needs https and a host name, or localhost."""
    url = urlsplit(settings.PANEL_URL)
    host = url.hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return bool(host) and (url.scheme == "https" or host == "localhost" or host.endswith(".localhost"))
    return False


def begin_adding(user: User) -> dict[str, Any]:
    """Return the browser's options for creating a passkey. Store the challenge in the session."""
    return dict(auth.begin_registration(user, passwordless=False))


def begin_using(user: User | None) -> dict[str, Any]:
    """Return the browser's options for using a passkey of `user` (None: anyone). Store the challenge in the session."""
    return dict(auth.begin_authentication(user))


def add_passkey(*, user: User, name: str, credential: Any, alone: bool, now: datetime) -> list[str]:
    """Add a passkey as a second factor. Return new recovery codes, or an empty list if the user already had some.

    If `alone` is True, the passkey must have verified the user, and can then be used without a password. Raise
    PasskeyRefused if the browser's response isn't valid, the passkey exists, or the user has too many passkeys.
    """
    with _read_as_outside_text():
        registered = auth.complete_registration(credential)
        auth.parse_registration_response(credential)
        if alone and not registered.is_user_verified():
            raise PasskeyRefused
        if auth.get_authenticator_by_credential_id(user, registered.credential_data.credential_id) is not None:
            raise PasskeyRefused
    with transaction.atomic(durable=True):
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if Authenticator.objects.filter(user=user, type=Type.WEBAUTHN).count() >= MOST_PASSKEYS:
            raise PasskeyRefused(
                gettext("The maximum is {most_passkeys} passkeys.").format(most_passkeys=MOST_PASSKEYS)
            )
        Authenticator.objects.create(
            user=user, type=Type.WEBAUTHN, data={"name": name[:LONGEST_NAME], "credential": credential}, created_at=now
        )
        codes = first_codes(user, now)
        audit.record(action="second-factor.set-up", by=user, now=now, target=user.username, kind="passkey", name=name)
    return codes


def remove_passkey(*, user: User, pk: int, now: datetime) -> None:
    """Remove one of the user's own passkeys. Raise PasskeyUnknown if it doesn't exist.

    If no second factor is left, also delete the recovery codes.
    """
    with transaction.atomic(durable=True):
        row = first_or(Authenticator.objects.filter(user=user, type=Type.WEBAUTHN, pk=pk), PasskeyUnknown)
        row.delete()
        drop_lonely_codes(user)
        audit.record(
            action="second-factor.remove", by=user, now=now, target=user.username, kind="passkey", name=row.wrap().name
        )


def check_passkey(*, user: User, credential: Any, now: datetime) -> Authenticator:
    """Return the user's passkey that answered this session's challenge.

    If the response isn't valid, record the failure and raise PasskeyRefused.
    """
    try:
        with _read_as_outside_text():
            auth.parse_authentication_response(credential)
            row: Authenticator = auth.complete_authentication(user, credential)
    except PasskeyRefused:
        audit.record(action="second-factor.failed", by=None, now=now, target=user.username, kind="passkey")
        raise
    row.user = user
    return row


def sign_in_by_passkey(*, credential: Any, now: datetime) -> Authenticator:
    """Return the passkey for a sign-in without a password.

    Raise PasskeyRefused unless a passkey of an open account answered `begin_using(None)` and verified its user. A wrong
    response for an open account is also recorded in the audit log.
    """
    state = auth.get_state() or {}
    # A second factor's challenge can be answered without user verification.
    if state.get("user_verification") != UserVerificationRequirement.REQUIRED:
        raise PasskeyRefused
    with _read_as_outside_text():
        auth.parse_authentication_response(credential)
        user = auth.extract_user_from_response(credential)
    if not user.is_active or user.is_service:
        raise PasskeyRefused
    try:
        with _read_as_outside_text():
            row: Authenticator = auth.complete_authentication(user, credential)
    except PasskeyRefused:
        audit.record(action="sign-in.failed", by=None, now=now, target=user.username, kind="passkey")
        raise
    row.user = user
    return row


@contextmanager
def _read_as_outside_text() -> Iterator[None]:
    """Convert any error from parsing browser data within the block to PasskeyRefused."""
    try:
        yield
    except _FAULTS as exc:
        raise PasskeyRefused from exc
