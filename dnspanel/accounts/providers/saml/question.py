"""Start SAML sign-ins, and match a provider's response to the request in the browser's session."""

from typing import Any

from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from onelogin.saml2.auth import OneLogin_Saml2_Auth

from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import SignInProvider
from dnspanel.accounts.providers.rows import panel_url
from dnspanel.accounts.providers.saml.answer import request_to, settings_of
from dnspanel.accounts.providers.saml.saml_providers import refresh_metadata
from dnspanel.texts import gettext


class Provider(SAMLProvider):  # type: ignore[misc]  # allauth is untyped
    """An allauth SAML provider created from a SignInProvider row."""

    def __init__(self, request: HttpRequest, row: SignInProvider) -> None:
        self.row = row
        app = SocialApp(provider=self.id, provider_id=f"saml-{row.slug}", name=row.name, client_id=row.slug)
        super().__init__(request, app=app)

    def begin(self, request: HttpRequest, *, process: str, next_url: str | None) -> str:
        """Store the state of a new sign-in and return the provider's URL. Raise SignInRefused for bad metadata."""
        # Read the user first: reading an ended session clears it, including anything stored below.
        user = request.user.pk if request.user.is_authenticated and process == AuthProcess.CONNECT else None
        now = timezone.now()
        refresh_metadata(self.row, now)
        here = request_to(panel_url("saml-acs", self.row.slug))
        auth = OneLogin_Saml2_Auth(here, settings_of(self.row, now))
        url = str(auth.login(return_to=""))
        self.stash_redirect_state(request, process, next_url, state_id=auth.get_last_request_id(), user=user)
        return url

    def state_of(self, request: HttpRequest, question: str) -> dict[str, Any]:
        """Return and delete the request's state in this browser's session. Raise SignInRefused if it doesn't exist."""
        try:
            state: dict[str, Any] = self.unstash_redirect_state(request, question)
        except PermissionDenied as exc:
            message = gettext("This response was already used, is too old, or wasn’t requested by the panel.")
            raise SignInRefused("state", message) from exc
        return state
