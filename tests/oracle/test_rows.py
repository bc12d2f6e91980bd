"""dnspanel's rows equal PowerDNS's rows."""

import pytest

from replication.codec import values
from replication.dns.rdtypes import CNAME, MB, MG, MINFO, MR, MX, NS, PTR, SOA
from tests.oracle import lmdb_file
from tests.oracle.conftest import Pair
from tests.oracle.lmdb_file import canonical_body, key_text

pytestmark = pytest.mark.sample(1, by="installation", reason="releases of PowerDNS that are compared")

COMPRESSED = {NS, CNAME, PTR, MX, SOA, MB, MG, MR, MINFO}


def test_zone_objects_are_equal(pair: Pair) -> None:
    theirs = lmdb_file.read(pair.theirs.database, pair.schema)
    ours = lmdb_file.read(pair.ours.database, pair.schema)
    assert ours.zones == theirs.zones


def test_every_row_of_every_zone_is_equal(pair: Pair) -> None:
    theirs = lmdb_file.read(pair.theirs.database, pair.schema)
    ours = lmdb_file.read(pair.ours.database, pair.schema)
    compared = 0
    for zone in pair.texts:
        expected = {
            key_text(zone, rel, type): canonical_body(body, rel, type, zone)
            for (rel, type), body in theirs.rows_of(zone).items()
        }
        # Not canonicalized: dnspanel writes canonical rows.
        found = {key_text(zone, rel, type): body for (rel, type), body in ours.rows_of(zone).items()}
        assert found == expected
        compared += len(found)
    assert compared > 500


def test_rows_of_one_record_that_powerdns_does_not_compress_are_equal_byte_by_byte(pair: Pair) -> None:
    theirs = lmdb_file.read(pair.theirs.database, pair.schema).rows
    ours = lmdb_file.read(pair.ours.database, pair.schema).rows
    canonical = {
        key: body for key, body in ours.items() if key[2] not in COMPRESSED and len(values.decode_records(body)) == 1
    }
    assert {key: theirs[key] for key in canonical} == canonical
    assert len(canonical) > 300
