"""Create, find, rotate, transfer and revoke API tokens and TSIG keys. Verbs.

The secret of an API token has 256 random bits. It is shown once, and only its SHA-256 hash is stored. A slow hash isn't
needed, because a random secret can't be guessed. A TSIG key is needed to verify signatures, so it is stored encrypted.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import (
    Actor,
    Author,
    Grant,
    Permission,
    actor_of,
    actor_of_token,
    is_part,
    token_of,
)
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import (
    TokenDead,
    TokenElsewhere,
    TokenQuotaExceeded,
    TokenRefused,
    TokenUnknown,
    TsigNameTaken,
)
from dnspanel.accounts.models import Token, TokenKind, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quotas import Holder, holders_for, members_bound_by, refuse_beyond
from dnspanel.accounts.rights import grant_edit
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.accounts.tokens.service_accounts import refuse_tokens_of_another
from dnspanel.accounts.tokens.token_terms import (
    TokenTerms,
    columns_of_terms,
    faults_beyond_maker,
    inherited_terms,
    refuse_bad_terms,
    requests_per_minute,
)
from dnspanel.database.first_rows import first_or
from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.texts import gettext
from replication.dns import names
from replication.errors import BadName

# So that secret scanners and people can recognize a token in a file.
SECRET_START = "dnsp_"
PREFIX_LENGTH = len(SECRET_START) + 6
LIFETIME = timedelta(days=90)
LONGEST_OVERLAP = timedelta(days=30)
# Tokens that can get another owner. A directory's token can't, and a feed would show the new owner's calendar.
GIVEN = (TokenKind.API, TokenKind.TSIG)
# A constantly used token is updated once per this time, not on every request.
USE_NOTED_EVERY = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token and its secret, which can't be shown again."""

    token: Token
    secret: str


def create_token(
    *, owner: User, terms: TokenTerms, by: Author, now: datetime, kind: TokenKind = TokenKind.API
) -> NewToken:
    """Create an API token or a calendar feed and write it to the audit log. Raise TokenQuotaExceeded beyond the quota.

    Raise TokenRefused with the invalid fields: a missing purpose, an invalid network, an expiry in the past, a right
    that the owner or the creating token lacks, or a limit wider than the creating token's. Raise TokenDead if the
    creating token can't be used any longer, and NotYours if the author isn't allowed to create tokens for the owner.
    """
    refuse_tokens_of_another(owner=owner, by=by)
    terms = inherited_terms(terms, by)
    refuse_bad_terms(owner, terms, by, now)
    secret = new_secret()
    with transaction.atomic():
        maker = _living_maker(by, now)
        _refuse_too_many(owner, now)
        token = Token.objects.create(
            kind=kind,
            owner=owner,
            **kept_of(secret),
            created_at=now,
            made_with=maker,
            **_allowance_after(maker),
            **columns_of_terms(terms),
        )
        audit.record(action="token.create", by=by, now=now, target=token.purpose, token=token.pk)
    return NewToken(token, secret)


def create_tsig_key(  # noqa: PLR0913  # the fields of a key
    *,
    owner: User,
    name: str,
    terms: TokenTerms,
    by: Author,
    now: datetime,
    algorithm: str = "hmac-sha256",
    secret: str = "",
    needs_permission: bool = False,
) -> NewToken:
    """Create a TSIG key. `secret` is Base64, or "" to generate a new secret.

    If `needs_permission` is True, the key can only be used for zones that list it. Raise the errors of `create_token`.
    Also raise TokenRefused for an invalid name, algorithm or secret, or if the creating token's writes need If-Match. A
    reserved name, and an outdated algorithm without a secret, are invalid too. Raise TsigNameTaken if a key with this
    name already exists.
    """
    refuse_tokens_of_another(owner=owner, by=by)
    terms = inherited_terms(terms, by)
    refuse_bad_terms(owner, terms, by, now)
    if (made_by := token_of(by)) and made_by.needs_if_match:
        raise TokenRefused({"token": [gettext("Your token requires If-Match, which DNS UPDATE doesn’t support.")]})
    key_name, algorithm = _key_name(name), tsig_secrets.algorithm_of(algorithm)
    if secret:
        tsig_secrets.refuse_bad_secret(secret)
    else:
        tsig_secrets.refuse_new_of_old_algorithm(algorithm)
        secret = base64.b64encode(secrets.token_bytes(32)).decode()
    try:
        with transaction.atomic():
            maker = _living_maker(by, now)
            _refuse_too_many(owner, now)
            token = Token.objects.create(
                kind=TokenKind.TSIG,
                owner=owner,
                tsig_name=key_name,
                tsig_algorithm=algorithm,
                tsig_secret=encrypt_secret(secret.encode()),
                needs_permission=needs_permission,
                created_at=now,
                made_with=maker,
                **_allowance_after(maker),
                **columns_of_terms(terms),
            )
            audit.record(action="token.create", by=by, now=now, target=token.purpose, token=token.pk, tsig=key_name)
    except IntegrityError as exc:
        raise TsigNameTaken(key_name) from exc
    return NewToken(token, secret)


def rotate_token(*, token: Token, by: Author, now: datetime, overlap: timedelta = timedelta(days=1)) -> NewToken:
    """Create a new API token with the same terms and expiry. The old one expires after `overlap`, if not earlier.

    `overlap` is capped at LONGEST_OVERLAP. Both tokens share one request limit, because only the secret is new. Raise
    TokenDead if the token is dead or was already rotated, TokenQuotaExceeded, or NotYours like `create_token`. Raise
    TokenRefused for a TSIG key or SCIM token, or if the author is a token with fewer rights or narrower limits.
    """
    _refuse_wider(by, token)
    if token.kind == TokenKind.SCIM:
        raise TokenRefused(
            {"token": [gettext("To rotate the secret for a directory’s token, open the directory’s page.")]}
        )
    if token.kind != TokenKind.API:
        raise TokenRefused(
            {"token": [gettext("TSIG keys can’t be rotated. Create one with a different name instead.")]}
        )
    end = now + min(max(overlap, timedelta()), LONGEST_OVERLAP)
    secret = new_secret()
    with transaction.atomic():
        maker = _living_maker(by, now)
        locked = Token.objects.select_for_update().get(pk=token.pk)
        refuse_dead(locked, now)
        if locked.rotated_to_id is not None:
            raise TokenDead(gettext("This token has already been rotated. Rotate the newer one instead."))
        _refuse_too_many(locked.owner, now, replaced=1)
        new = Token.objects.create(
            kind=TokenKind.API,
            owner_id=locked.owner_id,
            **{each.name: getattr(locked, each.name) for each in fields(TokenTerms)},
            **kept_of(secret),
            created_at=now,
            # The author's token knows the new secret. If that token ends, this one must end too.
            made_with_id=maker.pk if maker and maker.pk != locked.pk else locked.made_with_id,
            **_allowance_after(locked),
        )
        locked.rotated_to = new
        locked.expires_at = min(locked.expires_at, end) if locked.expires_at else end
        locked.save(update_fields=["rotated_to", "expires_at"])
        audit.record(action="token.rotate", by=by, now=now, target=locked.purpose, token=locked.pk, new=new.pk)
    return NewToken(new, secret)


def _refuse_wider(by: Author, token: Token) -> None:
    """Raise NotYours unless the author manages the token, or TokenRefused for an author token with fewer rights."""
    refuse_tokens_of_another(owner=token.owner, by=by)
    mine = by if isinstance(by, Actor) else None
    if mine is None or mine.token is None or mine.token.pk == token.pk:
        return
    terms = TokenTerms(
        token.purpose,
        networks=tuple(token.networks),
        expires_at=token.expires_at,
        unused_days=token.unused_days,
        needs_if_match=token.needs_if_match,
        deletes_many=token.deletes_many,
        requests_per_minute=requests_per_minute(token),
    )
    freer = faults_beyond_maker(terms, by) or mine.token.needs_if_match > token.needs_if_match
    if freer or not _is_within_scope(token, mine):
        raise TokenRefused({"token": [gettext("You can’t rotate a token that has more rights than your own.")]})


def give_tokens(*, person: User, to: User, ids: Collection[int], by: Author, now: datetime) -> list[int]:
    """Transfer the user's valid tokens with these ids to `to`, along with the tokens that they replaced by rotation.

    Rotated tokens and kinds outside GIVEN are skipped. Return the ids of the transferred tokens. The caller opens the
    transaction. Raise TokenRefused if a token exceeds the user's current rights, or TokenQuotaExceeded if `to` would
    have too many.
    """
    if not ids:
        return []
    alive = alive_tokens(now).filter(owner=person, rotated_to=None, pk__in=ids, kind__in=GIVEN)
    found = list(alive.select_for_update(of=("self",)).select_related("owner").order_by("pk"))
    actor = actor_of(person)
    for token in found:
        if actor is None or not _is_part_of(token, actor.grants, actor.permissions):
            raise TokenRefused(
                {
                    "tokens": [
                        gettext("“{purpose}” has more rights than {username}. Create a new token instead.").format(
                            purpose=token.purpose, username=person.username
                        )
                    ]
                }
            )
        _refuse_too_many(to, now)
        Token.objects.filter(pk__in=_earlier_forms([token.pk]) | {token.pk}).update(owner=to)
        audit.record(action="token.give", by=by, now=now, target=token.purpose, token=token.pk, to=to.username)
    return [token.pk for token in found]


def revoke_token(*, token: Token, by: Author, now: datetime) -> None:
    """Revoke a token, its later rotations, and all tokens that any of them created. Revoked tokens don't change.

    Tokens created before a rotation are included, because rotating a stolen token would otherwise preserve the tokens
    that the thief created. Raise AboveYou if the author is a token that isn't allowed to revoke this one.
    """
    _refuse_above(by, token)
    with transaction.atomic():
        end_token(token=token, by=by, now=now)
    token.revoked_at = token.revoked_at or now


def end_token(*, token: Token, by: Author, now: datetime) -> None:
    """Revoke tokens like `revoke_token`, but without checking rights, inside the caller's transaction."""
    # Revoke these tokens before searching for tokens that they created. `_living_maker` then prevents new ones.
    for ending in _line_of(token):
        for each in Token.objects.filter(pk__in=ending).order_by("pk"):
            _end(each, by, now)


def ending_with(token: Token) -> int:
    """Count the other tokens, including expired ones, that `revoke_token` would revoke together with this one."""
    line = {pk for ending in _line_of(token) for pk in ending} - {token.pk}
    return Token.objects.filter(pk__in=line, revoked_at=None).count()


def _refuse_above(by: Author, token: Token) -> None:
    """Raise AboveYou if the author is a token that isn't allowed to revoke this token (`refuse_at_or_above`).

    A token can always revoke itself, tokens that it created, and its owner's tokens within its scope.
    """
    mine = by if isinstance(by, Actor) and by.token is not None else None
    if mine is None or mine.token is None or mine.token.pk in (token.pk, token.made_with_id):
        return
    is_own = token.owner_id == mine.user.pk and _is_within_scope(token, mine)
    if not is_own:
        grant_edit.refuse_at_or_above(by, token.owner)


def _is_within_scope(token: Token, actor: Actor) -> bool:
    """Return True if the actor's scope and permissions include everything that the token gives."""
    return _is_part_of(token, actor.scope or (), actor.permissions)


def _is_part_of(token: Token, grants: Collection[Grant], permissions: Collection[Permission]) -> bool:
    within = all(any(is_part(grant, own) for own in grants) for grant in map(Grant.from_json, token.scope))
    return within and set(map(Permission, token.permissions)) <= set(permissions)


def _line_of(token: Token) -> Iterator[set[int]]:
    """Yield sets of token ids to revoke: first the token, then later rotations and tokens that these created."""
    seen, ending = set[int](), {token.pk}
    while ending:
        yield ending
        seen |= ending
        own = Q(rotated_from__in=ending) | Q(made_with__in=ending | _earlier_forms(ending))
        ending = set(Token.objects.filter(own).values_list("pk", flat=True)) - seen


def _end(token: Token, by: Author, now: datetime) -> None:
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        audit.record(action="token.revoke", by=by, now=now, target=token.purpose, token=token.pk)
        if token.kind == TokenKind.TSIG:
            # The name can be used again. The audit log has the old use.
            Token.objects.filter(pk=token.pk).update(tsig_name=f"{token.pk}.revoked.{token.tsig_name}")


def _earlier_forms(tokens: Collection[int]) -> set[int]:
    """Return the ids of the earlier tokens that these tokens replaced by rotation."""
    found, later = set[int](), set(tokens)
    while later:
        later = set(Token.objects.filter(rotated_to__in=later).values_list("pk", flat=True)) - found
        found |= later
    return found


def _living_maker(by: Author, now: datetime) -> Token | None:
    """Lock the author's token until the commit and return it, or None without a token. Raise TokenDead if dead."""
    maker = token_of(by)
    if maker is None:
        return None
    locked = Token.objects.select_for_update().get(pk=maker.pk)
    refuse_dead(locked, now)
    return locked


def _allowance_after(earlier: Token | None) -> dict[str, object]:
    """Return the columns for a request limit shared with the `earlier` token, or {} if that token has no limit."""
    if earlier is None:
        return {}
    if earlier.allowance_of_id is None and earlier.requests_per_minute is None:
        return {}
    if earlier.allowance_of_id is None:
        return {"allowance_of": earlier, "allowance": earlier.requests_per_minute}
    return {"allowance_of_id": earlier.allowance_of_id, "allowance": earlier.allowance}


def actor_by_secret(*, secret: str, address: str | None, now: datetime, kind: TokenKind = TokenKind.API) -> Actor:
    """Return the actor of the token with this secret. Uses one query, or two if the use must be stored.

    Raise TokenUnknown, TokenElsewhere, or TokenDead (revoked, expired, unused for too long, or its owner's account is
    closed). The caller must not reveal the reason in the response.
    """
    if not secret.startswith(SECRET_START):
        raise TokenUnknown
    token = _token_of(_sha256(secret))
    if token.kind != kind:  # a SCIM token has no access to the APIs, and an API token has none to SCIM
        raise TokenUnknown
    return actor_by_token(token=token, address=address, now=now)


_TOKEN_FIELDS = [field.attname for field in Token._meta.concrete_fields]
_OWNER_FIELDS = [field.attname for field in User._meta.concrete_fields]
_TOKEN_AND_OWNER = f"""
SELECT {", ".join(f"t.{field.column}" for field in Token._meta.concrete_fields)},
    {", ".join(f"u.{field.column}" for field in User._meta.concrete_fields)}
FROM accounts_token t JOIN accounts_user u ON u.id = t.owner_id WHERE t.secret_sha256 = %s"""


def _token_of(secret_sha256: bytes) -> Token:
    """Return the token with its owner, or raise TokenUnknown. The prepared query takes a third of the ORM's time."""
    with prepared_cursor() as cursor:
        cursor.execute(_TOKEN_AND_OWNER, [secret_sha256])
        row = cursor.fetchone()
    if row is None:
        raise TokenUnknown
    token = Token.from_db(connection.alias, _TOKEN_FIELDS, row[: len(_TOKEN_FIELDS)])
    token.scope = json.loads(token.scope)
    token.owner = User.from_db(connection.alias, _OWNER_FIELDS, row[len(_TOKEN_FIELDS) :])
    token.owner.quotas = json.loads(token.owner.quotas)
    return token


def actor_by_token(*, token: Token, address: str | None, now: datetime) -> Actor:
    """Return an authenticated token's actor and store the use. Raise TokenDead, or TokenElsewhere (wrong address)."""
    refuse_dead(token, now)
    if token.networks and not _is_within(address, token.networks):
        raise TokenElsewhere
    actor = actor_of_token(token)
    if actor is None:
        raise TokenDead(gettext("The account that owns this token is closed."))
    _note_use(token, address, now)
    return actor


def tsig_secret(token: Token) -> bytes:
    """Return the decrypted secret bytes of a TSIG key."""
    assert token.tsig_secret is not None
    return base64.b64decode(decrypt_secret(token.tsig_secret))


def refuse_dead(token: Token, now: datetime) -> None:
    """Raise TokenDead if the token is revoked, expired or unused for too long."""
    if token.revoked_at is not None:
        raise TokenDead(gettext("This token was revoked on {revoked_at:%Y-%m-%d}.").format(revoked_at=token.revoked_at))
    if token.expires_at is not None and token.expires_at <= now:
        raise TokenDead(gettext("This token expired on {expires_at:%Y-%m-%d}.").format(expires_at=token.expires_at))
    if token.unused_days is not None:
        used = token.last_used_at or token.created_at
        if used + timedelta(days=token.unused_days) <= now:
            raise TokenDead(
                gettext("This token hasn’t been used for {unused_days} days.").format(unused_days=token.unused_days)
            )


def tokens_visible_to(actor: Actor) -> QuerySet[Token]:
    """Return a query for the user's own tokens, or for all tokens if the actor manages users.

    If the actor is a token that doesn't manage users, only this token is visible.
    """
    tokens = Token.objects.select_related("owner")
    if Permission.PEOPLE in actor.permissions:
        return tokens
    # A narrow token must not see or create wider tokens of its owner.
    return tokens.filter(owner=actor.user) if actor.token is None else tokens.filter(pk=actor.token.pk)


def token_for(actor: Actor, pk: int) -> Token:
    """Return the token with this id. Raise TokenUnknown if it isn't visible to the actor."""
    return first_or(tokens_visible_to(actor).filter(pk=pk), TokenUnknown)


def alive_tokens(now: datetime) -> QuerySet[Token]:
    """Return a query for tokens that aren't revoked or expired."""
    return Token.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)


def token_count(holder: Holder, now: datetime, most: int) -> int:
    """Count the valid tokens of a user, or of the members that a team's quotas apply to. Stop counting at `most`."""
    alive = alive_tokens(now)
    if holder.team:
        people = User.objects.filter(**members_bound_by(holder.pk))
        return alive.filter(owner__in=people.values("pk"))[:most].count()
    return alive.filter(owner=holder.pk)[:most].count()


def _refuse_too_many(owner: User, now: datetime, *, replaced: int = 0) -> None:
    """Raise TokenQuotaExceeded if another token would exceed the quota of the owner or of one of the owner's teams.

    `replaced` is 1 for a rotation, because the new token replaces the old one. The old token counts until it expires,
    so the quota also limits repeated rotations.
    """
    refuse_beyond(
        holders_for(owner),
        Kind.TOKENS,
        added=1 - replaced,
        count=lambda holder, most: token_count(holder, now, most),
        refusal=TokenQuotaExceeded,
    )


def _key_name(name: str) -> str:
    try:
        key_name = names.parse(name)
    except BadName as exc:
        raise TokenRefused({"name": [str(exc)]}) from exc
    tsig_secrets.refuse_reserved(key_name)
    return key_name


def _is_within(address: str | None, networks: Sequence[str]) -> bool:
    if address is None:
        return False
    parsed = ip_address(address)
    return any(parsed in ip_network(network) for network in networks)


def _note_use(token: Token, address: str | None, now: datetime) -> None:
    """Store the token's last use and address. If the address is unchanged, write at most once per USE_NOTED_EVERY."""
    recent = token.last_used_at is not None and token.last_used_at > now - USE_NOTED_EVERY
    if recent and token.last_address == address:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_NOTED_EVERY) | ~Q(last_address=address)
    Token.objects.filter(stale, pk=token.pk).update(last_used_at=now, last_address=address)
    token.last_used_at, token.last_address = now, address


def new_secret() -> str:
    """Return a new random secret for an API token or a directory."""
    return SECRET_START + secrets.token_urlsafe(32)


def kept_of(secret: str) -> dict[str, Any]:
    """Return the columns to store for a secret: its prefix for display, and its SHA-256 hash."""
    return {"prefix": secret[:PREFIX_LENGTH], "secret_sha256": _sha256(secret)}


def _sha256(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
