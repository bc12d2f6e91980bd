"""Generated zones for tests and benchmarks."""

import tarfile
import time
from pathlib import Path

import dns.name
import dns.rdatatype
import dns.zone

from dnspanel.zones.rules.rules import check_zone
from dnspanel.zones.rules.violations import Severity
from replication.dns.rrset import make
from tests import zonegen


def test_made_values_are_canonical_and_break_no_rule() -> None:
    for zone, rrsets in zonegen.estate(40, 2000, seed=3):
        assert [make(r.name, r.type, r.ttl, r.rdata) for r in rrsets] == rrsets
        by_key = {(r.name, r.type): r for r in rrsets}
        assert len(by_key) == len(rrsets)
        errors = [v for v in check_zone(zone, by_key, by_key.keys()) if v.severity != Severity.NOTE]
        assert errors == []


def test_an_estate_has_the_asked_size_exactly_and_is_the_same_each_time() -> None:
    first = list(zonegen.estate(200, 5000))
    assert len(first) == 200
    assert sum(zonegen.count_records(rrsets) for _, rrsets in first) == 5000
    assert list(zonegen.estate(200, 5000)) == first
    assert list(zonegen.estate(200, 5000, seed=2)) != first


def test_the_providers_estate_is_shared_out_as_published() -> None:
    sizes = zonegen.zone_sizes(zonegen.PROVIDER_ZONES, zonegen.PROVIDER_RECORDS)
    assert (len(sizes), sum(sizes)) == (263_238, 2_798_571)
    assert sorted(sizes)[len(sizes) // 2] < 11 < max(sizes)


def test_ten_thousand_zones_are_made_in_a_moment() -> None:
    start = time.process_time()
    assert sum(1 for _ in zonegen.estate(10_000)) == 10_000
    assert time.process_time() - start < 5


def test_a_zone_file_to_import_is_sound_and_has_the_asked_size() -> None:
    sizes = zonegen.import_sizes(60, 3000)
    assert (len(sizes), sum(sizes)) == (60, 3000)
    assert sizes.count(3000 // 27) >= zonegen.LARGE_ZONES
    types = set()
    for (name, content), size in zip(zonegen.zone_files(60, 3000), sizes, strict=True):
        zone = dns.zone.from_text(content.decode(), check_origin=True)
        rdatasets = list(zone.iterate_rdatasets())
        assert zone.origin == dns.name.from_text(name)
        assert sum(len(rdataset) for _, rdataset in rdatasets) == size
        types.update(dns.rdatatype.to_text(rdataset.rdtype) for _, rdataset in rdatasets)
        aliases = [owner for owner, rdataset in rdatasets if rdataset.rdtype == dns.rdatatype.CNAME]
        assert all(len(zone[owner].rdatasets) == 1 for owner in aliases)
    assert types == {"SOA", "NS", "A", "AAAA", "CNAME", "MX", "SRV", "TXT"}


def test_the_providers_estate_to_import_has_a_few_zones_of_100_000_records_and_most_of_about_ten() -> None:
    sizes = sorted(zonegen.import_sizes(zonegen.PROVIDER_ZONES, zonegen.PROVIDER_RECORDS))
    assert (len(sizes), sum(sizes)) == (263_238, 2_798_571)
    assert sizes[-3:] == [100_000] * 3
    assert 8 <= sizes[len(sizes) // 2] <= 11


def test_an_archive_and_a_named_conf_hold_the_same_zones(tmp_path: Path) -> None:
    last = zonegen.write_archive(tmp_path / "estate.tar.gz", 5, 60)
    conf = zonegen.write_named_conf(tmp_path, 5, 60)
    with tarfile.open(tmp_path / "estate.tar.gz") as archive:
        packed = {Path(member.name).name: archive.extractfile(member) for member in archive}
        content = {name: file.read() for name, file in packed.items() if file is not None}
    assert len(content) == 5
    assert f"{last}zone" in content
    for name, text in content.items():
        assert (tmp_path / name).read_bytes() == text
        assert f'file "{name}"' in conf.read_text()
