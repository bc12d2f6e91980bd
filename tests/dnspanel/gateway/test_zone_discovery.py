"""Tests of zone discovery: the zone of a name, and the public part of its data."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.gateway import zone_questions
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW


def found(name: str) -> str | None:
    zone = zone_questions.zone_around(name)
    return None if zone is None else zone.name


def test_the_zone_with_the_longest_name_is_found(make_zone: MakeZone) -> None:
    make_zone()
    make_zone(name="sub.example.test.")
    assert found("example.test.") == found("www.example.test.") == found("xsub.example.test.") == "example.test."
    assert found("sub.example.test.") == found("a.b.sub.example.test.") == "sub.example.test."


@pytest.mark.parametrize("name", ["test.", ".", "other.test.", r"a\.example.test."])
def test_other_names_are_in_no_zone(zone: Zone, name: str) -> None:
    assert found(name) is None


def test_a_deleted_zone_is_not_found(zone: Zone, alice: User) -> None:
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    assert found("www.example.test.") is None


def test_everybody_may_know_the_soa_and_the_ns(zone: Zone) -> None:
    assert set(zone_questions.apex_of(zone)) == {rdtypes.SOA, rdtypes.NS}
