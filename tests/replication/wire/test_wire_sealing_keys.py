"""The message that sends sealing keys to a node."""

import json

import pytest

from replication.codec.sealed import SealingKey
from replication.errors import BadBytes
from replication.wire.wire_sealing_keys import MAX_KEYS, decode_sealing_keys, encode_sealing_keys

KEYS = (SealingKey(1, bytes(64)), SealingKey(2**31 - 1, bytes(range(64))))


def test_keys_come_out_as_they_went_in() -> None:
    for keys in (KEYS, ()):
        assert decode_sealing_keys(encode_sealing_keys(keys)) == keys


@pytest.mark.parametrize(
    "message",
    [
        b"c2VjcmV0 is not JSON",
        b"{}",
        b"[]",
        b'{"keys": 7}',
        b'{"keys": [{"id": 1}]}',
        b'{"keys": [{"id": 1, "secret": "c2VjcmV0"}]}',
        b'{"keys": [{"id": 1, "secret": "c2VjcmV0!"}]}',
        b"[" * 100_000,
        encode_sealing_keys([KEYS[0]]).replace(b'"id":1', b'"id":true'),
        encode_sealing_keys([KEYS[0]]).replace(b'"id":1', b'"id":"1"'),
        encode_sealing_keys([KEYS[0]]).replace(b'"id":1', b'"id":0'),
        encode_sealing_keys([KEYS[0], KEYS[0]]),
        encode_sealing_keys([SealingKey(number, bytes(64)) for number in range(1, MAX_KEYS + 2)]),
    ],
)
def test_anything_else_is_refused_and_not_repeated(message: bytes) -> None:
    with pytest.raises(BadBytes) as raised:
        decode_sealing_keys(message)
    assert "c2Vj" not in str(raised.value)
    assert "AAAA" not in str(raised.value)


def test_secrets_travel_as_base64() -> None:
    assert json.loads(encode_sealing_keys(KEYS))["keys"][0] == {"id": 1, "secret": "A" * 86 + "=="}
