"""Complete a sign-in with a provider: sign the user in, link the account, or show why it was rejected."""

from collections.abc import Callable
from typing import Any

from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from allauth.core.internal import ratelimit
from allauth.socialaccount.providers.base import AuthProcess
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from dnspanel.accounts.audit.audit import origin
from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import SignInProvider, User
from dnspanel.accounts.providers.admit import admit, record_refusal
from dnspanel.accounts.providers.links import link_own_account
from dnspanel.accounts.providers.provider_identity import Identity
from dnspanel.accounts.sessions.session_store import SESSION_ENDS, end_in_hours
from dnspanel.texts import gettext, gettext_lazy

# An address that calls the URLs constantly creates no audit entries and no sessions.
TOO_OFTEN = SignInRefused("too-often", gettext_lazy("Too many attempts. Wait a minute, then try again."))
_STATUS = {"away": 502, TOO_OFTEN.reason: 429}


def comes_too_often(request: HttpRequest) -> bool:
    """Count the request, and return True if its address has exceeded the rate limit for sign-ins with providers.

    allauth's public function isn't used, because it doesn't count GET requests.
    """
    return not ratelimit.consume(request, app="allauth.account", action="oidc", limit_get=True)


def complete(
    request: HttpRequest,
    row: SignInProvider,
    identity: Identity,
    state: dict[str, Any],
    note: Callable[[], None] = lambda: None,
) -> HttpResponse:
    """Sign in the user with this identity, or link the signed-in user's account to it.

    Return the next page, or a page that explains the rejection. `note` is called only for a sign-in. It stores data
    about the provider's session in the panel's session.
    """
    now = timezone.now()
    try:
        if state.get("process") == AuthProcess.CONNECT:
            return _link(request, row, identity, state)
        user = admit(provider=row, identity=identity, now=now)
    except SignInRefused as exc:
        return refusal_page(request, row, exc, identity)
    if request.user.is_authenticated:
        get_account_adapter(request).logout(request)
    request.session.pop(SESSION_ENDS, None)
    end_in_hours(request, row.session_hours, now.timestamp())
    note()
    record_authentication(request, user, "socialaccount", provider=row.slug, uid=identity.subject)
    response: HttpResponse = perform_login(request, user, redirect_url=state.get("next"))
    return response


def refusal_page(
    request: HttpRequest, row: SignInProvider, refusal: SignInRefused, identity: Identity | None = None
) -> HttpResponse:
    """Return a page that explains the rejected sign-in. Audit it unless the address sent too many requests."""
    if refusal.reason != TOO_OFTEN.reason:
        _record(row, refusal, identity)
    context = {"refusal": str(refusal), "provider": row, "request_id": origin().request_id}
    return render(request, "account/provider_refused.html", context, status=_STATUS.get(refusal.reason, 403))


def _record(row: SignInProvider, refusal: SignInRefused, identity: Identity | None) -> None:
    record_refusal(
        provider=row,
        reason=refusal.reason,
        subject=identity.subject if identity else "",
        mail=identity.mail if identity else "",
        now=timezone.now(),
    )


def _link(request: HttpRequest, row: SignInProvider, identity: Identity, state: dict[str, Any]) -> HttpResponse:
    user = request.user
    if not isinstance(user, User) or user.pk != state.get("user"):
        raise SignInRefused("other-session", gettext("Someone else is now signed in here, so no account was linked."))
    link_own_account(provider=row, identity=identity, user=user, now=timezone.now())
    messages.success(request, gettext("You can now also sign in with {name}.").format(name=row.name))
    return redirect("account-providers")
