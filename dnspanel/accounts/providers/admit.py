"""Admit users who sign in with a provider: find or create their accounts, and apply the provider's rules. Verbs."""

import re
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.find_people import free_name, mail_is_taken
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import ProviderLink, Role, SignInProvider, User
from dnspanel.accounts.providers.links import apply_rules, make_link, rules_of
from dnspanel.accounts.providers.provider_identity import Identity, Outcome, outcome_of
from dnspanel.accounts.texts.canonical import ascii_lower, canonical_domain
from dnspanel.texts import gettext

_LONGEST_NAME = 100
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.@+_-]")


def admit(*, provider: SignInProvider, identity: Identity, now: datetime) -> User:
    """Return the account for a provider's verified identity. Apply the provider's rules to the identity's groups.

    Raise SignInRefused if the account is closed. At the first sign-in, also raise it if the email address is unverified
    or its domain isn't allowed, or if no account can be linked or created.
    """
    outcome = outcome_of(rules_of(provider), identity.groups)
    link = _link_of(provider, identity) or _first_link(provider, identity, outcome, now)
    if not link.user.is_active:
        raise SignInRefused("closed", gettext("This account is closed."))
    apply_rules(link=link, outcome=outcome, now=now)
    user = User.objects.get(pk=link.user_id)
    audit.record(
        action=f"{provider.kind}.sign-in", by=user, now=now, target=user.username, provider=provider.name,
        subject=identity.subject, role=user.role,
    )  # fmt: skip
    return user


def record_refusal(*, provider: SignInProvider, reason: str, subject: str = "", mail: str = "", now: datetime) -> None:
    """Record a rejected sign-in with a provider in the audit log."""
    audit.record(
        action=f"{provider.kind}.refused",
        by=None,
        now=now,
        target=provider.name,
        reason=reason,
        subject=subject,
        mail=mail,
    )  # fmt: skip


def _link_of(provider: SignInProvider, identity: Identity) -> ProviderLink | None:
    links = ProviderLink.objects.filter(provider=provider, subject=identity.subject)
    return links.select_related("user", "provider").first()


def _first_link(provider: SignInProvider, identity: Identity, outcome: Outcome, now: datetime) -> ProviderLink:
    """Link the account with the identity's email address, or create an account if none has it. Return the new link.

    Raise SignInRefused if the provider's settings or group rules don't allow this. Also raise it for an address that is
    unverified or used in another spelling, and for an account that is closed or linked to another identity.
    """
    if not provider.makes_people and not provider.links_by_mail:
        raise SignInRefused(
            "unknown",
            gettext(
                "No account is linked to this sign-in. Sign in another way, then link the provider on your "
                "Sign-in providers page."
            ),
        )
    if not identity.mail_is_verified:
        raise SignInRefused("unverified-mail", gettext("The provider hasn’t verified your email address."))
    if provider.mail_domains and identity.domain not in map(canonical_domain, provider.mail_domains):
        raise SignInRefused(
            "domain",
            gettext("Email addresses in {domain} aren’t allowed to sign in with this provider.").format(
                domain=identity.domain
            ),
        )
    try:
        with transaction.atomic(durable=True):
            user = User.objects.select_for_update(no_key=True).filter(mail_key=identity.mail).first()
            if user is not None:
                reason = "verified mail"
                _refuse_take_over(provider, user)
            elif mail_is_taken(identity.mail):  # in another spelling, which proves nothing
                raise SignInRefused(
                    "mail-taken",
                    gettext("Another account uses a different spelling of your email address. Ask an administrator."),
                )
            else:
                reason = "first sign-in"
                user = _create_user(provider, identity, outcome, now)
            return make_link(provider=provider, identity=identity, user=user, by=None, now=now, reason=reason)
    except IntegrityError as exc:  # the same person in two browser windows
        raise SignInRefused(
            "twice", gettext("Another sign-in with your identity happened at the same time. Try again.")
        ) from exc


def _refuse_take_over(provider: SignInProvider, user: User) -> None:
    """Raise SignInRefused unless a verified email address is enough to link the provider to this account."""
    if not provider.links_by_mail:
        message = gettext(
            "An account with your email address already exists. Sign in to this account, then link the provider."
        )
        raise SignInRefused("mail-taken", message)
    if not user.is_active:
        raise SignInRefused("closed", gettext("This account is closed."))
    if ProviderLink.objects.filter(provider=provider, user=user).exists():
        raise SignInRefused(
            "mail-taken",
            gettext("The account with your email address is already linked to another person at this provider."),
        )


def _create_user(provider: SignInProvider, identity: Identity, outcome: Outcome, now: datetime) -> User:
    """Create an account without a password. Raise SignInRefused if the provider's settings or rules forbid it."""
    if not provider.makes_people:
        raise SignInRefused("unknown", gettext("No account has your email address."))
    if provider.rules and not outcome.has_matched:
        raise SignInRefused("no-group", gettext("None of your groups at the provider are allowed to sign in."))
    user = User(
        username=_free_name(identity),
        email=identity.mail,
        first_name=identity.first_name,
        last_name=identity.last_name,
        role=Role.MEMBER,
        date_joined=now,
    )
    user.set_unusable_password()
    user.save(force_insert=True)
    audit.record(action="person.join", by=user, now=now, target=user.username, role=user.role, provider=provider.name)
    return user


def _free_name(identity: Identity) -> str:
    """Return a free user name: the name at the provider, or else the address's local part, with a number if taken."""
    typed = ascii_lower(identity.username or identity.mail.partition("@")[0])[:_LONGEST_NAME]
    return free_name(_NOT_IN_NAMES.sub("-", typed) or "person")
