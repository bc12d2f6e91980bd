"""Tags and teams of many zones, and their deletion: the preview, the action, and zones left unchanged."""

import pytest
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Grant, Right, actor_of_token
from dnspanel.accounts.models import AuditEntry, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import Forbidden, MassDeletion, QuotaExceeded, SettingsRefused
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.plan import deletion_guard
from dnspanel.zones.publishing import many_settings, revision
from dnspanel.zones.publishing.many_settings import (
    Marks,
    ZoneSelection,
    change_marks,
    delete_found,
    marks_of,
    preview_deletion,
    preview_marks,
)
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = ZoneSelection(search="shop")


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    found = [make_zone("www 300 A 192.0.2.1", name=f"shop{number}.test.") for number in range(3)]
    make_zone(name="other.test.")
    Zone.objects.filter(pk=found[0].pk).update(tags=["eu", "old"])
    return list(Zone.objects.filter(name__startswith="shop").order_by("name"))


def tags() -> list[list[str]]:
    return list(Zone.objects.order_by("name").values_list("tags", flat=True))


def test_tags_are_added_and_removed_and_the_audit_log_says_what_was_before(zones: list[Zone], alice: User) -> None:
    marks = marks_of(add=["EU", "shop"], remove=["old"])
    preview = preview_marks(selection=SHOP, marks=marks, author=alice)
    assert ([zone.name for zone in preview.changed], preview.rrsets) == ([zone.name for zone in zones], 9)
    assert tags() == [[], ["eu", "old"], [], []]
    Zone.objects.filter(pk=zones[1].pk).update(tags=["meanwhile"])
    outcome = change_marks(zones=preview.changed, marks=marks, author=alice, now=NOW)
    assert len(outcome.changed) == 3
    assert tags() == [[], ["eu", "shop"], ["eu", "meanwhile", "shop"], ["eu", "shop"]]
    entry = AuditEntry.objects.get(action="zone.settings", target="shop1.test.")
    assert entry.details["tags_before"] == ["meanwhile"]
    again = preview_marks(selection=SHOP, marks=marks, author=alice)
    assert (again.changed, again.unchanged) == ([], 3)


def test_zones_go_to_a_team_and_out_of_it(zones: list[Zone], alice: User) -> None:
    team = Team.objects.create(name="web", created_at=NOW)
    change_marks(zones=zones, marks=Marks(moves=True, team=team), author=alice, now=NOW)
    assert Zone.objects.filter(team=team).count() == 3
    assert list(Zone.objects.values_list("tags", flat=True).filter(name="shop0.test.")) == [["eu", "old"]]
    change_marks(zones=zones[:1], marks=Marks(moves=True), author=alice, now=NOW)
    assert Zone.objects.filter(team=team).count() == 2
    Team.objects.filter(pk=team.pk).update(quotas={"zones": 2})
    team.refresh_from_db()
    with pytest.raises(QuotaExceeded):
        change_marks(zones=zones, marks=Marks(moves=True, team=team), author=alice, now=NOW)


def test_what_is_gone_or_not_ones_own_is_left_alone_and_told(zones: list[Zone], alice: User) -> None:
    every = frozenset({Right.READ, Right.SETTINGS, Right.DELETE_ZONE})
    grants = (
        Grant(frozenset({Right.READ}), everywhere=True),
        Grant(every, zones=frozenset({zones[0].pk, zones[1].pk})),
    )
    actor = actor_of_token(create_token(owner=alice, terms=TokenTerms("t", grants), by=alice, now=NOW).token)
    assert actor is not None
    seen = preview_marks(selection=SHOP, marks=marks_of(add=["x"]), author=actor)
    assert [zone.name for zone, _ in seen.refused] == ["shop2.test."]
    delete_found(zones=zones[:1], author=alice, channel=Channel.WEB, now=NOW)
    outcome = change_marks(zones=seen.changed, marks=marks_of(add=["x"]), author=actor, now=NOW)
    assert [zone.name for zone in outcome.changed] == ["shop1.test."]
    assert [(zone.name, reason) for zone, reason in outcome.refused] == [("shop0.test.", "The zone no longer exists.")]
    moved = preview_marks(selection=SHOP, marks=Marks(moves=True), author=actor)
    assert moved.unchanged + len(moved.refused) == 2
    team = Team.objects.create(name="web", created_at=NOW)
    with pytest.raises(SettingsRefused):
        preview_marks(selection=SHOP, marks=Marks(moves=True, team=team), author=actor)


def test_who_may_only_read_changes_nothing(zones: list[Zone], charlie: User) -> None:
    with pytest.raises(Forbidden):
        preview_marks(selection=SHOP, marks=marks_of(add=["x"]), author=charlie)
    with pytest.raises(Forbidden):
        delete_found(zones=zones, author=charlie, channel=Channel.WEB, now=NOW)


def test_deleted_in_one_publication_but_for_those_that_changed(zones: list[Zone], alice: User) -> None:
    preview = preview_deletion(selection=SHOP, author=alice)
    assert len(preview.changed) == 3
    draft.replace_rrset(author=alice, zone=zones[1], rrset=rr("www 60 A 192.0.2.9", origin=zones[1].name), now=NOW)
    revision.publish(acting=Acting(alice, Channel.WEB, NOW))
    before = Publication.objects.count()
    publication, outcome = delete_found(zones=preview.changed, author=alice, channel=Channel.WEB, now=NOW)
    assert publication is not None
    assert Publication.objects.count() == before + 1
    assert [zone.name for zone, _ in outcome.refused] == ["shop1.test."]
    assert set(Zone.objects.filter(deleted_at=None).values_list("name", flat=True)) == {"shop1.test.", "other.test."}


def test_so_many_that_somebody_must_confirm_it(zones: list[Zone], alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 2)
    with pytest.raises(MassDeletion):
        delete_found(zones=zones, author=alice, channel=Channel.WEB, now=NOW)
    publication, _ = delete_found(zones=zones, author=alice, channel=Channel.WEB, now=NOW, confirmed=True)
    assert publication is not None


def test_more_than_can_be_changed_at_once(
    zones: list[Zone], alice: User, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        preview_marks(selection=SHOP, marks=marks_of(add=["x"]), author=alice)
    with django_assert_num_queries(5):
        change_marks(zones=zones, marks=marks_of(add=["x"]), author=alice, now=NOW)
    monkeypatch.setattr(many_settings, "MOST_ZONES", 2)
    with pytest.raises(TooMany):
        preview_marks(selection=SHOP, marks=marks_of(add=["x"]), author=alice)
