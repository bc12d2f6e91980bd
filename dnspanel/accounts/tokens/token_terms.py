"""Check the terms of a token: its scope, permissions and limits."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.conf import settings

from dnspanel.accounts.actors.actors import Actor, Author, Grant, Permission, Right, actor_of, is_part, token_of
from dnspanel.accounts.errors import TokenRefused
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.rights import grant_edit
from dnspanel.texts import gettext


@dataclass(frozen=True, slots=True)
class TokenTerms:
    """The purpose, rights and limits of a token, from a form, a preset or the API."""

    purpose: str
    scope: tuple[Grant, ...] = ()
    permissions: frozenset[Permission] = frozenset()
    networks: tuple[str, ...] = ()
    expires_at: datetime | None = None
    unused_days: int | None = None
    needs_if_match: bool = False
    deletes_many: bool = False
    requests_per_minute: int | None = None


def refuse_bad_terms(owner: User, terms: TokenTerms, by: Author, now: datetime) -> None:
    faults: dict[str, list[str]] = {}
    if not terms.purpose.strip():
        faults["purpose"] = [gettext("Enter a purpose. It’s shown in the token list and in the history.")]
    elif len(terms.purpose) > 100:
        faults["purpose"] = [gettext("Enter at most 100 characters.")]
    faults |= _faults_of_limits(terms, now)
    if not terms.scope and not terms.permissions:
        faults["scope"] = [gettext("A token needs at least one zone scope or permission.")]
    elif wrong := grant_edit.faults_of_scope(terms.scope):
        faults["scope"] = wrong
    if "scope" not in faults and (lacking := _lacking(owner, terms, by)):
        faults["scope"] = lacking
    if faults := faults or faults_beyond_maker(terms, by):
        raise TokenRefused(faults)


def _faults_of_limits(terms: TokenTerms, now: datetime) -> dict[str, list[str]]:
    """Return the errors in a token's networks, expiry, unused days and request limit, keyed by field."""
    faults: dict[str, list[str]] = {}
    for network in terms.networks:
        try:
            ip_network(network)
        except ValueError:
            faults.setdefault("networks", []).append(
                gettext("{network} isn’t a valid network. Enter a network such as 192.0.2.0/24 or 2001:db8::1.").format(
                    network=network
                )
            )
    if terms.expires_at is not None and terms.expires_at <= now:
        faults["expires_at"] = [gettext("Enter a time in the future.")]
    if terms.unused_days is not None and not 1 <= terms.unused_days <= 3650:
        faults["unused_days"] = [gettext("Enter 1 to 3650 days.")]
    if terms.requests_per_minute is not None and not 1 <= terms.requests_per_minute <= 1_000_000:
        faults["requests_per_minute"] = [gettext("Enter a number from 1 to 1,000,000.")]
    return faults


def _lacking(owner: User, terms: TokenTerms, by: Author) -> list[str]:
    """Return messages about the requested rights and permissions that the owner or the creating token lacks."""
    lacking: list[str] = []
    for giver in (actor_of(owner), by if isinstance(by, Actor) and by.token else None):
        if giver is None:
            continue
        rights: Collection[Right] = frozenset[Right]().union(*(grant.rights for grant in terms.scope))
        lacking += [
            gettext("You can’t grant rights that you don’t have: {permission}.").format(permission=r)
            for r in sorted(rights)
            if not giver.may_somewhere(r)
        ]
        lacking += [
            gettext("You can’t grant rights that you don’t have: {permission}.").format(permission=p)
            for p in sorted(terms.permissions - giver.permissions)
        ]
    by_token = by.scope if isinstance(by, Actor) else None
    if by_token is not None and not all(any(is_part(grant, mine) for mine in by_token) for grant in terms.scope):
        lacking.append(gettext("The new token’s scope must be within the scope of the token that creates it."))
    return list(dict.fromkeys(lacking))


def inherited_terms(terms: TokenTerms, by: Author) -> TokenTerms:
    """Return the terms, with missing unused days, If-Match and request limits from the creating token (if any)."""
    maker = token_of(by)
    if maker is None:
        return terms
    return replace(
        terms,
        unused_days=terms.unused_days or maker.unused_days,
        needs_if_match=terms.needs_if_match or maker.needs_if_match,
        requests_per_minute=terms.requests_per_minute or maker.requests_per_minute,
    )


def faults_beyond_maker(terms: TokenTerms, by: Author) -> dict[str, list[str]]:
    """Return errors for limits that are wider than the creating token's limits, keyed by field.

    The limits are the expiry, the unused days, the requests per minute, the networks, and the deletion of many zones.
    """
    maker = by.token if isinstance(by, Actor) else None
    faults: dict[str, list[str]] = {}
    if maker is None:
        return faults
    if maker.expires_at is not None and (terms.expires_at is None or terms.expires_at > maker.expires_at):
        faults["expires_at"] = [gettext("The new token can’t expire later than the token that creates it.")]
    if maker.unused_days is not None and (terms.unused_days is None or terms.unused_days > maker.unused_days):
        faults["unused_days"] = [
            gettext("Enter at most {unused_days} days, the limit for the token that creates this one.").format(
                unused_days=maker.unused_days
            )
        ]
    if terms.requests_per_minute is not None and terms.requests_per_minute > requests_per_minute(maker):
        faults["requests_per_minute"] = [
            gettext("Enter at most {requests:,}, the limit for the token that creates this one.").format(
                requests=requests_per_minute(maker)
            )
        ]
    if terms.deletes_many and not maker.deletes_many:
        faults["deletes_many"] = [gettext("The token that creates this one isn’t allowed to delete many zones.")]
    within = [ip_network(network) for network in maker.networks]
    outside = [one for one in map(ip_network, terms.networks) if not any(_is_subnet(one, outer) for outer in within)]
    if within and (outside or not terms.networks):
        faults["networks"] = [gettext("Enter only networks that are allowed for the token that creates this one.")]
    return faults


def _is_subnet(one: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    if isinstance(one, IPv4Network) and isinstance(outer, IPv4Network):
        return one.subnet_of(outer)
    return isinstance(one, IPv6Network) and isinstance(outer, IPv6Network) and one.subnet_of(outer)


def columns_of_terms(terms: TokenTerms) -> dict[str, object]:
    return {
        "purpose": terms.purpose.strip(),
        "scope": [grant.to_json() for grant in terms.scope],
        "permissions": sorted(terms.permissions),
        "networks": [str(ip_network(network)) for network in terms.networks],
        "expires_at": terms.expires_at,
        "unused_days": terms.unused_days,
        "needs_if_match": terms.needs_if_match,
        "deletes_many": terms.deletes_many,
        "requests_per_minute": terms.requests_per_minute,
    }


def requests_per_minute(token: Token) -> int:
    """Return the token's limit of requests per minute: its own limit, or else the limit in the settings."""
    return token.requests_per_minute or settings.API_REQUESTS_PER_MINUTE


def request_limits(token: Token) -> dict[int, int]:
    """Return the limits on requests per minute that apply to this token, keyed by token id.

    A second limit is shared with `allowance_of`, a token that created or preceded this token and has its own limit.
    """
    limits = {token.pk: requests_per_minute(token)}
    if token.allowance_of_id is not None and token.allowance is not None:
        limits[token.allowance_of_id] = token.allowance
    return limits
