"""Round trips: an import reads back each exported zone, RRset, disabled record and comment."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.db import connection

from dnspanel.transfer.documents import Document, Item, Options
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.sources.csv_table import CsvSource, sample
from dnspanel.transfer.sources.files import FileSource
from dnspanel.transfer.sources.json_zones import JsonSource
from dnspanel.transfer.zonefile.parse import read_zone
from dnspanel.zones.models import Zone
from dnspanel.zones.store.store_rrsets import replace_rrsets
from replication.dns.rrset import RRset
from tests.dnspanel.transfer.estates import estate, in_order
from tests.people import NOW

ESTATE = estate()


@pytest.fixture
def stored_estate(db: None) -> None:
    """Store all odd zones in PostgreSQL, without the editor's checks."""
    zones = [
        Zone(name=name, serial=7, rrset_count=len(rrsets), created_at=NOW, changed_at=NOW)
        for name, rrsets in ESTATE.items()
    ]
    Zone.objects.bulk_create(zones)
    replace_rrsets((zone.pk, zone.name, rrset) for zone in zones for rrset in ESTATE[zone.name])


def exported(path: Path, format: str) -> Path:
    """Export all zones to a compressed file, and return its path."""
    with path.open("wb") as file:
        out = export_file.Gzip(file, 1)
        export_file.write_export(connection.connection, Zone.objects.all(), out, export_format=format, mtime=1)
        out.close()
    return path


def read_back(items: Iterable[Item]) -> dict[str, list[RRset]]:
    """Return the zones of a source's documents. Fail the test at any fault."""
    found = {}
    for item in items:
        assert isinstance(item, Document), item
        parsed = read_zone(item, options=Options(), include=lambda _: None, allow_lua=True)
        assert parsed.is_sound, (item.path, parsed.faults)
        rrsets = [RRset(r.name, r.type, r.ttl, r.texts, r.disabled, r.comment) for r in parsed.rrsets]
        assert parsed.name not in found
        found[parsed.name] = in_order(parsed.name, rrsets)
    return found


def assert_nothing_was_lost(found: dict[str, list[RRset]]) -> None:
    assert sorted(found) == sorted(ESTATE)
    for zone, rrsets in ESTATE.items():
        assert found[zone] == rrsets, zone


def test_a_tar_of_zone_files_loses_nothing(stored_estate: None, tmp_path: Path) -> None:
    path = exported(tmp_path / "zones.tar.gz", "bind")
    assert_nothing_was_lost(read_back(FileSource([path], ["zones.tar.gz"]).items()))


def test_json_loses_nothing(stored_estate: None, tmp_path: Path) -> None:
    assert_nothing_was_lost(read_back(JsonSource(exported(tmp_path / "zones.jsonl.gz", "json")).items()))


def test_csv_loses_nothing(stored_estate: None, tmp_path: Path) -> None:
    path = exported(tmp_path / "zones.csv.gz", "csv")
    assert_nothing_was_lost(read_back(CsvSource(path, sample(path).mapping).items()))


def test_no_cell_of_the_csv_is_a_formula(stored_estate: None, tmp_path: Path) -> None:
    import csv
    import io

    text = gzip.decompress(exported(tmp_path / "zones.csv.gz", "csv").read_bytes()).decode()
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert [cell for cell in cells if cell[:1] in set("=+-@\t\r") and cell] == []


def test_a_single_zone_file_loses_nothing(stored_estate: None, tmp_path: Path) -> None:
    path = tmp_path / "odd.test.zone"
    with path.open("wb") as file:
        export_file.write_zone_file(connection.connection, Zone.objects.filter(name="odd.test."), file)
    assert read_back(FileSource([path], [path.name]).items())["odd.test."] == ESTATE["odd.test."]
