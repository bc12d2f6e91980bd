"""Set up and check second factors: authenticator app codes (TOTP, RFC 6238) and recovery codes. Verbs.

The rows and computations are django-allauth's. This module also stores two values in the row, under a lock, because
allauth only caches them. The time step of the last accepted code prevents a second use of the code. The list of wrong
codes limits guessing, and an attacker can't evict it by filling the cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import format_hotp_value, generate_totp_secret, hotp_value
from allauth.mfa.utils import decrypt, encrypt
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.db.models import F

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import CodeUsed, CodeWrong, SecondFactorMissing, SecondFactorSetUp, TooManyCodes
from dnspanel.accounts.models import User
from dnspanel.accounts.rights.grant_edit import refuse_to_open
from dnspanel.accounts.sign_in.sign_ins import tries_key

Type = Authenticator.Type

# (time, number): after this many wrong codes from one place, or all unknown places, correct codes are rejected too.
_WRONG_CODES = ((timedelta(minutes=5), 5), (timedelta(days=1), 20))
_MOST_COUNTED = 200  # wrong codes stored in a row
_STEP, _WRONG = "step", "wrong"  # next to allauth's data in the row
_NEW_SECRET = "second-factor-secret"


@dataclass(frozen=True, slots=True)
class SecondFactors:
    app: Authenticator | None = None
    codes: Authenticator | None = None
    passkeys: Sequence[Authenticator] = ()

    def __bool__(self) -> bool:
        """Return True if a sign-in needs a second factor. Recovery codes without an app or passkey don't count."""
        return bool(self.app or self.passkeys)

    @property
    def codes_left(self) -> int:
        return len(self.codes.wrap().get_unused_codes()) if self.codes else 0


def second_factors_of(user: User) -> SecondFactors:
    """Return the user's second factors. Uses one query."""
    rows = list(Authenticator.objects.filter(user=user).order_by("pk"))
    of_type = {row.type: row for row in rows}
    passkeys = tuple(row for row in rows if row.type == Type.WEBAUTHN)
    return SecondFactors(of_type.get(Type.TOTP), of_type.get(Type.RECOVERY_CODES), passkeys)


def begin_set_up(session: SessionBase) -> str:
    """Create a secret (Base32) for a new authenticator app. The session stores it encrypted until `set_up_app`."""
    secret = generate_totp_secret()
    session[_NEW_SECRET] = encrypt(secret)
    return str(secret)


def secret_being_set_up(session: SessionBase) -> str:
    """Return the secret that `begin_set_up` stored in the session, or "" if it stored none."""
    kept = session.get(_NEW_SECRET)
    return str(decrypt(kept)) if kept else ""


def set_up_app(*, user: User, session: SessionBase, code: str, now: datetime) -> list[str]:
    """Set up an authenticator app. Return new recovery codes, or an empty list if the user already had some.

    Raise CodeWrong unless the code matches the secret in the session, and SecondFactorSetUp if the user already has an
    app.
    """
    secret = secret_being_set_up(session)
    step = _step_of(secret, code, now) if secret else None
    if step is None:
        raise CodeWrong
    with transaction.atomic(durable=True):
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if Authenticator.objects.filter(user=user, type=Type.TOTP).exists():
            raise SecondFactorSetUp
        data = {"secret": encrypt(secret), _STEP: step}
        Authenticator.objects.create(user=user, type=Type.TOTP, data=data, created_at=now)
        codes = first_codes(user, now)
        audit.record(action="second-factor.set-up", by=user, now=now, target=user.username, kind="app")
    session.pop(_NEW_SECRET, None)
    return codes


def make_recovery_codes(*, user: User, now: datetime) -> list[str]:
    """Replace all recovery codes and return the new ones. Raise SecondFactorMissing without another second factor."""
    with transaction.atomic(durable=True):
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        rows = _lock_authenticators(user)
        if all(row.type == Type.RECOVERY_CODES for row in rows):
            raise SecondFactorMissing
        Authenticator.objects.filter(user=user, type=Type.RECOVERY_CODES).delete()
        codes = first_codes(user, now)
        audit.record(action="second-factor.codes", by=user, now=now, target=user.username)
    return codes


def remove_app(*, user: User, now: datetime) -> None:
    """Remove the user's authenticator app. If no second factor is left, also delete the recovery codes."""
    with transaction.atomic(durable=True):
        if Authenticator.objects.filter(user=user, type=Type.TOTP).delete()[0]:
            drop_lonely_codes(user)
            audit.record(action="second-factor.remove", by=user, now=now, target=user.username, kind="app")


def reset_second_factor(*, user: User, by: Author, now: datetime) -> None:
    """Remove all of the user's second factors and end all of the user's sessions. Do nothing for a user without any.

    `by` is None on the console. Raise the errors of `refuse_to_open`.
    """
    refuse_to_open(by, user)
    with transaction.atomic(durable=True):
        kinds = sorted({row.type for row in _lock_authenticators(user)})
        if kinds:
            Authenticator.objects.filter(user=user).delete()
            User.objects.filter(pk=user.pk).update(sessions_ended=F("sessions_ended") + 1)
            audit.record(action="second-factor.reset", by=by, now=now, target=user.username, kinds=kinds)


def use_code(*, user: User, code: str, address: str, now: datetime) -> Authenticator:
    """Check a code from the app, or a recovery code, and mark it as used. Return the second factor that it belongs to.

    If the same code is sent twice at the same time, only one use succeeds. Raise CodeUsed for a used code from the app,
    and CodeWrong for a wrong code. After many wrong codes, raise TooManyCodes, because even a correct code could be a
    guess.
    """
    key = tries_key({"username": user.username}, address, now)
    with transaction.atomic(durable=True):
        rows = _lock_authenticators(user)
        refusal = _refusal(user, rows, key, code, now)
        if isinstance(refusal, Authenticator):
            return refusal
    raise refusal


def _refusal(
    user: User, rows: list[Authenticator], key: str, code: str, now: datetime
) -> Authenticator | CodeWrong | CodeUsed | TooManyCodes:
    """Mark a correct code as used and return its second factor. Otherwise, return the error.

    An error is recorded unless the user has no second factor. Only wrong and used codes count towards the limit.
    """
    if not rows:
        return CodeWrong()
    counted = _wrong_codes(rows[0], now)
    if any(sum(at > now - window and whose == key for at, whose in counted) >= most for window, most in _WRONG_CODES):
        audit.record(action="second-factor.locked", by=None, now=now, target=user.username)
        return TooManyCodes()
    refusal: CodeWrong | CodeUsed = CodeWrong()
    for row in rows:
        if row.type == Type.TOTP:
            step = _step_of(decrypt(row.data["secret"]), code, now)
            if step is not None and step > row.data.get(_STEP, 0):
                row.data[_STEP] = step
                row.save(update_fields=["data"])
                return row
            refusal = CodeUsed() if step is not None else refusal
        elif row.type == Type.RECOVERY_CODES and row.wrap().validate_code(code):
            left = len(RecoveryCodes(Authenticator.objects.get(pk=row.pk)).get_unused_codes())
            audit.record(action="second-factor.recovery", by=user, now=now, target=user.username, left=left)
            return row
    wrong = [*counted, (now, key)][-_MOST_COUNTED:]
    rows[0].data[_WRONG] = [[at.timestamp(), whose] for at, whose in wrong]
    rows[0].save(update_fields=["data"])
    action = "second-factor.replayed" if isinstance(refusal, CodeUsed) else "second-factor.failed"
    audit.record(action=action, by=None, now=now, target=user.username)
    return refusal


def _lock_authenticators(user: User) -> list[Authenticator]:
    """Lock and return the user's second factors, with the app first."""
    rows = Authenticator.objects.select_for_update().filter(user=user).order_by("pk")
    return sorted(rows, key=lambda row: row.type != Type.TOTP)


def _wrong_codes(row: Authenticator, now: datetime) -> list[tuple[datetime, str]]:
    """Return recent wrong codes as pairs of time and the key from `tries_key`."""
    kept: list[Any] = row.data.get(_WRONG, [])
    found = [(datetime.fromtimestamp(at, now.tzinfo), str(key)) for at, key in kept]
    return [(at, key) for at, key in found if at > now - max(window for window, _ in _WRONG_CODES)]


def _step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the newest time step near `now` that has this code (RFC 6238, section 4.2), or None."""
    current, near = int(now.timestamp()) // app_settings.TOTP_PERIOD, app_settings.TOTP_TOLERANCE
    for step in range(current + near, current - near - 1, -1):
        if compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, step))):
            return step
    return None


def first_codes(user: User, now: datetime) -> list[str]:
    """Create and return recovery codes, which can't be shown again, or return [] if the user already has some."""
    if Authenticator.objects.filter(user=user, type=Type.RECOVERY_CODES).exists():
        return []
    codes = RecoveryCodes.activate(user)
    codes.instance.data["viewed_at"] = now.timestamp()
    codes.instance.save(update_fields=["data"])
    return list(codes.get_unused_codes())


def drop_lonely_codes(user: User) -> None:
    """Delete the recovery codes if the user has no other second factor. Runs inside the caller's transaction."""
    rows = Authenticator.objects.filter(user=user)
    if not rows.exclude(type=Type.RECOVERY_CODES).exists():
        rows.delete()
