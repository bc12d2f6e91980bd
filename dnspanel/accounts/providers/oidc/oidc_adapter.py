"""Adapt django-allauth's OpenID Connect to the panel's providers, with a nonce and a verified ID token.

allauth makes the request (state, PKCE) and exchanges the code. `admit` finds the account. allauth's own tables of
applications and accounts aren't used.
"""

import secrets
from typing import Any, NoReturn

import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialToken
from allauth.socialaccount.providers.base import AuthError, AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from dnspanel.accounts.errors import ProviderUnknown, SignInRefused
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers.oidc.id_token import verified_claims, with_userinfo
from dnspanel.accounts.providers.oidc.logout import note_session
from dnspanel.accounts.providers.oidc.oidc_discovery import configuration_of, is_allowed_url, keys_of
from dnspanel.accounts.providers.oidc.oidc_providers import secret_of
from dnspanel.accounts.providers.provider_http import ProviderAway, provider_session
from dnspanel.accounts.providers.provider_identity import identity_of
from dnspanel.accounts.providers.rows import panel_url, provider_in_use
from dnspanel.accounts.providers.sign_in import complete, refusal_page
from dnspanel.texts import gettext


class RequestAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth is untyped
    """The adapter for one sign-in. `state` is the request's stored state, set when the response is matched to it."""

    def __init__(self, request: HttpRequest, provider_id: str) -> None:
        self.state: dict[str, Any] = {}
        super().__init__(request, provider_id)

    @property
    def openid_config(self) -> dict[str, Any]:
        return configuration_of(self.get_provider().row.issuer)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the callback URL at the panel's public address, regardless of the request's Host header."""
        return panel_url("openid_connect_callback", self.provider_id)

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the token endpoint's response. Raise OAuth2Error if it is an error or malformed."""
        try:
            found: dict[str, Any] = super().get_access_token_data(*args, **kwargs)
        except (KeyError, ValueError, TypeError, RecursionError) as exc:
            raise OAuth2Error(gettext("not a token endpoint response")) from exc
        return found

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        """Return the access token. It is used only for UserInfo and is not stored."""
        return SocialToken(token=str(data["access_token"]))

    def complete_login(self, request: HttpRequest, app: SocialApp, token: Any, **kwargs: Any) -> NoReturn:
        """Verify the ID token and complete the sign-in. Always raise ImmediateHttpResponse with the panel's response.

        Raise SignInRefused instead if the ID token or the UserInfo response is invalid, or ProviderAway if the
        provider's keys can't be fetched.
        """
        row, id_token = self.get_provider().row, kwargs["response"].get("id_token")
        claims = verified_claims(
            id_token,
            keys=keys_of(self.openid_config),
            issuer=row.issuer,
            client_id=row.client_id,
            nonce=str(self.state.get("nonce", "")),
            now=timezone.now(),
        )
        if self.openid_config.get("userinfo_endpoint"):
            claims = with_userinfo(claims, self._fetch_user_info(token.token))
        identity = identity_of(claims, group_claim=row.group_claim, trusts_mail=row.trusts_mail)
        end = self.openid_config.get("end_session_endpoint", "")

        def note() -> None:
            note_session(request, row, claims, id_token, end if is_allowed_url(end) else "")

        raise ImmediateHttpResponse(complete(request, row, identity, self.state, note))


class Provider(OpenIDConnectProvider):  # type: ignore[misc]
    """An allauth provider created from a SignInProvider row."""

    oauth2_adapter_class = RequestAdapter

    def __init__(self, request: HttpRequest, row: SignInProvider) -> None:
        self.row = row
        app = SocialApp(
            provider=self.id,
            provider_id=row.slug,
            name=row.name,
            client_id=row.client_id,
            secret=secret_of(row),
            settings={"server_url": row.issuer, "oauth_pkce_enabled": True, "scope": row.scopes.split()},
        )
        super().__init__(request, app=app)

    def begin(self, request: HttpRequest, *, process: str, next_url: str | None) -> str:
        """Store a sign-in's state and return the provider's URL. Raise ProviderAway if the provider is unavailable."""
        nonce = secrets.token_urlsafe(24)
        # Read the user first: reading an ended session clears it, including anything stored below.
        user = request.user.pk if request.user.is_authenticated and process == AuthProcess.CONNECT else None
        answer = self.redirect(
            request, process, next_url=next_url, auth_params={"nonce": nonce}, nonce=nonce, user=user
        )
        return str(answer.url)


class CallbackView(OAuth2CallbackView):  # type: ignore[misc]
    """The view that providers redirect the browser to after a sign-in."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response: HttpResponse = super().dispatch(request, *args, **kwargs)
        except SignInRefused as exc:
            return refusal_page(request, self.adapter.get_provider().row, exc)
        return response

    def _get_state(self, request: HttpRequest, provider: Provider) -> tuple[dict[str, Any] | None, HttpResponse | None]:
        state, answer = super()._get_state(request, provider)
        issuer = request.GET.get("iss", provider.row.issuer)  # RFC 9207: checks that this provider sent the answer
        if state is not None and issuer != provider.row.issuer:
            raise SignInRefused("issuer", gettext("The response is from another provider."))
        self.adapter.state = state or {}
        return state, answer


class PanelSocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """The allauth adapter for the panel's providers. `admit` replaces allauth's account rules."""

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Provider:
        try:
            return Provider(request, provider_in_use(provider, ProviderKind.OIDC))
        except ProviderUnknown as exc:
            raise SocialApp.DoesNotExist from exc

    def get_requests_session(self) -> requests.Session:
        return provider_session()

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Provider,
        error: Any = None,
        exception: Any = None,
        extra_context: Any = None,
    ) -> None:
        """Audit the failed sign-in, and raise ImmediateHttpResponse with the panel's error page."""
        if error == AuthError.CANCELLED:
            refusal = SignInRefused("cancelled", gettext("The sign-in was cancelled at the provider."))
        elif isinstance(exception, ProviderAway):
            refusal = SignInRefused("away", str(exception))
        elif isinstance(exception, OAuth2Error | requests.RequestException):
            refusal = SignInRefused("code", gettext("The provider rejected the panel’s request."))
        elif "state" in (extra_context or {}):
            refusal = SignInRefused("error", gettext("The provider couldn’t sign you in."))
        else:
            said = gettext("This response was already used, is too old, or wasn’t requested by the panel.")
            refusal = SignInRefused("state", said)
        raise ImmediateHttpResponse(refusal_page(request, provider.row, refusal))
