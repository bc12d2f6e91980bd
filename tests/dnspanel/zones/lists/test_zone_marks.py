"""Pinned and recently opened zones: limited in number, per person, and only zones that the person can see."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.lists import zone_marks
from dnspanel.zones.lists.zone_marks import is_pinned, marked_zones, note_visit, pin, unpin
from dnspanel.zones.models import Zone, ZoneMarks
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person


def names(zones: tuple[Zone, ...]) -> list[str]:
    return [zone.name for zone in zones]


def test_pinned_stand_by_name_and_opened_ones_the_last_first(make_zone: MakeZone, alice: User, bob: User) -> None:
    zones = [make_zone(name=f"{letter}.test.") for letter in "cab"]
    for zone in zones:
        note_visit(zone=zone, person=bob)
        pin(zone=zone, person=bob)
    note_visit(zone=zones[0], person=bob)
    unpin(zone=zones[1], person=bob)
    found = marked_zones(bob)
    assert (names(found.pinned), names(found.recent)) == (["b.test.", "c.test."], ["a.test."])
    assert is_pinned(zones[0], bob)
    assert not is_pinned(zones[1], bob)
    assert not is_pinned(zones[0], alice)
    for zone in zones:
        unpin(zone=zone, person=bob)
    assert names(marked_zones(bob).recent) == ["c.test.", "b.test.", "a.test."]
    assert marked_zones(alice) == zone_marks.MarkedZones((), ())


def test_both_lists_are_bounded(make_zone: MakeZone, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zone_marks, "MOST_PINNED", 2)
    monkeypatch.setattr(zone_marks, "MOST_RECENT", 3)
    for number in range(5):
        zone = make_zone(name=f"z{number}.test.")
        pin(zone=zone, person=bob)
        note_visit(zone=zone, person=bob)
    marks = ZoneMarks.objects.get(user=bob)
    assert (len(marks.pinned), len(marks.recent)) == (2, 3)
    assert names(marked_zones(bob).pinned) == ["z3.test.", "z4.test."]


def test_what_one_may_not_see_any_more_is_not_told(make_zone: MakeZone, alice: User) -> None:
    zones = [make_zone(name=f"{letter}.test.") for letter in "ab"]
    member = make_person("mia", Role.MEMBER)
    for zone in zones:
        pin(zone=zone, person=member)
        note_visit(zone=zone, person=member)
    assert marked_zones(member) == zone_marks.MarkedZones((), ())
    grant = Grant(frozenset({Right.READ}), zones=frozenset({zones[0].pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    assert names(marked_zones(User.objects.get(pk=member.pk)).pinned) == ["a.test."]
    Zone.objects.filter(pk=zones[0].pk).update(deleted_at=NOW)
    assert names(marked_zones(User.objects.get(pk=member.pk)).pinned) == []
