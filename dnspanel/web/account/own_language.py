"""Middleware that sets the language of pages, and the form that changes it, which also works before signing in."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from dnspanel.accounts.people.own_language import language_of, set_language
from dnspanel.languages import LANGUAGE_CODES

_YEAR = 365 * 86_400  # seconds

View = Callable[..., HttpResponse]


class LanguageMiddleware:
    """Middleware that sets a page's language: the user's choice, otherwise the cookie's or browser's, or English.

    API responses are always English, because programs read them.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            response = self.get_response(request)
            if hasattr(request, "LANGUAGE_CODE"):
                response.headers.setdefault("Content-Language", request.LANGUAGE_CODE)
                patch_vary_headers(response, ["Accept-Language"])
        finally:
            translation.deactivate()  # the thread serves another person next
        return response

    def process_view(self, request: HttpRequest, view: View, args: list[object], kwargs: dict[str, object]) -> None:
        match = request.resolver_match
        if match is not None and match.app_names[:1] == ["api"]:
            return
        chosen = language_of(request.user) if request.user.is_authenticated else ""
        request.LANGUAGE_CODE = chosen or translation.get_language_from_request(request)
        translation.activate(request.LANGUAGE_CODE)


@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Save the language for this browser and for the signed-in user, then redirect to the page in `next`.

    An empty choice means the browser's language. An unknown language changes nothing.
    """
    code, back = request.POST.get("language", ""), request.POST.get("next", "")
    answer = redirect(back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else "home")
    if code and code not in LANGUAGE_CODES:
        return answer
    if request.user.is_authenticated:
        set_language(person=request.user, code=code)
    if code:
        answer.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=_YEAR,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    else:
        answer.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
    return answer
