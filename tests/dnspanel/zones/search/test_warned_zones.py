"""The filter `has:warning` over all zones."""

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.zones.complaints import complaints_upkeep
from dnspanel.zones.lists import queries
from dnspanel.zones.lists.rrset_pages import RRsetFilter, rrset_page
from dnspanel.zones.models import Complaint, Zone
from dnspanel.zones.publishing import many_settings
from dnspanel.zones.publishing.many_settings import ZoneSelection, marks_of
from dnspanel.zones.search import warned_zones
from dnspanel.zones.search.everywhere import rrsets_found
from dnspanel.zones.search.terms import parse
from replication.dns import rdata
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.search.conftest import CatchUp
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def mia(db: None) -> User:
    return make_person("mia", Role.MEMBER)


@pytest.fixture(params=["few zones", "many zones"])
def zones(
    request: pytest.FixtureRequest, make_zone: MakeZone, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Zone]:
    """Create zones: `bad` with complaints, `into` with one about a target in `other`, and `good` without any."""
    if request.param == "many zones":
        monkeypatch.setattr(warned_zones, "FEW_ZONES", 0)
    made = {
        "bad": make_zone("a 300 CNAME gone", "b 60 MX 10 gone", "c 60 A 192.0.2.1", name="bad.test."),
        "good": make_zone("a 300 MX 10 b", "b 300 A 192.0.2.1", name="good.test."),
        "other": make_zone(name="other.test."),
        "into": make_zone("a 300 CNAME absent.other.test.", "b 300 MX 10 mx.nowhere.test.", name="into.test."),
    }
    catch_up()
    look()
    return made


def look() -> None:
    while complaints_upkeep.catch_up(now=NOW):
        pass


def zones_found(person: User, text: str) -> list[str]:
    return [row.name.removesuffix(".test.") for row in queries.zone_page(user=person, search=text).rows]


def records_found(person: User, text: str) -> list[str]:
    found = rrsets_found(person=person, search=parse(text), now=NOW).rows
    return sorted(f"{each.rrset.name.removesuffix('.test.')} {rdata.type_to_text(each.rrset.type)}" for each in found)


@pytest.mark.usefixtures("zones")
def test_zones_and_records_with_a_warning_are_found_wherever_they_are(bob: User) -> None:
    assert zones_found(bob, "has:warning") == ["bad", "into"]
    assert zones_found(bob, "-has:warning") == ["good", "other"]
    assert records_found(bob, "has:warning") == ["a.bad CNAME", "a.into CNAME", "b.bad MX"]
    assert "a.bad CNAME" not in records_found(bob, "-has:warning")
    assert "c.bad A" in records_found(bob, "-has:warning")


@pytest.mark.usefixtures("zones")
def test_other_filters_are_about_the_same_record(bob: User) -> None:
    assert zones_found(bob, "has:warning type:mx") == ["bad"]
    assert zones_found(bob, "has:warning ttl:<100 type:a") == []
    assert zones_found(bob, "has:warning -type:a") == ["into"]
    assert zones_found(bob, "has:warning zone:int") == ["into"]
    assert records_found(bob, "has:warning type:mx") == ["b.bad MX"]
    assert records_found(bob, "has:warning -type:mx zone:bad") == ["a.bad CNAME"]


def test_what_is_the_matter_comes_with_the_record(zones: dict[str, Zone], bob: User) -> None:
    page = rrsets_found(person=bob, search=parse("has:warning type:mx"), now=NOW)
    assert "gone.bad.test." in page.rows[0].complaint
    assert page.unchecked == 0
    assert rrsets_found(person=bob, search=parse("type:mx"), now=NOW).rows[0].complaint == ""


def test_nothing_is_told_of_a_zone_that_somebody_may_not_know_about(zones: dict[str, Zone], mia: User) -> None:
    def sees(*known: str) -> None:
        GrantRow.objects.filter(user=mia).delete()
        grant = Grant(frozenset({Right.READ}), zones=frozenset(zones[name].pk for name in known))
        GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)

    sees("into", "good")
    person = User.objects.get(pk=mia.pk)
    assert zones_found(person, "has:warning") == []
    assert zones_found(person, "-has:warning") == ["good", "into"]
    assert records_found(person, "has:warning") == []
    assert "a.into CNAME" in records_found(person, "-has:warning")
    sees("into", "other")
    person = User.objects.get(pk=mia.pk)
    assert zones_found(person, "has:warning") == ["into"]
    assert records_found(person, "has:warning") == ["a.into CNAME"]


def test_changes_of_many_and_the_table_of_a_zone_take_it_too(zones: dict[str, Zone], alice: User) -> None:
    found = many_settings.preview_marks(
        selection=ZoneSelection(search="has:warning"), marks=marks_of(add=["mend"]), author=alice
    )
    assert [zone.name for zone in found.changed] == ["bad.test.", "into.test."]
    page = rrset_page(zone=zones["bad"], author=alice, filters=RRsetFilter(text="has:warning ttl:60"))
    assert [row.change.name for row in page.rows] == ["b.bad.test."]


def test_before_everything_was_looked_at_it_is_refused_and_quotes_ask_for_the_value(
    make_zone: MakeZone, bob: User, catch_up: CatchUp
) -> None:
    """An empty result would be wrong."""
    zone = make_zone("a 300 CNAME gone")
    catch_up()
    for text in ("has:warning", "-has:warning", "type:mx has:warning"):
        with pytest.raises(SearchTooGeneral, match="only 0 of 1 zones have been checked"):
            queries.zone_page(user=bob, search=text)
        with pytest.raises(SearchTooGeneral):
            rrsets_found(person=bob, search=parse(text), now=NOW)
        with pytest.raises(SearchTooGeneral):
            rrset_page(zone=zone, author=bob, filters=RRsetFilter(text=text))
    assert queries.zone_page(user=bob, search='has:"warning"').rows == ()
    look()
    assert records_found(bob, "has:warning") == ["a.example CNAME"]


def test_what_was_published_since_is_counted(zones: dict[str, Zone], make_zone: MakeZone, bob: User) -> None:
    make_zone("a 300 CNAME gone", name="new.test.")
    assert rrsets_found(person=bob, search=parse("has:warning"), now=NOW).unchecked == 1
    assert warned_zones.unchecked_zones(parse("type:mx")) == 0
    look()
    assert warned_zones.unchecked_zones(parse("has:warning")) == 0


def test_the_number_of_queries_does_not_depend_on_what_is_found(
    zones: dict[str, Zone], bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    Complaint.objects.bulk_create(
        Complaint(zone=zones["good"], owner_key=b"x%d" % number, type=1, message="x") for number in range(50)
    )
    with django_assert_max_num_queries(8):
        assert zones_found(bob, "has:warning") == ["bad", "good", "into"]
    with django_assert_max_num_queries(14):
        assert len(records_found(bob, "has:warning")) == 3
