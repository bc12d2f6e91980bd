"""Authentication backend for users whose password is checked by an LDAP server.

Django tries this backend after the backend for passwords that the panel stores. Each account uses only one of the two:

- A user whose password an LDAP server checks is looked up only on that server, by a permanent attribute.
- A user with a password in the panel is looked up only on servers that can link accounts by email address. The user on
  the server must have the account's address.
- A name without an account is looked up on every server.

Until a server accepts or refuses the user, every server receives a request, even if only a dummy request, because the
response time would otherwise reveal which names exist.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest
from django.utils import timezone

from dnspanel.accounts.actors.find_people import account_named
from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import ProviderKind, ProviderLink, SignInProvider, User
from dnspanel.accounts.providers.admit import admit, record_refusal
from dnspanel.accounts.providers.ldap.visit import Entry, Visit, is_closed, visiting
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.providers.provider_identity import Identity
from dnspanel.accounts.providers.rows import MOST_PROVIDERS
from dnspanel.texts import gettext, gettext_lazy

PATH = f"{__name__}.LdapBackend"
_MESSAGE = "_ldap_message"
DISABLED = SignInRefused("disabled", gettext_lazy("Your account is disabled on the LDAP server."))


class LdapBackend(ModelBackend):
    """The Django authentication backend that tries the active LDAP servers."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        typed = (username or kwargs.get("email") or "").strip()
        if not typed or not password:  # LDAP servers accept an empty password as an anonymous bind
            return None
        providers = ldap_providers()
        account = account_named(typed) if providers else None
        away = []
        for provider in providers:
            try:
                user = _signed_in(provider, account, typed, password, timezone.now())
            except ProviderAway:
                away.append(provider.name)
            except SignInRefused as exc:
                _tell(request, str(exc))
                return None
            else:
                if user is not None:
                    return user
        if away:
            message = gettext(
                "Incorrect name or password. If your password is from {provider}, try again later because its "
                "server isn’t responding."
            )
            _tell(request, message.format(provider=away[0]))
        return None


def ldap_providers() -> list[SignInProvider]:
    """Return the active LDAP servers, sorted by name. Needs one query."""
    return list(SignInProvider.objects.filter(kind=ProviderKind.LDAP, active=True).order_by("name")[:MOST_PROVIDERS])


def message_of(request: HttpRequest | None) -> str:
    """Return the error message if the sign-in failed for a reason other than a wrong password, or ""."""
    return str(getattr(request, _MESSAGE, ""))


def identity_by_password(provider: SignInProvider, typed: str, password: str, now: datetime) -> Identity | None:
    """Return the identity of the user with this name on the server, or None if the name or the password is wrong.

    Raise ProviderAway if the server is unavailable. Raise SignInRefused if the password is correct, but the account is
    disabled or has unusable attributes or too many groups.
    """
    with visiting(provider) as visit:
        return _identity(visit, visit.find_by_name, typed, password, now)


def _signed_in(provider: SignInProvider, account: User | None, typed: str, password: str, now: datetime) -> User | None:
    """Return the user if the server accepts the password and the provider's rules admit the user, otherwise None.

    Raise ProviderAway if the server is unavailable. Raise SignInRefused if the password is correct, but the account is
    disabled, its entry is unusable, or the provider's rules reject the user.
    """
    identity = None
    try:
        with visiting(provider) as visit:
            if account is None:
                identity = _identity(visit, visit.find_by_name, typed, password, now)
            elif account.signs_in_by_ldap:
                identity = _of_link(visit, provider, account, password, now)
            elif provider.links_by_mail:
                identity = _identity(visit, visit.find_by_name, typed, password, now)
                # Otherwise another person with the same name at the server would be signed in to this account.
                if identity is not None and identity.mail != account.mail_key:
                    return None
            else:
                visit.look_away()
        return None if identity is None else admit(provider=provider, identity=identity, now=now)
    except SignInRefused as exc:
        mail, subject = (identity.mail, identity.subject) if identity else ("", "")
        record_refusal(provider=provider, reason=exc.reason, subject=subject, mail=mail, now=now)
        raise


def _of_link(visit: Visit, provider: SignInProvider, account: User, password: str, now: datetime) -> Identity | None:
    link = ProviderLink.objects.filter(provider=provider, user=account).first()
    if link is None:
        visit.look_away()
        return None
    return _identity(visit, visit.of_subject, link.subject, password, now)


def _identity(
    visit: Visit, find: Callable[[str], Entry | None], typed: str, password: str, now: datetime
) -> Identity | None:
    """Return the identity if the password is correct, or None.

    Raise SignInRefused only after a correct password, because the error would reveal to strangers which accounts exist.
    """
    try:
        entry = find(typed)
    except SignInRefused as exc:  # several people have the name, or there is no permanent attribute
        record_refusal(provider=visit.provider, reason=exc.reason, now=now)
        entry = None
    if entry is None:
        visit.refuse_nobody()
        return None
    if not visit.accepts(entry, password):
        return None
    if is_closed(entry, now):
        raise DISABLED
    return visit.identity(entry)


def _tell(request: HttpRequest | None, message: str) -> None:
    if request is not None:
        setattr(request, _MESSAGE, message)
