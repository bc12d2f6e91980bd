"""Middleware that requires a session except for `OPEN_VIEWS` and the APIs, and turns refusals into error pages."""

import time
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.html import format_html

from dnspanel.accounts.actors.actors import PERMISSIONS, Permission
from dnspanel.accounts.errors import NotFound, TokenQuotaExceeded
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.people.own_time_zone import time_zone_of
from dnspanel.accounts.sessions.session_store import MUST_SET_UP, SEEN, SESSION_ENDS, note_seen
from dnspanel.accounts.sessions.session_store import note_sign_in as note_session
from dnspanel.accounts.sign_in.second_factor_rules import second_factor_due
from dnspanel.database.database_away import is_outage
from dnspanel.database.statement_time import RETRY_AFTER, SearchTooGeneral, was_ended
from dnspanel.texts import gettext, join_list
from dnspanel.transfer.errors import DiskFull
from dnspanel.transfer.errors import QuotaExceeded as ImportQuotaExceeded
from dnspanel.web.frame import database_away
from dnspanel.web.frame.confirm import Unconfirmed
from dnspanel.zones.errors import PublishingOnHold, QuotaExceeded
from dnspanel.zones.lists import queries
from dnspanel.zones.rights import access

# Views that need no session. `enroll-agent` authenticates its callers by a one-time code, `welcome` by an invitation,
# `webhook-stop-mails` by the key in an emailed link, `password-link` by a link for one person, `calendar-feed` by a
# feed's secret, and `mfa_authenticate` by the password that the person has just typed.
OPEN_VIEWS = frozenset(
    {
        *("account_login", "mfa_authenticate", "account_inactive", "password-forgotten", "password-link"),
        *("passkey-sign-in", "welcome", "webhook-stop-mails", "enroll-agent", "language", "calendar-feed"),
        # The command-line client as a file: scripts fetch it before they have a token, and it contains no secret.
        "docs-cli-file",
        # The first middleware answers these, with only the names of components.
        *("livez", "readyz", "healthz"),
        # Requests to a provider and its responses, which are checked against the stored request.
        *("openid_connect_login", "openid_connect_callback", "oidc-ended", "saml-acs", "saml-finish", "saml-metadata"),
    }
)

# Pages for a person who must set up a second factor first: the setup, the password, and signing out.
SET_UP_VIEWS = frozenset(
    {
        *("account-signing-in", "account-app", "account-passkey", "account-codes", "one-time-page"),
        *("account-sessions", "account_change_password", "account_logout"),
    }
)
_SEEN_NOTED_EVERY = _RULES_LOOKED_AT_EVERY = 60  # seconds
_RULES_LOOKED_AT = "second-factor-rules-at"

View = Callable[..., HttpResponse]

# Refusals, with the status and the template of their pages.
_REFUSALS: tuple[tuple[tuple[type[Exception], ...], int, str], ...] = (
    ((access.RightMissing,), 403, "403.html"),
    ((SearchTooGeneral,), 422, "too_general.html"),
    ((QuotaExceeded, TokenQuotaExceeded, ImportQuotaExceeded), 409, "quota_exceeded.html"),
    ((DiskFull,), 507, "disk_full.html"),
)


def note_sign_in(*, request: HttpRequest | None, user: User, **signal: object) -> None:
    """Record a sign-in's time in the session (signal `user_logged_in`). Warn if a second factor will be required."""
    if request is not None and hasattr(request, "session"):
        note_session(request, time.time())
        due = _look_at_rules(request, user, time.time())
        if due is not None and MUST_SET_UP not in request.session and hasattr(request, "_messages"):
            when = timezone.localtime(due, time_zone_of(user)).strftime("%Y-%m-%d %H:%M")
            messages.warning(
                request,
                gettext("Set up a second factor by {when} on your account’s “Signing in” page.").format(when=when),
            )


class SignedInMiddleware:
    """Middleware that requires a session and any overdue second factor, and turns refusals into error pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            response = self.get_response(request)
        finally:
            timezone.deactivate()  # the thread serves another person next
        # Browsers and proxies must not keep a person's pages and files after sign-out.
        response.headers.setdefault("Cache-Control", "no-store")
        # The same URL returns a page or a fragment, which caches must not mix up.
        patch_vary_headers(response, ["HX-Request"])
        return response

    def process_view(
        self, request: HttpRequest, view: View, args: list[object], kwargs: dict[str, object]
    ) -> HttpResponse | None:
        match = request.resolver_match
        # API views use tokens instead of sessions, and deny by default: `api.authentication.HasToken`.
        if match is not None and (_is_of_an_api(request) or match.view_name in OPEN_VIEWS):
            return None
        if request.user.is_authenticated and self._is_active(request):
            timezone.activate(time_zone_of(request.user))
            return None if _may_go_on(request) else _to_set_up(request)
        wants_json = request.get_preferred_type(["text/html", "application/json"]) == "application/json"
        if request.headers.get("HX-Request") or wants_json:
            # A fragment must not become a sign-in form: `panel.js` opens a dialog, then repeats the request.
            return _sign_in_again(request)
        return redirect_to_login(_page_of(request), reverse("account_login"))

    def _is_active(self, request: HttpRequest) -> bool:
        """Return True if the session is active. If it has ended or was idle for too long, sign the user out.

        Requests that an open page sends automatically don't count as activity.
        """
        now, seen = time.time(), request.session.get(SEEN)
        is_over = now >= request.session.get(SESSION_ENDS, now + 1)  # set for people who signed in through a provider
        if is_over or (seen is not None and now - seen > settings.SESSION_IDLE_MINUTES * 60):
            logout(request)
            return False
        if _is_by_the_person(request) and (seen is None or now - seen > _SEEN_NOTED_EVERY):
            note_seen(request, now)
        return True

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Unconfirmed):
            return exception.page
        if isinstance(exception, access.InTrash):
            after = queries.trash_place(exception.deleted_at, exception.zone_id)
            return render(request, "404.html", {"trashed": exception, "after": after}, status=404)
        if isinstance(exception, NotFound):
            return render(request, "404.html", {"what": str(exception)}, status=404)
        for kinds, status, template in _REFUSALS:
            if isinstance(exception, kinds):
                return _refusal_response(request, status, template, str(exception))
        if was_ended(exception):
            message = gettext("The request took too long. Nothing was changed. Try again in a few seconds.")
            response = _refusal_response(request, 503, "too_slow.html", message)
            response["Retry-After"] = str(RETRY_AFTER)
            return response
        if is_outage(exception) and not _is_of_an_api(request):  # APIs have their own error format: `server_errors`
            return database_away.answer(request, exception)
        if isinstance(exception, PublishingOnHold):
            return _refusal_response(request, 503, "on_hold.html", str(exception), hold=exception)
        if isinstance(exception, access.Forbidden):
            return forbidden(request, exception.permission)
        return None


def _is_of_an_api(request: HttpRequest) -> bool:
    return request.resolver_match is not None and request.resolver_match.app_names[:1] == ["api"]


def _sign_in_again(request: HttpRequest) -> HttpResponse:
    """Refuse a script's request with a message and a link, which leads to the sign-in and back to the open page."""
    page = urlsplit(request.headers.get("HX-Current-URL") or request.headers.get("Referer", ""))
    url = f"{reverse('account_login')}?{urlencode({'next': page.path or reverse('home')})}"
    message = format_html(
        '<p role="alert">{}. <a href="{}">{}</a></p>', gettext("Your session has expired"), url, gettext("Sign in")
    )
    return HttpResponse(message, status=401, headers={"HX-Trigger": "sign-in-needed"})


def _look_at_rules(request: HttpRequest, user: User, now: float) -> datetime | None:
    """Mark the session if a second factor is due now, otherwise unmark it. Return the due time, or None without one."""
    due = second_factor_due(user)
    request.session[_RULES_LOOKED_AT] = int(now)
    if due is not None and due.timestamp() <= now:
        request.session[MUST_SET_UP] = True
    else:
        request.session.pop(MUST_SET_UP, None)
    return due


def _may_go_on(request: HttpRequest) -> bool:
    """Return False if the user must set up a second factor before using this view.

    A new rule, or the end of the grace period, takes effect within a minute.
    """
    now = time.time()
    looked_at = request.session.get(_RULES_LOOKED_AT, 0)
    if request.session.get(MUST_SET_UP) or not 0 <= now - looked_at < _RULES_LOOKED_AT_EVERY:
        assert isinstance(request.user, User)
        _look_at_rules(request, request.user, now)
    match = request.resolver_match
    return not request.session.get(MUST_SET_UP) or (match is not None and match.view_name in SET_UP_VIEWS)


def _to_set_up(request: HttpRequest) -> HttpResponse:
    """Redirect to the page where a second factor is set up."""
    page = reverse("account-signing-in")
    if request.headers.get("HX-Request"):
        return HttpResponse(gettext("Set up a second factor first."), status=403, headers={"HX-Redirect": page})
    return redirect(page)


def _is_by_the_person(request: HttpRequest) -> bool:
    """Return True if the request counts as the user's activity: it opens a page or isn't a GET or HEAD request."""
    if request.method not in {"GET", "HEAD"}:
        return True
    by_script = request.headers.get("HX-Request") and not request.headers.get("HX-Boosted")
    return not by_script and request.headers.get("Sec-Fetch-Dest", "document") == "document"


def _refusal_response(
    request: HttpRequest, status: int, template: str, message: str, **context: object
) -> HttpResponse:
    """Return the message as an error page, or as plain text for htmx, which keeps the input in the page's form."""
    if request.headers.get("HX-Request"):  # `panel.js` shows plain text unchanged
        return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
    return render(request, template, {"message": message, **context}, status=status)


def _page_of(request: HttpRequest) -> str:
    """Return the URL to show after signing in: the requested page, or the page with the submitted form."""
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    return urlsplit(request.headers.get("Referer", "")).path or reverse("home")


def forbidden(request: HttpRequest, permission: Permission) -> HttpResponse:
    """Return the 403 page, which names the missing permission and the roles that have it."""
    roles = [Role(role).label for role, allowed in PERMISSIONS.items() if permission in allowed]
    return render(request, "403.html", {"permission": gettext(permission.value), "roles": join_list(roles)}, status=403)
