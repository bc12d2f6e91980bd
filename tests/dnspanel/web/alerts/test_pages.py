"""Pages of alerts and the bell in each state, and the number of their queries."""

from datetime import timedelta
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.alerts.watch import keep
from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.nodes.heartbeats import WATCH, beat
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.people import NOW, make_person


def late(number: int, node_id: int | None = None, severity: Severity = Severity.WARNING) -> Condition:
    return Condition(f"k{number}", "node.late", severity, f"ns{number} is <late>", node_id)


def test_the_page_says_whether_anybody_looked(browser: Browser, charlie: User) -> None:
    assert "Not checked yet" in browser(charlie).get("/alerts/").content.decode()
    beat(process=WATCH, now=NOW)
    page = browser(charlie).get("/alerts/").content.decode()
    assert "No open alerts" in page
    assert "No notification routes yet." in page


def test_what_is_wrong_leads_to_its_node(browser: Browser, charlie: User, active_node: MakeNode) -> None:
    keep([late(1, active_node("ns1").pk), late(2, severity=Severity.CRITICAL)], now=NOW)
    page = browser(charlie).get("/alerts/").content.decode()
    assert page.index("ns2 is &lt;late&gt;") < page.index("ns1 is &lt;late&gt;")
    assert '<a href="/nodes/ns1/">ns1</a>' in page
    assert "the panel" in page
    fragment = browser(charlie).get("/alerts/", headers=HTMX).content.decode()
    assert fragment.startswith('<section id="open-alerts"')
    assert "<html" not in fragment


def test_history_goes_on_page_by_page(browser: Browser, charlie: User, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No past alerts yet" in browser(charlie).get("/alerts/history/").content.decode()
    monkeypatch.setattr("dnspanel.web.alerts.pages.MOST_PAST", 2)
    keep([late(n) for n in range(3)], now=NOW)
    keep([], now=NOW + timedelta(minutes=5))
    page = browser(charlie).get("/alerts/history/").content.decode()
    assert ("ns2" in page, "ns1" in page, "ns0" in page) == (True, True, False)
    older = page.partition("/alerts/history/?before=")[2].partition('"')[0]
    page = browser(charlie).get(f"/alerts/history/?before={older}").content.decode()
    assert ("ns1" in page, "ns0" in page, "Older alerts" in page) == (False, True, False)
    assert browser(charlie).get("/alerts/history/?before=x' OR 1").status_code == 200


def test_the_bell_stands_on_every_page_and_counts(browser: Browser, charlie: User) -> None:
    assert 'aria-label="Alerts: No open alerts"' in browser(charlie).get("/zones/").content.decode()
    keep([late(1), late(2, severity=Severity.CRITICAL)], now=NOW)
    page = browser(charlie).get("/zones/").content.decode()
    assert 'aria-label="Alerts: 2 open alerts, 1 critical"' in page
    assert '<span class="count is-bad">2</span>' in page


def test_the_bell_answers_nothing_when_nothing_is_new(
    browser: Browser, charlie: User, django_assert_max_num_queries: Any
) -> None:
    client = browser(charlie)
    assert client.get("/frame/alerts/?seen=No+open+alerts", headers=HTMX).status_code == 204
    keep([late(1)], now=NOW)
    with django_assert_max_num_queries(5):  # session, user, teams and grants, and the bell
        answer = client.get("/frame/alerts/?seen=No+open+alerts", headers=HTMX)
    assert b'<span class="count is-warn">1</span>' in answer.content


def test_members_without_the_right_see_no_bell(browser: Browser, db: None) -> None:
    client = browser(make_person("mia", "member"))
    assert b'id="bell"' not in client.get("/zones/").content
    assert client.get("/alerts/").status_code == 403
