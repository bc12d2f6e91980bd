"""Middleware: without a session only the views in `OPEN_VIEWS` answer; exceptions of refusal become pages."""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers

from dnspanel.accounts.errors import GrantUnknown, TeamUnknown, TokenQuotaExceeded, TokenUnknown
from dnspanel.accounts.models import Role
from dnspanel.accounts.roles import PERMISSIONS, Permission
from dnspanel.alerts.errors import RouteUnknown
from dnspanel.fleet.errors import UnknownNode
from dnspanel.statement_time import RETRY_AFTER, SearchTooGeneral, was_ended
from dnspanel.transfer.errors import QuotaExceeded as ImportQuotaExceeded
from dnspanel.webhooks.errors import WebhookUnknown
from dnspanel.zones import access, queries
from dnspanel.zones.errors import (
    DraftUnknown,
    PolicyUnknown,
    PublishingOnHold,
    QuotaExceeded,
    RunUnknown,
    TemplateRunUnknown,
    TemplateUnknown,
)

# Everybody may call these. `enroll-agent` knows its callers by a one-time code, `welcome` by an invitation.
OPEN_VIEWS = frozenset({"account_login", "account_inactive", "welcome", "enroll-agent", "healthz"})

_SEEN = "seen"
_SEEN_NOTED_EVERY = 60  # seconds

View = Callable[..., HttpResponse]

_QUOTA_EXCEEDED = (QuotaExceeded, TokenQuotaExceeded, ImportQuotaExceeded)
# What does not exist, or what this person may not know about.
_UNKNOWN = (
    access.Unknown,
    UnknownNode,
    TokenUnknown,
    TeamUnknown,
    GrantUnknown,
    WebhookUnknown,
    RouteUnknown,
    PolicyUnknown,
    RunUnknown,
    TemplateUnknown,
    TemplateRunUnknown,
    DraftUnknown,
)


def note_sign_in(*, request: HttpRequest | None, **signal: object) -> None:
    """Receive `user_logged_in`: with the session that is saved then, not in the first request after it."""
    if request is not None and hasattr(request, "session"):
        request.session[_SEEN] = int(time.time())


class SignedInMiddleware:
    """Refuse requests without a session, and turn refusals into pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Nothing of a person's pages and files stays behind in a browser or on the way, once they have signed out.
        response.headers.setdefault("Cache-Control", "no-store")
        # One URL gives a page or a fragment; a cache must not take one for the other.
        patch_vary_headers(response, ["HX-Request"])
        return response

    def process_view(
        self, request: HttpRequest, view: View, args: list[object], kwargs: dict[str, object]
    ) -> HttpResponse | None:
        match = request.resolver_match
        # The API's views know tokens, not sessions, and deny by default themselves: `api.authentication.HasToken`.
        if match is not None and (match.app_names[:1] == ["api"] or match.view_name in OPEN_VIEWS):
            return None
        if request.user.is_authenticated and self._is_active(request):
            return None
        wants_json = request.get_preferred_type(["text/html", "application/json"]) == "application/json"
        if request.headers.get("HX-Request") or wants_json:
            # Never a form to sign in inside a table: `panel.js` opens a dialog on top, and asks again afterwards.
            return HttpResponse("Sign in first.", status=401, headers={"HX-Trigger": "sign-in-needed"})
        return redirect_to_login(_page_of(request), reverse("account_login"))

    def _is_active(self, request: HttpRequest) -> bool:
        """Whether the person did something lately, not only an open page; else they are signed out."""
        now, seen = time.time(), request.session.get(_SEEN)
        if seen is not None and now - seen > settings.SESSION_IDLE_MINUTES * 60:
            logout(request)
            return False
        if _is_by_the_person(request) and (seen is None or now - seen > _SEEN_NOTED_EVERY):
            request.session[_SEEN] = int(now)
        return True

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, access.InTrash):
            after = queries.trash_place(exception.deleted_at, exception.zone_id)
            return render(request, "404.html", {"trashed": exception, "after": after}, status=404)
        if isinstance(exception, _UNKNOWN):
            return render(request, "404.html", {"what": str(exception)}, status=404)
        if isinstance(exception, access.RightMissing):
            return _refused(request, 403, "403.html", str(exception))
        if isinstance(exception, SearchTooGeneral):
            return _refused(request, 422, "too_general.html", str(exception))
        if was_ended(exception):
            message = "The database took longer than a page may take. Nothing was changed; try again in a few seconds."
            response = _refused(request, 503, "too_slow.html", message)
            response["Retry-After"] = str(RETRY_AFTER)
            return response
        if isinstance(exception, _QUOTA_EXCEEDED):
            return _refused(request, 409, "quota_exceeded.html", str(exception))
        if isinstance(exception, PublishingOnHold):
            return _refused(request, 503, "on_hold.html", str(exception), hold=exception)
        if isinstance(exception, access.Forbidden):
            return forbidden(request, exception.permission)
        return None


def _is_by_the_person(request: HttpRequest) -> bool:
    """Whether somebody clicked or typed: an open page asks for its live parts for as long as it is open."""
    if request.method not in {"GET", "HEAD"}:
        return True
    by_script = request.headers.get("HX-Request") and not request.headers.get("HX-Boosted")
    return not by_script and request.headers.get("Sec-Fetch-Dest", "document") == "document"


def _refused(request: HttpRequest, status: int, template: str, message: str, **context: object) -> HttpResponse:
    """Return why, as a page or as a text: nothing was changed, and what was typed is where it was."""
    if request.headers.get("HX-Request"):  # `panel.js` shows a plain text as it is
        return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
    return render(request, template, {"message": message, **context}, status=status)


def _page_of(request: HttpRequest) -> str:
    """Return where to go after signing in: the page asked for, or the page whose form was sent."""
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    return urlsplit(request.headers.get("Referer", "")).path or reverse("home")


def forbidden(request: HttpRequest, permission: Permission) -> HttpResponse:
    """Return the 403 page: the missing permission, the roles that have it, and who can give one."""
    roles = [Role(role).label for role, allowed in PERMISSIONS.items() if permission in allowed]
    return render(request, "403.html", {"permission": permission.value, "roles": roles}, status=403)
