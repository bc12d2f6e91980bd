"""Saved views: stored fields, and the rights to see and change them."""

import pytest

from dnspanel.accounts.models import AuditEntry, Membership, Role, Team, User
from dnspanel.accounts.people.list_looks import ListLook, ListName
from dnspanel.zones.errors import ViewRefused, ViewUnknown
from dnspanel.zones.lists import saved_views
from dnspanel.zones.lists.saved_views import change_view, delete_view, look_of_view, save_view, view_for, visible_views
from dnspanel.zones.models import SavedView, ViewPage, Zone
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person


@pytest.fixture
def team(bob: User) -> Team:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    Membership.objects.create(team=team, user=bob, role="editor")
    return team


def save(person: User, name: str = "Late", page: ViewPage = ViewPage.ZONES, **more: object) -> SavedView:
    given: dict[str, object] = {"terms": {"q": "sync:late"}, **more}
    return save_view(person=person, page=page, name=name, now=NOW, **given)  # type: ignore[arg-type]


def names(person: User) -> list[str]:
    return [view.name for view in visible_views(person)]


def test_a_view_keeps_what_the_page_asks_for_and_nothing_else(bob: User) -> None:
    terms = {"q": " sync:late ", "sort": "-changed", "after": "x", "in": "draft", "type": ""}
    assert save(bob, " Late  ones ", terms=terms).terms == {"q": "sync:late", "sort": "-changed"}
    assert save(bob, page=ViewPage.RECORDS, terms=terms).terms == {"q": "sync:late", "in": "draft", "sort": "-changed"}
    assert save(bob, page=ViewPage.SEARCH, terms=terms).terms == {"q": "sync:late"}
    assert names(bob) == ["Late", "Late", "Late ones"]
    [first, *_] = AuditEntry.objects.filter(action="view.save").order_by("pk")
    assert (first.target, first.details["terms"]) == ("Late ones", {"q": "sync:late", "sort": "-changed"})


@pytest.mark.parametrize(
    ("name", "terms"),
    [("", {"q": "x"}), ("x" * 61, {"q": "x"}), ("a\0b", {"q": "x"}), ("LATE", {"q": "x"}), ("New", {"after": "x"})],
)
def test_what_cannot_be_saved_is_refused(bob: User, name: str, terms: dict[str, str]) -> None:
    save(bob)
    with pytest.raises(ViewRefused):
        save(bob, name, terms=terms)
    assert names(bob) == ["Late"]


def test_a_person_has_a_bounded_number_of_views(bob: User, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_views, "MOST_VIEWS", 1)
    save(bob)
    with pytest.raises(ViewRefused, match="at most"):
        save(bob, "Another")
    save(alice)


def test_a_team_sees_what_a_member_shares_and_only_its_owner_changes_it(
    bob: User, alice: User, charlie: User, team: Team
) -> None:
    view = save(bob)
    Membership.objects.create(team=team, user=charlie, role="reader")
    assert names(charlie) == []
    change_view(person=bob, view=view, name="Late", team=team, now=NOW)
    assert names(charlie) == ["Late"]
    assert names(alice) == []
    with pytest.raises(ViewUnknown):
        view_for(alice, view.pk)
    for change in (
        lambda: change_view(person=charlie, view=view, name="Mine", team=None, now=NOW),
        lambda: delete_view(person=charlie, view=view, now=NOW),
    ):
        with pytest.raises(ViewUnknown):
            change()
    with pytest.raises(ViewRefused, match="your own teams"):
        save(alice, team=team)
    bob.is_active = False
    bob.save()
    assert names(charlie) == []
    delete_view(person=bob, view=view, now=NOW)
    assert not SavedView.objects.exists()
    acts = AuditEntry.objects.filter(action__startswith="view.").order_by("pk").values_list("action", flat=True)
    assert list(acts) == ["view.save", "view.change", "view.delete"]


def test_a_view_of_a_zone_is_seen_by_who_sees_the_zone(bob: User, team: Team, make_zone: MakeZone) -> None:
    zone = make_zone()
    mia = make_person("mia", Role.MEMBER)
    Membership.objects.create(team=team, user=mia, role="reader")
    save(bob, page=ViewPage.RECORDS, zone=zone, team=team)
    save(bob, "Everywhere", page=ViewPage.RECORDS, team=team)
    assert names(mia) == ["Everywhere"]
    Zone.objects.filter(pk=zone.pk).update(team=team)
    assert names(mia) == ["Everywhere", "Late"]


def test_columns_of_a_view_go_before_a_persons_own(bob: User) -> None:
    own = ListLook(ListName.ZONES, frozenset({"serial"}))
    assert look_of_view(save(bob), own) == own
    kept = ListLook(ListName.ZONES, frozenset({"author", "dnssec"}), dense=True)
    assert look_of_view(save(bob, "With columns", look=kept), own) == kept
