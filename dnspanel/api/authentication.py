"""Authenticate API requests by token. Browser cookies are ignored."""

import base64
import binascii
from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.errors import BadToken
from dnspanel.accounts.models import TokenKind, User
from dnspanel.accounts.tokens.tokens import actor_by_secret

if TYPE_CHECKING:  # avoids an import cycle: views import this module
    from rest_framework.views import APIView


class TokenAuthentication(BaseAuthentication):
    """Authentication with a token in `X-API-Key` or `Authorization: Bearer`. It sets `request.auth` to an `Actor`."""

    kind = TokenKind.API

    def authenticate(self, request: Request) -> tuple[User, Actor] | None:
        secret = secret_in(request)
        if not secret:
            if scheme := get_authorization_header(request).decode("latin-1").partition(" ")[0]:
                raise AuthenticationFailed(_other_scheme(scheme))
            return None
        try:
            address = request.META.get("REMOTE_ADDR")
            actor = actor_by_secret(secret=secret, address=address, now=timezone.now(), kind=self.kind)
        except BadToken as exc:
            raise AuthenticationFailed(refusal(address)) from exc
        return actor.user, actor

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="dnspanel"'


class HasToken(BasePermission):
    """A permission class that requires a token, unless the view overrides it."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return isinstance(request.auth, Actor)


def secret_in(request: Request | HttpRequest) -> str:
    """Return the token secret from `X-API-Key` or `Authorization: Bearer`, or "" if the request has neither."""
    if key := request.META.get("HTTP_X_API_KEY", ""):
        return str(key)
    scheme, _, value = get_authorization_header(request).decode("latin-1").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def refusal(address: str | None) -> str:
    """Return the error message for an invalid token. It hides the exact reason, which could help an attacker."""
    return f"This token is not valid: unknown, expired, revoked, or not allowed from your address, {address}."


def _other_scheme(scheme: str) -> str:
    """Return the error message for an unsupported Authorization scheme. It doesn't repeat the credentials."""
    displayed = f"`{scheme} …`" if scheme.isascii() and scheme.isalnum() and len(scheme) < 20 else "that"
    return f"Send the token as `Authorization: Bearer dnsp_…` or `X-API-Key: dnsp_…`, not as {displayed}."


def password_in(request: Request | HttpRequest) -> tuple[str, str] | None:
    """Return the user name and password from HTTP Basic authentication (for dyndns2), or None if missing or invalid."""
    scheme, _, value = get_authorization_header(request).decode("latin-1").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (name, password) if colon else None
