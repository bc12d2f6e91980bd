"""Signing keys."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dnspanel.publish.models import SigningKey
from dnspanel.publish.signing import all_public_keys, ensure_signing_key, private_key, public_keys
from tests.people import NOW

pytestmark = pytest.mark.django_db


def test_a_key_is_made_once_and_signs() -> None:
    key = ensure_signing_key(now=NOW)
    assert ensure_signing_key(now=NOW).pk == key.pk
    signature = private_key(key).sign(b"segment")
    [public] = public_keys()
    Ed25519PublicKey.from_public_bytes(public).verify(signature, b"segment")


def test_a_retired_key_signs_no_more_but_what_it_signed_is_still_good() -> None:
    old = ensure_signing_key(now=NOW)
    SigningKey.objects.update(retired_at=NOW)
    new = ensure_signing_key(now=NOW + timedelta(days=1))
    assert new.pk != old.pk
    assert public_keys() == (bytes(new.public),)
    assert set(all_public_keys()) == {bytes(old.public), bytes(new.public)}


def test_the_private_half_is_encrypted() -> None:
    key = ensure_signing_key(now=NOW)
    assert private_key(key).private_bytes_raw() not in bytes(key.private_encrypted)
