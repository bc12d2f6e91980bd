"""The base of all SCIM views: authentication, body parser, responses and errors."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.core.exceptions import RequestDataTooBig
from django.core.signals import got_request_exception
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView

from dnspanel.accounts import errors as accounts
from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.models import ScimDirectory, TokenKind
from dnspanel.accounts.scim.directories import directory_of
from dnspanel.accounts.scim.refusals import WINDOW_SECONDS, record_refusal
from dnspanel.api.authentication import TokenAuthentication
from dnspanel.api.json_text import parse_json
from dnspanel.api.scim.faults import ScimFault
from dnspanel.api.throttle import counters
from dnspanel.api.v1.view import AnyAccept
from dnspanel.api.v2.http.problems import problem_of
from dnspanel.database.database_away import finish, is_outage

MEDIA_TYPE = "application/scim+json"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
MOST_BYTES = 1 << 20
_REFUSED, _REFUSED_WRITES = frozenset({401, 403, 429}), frozenset({400, 409, 413, 415})

logger = logging.getLogger(__name__)


class ScimAuthentication(TokenAuthentication):
    """Authentication with a directory's token. It sets `request.auth` to an `Actor` that can only use SCIM."""

    kind = TokenKind.SCIM


class ScimParser(BaseParser):
    """A parser for JSON bodies. It raises ScimFault for invalid JSON, and RequestDataTooBig above MOST_BYTES."""

    media_type = MEDIA_TYPE

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise RequestDataTooBig
        try:
            return parse_json(body.decode())
        except (ValueError, RecursionError) as exc:
            raise ScimFault(400, "The body is not usable JSON.", "invalidSyntax") from exc


class ScimView(APIView):
    """The base class of SCIM views. It accepts only directories' tokens and returns errors in SCIM's format."""

    authentication_classes: Any = (ScimAuthentication,)
    content_negotiation_class = AnyAccept
    parser_classes: Any = (ScimParser,)
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    schema = None

    def get_exception_handler(self) -> Callable[..., Any]:
        return answer_to_error

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        final = super().finalize_response(request, response, *args, **kwargs)
        final.headers.setdefault("Cache-Control", "private, no-store")
        return final


class NothingHere(ScimView):
    """The view for all URLs below `scim/v2/` that don't exist or aren't supported. It returns 404."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise ScimFault(404, "There is nothing here.")


def actor_in(request: Request) -> Actor:
    """Return the request's actor."""
    return cast(Actor, request.auth)


def directory_in(request: Request) -> ScimDirectory:
    """Return the directory that sent the request."""
    return directory_of(actor_in(request))


def answer(value: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the value as a JSON response in SCIM's media type."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text.encode(errors="backslashreplace"), status=status, content_type=MEDIA_TYPE, headers=headers)


def answer_to_error(exc: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """Return the response for an exception from a view. Log an unexpected exception and report a server error."""
    fault, headers = _fault_of(exc), {}
    if fault is None:
        problem = problem_of(exc)
        if problem is not None and is_outage(exc):
            return finish(context["request"], exc, answer_fault(ScimFault(problem.status, problem.detail), {}))
        if problem is not None:
            fault, headers = ScimFault(problem.status, problem.detail), dict(problem.headers)
    if fault is None:
        request: Request = context["request"]
        logger.exception("%s %s failed", request.method, request.path)
        got_request_exception.send(sender=type(context["view"]), request=request._request)
        fault = ScimFault(500, "The panel made a mistake; its log says more.")
    _note_refusal(context["request"], fault)
    return answer_fault(fault, headers)


def answer_fault(fault: ScimFault, headers: Mapping[str, str]) -> HttpResponse:
    """Return a response with a SCIM error."""
    body = {"schemas": [ERROR], "status": str(fault.status), "detail": fault.detail}
    return answer(body | ({"scimType": fault.kind} if fault.kind else {}), fault.status, headers=headers)


def _note_refusal(request: Request, fault: ScimFault) -> None:
    """Count a request rejected with certain statuses, and audit the 1st, 10th, 100th and so on within an hour.

    The statuses are those in _REFUSED, and for writes also those in _REFUSED_WRITES.
    """
    is_write = request.method not in ("GET", "HEAD") and not request.path.rstrip("/").endswith("/.search")
    if fault.status in _REFUSED or (is_write and fault.status in _REFUSED_WRITES):
        actor, now = request.auth if isinstance(request.auth, Actor) else None, timezone.now()
        who = actor.user.pk if actor is not None else "nobody"
        hour = int(now.timestamp()) // WINDOW_SECONDS
        key = f"scim-refused/{who}/{fault.status}/{fault.kind}/{hour}"
        record_refusal(
            count=counters().count(key, seconds=WINDOW_SECONDS),
            status=fault.status,
            kind=fault.kind,
            method=str(request.method),
            path=request.path,
            detail=fault.detail,
            by=actor,
            now=now,
        )


def _fault_of(exc: Exception) -> ScimFault | None:
    """Return the SCIM error for an exception from `accounts`, or None for exceptions that all APIs handle."""
    if isinstance(exc, ScimFault):
        return exc
    if isinstance(exc, accounts.PersonUnknown | accounts.GroupUnknown):
        return ScimFault(404, str(exc))
    if isinstance(exc, accounts.Taken | accounts.TeamNameTaken):
        return ScimFault(409, str(exc), "uniqueness")
    if isinstance(exc, accounts.OutOfReach):
        return ScimFault(403, str(exc))
    if isinstance(exc, accounts.DirectoryUnknown):
        return ScimFault(401, "There is no such directory any more.")
    if isinstance(exc, accounts.AccountRefused | accounts.TeamRefused):
        return ScimFault(400, str(exc), "invalidValue")
    return None
