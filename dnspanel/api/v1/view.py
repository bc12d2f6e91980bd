"""The base of all API v1 views: parse requests, and return responses and errors in PowerDNS's form.

Framework errors (400, 401, 404 …) are JSON only for clients that accept JSON, otherwise HTML or a line of text. Errors
with a message, such as status 422, are always JSON. PowerDNS does the same, and clients use this to recognize errors in
their data.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, cast

from django.core.exceptions import RequestDataTooBig
from django.core.signals import got_request_exception
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils.cache import patch_vary_headers
from rest_framework.exceptions import APIException, NotAuthenticated, Throttled
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.api.authentication import TokenAuthentication
from dnspanel.api.errors import ApiError
from dnspanel.api.json_text import parse_json
from dnspanel.database import database_away
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.zones.errors import (
    Forbidden,
    InTrash,
    KeyUnknown,
    MassDeletion,
    NameOfOthers,
    NameTaken,
    PublishingOnHold,
    Unknown,
    ZoneError,
)
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from replication.dns import names
from replication.errors import BadName, Permanent

SERVER = "localhost"
ROOT_URL = "/api/v1"
SERVER_URL = f"{ROOT_URL}/servers/{SERVER}"
JSON = "application/json"

_PREFLIGHT = {
    "Access-Control-Allow-Headers": "Content-Type, X-API-Key",
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "Access-Control-Max-Age": "3600",
}

logger = logging.getLogger(__name__)

_ESCAPED_BYTE = re.compile(r"=(.{0,2})", re.DOTALL)
_HEX = re.compile(r"[0-9A-F]{2}", re.ASCII)
_KEPT_IN_IDS = re.compile(r"[^A-Za-z0-9.-]", re.ASCII)


class Refusal(ApiError):
    """An error response with this status. If the text is empty, the response has the status's standard phrase."""

    def __init__(self, status: int, text: str = "", *, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.text, self.headers = status, text, dict(headers or {})
        super().__init__(text or HTTPStatus(status).phrase)


class AnyAccept(BaseContentNegotiation):
    """Content negotiation that ignores the Accept header, because PowerDNS never returns 406."""

    def select_parser(self, request: Request, parsers: Any) -> BaseParser:
        return cast(BaseParser, parsers[0])

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], JSON


class KeyAuthentication(TokenAuthentication):
    """Authentication with a token sent as PowerDNS's API key. A 401 response has PowerDNS's challenge."""

    def authenticate_header(self, request: Request) -> str:
        return 'X-API-Key realm="PowerDNS"'


class PowerdnsView(APIView):
    """The base class of API v1 views. It requires a token and the server `localhost`, and returns PowerDNS's errors.

    Pages from any origin can send requests and read responses (CORS). This is safe because only the key in the request
    authorizes it, never a browser cookie.
    """

    authentication_classes: Any = (KeyAuthentication,)
    content_negotiation_class = AnyAccept
    http_method_names = ["get", "post", "put", "patch", "delete", "options"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method != "OPTIONS":
            super().initial(request, *args, **kwargs)
            _refuse_unconditional_write(request)
        if kwargs.get("server_id", SERVER) != SERVER:
            raise Refusal(404)

    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the CORS preflight response. Browsers send this request without a key."""
        return HttpResponse(content_type="text/plain", headers=_PREFLIGHT)

    def http_method_not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        raise Refusal(405, headers={"Allow": ", ".join(self.allowed_methods)})

    def get_exception_handler(self) -> Callable[..., Any]:
        return answer_to_error

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, Response):  # made by a DRF mixin. Our own responses are complete.
            return super().finalize_response(request, response, *args, **kwargs)
        # The response depends on the key, and an error also on the accepted media types.
        patch_vary_headers(response, ("Accept", "X-API-Key"))
        response["Cache-Control"] = "no-store"
        response["Access-Control-Allow-Origin"] = "*"
        return response


class NothingHere(PowerdnsView):
    """The view for all other URLs below the API's root. It returns 404."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Refusal(404)


def _refuse_unconditional_write(request: Request) -> None:
    """Raise Refusal (403) for a write with a token that requires If-Match, because API v1 doesn't support If-Match."""
    token = request.auth.token if isinstance(request.auth, Actor) else None
    if token is not None and token.needs_if_match and request.method != "GET":
        raise Refusal(403, "The writes of this token must carry If-Match, which API v1 does not have. Use API v2.")


def actor_in(request: Request) -> Actor:
    """Return the request's actor."""
    return cast(Actor, request.auth)


def answer(value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the value as a JSON response."""
    return answer_text(json.dumps(value), status, headers=headers)


def answer_text(text: str, status: int = 200, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return JSON text as a response."""
    return HttpResponse(text, status=status, content_type=JSON, headers=headers)


def no_content(headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return a response with status 204 and no body."""
    response = HttpResponse(status=204, headers=headers)
    del response["Content-Type"]
    return response


def accepts_json(request: HttpRequest | Request) -> bool:
    """Return True if the Accept header contains `application/json` anywhere, like PowerDNS."""
    return JSON in request.META.get("HTTP_ACCEPT", "")


def answer_to_error(exc: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Return the response for an exception from a view.

    If PostgreSQL is unavailable, the status is 503. If a disk is full, the status is 507. Any other unexpected
    exception is logged, and the status is 500.
    """
    request: Request = context["request"]
    refusal = _refusal_of(exc)
    if refusal is None and database_away.is_outage(exc):
        refusal = Refusal(database_away.status_of(exc), database_away.sentence(exc))
        return database_away.finish(request, exc, _error(request, refusal))
    if refusal is None:
        logger.exception("%s %s failed", request.method, request.path)
        got_request_exception.send(sender=type(context["view"]), request=request._request)
        refusal = Refusal(500)
    if isinstance(exc, APIException) and (challenge := getattr(exc, "auth_header", None)):
        refusal.headers["WWW-Authenticate"] = challenge
    return _error(request, refusal)


def _refusal_of(exc: Exception) -> Refusal | None:
    """Return the Refusal for an exception, or None if the exception is unexpected."""
    match exc:
        case Refusal():
            return exc
        case Throttled():
            return Refusal(429, headers={"Retry-After": str(int(exc.wait or 1))})
        case NotAuthenticated():
            return Refusal(401)
        case APIException():
            return Refusal(exc.status_code)
    return _refusal_of_domain(exc)


def _refusal_of_domain(exc: Exception) -> Refusal | None:
    match exc:
        case InTrash():
            return Refusal(404, str(exc))
        case Unknown() | KeyUnknown() | Http404():
            return Refusal(404)
        case Forbidden() | NameOfOthers():
            return Refusal(403, str(exc))
        case NameTaken():
            return Refusal(409)
        case PublishingOnHold():
            return Refusal(503, str(exc), headers={"Retry-After": "60"})
        case MassDeletion():
            return Refusal(422, f"{exc} Send it with ?confirm=true, or use a token that may delete many zones.")
        case ApiError() | ZoneError() | Permanent() | SearchTooGeneral():
            return Refusal(422, str(exc))
    return None


def _error(request: Request, refusal: Refusal) -> HttpResponse:
    """Return an error as JSON if the client accepts JSON or the refusal has a message, else as HTML or plain text."""
    phrase = HTTPStatus(refusal.status).phrase
    if refusal.text or accepts_json(request):
        response = answer({"error": refusal.text or phrase}, refusal.status)
    elif "text/html" in request.META.get("HTTP_ACCEPT", ""):
        page = f"<!doctype html><title>{phrase}</title><h1>{phrase}</h1>"
        response = HttpResponse(page, status=refusal.status)
    else:
        response = HttpResponse(phrase, status=refusal.status, content_type="text/plain; charset=utf-8")
    for name, value in refusal.headers.items():
        response[name] = value
    return response


def json_body(request: Request) -> Any:
    """Parse the body as JSON, whatever its media type. Raise Refusal if it is too large (413) or invalid (400)."""
    try:
        return parse_json(request._request.body.decode())
    except RequestDataTooBig as exc:
        raise Refusal(413) from exc
    except (ValueError, RecursionError, UnreadablePostError) as exc:
        raise Refusal(400) from exc


def json_object(request: Request) -> dict[str, Any]:
    """Return the body as a JSON object without null members. Like PowerDNS, return {} if it isn't an object."""
    value = json_body(request)
    if not isinstance(value, dict):
        return {}
    return {key: member for key, member in value.items() if member is not None}


def text_in(body: Mapping[str, Any], key: str) -> str:
    """Return a string member of the body. Raise Refusal (422) if it is missing or isn't a string."""
    value = body.get(key)
    if not isinstance(value, str):
        raise Refusal(422, f"Key '{key}' not present or not a String")
    return value


def list_in(body: Mapping[str, Any], key: str) -> list[Any]:
    """Return an array member of the body, or [] if it is missing. Raise Refusal (422) if it isn't an array."""
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Refusal(422, f"Key '{key}' not an Array")
    return value


def flag_in(request: Request, key: str, *, default: bool) -> bool:
    """Return a boolean query parameter, or `default` if missing or empty. Raise Refusal (422) for another value."""
    value = request.GET.get(key, "")
    if value not in {"", "true", "false", "1", "0"}:
        raise Refusal(422, f"'{key}' request parameter value '{shorten_text(value)}' is not supported")
    return default if not value else value in {"true", "1"}


def canonical(text: str) -> str:
    """Convert a client's name to canonical form. Raise Refusal (422) if it is invalid or has no trailing dot."""
    try:
        name = names.parse(text)
    except BadName as exc:
        if not text.endswith("."):
            raise Refusal(422, f"DNS Name '{shorten_text(text)}' is not canonical") from exc
        raise Refusal(422, f"Unable to parse DNS Name '{shorten_text(text)}': {exc.reason}") from exc
    if not text.endswith(".") or text.endswith("\\."):
        raise Refusal(422, f"DNS Name '{shorten_text(text)}' is not canonical")
    return name


def shorten_text(text: str) -> str:
    """Cut a client's text to at most 300 characters for use in a response."""
    return text if len(text) <= 300 else text[:299] + "…"


def zone_url(name: str) -> str:
    """Return a zone's URL in the API."""
    return f"{SERVER_URL}/zones/{zone_id(name)}"


def zone_id(name: str) -> str:
    """Return the zone's id for URLs: its name, with special characters as `=HH` (hex).

    Letters, digits, `.` and `-` aren't escaped. The root is `=2E`, because HTTP clients drop a path segment of one dot.
    """
    return "=2E" if name == names.ROOT else _KEPT_IN_IDS.sub(lambda found: f"={ord(found[0]):02X}", name)


def name_of_id(id: str) -> str:
    """Return the name of the zone or TSIG key for an id. The id can lack the trailing dot.

    Raise Refusal (400) for an invalid escape and Refusal (422) for an invalid name.
    """
    text = _ESCAPED_BYTE.sub(_unescape_byte, id)
    try:
        return names.parse(text)
    except BadName as exc:
        raise Refusal(422, f"Unable to parse DNS Name '{shorten_text(text)}'") from exc


def _unescape_byte(found: re.Match[str]) -> str:
    if not _HEX.fullmatch(found[1]):
        raise Refusal(400)
    return chr(int(found[1], 16))


def zone_by_id(request: Request, id: str, right: Right | None = None) -> Zone:
    """Return the zone for an id from the URL. If `right` is None, the actor only needs read access.

    The same query also loads the zone's PowerDNS attributes, its signing and the catalog that it produces. Raise
    Refusal for an invalid id, Unknown for a zone that isn't visible, and RightMissing if the actor lacks the right.
    """
    name, actor = name_of_id(id), actor_in(request)
    zone = access.zone_alone(actor, name, ("powerdns", "signing", "produced__catalog"))
    if right is not None:
        access.require_right(actor, zone, right)
    return zone
