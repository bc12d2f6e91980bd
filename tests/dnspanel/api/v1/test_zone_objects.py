"""Tests of zones as JSON text that PostgreSQL builds. `test_zones` tests the fields."""

import json

import pytest

from dnspanel.accounts.actors.actors import actor_of
from dnspanel.accounts.models import User
from dnspanel.api.v1.attributes import keep_attributes
from dnspanel.api.v1.zone_objects import stored_rows, zone_list, zone_object
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v1.conftest import MakeZone
from tests.people import NOW


def test_names_with_odd_characters_are_still_json(alice: User, make_zone: MakeZone) -> None:
    zone = make_zone('txt 60 TXT "a\\"b"', name='qu\\"ote.test.')
    keep_attributes(zone=zone, attributes={"account": 'a "b" \\', "masters": ["192.0.2.1"]}, by=alice, now=NOW)
    actor = actor_of(alice)
    assert actor is not None
    [listed] = json.loads(zone_list(actor, name=None, with_dnssec=True))
    assert (listed["name"], listed["account"], listed["masters"]) == (zone.name, 'a "b" \\', ["192.0.2.1"])
    assert listed["id"] == "qu=5C=22ote.test."
    full = json.loads(zone_object(actor, zone, with_rrsets=True))
    assert full["rrsets"][-1]["records"] == [{"content": '"a\\"b"', "disabled": False}]


@pytest.mark.parametrize(
    ("name", "type", "count"),
    [
        (None, None, 6),
        ("www.example.test.", None, 1),
        ("www.example.test.", 16, 0),
        ("example.test.", None, 3),
        ("www.elsewhere.test.", None, 0),
        (".", None, 0),
        ("test.", None, 0),
    ],
)
def test_some_rrsets_can_be_asked_for(alice: User, zone: Zone, name: str | None, type: int | None, count: int) -> None:
    actor = actor_of(alice)
    assert actor is not None
    assert len(list(stored_rows(actor, zone, name=name, type=type))) == count
