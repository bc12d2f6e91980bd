"""Signing in and out stand in the audit log: Django and django-allauth say that it happened, this writes it down.

What somebody types as a name may be a password in the wrong field, so it is
only written when it is the name of an account.
"""

from collections.abc import Mapping
from typing import Any

from allauth.account.signals import password_changed
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models import Q
from django.utils import timezone

from dnspanel.accounts import audit
from dnspanel.accounts.models import User

UNKNOWN = "an unknown name"


def record_refusal(credentials: Mapping[str, Any]) -> None:
    """Somebody tried too often and was not let try again."""
    audit.record(action="sign-in.locked", by=None, now=timezone.now(), target=_account_named(credentials))


def connect() -> None:
    """From now on, every sign-in is written down."""
    user_logged_in.connect(_signed_in, dispatch_uid="audit-signed-in")
    user_logged_out.connect(_signed_out, dispatch_uid="audit-signed-out")
    user_login_failed.connect(_failed, dispatch_uid="audit-sign-in-failed")
    password_changed.connect(_password_changed, dispatch_uid="audit-password-changed")


def _signed_in(*, user: User, **signal: Any) -> None:
    audit.record(action="sign-in", by=user, now=timezone.now(), target=user.username)


def _signed_out(*, user: User | None, **signal: Any) -> None:
    if user is not None:  # else a session that had ended before
        audit.record(action="sign-out", by=user, now=timezone.now(), target=user.username)


def _failed(*, credentials: Mapping[str, Any], **signal: Any) -> None:
    audit.record(action="sign-in.failed", by=None, now=timezone.now(), target=_account_named(credentials))


def _password_changed(*, user: User, **signal: Any) -> None:
    audit.record(action="person.password", by=user, now=timezone.now(), target=user.username)


def _account_named(credentials: Mapping[str, Any]) -> str:
    """The name of the account that was asked for, if there is one."""
    typed = str(credentials.get("username") or credentials.get("email") or "").replace("\0", "")
    found = User.objects.filter(Q(username__iexact=typed) | Q(email__iexact=typed)).first() if typed else None
    return UNKNOWN if found is None else found.username
