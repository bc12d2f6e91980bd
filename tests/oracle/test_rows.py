"""Our rows are PowerDNS's rows."""

from tests.oracle import lmdb_file
from tests.oracle.conftest import Pair
from tests.oracle.lmdb_file import canonical_body, shown_key


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
            shown_key(zone, rel, type): canonical_body(body, rel, type, zone)
            for (rel, type), body in theirs.rows_of(zone).items()
        }
        # Not canonicalised: what we write is canonical already.
        found = {shown_key(zone, rel, type): body for (rel, type), body in ours.rows_of(zone).items()}
        assert found == expected
        compared += len(found)
    assert compared > 500


def test_rows_that_powerdns_does_not_compress_are_equal_byte_by_byte(pair: Pair) -> None:
    theirs = lmdb_file.read(pair.theirs.database, pair.schema)
    ours = lmdb_file.read(pair.ours.database, pair.schema)
    equal = [key for key, body in ours.rows.items() if theirs.rows.get(key) == body]
    assert len(equal) > 0.9 * len(ours.rows)
