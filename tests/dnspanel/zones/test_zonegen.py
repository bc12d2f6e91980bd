"""The made-up estates that tests and benchmarks load."""

import time

from dnspanel.zones.rules import Severity, check_zone
from replication.rrset import make
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
    start = time.perf_counter()
    assert sum(1 for _ in zonegen.estate(10_000)) == 10_000
    assert time.perf_counter() - start < 5
