"""The stored places of a large zone's names follow publications."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import NamePlace, RRset, Zone
from dnspanel.zones.order import display_order
from dnspanel.zones.publishing import edit
from dnspanel.zones.search import texts_upkeep
from dnspanel.zones.values.natural_order import natural_key
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.dnspanel.zones.search.conftest import CatchUp
from tests.dnspanel.zones.search.conftest import catch_up as catch_up
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_order, "LARGE", 6)
    monkeypatch.setattr(display_order, "_AT_ONCE", 3)
    monkeypatch.setattr(texts_upkeep, "NAMES_OF_BLOCK", 3)


def places_of(zone: Zone) -> set[tuple[bytes, bytes]]:
    rows = NamePlace.objects.filter(zone=zone).values_list("place", "owner_key")
    return {(bytes(place), bytes(owner_key)) for place, owner_key in rows}


def expected(zone: Zone) -> set[tuple[bytes, bytes]]:
    keys = {bytes(key) for key in RRset.objects.filter(zone=zone).values_list("owner_key", flat=True)}
    return {(natural_key(key), key) for key in keys}


def change(zone: Zone, author: User, *lines: str, gone: tuple[str, ...] = ()) -> Zone:
    changes = {(r.name, r.type): r for r in map(rr, lines)} | {(f"{owner}.{ZONE}", 1): None for owner in gone}
    found = Zone.objects.get(pk=zone.pk)
    change_rrsets(zone=found, changes=changes, author=author, channel="web", now=NOW, confirmed=True)
    return Zone.objects.get(pk=zone.pk)


def test_a_small_zone_has_none_and_a_large_one_has_all(make_zone: MakeZone, catch_up: CatchUp) -> None:
    small = make_zone("h1 60 A 192.0.2.1", name="small.test.")
    large = make_zone(*(f"h{number} 60 A 192.0.2.1" for number in range(8, 13)), "h8 60 TXT text")
    catch_up()
    assert places_of(small) == set()
    assert places_of(large) == expected(large)
    assert len(places_of(large)) == 6


@pytest.mark.django_db(transaction=True)
def test_names_come_and_go_with_what_is_published(make_zone: MakeZone, alice: User, catch_up: CatchUp) -> None:
    zone = make_zone(*(f"h{number} 60 A 192.0.2.1" for number in range(4)))
    catch_up()
    assert places_of(zone) == set()
    zone = change(zone, alice, *(f"h{number} 60 A 192.0.2.1" for number in range(9, 13)))
    catch_up()
    assert places_of(zone) == expected(zone) != set()
    zone = change(zone, alice, "new 60 A 192.0.2.1", "h9 61 A 192.0.2.1", "h3 60 TXT text", gone=("h12", "h3"))
    catch_up()
    assert places_of(zone) == expected(zone)
    assert len(places_of(zone)) == 9


@pytest.mark.django_db(transaction=True)
def test_they_go_with_the_zone(make_zone: MakeZone, alice: User, catch_up: CatchUp) -> None:
    zone = make_zone(*(f"h{number} 60 A 192.0.2.1" for number in range(8)))
    catch_up()
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    Zone.objects.filter(pk=zone.pk).delete()
    assert not NamePlace.objects.exists()
