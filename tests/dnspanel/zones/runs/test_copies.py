"""Records copied to another zone: names are adapted, and existing records are kept, replaced or merged."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists.rrset_pages import EVERYTHING
from dnspanel.zones.lists.selection import Selection
from dnspanel.zones.models import Zone
from dnspanel.zones.runs.copies import Copies, Existing, copies_of
from replication.dns.rrset import RRset
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

OTHER = "other.test."


@pytest.fixture
def source(make_zone: MakeZone) -> Zone:
    return make_zone(
        "www 300 A 192.0.2.1 | 192.0.2.2",
        "shop 300 CNAME www",
        "same 60 A 192.0.2.7",
        "sub 60 NS ns1.example.net.",
        "sub 60 DS 1 13 2 " + "ab" * 32,
    )


@pytest.fixture
def target(make_zone: MakeZone) -> Zone:
    return make_zone(
        "www 600 A 192.0.2.2 | 192.0.2.3", "shop 300 CNAME elsewhere.example.net.", "same 60 A 192.0.2.7", name=OTHER
    )


def copy_all(source: Zone, target: Zone, author: User, existing: Existing) -> Copies:
    return copies_of(
        selection=Selection(filters=EVERYTHING), source=source, target=target, author=author, existing=existing
    )


def other(line: str) -> RRset:
    return rr(line, origin=OTHER)


def test_what_stands_there_is_skipped_replaced_or_merged(source: Zone, target: Zone, bob: User) -> None:
    skipped = copy_all(source, target, bob, Existing.SKIP)
    assert list(skipped.afters.values()) == [other("sub 60 NS ns1.example.net.")]
    # The zone's own SOA and NS, and the DS.
    assert (skipped.unchanged, skipped.kept, skipped.left_out) == (1, 2, 3)
    replaced = copy_all(source, target, bob, Existing.REPLACE)
    assert replaced.afters["www.other.test.", 1] == other("www 300 A 192.0.2.1 | 192.0.2.2")
    assert replaced.afters["shop.other.test.", 5] == other("shop 300 CNAME www")
    merged = copy_all(source, target, bob, Existing.MERGE)
    assert merged.afters["www.other.test.", 1] == other("www 600 A 192.0.2.1 | 192.0.2.2 | 192.0.2.3")
    assert [(each.rrset.name, each.reason) for each in merged.refused] == [
        ("shop.other.test.", "this record type can only have one value, so the values can’t be merged")
    ]


def test_the_drafts_of_both_zones_count(source: Zone, target: Zone, bob: User) -> None:
    draft.replace_rrset(author=bob, zone=source, rrset=rr("new 60 A 192.0.2.8"), now=NOW)
    draft.delete_rrset(author=bob, zone=target, name="same.other.test.", type=1, now=NOW)
    afters = copy_all(source, target, bob, Existing.SKIP).afters
    assert afters["new.other.test.", 1] == other("new 60 A 192.0.2.8")
    assert afters["same.other.test.", 1] == other("same 60 A 192.0.2.7")


def test_what_the_author_may_not_change_there_is_refused(source: Zone, target: Zone) -> None:
    mia = make_person("mia", Role.MEMBER)
    for grant in (
        Grant(frozenset({Right.READ}), zones=frozenset({source.pk})),
        Grant(frozenset({Right.READ, Right.ADD}), zones=frozenset({target.pk})),
    ):
        GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    copies = copy_all(source, target, mia, Existing.REPLACE)
    assert list(copies.afters) == [("sub.other.test.", 2)]
    assert {each.rrset.name for each in copies.refused} == {"www.other.test.", "shop.other.test."}
