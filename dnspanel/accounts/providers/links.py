"""Link accounts to users at providers, and apply the roles and teams from the providers' rules. Verbs."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils.crypto import get_random_string

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import BY_LDAP, ProviderKind, ProviderLink, Role, SignInProvider, User
from dnspanel.accounts.people.people import locked_administrators
from dnspanel.accounts.providers.provider_identity import Identity, Outcome, Rule
from dnspanel.accounts.providers.rule_grants import apply_outcome
from dnspanel.accounts.rights.grant_edit import refuse_to_open
from dnspanel.texts import gettext


def links_of(user: User) -> Sequence[ProviderLink]:
    """Return the user's links to providers. Uses one query."""
    return list(ProviderLink.objects.filter(user=user).select_related("provider").order_by("provider__name"))


def session_hours_of(user: User) -> int:
    """Return the shortest session length, in hours, of the user's LDAP providers, or 1 if the user has no LDAP link."""
    links = ProviderLink.objects.filter(user=user, provider__kind=ProviderKind.LDAP)
    return min(links.values_list("provider__session_hours", flat=True), default=1)


def rules_of(provider: SignInProvider) -> list[Rule]:
    """Return the provider's rules."""
    return [Rule.from_json(each) for each in provider.rules]


def decides_role(provider: SignInProvider) -> bool:
    """Return True if the provider's rules decide the role of linked users. Such a role can't be set manually."""
    return any(rule.team is None for rule in rules_of(provider))


def make_link(
    *, provider: SignInProvider, identity: Identity, user: User, by: Author, now: datetime, reason: str
) -> ProviderLink:
    """Link the user at the provider to this account, inside the caller's transaction.

    If the provider is an LDAP server, it then checks the account's password, and the password stored in the panel is
    deleted. Raise SignInRefused if another LDAP server already checks the password, or if the account must keep it.
    """
    if provider.kind == ProviderKind.LDAP:
        _take_ldap_password(user)
    link = ProviderLink.objects.create(provider=provider, user=user, subject=identity.subject, linked_at=now)
    audit.record(
        action=f"{provider.kind}.link",
        by=by,
        now=now,
        target=user.username,
        provider=provider.name,
        subject=identity.subject,
        reason=reason,
    )
    return link


def link_own_account(*, provider: SignInProvider, identity: Identity, user: User, now: datetime) -> ProviderLink:
    """Link the signed-in user's account to the provider. Do nothing if the same link exists.

    Raise SignInRefused if the identity is linked to another account, or the account has another link to the provider.
    Raise the errors of `make_link`.
    """
    with transaction.atomic(durable=True):
        # Otherwise, two sessions of the person could each create a link.
        User.objects.select_for_update(no_key=True).filter(pk=user.pk).first()
        found = ProviderLink.objects.filter(provider=provider, subject=identity.subject).first()
        if found is not None and found.user_id == user.pk:
            return found
        if found is not None:
            raise SignInRefused(
                "linked-to-another",
                gettext("Your account at the provider is already linked to another account in the panel."),
            )
        if ProviderLink.objects.filter(provider=provider, user=user).exists():
            raise SignInRefused(
                "linked-already",
                gettext("Your account is already linked to another account at {name}.").format(name=provider.name),
            )
        return make_link(provider=provider, identity=identity, user=user, by=user, now=now, reason="signed in")


def unlink(*, link: ProviderLink, by: Author, now: datetime) -> None:
    """Delete the link and everything that the provider's rules gave the user. End all of the user's sessions.

    After a link to an LDAP server, the account has no usable password. Raise SignInRefused if the author is the user
    and couldn't sign in without this link. Raise the errors of `refuse_to_open`.
    """
    with transaction.atomic(durable=True):
        row = ProviderLink.objects.select_for_update(of=("self",)).filter(pk=link.pk).select_related("user").first()
        if row is None:
            return
        others = ProviderLink.objects.filter(user=row.user, provider__active=True).exclude(pk=row.pk)
        if by == row.user and not row.user.has_usable_password() and not others.exists():
            raise SignInRefused(
                "last-way-in", gettext("You don’t have a password, so you couldn’t sign in without this link.")
            )
        refuse_to_open(by, row.user)
        take_back(row, by=by, now=now)
        forget_ldap_password(row)
        ProviderLink.objects.filter(pk=row.pk).delete()
        User.objects.filter(pk=row.user_id).update(sessions_ended=F("sessions_ended") + 1)
        audit.record(
            action=f"{link.provider.kind}.unlink", by=by, now=now, target=row.user.username,
            provider=link.provider.name, subject=row.subject,
        )  # fmt: skip


def apply_rules(*, link: ProviderLink, outcome: Outcome, now: datetime, signs_in: bool = True) -> None:
    """Give the user the role and teams from the rules' outcome, and remove those that earlier outcomes gave.

    The rules' role replaces a manually set role. If no administrator would be left, the user stays an administrator,
    and the audit log records this. If `signs_in` is True, store the time of the sign-in in the link.
    """
    with transaction.atomic(durable=True):
        row = ProviderLink.objects.select_for_update(of=("self",)).select_related("user", "provider").get(pk=link.pk)
        given = apply_outcome(
            user=row.user,
            given=row.given,
            outcome=outcome,
            kind=row.provider.kind,
            source={"provider": row.provider.name},
            by=None,
            now=now,
        )
        at = {"signed_in_at": now} if signs_in else {}
        ProviderLink.objects.filter(pk=row.pk).update(given=given, **at)


def take_back(link: ProviderLink, *, by: Author, now: datetime) -> None:
    """Remove everything that the provider's rules gave the user, inside the caller's transaction."""
    apply_outcome(
        user=link.user,
        given=link.given,
        outcome=Outcome(),
        kind=link.provider.kind,
        source={"provider": link.provider.name},
        by=by,
        now=now,
    )


def forget_ldap_password(link: ProviderLink) -> None:
    """Make the account's password unusable if the link is to an LDAP server. Runs inside the caller's transaction."""
    if link.provider.kind == ProviderKind.LDAP:
        link.user.set_unusable_password()
        User.objects.filter(pk=link.user_id).update(password=link.user.password)


def _take_ldap_password(user: User) -> None:
    """Replace the stored password with a marker for LDAP.

    Raise SignInRefused if the marker is already set, or if no other administrator has a password in the panel.
    """
    if user.signs_in_by_ldap:
        raise SignInRefused(
            "linked-already",
            gettext("{username} already uses a password from another LDAP server.").format(username=user.username),
        )
    is_one = user.role == Role.ADMINISTRATOR
    if is_one and [each.pk for each in locked_administrators() if each.has_usable_password()] == [user.pk]:
        message = gettext(
            "{username} is the last administrator with a panel password, which is needed when the LDAP server "
            "is unavailable."
        ).format(username=user.username)
        raise SignInRefused("last-password", message)
    user.password = f"{BY_LDAP}{get_random_string(40)}"
    User.objects.filter(pk=user.pk).update(password=user.password)
