"""Private keys at rest: encrypted with PANEL_MASTER_KEY, so that the database is not enough to read them."""

from cryptography.fernet import InvalidToken
from django.core.exceptions import ImproperlyConfigured

from dnspanel.accounts.secrets.database_key import key_for_encrypting
from dnspanel.accounts.secrets.master_keys import decrypt, fernet


def encrypt_secret(secret: bytes) -> bytes:
    """Encrypt with the database's key. Raise WrongMasterKey if PANEL_MASTER_KEY is another one."""
    return fernet(key_for_encrypting()).encrypt(secret)


def decrypt_secret(token: bytes | memoryview) -> bytes:
    """Return what `encrypt_secret` was given; raise ImproperlyConfigured when no master key of ours encrypted it."""
    try:
        return decrypt(bytes(token))
    except InvalidToken as exc:
        raise ImproperlyConfigured("PANEL_MASTER_KEY does not decrypt the keys of this database.") from exc
