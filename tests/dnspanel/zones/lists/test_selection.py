"""Selected RRsets, and the preview of an action on them."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import selection
from dnspanel.zones.lists.rrset_pages import RRsetFilter
from dnspanel.zones.lists.selection import Selection, TooMany, outcome_of
from dnspanel.zones.plan import many_rrsets
from replication.dns.rdtypes import SOA, A
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW

pytestmark = pytest.mark.django_db


def test_all_that_the_filter_finds_is_changed_page_by_page(
    bob: User, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_PAGE", 3)
    zone = make_zone(*(f"h{n} 300 A 192.0.2.{n}" for n in range(1, 9)), "t 300 TXT x")
    everything = Selection(filters=RRsetFilter(types=frozenset({A})))
    outcome = outcome_of(act=many_rrsets.set_ttl(60), selection=everything, zone=zone, author=bob)
    assert [change.after for change in outcome.changes] == [rr(f"h{n} 60 A 192.0.2.{n}") for n in range(1, 9)]
    assert (outcome.unchanged, outcome.refused) == (0, [])


def test_what_the_draft_has_is_what_is_changed(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.2")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("a 300 A 192.0.2.9"), now=NOW)
    draft.delete_rrset(author=bob, zone=zone, name="b.example.test.", type=A, now=NOW)
    keys = (("a.example.test.", A), ("b.example.test.", A), ("none.example.test.", A), ("other.test.", A))
    outcome = outcome_of(act=many_rrsets.set_ttl(60), selection=Selection(keys), zone=zone, author=bob)
    assert [change.after for change in outcome.changes] == [rr("a 60 A 192.0.2.9")]
    draft.change_rrsets(author=bob, zone=zone, afters=outcome.afters, now=NOW)
    assert sorted(op.name for op in draft.operations_of(bob)) == ["a.example.test.", "b.example.test."]


def test_what_cannot_be_is_refused_and_the_rest_goes_on(bob: User, charlie: User, make_zone: MakeZone) -> None:
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.255")
    keys = (("a.example.test.", A), ("b.example.test.", A), ("example.test.", SOA))
    replaced = many_rrsets.replace_text("192.0.2.1", "192.0.2.256")
    outcome = outcome_of(act=replaced, selection=Selection(keys), zone=zone, author=bob)
    assert [refused.rrset for refused in outcome.refused] == [rr("a 300 A 192.0.2.1")]
    assert outcome.unchanged == 2
    stranger = outcome_of(act=many_rrsets.set_ttl(60), selection=Selection(keys[:2]), zone=zone, author=charlie)
    assert (stranger.changes, len(stranger.refused)) == ([], 2)


def test_more_than_a_draft_may_hold_are_too_many(
    bob: User, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "MOST_SELECTED", 3)
    zone = make_zone(*(f"h{n} 300 A 192.0.2.{n}" for n in range(1, 9)))
    with pytest.raises(TooMany):
        outcome_of(act=many_rrsets.set_ttl(60), selection=Selection(filters=RRsetFilter()), zone=zone, author=bob)
