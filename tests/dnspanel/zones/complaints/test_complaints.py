"""The complaints of the checks about published RRsets of many zones at once."""

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.zones.complaints.complaints import OWN, Piece, against
from dnspanel.zones.models import Zone
from dnspanel.zones.store import store_rrsets
from tests.dnspanel.zones.conftest import ZONE, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db

LINES = ("a 300 CNAME gone", "b 300 A 192.0.2.1", "c 300 MX 10 b", "d 300 MX 10 gone", "sub 300 NS ns.sub | ns2.x.net.")


def piece_of(zone: Zone, *owners: str) -> Piece:
    rrsets = store_rrsets.rrsets_of_zones([zone.pk])[zone.pk].values()
    return Piece(zone, [each for each in rrsets if not owners or each.name.removesuffix(f".{zone.name}") in owners])


def said(zone: Zone, *owners: str) -> dict[tuple[str, int], str]:
    found = against([piece_of(zone, *owners)], NOW)[zone.pk]
    return {(name.removesuffix(f".{zone.name}"), into): message for ((name, _), into), message in found.items()}


def test_a_piece_of_a_zone_is_judged_as_the_whole_of_it_is(make_zone: MakeZone) -> None:
    zone = make_zone(*LINES)
    everything = said(zone)
    assert everything.keys() == {("a", OWN), ("d", OWN), ("sub", OWN)}
    assert "gone" in everything["d", OWN]
    assert said(zone, "a", "b") == {key: everything[key] for key in [("a", OWN)]}
    assert said(zone, "d", "sub") == {key: everything[key] for key in [("d", OWN), ("sub", OWN)]}


def test_what_leads_into_another_zone_comes_with_that_zone(make_zone: MakeZone) -> None:
    """A complaint about a target names the target's zone, so it can be hidden from people who can't see that zone."""
    other = make_zone("there 300 A 192.0.2.1", name="other.test.")
    zone = make_zone("a 300 CNAME absent.other.test.", "b 300 CNAME there.other.test.", "c 300 MX 10 www.nowhere.test.")
    assert said(zone).keys() == {("a", other.pk)}
    assert "absent.other.test." in said(zone)["a", other.pk]


def test_a_name_inside_for_which_another_zone_answers_is_looked_for_there(make_zone: MakeZone) -> None:
    zone = make_zone("a 300 CNAME x.sub", "b 300 CNAME y.sub", "sub 300 NS ns1.example.net. | ns2.example.net.")
    sub = make_zone("x 300 A 192.0.2.1", name=f"sub.{ZONE}")
    assert said(zone).keys() == {("b", sub.pk)}


def test_the_number_of_queries_does_not_depend_on_that_of_zones(
    make_zone: MakeZone, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    pieces = [
        piece_of(make_zone(*LINES, "e 300 CNAME absent.z0.test.", name=f"z{number}.test.")) for number in range(12)
    ]
    with django_assert_max_num_queries(20):
        found = against(pieces, NOW)
    assert {len(of_zone) for of_zone in found.values()} == {4}
