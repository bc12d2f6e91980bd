"""Tests of the right to consume catalogs, and of the terms.

Tests `catalogs.access`, `catalogs.errors` and `catalogs.signals` too.
"""

from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, Role, Team, User
from dnspanel.catalogs import access, set_up_catalogs
from dnspanel.catalogs.errors import CatalogRefused, CatalogUnknown
from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.catalogs.set_up_catalogs import CatalogTerms, RuleTerms
from dnspanel.catalogs.signals import due
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.primaries.errors import PrimariesRefused
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Forbidden
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.catalogs.conftest import FIRST, KEY, follow_one
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_may_not_set_nodes_up_or_delete_zones_follows_nothing(alice: User, charlie: User) -> None:
    editor = make_person("ed", Role.EDITOR)
    for person in (charlie, editor):
        assert not access.may_set_up(person)
        with pytest.raises(Forbidden):
            follow_one(person)
    catalog = follow_one(alice)
    assert access.catalog_for(charlie, catalog.pk) == catalog, "who sees nodes sees it"
    with pytest.raises(CatalogUnknown):
        access.catalog_for(alice, catalog.pk + 1)
    for act in (
        lambda: set_up_catalogs.change_catalog(catalog=catalog, terms=CatalogTerms(), author=editor, now=NOW),
        lambda: set_up_catalogs.set_rules(catalog=catalog, rules=[], author=editor, now=NOW),
        lambda: set_up_catalogs.confirm_removals(catalog=catalog, revision=1, author=editor, now=NOW),
        lambda: set_up_catalogs.unfollow_catalog(catalog=catalog, author=editor, channel=Channel.WEB, now=NOW),
    ):
        with pytest.raises(Forbidden):
            act()


def test_one_is_a_zone_that_waits_for_its_first_transfer_and_the_audit_log_has_no_secret(alice: User) -> None:
    catalog = follow_one(alice, tags=["partner"], within=["Example.TEST"])
    assert (catalog.zone.is_catalog, catalog.zone.is_served) == (True, False)
    assert (catalog.tags, catalog.within) == (["partner"], ["example.test."])
    assert TransferredZone.objects.get(pk=catalog.pk).due_at == NOW
    entry = AuditEntry.objects.get(action="catalog.follow")
    assert (entry.target, entry.details["most_lost"]) == (FIRST, 20)
    rules = [RuleTerms("gold", None, (), Terms(["9.9.9.9"], **KEY))]
    set_up_catalogs.set_rules(catalog=catalog, rules=rules, author=alice, now=NOW)
    assert KEY["tsig_secret"] not in str(list(AuditEntry.objects.values("details")))


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"team": 4711}, "team"),
        ({"tags": ["no tag!"]}, "tags"),
        ({"within": ["a..b"]}, "within"),
        ({"within": ["test"] * 33}, "within"),
        ({"most_members": 0}, "most_members"),
        ({"most_members": 100_001}, "most_members"),
        ({"most_lost": 101}, "most_lost"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(terms: dict[str, Any], field: str, alice: User) -> None:
    with pytest.raises(CatalogRefused) as refused:
        follow_one(alice, **terms)
    assert list(refused.value.fields) == [field]
    assert not Zone.objects.exists()


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ([RuleTerms("")], "group"),
        ([RuleTerms("a" * 256)], "group"),
        ([RuleTerms("a"), RuleTerms("a")], "group"),
        ([RuleTerms("a", 4711)], "team"),
        ([RuleTerms("a", primaries=Terms(["127.0.0.1"]))], "addresses"),
        ([RuleTerms("a", primaries=Terms(["9.9.9.9"], "key.test"))], "tsig_secret"),
        ([RuleTerms(str(number)) for number in range(17)], "rules"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_at_its_field(rules: list[RuleTerms], field: str, alice: User) -> None:
    catalog = follow_one(alice)
    with pytest.raises(CatalogRefused) as refused:
        set_up_catalogs.set_rules(catalog=catalog, rules=rules, author=alice, now=NOW)
    assert list(refused.value.fields) == [field]


def test_primaries_that_cannot_be_are_refused_and_so_are_too_many_catalogs(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PrimariesRefused):
        follow_one(alice, source=Terms(["127.0.0.1"]))
    monkeypatch.setattr(set_up_catalogs, "MOST", 1)
    follow_one(alice)
    with pytest.raises(CatalogRefused, match="can have at most"):
        follow_one(alice, "another.catalog.test.")


def test_a_secret_that_is_not_given_stays_as_the_rule_of_the_group_has_it(alice: User) -> None:
    catalog = follow_one(alice)
    with_key = RuleTerms("gold", primaries=Terms(["9.9.9.9"], **KEY))
    [before] = set_up_catalogs.set_rules(catalog=catalog, rules=[with_key], author=alice, now=NOW)
    without = RuleTerms("gold", primaries=Terms(["9.9.9.10"], "transfer"))
    [after] = set_up_catalogs.set_rules(catalog=catalog, rules=[without], author=alice, now=NOW)
    assert (after.addresses, bytes(after.tsig_secret or b"")) == (["9.9.9.10"], bytes(before.tsig_secret or b""))


def test_a_change_wakes_a_worker_and_is_in_the_audit_log(alice: User) -> None:
    catalog, woken = follow_one(alice), []
    team = Team.objects.create(name="Partners", created_at=NOW)

    def wake(**_: Any) -> None:
        woken.append(True)

    due.connect(wake)
    try:
        set_up_catalogs.change_catalog(catalog=catalog, terms=CatalogTerms(team.pk), author=alice, now=NOW)
    finally:
        due.disconnect(wake)
    assert woken == [True]
    entry = AuditEntry.objects.get(action="catalog.change")
    assert (entry.details["before"]["team"], entry.details["after"]["team"]) == ("", "Partners")
    assert set_up_catalogs.terms_of(Catalog.objects.get()) == CatalogTerms(team.pk)


def test_followed_no_more_its_members_stay_as_they_are(alice: User) -> None:
    catalog = follow_one(alice)
    primaries.create_transferred_zone(
        name="member.test.", terms=Terms(["9.9.9.9"]), acting=Acting(alice, Channel.WEB, NOW)
    )
    member = Zone.objects.get(name="member.test.")
    Listing.objects.create(
        catalog=catalog, zone=member, zone_name=member.name, label="a", state=State.MEMBER, since=NOW
    )
    set_up_catalogs.unfollow_catalog(catalog=catalog, author=alice, channel=Channel.WEB, now=NOW)
    assert not Catalog.objects.exists()
    assert list(Zone.objects.filter(deleted_at=None)) == [member]
    assert AuditEntry.objects.get(action="catalog.unfollow").details["members"] == 1
    with pytest.raises(CatalogUnknown):
        set_up_catalogs.change_catalog(catalog=catalog, terms=CatalogTerms(), author=alice, now=NOW)
