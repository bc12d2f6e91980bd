"""Tests of the sample zones: BIND's checker and the panel accept each of them."""

import subprocess
from pathlib import Path

import pytest

from dnspanel.demo import sample
from replication.dns import rdtypes
from replication.dns.rrset import RRset

FILES = sample.zone_files()


@pytest.mark.oracle
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_named_checkzone_accepts_the_zone(path: Path) -> None:
    origin = sample.origin_of(path.read_text())
    done = subprocess.run(["named-checkzone", "-i", "local", origin, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_zone_has_its_soa_and_name_servers(path: Path) -> None:
    zone = sample.read_zone(path)
    apex_types = {rrset.type for rrset in zone.rrsets if rrset.name == zone.name}
    assert {rdtypes.SOA, rdtypes.NS} <= apex_types


def test_the_zone_of_the_published_test_is_exact() -> None:
    (zone,) = (zone for zone in sample.sample_zones() if zone.name == "test101.org.")
    soa = "a.invalid. hostmaster.test101.org. 0 10800 3600 604800 3600"
    assert sorted(zone.rrsets, key=lambda rrset: (rrset.name, rrset.type)) == [
        RRset("test101.org.", rdtypes.NS, 3600, ("ns1.test1.org.",)),
        RRset("test101.org.", rdtypes.SOA, 3600, (soa,)),
        RRset("www.test101.org.", rdtypes.A, 3600, ("1.1.1.1", "42.42.42.42")),
    ]


def test_a_zone_whose_name_no_file_could_have_is_read() -> None:
    assert "0/26.113.0.203.in-addr.arpa." in {zone.name for zone in sample.sample_zones()}


def test_the_provider_has_some_hundred_generated_hosts() -> None:
    (zone,) = (zone for zone in sample.sample_zones() if zone.name == "isp.example.")
    assert len(zone.rrsets) > 400
