"""The page that asks for the second factor, and pages where users set up sign-in methods and end sessions."""

from typing import Any

from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.internal.stagekit import clear_login
from allauth.account.utils import get_login_redirect_url
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.internal.flows import post_authentication
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.errors import SecondFactorRefused
from dnspanel.accounts.models import User
from dnspanel.accounts.sessions.session_store import MUST_SET_UP
from dnspanel.accounts.sessions.sessions import end_other_sessions, end_session, sessions_of
from dnspanel.accounts.sign_in import second_factor as verbs
from dnspanel.accounts.sign_in.passkeys import are_possible, begin_using, check_passkey
from dnspanel.accounts.sign_in.second_factor_rules import second_factor_due
from dnspanel.accounts.sign_in.sign_in_stage import SecondFactorStage, stage_of
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.account.passkeys import CredentialForm, lead_on, options_json
from dnspanel.web.account.recovery_codes import page_with_codes
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.forms import PanelForm, mono_field
from dnspanel.web.frame.layout import PanelRequest, no_store, reporting, say_done
from dnspanel.web.templatetags.panel import qr_code


class CodeForm(PanelForm):
    """The form for a code from an authenticator app, or a recovery code."""

    code = mono_field(
        gettext_lazy("Code"), 40, required=True, inputmode="numeric", autocomplete="one-time-code", autofocus=True
    )


@no_store
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Ask for the second factor after a correct password, and sign the user in. `leave` cancels the sign-in.

    For the sign-in dialog on an open page, return JSON like allauth's, with the next location or the form's errors.
    """
    stage = stage_of(request)
    has = verbs.SecondFactors() if stage is None else verbs.second_factors_of(stage.user)
    if stage is None or "leave" in request.POST or not has:
        if not request.user.is_authenticated:
            clear_login(request)
            return lead_on(request, reverse("account_login"))
        return lead_on(request, get_login_redirect_url(request))
    by_passkey = "credential" in request.POST
    form: PanelForm = CredentialForm(request.POST) if by_passkey else CodeForm(request.POST or None)
    if form.is_valid() and _is_right(request, stage.user, form):
        return _signed_in(request, stage)
    if account_adapter().is_ajax(request):
        if not form.is_bound:  # the first step is done: lead to this step, with the passkey options
            options = begin_using(stage.user) if has.passkeys and are_possible() else None
            return lead_on(request, request.path, request_options=options)
        faults = [str(each) for faults in form.errors.values() for each in faults]
        return JsonResponse({"form": {"errors": faults}}, status=400)
    context = {
        "form": CodeForm() if by_passkey else form,
        "person": stage.user,
        "has": has,
        "fault_of_passkey": " ".join(map(str, form.errors.get("credential", []))),
        "options": options_json(begin_using(stage.user)) if has.passkeys else "",
    }
    return render(request, "account/second_factor_sign_in.html", context, status=422 if form.is_bound else 200)


def _is_right(request: HttpRequest, user: User, form: PanelForm) -> bool:
    """Check the passkey or use up the code in the form. If it is invalid, add an error to the form and return False."""
    now, field = timezone.now(), next(iter(form.fields))
    sent = form.cleaned_data[field]
    try:
        if isinstance(form, CredentialForm):
            row = check_passkey(user=user, credential=sent, now=now)
        else:
            row = verbs.use_code(user=user, code=sent, address=request.META.get("REMOTE_ADDR", ""), now=now)
    except SecondFactorRefused as exc:
        form.refuse(field, str(exc))
        return False
    row.user = user
    post_authentication(request, row)
    return True


def _signed_in(request: HttpRequest, stage: SecondFactorStage) -> HttpResponse:
    response: HttpResponse = stage.exit()
    return lead_on(request, response["Location"]) if "Location" in response else response


@require_safe
def signing_in(request: PanelRequest) -> HttpResponse:
    """Show the user's sign-in methods, the methods that can still be set up, and the user's sessions."""
    context = {
        "second_factors": verbs.second_factors_of(request.user),
        "passkeys_are_possible": are_possible(),
        "sessions": sessions_of(request.user, timezone.now()),
        "key": request.session.session_key,
        "due": second_factor_due(request.user),
        "must_set_up": bool(request.session.get(MUST_SET_UP)),
    }
    return render(request, "account/signing_in.html", context)


@require_POST
def end_sessions(request: PanelRequest) -> HttpResponse:
    """End the session with the submitted id, or all of the user's sessions except the current one."""
    now = timezone.now()
    if public_id := request.POST.get("session"):
        end_session(user=request.user, public_id=public_id, now=now)
        say_done(request, gettext("Session revoked."))
    else:
        ended = end_other_sessions(user=request.user, keep=request.session.session_key, now=now)
        say_done(request, gettext("All other sessions revoked: {ended}."), ended=ended)
    return redirect("account-signing-in")


@no_store
@sensitive_post_parameters("code", "password", "second_factor")
@require_http_methods(["GET", "HEAD", "POST"])
def set_up_app(request: PanelRequest) -> HttpResponse:
    """Ask for the password and show a new secret. A POST with a code activates the app and shows any new codes."""
    if verbs.second_factors_of(request.user).app:
        return redirect("account-signing-in")
    ask(request, _BEFORE_APP)
    form = CodeForm(request.POST if "code" in request.POST else None)
    if form.is_valid():
        with form.catching(SecondFactorRefused, at="code"):
            codes = verbs.set_up_app(
                user=request.user, session=request.session, code=form.cleaned_data["code"], now=timezone.now()
            )
            say_done(
                request,
                gettext("Authenticator app set up. You’ll be asked for a code from the app the next time you sign in."),
            )
            return page_with_codes(request, codes) if codes else redirect("account-signing-in")
    elif request.method == "POST" and not form.is_bound:  # the password was correct
        return redirect("account-app")
    secret = verbs.secret_being_set_up(request.session) if form.is_bound else ""
    context = _set_up_context(request.user, secret or verbs.begin_set_up(request.session))
    return render(request, "account/app_set_up.html", {"form": form, **context}, status=422 if form.is_bound else 200)


def _set_up_context(user: User, secret: str) -> dict[str, Any]:
    """Return the template context with the secret, as a QR code and as text in groups of four."""
    url = get_adapter().build_totp_url(user, secret)
    groups = " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
    return {"picture": qr_code(url), "secret": groups}


@require_POST
def make_codes(request: PanelRequest) -> HttpResponse:
    """Create new recovery codes after a confirmation with the password, and show them once."""
    if not verbs.second_factors_of(request.user):
        messages.error(request, gettext("Set up an authenticator app or a passkey first."))
        return redirect("account-signing-in")
    ask(request, _BEFORE_CODES)
    with reporting(request, SecondFactorRefused):
        codes = verbs.make_recovery_codes(user=request.user, now=timezone.now())
        return page_with_codes(request, codes)
    return redirect("account-signing-in")


@require_POST
def remove_app(request: PanelRequest) -> HttpResponse:
    """Turn the authenticator app off, after a confirmation with the password."""
    ask(request, _BEFORE_REMOVAL)
    verbs.remove_app(user=request.user, now=timezone.now())
    say_done(request, gettext("Authenticator app disabled."))
    return redirect("account-signing-in")


_OWN_PAGE = "/account/signing-in/"
_BEFORE_APP = Question(
    gettext_lazy("Set up authenticator app"),
    gettext_lazy("The person who sets up the app controls all sign-ins to your account."),
    button=gettext_lazy("Continue"),
    back=_OWN_PAGE,
    needs_password=True,
    only_password=True,
    is_dangerous=False,
)
_BEFORE_CODES = Question(
    gettext_lazy("Generate recovery codes"),
    gettext_lazy("The old recovery codes will stop working."),
    gettext_lazy("The new recovery codes will be shown only once."),
    button=gettext_lazy("Generate codes"),
    back=_OWN_PAGE,
    needs_password=True,
)
_BEFORE_REMOVAL = Question(
    gettext_lazy("Disable authenticator app"),
    gettext_lazy("Codes from the app will stop working, and you won’t be asked for codes when you sign in."),
    gettext_lazy(
        "Without a passkey, the password will be enough to sign in, and the recovery codes will stop working."
    ),
    button=gettext_lazy("Disable"),
    back=_OWN_PAGE,
    needs_password=True,
)
