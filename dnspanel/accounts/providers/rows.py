"""Manage sign-in providers of all kinds: common settings, look-ups, switching on and off, and deletion. Verbs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, F
from django.urls import reverse

from dnspanel import outbound
from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import ProviderRefused, ProviderUnknown
from dnspanel.accounts.models import OwnRole, ProviderKind, ProviderLink, Role, SignInProvider, Team, User
from dnspanel.accounts.people.teams import MEMBER_ROLES
from dnspanel.accounts.providers.links import forget_ldap_password, take_back
from dnspanel.accounts.providers.provider_identity import LONGEST_GROUP, MOST_RULES, Rule
from dnspanel.accounts.rights.grant_edit import require_all_rights
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import name_taken
from dnspanel.texts import gettext

MOST_PROVIDERS = 20
MOST_DOMAINS = 100
LONGEST_URL = 500
LONGEST_SESSION = 24 * 30  # hours
LONGEST_GROUP_NAME = 250
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonTerms:
    """The settings that all kinds of providers share."""

    name: str
    slug: str
    group_claim: str = "groups"  # SAML: the attribute
    rules: tuple[Rule, ...] = ()
    makes_people: bool = False
    mail_domains: tuple[str, ...] = ()
    links_by_mail: bool = False
    trusts_mail: bool = False
    session_hours: int = 12


def panel_url(name: str, slug: str) -> str:
    """Return the URL of the named view for this provider, at the panel's public address."""
    return settings.PANEL_URL + reverse(name, args=[slug])


def providers_with_buttons() -> Sequence[SignInProvider]:
    """Return the providers with buttons on the sign-in page, sorted by name. Uses one query.

    LDAP servers don't have a button, because they use the password form.
    """
    return [each for each in linkable() if each.kind != ProviderKind.LDAP]


def linkable() -> Sequence[SignInProvider]:
    """Return the active providers that can be linked to accounts, sorted by name. Uses one query."""
    return list(
        SignInProvider.objects.filter(active=True).only("slug", "name", "kind").order_by("name")[:MOST_PROVIDERS]
    )


def provider_rows() -> Sequence[SignInProvider]:
    """Return all providers, with the number of linked users in the attribute `people`. Uses one query."""
    rows = SignInProvider.objects.annotate(people=Count("links")).order_by("-active", "name")
    return list(rows[:MOST_PROVIDERS])


def provider_by_id(pk: int, *kinds: ProviderKind) -> SignInProvider:
    """Return the provider with this id. Raise ProviderUnknown if it doesn't exist or is of another kind."""
    provider = SignInProvider.objects.filter(pk=pk).first()
    if provider is None or (kinds and provider.kind not in kinds):
        raise ProviderUnknown
    return provider


def provider_in_use(slug: str, *kinds: ProviderKind) -> SignInProvider:
    """Return the active provider with this slug and one of these kinds. Raise ProviderUnknown if it doesn't exist."""
    provider = SignInProvider.objects.filter(slug=slug, active=True).first() if _SLUG.fullmatch(slug) else None
    if provider is None or (kinds and provider.kind not in kinds):
        raise ProviderUnknown
    return provider


def insert(
    *, kind: ProviderKind, columns: Mapping[str, object], unlogged: Mapping[str, object], by: Author, now: datetime
) -> SignInProvider:
    """Insert a provider and write it to the audit log, without the `unlogged` columns.

    Raise ProviderRefused if the maximum number of providers is reached or another provider has the same slug.
    """
    if SignInProvider.objects.count() >= MOST_PROVIDERS:
        raise ProviderRefused(
            {"name": [gettext("The maximum is {most_providers} providers.").format(most_providers=MOST_PROVIDERS)]}
        )
    try:
        with transaction.atomic(durable=True):
            provider = SignInProvider.objects.create(kind=kind, created_at=now, **columns, **unlogged)
            audit.record(action=f"{kind}.create", by=by, now=now, target=provider.name, **_audit_values(columns))
    except IntegrityError as exc:
        raise ProviderRefused({"slug": [name_taken(gettext("A provider with this URL slug already exists."))]}) from exc
    return provider


def update(
    *,
    provider: SignInProvider,
    columns: Mapping[str, object],
    unlogged: Mapping[str, object],
    by: Author,
    now: datetime,
) -> None:
    """Update the provider. Raise ProviderUnknown if it was deleted. Values of `unlogged` columns aren't audited."""
    with transaction.atomic(durable=True):
        row = first_or(SignInProvider.objects.select_for_update().filter(pk=provider.pk), ProviderUnknown)
        given = {**columns, **unlogged}
        changed = sorted(name for name, value in given.items() if getattr(row, name) != value)
        if changed:
            SignInProvider.objects.filter(pk=row.pk).update(**given)
            name = str(columns["name"])
            audit.record(
                action=f"{row.kind}.change", by=by, now=now, target=name, changed=changed, **_audit_values(columns)
            )


def switch_provider(*, provider: SignInProvider, active: bool, by: Author, now: datetime) -> None:
    """Switch the provider on or off. Switching it off ends all sessions of the users that are linked to the provider.

    Raise AllRightsNeeded for a token without all rights.
    """
    require_all_rights(by)
    with transaction.atomic(durable=True):
        if SignInProvider.objects.filter(pk=provider.pk, active=not active).update(active=active):
            audit.record(
                action=f"{provider.kind}.{'open' if active else 'close'}", by=by, now=now, target=provider.name
            )
            if not active:
                _end_sessions(provider)
    provider.active = active


def delete_provider(*, provider: SignInProvider, by: Author, now: datetime) -> None:
    """Delete the provider, its links, and everything that its rules gave. End all sessions of the linked users.

    Accounts aren't deleted. An account without a password can no longer sign in. Do nothing if the provider is already
    deleted. Raise AllRightsNeeded for a token without all rights.
    """
    require_all_rights(by)
    with transaction.atomic(durable=True):
        row = SignInProvider.objects.select_for_update().filter(pk=provider.pk).first()
        if row is None:
            return
        _end_sessions(row)
        links = ProviderLink.objects.select_for_update(of=("self",)).filter(provider=row).select_related("user")
        people = []
        for link in links.order_by("pk"):
            take_back(link, by=by, now=now)
            forget_ldap_password(link)
            people.append(link.user.username)
        SignInProvider.objects.filter(pk=row.pk).delete()
        audit.record(action=f"{row.kind}.delete", by=by, now=now, target=row.name, people=people)


def _end_sessions(provider: SignInProvider) -> None:
    User.objects.filter(provider_links__provider=provider).update(sessions_ended=F("sessions_ended") + 1)


def columns_of(terms: CommonTerms) -> dict[str, object]:
    """Return the settings as database columns, keyed by column name."""
    columns = asdict(terms)
    columns["rules"] = [rule.to_json() for rule in terms.rules]
    columns["mail_domains"] = list(terms.mail_domains)
    return columns


def _audit_values(columns: Mapping[str, object]) -> dict[str, object]:
    """Return the columns as details for the audit log, without the name, which is the entry's target."""
    return {name: value for name, value in columns.items() if name != "name"}


def faults_of(terms: CommonTerms) -> dict[str, list[str]]:
    """Return the errors in the common settings, keyed by field."""
    faults: dict[str, list[str]] = {}
    if not terms.name or len(terms.name) > 40 or not terms.name.isprintable():
        faults["name"] = [gettext("Enter 1 to {longest} characters.").format(longest=40)]
    if not _SLUG.fullmatch(terms.slug):
        faults["slug"] = [gettext("Enter at most 40 lowercase letters, digits and dashes.")]
    if not terms.group_claim or len(terms.group_claim) > LONGEST_GROUP_NAME or not terms.group_claim.isprintable():
        faults["group_claim"] = [gettext("Enter 1 to {longest} characters.").format(longest=LONGEST_GROUP_NAME)]
    if not 1 <= terms.session_hours <= LONGEST_SESSION:
        faults["session_hours"] = [gettext("Enter 1 to {longest} hours.").format(longest=LONGEST_SESSION)]
    if reasons := faults_of_rules(terms.rules):
        faults["rules"] = reasons
    if reasons := _faults_of_domains(terms.mail_domains):
        faults["mail_domains"] = reasons
    if terms.makes_people and not terms.mail_domains and not terms.rules:
        faults["makes_people"] = [
            gettext("Enter email domains or group rules. Otherwise, anyone at the provider could create an account.")
        ]
    return faults


def fault_of_url(url: str) -> str:
    """Return the error message if this isn't a valid provider URL, or ""."""
    if not url.startswith(("https://", "http://")) or len(url) > LONGEST_URL:
        return gettext("Enter an https URL of at most {longest_url} characters.").format(longest_url=LONGEST_URL)
    if not url.isascii() or not url.isprintable() or any(character in url for character in ' \\?#@"'):
        return gettext("Enter only a scheme, host and path, without a user name, query or fragment.")
    return ""


def faults_of_rules(rules: Sequence[Rule]) -> list[str]:
    """Return at most five errors in these rules."""
    if len(rules) > MOST_RULES:
        return [gettext("Enter at most {most_rules} rules.").format(most_rules=MOST_RULES)]
    faults = []
    teams = {rule.team for rule in rules if rule.team is not None}
    known = set(Team.objects.filter(pk__in=teams).values_list("pk", flat=True)) if teams else set()
    roles = {rule.own_role for rule in rules if rule.own_role is not None}
    own = set(OwnRole.objects.filter(pk__in=roles).values_list("pk", flat=True)) if roles else set()
    for rule in rules:
        group = rule.group[:100]
        if not rule.group or len(rule.group) > LONGEST_GROUP:
            faults.append(gettext("A group name must have 1 to {longest} characters.").format(longest=LONGEST_GROUP))
        if rule.team is None and rule.role not in Role.values:
            faults.append(gettext("{group}: role {role} not found.").format(group=group, role=rule.role[:100]))
        if rule.own_role is not None and (
            rule.own_role not in own or rule.role != Role.MEMBER or rule.team is not None
        ):
            faults.append(gettext("{group}: role not found.").format(group=group))
        if rule.team is not None and rule.role not in MEMBER_ROLES:
            faults.append(gettext("{group}: a team member must be an editor or a reader.").format(group=group))
        if rule.team is not None and rule.team not in known:
            faults.append(gettext("{group}: team not found.").format(group=group))
    return faults[:5]


def _faults_of_domains(domains: Sequence[str]) -> list[str]:
    if len(domains) > MOST_DOMAINS:
        return [gettext("Enter at most {most_domains} domains.").format(most_domains=MOST_DOMAINS)]
    message = gettext("{domain} isn’t a valid email domain.")
    return [message.format(domain=domain[:100]) for domain in domains if not _is_domain(domain)][:5]


def _is_domain(domain: str) -> bool:
    try:
        return outbound.canonical_host(domain) == domain and "." in domain
    except outbound.BadHost:
        return False


def links_page(provider: SignInProvider, *, after: int, limit: int) -> Sequence[ProviderLink]:
    """Return up to `limit` of the provider's links with an id above `after`, oldest first. Uses one query."""
    links = ProviderLink.objects.filter(provider=provider, pk__gt=after).select_related("user")
    return list(links.order_by("pk")[:limit])
