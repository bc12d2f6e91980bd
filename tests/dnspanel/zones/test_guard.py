"""Deleting many zones is held; a few, and those that a person confirms, are not."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.zones import bulk, edit, guard
from dnspanel.zones.errors import MassDeletion
from dnspanel.zones.models import Channel, Zone
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

ZONES = 30


@pytest.fixture
def alice() -> User:
    return make_person("alice", role="administrator")


@pytest.fixture(autouse=True)
def zones(alice: User) -> list[Zone]:
    names = [edit.NewZone(f"z{number:02}.test.") for number in range(ZONES)]
    edit.create_zones(zones=names, author=alice, channel=Channel.API, now=timezone.now())
    return list(Zone.objects.order_by("name"))


def delete(zone: Zone, author: User | None, *, confirmed: bool = False, ago: timedelta = timedelta(0)) -> None:
    now = timezone.now() - ago
    edit.delete_zone(zone=zone, author=author, channel=Channel.API, now=now, confirmed=confirmed)


def alive() -> int:
    return Zone.objects.filter(deleted_at=None).count()


def test_one_after_another_is_held_from_the_eleventh_on(zones: list[Zone], alice: User) -> None:
    for zone in zones[: guard.MASS_FEW]:
        delete(zone, alice)
    with pytest.raises(MassDeletion) as held:
        delete(zones[10], alice)
    assert str(held.value) == (
        "This deletes 1 of 20 zones after 10 in the last minutes: more than 1 % of all zones. Nothing was deleted."
    )
    assert held.value.total == 11
    assert alive() == 20
    delete(zones[10], alice, confirmed=True)
    assert alive() == 19


def test_what_others_did_or_what_was_long_ago_does_not_count(zones: list[Zone], alice: User) -> None:
    for zone in zones[:8]:
        delete(zone, alice, ago=guard.MASS_WINDOW + timedelta(minutes=1))
    bob = make_person("bob", role="administrator")
    for zone in zones[8:16]:
        delete(zone, bob)
    for zone in zones[16:24]:
        delete(zone, alice)
    assert alive() == ZONES - 24


def test_who_makes_the_same_zone_again_and_again_is_not_held(zones: list[Zone], alice: User) -> None:
    for _ in range(12):
        edit.create_zones(zones=[edit.NewZone("tried.test.")], author=alice, channel=Channel.API, now=timezone.now())
        delete(Zone.objects.get(name="tried.test.", deleted_at=None), alice)
    for zone in zones[: guard.MASS_FEW - 1]:  # it counts once
        delete(zone, alice)
    with pytest.raises(MassDeletion):
        delete(zones[10], alice)


def test_many_at_once_are_held_as_a_whole(zones: list[Zone], alice: User) -> None:
    wanted = [(zone.pk, zone.revision) for zone in zones[:11]]
    with pytest.raises(MassDeletion):
        bulk.delete_zones(zones=wanted, author=alice, channel=Channel.API, now=timezone.now())
    assert alive() == ZONES
    bulk.delete_zones(zones=wanted, author=alice, channel=Channel.API, now=timezone.now(), confirmed=True)
    assert alive() == ZONES - 11


def test_the_panel_itself_is_not_guarded(zones: list[Zone]) -> None:
    for zone in zones[:12]:
        delete(zone, None)
    assert alive() == ZONES - 12


def test_one_percent_of_many_zones_is_more_than_a_few(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MASS_FEW", 0)
    monkeypatch.setattr(guard, "MASS_PERCENT", 10)
    now = timezone.now()
    guard.refuse_mass_deletion(author=alice, count=3, now=now)  # 3 of 30 are 10 %, not more
    with pytest.raises(MassDeletion):
        guard.refuse_mass_deletion(author=alice, count=4, now=now)
