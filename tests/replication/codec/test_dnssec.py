"""Tests of the codec of metadata, keys and TSIG objects, and of the NSEC3 hash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.codec import dnssec
from replication.codec.dnssec import KeyObject, MetadataObject, TsigObject, nsec3_hash
from replication.errors import BadBytes, UnknownSchema
from tests.golden import powerdns_objects
from tests.golden.vectors import GOLDEN

SCHEMAS = st.sampled_from([4, 5, 6])


def test_metadata_is_what_powerdns_writes() -> None:
    obj = MetadataObject("example.com.", "NSEC3PARAM", "1 0 0 -")
    assert dnssec.encode_metadata(obj, 4) == GOLDEN["metadata_nsec3param"]
    assert dnssec.decode_metadata(GOLDEN["metadata_nsec3param"], 4) == obj


def test_a_key_ends_as_powerdns_ends_it() -> None:
    body = dnssec.encode_key(KeyObject("example.com.", "Private-key-format: v1.2\n", 257, True, True), 4)
    assert body.endswith(GOLDEN["key_tail_257_active_published"])


def test_tsig_keys_are_what_powerdns_writes() -> None:
    obj = TsigObject("k2.", "hmac-md5.", "aGVsbG8=")
    assert powerdns_objects.encode_tsig(obj) == GOLDEN["tsig_k2"]
    assert dnssec.decode_tsig(GOLDEN["tsig_k2"]) == obj


@given(st.text(max_size=20), st.text(max_size=60), SCHEMAS)
def test_metadata_is_decoded_as_it_was_encoded(kind: str, value: str, schema: int) -> None:
    obj = MetadataObject("a.test.", kind, value)
    assert dnssec.decode_metadata(dnssec.encode_metadata(obj, schema), schema) == obj


@given(st.integers(0, 65535), st.booleans(), st.booleans(), SCHEMAS)
def test_keys_are_decoded_as_they_were_encoded(flags: int, active: bool, published: bool, schema: int) -> None:
    obj = KeyObject("a.test.", "Algorithm: 13\n", flags, active, published)
    assert dnssec.decode_key(dnssec.encode_key(obj, schema), schema) == obj


def test_schema_6_reads_rows_of_schema_5() -> None:
    obj = KeyObject("a.test.", "Algorithm: 13\n", 257, True, True)
    assert dnssec.decode_key(dnssec.encode_key(obj, 5), 6) == obj
    meta = MetadataObject("a.test.", "NSEC3NARROW", "1")
    assert dnssec.decode_metadata(dnssec.encode_metadata(meta, 5), 6) == meta


def test_a_key_from_before_the_published_flag_is_published() -> None:
    v1 = dnssec.encode_key(KeyObject("a.test.", "x", 257, True, False), 4)
    v0 = v1[:1] + bytes(4) + v1[5:-1]
    assert dnssec.decode_key(v0, 4).published


def test_secrets_stay_out_of_logs() -> None:
    assert "Algorithm" not in repr(KeyObject("a.test.", "Algorithm: 13\n", 257, True, True))
    assert "aGVs" not in repr(TsigObject("k.", "hmac-md5.", "aGVsbG8="))


def test_damaged_objects_are_refused() -> None:
    with pytest.raises(BadBytes):
        dnssec.decode_tsig(GOLDEN["tsig_k2"][:-1])
    with pytest.raises(BadBytes):
        dnssec.decode_metadata(GOLDEN["metadata_nsec3param"] + b"\0", 4)
    with pytest.raises(UnknownSchema):
        dnssec.encode_metadata(MetadataObject("a.test.", "X", "1"), 7)


def test_the_nsec3_hash_is_powerdnss() -> None:
    assert nsec3_hash("example.com.", b"", 0) == GOLDEN["nsec3_hash_example_com"]


def test_the_nsec3_hash_is_that_of_rfc_5155_appendix_a() -> None:
    salt = bytes.fromhex("aabbccdd")
    assert nsec3_hash("example.", salt, 12) == b"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"
    assert nsec3_hash("*.w.example.", salt, 12) == b"r53bq7cc2uvmubfu5ocmm6pers9tk9en"
