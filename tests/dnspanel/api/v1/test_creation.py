"""Tests of new zones in the form of PowerDNS's clients. `test_zones` tests refusals through the API."""

from typing import Any

import pytest

from dnspanel.api.v1.creation import NewZone, read_attributes, read_new_zone
from dnspanel.api.v1.view import Refusal
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.dnspanel.api.v1.conftest import replace
from tests.people import NOW

NAME = "example.test."


def new(**more: Any) -> NewZone:
    return read_new_zone({"name": NAME, "kind": "Native", **more}, NOW)


def of_type(zone: NewZone, type: int) -> list[RRset]:
    return [rrset for rrset in zone.rrsets if rrset.type == type]


def test_the_soa_is_made_with_the_serial_asked_for() -> None:
    [soa] = of_type(new(serial=22, nameservers=["ns9.test."]), rdtypes.SOA)
    assert soa.rdata[0].split(" ")[:3] == ["ns9.test.", "hostmaster.example.net.", "22"]


def test_a_soa_of_its_own_stays_and_takes_comments() -> None:
    content = "ns1.test. h.test. 10 10800 3600 604800 3600"
    zone = new(rrsets=[replace(NAME, "soa", content, comments=[{"content": "mine"}])])
    assert [soa.rdata for soa in of_type(zone, rdtypes.SOA)] == [(content,)]
    assert list(zone.comments) == [(NAME, rdtypes.SOA)]
    commented = new(rrsets=[{"name": NAME, "type": "SOA", "comments": [{"content": "about it"}]}])
    assert of_type(commented, rdtypes.SOA)[0].comment == "about it"


def test_names_below_may_have_ns_beside_nameservers() -> None:
    zone = new(nameservers=["ns1.test."], rrsets=[replace("sub.example.test.", "NS", "ns2.test.")])
    assert (zone.nameservers, len(of_type(zone, rdtypes.NS))) == (["ns1.test."], 1)


@pytest.mark.django_db
def test_zone_text_without_ns_takes_the_nameservers_given() -> None:
    zone = new(nameservers=["ns1.test."], zone="@ IN SOA ns1.test. h.test. 5 1h 1h 1w 1h\nwww A 192.0.2.1\n")
    assert of_type(zone, rdtypes.NS) == []
    assert [rrset.ttl for rrset in of_type(zone, rdtypes.A)] == [3600]


@pytest.mark.django_db
def test_lines_of_faults_are_those_of_the_text() -> None:
    with pytest.raises(Refusal, match=r"line 2: www A nonsense"):
        new(zone="@ IN SOA ns1.test. h.test. 5 1h 1h 1w 1h\nwww A nonsense\n")


@pytest.mark.parametrize(
    ("sent", "attributes"),
    [
        ({"kind": "PRIMARY"}, {"kind": "Master"}),
        ({"kind": "whatever"}, {"kind": "Native"}),
        ({"account": 5, "masters": "x", "api_rectify": "yes"}, {}),
        ({"masters": ["192.0.2.1:53", "2001:db8::1"]}, {"masters": ["192.0.2.1:53", "2001:db8::1"]}),
        ({"catalog": "Cat.test.", "dnssec": False}, {"catalog": "cat.test."}),
        ({"catalog": "cat.test"}, {"catalog": "cat.test."}),
        ({"catalog": "", "nsec3param": ""}, {"catalog": ""}),
    ],
)
def test_facts_are_kept_in_powerdns_spelling(sent: dict[str, Any], attributes: dict[str, Any]) -> None:
    assert read_attributes(sent) == attributes


@pytest.mark.parametrize(
    "sent",
    [
        {"masters": [5]},
        {"masters": ["192.0.2.1:x"]},
        {"catalog": "a..b"},
        {"soa_edit": "x" * 33},
    ],
)
def test_facts_that_cannot_be_kept_are_refused(sent: dict[str, Any]) -> None:
    with pytest.raises(Refusal):
        read_attributes(sent)


@pytest.mark.django_db
def test_zone_text_is_refused_with_what_would_be_left_out() -> None:
    """Regression test: the answer was 201, although the DNSSEC records were silently left out."""
    soa = "@ IN SOA ns1.test. h.test. 5 1h 1h 1w 1h\n"
    with pytest.raises(Refusal, match=r"this file doesn’t contain its keys\. Left out: 1 NSEC"):
        new(zone=soa + "@ NSEC www A\n")
    with pytest.raises(Refusal, match="1 LUA record left out"):
        new(zone=soa + "www LUA A \"'192.0.2.1'\"\n")
