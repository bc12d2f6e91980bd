"""Tests of the codec of the keys in PowerDNS's tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.codec import keys
from replication.dns import names
from replication.dns.rdtypes import SOA, SRV, TXT, A
from replication.errors import BadBytes
from tests.golden.vectors import GOLDEN

LABEL = st.binary(min_size=1, max_size=12).filter(lambda label: 0 not in label).map(bytes.lower)
NAME = st.lists(LABEL, max_size=6).map(lambda labels: names.from_labels(tuple(labels)))


def test_the_name_key_is_what_powerdns_writes() -> None:
    assert keys.name_key("example.com.") == GOLDEN["name_key_example_com"]
    assert keys.name_key(".") == b"\0"


@pytest.mark.parametrize(
    ("name", "type", "title"),
    [
        ("example.com.", SOA, "record_key_apex_soa"),
        ("www.example.com.", A, "record_key_www_a"),
        ("*.wild.example.com.", TXT, "record_key_wild_txt"),
        ("_sip._tcp.example.com.", SRV, "record_key_sip_srv"),
    ],
)
def test_record_keys_are_what_powerdns_writes(name: str, type: int, title: str) -> None:
    rel = keys.relative_key(name, "example.com.")
    assert keys.record_key(1, rel, type) == GOLDEN[title]
    assert keys.decode_record_key(GOLDEN[title]) == (1, rel, type)
    assert keys.name_from_relative_key(rel, "example.com.") == name


def test_the_index_key_of_schema_5_is_what_powerdns_writes() -> None:
    assert keys.encode_index_key("example.com.", 1) == GOLDEN["zone_index_v5_key"]
    assert keys.decode_index_key(GOLDEN["zone_index_v5_key"]) == ("example.com.", 1)


def test_row_ids_are_little_endian_in_schema_4_only() -> None:
    assert keys.encode_row_id(1, big_endian=False) == GOLDEN["zone_index_v4_value"]
    assert keys.encode_row_id(1, big_endian=True) == b"\0\0\0\1"
    assert keys.decode_row_id(b"\0\0\0\1", big_endian=True) == 1


@given(NAME, NAME)
def test_relative_keys_lead_back_to_the_name(relative: str, zone: str) -> None:
    name = names.from_labels(names.labels(relative) + names.labels(zone))
    if len(names.to_wire(name)) > 255:
        return
    rel = keys.relative_key(name, zone)
    assert keys.name_from_relative_key(rel, zone) == name
    assert keys.name_from_key(keys.name_key(name)) == name
    above = names.parent(name)
    if name != zone and above is not None:
        assert keys.parent_key(rel) == keys.relative_key(above, zone)
    ancestors = [keys.name_from_relative_key(key, zone) for key in keys.ancestors(rel)]
    labels = names.labels(name)
    assert ancestors == [names.from_labels(labels[count:]) for count in range(1, len(names.labels(relative)) + 1)]
    wildcard = names.from_labels((b"*", *labels))
    if len(names.to_wire(wildcard)) <= 255:
        assert keys.wildcard_below(rel) == keys.relative_key(wildcard, zone)


@given(NAME, NAME)
def test_a_subtree_is_one_prefix(one: str, other: str) -> None:
    if one == ".":
        return
    below = other != one and names.is_within(other, one)
    key = keys.relative_key(other, ".")
    assert (key.startswith(keys.relative_key(one, ".")) and other != one) == below


@given(st.lists(NAME, min_size=2, max_size=8))
def test_byte_order_of_record_keys_is_canonical_name_order(found: list[str]) -> None:
    by_key = sorted(found, key=lambda name: keys.record_key(1, keys.relative_key(name, "."), A))
    by_labels = sorted(found, key=lambda name: names.labels(name)[::-1])
    assert by_key == by_labels


@pytest.mark.parametrize("key", [b"", b"com", b"com\0\0", b"\0com\0"])
def test_a_damaged_name_key_is_refused(key: bytes) -> None:
    with pytest.raises(BadBytes):
        keys.name_from_key(key)


@pytest.mark.parametrize("key", [b"", b"\0\0\0\1\0\0\6", b"\0\0\0\1www\1\0\1"])
def test_a_damaged_record_key_is_refused(key: bytes) -> None:
    with pytest.raises(BadBytes):
        keys.decode_record_key(key)


def test_damaged_index_keys_and_row_ids_are_refused() -> None:
    with pytest.raises(BadBytes):
        keys.decode_index_key(GOLDEN["zone_index_v5_key"][:-1])
    with pytest.raises(BadBytes):
        keys.decode_row_id(b"\0\0\1", big_endian=True)
