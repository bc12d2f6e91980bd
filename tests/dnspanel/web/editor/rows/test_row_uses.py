"""Rows display how often nodes are asked for them, and can be limited to those that aren't asked for."""

import html
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.formats import date_format

from dnspanel.accounts.models import User
from dnspanel.zones.models import CountingNode, QueriedRRset, Zone
from replication.codec.keys import relative_key
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone

ZONE = "/zones/example.test./"


def ask(zone: Zone, name: str, days: int, times: int) -> date:
    day = timezone.now().date() - timedelta(days=days)
    key = relative_key(f"{name}.{zone.name}", zone.name)
    QueriedRRset.objects.create(zone_id=zone.pk, owner_key=key, type=1, day=day, times=times)
    return day


def count_since(days: float, **fields: Any) -> None:
    now = timezone.now()
    fields = {"until": now, **fields}
    CountingNode.objects.create(node_id=1, name="ns1", since=now - timedelta(days=days), **fields)


@pytest.fixture
def zone(make_zone: MakeZone, settings: Any) -> Zone:
    settings.COUNT_QUERIES = True
    return make_zone("www 300 A 192.0.2.1", "few 300 A 192.0.2.2", "old 300 A 192.0.2.3", "new 300 A 192.0.2.4")


def test_each_row_displays_its_queries_per_day_and_the_last_day(zone: Zone, browser: Browser, bob: User) -> None:
    count_since(91.5)
    ask(zone, "www", 1, 8_000)
    ask(zone, "www", 2, 20_000)
    ask(zone, "few", 3, 10)
    last = ask(zone, "old", 60, 5)
    page = browser(bob).get(ZONE).content.decode()
    figures = [part.partition("<")[0] for part in page.split('<small class="use">')[1:]]
    assert figures == ["0/day", "0/day", "1.4/day", "0/day", "0/day", "4,000/day"], "SOA, NS, few, new, old, www"
    assert f"last queried on {date_format(last)}" in page
    assert f"no queries since {date_format(timezone.now().date() - timedelta(days=90))}" in page
    assert 'name="queried" value="90"' in page
    assert "Not queried for 90 days" in page


def test_the_filter_shows_the_records_that_were_not_asked_for(zone: Zone, browser: Browser, bob: User) -> None:
    count_since(20)
    ask(zone, "www", 1, 1)
    ask(zone, "few", 19, 1)
    client = browser(bob)
    full = client.get(ZONE).content.decode()
    since = date_format(timezone.now().date() - timedelta(days=19))
    assert f"Not queried since {since}, when counting began" in full
    page = client.get(ZONE + "?queried=19&type=A", headers=HTMX).content.decode()
    assert ("192.0.2.3" in page, "192.0.2.4" in page, "192.0.2.1" in page, "192.0.2.2" in page) == (
        *(True, True),
        *(False, False),
    )
    assert '<input type="hidden" form="many" name="queried" value="19">' in page
    refused = html.unescape(client.get(ZONE + "?queried=90", headers=HTMX).content.decode())
    assert "all nodes have counted queries only since" in refused


def test_nothing_is_offered_while_a_node_does_not_count(zone: Zone, browser: Browser, bob: User) -> None:
    count_since(40, problem="no capability", until=timezone.now() - timedelta(hours=2))
    ask(zone, "www", 1, 14)
    page = browser(bob).get(ZONE).content.decode()
    assert "Queries per record are incomplete: ns1: no capability" in page
    assert 'id="filter-queried"' not in page
    assert page.count('class="use"') == 1


def test_a_page_costs_nothing_if_counting_is_off(zone: Zone, browser: Browser, bob: User, settings: Any) -> None:
    count_since(40)
    client = browser(bob)
    client.get(ZONE)
    settings.COUNT_QUERIES = False
    with CaptureQueriesContext(connection) as off:
        page = client.get(ZONE, headers=HTMX).content.decode()
    assert 'class="use"' not in page
    settings.COUNT_QUERIES = True
    with CaptureQueriesContext(connection) as on:
        client.get(ZONE, headers=HTMX)
    assert len(on) - len(off) == 3, "the counts of the rows, and two for the time for which they are complete"
