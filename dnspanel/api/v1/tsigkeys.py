"""`/tsigkeys`: the TSIG keys for dynamic updates and zone transfers, which are a kind of token."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.errors import AboveYou, NotYours, TokenRefused, TokenUnknown, TsigNameTaken
from dnspanel.accounts.models import Token
from dnspanel.accounts.tokens import tsig_keys, tsig_secrets
from dnspanel.accounts.tokens.tokens import revoke_token
from dnspanel.api.v1.view import (
    PowerdnsView,
    Refusal,
    accepts_json,
    actor_in,
    answer,
    json_object,
    name_of_id,
    no_content,
    shorten_text,
    text_in,
    zone_id,
)
from replication.dns import names
from replication.errors import BadName


class TsigKeys(PowerdnsView):
    """The list of keys, without their secrets. A POST creates a key."""

    def get(self, request: Request, server_id: str) -> HttpResponse:
        return answer([_object(key, "") for key in tsig_keys.tsig_keys_visible_to(actor_in(request))])

    def post(self, request: Request, server_id: str) -> HttpResponse:
        actor = actor_in(request)
        if not tsig_keys.may_have_keys(actor):
            raise Refusal(403, "This token may not make TSIG keys.")
        body = json_object(request)
        name, algorithm, secret = _name(text_in(body, "name")), text_in(body, "algorithm"), _text(body, "key")
        # Without a secret, PowerDNS fails while it generates one, and returns another status.
        algorithm = _algorithm(algorithm, request, 422 if secret else 400)
        if secret:
            _refuse_bad_secret(secret, "TSIG content '{}' cannot be base64-decoded")
        with _refusals(request, name):
            made = tsig_keys.create_own_tsig_key(
                by=actor, name=name, algorithm=algorithm, secret=secret, now=timezone.now()
            )
        return answer(_object(made.token, made.secret), 201)


class TsigKey(PowerdnsView):
    """A key, with its secret if the actor is allowed to read it again. It can be changed and deleted."""

    def get(self, request: Request, server_id: str, tsigkey_id: str) -> HttpResponse:
        key = _key(request, tsigkey_id)
        return answer(_object(key, _secret_for(request, key)))

    def put(self, request: Request, server_id: str, tsigkey_id: str) -> HttpResponse:
        key = _key(request, tsigkey_id)
        body = json_object(request) if request._request.body else {}
        secret = body["key"] if isinstance(body.get("key"), str) else None
        algorithm = _algorithm(_text(body, "algorithm", key.tsig_algorithm), request, 422)
        if secret is not None:
            _refuse_bad_secret(secret, "Can not base64 decode key content '{}'")
        name = _name(_text(body, "name", str(key.tsig_name)))
        with _refusals(request, name):
            key = tsig_keys.change_tsig_key(
                key=key, by=actor_in(request), name=name, algorithm=algorithm, secret=secret, now=timezone.now()
            )
        return answer(_object(key, _secret_for(request, key) if secret is None else secret))

    def delete(self, request: Request, server_id: str, tsigkey_id: str) -> HttpResponse:
        key = _key(request, tsigkey_id)
        with _refusals(request, str(key.tsig_name)):
            revoke_token(token=key, by=actor_in(request), now=timezone.now())
        return no_content()


def _object(key: Token, secret: str) -> dict[str, Any]:
    name = str(key.tsig_name)
    return {"algorithm": key.tsig_algorithm, "id": zone_id(name), "key": secret, "name": name[:-1], "type": "TSIGKey"}


def _key(request: Request, id: str) -> Token:
    name = name_of_id(id)
    with _refusals(request, name):
        return tsig_keys.tsig_key_for(actor_in(request), name)


def _secret_for(request: Request, key: Token) -> str:
    return tsig_keys.read_secret(key=key, by=actor_in(request), now=timezone.now())


def _text(body: Mapping[str, Any], member: str, otherwise: str = "") -> str:
    """Return a string member of the body. Like PowerDNS, treat any other type as missing."""
    value = body.get(member)
    return value if isinstance(value, str) else otherwise


def _name(text: str) -> str:
    try:
        name = names.parse(text)
    except BadName as exc:
        raise Refusal(422, f"Unable to parse DNS Name '{shorten_text(text)}'") from exc
    if name == names.ROOT:
        raise Refusal(422, "A TSIG key needs a name")
    return name


def _algorithm(text: str, request: Request, status: int) -> str:
    try:
        return tsig_secrets.algorithm_of(text)
    except TokenRefused as exc:
        if status == 422:
            raise Refusal(422, f"Unknown TSIG algorithm: {shorten_text(text)}") from exc
        raise _refusal(request, status, f"Invalid TSIG algorithm: {shorten_text(text)}") from exc


def _refuse_bad_secret(text: str, message: str) -> None:
    try:
        tsig_secrets.refuse_bad_secret(text)
    except tsig_secrets.TooShort as exc:
        raise Refusal(422, str(exc)) from exc
    except TokenRefused as exc:
        raise Refusal(422, message.format(shorten_text(text))) from exc


@contextmanager
def _refusals(request: Request, name: str) -> Iterator[None]:
    """Convert errors about a TSIG key to a Refusal: 404 unknown, 409 name taken, 403 not allowed, 422 invalid."""
    try:
        yield
    except TokenUnknown as exc:
        raise _refusal(request, 404, f"TSIG key with name '{shorten_text(name[:-1])}' not found") from exc
    except TsigNameTaken as exc:
        raise _refusal(request, 409, f"A TSIG key with the name '{shorten_text(name[:-1])}' already exists") from exc
    except (AboveYou, NotYours) as exc:
        raise Refusal(403, str(exc)) from exc
    except TokenRefused as exc:
        raise Refusal(422, str(exc)) from exc


def _refusal(request: Request, status: int, text: str) -> Refusal:
    """Return a Refusal with this text for clients that accept JSON. Other clients only receive the status's phrase."""
    return Refusal(status, text if accepts_json(request) else "")
