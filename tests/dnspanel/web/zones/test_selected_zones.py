"""Changes to many zones: ticked or found, then previewed, then applied."""

import re

import pytest

from dnspanel.accounts.models import Team, User
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

MANY = "/zones/many/"
SHOPS = {"all": "1", "q": "shop"}


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    return [make_zone("www 300 A 192.0.2.1", name=f"{name}.test.") for name in ("shop1", "shop2", "other")]


def seen_in(page: str) -> str:
    found = re.search(r'name="seen" value="([0-9a-f]+)"', page)
    assert found
    return found[1]


def confirmed(client: object, data: dict[str, str], **more: str) -> str:
    """Open the preview, confirm it, and return the resulting page."""
    page = client.post(MANY, data).content.decode()  # type: ignore[attr-defined]
    sent = {**data, **more, "preview": "1", "seen": seen_in(page)}
    return str(client.post(MANY, sent, follow=True).content.decode())  # type: ignore[attr-defined]


@pytest.mark.usefixtures("zones")
def test_tags_of_all_that_match(browser: Browser, bob: User) -> None:
    data = {**SHOPS, "act": "add", "tags": "EU customers"}
    page = browser(bob).post(MANY, data).content.decode()
    assert "<strong>2 zones</strong> will change" in page
    assert "customers eu" in page
    assert Zone.objects.exclude(tags=[]).count() == 0
    assert "2 zones changed." in confirmed(browser(bob), data)
    assert Zone.objects.filter(tags=["customers", "eu"]).count() == 2
    assert "2 zones don’t need this change" in browser(bob).post(MANY, data).content.decode()


@pytest.mark.usefixtures("zones")
def test_what_is_ticked_goes_to_a_team(browser: Browser, alice: User) -> None:
    team = Team.objects.create(name="web", created_at=NOW)
    ticked = {"zone": ["shop1.test.", "other.test."], "act": "team"}
    form = browser(alice).post(MANY, ticked)
    assert form.status_code == 422
    assert "Choose a team." in form.content.decode()
    assert "<strong>2 zones</strong> selected" in form.content.decode()
    confirmed(browser(alice), {**ticked, "team": str(team.pk)})  # type: ignore[dict-item]
    assert sorted(Zone.objects.filter(team=team).values_list("name", flat=True)) == ["other.test.", "shop1.test."]
    confirmed(browser(alice), {**ticked, "team": "none"})  # type: ignore[dict-item]
    assert not Zone.objects.filter(team=team).exists()


@pytest.mark.usefixtures("zones")
def test_zones_go_to_the_trash_once_their_number_is_typed(browser: Browser, bob: User) -> None:
    data = {**SHOPS, "act": "delete"}
    page = browser(bob).post(MANY, data).content.decode()
    assert "2 zones with 6 RRsets will no" in page
    assert "Enter 2 to confirm." in confirmed(browser(bob), data, typed_count="3")
    before = Publication.objects.count()
    assert "2 zones moved to the trash" in confirmed(browser(bob), data, typed_count="2", reason="closed")
    assert Publication.objects.count() == before + 1
    assert Zone.objects.filter(deleted_at=None).count() == 1


def test_what_was_published_since_it_was_shown_is_shown_again(zones: list[Zone], browser: Browser, bob: User) -> None:
    data = {**SHOPS, "act": "delete", "typed_count": "2", "preview": "1"}
    seen = seen_in(browser(bob).post(MANY, {**SHOPS, "act": "delete"}).content.decode())
    Zone.objects.filter(pk=zones[0].pk).update(revision=2)
    assert "Review the new preview" in browser(bob).post(MANY, {**data, "seen": seen}).content.decode()
    assert Zone.objects.filter(deleted_at=None).count() == 3


@pytest.mark.usefixtures("zones")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"act": "add", "tags": ""}, "Enter at least one tag"),
        ({"act": "add", "tags": "no/tag"}, "no/tag isn’t a valid tag"),
        ({"act": "team"}, "Choose a team"),
        ({"act": "burn"}, "burn"),
        ({"act": "delete", "q": "typ:a"}, "Did you mean type:?"),
        ({"act": "delete", "q": "changed:soon"}, "changed: needs"),
    ],
)
def test_a_wrong_field_is_said(browser: Browser, bob: User, data: dict[str, str], words: str) -> None:
    response = browser(bob).post(MANY, {**SHOPS, **data})
    assert response.status_code == 422
    assert words in response.content.decode()


@pytest.mark.usefixtures("zones")
def test_the_list_has_ticks_for_who_may_change_zones(browser: Browser, bob: User, charlie: User) -> None:
    page = browser(bob).get("/zones/", {"q": "shop"}).content.decode()
    assert page.count("data-tick") == 2
    assert 'action="/zones/many/"' in page
    assert "data-tick" not in browser(charlie).get("/zones/").content.decode()
    nothing = browser(bob).post(MANY, {"act": "delete", "q": "shop"}, follow=True)
    assert nothing.redirect_chain == [("/zones/?q=shop", 302)]
