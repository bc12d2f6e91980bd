"""Views of invitations, password changes, signing out, and the signed-in user's name. allauth does the sign-in."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.views import PasswordChangeView
from allauth.account.views import logout as logout_view
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from dnspanel.accounts.errors import AccountRefused, BadInvitation
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.people import invite
from dnspanel.accounts.providers.oidc.logout import CAME_BY, sign_out_url
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest, no_store
from dnspanel.web.frame.people_forms import WelcomeForm


@no_store
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest, secret: str) -> HttpResponse:
    """Show the form that accepts an invitation. A POST creates the account, once, and redirects to the dashboard."""
    now = timezone.now()
    form = WelcomeForm(request.POST or None)
    try:
        role = Role(invite.open_invitation(secret, now).role)
        if form.is_valid():
            user = invite.accept_invitation(secret=secret, now=now, **form.cleaned_data)
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
            return redirect("home")
    except BadInvitation as exc:
        return render(request, "account/welcome_refused.html", {"refusal": str(exc)}, status=410)
    except AccountRefused as exc:
        form.refuse_all(exc.fields)
    context = {"form": form, "role": role.label}
    return render(request, "account/welcome.html", context, status=422 if form.is_bound else 200)


@require_safe
def who_is_here(request: PanelRequest) -> HttpResponse:
    """Return the signed-in user's name as JSON for scripts, or a page for browsers.

    The page is for a user who signed in again in a second tab and can return to the first tab.
    """
    if get_adapter().is_ajax(request):
        return JsonResponse({"user": request.user.username})
    return render(request, "account/here.html")


@require_http_methods(["GET", "HEAD", "POST"])
def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign out after a confirmation. A user who signed in through a provider also gets a link to sign out there."""
    came_by = request.session.get(CAME_BY, {})
    response: HttpResponse = logout_view(request)
    url = sign_out_url(came_by, settings.PANEL_URL + reverse("account_login"))
    if request.method == "POST" and url:
        return render(request, "account/signed_out.html", {"provider": came_by["name"], "url": url})
    return response


class _ChangePassword(PasswordChangeView):  # type: ignore[misc]  # allauth is untyped
    success_url = reverse_lazy("zone-list")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirect users without a password to their providers page, because they sign in only through a provider."""
        if isinstance(request.user, User) and not request.user.has_usable_password():
            messages.info(request, gettext("You don’t have a password because you sign in with a provider."))
            return redirect("account-providers")
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        return response

    def get_form(self, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(*args, **kwargs)
        for field in form.fields.values():
            field.widget.attrs = {"class": "input", "autocomplete": field.widget.attrs.get("autocomplete", "")}
        form.fields["oldpassword"].label = gettext("Current password")
        form.fields["password2"].label = gettext("Confirm new password")
        form.fields["password1"].help_text = gettext("Use at least 10 characters.")
        return form


change_password = _ChangePassword.as_view()
