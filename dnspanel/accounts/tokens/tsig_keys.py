"""Find, create and change TSIG keys by name, and read their secrets, for programs. Verbs.

A TSIG key is a token, removed by `tokens.revoke_token`. A key created by a token is limited to the token's rights,
networks and lifetime. Only users with the right to change some zone's settings can see or create keys. The secret is
shown at creation. Users with the permission to read secrets can read their keys' secrets again, which is audited.
"""

import base64
from collections.abc import Iterator
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Actor, Grant, Permission, Right, is_part
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import NotYours, TokenUnknown, TsigNameTaken
from dnspanel.accounts.models import Token, TokenKind
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import NewToken, create_tsig_key, tsig_secret
from dnspanel.database.first_rows import first_or


def may_have_keys(actor: Actor) -> bool:
    """Return True if this actor is allowed to see and create TSIG keys."""
    return actor.may_somewhere(Right.SETTINGS)


def tsig_keys_visible_to(actor: Actor) -> list[Token]:
    """Return the TSIG keys that are visible to this actor, sorted by name, or [] unless `may_have_keys`.

    Users see their own keys. A token sees its owner's keys within the token's scope. An actor who manages users sees
    all keys. An expired key and its name remain until a user removes the key.
    """
    if not may_have_keys(actor):
        return []
    keys = Token.objects.filter(kind=TokenKind.TSIG, revoked_at=None).select_related("owner").order_by("tsig_name")
    if Permission.PEOPLE in actor.permissions:
        return list(keys)
    return [key for key in keys.filter(owner=actor.user) if actor.scope is None or _is_within(key, actor.scope)]


def tsig_key_for(actor: Actor, name: str) -> Token:
    """Return the key with this canonical name. Raise TokenUnknown if it isn't visible to the actor."""
    for key in tsig_keys_visible_to(actor):
        if key.tsig_name == name:
            return key
    raise TokenUnknown


def key_exists(name: str) -> bool:
    """Return True if a valid or expired key has this canonical name. Revoked keys don't count."""
    return Token.objects.filter(kind=TokenKind.TSIG, revoked_at=None, tsig_name=name).exists()


def create_own_tsig_key(*, by: Actor, name: str, algorithm: str, secret: str, now: datetime) -> NewToken:
    """Create a TSIG key. As in PowerDNS, it has no rights over a zone until the zone lists the key.

    Over such a zone, the key has at most the rights, networks and lifetime of `by`. Raise the errors of
    `create_tsig_key`.
    """
    token = by.token
    terms = TokenTerms(
        purpose=f"TSIG key {name}"[:100],
        scope=by.grants if by.scope is None else by.scope,
        networks=() if token is None else tuple(token.networks),
        expires_at=None if token is None else token.expires_at,
        unused_days=None if token is None else token.unused_days,
    )
    return create_tsig_key(
        owner=by.user, name=name, terms=terms, by=by, now=now, algorithm=algorithm, secret=secret, needs_permission=True
    )


def change_tsig_key(*, key: Token, by: Actor, name: str, algorithm: str, secret: str | None, now: datetime) -> Token:
    """Change the key's name, algorithm and secret (Base64). None keeps the current secret.

    Raise NotYours for another user's key, because the key acts for its owner. Raise TokenUnknown for a revoked key,
    TokenRefused for invalid values, and TsigNameTaken if another key has the name.
    """
    if key.owner_id != by.user.pk:
        raise NotYours
    tsig_secrets.refuse_reserved(name)
    algorithm = tsig_secrets.algorithm_of(algorithm)
    if secret is not None:
        tsig_secrets.refuse_bad_secret(secret)
    elif algorithm != key.tsig_algorithm:
        tsig_secrets.refuse_new_of_old_algorithm(algorithm)
    try:
        with transaction.atomic():
            locked = first_or(Token.objects.select_for_update().filter(pk=key.pk, revoked_at=None), TokenUnknown)
            before, locked.tsig_name = locked.tsig_name, name
            locked.tsig_algorithm = algorithm
            if secret is not None:
                locked.tsig_secret = encrypt_secret(secret.encode())
            locked.save(update_fields=["tsig_name", "tsig_algorithm", "tsig_secret"])
            audit.record(
                action="token.change", by=by, now=now, target=locked.purpose, token=locked.pk, tsig=name, was=before
            )
    except IntegrityError as exc:
        raise TsigNameTaken(name) from exc
    return locked


def may_read_secret(key: Token, by: Actor) -> bool:
    """Return True if this actor owns the key and has the permission to read secrets."""
    return key.owner_id == by.user.pk and Permission.SECRETS in by.permissions


def read_secret(*, key: Token, by: Actor, now: datetime) -> str:
    """Return the secret in Base64 and write an audit entry. Return "" if the actor isn't allowed to read the secret."""
    if not may_read_secret(key, by):
        return ""
    audit.record(action="token.secret", by=by, now=now, target=key.purpose, token=key.pk, tsig=key.tsig_name)
    return base64.b64encode(tsig_secret(key)).decode()


def _is_within(key: Token, scope: tuple[Grant, ...]) -> bool:
    return all(any(is_part(grant, mine) for mine in scope) for grant in _grants(key)) and not key.permissions


def _grants(key: Token) -> Iterator[Grant]:
    return map(Grant.from_json, key.scope)
