"""The audit log's stream of acts: both sources in one order, stable pages, and only acts that the reader may see."""

from datetime import timedelta

import pytest

from dnspanel.accounts.actors.actors import Actor, Permission, actor_of, actor_of_token
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.audit import audit_links, audit_trail
from dnspanel.zones.audit.audit_trail import Act, Filters, Place, ValueChange, act_of, acts_page, rrset_changes
from dnspanel.zones.settings.settings_of_zone import change_settings
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db


def acting(user: User) -> Actor:
    actor = actor_of(user)
    assert actor is not None
    return actor


def token_of(owner: User, permission: Permission) -> Actor:
    terms = TokenTerms("watch", permissions=frozenset({permission}))
    actor = actor_of_token(create_token(owner=owner, terms=terms, by=owner, now=NOW).token)
    assert actor is not None
    return actor


def told(acts: list[Act]) -> list[str]:
    return [f"{act.user} {act.action} {act.target}" for act in acts]


@pytest.fixture
def eventful(make_zone: MakeZone, bob: User, alice: User) -> None:
    for minutes in (-2, 1, 3):
        at = NOW + timedelta(minutes=minutes)
        audit.record(action="team.create", by=bob, now=at, target=f"team at {minutes}")
    make_zone(name="one.test.")
    audit.record(action="token.create", by=alice, now=NOW + timedelta(minutes=4), target="CI")


@pytest.mark.usefixtures("eventful")
def test_entries_and_publications_come_in_one_order_the_newest_first(alice: User) -> None:
    acts, more = acts_page(acting(alice), filters=Filters())
    assert told(acts) == [
        "alice token.create CI",
        "bob team.create team at 3",
        "bob team.create team at 1",
        "alice publish one.test.",
        "bob team.create team at -2",
    ]
    assert more is None


@pytest.mark.usefixtures("eventful")
def test_pages_join_without_gap_or_repetition_though_more_happens_meanwhile(alice: User, bob: User) -> None:
    complete, _ = acts_page(acting(alice), filters=Filters())
    joined: list[Act] = []
    place: Place | None = Place()
    while place is not None:
        page, place = acts_page(acting(alice), filters=Filters(), after=place, limit=2)
        assert 1 <= len(page) <= 2
        joined += page
        audit.record(action="team.create", by=bob, now=NOW + timedelta(hours=1), target="later")
    assert joined == complete


@pytest.mark.usefixtures("eventful")
def test_filters_narrow_both_sources(alice: User) -> None:
    def found(**filters: object) -> list[str]:
        return [act.action for act in acts_page(acting(alice), filters=Filters(**filters))[0]]  # type: ignore[arg-type]

    assert found(action="publish") == ["publish"]
    assert found(action="token.create") == ["token.create"]
    assert found(action="team.") == ["team.create"] * 3
    assert found(user="BOB") == ["team.create"] * 3
    assert found(since=NOW + timedelta(minutes=2)) == ["token.create", "team.create"]
    assert found(until=NOW) == ["team.create"]
    assert found(action="nonsense") == []


@pytest.mark.usefixtures("eventful")
def test_who_may_not_read_the_log_sees_their_own_acts_and_a_token_its_own(alice: User, bob: User) -> None:
    assert {act.user for act in acts_page(acting(bob), filters=Filters())[0]} == {"bob"}
    assert acts_page(acting(bob), filters=Filters(user="alice"))[0] == []
    assert acts_page(token_of(alice, Permission.FLEET), filters=Filters())[0] == []
    assert len(acts_page(token_of(alice, Permission.AUDIT), filters=Filters())[0]) >= 5


def test_a_publication_over_many_zones_names_none_and_counts_them(
    alice: User, make_zone: MakeZone, django_assert_max_num_queries: object
) -> None:
    from dnspanel.zones.models import Publication, Revision, RevisionKind

    zones = [make_zone(name=f"z{number}.test.") for number in range(5)]
    newest = Publication.objects.latest("sequence")
    Revision.objects.bulk_create(
        Revision(zone=zone, number=2, publication=newest, kind=RevisionKind.CHANGE, serial=1) for zone in zones[:4]
    )
    with django_assert_max_num_queries(5):  # type: ignore[operator]
        acts, _ = acts_page(acting(alice), filters=Filters(action="publish"))
    assert acts[0].target == "5 more"
    assert acts[0].details["zones"] == 5
    assert acts[1].target == "z3.test."


def test_publications_say_from_where_they_came_and_are_found_by_all_that_the_list_shows(
    alice: User, make_zone: MakeZone
) -> None:
    """Previously publications had no address and no request id, and a search found them only by reason."""
    with audit.coming_from(audit.Origin("192.0.2.7", "req-1")):
        make_zone(name="shop.test.")
    make_zone(name="xn--bcher-kva.test.")
    audit.record(action="team.add", by=alice, now=NOW, target="Web", person="carla", role="editor")

    def found(*texts: str, address: str = "") -> list[str]:
        filters = Filters(texts=texts, address=address)
        return [act.target for act in acts_page(acting(alice), filters=filters)[0]]

    assert found("shop") == found("SHOP.te") == found("req-1") == found(address="192.0.2.") == ["shop.test."]
    assert found("bücher.test") == ["bücher.test."]
    assert found("carla") == found("editor") == ["Web"]
    assert found("publish") == found("alice", "web", "publ") == ["bücher.test.", "shop.test."]
    assert found("alice", "shop") == ["shop.test."]
    assert found("nonsense") == []
    [act] = acts_page(acting(alice), filters=Filters(texts=("shop",)))[0]
    assert (act.address, act.request_id) == ("192.0.2.7", "req-1")


def test_many_zones_with_a_word_are_not_looked_up_one_by_one(
    alice: User, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_trail, "_FEW_ZONES", 1)
    for number in range(3):
        make_zone(name=f"shop{number}.test.")
    make_zone(name="other.test.")
    acts, _ = acts_page(acting(alice), filters=Filters(texts=("shop",)))
    assert [act.target for act in acts] == ["shop2.test.", "shop1.test.", "shop0.test."]


def test_one_act_has_what_changed_and_its_place_in_the_chain(alice: User, bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    change_settings(zone=zone, tags=["shop"], team=None, author=alice, now=NOW)
    audit_links.link_new_acts()
    [entry], _ = acts_page(acting(alice), filters=Filters(action="zone."))
    act = act_of(acting(alice), kind="entry", id=entry.id)
    assert act == entry
    assert ValueChange("tags", [], ["shop"]) in entry.changes
    assert (entry.number, len(entry.hash)) == (1, 64)
    assert act_of(acting(bob), kind="entry", id=entry.id) is None
    assert act_of(acting(alice), kind="publication", id=10**6) is None


def test_the_changes_of_a_publication_are_those_of_zones_that_the_reader_sees(
    alice: User, charlie: User, make_zone: MakeZone
) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    rrset = rr("www 60 A 192.0.2.2")
    publication = change_rrsets(
        zone=zone, changes={(rrset.name, rrset.type): rrset}, author=alice, channel="web", now=NOW
    )
    assert publication is not None
    [change] = rrset_changes(acting(alice), publication.sequence, 10)
    assert (change.name, change.before["ttl"], change.after["ttl"]) == ("www.example.test.", 300, 60)
    User.objects.filter(pk=charlie.pk).update(role=Role.MEMBER)
    charlie.refresh_from_db()
    assert rrset_changes(acting(charlie), publication.sequence, 10) == []
