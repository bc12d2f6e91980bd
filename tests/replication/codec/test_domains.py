"""Tests of the codec of zone objects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.codec import domains
from replication.codec.domains import Primary, ZoneKind, ZoneObject
from replication.errors import BadBytes, UnknownSchema
from tests.golden.vectors import GOLDEN

SECONDARY = ZoneObject(
    "slave.test.",
    0,
    kind=ZoneKind.SECONDARY,
    account="acct1",
    primaries=(Primary("192.0.2.10"), Primary("2001:db8::10", 5300)),
)


@pytest.mark.parametrize(
    ("obj", "schema", "title"),
    [
        (ZoneObject("example.com.", 0), 4, "domain_v1_native"),
        (ZoneObject("example.com.", 0), 5, "domain_v1_native"),
        (ZoneObject("example.com.", 0), 6, "domain_v2_native"),
        (SECONDARY, 4, "domain_v1_secondary"),
    ],
)
def test_zone_objects_are_what_powerdns_writes(obj: ZoneObject, schema: int, title: str) -> None:
    assert domains.encode_domain(obj, schema) == GOLDEN[title]
    assert domains.decode_domain(GOLDEN[title]) == obj


def test_primaries_are_what_powerdns_writes() -> None:
    assert domains.encode_primary(Primary("192.0.2.10")) == GOLDEN["primary_ipv4"]
    assert domains.encode_primary(Primary("2001:db8::10", 5300)) == GOLDEN["primary_ipv6"]


def test_options_and_catalog_are_what_powerdns_writes() -> None:
    obj = ZoneObject("example.com.", 1, options='{"producer":{"coo":"x.test"}}', catalog="cat.test.")
    assert domains.encode_domain(obj, 4).endswith(GOLDEN["domain_tail_catalog"])
    assert domains.decode_domain(domains.encode_domain(obj, 4)) == obj


def test_objects_from_before_4_7_end_after_the_kind() -> None:
    v1 = GOLDEN["domain_v1_native"]
    v0 = v1[:1] + bytes(4) + v1[5:-16]
    assert domains.decode_domain(v0) == ZoneObject("example.com.", 0)


@given(
    st.builds(
        ZoneObject,
        st.sampled_from([".", "a.test.", "\\255\\.x.test."]),
        st.integers(1, 2**31 - 1),
        st.sampled_from(ZoneKind),
        st.text(max_size=9),
        st.just((Primary("2001:db8::1", 1, 7),)),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(0, 2**32 - 1),
        st.text(max_size=9),
        st.sampled_from(["", "cat.test."]),
    ),
    st.sampled_from([4, 5, 6]),
)
def test_objects_are_decoded_as_they_were_encoded(obj: ZoneObject, schema: int) -> None:
    assert domains.decode_domain(domains.encode_domain(obj, schema)) == obj


@pytest.mark.parametrize("schema", [4, 5, 6])
@pytest.mark.parametrize("name", [".", "a.test.", "name.frame.", "x" * 63 + ".test."])
@pytest.mark.parametrize("zone_id", [1, 255, 0x7EADBEEF, 2**31 - 2])
def test_native_zones_are_encoded_by_name_and_id_alone(schema: int, name: str, zone_id: int) -> None:
    assert domains.encode_native(name, zone_id, schema) == domains.encode_domain(ZoneObject(name, zone_id), schema)


def test_variants_are_kept_in_schema_6() -> None:
    obj = ZoneObject("a.test.", 2, variant="priv", catalog="cat.test.", catalog_variant="x")
    assert domains.decode_domain(domains.encode_domain(obj, 6)) == obj


@pytest.mark.parametrize("cut", range(0, 88, 7))
def test_a_cut_object_is_refused(cut: int) -> None:
    with pytest.raises(BadBytes):
        domains.decode_domain(GOLDEN["domain_v1_native"][:cut])


def test_bytes_behind_an_object_are_refused() -> None:
    with pytest.raises(BadBytes):
        domains.decode_domain(GOLDEN["domain_v1_native"] + b"\0")


def test_an_impossible_number_of_primaries_is_refused() -> None:
    body = bytearray(GOLDEN["domain_v1_native"])
    body[52:60] = b"\xff" * 8
    with pytest.raises(BadBytes, match="primaries"):
        domains.decode_domain(bytes(body))


def test_primaries_that_are_none_are_refused() -> None:
    with pytest.raises(BadBytes, match="family 3"):
        domains.decode_primary(b"\3" + bytes(27))
    with pytest.raises(BadBytes, match="has 27 bytes"):
        domains.decode_primary(bytes(27))


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(UnknownSchema):
        domains.encode_domain(ZoneObject("a.test.", 1), 3)
