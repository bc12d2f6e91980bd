"""Pages that show a secret only once. Reloading such a page doesn't show the secret or repeat the action.

The response to the POST that creates a secret is a redirect. The page is encrypted and stored in the session until the
browser requests it, and then deleted.
"""

import secrets

from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest, no_store

_KEY = "one-time-page"


def show_once(request: PanelRequest, page: HttpResponse, *, after: str) -> HttpResponse:
    """Return a redirect that shows the page once. Later requests are redirected to the path `after`."""
    key = secrets.token_urlsafe(12)
    request.session[_KEY] = {"key": key, "page": encrypt_secret(page.content).decode(), "after": after}
    return redirect("one-time-page", key)


@no_store
@require_GET
def one_time_page(request: PanelRequest, key: str) -> HttpResponse:
    """Show the page stored under this key and delete it, or redirect if the page is unknown or was already shown."""
    waiting = request.session.get(_KEY, {})
    if waiting.get("key") != key:
        return redirect("home")
    if "page" not in waiting:
        messages.info(request, gettext("The secret has already been shown. Secrets are shown only once."))
        return redirect(waiting["after"])
    request.session[_KEY] = {"key": key, "after": waiting["after"]}
    try:
        return HttpResponse(decrypt_secret(waiting["page"].encode()))
    except ImproperlyConfigured:  # the master key was rotated, which doesn't re-encrypt sessions
        return redirect(waiting["after"])
