"""The stored history of keys. Tests `dnssec.ds_seen` too."""

from datetime import datetime, timedelta

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_history, queries
from dnspanel.zones.dnssec.ds_seen import note_ds
from dnspanel.zones.dnssec.key_history import Event, Expected, KeyHistory, expected_of, histories_of
from dnspanel.zones.dnssec.rollover_stages import Kind, Step
from dnspanel.zones.models import Rollover, Zone, ZoneKey
from dnspanel.zones.signing import rollovers, sign
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)


def at(hours: int) -> datetime:
    return NOW + timedelta(hours=hours)


def acting(hours: int = 0) -> Acting:
    return Acting(author=None, channel="web", now=at(hours))


def lives(zone: Zone) -> list[KeyHistory]:
    return histories_of(zone, queries.signing_of(zone), Rollover.objects.filter(zone=zone).last())


def moments(key: KeyHistory) -> list[tuple[str, int]]:
    return [(str(each.event), round((each.at - NOW).total_seconds() / 3600)) for each in key.moments]


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1")


def test_each_change_of_a_key_is_a_moment_of_its_life(zone: Zone) -> None:
    assert lives(zone) == []
    sign.sign(zones=[zone], acting=acting(1))
    spare = sign.add_key(zone=zone, acting=acting(2), active=False, published=False)
    sign.set_key(zone=zone, key_id=spare.pk, published=True, acting=acting(3))
    sign.set_key(zone=zone, key_id=spare.pk, active=True, acting=acting(4))
    [first, second] = lives(zone)
    assert moments(first) == [("made", 1), ("published", 1), ("signs", 1)]
    assert moments(second) == [("made", 2), ("published", 3), ("signs", 4)]
    sign.set_key(zone=zone, key_id=first.id, active=False, acting=acting(5))
    sign.delete_key(zone=zone, key_id=first.id, acting=acting(6))
    [first, second] = lives(zone)
    assert moments(first)[3:] == [("rests", 5), ("hidden", 6), ("gone", 6)]
    assert (first.use, first.role) == (None, "csk")
    assert second.use is not None
    sign.unsign(zones=[zone], acting=acting(7))
    assert moments(lives(zone)[1])[3:] == [("rests", 7), ("hidden", 7), ("gone", 7)]


def test_of_keys_that_are_gone_the_newest_are_kept_in_view(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_history, "MOST_RETIRED", 2)
    for hours in range(4):
        sign.sign(zones=[zone], acting=acting(2 * hours))
        sign.unsign(zones=[zone], acting=acting(2 * hours + 1))
    assert [moments(key)[0] for key in lives(zone)] == [("made", 4), ("made", 6)]
    monkeypatch.setattr(key_history, "MOST_CHANGES", 1)
    # Times that were not read are not guessed.
    assert [moments(key)[1:] for key in lives(zone)] == [[], [("rests", 7), ("hidden", 7), ("gone", 7)]]


def test_a_ds_is_seen_when_every_server_has_it_and_gone_when_none_has(zone: Zone) -> None:
    sign.sign(zones=[zone], acting=acting())
    [key] = queries.keys_of(zone)
    sha384 = key.ds[1].upper()
    for hours, sets, changed in (
        (1, [(), ()], 0),
        (2, [(sha384,), ()], 0),
        (3, [(sha384,), (key.ds_of(1),)], 1),
        (4, [(sha384,), key.ds], 0),
        (5, [(), (sha384,)], 0),
        (6, [(), ("1 13 2 " + "00" * 32,)], 1),
        (7, [()], 0),
    ):
        assert note_ds(found={zone.pk: sets}, now=at(hours)) == changed, hours
    assert moments(lives(zone)[0])[3:] == [("ds", 3), ("ds-gone", 6)]
    assert not lives(zone)[0].has_ds
    note_ds(found={zone.pk: [key.ds]}, now=at(8))
    assert moments(lives(zone)[0])[3:] == [("ds", 8)]
    assert lives(zone)[0].has_ds
    # A server that was not queried proves nothing, and records of a deleted key end with its DS.
    assert note_ds(found={zone.pk: []}, now=at(9)) == 0
    sign.unsign(zones=[zone], acting=acting(9))
    assert note_ds(found={zone.pk: [()]}, now=at(10)) == 1
    assert moments(lives(zone)[0])[-1] == ("ds-gone", 10)


def test_a_rollover_says_what_comes_next_for_each_key(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=acting(), split=True)
    row = rollovers.begin(zone=zone, kind=Kind.ZSK, acting=Acting(alice, "web", at(1)))
    row.earliest = at(2)
    [old], [new] = row.old_keys, row.new_keys
    assert expected_of(row) == {
        old: (Expected(Event.RESTS, at(2)),),
        new: (Expected(Event.SIGNS, at(2)),),
    }
    row.step = Step.SIGN
    assert expected_of(row) == {old: (Expected(Event.HIDDEN, at(2)), Expected(Event.GONE, at(2)))}
    row.step = Step.BACK
    assert expected_of(row) == {new: (Expected(Event.HIDDEN, at(2)), Expected(Event.GONE, at(2)))}
    row.save()
    assert [len(key.expected) for key in lives(zone)] == [0, 0, 2]
    row.ended_at = at(3)
    row.save()
    assert [len(key.expected) for key in lives(zone)] == [0, 0, 0]


def test_the_ds_that_the_parent_has_to_be_told_of_comes_next(zone: Zone, alice: User) -> None:
    sign.sign(zones=[zone], acting=acting())
    row = rollovers.begin(zone=zone, kind=Kind.CSK, acting=Acting(alice, "web", at(1)))
    row.step, row.add_ds, row.remove_ds = Step.DS, row.new_ds, row.old_ds
    [old], [new] = row.old_keys, row.new_keys
    gone = [Expected(event, None) for event in (Event.RESTS, Event.HIDDEN, Event.GONE)]
    assert expected_of(row) == {old: (Expected(Event.DS_GONE, None), *gone), new: (Expected(Event.DS, None),)}
    row.step, row.is_emergency, row.add_ds, row.remove_ds = Step.REMOVE, True, [], []
    assert expected_of(row) == {}
    assert ZoneKey.objects.filter(zone=zone).count() == 2
