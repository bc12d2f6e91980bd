"""Serve `/livez`, `/readyz` and `/healthz` to supervisors, load balancers and people with curl.

All three answer within a second, even if other services hang. They run before every other middleware, and don't use the
Host header, sessions or Django's connections to PostgreSQL. Everyone can see the names of faulty parts, which are
documented. Only clients that are allowed to read the metrics can see the reasons.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from contextvars import copy_context
from functools import cache
from typing import Any

from django.db import DatabaseError, InterfaceError, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dnspanel.accounts.audit.request_origin import RequestOriginMiddleware
from dnspanel.monitoring.health import faults, health, ready
from dnspanel.monitoring.part_checks import PATIENCE_SECONDS
from dnspanel.monitoring.view import MayScrape

# Threads that check tokens in PostgreSQL. If PostgreSQL hangs, they are busy, and later callers get no thread.
_MOST_TOKEN_CHECKS = 2
_LEAST_SECONDS = 0.1


@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Answer 200 if this process can answer requests. Check nothing else."""
    return _no_store(JsonResponse({"ok": True, "faults": []}))


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 if pages and APIs can be served, or 503 if PostgreSQL doesn't answer or a migration is missing."""
    return _brief(faults(ready()))


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 if all parts of the panel are healthy, or 503 otherwise.

    With `?verbose`, show the reasons to clients that are allowed to see metrics.
    """
    began = time.monotonic()
    found = health()  # first, so that no token is checked while PostgreSQL is unreachable
    if "verbose" not in request.GET:
        return _brief(faults(found))
    if "postgresql" in faults(found) and _carries_token(request):
        return _brief(faults(found))  # tokens are stored in PostgreSQL
    details = _threads().submit(copy_context().run, _answer_details, request)
    try:
        return details.result(max(_LEAST_SECONDS, PATIENCE_SECONDS - (time.monotonic() - began)))
    except (NotInTime, DatabaseError, InterfaceError):
        details.cancel()
        return _brief(faults(found))


class HealthDetails(APIView):
    """The states of all parts with reasons, for clients in PANEL_METRICS_NETWORKS and tokens that can see nodes."""

    permission_classes = (MayScrape,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        found = health()
        parts = {name: {"state": part.state, "reason": part.reason} for name, part in found.items()}
        names = faults(found)
        return Response({"ok": not names, "faults": names, "parts": parts}, status=503 if names else 200)


def _answer_details(request: HttpRequest) -> HttpResponse:
    try:
        response: Any = RequestOriginMiddleware(csrf_exempt(HealthDetails.as_view()))(request)
        return _no_store(response.render())
    finally:
        connections.close_all()


class HealthMiddleware:
    """Outermost middleware. It answers the paths in `VIEWS` before all other middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = VIEWS.get(request.path_info)
        return self.get_response(request) if view is None else view(request)


VIEWS: dict[str, Callable[[HttpRequest], HttpResponse]] = {"/livez": livez, "/readyz": readyz, "/healthz": healthz}


def _carries_token(request: HttpRequest) -> bool:
    return bool(request.META.get("HTTP_X_API_KEY") or request.META.get("HTTP_AUTHORIZATION"))


def _brief(names: list[str]) -> HttpResponse:
    return _no_store(JsonResponse({"ok": not names, "faults": names}, status=503 if names else 200))


def _no_store(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    response._has_been_logged = True  # type: ignore[attr-defined]  # else Django logs each request
    return response


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the thread pool. It is created on first use, because a forked process loses its parent's threads."""
    return ThreadPoolExecutor(_MOST_TOKEN_CHECKS, thread_name_prefix="health details")
