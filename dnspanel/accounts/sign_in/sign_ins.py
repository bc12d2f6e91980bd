"""Record sign-ins, sign-outs and new passwords in the audit log when Django or django-allauth sends a signal.

A typed name is recorded only if an account has it, because users sometimes type their password into the name field.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from allauth.account.signals import password_changed
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.utils import timezone

from dnspanel.accounts.actors.find_people import account_named
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.sessions.sessions import forget_dead_sessions

UNKNOWN = "an unknown name"
# The address of a sign-in counts as known to the account for this time.
PLACES_KNOWN_FOR = timedelta(days=90)
_MOST_SIGN_INS = 500
_IPV6_PREFIX = 64  # IPv6 hosts change their addresses within such a prefix


def record_refusal(credentials: Mapping[str, Any]) -> None:
    """Record that sign-ins to the account in `credentials` are blocked after too many attempts."""
    audit.record(action="sign-in.locked", by=None, now=timezone.now(), target=_account_named(credentials))


def tries_key(credentials: Mapping[str, Any], address: str, now: datetime) -> str:
    """Return the key for counting wrong passwords and codes.

    If the account has signed in from this network before, the key contains the account and the network. Otherwise, it
    contains only the account. Strangers then share one counter and can't use up the owner's attempts. If no account has
    the typed name, the key is the typed name.
    """
    account = _account(credentials)
    if account is None:
        return f"typed:{_typed_name(credentials).lower()}"
    place = _place(address)
    recent = AuditEntry.objects.filter(user=account, action="sign-in", at__gt=now - PLACES_KNOWN_FOR)
    addresses = recent.order_by("-pk").values_list("address", flat=True)[:_MOST_SIGN_INS]
    is_known = place is not None and place in {_place(each) for each in addresses}
    return f"account:{account.pk}:{place}" if is_known else f"account:{account.pk}"


def connect() -> None:
    """Connect the signal handlers that record sign-ins, failed sign-ins, sign-outs and password changes."""
    user_logged_in.connect(_signed_in, dispatch_uid="audit-signed-in")
    user_logged_out.connect(_signed_out, dispatch_uid="audit-signed-out")
    user_login_failed.connect(_record_failure, dispatch_uid="audit-sign-in-failed")
    password_changed.connect(_password_changed, dispatch_uid="audit-password-changed")


def _signed_in(*, user: User, **signal: Any) -> None:
    now = timezone.now()
    audit.record(action="sign-in", by=user, now=now, target=user.username)
    forget_dead_sessions(user=user, now=now)


def _signed_out(*, user: User | None, **signal: Any) -> None:
    if user is not None:  # otherwise, the session had already ended
        audit.record(action="sign-out", by=user, now=timezone.now(), target=user.username)


def _record_failure(*, credentials: Mapping[str, Any], **signal: Any) -> None:
    audit.record(action="sign-in.failed", by=None, now=timezone.now(), target=_account_named(credentials))


def _password_changed(*, user: User, **signal: Any) -> None:
    audit.record(action="person.password", by=user, now=timezone.now(), target=user.username)


def _account_named(credentials: Mapping[str, Any]) -> str:
    """Return the user name of the account in a failed sign-in, or a placeholder if the account doesn't exist."""
    found = _account(credentials)
    return UNKNOWN if found is None else found.username


def _account(credentials: Mapping[str, Any]) -> User | None:
    return account_named(_typed_name(credentials))


def _typed_name(credentials: Mapping[str, Any]) -> str:
    return str(credentials.get("username") or credentials.get("email") or "").replace("\0", "")


def _place(address: str | None) -> IPv4Network | IPv6Network | None:
    """Return the network that counts as one place: an IPv4 address or a /64 IPv6 prefix, or None if invalid."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return None
    return ip_network((parsed, 32 if parsed.version == 4 else _IPV6_PREFIX), strict=False)
