"""TSIG keys by name, as programs look after them: find, make, change; `tokens.revoke_token` removes. Verbs.

A TSIG key is a token, and one made by a token can do no more than that one,
from nowhere else and for no longer. Only who may change the settings of some
zone sees or makes any. A secret is shown when the key is made; who may read
secrets again reads their own, and the audit log says so.
"""

import base64
from collections.abc import Iterator
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.actors.grants import Grant, Right, is_part
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import NotYours, TokenUnknown, TsigNameTaken
from dnspanel.accounts.models import Token, TokenKind
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.accounts.tokens import tsig
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import NewToken, create_tsig_key, tsig_secret


def may_have_keys(actor: Actor) -> bool:
    """Whether this actor may see and make TSIG keys at all."""
    return actor.may_somewhere(Right.SETTINGS)


def tsig_keys_visible_to(actor: Actor) -> list[Token]:
    """The keys by name: a person's own; for a token, those of its owner that give no more than itself.

    Everybody's for who may manage people. A key that has expired is there
    until somebody removes it, and so is its name.
    """
    if not may_have_keys(actor):
        return []
    keys = Token.objects.filter(kind=TokenKind.TSIG, revoked_at=None).select_related("owner").order_by("tsig_name")
    if Permission.PEOPLE in actor.permissions:
        return list(keys)
    return [key for key in keys.filter(owner=actor.user) if actor.scope is None or _is_within(key, actor.scope)]


def tsig_key_for(actor: Actor, name: str) -> Token:
    """The key of this (canonical) name; raises TokenUnknown for those that the actor may not know about."""
    for key in tsig_keys_visible_to(actor):
        if key.tsig_name == name:
            return key
    raise TokenUnknown


def key_exists(name: str) -> bool:
    """Whether anybody has a key of this (canonical) name."""
    return Token.objects.filter(kind=TokenKind.TSIG, revoked_at=None, tsig_name=name).exists()


def create_own_tsig_key(*, by: Actor, name: str, algorithm: str, secret: str, now: datetime) -> NewToken:
    """There is a TSIG key that may nothing until a zone names it, as in PowerDNS, and then no more than `by` may.

    It works from the same networks and until the same time. Raises as `create_tsig_key` does.
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
        owner=by.user,
        name=name,
        terms=terms,
        by=by,
        now=now,
        algorithm=algorithm,
        secret=secret,
        needs_permission=True,
    )


def change_tsig_key(*, key: Token, by: Actor, name: str, algorithm: str, secret: str | None, now: datetime) -> Token:
    """The key has this name and algorithm, and (Base64) secret; None leaves it what it is.

    Raises NotYours for another person's, whom this would act as; TokenUnknown, TokenRefused or TsigNameTaken.
    """
    if key.owner_id != by.user.pk:
        raise NotYours
    tsig.refuse_reserved(name)
    algorithm = tsig.algorithm_of(algorithm)
    if secret is not None:
        tsig.refuse_bad_secret(secret)
    elif algorithm != key.tsig_algorithm:
        tsig.refuse_new_of_old_algorithm(algorithm)
    try:
        with transaction.atomic():
            locked = Token.objects.select_for_update().filter(pk=key.pk, revoked_at=None).first()
            if locked is None:
                raise TokenUnknown
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
    """Whether this actor is shown the secret again: only of a key of one's own, and only with the permission to."""
    return key.owner_id == by.user.pk and Permission.SECRETS in by.permissions


def read_secret(*, key: Token, by: Actor, now: datetime) -> str:
    """The secret in Base64, and the audit log says who read it; nothing to who may not."""
    if not may_read_secret(key, by):
        return ""
    audit.record(action="token.secret", by=by, now=now, target=key.purpose, token=key.pk, tsig=key.tsig_name)
    return base64.b64encode(tsig_secret(key)).decode()


def _is_within(key: Token, scope: tuple[Grant, ...]) -> bool:
    return all(any(is_part(grant, mine) for mine in scope) for grant in _grants(key)) and not key.permissions


def _grants(key: Token) -> Iterator[Grant]:
    return map(Grant.from_json, key.scope)
