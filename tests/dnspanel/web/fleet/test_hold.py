"""The pages of a publishing hold: cause, differences and decision, and the notice on all other pages."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.models import AheadReport, AheadRRset, AheadZone, Choice
from dnspanel.web.fleet.hold import DisplayZone
from dnspanel.zones.drafts import draft
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Epoch, LogHead, Operation, Publication, Zone
from replication.codec.keys import relative_key
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

pytestmark = pytest.mark.django_db
HOLD, DECIDE = "/hold/", "/hold/decide/"
REASON = "Node ns1 is at sequence 9, but this panel has only published up to 5."


@pytest.fixture
def on_hold(db: None) -> None:
    publish_hold.hold(reason=REASON, now=timezone.now())


@pytest.fixture
def report(on_hold: None) -> AheadReport:
    """Return a report of three zones: one only in the panel, one only on the node, and one with two differences."""
    now = timezone.now()
    found = AheadReport.objects.create(
        asked_at=now,
        epoch=LogHead.objects.get().epoch,
        node_name="ns1",
        is_ahead=True,
        ended_at=now,
        highest_sequence=9,
        zones_done=3,
        zones_total=3,
    )
    AheadZone.objects.create(report=found, name="gone.test.", id_here=7, serial_here=1)
    new = AheadZone.objects.create(report=found, name="new.test.", id_there=9, serial_there=1)
    both = AheadZone.objects.create(
        report=found, name="example.test.", id_here=8, id_there=8, serial_here=1, serial_there=4
    )
    differ(new, None, "www 300 A 192.0.2.9")
    differ(both, "www 300 A 192.0.2.1", "www 300 A 192.0.2.99")
    differ(both, "old 300 A 192.0.2.2", None)
    return found


def differ(zone: AheadZone, here: str | None, there: str | None) -> None:
    one, other = (rr(line, origin=zone.name) if line else None for line in (here, there))
    name = (one or other).name  # type: ignore[union-attr]
    AheadRRset.objects.create(
        zone=zone,
        name=name,
        owner_key=relative_key(name, zone.name),
        type=1,
        here=one.to_json() if one else None,
        there=other.to_json() if other else None,
    )


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_without_a_hold_the_page_says_that_all_is_well(browser: Browser, bob: User) -> None:
    assert "Publishing not on hold" in text(browser(bob).get(HOLD))


def test_after_a_decision_the_page_tells_of_the_present_history(browser: Browser, bob: User, alice: User) -> None:
    Epoch.objects.create(
        epoch=LogHead.objects.get().epoch, began_at=NOW, began_after=12345, reason="a new history: kept.", by=alice
    )
    page = text(browser(bob).get(HOLD))
    assert "after change 12,345: a new history: kept." in page


def test_every_page_says_that_publishing_is_held(browser: Browser, on_hold: None, alice: User, charlie: User) -> None:
    page = text(browser(alice).get(reverse("zone-list")))
    assert REASON in page
    assert "Review hold" in page
    assert "View details" in text(browser(charlie).get(reverse("zone-list")))


def test_the_page_shows_progress_and_asks_for_itself_until_the_nodes_were_asked(
    browser: Browser, alice: User, on_hold: None
) -> None:
    page = text(browser(alice).get(HOLD))
    assert 'hx-trigger="live"' in page
    AheadReport.objects.create(
        asked_at=timezone.now(), epoch=LogHead.objects.get().epoch, node_name="ns1", zones_done=1200, zones_total=5000
    )
    page = text(browser(alice).get(HOLD, headers=HTMX))
    assert "1,200 of 5,000 zones compared" in page
    assert "<!doctype" not in page
    assert "Choose which content to use" not in page


def test_what_differs_is_listed_for_who_may_decide(browser: Browser, report: AheadReport, alice: User) -> None:
    page = text(browser(alice).get(HOLD))
    for name in ("gone.test.", "new.test.", "example.test."):
        assert name in page
    assert 'hx-trigger="live"' not in page.split('id="hold"')[1].split(">")[0]
    assert '<span class="strong">1</span> zone from the nodes is created here' in page
    assert '(<span class="strong">2 RRsets</span>' in page
    only_nodes = text(browser(alice).get(HOLD, {"kind": "nodes"}))
    assert "new.test." in only_nodes
    assert "gone.test." not in only_nodes


def test_who_may_not_decide_sees_why_and_how_much_but_no_content(
    browser: Browser, report: AheadReport, charlie: User
) -> None:
    page = text(browser(charlie).get(HOLD))
    assert REASON in page
    assert "An administrator can view the differences" in page
    assert "new.test." not in page
    assert DECIDE not in page
    zone = report.zones.get(name="example.test.")
    assert browser(charlie).get(reverse("node-hold-zone", args=[zone.pk])).status_code == 403


def test_a_zone_opens_to_its_rrsets(browser: Browser, report: AheadReport, alice: User) -> None:
    zone = report.zones.get(name="example.test.")
    address = reverse("node-hold-zone", args=[zone.pk])
    page = text(browser(alice).get(address))
    assert "192.0.2.99" in page
    assert "Changes from the panel’s content to the content on ns1." in page
    fragment = text(browser(alice).get(address, headers=HTMX))
    assert fragment.startswith('<div class="stack" id="hold-zone">')


def test_a_long_list_comes_in_pages(
    browser: Browser, report: AheadReport, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dnspanel.web.fleet import hold as pages

    monkeypatch.setattr(pages, "ZONES_PER_PAGE", 2)
    page = text(browser(alice).get(HOLD))
    assert "Show next 100" in page
    last = report.zones.order_by("pk")[1]
    rest = text(browser(alice).get(HOLD, {"after": last.pk}, headers=HTMX))
    assert rest.count("data-row") == 1
    assert "example.test." in rest


def test_a_zone_with_many_rrsets_comes_in_pages(
    browser: Browser, report: AheadReport, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dnspanel.web.fleet import hold as pages

    monkeypatch.setattr(pages, "RRSETS_PER_PAGE", 1)
    zone = report.zones.get(name="example.test.")
    first = text(browser(alice).get(reverse("node-hold-zone", args=[zone.pk])))
    assert "Next 100 RRsets" in first
    after = zone.rrsets.order_by("pk")[0].pk
    second = text(browser(alice).get(reverse("node-hold-zone", args=[zone.pk]), {"after": after}))
    assert "Next 100 RRsets" not in second


def test_a_decision_must_be_typed(browser: Browser, report: AheadReport, alice: User) -> None:
    response = browser(alice).post(DECIDE, {"choice": "keep", "typed": "yes", "reason": "a drill"})
    assert response.status_code == 422
    page = text(response)
    assert "Type “keep the panel&#x27;s” to confirm the decision." in page
    assert 'value="a drill"' in page
    report.refresh_from_db()
    assert report.choice == ""


def test_a_decision_is_taken_and_the_page_waits_for_it(browser: Browser, report: AheadReport, alice: User) -> None:
    client = browser(alice)
    sent = {"choice": "take_over", "typed": unknown_history.TYPED[Choice.TAKE_OVER], "reason": ""}
    assert client.post(DECIDE, sent)["Location"] == HOLD
    report.refresh_from_db()
    assert (report.choice, report.decided_by) == ("take_over", alice)
    page = text(client.get(HOLD))
    assert "Decision by alice" in page
    assert 'hx-trigger="live"' in page
    again = client.post(
        DECIDE, {"choice": "keep", "typed": unknown_history.TYPED[Choice.KEEP], "reason": ""}, follow=True
    )
    assert "Someone else has already decided." in text(again)


def test_a_decision_that_failed_says_why_and_can_be_taken_again(
    browser: Browser, report: AheadReport, alice: User
) -> None:
    AheadReport.objects.update(error="The decision failed, and nothing was changed: it clashed")
    page = text(browser(alice).get(HOLD))
    assert "it clashed" in page
    assert "Choose which content to use" in page


def test_a_choice_that_is_not_open_says_why(browser: Browser, report: AheadReport, alice: User) -> None:
    AheadReport.objects.update(is_ahead=False)
    page = text(browser(alice).get(HOLD))
    assert "The nodes that responded don’t have any changes that the panel lacks." in page
    response = browser(alice).post(DECIDE, {"choice": "take_over", "typed": "take over"})
    assert response.status_code == 422


def test_the_nodes_can_be_asked_again(browser: Browser, report: AheadReport, alice: User) -> None:
    AheadReport.objects.update(silent_nodes=["ns2", "ns3"])
    assert "ns2, ns3 didn’t answer." in text(browser(alice).get(HOLD))
    assert browser(alice).post("/hold/again/")["Location"] == HOLD
    assert not AheadReport.objects.filter(pk=report.pk).exists()
    assert AheadReport.objects.get().ended_at is None


@pytest.mark.django_db(transaction=True)
def test_a_publication_is_refused_in_words_and_the_draft_is_kept(
    browser: Browser, make_zone: MakeZone, alice: User
) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    draft.replace_rrset(zone=zone, rrset=rr("new 300 A 192.0.2.7"), author=alice, now=NOW)
    client = browser(alice)
    page = client.get(reverse("zone-review", args=[zone.name]))
    sent = {"seen": page.context["seen"], "form_id": str(page.context["form"]["form_id"].value()), "accept": "on"}
    publish_hold.hold(reason=REASON, now=timezone.now())
    response = client.post(reverse("zone-review", args=[zone.name]), sent)
    assert response.status_code == 503
    assert "Publishing on hold" in text(response)
    assert REASON in text(response)
    assert Operation.objects.count() == 1
    assert Publication.objects.count() == 1
    response = client.post(reverse("zone-review", args=[zone.name]), sent, headers=HTMX)
    assert response["Content-Type"].startswith("text/plain")


@pytest.mark.django_db(transaction=True)
def test_a_new_zone_is_refused_in_words(browser: Browser, alice: User, on_hold: None) -> None:
    page = browser(alice).get(reverse("zone-new"))
    data = {name: page.context["form"][name].value() or "" for name in ("form_id", "nameservers", "hostmaster")}
    response = browser(alice).post(reverse("zone-new"), data | {"names": "new.test"})
    assert response.status_code == 503
    assert not Zone.objects.exists()


@pytest.mark.parametrize(
    ("kind", "row_class", "tone"),
    [("nodes", "is-add", "ok"), ("panel", "is-delete", "bad"), ("differs", "is-change", "warn")],
)
def test_where_a_zone_is_has_its_mark(kind: str, row_class: str, tone: str) -> None:
    zone = DisplayZone(1, "example.test.", kind, None, None, 0, False, "")
    assert (zone.mark.row_class, zone.mark.tone) == (row_class, tone)


def test_zones_that_nodes_sign_otherwise_are_told(report: AheadReport, browser: Browser, alice: User) -> None:
    plain = browser(alice).get(HOLD).content.decode()
    assert "signed differently on nodes" not in plain
    assert "Keys that exist only on nodes are lost" not in plain
    AheadZone.objects.filter(name="example.test.").update(signing={"state": {"keys": [], "rows": {}}, "keys": []})
    page = browser(alice).get(HOLD).content.decode()
    assert page.count('<span class="sub">signed differently on nodes</span>') == 1
    assert "gets its keys and signing settings from the nodes" in page
    assert "Keys that exist only on nodes are lost" in page


def test_zones_that_would_not_validate_have_to_be_accepted(report: AheadReport, browser: Browser, alice: User) -> None:
    assert "would not validate" not in text(browser(alice).get(HOLD))
    reason = "the parent has a DS for example.test., which is served here and not signed"
    AheadZone.objects.filter(name="example.test.").update(breaks={"keep": reason})
    page = text(browser(alice).get(HOLD))
    assert page.count('name="accepts_breaks"') == 1
    assert '<span class="strong">1</span> zone would fail validation' in page
    listed = text(browser(alice).get(HOLD, {"kind": "breaks"}))
    assert f"After keeping the panel’s content, validation would fail: {reason}." in listed
    assert "new.test." not in listed
    sent = {"choice": "keep", "typed": unknown_history.TYPED[Choice.KEEP], "reason": "the zone is not in use"}
    refused = browser(alice).post(DECIDE, sent)
    assert refused.status_code == 422
    assert "Confirm that you accept this" in text(refused)
    assert browser(alice).post(DECIDE, sent | {"accepts_breaks": "on"})["Location"] == HOLD
    report.refresh_from_db()
    assert report.choice == "keep"
