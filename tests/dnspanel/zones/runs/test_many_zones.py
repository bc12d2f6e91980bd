"""Actions on RRsets of many zones, in the draft and published directly."""

import pytest
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right, actor_of_token
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import Forbidden
from dnspanel.zones.lists import queries
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.models import Channel, Operation, Publication, Zone
from dnspanel.zones.plan import many_rrsets
from dnspanel.zones.publishing import revision, zone_patches
from dnspanel.zones.runs import many_zones
from dnspanel.zones.runs.many_zones import WideSelection, draft_outcome, publishable_patches, wide_outcome
from replication.dns.rdtypes import A
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "other.test."


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    return [
        make_zone("www 300 A 192.0.2.1", "ftp 300 A 192.0.2.2", "t 300 TXT old"),
        make_zone("www 600 A 192.0.2.1", "mail 300 MX 10 mail.example.test.", name=OTHER),
    ]


def test_what_a_search_finds_in_all_zones_goes_into_one_draft_and_one_publication(zones: list[Zone], bob: User) -> None:
    outcome = wide_outcome(
        act=many_rrsets.set_ttl(600), selection=WideSelection(search="192.0.2.1"), author=bob, now=NOW
    )
    assert (outcome.count, outcome.unchanged, outcome.refused) == (1, 1, [])
    outcome = wide_outcome(act=many_rrsets.set_ttl(60), selection=WideSelection(search="type:a"), author=bob, now=NOW)
    assert [(zone.name, change.after) for zone, change in outcome.examples(10)] == [
        ("example.test.", rr("ftp 60 A 192.0.2.2")),
        (OTHER, rr("www 60 A 192.0.2.1", origin=OTHER)),
        ("example.test.", rr("www 60 A 192.0.2.1")),
    ]
    assert len(outcome.examples(2)) == 2
    assert draft_outcome(outcome=outcome, author=bob, now=NOW) == 3
    assert [(row.zone_name, row.changed) for row in queries.draft_summary(author=bob)] == [
        ("example.test.", 2),
        (OTHER, 1),
    ]
    before = Publication.objects.count()
    revision.publish(acting=Acting(bob, Channel.WEB, NOW))
    assert Publication.objects.count() == before + 1


def test_the_draft_is_looked_at_too(zones: list[Zone], bob: User) -> None:
    example, other = zones
    draft.replace_rrset(author=bob, zone=example, rrset=rr("new 300 A 192.0.2.7"), now=NOW)
    draft.replace_rrset(author=bob, zone=example, rrset=rr("www 300 A 192.0.2.9"), now=NOW)
    draft.delete_rrset(author=bob, zone=other, name=f"www.{OTHER}", type=A, now=NOW)
    replaced = many_rrsets.replace_text("192.0.2.", "198.51.100.")
    outcome = wide_outcome(act=replaced, selection=WideSelection(search="type:a"), author=bob, now=NOW)
    assert [change.after for _, change in outcome.examples(10)] == [
        rr("ftp 300 A 198.51.100.2"),
        rr("new 300 A 198.51.100.7"),
        rr("www 300 A 198.51.100.9"),
    ]
    draft_outcome(outcome=outcome, author=bob, now=NOW)
    assert Operation.objects.count() == 4


def test_named_rrsets_and_those_that_are_nowhere(zones: list[Zone], bob: User) -> None:
    keys = (
        ("example.test.", "www.example.test.", A),
        (OTHER, f"www.{OTHER}", A),
        (OTHER, f"none.{OTHER}", A),
        (OTHER, "www.example.test.", A),
        ("none.test.", "www.none.test.", A),
    )
    outcome = wide_outcome(act=many_rrsets.switch(on=False), selection=WideSelection(keys), author=bob, now=NOW)
    assert outcome.count == 2


def test_what_is_no_value_and_what_is_not_allowed_is_named_and_the_rest_goes_on(zones: list[Zone], alice: User) -> None:
    grants = (
        Grant(frozenset({Right.READ}), everywhere=True),
        Grant(EVERY_RIGHT, zones=frozenset({zones[0].pk}), names=("ftp",)),
    )
    terms = TokenTerms("tests", grants)
    actor = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    assert actor is not None
    selection = WideSelection(search="type:a,txt")
    outcome = wide_outcome(act=many_rrsets.add_values(["192.0.2.300"]), selection=selection, author=actor, now=NOW)
    assert sum("192.0.2.300" in refused.reason for refused in outcome.refused) == 3
    outcome = wide_outcome(act=many_rrsets.set_ttl(60), selection=selection, author=actor, now=NOW)
    assert [change.after for _, change in outcome.examples(10)] == [rr("ftp 60 A 192.0.2.2")]
    assert [(refused.zone.name, refused.rrset.name) for refused in outcome.refused] == [
        ("example.test.", "t.example.test."),
        ("example.test.", "www.example.test."),
        (OTHER, f"www.{OTHER}"),
    ]


def test_who_may_only_read_changes_nothing(zones: list[Zone], charlie: User) -> None:
    with pytest.raises(Forbidden):
        wide_outcome(act=many_rrsets.delete, selection=WideSelection(search="type:a"), author=charlie, now=NOW)


def test_published_at_once_but_for_what_others_changed_meanwhile(zones: list[Zone], bob: User) -> None:
    outcome = wide_outcome(act=many_rrsets.set_ttl(60), selection=WideSelection(search="type:a"), author=bob, now=NOW)
    draft.replace_rrset(author=bob, zone=zones[0], rrset=rr("www 300 A 192.0.2.8"), now=NOW)
    revision.publish(acting=Acting(bob, Channel.WEB, NOW))
    published = zone_patches.publish_patches(patches=publishable_patches(outcome), acting=Acting(bob, Channel.API, NOW))
    changed = [change.name for plan in published.plans for change in plan.changes]
    assert sorted(changed) == ["ftp.example.test.", f"www.{OTHER}"]


def test_a_thousand_zones_cost_as_many_queries_as_two(
    zones: list[Zone], make_zone: MakeZone, bob: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        make_zone("www 300 A 192.0.2.1", name=f"z{number}.test.")
    selection = WideSelection(search="type:a")
    with django_assert_num_queries(6):
        outcome = wide_outcome(act=many_rrsets.set_ttl(60), selection=selection, author=bob, now=NOW)
    assert outcome.count == 8
    with django_assert_num_queries(7):
        draft_outcome(outcome=outcome, author=bob, now=NOW)


def test_a_search_that_says_nothing_or_is_faulty_finds_nothing(zones: list[Zone], bob: User) -> None:
    for search in ("", "type:none-such"):
        outcome = wide_outcome(act=many_rrsets.delete, selection=WideSelection(search=search), author=bob, now=NOW)
        assert outcome.count == 0


def test_more_than_can_be_changed_at_once_are_too_many(
    zones: list[Zone], bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_zones, "MOST_SELECTED", 2)
    with pytest.raises(TooMany):
        wide_outcome(act=many_rrsets.set_ttl(60), selection=WideSelection(search="type:a"), author=bob, now=NOW)
