"""Views of passkeys: add and remove a user's own passkeys, and sign in with only a passkey."""

import json
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import perform_login
from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.core.internal import ratelimit
from allauth.mfa.base.internal.flows import post_authentication
from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.accounts.errors import PasskeyRefused
from dnspanel.accounts.sign_in import passkeys as verbs
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.account.recovery_codes import page_with_codes
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.forms import PanelForm, switch_field
from dnspanel.web.frame.layout import PanelRequest, no_store, say_done


class CredentialForm(PanelForm):
    """A form with a hidden field for the browser's WebAuthn response, as JSON."""

    credential = forms.CharField(max_length=verbs.LONGEST_CREDENTIAL, widget=forms.HiddenInput)

    def clean_credential(self) -> Any:
        try:
            return json.loads(self.cleaned_data["credential"])
        except (ValueError, RecursionError) as exc:
            raise ValidationError(str(PasskeyRefused())) from exc


class NewPasskeyForm(CredentialForm):
    """The form for a new passkey: the name, and whether the passkey can sign in without the password."""

    name = forms.CharField(
        label=gettext_lazy("Passkey name"),
        max_length=verbs.LONGEST_NAME,
        initial=gettext_lazy("Passkey"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    alone = switch_field(
        gettext_lazy("Sign in with this passkey, without a password"),
        gettext_lazy("The passkey will then ask for your fingerprint, face or PIN."),
        initial=True,
    )


def options_json(options: dict[str, Any]) -> str:
    """Return the WebAuthn options as JSON, for a form attribute that a script reads."""
    return json.dumps(options, cls=DjangoJSONEncoder)


@no_store
@require_http_methods(["GET", "HEAD", "POST"])
def add_passkey(request: PanelRequest) -> HttpResponse:
    """Ask for the password, then show the page that adds a passkey. A POST with the browser's response adds it."""
    if not verbs.are_possible():
        raise Http404
    ask(request, _BEFORE_PASSKEY)
    form = NewPasskeyForm(request.POST if "credential" in request.POST else None)
    if form.is_valid():
        with form.catching(PasskeyRefused):
            codes = verbs.add_passkey(user=request.user, now=timezone.now(), **form.cleaned_data)
            say_done(request, gettext("Passkey added."))
            return page_with_codes(request, codes) if codes else redirect("account-signing-in")
    elif request.method == "POST" and not form.is_bound:  # the password was correct
        return redirect("account-passkey")
    context = {"form": form, "options": options_json(verbs.begin_adding(request.user))}
    return render(request, "account/passkey_add.html", context, status=422 if form.is_bound else 200)


@require_POST
def remove_passkey(request: PanelRequest, passkey_id: int) -> HttpResponse:
    """Remove one of the user's own passkeys, after a confirmation with the password."""
    ask(request, _BEFORE_REMOVAL)
    verbs.remove_passkey(user=request.user, pk=passkey_id, now=timezone.now())
    say_done(request, gettext("Passkey removed."))
    return redirect("account-signing-in")


@no_store
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Return the WebAuthn options as JSON. A POST with the browser's response signs in the passkey's owner.

    The sign-in dialog on an open page sends that page's username as `login`, and receives JSON.
    """
    if not verbs.are_possible():
        raise Http404
    if request.user.is_authenticated:
        return lead_on(request, reverse("home"))
    if request.method != "POST":
        return JsonResponse({"request_options": verbs.begin_using(None)}, encoder=DjangoJSONEncoder)
    limit = ratelimit.consume_or_429(request, app="allauth.mfa", action="webauthn_login")
    if limit is not None:
        assert isinstance(limit, HttpResponse)
        return limit
    form = CredentialForm(request.POST)
    try:
        if not form.is_valid():
            raise PasskeyRefused
        row = verbs.sign_in_by_passkey(credential=form.cleaned_data["credential"], now=timezone.now())
        if request.POST.get("login", row.user.username) != row.user.username:
            raise PasskeyRefused(gettext("This passkey belongs to another account."))
    except PasskeyRefused as exc:
        if get_adapter().is_ajax(request):
            return JsonResponse({"form": {"errors": [str(exc)]}}, status=400)
        messages.error(request, str(exc))
        return redirect("account_login")
    post_authentication(request, row, passwordless=True)
    response = perform_login(request, Login(user=row.user, redirect_url=get_next_redirect_url(request)))
    assert isinstance(response, HttpResponse)
    return lead_on(request, response["Location"]) if "Location" in response else response


def lead_on(request: HttpRequest, path: str, **more: object) -> HttpResponse:
    """Redirect to the next page of a sign-in, or return its path as JSON for the sign-in dialog on an open page."""
    if get_adapter().is_ajax(request):
        return JsonResponse({"location": path, **more}, encoder=DjangoJSONEncoder)
    return redirect(path)


_OWN_PAGE = "/account/signing-in/"
_BEFORE_PASSKEY = Question(
    gettext_lazy("Add passkey"),
    gettext_lazy("Anyone with this passkey can sign in to your account."),
    button=gettext_lazy("Continue"),
    back=_OWN_PAGE,
    needs_password=True,
    only_password=True,
    is_dangerous=False,
)
_BEFORE_REMOVAL = Question(
    gettext_lazy("Remove passkey"),
    gettext_lazy(
        "You’ll no longer be able to sign in with this passkey. Also delete it in your browser or on your security key."
    ),
    back=_OWN_PAGE,
    needs_password=True,
)
