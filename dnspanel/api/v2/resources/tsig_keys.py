"""API resources for TSIG keys, which are tokens that sign DNS messages (RFC 8945).

The keys sign dynamic updates and zone transfers.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.models import Token, TokenKind
from dnspanel.accounts.tokens import tokens as verbs
from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.pages import page_by_id
from dnspanel.api.v2.http.view import V2View, api_operation, no_content
from dnspanel.api.v2.resources.tokens import STATES, TermsSerializer, terms_of, token_for, tokens_json
from dnspanel.api.v2.schema.fields import PAGED, Choice, OptionalText, Text, page_of, read

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
