"""Views of SAML sign-in: receive the provider's response, finish the sign-in, and publish the panel's metadata."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.errors import ProviderUnknown, SignInRefused
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers.rows import provider_in_use
from dnspanel.accounts.providers.saml.answer import redeem_handle, settings_of, take, verify_answer
from dnspanel.accounts.providers.saml.question import Provider
from dnspanel.accounts.providers.sign_in import TOO_OFTEN, comes_too_often, complete, refusal_page


@csrf_exempt  # the provider's page sends this form; the response is signed, and valid only in the requesting session
@require_POST
def acs(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Verify the provider's SAML response and redirect to `finish`.

    The session isn't available here, because browsers send no session cookie with a POST from another site.
    """
    row = _row(provider_id)
    if comes_too_often(request):
        return refusal_page(request, row, TOO_OFTEN)
    now = timezone.now()
    try:
        handle = take(row, verify_answer(row, request.POST.get("SAMLResponse", ""), now), now)
    except SignInRefused as exc:
        return refusal_page(request, row, exc)
    return redirect(f"{reverse('saml-finish', args=[row.slug])}?{urlencode({'taken': handle})}")


@require_safe
def finish(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Sign in or link the user named in the SAML response, in the session that started the sign-in."""
    row = _row(provider_id)
    if comes_too_often(request):
        return refusal_page(request, row, TOO_OFTEN)
    try:
        question, identity = redeem_handle(row, request.GET.get("taken", ""))
        state = Provider(request, row).state_of(request, question)
    except SignInRefused as exc:
        return refusal_page(request, row, exc)
    return complete(request, row, identity, state)


@require_safe
def metadata(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Return the panel's SAML metadata for the provider (saml-metadata-2.0-os)."""
    row = _row(provider_id)
    try:
        content = settings_of(row, timezone.now()).get_sp_metadata()
    except SignInRefused as exc:
        raise Http404 from exc
    return HttpResponse(content, content_type="application/samlmetadata+xml")


def _row(slug: str) -> SignInProvider:
    try:
        return provider_in_use(slug, ProviderKind.SAML)
    except ProviderUnknown as exc:
        raise Http404 from exc
