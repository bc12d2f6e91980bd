"""A person's settings for a list, and the return to the list with its last search."""

import pytest

from dnspanel.accounts.models import User
from tests.dnspanel.web.conftest import Browser, MakeZone

LOOK = "/account/lists/zones/"


def test_what_is_not_ticked_is_left_out_from_then_on(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone("www 300 A 192.0.2.1")
    client = browser(bob)
    kept = client.post(LOOK, {"column": ["dnssec", "sync"], "dense": "yes", "next": "/zones/?q=example&sort=-name"})
    assert kept["Location"] == "/zones/?q=example&sort=-name"
    page = client.get("/zones/").content.decode()
    assert 'class="table cards no-author no-changed no-marks no-rrsets no-serial is-dense"' in page
    assert 'name="column" value="dnssec" checked' in page
    assert 'name="column" value="serial" checked' not in page
    client.post("/account/lists/records/", {"column": "comment"})
    assert 'class="table rrsets no-ttl"' in client.get("/zones/example.test./").content.decode()


@pytest.mark.parametrize("address", ["", "//evil.test/", "https://evil.test/", "javascript:alert(1)", "zones"])
def test_it_leads_nowhere_else(browser: Browser, bob: User, address: str) -> None:
    assert browser(bob).post(LOOK, {"next": address})["Location"] == "/zones/"
    assert browser(bob).post("/account/lists/nodes/", {"next": address}).status_code == 404
