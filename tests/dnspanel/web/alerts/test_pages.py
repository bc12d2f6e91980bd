"""Pages of alerts and the bell in each state, and the number of their queries."""

from datetime import timedelta
from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.alerts.models import Alert
from dnspanel.alerts.watch import keep
from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.nodes.heartbeats import WATCH, beat
from dnspanel.web.alerts.alert_rows import MOST_MEMBERS
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
    assert "(×" not in page
    fragment = browser(charlie).get("/alerts/", headers=HTMX).content.decode()
    assert fragment.startswith('<section id="open-alerts"')
    assert "<html" not in fragment


def mixed(equal: int) -> list[Condition]:
    hold = Condition("panel.held", "panel.held", Severity.CRITICAL, "Publishing is on hold.")
    zones = tuple(f"zone:{name}.test." for name in "abcde")
    expired = Condition("panel.expired", "panel.expired", Severity.WARNING, "5 zones: expired.", about=zones)
    return [hold, expired, *(late(number) for number in range(1, equal + 1))]


def test_equal_alerts_are_one_line_that_opens_page_by_page(
    browser: Browser, alice: User, django_assert_max_num_queries: Any
) -> None:
    client = browser(alice)
    client.get("/alerts/")
    for equal, title in ((1, "ns1 is &lt;late&gt;"), (2, "Node is late (×2)"), (500, "Node is late (×500)")):
        keep(mixed(equal), now=NOW + timedelta(minutes=equal))
        with django_assert_max_num_queries(16):
            page = client.get("/alerts/").content.decode()
        assert page.count("data-row") == 3
        assert page.index("Publishing is on hold.") < page.index("5 zones: expired.") < page.index(title)
        assert "ns2 is" not in page
    assert 'href="/hold/"' in page
    assert [f'href="/zones/{name}.test./"' in page for name in "abcde"] == [True, True, True, False, False]
    assert 'href="/zones/e.test./"' in client.get("/alerts/?open=panel.expired-warning").content.decode()
    with django_assert_max_num_queries(16):
        page = client.get("/alerts/?open=node.late-warning").content.decode()
    assert page.count("data-row") == 3 + MOST_MEMBERS
    assert len(page) < 150_000
    assert ("ns50 is" in page, "ns51 is" in page, 'aria-expanded="true"' in page) == (True, False, True)
    after = page.partition("open=node.late-warning&amp;after=")[2].partition('"')[0]
    page = client.get(f"/alerts/?open=node.late-warning&after={after}").content.decode()
    assert ("ns50 is" in page, "ns51 is" in page, "ns100 is" in page) == (False, True, True)
    assert "ns1 is" not in client.get("/alerts/?open=no&after=x' OR 1").content.decode()


def test_each_line_offers_what_the_person_is_allowed_to_do(
    browser: Browser, alice: User, bob: User, charlie: User, active_node: MakeNode
) -> None:
    reverted = Condition("panel.failed:7", "panel.failed", Severity.INFO, "Reverted.", about=("publication:7",))
    ends = Condition("node.certificate:ns1", "node.certificate", Severity.WARNING, "It ends.", active_node("ns1").pk)
    hook = Condition("panel.hook:7", "panel.hook", Severity.WARNING, "It is silent.", about=("hook:7",))
    keep([reverted, ends, hook], now=NOW)
    acts = ('"/publications/7/again/"', '"/nodes/ns1/rotate/"', '"/alerts/mark/mute/"', '"/settings/hooks/7/"')
    for person, offered in (
        (alice, (True, True, True, True)),
        (bob, (True, False, False, False)),  # an editor
        (charlie, (False, False, False, False)),
    ):
        page = browser(person).get("/alerts/").content.decode()
        assert tuple(act in page for act in acts) == offered
        assert ('"/publications/7/"' in page, page.count("Mark as read")) == (True, 3)
        assert page.index("It ends.") < page.index("Reverted.")
    keep([], now=NOW + timedelta(minutes=5))
    page = browser(alice).get("/alerts/history/").content.decode()
    assert tuple(act in page for act in acts) == (False, False, False, True)


def test_a_line_can_be_read_by_one_person_and_muted_for_all(browser: Browser, alice: User, charlie: User) -> None:
    keep([late(1), late(2), late(3, severity=Severity.CRITICAL)], now=NOW)
    first, last, _ = Alert.objects.order_by("pk").values_list("pk", flat=True)
    warnings = {"kind": "node.late", "severity": "warning", "first": first, "last": last}
    assert browser(charlie).post("/alerts/mark/read/", warnings).url == "/alerts/"
    assert browser(charlie).post("/alerts/mark/read/", warnings | {"open": "node.late-warning"}).status_code == 302
    assert 'Alerts: 1 unread alert, 1 critical"' in browser(charlie).get("/zones/").content.decode()
    assert 'Alerts: 3 unread alerts, 1 critical"' in browser(alice).get("/zones/").content.decode()
    assert Alert.objects.get(pk=first).read_by == [charlie.pk]
    assert browser(charlie).post("/alerts/mark/mute/", warnings).status_code == 403
    assert browser(alice).post("/alerts/mark/x/", warnings).status_code == 404
    assert browser(alice).post("/alerts/mark/mute/", warnings).status_code == 302
    assert 'Alerts: 1 unread alert, 1 critical"' in browser(alice).get("/zones/").content.decode()
    page = browser(alice).get("/alerts/").content.decode()
    assert page.index("ns3 is") < page.index("Node is late (×2)") < page.index("Muted until") < page.index("Unmute")
    browser(alice).post("/alerts/mark/unmute/", warnings)
    assert 'Alerts: 3 unread alerts, 1 critical"' in browser(alice).get("/zones/").content.decode()
    acts = AuditEntry.objects.filter(action__startswith="alert.").order_by("pk").values_list("action", "target")
    assert list(acts) == [(f"alert.{act}", key) for act in ("mute", "unmute") for key in ("k1", "k2")]


def test_the_history_merges_equal_alerts_of_a_page(browser: Browser, charlie: User) -> None:
    keep(mixed(3), now=NOW)
    keep([], now=NOW + timedelta(minutes=5))
    page = browser(charlie).get("/alerts/history/").content.decode()
    assert (page.count("data-row"), "Node is late (×3)" in page, "ns3 is" in page) == (3, True, False)
    page = browser(charlie).get("/alerts/history/?open=node.late-warning").content.decode()
    assert (page.count("data-row"), "ns1 is" in page, "ns3 is" in page) == (6, True, True)


def test_history_goes_on_page_by_page(browser: Browser, charlie: User, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No past alerts yet" in browser(charlie).get("/alerts/history/").content.decode()
    monkeypatch.setattr("dnspanel.web.alerts.pages.MOST_PAST", 2)
    keep([Condition(f"k{n}", f"node.{n}", Severity.WARNING, f"ns{n} is late") for n in range(3)], now=NOW)
    keep([], now=NOW + timedelta(minutes=5))
    page = browser(charlie).get("/alerts/history/").content.decode()
    assert ("ns2" in page, "ns1" in page, "ns0" in page) == (True, True, False)
    older = page.partition("/alerts/history/?before=")[2].partition('"')[0]
    page = browser(charlie).get(f"/alerts/history/?before={older}").content.decode()
    assert ("ns1" in page, "ns0" in page, "Older alerts" in page) == (False, True, False)
    assert browser(charlie).get("/alerts/history/?before=x' OR 1").status_code == 200


def test_the_bell_stands_on_every_page_and_counts(browser: Browser, charlie: User) -> None:
    assert 'aria-label="Alerts: No unread alerts"' in browser(charlie).get("/zones/").content.decode()
    keep([late(1), late(2, severity=Severity.CRITICAL)], now=NOW)
    page = browser(charlie).get("/zones/").content.decode()
    assert 'aria-label="Alerts: 2 unread alerts, 1 critical"' in page
    assert '<span class="count is-bad">2</span>' in page


def test_the_bell_answers_nothing_when_nothing_is_new(
    browser: Browser, charlie: User, django_assert_max_num_queries: Any
) -> None:
    client = browser(charlie)
    assert client.get("/frame/alerts/?seen=No+unread+alerts", headers=HTMX).status_code == 204
    keep([late(1)], now=NOW)
    with django_assert_max_num_queries(5):  # session, user, teams and grants, and the bell
        answer = client.get("/frame/alerts/?seen=No+unread+alerts", headers=HTMX)
    assert b'<span class="count is-warn">1</span>' in answer.content


def test_members_without_the_right_see_no_bell(browser: Browser, db: None) -> None:
    client = browser(make_person("mia", "member"))
    assert b'id="bell"' not in client.get("/zones/").content
    assert client.get("/alerts/").status_code == 403
