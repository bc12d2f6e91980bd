"""Encrypt secrets with PANEL_MASTER_KEY, so that a copy of the database alone doesn't reveal them."""

from cryptography.fernet import InvalidToken
from django.core.exceptions import ImproperlyConfigured

from dnspanel.accounts.secrets.database_key import key_for_encrypting
from dnspanel.accounts.secrets.master_keys import decrypt, fernet


def encrypt_secret(secret: bytes) -> bytes:
    """Encrypt a secret with the database's key. Raise WrongMasterKey if this process doesn't have that key."""
    return fernet(key_for_encrypting()).encrypt(secret)


def decrypt_secret(token: bytes | memoryview) -> bytes:
    """Decrypt a token from `encrypt_secret`. Raise ImproperlyConfigured if none of this process's keys decrypts it."""
    try:
        return decrypt(bytes(token))
    except InvalidToken as exc:
        raise ImproperlyConfigured("PANEL_MASTER_KEY does not decrypt the keys of this database.") from exc
