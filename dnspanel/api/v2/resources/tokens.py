"""API resources for API tokens. With the permission `people`, a token sees all tokens; otherwise only itself.

A token can only create tokens with the same or fewer rights. TSIG keys are tokens that sign DNS messages (RFC 8945):
dynamic updates and zone transfers.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Grant, Permission, person_form
from dnspanel.accounts.errors import TokenDead, TokenUnknown
from dnspanel.accounts.models import Token, TokenKind, User
from dnspanel.accounts.people.people import person_by_id
from dnspanel.accounts.rights.grant_edit import MOST_GRANTS
from dnspanel.accounts.tokens import token_terms, tsig_secrets
from dnspanel.accounts.tokens import tokens as verbs
from dnspanel.accounts.tokens.presets import default_end
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.pages import page_by_id
from dnspanel.api.v2.http.view import V2View, api_operation, no_content
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, Integer, Moment, OptionalText, Shape, Text, page_of, read
from dnspanel.api.v2.schema.permissions import CHOICES, permission_names, permissions_of
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.scopes import ScopeSerializer, grants_of, scopes_json
from dnspanel.zones.rights import access

STATES = [(state, state) for state in ("alive", "expired", "revoked", "unused")]
ALGORITHMS = [(name, name) for name in tsig_secrets.ALGORITHMS]
_SHARED = (
    "id",
    "owner",
    "purpose",
    "scope",
    "permissions",
    "networks",
    "expires_at",
    "unused_days",
    "state",
    "created_at",
    "last_used_at",
    "last_address",
)


class TermsSerializer(Shape):
    """The purpose, the rights and the limits of a token."""

    purpose = Text(max_length=100, help_text="Purpose, shown in lists and the history.")
    scope = ScopeSerializer(many=True, default=list, max_length=MOST_GRANTS)
    permissions = serializers.ListField(child=Choice(choices=CHOICES), default=list, max_length=len(CHOICES))
    networks = serializers.ListField(
        child=Text(max_length=49), default=list, max_length=100, help_text="Networks where it works; empty: anywhere."
    )
    expires_at = Moment(required=False, allow_null=True, help_text="Omitted: in 90 days. null: never.")
    unused_days = Integer(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=3650,
        help_text="Days without use until the token expires.",
    )


class TokenSerializer(TermsSerializer):
    """An API token, without its secret."""

    id = serializers.IntegerField(read_only=True)
    owner = Integer(
        required=False, help_text="Id of the owner, who can be a service account; omitted: the owner of this token."
    )
    owned_by = ActorSerializer()
    prefix = serializers.CharField(read_only=True, help_text="Visible beginning of the secret.")
    needs_if_match = Flag(default=False, help_text="Require `If-Match` or `If-None-Match` for each write.")
    requests_per_minute = Integer(default=None, allow_null=True, min_value=1, max_value=1_000_000)
    deletes_many = Flag(default=False, help_text="Allow deleting any number of zones within minutes without `confirm`.")
    state = serializers.ChoiceField(choices=STATES, read_only=True, help_text="State of the token.")
    created_at = serializers.DateTimeField(read_only=True)
    last_used_at = serializers.DateTimeField(read_only=True, allow_null=True)
    last_address = serializers.CharField(read_only=True, allow_null=True)
    rotated_to = serializers.IntegerField(read_only=True, allow_null=True, help_text="Id of the new token.")


class NewTokenSerializer(TokenSerializer):
    """A new token with its secret.

    The secret is shown only once.
    """

    secret = serializers.CharField(read_only=True, allow_null=True, help_text="null in the response to a retry.")


class RotationSerializer(Shape):
    """The time until the old token stops working."""

    overlap_seconds = Integer(
        default=86_400,
        min_value=0,
        max_value=int(verbs.LONGEST_OVERLAP.total_seconds()),
        help_text="Seconds until the old token stops working.",
    )


class Tokens(V2View):
    @api_operation("listTokens", page_of(TokenSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List tokens.

        With the permission `people`, lists everyone's tokens. Without this permission, lists only the caller's own
        token. The list includes revoked tokens, newest first.
        """
        now = timezone.now()
        found = verbs.tokens_visible_to(self.actor).filter(kind=TokenKind.API)
        return page_by_id(request, found, lambda rows: tokens_json(self.actor, rows, now), newest_first=True)

    @api_operation("createToken", {201: NewTokenSerializer}, request=TokenSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a token.

        Returns the secret, which is shown only once. The new token cannot have more rights than its owner or the token
        that creates it. A token for someone else needs the permission `people`.
        """
        now = timezone.now()
        values = read(TokenSerializer, request.data)
        owner = _owner(self.actor, values.get("owner", self.actor.user.pk))
        new = verbs.create_token(owner=owner, terms=terms_of(self.actor, values, now), by=self.actor, now=now)
        return _answer_created(self.actor, new, now, f"{request.path}/{new.token.pk}")


class OneToken(V2View):
    """View to read or revoke a token. A token can't be changed."""

    @api_operation("getToken", TokenSerializer)
    def get(self, request: Request, token_id: int) -> HttpResponse:
        """Read a token.

        Returns the token's scope, limits and last use, without the secret. A token without the permission `people` can
        read only itself.
        """
        return answer_with_tag(_token_json(self.actor, token_id))

    @api_operation("revokeToken", {204: None})
    def delete(self, request: Request, token_id: int) -> HttpResponse:
        """Revoke a token.

        The token, its later rotations and all tokens that they created stop working at once. Lists still include the
        token, because the history refers to it. A token without the permission `people` can revoke only itself.
        """
        token = token_for(self.actor, token_id)
        with conditional_write(request, f"token/{token_id}", lambda: _token_json(self.actor, token_id)):
            verbs.revoke_token(token=token, by=self.actor, now=timezone.now())
        return no_content()


class TokenRotation(V2View):
    """View to rotate a token, which creates a new token with the same scope and limits."""

    conditional = True

    @api_operation("rotateToken", {201: NewTokenSerializer}, request=RotationSerializer)
    def post(self, request: Request, token_id: int) -> HttpResponse:
        """Rotate a token.

        Returns a new token with the same scope and limits. The new secret is shown only once. The old token still works
        for `overlap_seconds`. A token without the permission `people` can rotate only itself.
        """
        now = timezone.now()
        token = token_for(self.actor, token_id)
        overlap = timedelta(seconds=read(RotationSerializer, request.data)["overlap_seconds"])
        with conditional_write(request, f"token/{token_id}", lambda: _token_json(self.actor, token_id)):
            new = verbs.rotate_token(token=token, by=self.actor, now=now, overlap=overlap)
        new.token.owner = token.owner
        return _answer_created(
            self.actor, new, now, request.path.removesuffix(f"{token_id}/rotate") + str(new.token.pk)
        )


def _owner(actor: Actor, user_id: int) -> User:
    """Return the owner of a new token. Raise Forbidden if the owner is another person and the actor lacks `people`."""
    if user_id == actor.user.pk:
        return actor.user
    access.require(actor, Permission.PEOPLE)
    return person_by_id(user_id)


def terms_of(actor: Actor, values: dict[str, Any], now: datetime) -> token_terms.TokenTerms:
    """Return token terms from values that a serializer has checked.

    Missing networks are those of the creating token, and a missing expiry time is that of `_usual_end`. Raise
    ValidationError for zones that the actor is not allowed to see.
    """
    return token_terms.TokenTerms(
        purpose=values["purpose"],
        scope=grants_of(actor, values["scope"]),
        permissions=permissions_of(values["permissions"]),
        networks=tuple(values["networks"]) or tuple(actor.token.networks if actor.token else ()),
        expires_at=values["expires_at"] if "expires_at" in values else _usual_end(actor, now),
        unused_days=values["unused_days"],
        needs_if_match=values.get("needs_if_match", False),
        requests_per_minute=values.get("requests_per_minute"),
        deletes_many=values.get("deletes_many", False),
    )


def _usual_end(actor: Actor, now: datetime) -> datetime:
    """Return the default expiry time of a new token.

    This is 90 days from now, or the expiry time of the creating token if that is earlier.
    """
    ends = [default_end(now), actor.token.expires_at if actor.token else None]
    return min(end for end in ends if end is not None)


def token_for(actor: Actor, token_id: int, kind: TokenKind = TokenKind.API) -> Token:
    """Return the token of this kind with this id. Raise TokenUnknown if the actor can't see such a token."""
    token = verbs.token_for(actor, token_id)
    if token.kind != kind:
        raise TokenUnknown
    return token


def tokens_json(actor: Actor, tokens: Sequence[Token], now: datetime) -> list[dict[str, Any]]:
    """Return the JSON form of tokens, without their secrets."""
    scopes = iter(scopes_json(actor, [Grant.from_json(grant) for token in tokens for grant in token.scope]))
    return [_json(token, [next(scopes) for _ in token.scope], now) for token in tokens]


def _json(token: Token, scope: list[dict[str, Any]], now: datetime) -> dict[str, Any]:
    return row_json(
        TokenSerializer,
        token,
        owned_by=person_form(token.owner),
        scope=scope,
        permissions=permission_names(map(Permission, token.permissions)),
        state=state_of(token, now),
    )


def state_of(token: Token, now: datetime) -> str:
    """Return the state of the token: "alive", "revoked", "expired", or "unused" (not used for too long)."""
    try:
        verbs.refuse_dead(token, now)
    except TokenDead:
        if token.revoked_at is not None:
            return "revoked"
        return "expired" if token.expires_at is not None and token.expires_at <= now else "unused"
    return "alive"


def _token_json(actor: Actor, token_id: int) -> dict[str, Any]:
    return tokens_json(actor, [token_for(actor, token_id)], timezone.now())[0]


def _answer_created(actor: Actor, new: verbs.NewToken, now: datetime, location: str) -> HttpResponse:
    value = tokens_json(actor, [new.token], now)[0] | {"secret": new.secret}
    return once(value, secret="secret", Location=location)


class TsigKeySerializer(TermsSerializer):
    """A TSIG key, without its secret."""

    id = serializers.IntegerField(read_only=True)
    owner = serializers.IntegerField(read_only=True)
    name = Text(max_length=1100, help_text="Name of the key in DNS messages; unique in the panel.")
    algorithm = Choice(choices=ALGORITHMS, default="hmac-sha256", help_text="TSIG algorithm.")
    state = serializers.ChoiceField(choices=STATES, read_only=True, help_text="State of the key.")
    created_at = serializers.DateTimeField(read_only=True)
    last_used_at = serializers.DateTimeField(read_only=True, allow_null=True)
    last_address = serializers.CharField(read_only=True, allow_null=True)


class NewTsigKeySerializer(TsigKeySerializer):
    """A new TSIG key with its secret.

    The secret is shown only once.
    """

    key = OptionalText(
        allow_null=True,
        max_length=1000,
        help_text="Secret in Base64, at least 128 bits. If omitted, the panel makes one, except for hmac-md5. Shown "
        "only once.",
    )


class TsigKeys(V2View):
    @api_operation("listTsigKeys", page_of(TsigKeySerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List TSIG keys.

        Lists all keys, newest first, without their secrets. Without the permission `people`, the list is empty.
        """
        return page_by_id(
            request,
            verbs.tokens_visible_to(self.actor).filter(kind=TokenKind.TSIG),
            lambda rows: _keys_json(self.actor, rows, timezone.now()),
            newest_first=True,
        )

    @api_operation("createTsigKey", {201: NewTsigKeySerializer}, request=NewTsigKeySerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a TSIG key.

        Returns the secret, which is shown only once. The key cannot have more rights than its owner or the token that
        creates it.
        """
        now = timezone.now()
        values = read(NewTsigKeySerializer, request.data)
        new = verbs.create_tsig_key(
            owner=self.actor.user,
            name=values["name"],
            terms=terms_of(self.actor, values, now),
            by=self.actor,
            now=now,
            algorithm=values["algorithm"],
            secret=values["key"] or "",
        )
        value = _keys_json(self.actor, [new.token], now)[0] | {"key": new.secret}
        return once(value, secret="key", Location=f"{request.path}/{new.token.pk}")


class OneTsigKey(V2View):
    @api_operation("getTsigKey", TsigKeySerializer)
    def get(self, request: Request, key_id: int) -> HttpResponse:
        """Read a TSIG key.

        Returns the key's name, algorithm, scope and last use, without the secret. Needs the permission `people`.
        """
        return answer_with_tag(_key_json(self.actor, key_id))

    @api_operation("revokeTsigKey", {204: None})
    def delete(self, request: Request, key_id: int) -> HttpResponse:
        """Revoke a TSIG key.

        The key stops working at once. The key's name can then be used for another key. Needs the permission `people`.
        """
        key = token_for(self.actor, key_id, TokenKind.TSIG)
        with conditional_write(request, f"token/{key_id}", lambda: _key_json(self.actor, key_id)):
            verbs.revoke_token(token=key, by=self.actor, now=timezone.now())
        return no_content()


def _keys_json(actor: Actor, keys: Sequence[Token], now: datetime) -> list[dict[str, Any]]:
    shared = tokens_json(actor, keys, now)
    return [
        {name: token[name] for name in _SHARED} | {"name": key.tsig_name, "algorithm": key.tsig_algorithm}
        for key, token in zip(keys, shared, strict=True)
    ]


def _key_json(actor: Actor, key_id: int) -> dict[str, Any]:
    return _keys_json(actor, [token_for(actor, key_id, TokenKind.TSIG)], timezone.now())[0]
