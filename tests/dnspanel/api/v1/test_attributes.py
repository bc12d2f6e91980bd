"""Tests of the zone attributes that clients set in addition to the records."""

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1.attributes import attributes_of, comment_text, comments_in_full, keep_attributes, keep_comments
from dnspanel.zones.errors import SettingsRefused
from dnspanel.zones.models import Zone
from dnspanel.zones.values.soa import SoaEdit
from tests.people import NOW

COMMENT = {"account": "me", "content": "two\n words", "modified_at": 7}


def test_of_a_zone_of_which_nobody_said_anything_powerdns_says_this(zone: Zone) -> None:
    facts = attributes_of(zone)
    assert (facts.kind, facts.account, facts.masters) == ("Native", "", [])
    assert not PowerdnsZone.objects.exists()


def test_what_is_said_is_kept_and_audited_once(zone: Zone, alice: User) -> None:
    for _ in range(2):
        keep_attributes(zone=zone, attributes={"kind": "Master", "account": "me"}, by=alice, now=NOW)
    keep_attributes(zone=zone, attributes={"kind": "Master"}, by=alice, now=NOW)
    found = attributes_of(Zone.objects.select_related("powerdns").get(pk=zone.pk))
    assert (found.kind, found.account) == ("Master", "me")
    [entry] = AuditEntry.objects.filter(action="zone.facts")
    assert entry.target == zone.name


def test_how_the_serial_moves_is_kept_with_the_zone(zone: Zone, alice: User) -> None:
    for _ in range(2):
        keep_attributes(zone=zone, attributes={"soa_edit_api": "epoch", "account": "me"}, by=alice, now=NOW)
    zone.refresh_from_db()
    assert zone.soa_edits == SoaEdit("epoch", "")
    assert AuditEntry.objects.filter(action="zone.serials").count() == 1
    with pytest.raises(
        SettingsRefused, match=r"soa_edit_api can’t be OFF\. Leave it empty or choose .*: DEFAULT, INCREASE"
    ):
        keep_attributes(zone=zone, attributes={"soa_edit_api": "OFF", "account": "you"}, by=alice, now=NOW)
    assert PowerdnsZone.objects.get().account == "me"


def test_comments_hold_while_the_text_says_the_same(zone: Zone) -> None:
    key = ("www.example.test.", 1)
    keep_comments(zone=zone, comments={key: [COMMENT]})
    facts = attributes_of(Zone.objects.get(pk=zone.pk))
    assert comments_in_full(facts, *key, "two words", 9) == [COMMENT]
    assert comments_in_full(facts, *key, "changed since", 9) == [
        {"account": "", "content": "changed since", "modified_at": 9}
    ]
    assert comments_in_full(facts, *key, "", 9) == []
    keep_comments(zone=Zone.objects.get(pk=zone.pk), comments={key: []})
    assert PowerdnsZone.objects.get().comments == {}


def test_forgetting_what_nobody_said_writes_nothing(zone: Zone) -> None:
    keep_comments(zone=zone, comments={("www.example.test.", 1): []})
    assert not PowerdnsZone.objects.exists()


def test_several_comments_are_one_line_of_text() -> None:
    assert comment_text([COMMENT, {"content": "two words"}, {"content": ""}, {"content": "x"}]) == "two words; x"
