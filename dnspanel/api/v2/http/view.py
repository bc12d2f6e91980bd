"""The base of all API v2 views: problem details, strict JSON, conditional requests, responses for retries.

Resources import everything for declaring and answering an operation from here.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from django.db import DatabaseError, InterfaceError
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_resolver
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions as drf
from rest_framework.fields import empty
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http import idempotency, problems
from dnspanel.api.v2.http.accepted import accepted_before, requested_wait, waits_for_secondaries
from dnspanel.api.v2.http.answers import JSON as JSON
from dnspanel.api.v2.http.answers import actor_in as actor_in
from dnspanel.api.v2.http.answers import answer as answer
from dnspanel.api.v2.http.answers import no_content as no_content
from dnspanel.api.v2.http.deprecation import say_deprecated
from dnspanel.api.v2.http.dry_run import is_dry_run, rehearse_writes
from dnspanel.api.v2.http.etag import SecretOnce
from dnspanel.api.v2.http.fault_texts import meant, quote_text
from dnspanel.api.v2.http.json_body import MergePatchParser, StrictJSONParser
from dnspanel.api.v2.http.parameters import refuse_unknown_parameters
from dnspanel.api.v2.http.problems import Problem, RequestFault
from dnspanel.api.v2.http.unexpected_body import refuse_unexpected_body
from dnspanel.database.database_away import begin_write, is_away
from dnspanel.zones.errors import Unknown
from replication import __version__

ROOT = "/api/v2/"
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})

logger = logging.getLogger(__name__)


class JSONOnly(BaseRenderer):
    """A renderer used only for content negotiation. `answer` builds the responses."""

    media_type = JSON
    format = "json"
    charset = None

    def render(self, data: Any, media_type: str | None = None, context: Mapping[str, Any] | None = None) -> bytes:
        return json.dumps(data, ensure_ascii=False).encode()


class ProblemOnly(JSONOnly):
    """A renderer that makes content negotiation accept clients that only accept problem details."""

    media_type = problems.MEDIA_TYPE


class V2View(APIView):
    """The base class of API v2 views.

    A write with an `Idempotency-Key` publishes only once: its response, unless it is a server error, is stored for a
    day and returned to every retry. A dry run doesn't use up the key. A write needs If-Match or If-None-Match if its
    token requires conditions, except for `unconditional` views, which reject If-Match.
    """

    parser_classes: Any = (StrictJSONParser, MergePatchParser)
    renderer_classes: Any = (JSONOnly, ProblemOnly)
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    conditional: bool | None = None  # None: conditional unless POST is the only write

    _claim: idempotency.Claim | None = None

    @property
    def actor(self) -> Actor:
        """The request's actor."""
        return actor_in(self.request)

    @property
    def unconditional(self) -> bool:
        """True if writes create resources or do not depend on a state, so there is no state to compare."""
        writes = {method for method in WRITES if hasattr(self, method.lower())}
        return writes == {"POST"} if self.conditional is None else not self.conditional

    def get_parsers(self) -> list[BaseParser]:
        """Return the parsers. RFC 7386's media type is only accepted for PATCH."""
        is_patch = self.request is None or self.request.method == "PATCH"  # None: OpenAPI generation
        return [each for each in super().get_parsers() if is_patch or not isinstance(each, MergePatchParser)]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        refuse_unknown_parameters(request, self)
        if request.method not in WRITES or request.auth is None:
            return
        refuse_unexpected_body(request, self)
        self._require_condition(request)
        requested_wait(request), waits_for_secondaries(request)  # raises Problem before any write
        method = request.method.lower()
        if not hasattr(self, method):  # will be rejected
            return
        if is_dry_run(request):
            setattr(self, method, rehearse_writes(getattr(self, method)))  # called by `dispatch`
            return
        key = request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is not None:
            self._claim = idempotency.claim(
                request=request._request, actor=actor_in(request), key=key, now=timezone.now()
            )
            begin_write()  # do not count the committed claim as a write
            if self._claim.taken_over and (before := accepted_before(request, self._claim.form_id)):
                raise idempotency.Remembered(before)

    def _require_condition(self, request: Request) -> None:
        if self.unconditional:
            if "HTTP_IF_MATCH" in request.META:
                fault = RequestFault(
                    "invalid", "This operation has no ETag that If-Match could match.", header="If-Match"
                )
                raise Problem("bad-header", "This operation does not support If-Match. Nothing was changed.", [fault])
            return
        token = actor_in(request).token
        if token is None or not token.needs_if_match:
            return
        if not (request.META.get("HTTP_IF_MATCH") or request.META.get("HTTP_IF_NONE_MATCH")):
            raise Problem("condition-needed", "This token can write only with If-Match or If-None-Match: *.")

    def finalize_response(
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        final = cast(HttpResponseBase, super().finalize_response(request, response, *args, **kwargs))
        patch_vary_headers(cast(HttpResponse, final), ("Authorization", "X-API-Key"))
        final.headers.setdefault("Cache-Control", "private, no-cache")
        say_deprecated(self, request, final)
        if self._claim is not None:
            self._remember(self._claim, cast(HttpResponse, final))
        if isinstance(final, SecretOnce):  # retries don't receive the secret, and the database never stores it
            final.content = final.with_secret
            final["Cache-Control"] = "no-store"
        # Only for valid tokens, so that attackers do not learn the version. `auth` would authenticate again.
        if getattr(request, "_auth", None) is not None:
            final.headers["Panel-Version"] = __version__
        return final

    def _remember(self, claim: idempotency.Claim, response: HttpResponse) -> None:
        try:
            idempotency.remember(claim=claim, response=response, now=timezone.now())
        except (DatabaseError, InterfaceError) as exc:  # the log has the write, so a retry finds it
            if not is_away(exc):
                logger.exception("the answer to a request with an Idempotency-Key was not stored")

    def get_exception_handler(self) -> Callable[..., Any]:
        return _answer_to_error


class NothingHere(V2View):
    """The view for all other URLs below the API's root. It raises a `not-found` problem."""

    conditional = False

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Problem("not-found", f"There is no resource at {request.path[:300]}.{_meant_path(request.path)}")


def _meant_path(path: str) -> str:
    """Return a hint for a client that requested an unknown path, with the most similar resource if there is one."""
    parts = path.removeprefix(ROOT).split("/")
    patterns = get_resolver("dnspanel.api.v2.urls").url_patterns
    resources = {str(each.pattern).removeprefix(ROOT[1:]).partition("/")[0] for each in patterns}
    if parts[0] in resources and not parts[-1]:
        hint = " Paths do not end in a slash."
    else:
        hint = "" if parts[0] in resources else meant(parts[0], resources)
    return f"{hint} {ROOT}openapi.json lists all paths."


def api_operation(
    operation_id: str, responses: Any, *parameters: OpenApiParameter, request: Any = empty
) -> Callable[[Any], Any]:
    """Return a decorator that documents a view method: its operation id, responses, parameters and request body."""
    return extend_schema(operation_id, list(parameters) or None, request, responses)


def query_parameter(name: str, description: str, kind: Any = str, **options: Any) -> OpenApiParameter:
    """Return the description of a query parameter. `kind` is its type or JSON schema."""
    return OpenApiParameter(name, kind, description=description, **options)


def form_id_of(request: Request) -> Any:
    """Return the publication id shared by all retries of a write, or None if the request has no Idempotency-Key."""
    claim = request.parser_context["view"]._claim
    return None if claim is None else claim.form_id


def _answer_to_error(exc: Exception, context: Mapping[str, Any]) -> HttpResponse:
    if isinstance(exc, idempotency.Remembered):
        return exc.response
    return problems.answer_to_error(_with_ways_out(exc, context["view"], context["request"]), context)


def _with_ways_out(exc: Exception, view: V2View, request: Request) -> Exception:
    """Return a framework error as a problem with the accepted values or as Unknown, and other errors unchanged."""
    if isinstance(exc, drf.UnsupportedMediaType):
        taken = " or ".join(parser.media_type for parser in view.get_parsers())
        sent = quote_text(request.content_type) if request.content_type else "a body without a media type"
        detail = f"Send the body as `Content-Type: {taken}`, not {sent}."
        fault = problems.RequestFault("invalid", detail, header="Content-Type")
        return Problem("unsupported-media-type", detail, [fault])
    if isinstance(exc, drf.MethodNotAllowed):
        if "./" in view.kwargs.get("zone_name", ""):  # an unknown path below a zone, parsed as the name of a zone
            return Unknown(view.kwargs["zone_name"])
        detail = f"{request.method} is not allowed here. Allowed: {', '.join(view.allowed_methods)}."
        return Problem("method-not-allowed", detail)
    if isinstance(exc, drf.NotAcceptable):
        media = ", ".join(sorted({renderer.media_type for renderer in view.renderer_classes}))
        detail = f"The answer is {media}: send this media type in `Accept`, or `*/*`."
        return Problem("not-acceptable", detail, [problems.RequestFault("invalid", detail, header="Accept")])
    return exc
