"""Tests of the tables of each PowerDNS schema."""

from uuid import UUID

import pytest

from replication.codec import dnssec, domains
from replication.codec.schema import Dbi, File, schema_for
from replication.errors import UnknownSchema
from tests.golden.vectors import GOLDEN

UUID_ = UUID(int=7)


def test_schema_4_has_integer_keys_and_sorted_duplicates() -> None:
    schema = schema_for(4)
    assert schema.dbi(Dbi.DOMAINS).name == b"domains"
    assert schema.dbi(Dbi.DOMAINS).integerkey
    index = schema.dbi(Dbi.DOMAINS_INDEX)
    assert (index.name, index.dupsort, index.dupfixed, index.integerkey) == (b"domains_0", True, True, False)
    assert schema.dbi(Dbi.RECORDS).name == b"records"


@pytest.mark.parametrize("number", [5, 6])
def test_later_schemas_have_tables_without_flags(number: int) -> None:
    schema = schema_for(number)
    assert [schema.dbi(dbi).name for dbi in schema.all_dbis] == [
        b"records_v5",
        b"domains_v5",
        b"domains_v5_0",
        b"metadata_v5",
        b"metadata_v5_0",
        b"keydata_v5",
        b"keydata_v5_0",
        b"tsig_v5",
        b"tsig_v5_0",
    ]
    assert not any(spec.integerkey or spec.dupsort or spec.dupfixed for spec in map(schema.dbi, schema.all_dbis))


@pytest.mark.parametrize("number", [4, 5, 6])
def test_only_records_are_in_the_shard(number: int) -> None:
    schema = schema_for(number)
    assert schema.all_dbis == tuple(Dbi)
    assert [dbi for dbi in Dbi if schema.dbi(dbi).file is File.SHARD] == [Dbi.RECORDS]


def test_values_carry_a_header_from_schema_5_on() -> None:
    assert schema_for(4).wrap(b"body", 1, 2) == b"body"
    assert schema_for(4).unwrap(b"body") == b"body"
    value = schema_for(5).wrap(b"body", 0x18E9FD54653327E5, 11)
    assert value == GOLDEN["header_written"] + b"body"
    assert schema_for(5).unwrap(value) == b"body"
    assert schema_for(6).is_deleted(GOLDEN["header_deleted"])
    assert not schema_for(6).is_deleted(value)
    assert not schema_for(4).is_deleted(b"body")


def test_settings_rows_are_what_powerdns_writes() -> None:
    assert schema_for(4).pdns_rows(UUID_) == [
        (b"schemaversion", bytes.fromhex("04000000")),
        (b"shards", bytes.fromhex("01000000")),
        (b"uuid", UUID_.bytes),
    ]
    assert schema_for(5).pdns_rows(UUID_)[0] == (b"schemaversion", GOLDEN["settings_v5_schemaversion"])
    assert schema_for(6).pdns_rows(UUID_)[0] == (b"schemaversion", bytes.fromhex("00000006"))


def test_a_zone_is_an_object_and_an_index_row() -> None:
    (one, key, body), (two, index_key, index_body) = schema_for(4).zone_rows(1, "example.com.")
    assert (one, two) == (Dbi.DOMAINS, Dbi.DOMAINS_INDEX)
    assert (key, domains.decode_domain(body).id) == (bytes.fromhex("01000000"), 1)
    assert (index_key, index_body) == (GOLDEN["zone_index_v4_key"], GOLDEN["zone_index_v4_value"])


def test_the_index_of_later_schemas_has_the_id_in_its_key() -> None:
    (_, key, _), (_, index_key, index_body) = schema_for(5).zone_rows(1, "example.com.")
    assert key == bytes.fromhex("00000001")
    assert (index_key, index_body) == (GOLDEN["zone_index_v5_key"], b"")


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(UnknownSchema, match="schema 3"):
        schema_for(3)


@pytest.mark.parametrize("number", [4, 5, 6])
def test_keys_and_metadata_are_found_by_the_name_of_their_zone(number: int) -> None:
    schema = schema_for(number)
    key = dnssec.KeyObject("a.test.", "Algorithm: 13\n", 257, True, True)
    metadata = dnssec.MetadataObject("a.test.", "NSEC3NARROW", "1")
    (dbi, row_key, body), index = schema.key_rows(9, key)
    assert (dbi, row_key, dnssec.decode_key(body, number)) == (Dbi.KEYDATA, schema.row_id_key(9), key)
    assert index == (Dbi.KEYDATA_INDEX, *schema.index_row("a.test.", 9))
    (dbi, row_key, body), index = schema.metadata_rows(9, metadata)
    assert (dbi, row_key, dnssec.decode_metadata(body, number)) == (Dbi.METADATA, schema.row_id_key(9), metadata)
    assert index == (Dbi.METADATA_INDEX, *schema.index_row("a.test.", 9))
    assert schema.index_prefix_of(index[1]) == schema.index_prefix("a.test.") != schema.index_prefix("b.a.test.")
