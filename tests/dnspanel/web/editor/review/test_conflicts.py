"""The display of a conflict: three versions, two of them in an editable form."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.web.editor.review.conflicts import display_conflicts
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import revision
from replication.dns.rrset import RRset
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "shop 300 CNAME www")


def clash(zone: Zone, bob: User, alice: User, mine: RRset | None, theirs: RRset | None):
    """Change an RRset in Bob's draft, and publish another change to it as Alice."""
    shape = mine or theirs
    assert shape is not None
    key = (shape.name, shape.type)
    if mine is None:
        draft.delete_rrset(author=bob, zone=zone, name=key[0], type=key[1], now=NOW)
    else:
        draft.replace_rrset(author=bob, zone=zone, rrset=mine, now=NOW)
    change_rrsets(zone=zone, changes={key: theirs}, author=alice, channel=Channel.WEB, now=NOW, reason="OPS-1")
    [plan] = revision.preview(author=bob)
    [display] = display_conflicts(plan.zone, plan.conflicts, None, 0)
    return display


def test_the_three_sides_and_who_published_theirs(zone: Zone, alice: User, bob: User) -> None:
    display = clash(zone, bob, alice, rr("www 300 A 192.0.2.1 | 192.0.2.50"), rr("www 60 A 192.0.2.1 | 192.0.2.60"))
    base, theirs, mine = display.sides
    assert [value.text for value in base.values] == ["192.0.2.1"]
    assert [value.text for value in theirs.values] == ["192.0.2.1", "192.0.2.60"]
    assert [value.text for value in mine.values] == ["192.0.2.1", "192.0.2.50"]
    assert theirs.by is not None
    assert (theirs.by.author, theirs.by.number, theirs.by.reason) == ("alice", 2, "OPS-1")
    assert display.can_take_both


def test_the_form_begins_with_the_values_of_both(zone: Zone, alice: User, bob: User) -> None:
    theirs = rr("www 300 A 192.0.2.1 | 192.0.2.60", disabled=("192.0.2.60",))
    display = clash(zone, bob, alice, rr("www 300 A 192.0.2.1 | 192.0.2.50"), theirs)
    assert str(display.form["values"].value()).splitlines() == ["192.0.2.1", "192.0.2.50", "; 192.0.2.60"]


def test_a_side_that_deleted_it_says_so_and_there_is_no_both(zone: Zone, alice: User, bob: User) -> None:
    display = clash(zone, bob, alice, rr("www 300 A 192.0.2.50"), None)
    assert display.sides[1].rrset is None
    assert not display.can_take_both


def test_two_targets_of_one_cname_cannot_both_stay(zone: Zone, alice: User, bob: User) -> None:
    display = clash(zone, bob, alice, rr("shop 300 CNAME a.example.net."), rr("shop 300 CNAME b.example.net."))
    assert not display.can_take_both
