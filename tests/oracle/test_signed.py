"""Rows, metadata and keys of signed zones equal those that pdnsutil writes."""

from collections.abc import Iterator

import pytest

from replication.codec import dnssec, values
from replication.codec.dnssec import Nsec3
from replication.codec.schema import Dbi, schema_for
from replication.codec.values import StoredRecord
from replication.compile import compile_zone
from replication.dns.rdtypes import NS, NSEC3
from tests.golden import powerdns_objects
from tests.oracle import lmdb_file
from tests.oracle.corpus import rrsets_of, zone_texts
from tests.oracle.lmdb_file import Contents, canonical_body, key_text
from tests.oracle.powerdns import Place, PowerDNS

pytestmark = pytest.mark.sample(1, by="installation", reason="releases of PowerDNS that are compared")

NSEC, BACK = "nsec.test.", "back.test."
# The zone, its NSEC3PARAM metadata, and the panel's setting.
MODES: dict[str, tuple[str, Nsec3]] = {
    "nsec3.test.": ("1 0 0 -", Nsec3()),
    "salted.test.": ("1 0 2 abcd", Nsec3(iterations=2, salt=bytes.fromhex("abcd"))),
    "optout.test.": ("1 1 0 -", Nsec3(opt_out=True)),
    "narrow.test.": ("1 0 0 -", Nsec3(narrow=True)),
}


def text_for(zone: str) -> str:
    """Return the corpus's zone with all kinds of delegations, renamed to this zone."""
    return zone_texts()["cuts.test."].replace("cuts.test.", zone)


@pytest.fixture(scope="module")
def signed(installation: PowerDNS) -> Iterator[Place]:
    """Create the zone in all denial modes, signed and rectified by pdnsutil."""
    with installation.place("signed") as place:
        for zone in (NSEC, *MODES):
            place.load_zone(zone, text_for(zone))
        # Set the mode before adding keys, because a later change leaves flags and rows of the old mode (`switched`).
        for zone, (parameters, nsec3) in MODES.items():
            place.pdnsutil("set-meta", zone.rstrip("."), "NSEC3PARAM", parameters)
            if nsec3.narrow:
                place.pdnsutil("set-meta", zone.rstrip("."), "NSEC3NARROW", "1")
        for zone in (NSEC, *MODES):
            place.pdnsutil("secure-zone", zone.rstrip("."))
            place.pdnsutil("rectify-zone", zone.rstrip("."))
        yield place


@pytest.fixture(scope="module")
def contents(signed: Place) -> Contents:
    return lmdb_file.read(signed.database, signed.powerdns.schema)


@pytest.mark.parametrize("zone", MODES)
def test_nsec3_rows_are_equal_in_every_mode(contents: Contents, zone: str) -> None:
    expected = {
        key_text(zone, rel, type): canonical_body(body, rel, type, zone)
        for (rel, type), body in contents.rows_of(zone).items()
    }
    found = {
        key_text(zone, rel, type): body
        for rel, type, body in compile_zone(zone, rrsets_of(zone, text_for(zone)), nsec3=MODES[zone][1])
    }
    assert found == expected


def test_nsec_rows_are_equal_but_for_what_5_x_no_longer_writes(contents: Contents, installation: PowerDNS) -> None:
    """Up to 4.9, PowerDNS sets a flag and writes a row for each name in NSEC zones. It uses neither."""
    expected = {
        key_text(NSEC, rel, type): _without_flag(canonical_body(body, rel, type, NSEC), installation)
        for (rel, type), body in contents.rows_of(NSEC).items()
        if type != 50 or installation.schema >= 6
    }
    found = {key_text(NSEC, rel, type): body for rel, type, body in compile_zone(NSEC, rrsets_of(NSEC, text_for(NSEC)))}
    assert found == expected


@pytest.fixture(scope="module")
def switched(installation: PowerDNS) -> Iterator[Contents]:
    """Sign zones with NSEC and switch them with `set-nsec3`, one of them back with `unset-nsec3`."""
    with installation.place("switched") as place:
        for zone in (BACK, *MODES):
            place.load_zone(zone, text_for(zone))
            place.pdnsutil("secure-zone", zone.rstrip("."))
        for zone, (parameters, nsec3) in (*MODES.items(), (BACK, ("1 0 0 -", Nsec3()))):
            place.pdnsutil("set-nsec3", zone.rstrip("."), parameters, *(["narrow"] if nsec3.narrow else []))
            place.pdnsutil("rectify-zone", zone.rstrip("."))
        place.pdnsutil("unset-nsec3", BACK.rstrip("."))
        place.pdnsutil("rectify-zone", BACK.rstrip("."))
        yield lmdb_file.read(place.database, installation.schema)


@pytest.mark.parametrize("zone", [BACK, *MODES])
def test_rows_are_those_that_a_switch_by_pdnsutil_leaves(switched: Contents, zone: str) -> None:
    """After a switch to NSEC3 with a chain, rows are equal. After one to NSEC or narrow mode, PowerDNS leaves unused
    rows and flags behind, which dnspanel removes.
    """
    nsec3 = MODES[zone][1] if zone in MODES else None
    expected = {
        key_text(zone, rel, type): (type, canonical_body(body, rel, type, zone))
        for (rel, type), body in switched.rows_of(zone).items()
    }
    found = {
        key_text(zone, rel, type): (type, body)
        for rel, type, body in compile_zone(zone, rrsets_of(zone, text_for(zone)), nsec3=nsec3)
    }
    if nsec3 is not None and not nsec3.narrow:
        assert found == expected
        return
    left = {key for key, (type, _) in expected.items() if type == NSEC3 and key not in found}
    assert {key: _unflagged(body) for key, (_, body) in found.items()} == {
        key: _unflagged(body) for key, (_, body) in expected.items() if key not in left
    }


def _without_flag(body: bytes, installation: PowerDNS) -> bytes:
    return body if installation.schema >= 6 else _unflagged(body)


def _unflagged(body: bytes) -> bytes:
    """Return the body without PowerDNS's flag for names in an NSEC3 chain."""
    records = values.decode_records(body)
    return values.encode_records(StoredRecord(r.content, r.ttl, r.auth, r.disabled, False) for r in records)


def test_metadata_and_keys_are_encoded_as_powerdns_encodes_them(signed: Place) -> None:
    schema = schema_for(signed.powerdns.schema)
    rows = lmdb_file.bodies(signed.database, schema.number)
    metadata = [body for (dbi, _), body in rows.items() if dbi is Dbi.METADATA]
    keydata = [body for (dbi, _), body in rows.items() if dbi is Dbi.KEYDATA]
    assert len(metadata) >= len(MODES)
    assert len(keydata) == len(MODES) + 1
    for body in metadata:
        assert dnssec.encode_metadata(dnssec.decode_metadata(body, schema.number), schema.number) == body
    for body in keydata:
        assert dnssec.encode_key(dnssec.decode_key(body, schema.number), schema.number) == body
    kinds = {(obj.zone, obj.kind, obj.value) for obj in (dnssec.decode_metadata(b, schema.number) for b in metadata)}
    assert ("salted.test.", "NSEC3PARAM", "1 0 2 abcd") in kinds
    assert ("narrow.test.", "NSEC3NARROW", "1") in kinds


def test_index_rows_lead_from_the_zone_to_its_objects(signed: Place) -> None:
    schema = schema_for(signed.powerdns.schema)
    rows = lmdb_file.bodies(signed.database, schema.number)
    for (dbi, key), body in rows.items():
        if dbi is Dbi.KEYDATA:
            row_id = int.from_bytes(key, "big" if schema.has_header else "little")
            index_key, index_body = schema.index_row(dnssec.decode_key(body, schema.number).zone, row_id)
            assert rows[Dbi.KEYDATA_INDEX, index_key] == index_body


def test_tsig_keys_are_encoded_as_powerdns_encodes_them(signed: Place) -> None:
    signed.pdnsutil("import-tsig-key", "k2", "hmac-md5", "aGVsbG8=")
    rows = lmdb_file.bodies(signed.database, signed.powerdns.schema)
    (body,) = [body for (dbi, _), body in rows.items() if dbi is Dbi.TSIG]
    assert powerdns_objects.encode_tsig(dnssec.decode_tsig(body)) == body
    assert dnssec.decode_tsig(body).name == "k2."


def test_the_corpus_has_delegations_of_every_kind() -> None:
    cuts = [rrset for rrset in rrsets_of(NSEC, text_for(NSEC)) if rrset.type == NS]
    assert len(cuts) >= 8
