"""Tests of the keys that sign segments."""

from datetime import timedelta
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dnspanel.publish.errors import KeyStillNeeded, RotationUnderWay
from dnspanel.publish.keys import segment_signing
from dnspanel.publish.keys.segment_signing import all_public_keys, ensure_signing_key, private_key, public_keys
from dnspanel.publish.models import Segment, SigningKey, Snapshot
from replication.wire.keyring import decode_keyring
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


def test_a_new_key_seals_nothing_before_it_is_used() -> None:
    old = ensure_signing_key(now=NOW)
    new = segment_signing.rotate(now=NOW + timedelta(days=1), by=None)
    assert ensure_signing_key(now=NOW + timedelta(days=1)) == old
    assert public_keys() == (bytes(new.public), bytes(old.public))
    with pytest.raises(RotationUnderWay):
        segment_signing.rotate(now=NOW + timedelta(days=1), by=None)
    assert segment_signing.begin_use(now=NOW + timedelta(days=2), by=None) == new
    assert segment_signing.begin_use(now=NOW + timedelta(days=2), by=None) is None
    assert ensure_signing_key(now=NOW + timedelta(days=2)) == new


def test_a_former_key_is_kept_while_something_that_it_signed_is() -> None:
    ensure_signing_key(now=NOW)
    segment_signing.rotate(now=NOW, by=None)
    segment_signing.begin_use(now=NOW + timedelta(days=1), by=None)
    facts = {"epoch": UUID(int=1), "schema": 4, "size": 1, "digest": bytes(32)}
    segment = Segment.objects.create(first=1, last=1, object_name="a", sealed_at=NOW, **facts)
    with pytest.raises(KeyStillNeeded, match="still need segments"):
        segment_signing.retire_former(now=NOW, by=None)
    segment.delete()
    snapshot = Snapshot.objects.create(sequence=1, object_name="b", raw_size=1, chunks=1, made_at=NOW, **facts)
    with pytest.raises(KeyStillNeeded, match="snapshot"):
        segment_signing.retire_former(now=NOW, by=None)
    snapshot.delete()
    assert segment_signing.retire_former(now=NOW, by=None) == 1
    assert len(public_keys()) == 1
    assert segment_signing.retire_former(now=NOW, by=None) == 0


def test_every_list_of_keys_is_newer_than_the_one_before() -> None:
    ensure_signing_key(now=NOW)
    seen = [segment_signing.keys_generation()]
    segment_signing.rotate(now=NOW, by=None)
    seen.append(segment_signing.keys_generation())
    segment_signing.begin_use(now=NOW + timedelta(days=1), by=None)
    segment_signing.retire_former(now=NOW, by=None)
    seen.append(segment_signing.keys_generation())
    assert seen == sorted(set(seen))


def test_a_node_is_given_the_list_by_a_key_that_it_knows() -> None:
    old = ensure_signing_key(now=NOW)
    new = segment_signing.rotate(now=NOW, by=None)
    known = bytes(old.public)
    sealed = segment_signing.sealed_keyring((b"x" * 32, known))
    assert sealed is not None
    assert decode_keyring(sealed, [known]).keys == (bytes(new.public), known)
    assert segment_signing.sealed_keyring((b"x" * 32,)) is None
