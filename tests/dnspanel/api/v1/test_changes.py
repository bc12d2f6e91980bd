"""Tests of PATCH bodies: how each change is applied to the zone's RRsets."""

import dataclasses
from typing import Any

import pytest

from dnspanel.api.v1.changes import named_violations, read_content_of_zone, read_patch
from dnspanel.api.v1.view import Refusal
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import Zone
from dnspanel.zones.rules.violations import Severity, Violation
from replication.dns import rdtypes
from replication.dns.rrset import Notes, RRset
from tests.dnspanel.api.v1.conftest import replace
from tests.people import NOW

ZONE = Zone(pk=1, name="example.test.", serial=1)
NAME = "www.example.test."
KEY = (NAME, rdtypes.A)
CURRENT = RRset(NAME, rdtypes.A, 300, ("192.0.2.1", "192.0.2.2"), (), "a note")


def after(*rrsets: dict[str, Any], current: RRset | None = CURRENT) -> RRset | None:
    """Apply the changes to the current RRset. Return the new RRset, or None if it is removed."""
    patch = read_patch({"rrsets": list(rrsets)}, ZONE, NOW).patch
    assert patch.names == {NAME}
    return patch.decide({KEY: current} if current else {})[KEY]


def change(changetype: str, *contents: str, **more: Any) -> dict[str, Any]:
    return {**replace(NAME, "A", *contents, **more), "changetype": changetype}


def test_replace_keeps_a_comment_of_which_it_says_nothing() -> None:
    assert after(change("REPLACE", "192.0.2.9", ttl=60)) == RRset(NAME, 1, 60, ("192.0.2.9",), (), "a note")
    assert after(change("replace", "192.0.2.9", comments=[])) == RRset(NAME, 1, 300, ("192.0.2.9",))


def test_replace_with_comments_alone_keeps_the_records() -> None:
    only = {**change("REPLACE"), "records": None, "comments": [{"content": "new"}, {"content": "newer"}]}
    assert after(only) == RRset(NAME, 1, 300, CURRENT.rdata, (), "new; newer")
    assert after({**only, "comments": []}, current=None) is None


def test_delete_and_an_empty_list_remove() -> None:
    assert after({"name": NAME, "type": "A", "changetype": "DELETE"}) is None
    assert after(change("REPLACE")) is None


def test_extend_adds_one_record_and_leaves_the_rest() -> None:
    assert after(change("EXTEND", "192.0.2.3", ttl=60)) == RRset(
        NAME, 1, 300, ("192.0.2.1", "192.0.2.2", "192.0.2.3"), (), "a note"
    )
    assert after(change("EXTEND", "192.0.2.1")) == CURRENT
    without_ttl = {**change("EXTEND", "192.0.2.3"), "ttl": None}
    assert after(without_ttl, current=None) == RRset(NAME, 1, 3600, ("192.0.2.3",))


def test_prune_removes_one_record_and_the_last_one_the_rrset() -> None:
    assert after(change("PRUNE", "192.0.2.1")) == RRset(NAME, 1, 300, ("192.0.2.2",), (), "a note")
    assert after(change("PRUNE", "192.0.2.9")) == CURRENT
    assert after(change("PRUNE", "192.0.2.1"), {**change("PRUNE", "192.0.2.2"), "ttl": None}) is None


def test_several_changes_of_one_rrset_build_on_each_other() -> None:
    steps = [change("EXTEND", "192.0.2.3"), change("PRUNE", "192.0.2.1"), change("EXTEND", "192.0.2.4")]
    found = after(*steps)
    assert found is not None
    assert found.rdata == ("192.0.2.2", "192.0.2.3", "192.0.2.4")


def test_the_whole_content_removes_what_it_does_not_name() -> None:
    soa = replace("example.test.", "SOA", "ns1.test. h.test. 1 2 3 4 5")
    patch = read_content_of_zone([soa], ZONE, NOW).patch
    assert patch.names is None
    wanted = patch.decide({KEY: CURRENT})
    assert wanted[KEY] is None
    assert wanted["example.test.", rdtypes.SOA] is not None
    for rrsets, words in [([], "SOA"), ([soa, soa], "Duplicate RRset example.test. IN SOA")]:
        with pytest.raises(Refusal, match=words):
            read_content_of_zone(rrsets, ZONE, NOW)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("cname-alone", "RRset www.example.test. IN A: Conflicts with pre-existing RRset: why"),
        ("dname-beside-ns", "RRset www.example.test. IN A: Cannot have both NS and DNAME except in zone apex"),
        ("not-in-zone", "RRset www.example.test. IN A: Name is out of zone"),
        ("cname-single", "RRset www.example.test. IN A has more than one record"),
        ("lua-refused", "RRset www.example.test. IN A: why"),
    ],
)
def test_a_broken_rule_is_told_in_powerdns_words(code: str, words: str) -> None:
    note = Violation(Severity.WARNING, "ttl-low", NAME, rdtypes.TXT, "not this one")
    with pytest.raises(Refusal) as caught, named_violations():
        raise RuleViolations([note, Violation(Severity.ERROR, code, NAME, rdtypes.A, "why")])
    assert (caught.value.status, str(caught.value)) == (422, words)


def test_tags_and_comments_of_values_stay_whatever_a_client_of_powerdns_writes() -> None:
    notes = Notes(("shop",), (("192.0.2.1", "first"), ("192.0.2.2", "second")))
    now = dataclasses.replace(CURRENT, notes=notes)
    for change_ in (change("REPLACE", "192.0.2.1"), change("REPLACE", "192.0.2.1", comments=[])):
        found = after(change_, current=now)
        assert found is not None
        assert found.notes == Notes(("shop",), (("192.0.2.1", "first"),))
    found = after({**change("REPLACE"), "records": None, "comments": []}, current=now)
    assert found is not None
    assert found.notes == notes
