"""PowerDNS's own tools report no fault in dnspanel's files, and change nothing in them."""

import re

import pytest

from tests.oracle import lmdb_file
from tests.oracle.conftest import Pair

pytestmark = pytest.mark.sample(1, by="installation", reason="releases of PowerDNS that are compared")


def _check_all(place_output: str) -> dict[str, tuple[str, str]]:
    """Parse the output of check-zone. Return the numbers of errors and warnings by zone."""
    found = re.findall(r"Checked \d+ records of '(.*?)', (\d+) errors, (\d+) warnings", place_output)
    return {zone: (errors, warnings) for zone, errors, warnings in found}


def test_check_zone_says_of_ours_what_it_says_of_theirs(pair: Pair) -> None:
    for zone in pair.texts:
        word = zone.rstrip(".")
        ours, theirs = pair.ours.check_zone(word), pair.theirs.check_zone(word)
        assert _check_all(ours) == _check_all(theirs), ours
        assert sorted(ours.splitlines()) == sorted(theirs.splitlines())


def test_check_zone_finds_nothing_in_ordinary_zones(pair: Pair) -> None:
    for zone in ("test101.org", "long.test", "large.test", "txt.test", "2.0.192.in-addr.arpa"):
        assert _check_all(pair.ours.check_zone(zone)) == {zone: ("0", "0")}


def test_list_zone_prints_the_same_records(pair: Pair) -> None:
    for zone in pair.texts:
        word = zone.rstrip(".")
        ours, theirs = pair.ours.pdnsutil("list-zone", word), pair.theirs.pdnsutil("list-zone", word)
        assert sorted(ours.splitlines()) == sorted(theirs.splitlines())


def test_list_all_zones_prints_the_same_zones(pair: Pair) -> None:
    ours, theirs = pair.ours.pdnsutil("list-all-zones"), pair.theirs.pdnsutil("list-all-zones")
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    assert "test101.org" in ours


def test_rectify_changes_no_byte_of_a_body(pair: Pair) -> None:
    before = lmdb_file.bodies(pair.ours.database, pair.schema)
    assert "Rectified" in pair.ours.pdnsutil("rectify-all-zones")
    assert lmdb_file.bodies(pair.ours.database, pair.schema) == before


def test_the_file_keeps_its_schema(pair: Pair) -> None:
    """Tools of newer releases convert older files at once. These tools did not, so the schema number is correct."""
    number = dict(lmdb_file.settings(pair.ours.database, pair.schema))[b"schemaversion"]
    assert number == pair.schema.to_bytes(4, "little" if pair.schema == 4 else "big")
