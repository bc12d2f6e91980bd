"""Read the master keys from this process's settings.

PANEL_MASTER_KEY comes first. Like Django's SECRET_KEY_FALLBACKS, the keys in PANEL_MASTER_KEY_OLD are only used to
decrypt. They are needed until `rotate_master_key` has rewritten all secrets.
"""

import hashlib
import hmac
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class WrongMasterKey(ImproperlyConfigured):
    """The database's secrets are encrypted with a key that this process doesn't have. The message explains the fix."""


def fingerprint(master_key: str) -> str:
    """Return 16 hex digits that identify the key. The key can't be derived from them."""
    # The same label as in the first archives of `backup`, so that an archive and a database can be compared.
    return hmac.new(master_key.encode(), b"dnspanel backup", hashlib.sha256).hexdigest()[:16]


def own_keys() -> dict[str, str]:
    """Return this process's keys, keyed by fingerprint, with PANEL_MASTER_KEY first."""
    return {fingerprint(key): key for key in (settings.MASTER_KEY, *settings.MASTER_KEYS_OLD)}


@cache
def fernet(master_key: str) -> Fernet:
    """Return the Fernet object for this key. Raise ImproperlyConfigured if the key is invalid."""
    try:
        return Fernet(master_key)
    except ValueError as exc:
        raise ImproperlyConfigured("PANEL_MASTER_KEY must be 32 bytes in URL-safe Base64.") from exc


def decrypt(token: bytes) -> bytes:
    """Decrypt a token with the first matching key. Raise InvalidToken if no key matches."""
    return _all_of(tuple(own_keys().values())).decrypt(token)


def is_readable(token: bytes) -> bool:
    """Return True if one of this process's keys decrypts the token."""
    try:
        decrypt(token)
    except InvalidToken:
        return False
    return True


def decrypts(master_key: str, token: bytes) -> bool:
    """Return True if this key decrypts the token."""
    try:
        fernet(master_key).decrypt(token)
    except InvalidToken:
        return False
    return True


@cache
def _all_of(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([fernet(key) for key in keys])
