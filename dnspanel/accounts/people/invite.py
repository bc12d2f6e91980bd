"""Create and accept invitations, which are one-time links for creating one account each. Verbs."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.accounts.actors.find_people import mail_is_taken, name_is_taken
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused, InvitationExpired, InvitationUnknown, InvitationUsed
from dnspanel.accounts.models import Invitation, Role, User
from dnspanel.accounts.rights.grant_edit import refuse_higher_role
from dnspanel.accounts.texts.canonical import canonical_mail
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import name_taken
from dnspanel.texts import gettext

LIFETIME = timedelta(hours=48)
SECRET_BYTES = 32


def make_invitation(*, role: str, by: Author, now: datetime, lifetime: timedelta = LIFETIME) -> str:
    """Create an invitation and return its secret. Only a hash is stored, so the secret can be shown only once.

    `by` is None on the console. Raise GrantRefused if the role has more rights than the inviting token.
    """
    refuse_higher_role(by, role)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            secret_sha256=_sha256(secret),
            role=Role(role),
            created_by=user_of(by),
            created_at=now,
            expires_at=now + lifetime,
        )
        audit.record(action="person.invite", by=by, now=now, role=role, invitation=invitation.pk)
    return secret


def open_invitation(secret: str, now: datetime) -> Invitation:
    """Return the invitation with this secret. Raise BadInvitation if it doesn't exist, was used or has expired."""
    invitation = first_or(Invitation.objects.filter(secret_sha256=_sha256(secret)), InvitationUnknown)
    if invitation.used_at is not None:
        raise InvitationUsed
    if invitation.expires_at <= now:
        raise InvitationExpired(invitation.expires_at)
    return invitation


def accept_invitation(*, secret: str, username: str, email: str, password: str, now: datetime) -> User:
    """Create the account for an invitation. An invitation can be used only once, even by simultaneous calls.

    Raise BadInvitation if the invitation is unknown, used or expired. Raise AccountRefused if a field is invalid, or if
    the name or email address is in use, without using up the invitation.
    """
    invitation = open_invitation(secret, now)
    mail = canonical_mail(email.strip()) or email.strip()
    user = User(username=username.strip(), email=mail, role=invitation.role, date_joined=now)
    _refuse_bad_fields(user, password)
    user.set_password(password)
    try:
        _claim(invitation, user, now)
    except IntegrityError as exc:  # another request took the name or address after the check
        raise AccountRefused(
            {"username": [name_taken(gettext("Someone else has just taken this name or email address."))]}
        ) from exc
    return user


def _claim(invitation: Invitation, user: User, now: datetime) -> None:
    with transaction.atomic(durable=True):
        claimed = Invitation.objects.filter(pk=invitation.pk, used_at=None, expires_at__gt=now).update(used_at=now)
        if not claimed:
            raise InvitationUsed
        user.save(force_insert=True)
        Invitation.objects.filter(pk=invitation.pk).update(used_by=user)
        audit.record(
            action="person.join", by=user, now=now, target=user.username, role=user.role, invitation=invitation.pk
        )


def _refuse_bad_fields(user: User, password: str) -> None:
    faults: dict[str, list[str]] = {}
    try:
        user.full_clean(exclude={"password"}, validate_constraints=False)
    except ValidationError as exc:
        faults.update(exc.message_dict)
    if "username" not in faults and name_is_taken(user.username):
        faults["username"] = [name_taken(gettext("A user with that username already exists."))]
    if "email" not in faults and user.email and mail_is_taken(user.email):
        faults["email"] = [name_taken(gettext("This email address is already used by another account."))]
    try:
        password_validation.validate_password(password, user)
    except ValidationError as exc:
        faults["password"] = list(exc.messages)
    if faults:
        raise AccountRefused(faults)


def _sha256(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
