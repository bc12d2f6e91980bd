"""The panel's adapter for django-allauth's second factors. It encrypts their secrets."""

from urllib.parse import urlsplit

from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings

from dnspanel.accounts.models import User
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret


class PanelMFAAdapter(DefaultMFAAdapter):
    """The allauth adapter that encrypts secrets with PANEL_MASTER_KEY. Apps and browsers show PANEL_URL's host."""

    def encrypt(self, text: str) -> str:
        return encrypt_secret(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt_secret(encrypted_text.encode()).decode()

    def _get_user_identifier(self, user: User) -> str:
        """Return the user name. By default, allauth uses the email address, which can change."""
        return user.username

    def get_totp_issuer(self) -> str:
        return self._get_site_name()

    def _get_site_name(self) -> str:
        return f"dnspanel {_host()}"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        """Return the WebAuthn relying party for PANEL_URL's host, because clients can forge the Host header."""
        return {"id": _host(), "name": self._get_site_name()}


def _host() -> str:
    return urlsplit(settings.PANEL_URL).hostname or ""
