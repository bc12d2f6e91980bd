"""The list of all publications: filters, pages, and only zones that the reader can see."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.log import publications
from dnspanel.zones.log.publications import PublicationFilters, publication_page
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person
from tests.publishing import change_rrsets


def publish(zone: Zone, author: User, number: int, channel: Channel = Channel.WEB) -> None:
    """Publish a change to www, `number` minutes after NOW."""
    rrset = rr(f"www 300 A 192.0.2.{number}", origin=zone.name)
    now = NOW + timedelta(minutes=number)
    change_rrsets(zone=zone, changes={(rrset.name, 1): rrset}, author=author, channel=channel, now=now, reason="why")


@pytest.fixture
def zones(make_zone: MakeZone, alice: User, bob: User) -> list[Zone]:
    """Create three zones as Alice. Change each three times, alternately as Bob through the API and as Alice."""
    found = [make_zone("www 300 A 192.0.2.250", name=f"{name}.test.") for name in ("one", "two", "three")]
    for number in range(1, 10):
        author, channel = ((bob, Channel.API), (alice, Channel.WEB))[number % 2]
        publish(found[number % 3], author, number, channel)
    return found


def pages(person: User, filters: PublicationFilters = publications.EVERYBODY, limit: int = 4) -> list[str]:
    """Return one text per publication of all pages, in order."""
    found, before = [], None
    for _ in range(20):
        page = publication_page(person=person, filters=filters, before=before, limit=limit)
        found += [f"{row.by} {row.channel} {','.join(row.named)} {row.kind or row.changed}" for row in page.rows]
        before = page.next_before
        if before is None:
            return found
    raise AssertionError("there is always a next page")


def test_all_are_listed_newest_first_whatever_the_size_of_a_page(zones: list[Zone], bob: User) -> None:
    found = pages(bob)
    assert found[:2] == ["alice web one.test. 1", "bob api three.test. 1"]
    assert found[-1] == "alice web one.test. created"
    assert len(found) == 12
    assert pages(bob, limit=1) == pages(bob, limit=50) == found


def test_only_zones_that_one_may_see_are_told(zones: list[Zone], alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    member = make_person("mia", Role.MEMBER)
    assert pages(member) == []
    grant = Grant(frozenset({Right.READ}), zones=frozenset({zones[1].pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    mia = User.objects.get(pk=member.pk)
    assert {line.split()[2] for line in pages(mia)} == {"two.test."}
    assert len(pages(mia)) == 4
    both = [edit.ZoneToDelete(zone) for zone in zones[:2]]
    edit.delete_zones(zones=both, acting=Acting(alice, Channel.WEB, NOW + timedelta(hours=1)), confirmed=True)
    assert pages(mia)[0] == "alice web two.test. deleted"  # this publication also deleted one.test.
    monkeypatch.setattr(publications, "MOST_LOOKED_THROUGH", 2)
    assert len(pages(mia)) == 5


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (PublicationFilters(author="BOB"), 4),
        (PublicationFilters(author="nobody"), 0),
        (PublicationFilters(channel="api"), 4),
        (PublicationFilters(zone="two.test"), 4),
        (PublicationFilters(zone="TWO.test.", author="bob"), 1),
        (PublicationFilters(zone="none.test."), 0),
        (PublicationFilters(zone="a..b"), 0),
        (PublicationFilters(since=NOW + timedelta(minutes=7)), 3),
        (PublicationFilters(until=NOW + timedelta(minutes=2)), 4),
        (PublicationFilters(since=NOW + timedelta(minutes=2), until=NOW + timedelta(minutes=5)), 3),
        (PublicationFilters(since=NOW + timedelta(days=2)), 0),
        (PublicationFilters(until=NOW - timedelta(days=2)), 0),
    ],
)
def test_filters(zones: list[Zone], bob: User, filters: PublicationFilters, count: int) -> None:
    assert len(pages(bob, filters)) == count


def test_a_rare_author_is_looked_for_step_by_step(
    zones: list[Zone], bob: User, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publications, "MOST_LOOKED_THROUGH", 5)
    filters = PublicationFilters(author="alice")
    first = publication_page(person=bob, filters=filters)
    assert len(first.rows) < 8
    assert first.looked_until is not None
    assert pages(bob, filters) == [line for line in pages(bob) if line.startswith("alice ")]


def test_a_page_takes_a_fixed_number_of_queries(zones: list[Zone], bob: User) -> None:
    with CaptureQueriesContext(connection) as few:
        publication_page(person=bob, limit=2)
    with CaptureQueriesContext(connection) as many:
        publication_page(person=bob, limit=50)
    assert len(many) <= len(few) <= 5


def test_many_zones_of_one_publication_are_counted(alice: User) -> None:
    new = [edit.NewZone(name=f"z{number}.test.") for number in range(5)]
    edit.create_zones(zones=new, acting=Acting(alice, Channel.WEB, NOW))
    [row] = publication_page(person=alice).rows
    assert (row.zones, row.named, row.more, row.kind) == (5, (), 5, "")
