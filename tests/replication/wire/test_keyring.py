"""Tests of the signed list of keys in its wire format."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replication.errors import BadBytes, BadSignature
from replication.wire.keyring import HEADER, MAX_KEYS, Keyring, decode_keyring, encode_keyring, signer_for
from tests.replication.panel import CLUSTER

SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KNOWN = SIGNER.public_key().public_bytes_raw()
KEYRING = Keyring(CLUSTER, 7, (b"n" * 32, KNOWN))


def test_a_list_comes_back_as_it_was_for_whoever_knows_its_signer() -> None:
    sealed = encode_keyring(KEYRING, SIGNER)
    assert decode_keyring(sealed, [b"x" * 32, KNOWN]) == KEYRING
    assert len(sealed) == HEADER.size + 2 * 32 + 64


def test_the_bytes_are_those_of_the_layout() -> None:
    sealed = encode_keyring(KEYRING, SIGNER)
    assert sealed[:8] == b"DPKR\x01\x02\x00\x00"
    assert sealed[8:24] == CLUSTER.bytes
    assert sealed[24:32] == bytes.fromhex("0000000000000007")
    assert sealed[32:96] == b"n" * 32 + KNOWN


@pytest.mark.parametrize("at", [5, 10, 30, 40, 90, -1])
def test_one_flipped_bit_anywhere_is_refused(at: int) -> None:
    sealed = bytearray(encode_keyring(KEYRING, SIGNER))
    sealed[at] ^= 1
    with pytest.raises((BadSignature, BadBytes)):
        decode_keyring(bytes(sealed), [KNOWN])


def test_a_stranger_signs_nothing_here() -> None:
    with pytest.raises(BadSignature):
        decode_keyring(encode_keyring(KEYRING, Ed25519PrivateKey.generate()), [KNOWN])


@pytest.mark.parametrize("size", [0, 31, 40, 159])
def test_a_list_that_was_cut_is_none(size: int) -> None:
    with pytest.raises(BadBytes):
        decode_keyring(encode_keyring(KEYRING, SIGNER)[:size], [KNOWN])


def test_no_list_is_empty_or_endless() -> None:
    for count in (0, MAX_KEYS + 1):
        with pytest.raises(ValueError, match="1 to 16"):
            encode_keyring(Keyring(CLUSTER, 1, (KNOWN,) * count), SIGNER)


def test_the_signer_is_a_key_that_the_receiver_knows() -> None:
    assert signer_for((b"a", b"b"), [b"c", b"b"]) == b"b"
    assert signer_for((b"a",), [b"c"]) is None
