"""Views of sign-in through a provider: its start, the OpenID Connect callback and logout, and linked accounts.

The SAML callback is in `web.account.saml`.
"""

import requests
from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base import AuthProcess
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.errors import ProviderUnknown, SignInRefused
from dnspanel.accounts.models import ProviderKind, ProviderLink, SignInProvider
from dnspanel.accounts.providers import links
from dnspanel.accounts.providers import rows as providers
from dnspanel.accounts.providers.admit import record_refusal
from dnspanel.accounts.providers.ldap.backend import identity_by_password
from dnspanel.accounts.providers.oidc.id_token import verified_logout
from dnspanel.accounts.providers.oidc.logout import end_sessions
from dnspanel.accounts.providers.oidc.oidc_adapter import CallbackView, RequestAdapter
from dnspanel.accounts.providers.oidc.oidc_adapter import Provider as OidcProvider
from dnspanel.accounts.providers.oidc.oidc_discovery import configuration_of, keys_of
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.providers.saml.question import Provider as SamlProvider
from dnspanel.accounts.providers.sign_in import TOO_OFTEN, comes_too_often, refusal_page
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.confirm import Question, Unconfirmed, ask
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, no_store, reporting, say_done
from dnspanel.web.frame.people_forms import LdapPasswordForm


@require_POST
def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Show a page that leads to the provider.

    A redirect would fail, because browsers apply the CSP directive `form-action` to redirects of submitted forms.
    """
    return _lead_on(request, provider_id, AuthProcess.LOGIN, get_next_redirect_url(request))


@require_safe
def answer(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Handle the OpenID Connect callback: sign the user in, or link the user's account."""
    try:
        if comes_too_often(request):
            return refusal_page(request, providers.provider_in_use(provider_id, ProviderKind.OIDC), TOO_OFTEN)
        response = CallbackView.adapter_view(RequestAdapter(request, provider_id))(request)
    except (ProviderUnknown, SocialApp.DoesNotExist) as exc:
        raise Http404 from exc
    assert isinstance(response, HttpResponse)
    return response


@csrf_exempt  # the provider sends this request, and signs it
@no_store
@require_POST
def back_channel_logout(request: HttpRequest, provider_id: str) -> HttpResponse:
    """End the panel sessions named in the provider's logout token (OpenID Connect Back-Channel Logout 1.0, 2.5)."""
    try:
        row = providers.provider_in_use(provider_id, ProviderKind.OIDC)
    except ProviderUnknown as exc:
        raise Http404 from exc
    if comes_too_often(request):
        return JsonResponse({"error": "too_many_requests"}, status=429)
    now = timezone.now()
    try:
        keys = keys_of(configuration_of(row.issuer))
        token = request.POST.get("logout_token")
        told = verified_logout(token, keys=keys, issuer=row.issuer, client_id=row.client_id, now=now)
    except requests.RequestException as exc:
        return JsonResponse({"error": "invalid_request", "error_description": str(exc)}, status=400)
    except SignInRefused as exc:
        record_refusal(provider=row, reason=exc.reason, now=now)
        return JsonResponse({"error": "invalid_request", "error_description": str(exc)}, status=400)
    end_sessions(provider=row, ended=told, now=now)
    return HttpResponse()


@require_safe
def own_providers(request: PanelRequest) -> HttpResponse:
    """Show the providers linked to the user's account, and the other providers that can be linked."""
    mine = {link.provider_id: link for link in links.links_of(request.user)}
    rows: list[tuple[SignInProvider, ProviderLink | None]] = [(link.provider, link) for link in mine.values()]
    rows += [(provider, None) for provider in providers.linkable() if provider.pk not in mine]
    return render(request, "account/providers.html", {"rows": rows})


@require_POST
def link(request: PanelRequest, provider_id: int) -> HttpResponse:
    """Ask for the password, then lead to the provider's sign-in, which links the provider's account to the user's.

    For an LDAP server, the sign-in is the form of `link_password`.
    """
    provider = providers.provider_by_id(provider_id)
    if not provider.active:
        raise ProviderUnknown
    ask(request, _ABOUT_LINK)
    if provider.kind == ProviderKind.LDAP:
        return redirect("account-provider-password", provider.pk)
    return _lead_on(request, provider.slug, AuthProcess.CONNECT, None)


_ABOUT_LINK = Question(
    gettext_lazy("Link your account to a provider"),
    gettext_lazy("Anyone who can sign in as you at the provider can do everything that you can do in the panel."),
    button=gettext_lazy("Link account"),
    back="/account/providers/",
    needs_password=True,
    only_password=True,
    is_dangerous=False,
)


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def link_password(request: PanelRequest, ldap_id: int) -> HttpResponse:
    """Ask for the panel's password, then for the user's LDAP name and password. A POST links the LDAP account."""
    provider = providers.provider_by_id(ldap_id, ProviderKind.LDAP)
    if not provider.active:
        raise ProviderUnknown
    # The confirmation asks for the panel's password, which must not be sent to the LDAP server.
    is_sent = "typed" in request.POST and "confirmed" not in request.POST
    form = LdapPasswordForm(request.POST if is_sent else None)
    try:
        ask(request, _ABOUT_LINK)
    except Unconfirmed:
        if is_sent:
            return redirect(request.path)
        raise
    if form.is_valid() and _links_by_password(request, provider, form):
        say_done(request, gettext("You can now sign in with your password from {name}."), name=provider.name)
        return redirect("account_login")
    context = {"provider": provider, "form": form}
    return render(request, "account/provider_password.html", context, status=422 if form.is_bound else 200)


def _links_by_password(request: PanelRequest, provider: SignInProvider, form: LdapPasswordForm) -> bool:
    """Link the account and return True. If that fails, add the reason to the form and return False."""
    if not ratelimit.consume(request, action="reauthenticate", user=request.user):
        form.refuse(None, gettext("Too many attempts. Wait a minute, then try again."))
        return False
    now = timezone.now()
    with form.catching(ProviderAway, SignInRefused):
        identity = identity_by_password(provider, now=now, **form.cleaned_data)
        if identity is None:
            form.refuse("password", gettext("Incorrect name or password."))
            return False
        links.link_own_account(provider=provider, identity=identity, user=request.user, now=now)
        return True
    return False


@require_POST
def unlink(request: PanelRequest, provider_id: int) -> HttpResponse:
    """Remove the link to the provider and sign the user out everywhere, after a confirmation."""
    found = [each for each in links.links_of(request.user) if each.provider_id == provider_id]
    if not found:
        raise ProviderUnknown
    question = Question(
        gettext("Unlink {name}").format(name=found[0].provider.name),
        gettext("You’ll be signed out everywhere."),
        gettext("You’ll lose the rights from the provider’s groups."),
        button=gettext("Unlink"),
        back=reverse("account-providers"),
    )
    ask(request, question)
    with reporting(request, SignInRefused, text=NOTHING_CHANGED):
        links.unlink(link=found[0], by=request.user, now=timezone.now())
        return redirect("account_login")
    return redirect("account-providers")


def _lead_on(request: HttpRequest, slug: str, process: str, next_url: str | None) -> HttpResponse:
    """Return the page that leads to the provider, or a refusal page. Raise Http404 if the provider isn't in use."""
    try:
        row = providers.provider_in_use(slug, ProviderKind.OIDC, ProviderKind.SAML)
    except ProviderUnknown as exc:
        raise Http404 from exc
    if comes_too_often(request):
        return refusal_page(request, row, TOO_OFTEN)
    provider = (SamlProvider if row.kind == ProviderKind.SAML else OidcProvider)(request, row)
    try:
        url = provider.begin(request, process=process, next_url=next_url)
    except requests.RequestException as exc:
        return refusal_page(request, row, SignInRefused("away", str(exc)))
    except SignInRefused as exc:
        return refusal_page(request, row, exc)
    return render(request, "account/to_provider.html", {"provider": row, "url": url})
