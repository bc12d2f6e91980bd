"""The button in a zone's header that pins the zone to the reader's dashboard."""

from dnspanel.accounts.models import User
from tests.dnspanel.web.conftest import Browser, MakeZone

ZONE = "/zones/example.test./"


def test_a_reader_pins_and_unpins_a_zone(make_zone: MakeZone, browser: Browser, charlie: User, bob: User) -> None:
    make_zone()
    client = browser(charlie)
    assert "Pin to dashboard" in client.get(ZONE).content.decode()
    assert client.post(f"{ZONE}pin/", {"pinned": "yes"})["Location"] == ZONE
    page = client.get(ZONE).content.decode()
    assert "example.test. pinned" in page
    assert "Unpin from dashboard" in page
    assert "Pinned" in client.get("/").content.decode()
    assert "Pinned" not in browser(bob).get("/").content.decode()
    client.post(f"{ZONE}pin/", {"pinned": "no"})
    assert "Pinned" not in client.get("/").content.decode()


def test_a_zone_that_was_opened_stands_on_the_dashboard(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone()
    client = browser(bob)
    assert "Recently opened" not in client.get("/").content.decode()
    client.get(ZONE, headers={"HX-Request": "true"})
    assert "Recently opened" not in client.get("/").content.decode()
    client.get(ZONE)
    assert "Recently opened" in client.get("/").content.decode()


def test_what_one_may_not_see_is_not_pinned(browser: Browser, bob: User) -> None:
    assert browser(bob).post("/zones/none.test./pin/").status_code == 404
