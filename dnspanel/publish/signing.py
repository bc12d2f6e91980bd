"""The Ed25519 keys that sign segments.

A node accepts every key it was given at enrolment, so a key is retired only
after all nodes know its successor.
"""

from datetime import datetime
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection, transaction

from dnspanel.accounts.vault import decrypt_secret, encrypt_secret
from dnspanel.publish.models import SigningKey

# Advisory locks of this project are (class, number) pairs: 1 publisher, 2 signing key, 3 authority.
_SIGNING_KEY_LOCK = (2, 0)


def ensure_signing_key(*, now: datetime) -> SigningKey:
    """Return the newest key in use; make one, once, when there is none. Idempotent."""
    newest = SigningKey.objects.filter(retired_at=None).order_by("-created_at", "-pk")
    if key := newest.first():
        return key
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", _SIGNING_KEY_LOCK)
        if key := newest.first():
            return key
        private = Ed25519PrivateKey.generate()
        return SigningKey.objects.create(
            public=private.public_key().public_bytes_raw(),
            private_encrypted=encrypt_secret(private.private_bytes_raw()),
            created_at=now,
        )


@cache
def _private_key(encrypted: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(decrypt_secret(encrypted))


def private_key(key: SigningKey) -> Ed25519PrivateKey:
    """Return the key ready to sign; decrypted once per process."""
    return _private_key(bytes(key.private_encrypted))


def public_keys() -> tuple[bytes, ...]:
    """Return the raw public keys that a node must accept, newest first."""
    keys = SigningKey.objects.filter(retired_at=None).order_by("-created_at", "-pk")
    return tuple(bytes(public) for public in keys.values_list("public", flat=True))


def all_public_keys() -> tuple[bytes, ...]:
    """Return the raw public keys of every segment there is, those of retired keys too."""
    return tuple(
        bytes(public) for public in SigningKey.objects.order_by("-created_at").values_list("public", flat=True)
    )
