"""The page of all publications."""

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.web.editor.history import publications
from dnspanel.zones.log import publications as reads
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

PAGE = "/publications/"


@pytest.fixture
def zone(make_zone: MakeZone, bob: User) -> Zone:
    """Create a zone as Alice, and change it as Bob through the API."""
    zone = make_zone("www 300 A 192.0.2.1")
    rrset = rr("www 300 A 192.0.2.2")
    changes = {(rrset.name, 1): rrset}
    change_rrsets(zone=zone, changes=changes, author=bob, channel=Channel.API, now=NOW, reason="OPS-7 <i>")
    return zone


def test_it_says_who_published_what_how_and_why(zone: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(PAGE).content.decode()
    for words in ("example.test.", "created", "alice", "bob", "API", "OPS-7 &lt;i&gt;", "/publications/2/"):
        assert words in page
    assert "My draft" not in page  # a reader has no draft
    assert 'href="/publications/"' in page


def test_filters_stand_in_the_address(zone: Zone, browser: Browser, alice: User) -> None:
    client = browser(alice)
    page = client.get(PAGE, {"author": "bob", "channel": "api", "zone": "example.test", "since": "2026-11-21"})
    assert "OPS-7" in page.content.decode()
    nothing = client.get(PAGE, {"author": "bob", "until": "2020-01-01"}).content.decode()
    assert "No matching publications" in nothing
    assert 'value="2020-01-01"' in nothing
    for nonsense in ({"since": "2026-02-31"}, {"until": "x"}, {"channel": "smoke"}, {"before": "-1"}, {"zone": "\0"}):
        assert client.get(PAGE, nonsense).status_code == 200


def test_the_next_rows_come_alone(zone: Zone, browser: Browser, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publications, "PUBLICATIONS_PER_PAGE", 1)
    client = browser(alice)
    assert "before=2" in client.get(PAGE).content.decode()
    rows = client.get(PAGE, {"before": "2"}, headers=HTMX | {"HX-Target": "more-publications"}).content.decode()
    assert rows.lstrip().startswith("<tbody")
    assert "created" in rows
    list_ = client.get(PAGE, headers=HTMX | {"HX-Target": "publication-list"}).content.decode()
    assert list_.lstrip().startswith('<section id="publication-list"')


def test_how_far_it_looked_is_told(zone: Zone, browser: Browser, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "MOST_LOOKED_THROUGH", 1)
    page = browser(alice).get(PAGE, {"author": "alice"}).content.decode()
    assert "Searched back to 2026-11-21" in page
    assert "Search further" in page


def test_it_takes_a_fixed_number_of_queries(
    zone: Zone,
    make_zone: MakeZone,
    browser: Browser,
    alice: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(20):
        make_zone(name=f"z{number}.test.")
    with django_assert_max_num_queries(31):
        browser(alice).get(PAGE)


def test_an_empty_log_says_what_will_stand_here(browser: Browser, alice: User) -> None:
    assert "No publications yet" in browser(alice).get(PAGE).content.decode()
