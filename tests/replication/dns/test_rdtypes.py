"""Tests of record types: numbers, mnemonics, and refused types."""

import dns.rdatatype
import pytest

from replication.dns import rdtypes
from replication.errors import BadRdata

# Types that dnspython 2 has no name for, or that are PowerDNS's own.
UNKNOWN_TO_DNSPYTHON = {"ALIAS", "LUA", "RKEY"}


@pytest.mark.parametrize("type", sorted(rdtypes.SERVED_TYPES))
def test_numbers_are_those_of_dnspython(type: int) -> None:
    name = rdtypes.type_to_text(type)
    assert rdtypes.type_from_text(name.lower()) == type
    if name not in UNKNOWN_TO_DNSPYTHON:
        assert dns.rdatatype.from_text(name) == type


def test_types_without_a_name_are_written_by_number() -> None:
    assert rdtypes.type_to_text(1234) == "TYPE1234"
    assert rdtypes.type_from_text("type1234") == 1234
    assert rdtypes.type_from_text("TYPE1") == rdtypes.A


def test_meta_types_have_numbers_for_queries() -> None:
    assert rdtypes.type_from_text("ANY") == 255


@pytest.mark.parametrize("text", ["", "X", "TYPE65536", "TYPE", "A AAAA"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(BadRdata, match="isn’t a valid record type"):
        rdtypes.type_from_text(text)


@pytest.mark.parametrize("name", ["ANY", "AXFR", "IXFR", "OPT", "TSIG", "TKEY", "NSEC", "NSEC3", "NSEC3PARAM", "RRSIG"])
def test_types_that_are_not_for_zones_are_refused_with_a_reason(name: str) -> None:
    reason = rdtypes.refusal(rdtypes.type_from_text(name))
    assert reason is not None
    assert name in reason


def test_types_for_zones_are_not_refused() -> None:
    assert [type for type in rdtypes.SERVED_TYPES if rdtypes.refusal(type)] == []
    assert rdtypes.refusal(1234) is None
