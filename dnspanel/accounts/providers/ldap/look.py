"""Regularly check LDAP users for changed groups, and for deleted or disabled accounts. Verbs.

If a user is deleted or disabled on the server, the account is closed, and its sessions and tokens end. The account is
reopened when the server lists the user as active again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import LastAdministrator, SignInRefused
from dnspanel.accounts.models import ProviderKind, ProviderLink, SignInProvider, User
from dnspanel.accounts.people.people import close_account, open_account
from dnspanel.accounts.providers.admit import record_refusal
from dnspanel.accounts.providers.ldap.backend import DISABLED, ldap_providers
from dnspanel.accounts.providers.ldap.visit import MOST_SUBJECTS, is_closed, visiting
from dnspanel.accounts.providers.links import apply_rules, rules_of
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.providers.provider_identity import Identity, Rule, outcome_of
from dnspanel.texts import gettext

LOOK_EVERY = timedelta(minutes=5)  # for each person
ROUND_SECONDS = 50.0
MOST_IN_ROUND = 500
_BETWEEN_ROUNDS = timedelta(seconds=45)
# At most this number of people, or half of those checked, can be missing at once. More suggest a wrong filter.
_GONE_WITHOUT_DOUBT = 3


@dataclass(frozen=True, slots=True)
class Found:
    """The server's result for a linked user. If `identity` is None, `reason` is set.

    `reason` is `gone`, `disabled`, or the code of the problem that makes the result unusable.
    """

    link: ProviderLink
    identity: Identity | None
    reason: str = ""

    @property
    def is_absent(self) -> bool:
        return self.reason in {"gone", DISABLED.reason}


def look_at_everybody(*, now: datetime) -> None:
    """Update users from their LDAP servers if their last check was at least LOOK_EVERY ago.

    Each call checks a limited number of users per server. If two calls run at the same time, only one of them checks a
    server. If more than half of the checked users, and more than three, are newly missing or disabled, their accounts
    aren't changed.
    """
    for provider in ldap_providers():
        due = Q(looked_at=None) | Q(looked_at__lte=now - _BETWEEN_ROUNDS)
        if SignInProvider.objects.filter(due, pk=provider.pk).update(looked_at=now):
            _look(provider, now)


def look_at_one(*, user: User, now: datetime) -> None:
    """Update a user from the linked LDAP server. Do nothing if the user has no such link.

    Raise SignInRefused if the server is disabled in the panel, is unavailable, doesn't list the user as active, or
    returns an unusable result.
    """
    link = ProviderLink.objects.filter(user=user, provider__kind=ProviderKind.LDAP).select_related("provider").first()
    if link is None:
        return
    if not link.provider.active:
        raise SignInRefused("closed", gettext("{name} is disabled.").format(name=link.provider.name))
    try:
        found = _look_up_links(link.provider, [link], now)[0]
    except ProviderAway as exc:
        record_refusal(provider=link.provider, reason="away", subject=link.subject, now=now)
        raise SignInRefused("away", str(exc)) from exc
    _apply(link.provider, rules_of(link.provider), found, now)
    if found.identity is None:
        record_refusal(provider=link.provider, reason=found.reason, subject=link.subject, now=now)
        raise DISABLED


def _look(provider: SignInProvider, now: datetime) -> None:
    due = Q(looked_at=None) | Q(looked_at__lte=now - LOOK_EVERY)
    links = ProviderLink.objects.filter(due, provider=provider).order_by(F("looked_at").asc(nulls_first=True), "pk")
    rows = list(links[:MOST_IN_ROUND])
    fault = ""
    try:
        found = _look_up_links(provider, rows, now) if rows else []
    except ProviderAway as exc:
        found, fault = [], str(exc)
    gone = [each.link for each in found if each.is_absent and each.link.absent_since is None]
    if len(gone) > max(_GONE_WITHOUT_DOUBT, len(found) // 2):
        message = gettext(
            "{gone} of {count} people are suddenly missing from the server. None of their accounts were changed."
        )
        fault = message.format(gone=len(gone), count=len(found))
        audit.record(action="ldap.look-refused", by=None, now=now, target=provider.name, gone=len(gone), of=len(found))
        found = [each for each in found if not each.is_absent]
        ProviderLink.objects.filter(pk__in=[link.pk for link in gone]).update(looked_at=now)
    rules = rules_of(provider)
    for each in found:
        _apply(provider, rules, each, now)
    SignInProvider.objects.filter(pk=provider.pk).exclude(look_fault=fault).update(look_fault=fault)


def _look_up_links(provider: SignInProvider, links: Sequence[ProviderLink], now: datetime) -> list[Found]:
    """Look up each link's user on the server. Raise ProviderAway if the server fails."""
    found = []
    with visiting(provider, seconds=ROUND_SECONDS) as visit:
        for begin in range(0, len(links), MOST_SUBJECTS):
            some = links[begin : begin + MOST_SUBJECTS]
            entries = visit.of_subjects(link.subject for link in some)
            for link in some:
                entry = entries.get(link.subject)
                if entry is None or is_closed(entry, now):
                    found.append(Found(link, None, "gone" if entry is None else DISABLED.reason))
                    continue
                try:
                    found.append(Found(link, visit.identity(entry)))
                except SignInRefused as exc:
                    found.append(Found(link, None, exc.reason))
    return found


def _apply(provider: SignInProvider, rules: Sequence[Rule], found: Found, now: datetime) -> None:
    """Close the account of an absent user. Otherwise, reopen the account if this module closed it, and apply the rules.

    An unusable result only updates the time of the check. Each step has its own transaction.
    """
    if found.is_absent:
        _close(provider, found, now)
        return
    if found.identity is None:
        ProviderLink.objects.filter(pk=found.link.pk).update(looked_at=now)
        return
    with transaction.atomic(durable=True):
        row = _lock_link(found.link)
        if row is None:
            return
        if row.absent_since is not None:
            open_account(user=row.user, by=None, now=now, provider=provider.name)
        ProviderLink.objects.filter(pk=row.pk).update(looked_at=now, absent_since=None)
    outcome = outcome_of(rules, found.identity.groups)
    apply_rules(link=found.link, outcome=outcome, now=now, signs_in=False)


def _close(provider: SignInProvider, found: Found, now: datetime) -> None:
    with transaction.atomic(durable=True):
        row = _lock_link(found.link)
        if row is None:
            return
        if row.user.is_active:
            try:
                close_account(user=row.user, by=None, now=now, provider=provider.name, reason=found.reason)
            except LastAdministrator:
                if row.absent_since is None:
                    User.objects.filter(pk=row.user_id).update(sessions_ended=F("sessions_ended") + 1)
                    audit.record(
                        action="ldap.kept", by=None, now=now, target=row.user.username, provider=provider.name,
                        reason=found.reason,
                    )  # fmt: skip
        # An account that a person closed stays closed, even if the server lists the person again.
        absent = row.absent_since or (now if row.user.is_active else None)
        ProviderLink.objects.filter(pk=row.pk).update(looked_at=now, absent_since=absent)


def _lock_link(link: ProviderLink) -> ProviderLink | None:
    return ProviderLink.objects.select_for_update(of=("self",)).filter(pk=link.pk).select_related("user").first()
