"""Private keys at rest: encrypted with PANEL_MASTER_KEY, readable by nobody who has only the database."""

from functools import cache

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


@cache
def _fernet(master_key: str) -> Fernet:
    try:
        return Fernet(master_key)
    except ValueError as exc:
        raise ImproperlyConfigured("PANEL_MASTER_KEY must be 32 bytes in URL-safe Base64.") from exc


def encrypt_secret(secret: bytes) -> bytes:
    return _fernet(settings.MASTER_KEY).encrypt(secret)


def decrypt_secret(token: bytes | memoryview) -> bytes:
    """Return what `encrypt_secret` was given; raise when PANEL_MASTER_KEY is not the one that encrypted it."""
    try:
        return _fernet(settings.MASTER_KEY).decrypt(bytes(token))
    except InvalidToken as exc:
        raise ImproperlyConfigured("PANEL_MASTER_KEY does not decrypt the keys of this database.") from exc
