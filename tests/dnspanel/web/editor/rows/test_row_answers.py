"""Editor rows whose records are never answered, with the child zone that answers for their names."""

from dnspanel.accounts.models import User
from dnspanel.zones.models import Publication
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone

NEVER = b"Not served: the zone www.beta.test. answers for this name."


def test_rows_that_a_zone_inside_answers_for_are_marked(browser: Browser, bob: User, make_zone: MakeZone) -> None:
    """Previously the parent's page gave no hint that a new child zone had taken over names."""
    make_zone("www 300 A 192.0.2.1", "x.www 300 TXT y", "shop 300 A 192.0.2.2", name="beta.test.")
    client = browser(bob)
    before = client.get("/zones/beta.test./").content
    assert NEVER not in before
    assert b'id="shadowing"' not in before
    make_zone(name="www.beta.test.")
    page = client.get("/zones/beta.test./").content
    assert page.count(NEVER) == 2
    assert b"Some records in this zone are never served." in page
    row = client.get("/zones/beta.test./rrset/row/?name=www.beta.test.&type=A", headers=HTMX)
    assert NEVER in row.content
    added = client.post("/zones/beta.test./quick/", {"line": "www 300 AAAA 2001:db8::1"}, headers=HTMX)
    assert NEVER in added.content
    shop = client.get("/zones/beta.test./?q=shop", headers=HTMX).content
    assert NEVER not in shop
    inside = client.get("/zones/www.beta.test./").content
    assert NEVER not in inside


def test_a_publication_says_which_zone_answers(browser: Browser, bob: User, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1", name="beta.test.")
    created = Publication.objects.latest("sequence").sequence
    make_zone(name="www.beta.test.")
    page = browser(bob).get(f"/publications/{created}/").content.decode()
    assert "Some records in this publication aren’t served." in page
    text = " ".join(page.split())
    assert 'served from zone <span class="mono wrap">www.beta.test.</span> instead of beta.test.' in text
