"""Pages of publish requests, from "Request approval" to the publication, as author and as approver."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, FreezeTimes, Scope
from dnspanel.zones.models import PublishRequest, RequestState, Zone
from dnspanel.zones.requests.publish_requests import publish_due
from dnspanel.zones.rights import locks
from dnspanel.zones.rights.locks import NO_MANAGER
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person

LIST = reverse("draft-requests")


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1")


@pytest.fixture
def erin(db: None) -> User:
    return make_person("erin", "editor")


@pytest.fixture
def rule(alice: User, zone: Zone) -> None:
    publish_rules.add_approval_rule(
        scope=Scope(zone=zone), terms=ApprovalTerms(role="editor"), reason="Four eyes", author=alice, now=NOW
    )


def edits(person: User, zone: Zone, value: str = "192.0.2.9") -> None:
    draft.replace_rrset(author=person, zone=zone, rrset=rr(f"www 60 A {value}", origin=zone.name), now=NOW)


def send(client: Client, address: str, act: str, **data: str) -> str:
    """Open the review, send its form with this action, and return the resulting page."""
    page = client.get(address)
    posted = {"seen": page.context["seen"], "form_id": page.context["form"]["form_id"].value(), "act": act, **data}
    return client.post(address, posted, follow=True).content.decode()


def test_the_drawer_leads_to_the_page_of_a_new_request(browser: Browser, bob: User, zone: Zone, rule: None) -> None:
    """Previously the drawer showed an empty part of that page."""
    edits(bob, zone)
    client = browser(bob)
    address = reverse("zone-review", args=[zone.name])
    page = client.get(address)
    posted = {"seen": page.context["seen"], "form_id": page.context["form"]["form_id"].value(), "act": "ask"}
    response = client.post(address, posted, headers={"HX-Request": "true", "HX-Target": "drawer-body"})
    assert response["HX-Redirect"] == reverse("draft-request", args=[PublishRequest.objects.get().key])


def act(client: Client, request: PublishRequest, what: str, **data: str) -> str:
    page = client.get(reverse("draft-request", args=[request.key]))
    if what == "approve":
        data = {"seen": page.context["status"].digest, **data}
    return client.post(reverse("draft-request-act", args=[request.key, what]), data, follow=True).content.decode()


@pytest.mark.usefixtures("rule")
def test_a_draft_is_asked_for_approved_by_another_and_published(
    bob: User, erin: User, browser: Browser, zone: Zone
) -> None:
    client, other = browser(bob), browser(erin)
    edits(bob, zone)
    review = reverse("zone-review", args=[zone.name])
    page = client.get(review).content.decode()
    assert "Request approval" in page
    assert "Publish revision" not in page
    page = send(client, review, "ask", name="The new web", reason="Since the old one is slow")
    assert "The new web" in page
    request = PublishRequest.objects.get()
    assert "You can’t approve this request" in page
    third = browser(make_person("eve", "editor"))
    assert "The new web" in third.get(LIST).content.decode()
    waiting = other.get(LIST).content.decode()
    assert "Waiting for you" in waiting
    assert "The new web" in waiting
    assert "Waiting for you" not in client.get(LIST).content.decode()
    displayed = other.get(reverse("draft-request", args=[request.key])).content.decode()
    assert "192.0.2.9" in displayed
    assert "Approve" in displayed
    assert "Request approved" in act(other, request, "approve", text="Good")
    page = client.get(reverse("draft-request", args=[request.key])).content.decode()
    assert "Publish now" in page
    # Previously the head of an approved request still said that the request waits.
    for each in (page, client.get(LIST).content.decode()):
        assert "</svg>approved</span>" in each
        assert "pending" not in each
    assert "The new web" not in third.get(LIST).content.decode()
    act(client, request, "publish")
    request.refresh_from_db()
    assert request.state == RequestState.PUBLISHED
    ended = client.get(reverse("draft-request", args=[request.key])).content.decode()
    assert "erin" in ended
    assert '<h1 class="wrap">Change A of www.example.test</h1>' in ended
    published = client.get(reverse("publication", args=[request.publication_id])).content.decode()
    assert "Approved by" in published
    assert "erin" in published


@pytest.mark.usefixtures("rule")
def test_the_last_approver_approves_and_publishes_with_one_button(
    bob: User, erin: User, browser: Browser, zone: Zone
) -> None:
    client, other = browser(bob), browser(erin)
    edits(bob, zone)
    send(client, reverse("changes"), "ask", name="The new web", reason="Since the old one is slow")
    request = PublishRequest.objects.get()
    own = client.get(reverse("draft-request", args=[request.key])).content.decode()
    assert "Approve and publish" not in own
    page = other.get(reverse("draft-request", args=[request.key])).content.decode()
    assert '<h1 class="wrap">Change A of www.example.test</h1>' in page
    head = page[page.index("<h1") : page.index('id="changes"')]
    for text in ("Approve and publish", "Approve only", "Since the old one is slow", "by bob"):
        assert text in head
    assert page.count("</svg>pending</span>") == 1
    published = act(other, request, "approve", publish="yes", text="Good")
    request.refresh_from_db()
    assert request.state == RequestState.PUBLISHED
    assert "Approved by" in published
    assert request.notes.get().text == "Good"


def test_one_of_two_approvals_publishes_nothing(
    alice: User, bob: User, erin: User, browser: Browser, zone: Zone
) -> None:
    terms = ApprovalTerms(needed=2, role="editor")
    publish_rules.add_approval_rule(scope=Scope(zone=zone), terms=terms, reason="Six eyes", author=alice, now=NOW)
    client, other = browser(bob), browser(erin)
    edits(bob, zone)
    send(client, reverse("changes"), "ask", name="The new web")
    request = PublishRequest.objects.get()
    page = other.get(reverse("draft-request", args=[request.key])).content.decode()
    assert "Approve and publish" not in page
    page = act(other, request, "approve", publish="yes")
    assert "The request was approved, but not published: " in page
    request.refresh_from_db()
    assert (request.state, request.notes.count()) == (RequestState.OPEN, 1)
    third = browser(make_person("eve", "editor"))
    assert "Approve and publish" in third.get(reverse("draft-request", args=[request.key])).content.decode()


@pytest.mark.usefixtures("rule")
def test_a_frozen_or_scheduled_request_is_only_approved(
    alice: User, bob: User, erin: User, browser: Browser, zone: Zone
) -> None:
    client, other, now = browser(bob), browser(erin), timezone.now()
    edits(bob, zone)
    soon = timezone.localtime(now + timedelta(days=2))
    send(client, reverse("changes"), "ask", name="The new web", publish_at=f"{soon:%Y-%m-%dT%H:%M}")
    address = reverse("draft-request", args=[PublishRequest.objects.get().key])
    assert "Approve and publish" not in other.get(address).content.decode()
    PublishRequest.objects.update(publish_at=None)
    assert "Approve and publish" in other.get(address).content.decode()
    times = FreezeTimes(now - timedelta(hours=1), now + timedelta(days=2))
    publish_rules.add_freeze(scope=Scope(), times=times, reason="Year’s end", author=alice, now=now)
    page = other.get(address).content.decode()
    assert "Approve and publish" not in page
    assert "Approve" in page


@pytest.mark.usefixtures("rule")
def test_a_changed_draft_is_reviewed_again_for_what_moved(bob: User, erin: User, browser: Browser, zone: Zone) -> None:
    client, other = browser(bob), browser(erin)
    edits(bob, zone)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("mail 60 A 192.0.2.20", origin=zone.name), now=NOW)
    send(client, reverse("changes"), "ask", name="Two")
    request = PublishRequest.objects.get()
    assert request.draft is not None
    page = other.get(reverse("draft-request", args=[request.key]))
    seen = page.context["status"].digest
    act(other, request, "approve")
    key = request.draft.key
    client.post(reverse("draft-act", args=[key, "take-up"]))
    edits(bob, zone, "192.0.2.66")
    client.post(reverse("draft-act", args=[key, "put-back"]))
    page = other.get(reverse("draft-request", args=[request.key]))
    displayed = page.content.decode()
    assert "changes since then" in displayed
    assert "192.0.2.66" in displayed
    assert "192.0.2.20" not in displayed
    assert "192.0.2.20" in other.get(reverse("draft-request", args=[request.key]) + "?all=yes").content.decode()
    # The other browser still has the earlier page.
    refused = other.post(reverse("draft-request-act", args=[request.key, "approve"]), {"seen": seen}, follow=True)
    assert "changed since you opened the page" in refused.content.decode()
    assert "once it has enough approvals" in act(client, request, "publish")
    assert "This draft is waiting for approval" in client.get(reverse("draft-detail", args=[key])).content.decode()


@pytest.mark.usefixtures("rule")
def test_it_is_declined_with_a_reason_commented_and_withdrawn(
    bob: User, erin: User, browser: Browser, zone: Zone
) -> None:
    client, other = browser(bob), browser(erin)
    edits(bob, zone)
    send(client, reverse("changes"), "ask", name="First")
    request = PublishRequest.objects.get()
    assert "Enter a reason" in act(other, request, "decline", text="")
    assert "Not today" in act(client, request, "comment", text="Not today?")
    assert "declined" in act(other, request, "decline", text="No")
    assert request.draft is not None
    again = send(client, reverse("draft-detail", args=[request.draft.key]), "ask")
    assert "Withdraw" in again
    second = PublishRequest.objects.get(state=RequestState.OPEN)
    assert "First" in act(client, second, "withdraw")
    page = client.get(LIST).content.decode()
    assert "declined" in page
    assert "withdrawn" in page


@pytest.mark.usefixtures("rule")
def test_a_page_that_did_not_know_of_the_rule_publishes_nothing(bob: User, browser: Browser, zone: Zone) -> None:
    edits(bob, zone)
    page = send(browser(bob), reverse("changes"), "publish")
    assert "need approval from 1 person" in page
    assert Zone.objects.get(pk=zone.pk).revision == zone.revision


def test_a_freeze_refuses_with_its_reason_and_who_governs_goes_past_it(
    alice: User, bob: User, browser: Browser, zone: Zone
) -> None:
    now = timezone.now()
    times = FreezeTimes(now - timedelta(hours=1), now + timedelta(hours=1))
    edits(bob, zone)
    address = reverse("changes")
    client = browser(bob)
    page = client.get(address)
    publish_rules.add_freeze(scope=Scope(), times=times, reason="Year’s end", author=alice, now=now)
    posted = {"seen": page.context["seen"], "form_id": page.context["form"]["form_id"].value()}
    refused = client.post(address, posted)
    assert refused.status_code == 422
    assert "Year’s end" in refused.content.decode()
    displayed = client.get(address).content.decode()
    assert "Frozen until" in displayed
    assert "Publish and bypass rules" not in displayed
    assert "Enter a reason for bypassing the approval rules." not in displayed
    edits(alice, zone, "192.0.2.70")
    admin = browser(alice)
    assert "Publish and bypass rules" in admin.get(address).content.decode()
    assert "Enter a reason for bypassing the approval rules." in send(admin, address, "past")
    send(admin, address, "past", reason="The web is down")
    assert PublishRequest.objects.get().state == RequestState.PAST_RULES
    assert "Rules bypassed" in client.get(LIST).content.decode()


def test_a_draft_is_published_at_a_time_shown_and_cancelled(bob: User, browser: Browser, zone: Zone) -> None:
    client = browser(bob)
    edits(bob, zone)
    address = reverse("changes")
    assert "Enter a time." in send(client, address, "plan")
    page = send(client, address, "plan", name="Tonight", publish_at="2020-12-31T22:00")
    assert "within the next" in page
    soon = timezone.localtime(timezone.now() + timedelta(days=2))
    page = send(client, address, "plan", name="Tonight", publish_at=f"{soon:%Y-%m-%dT%H:%M}")
    request = PublishRequest.objects.get()
    assert "planned" in page
    assert "Schedule cancelled" in act(client, request, "plan", when="never")
    assert "Choose a publish time." in act(client, request, "plan", publish_at="soon")
    assert "The request will be published on" in act(client, request, "plan", publish_at=f"{soon:%Y-%m-%dT%H:%M}")
    assert publish_due(now=soon) == 1
    assert "published" in client.get(LIST).content.decode()


def test_a_ticket_is_asked_for_and_linked(alice: User, bob: User, browser: Browser, zone: Zone) -> None:
    terms = ApprovalTerms(needed=0, ticket="OPS-#", ticket_link="https://tracker.test/?id={ticket}")
    publish_rules.add_approval_rule(scope=Scope(zone=zone), terms=terms, reason="Say why", author=alice, now=NOW)
    client = browser(bob)
    edits(bob, zone)
    address = reverse("changes")
    assert "OPS-#" in client.get(address).content.decode()
    assert "need a ticket such as OPS-#" in send(client, address, "publish", reason="because")
    page = send(client, address, "publish", reason="because of OPS-12")
    assert 'href="https://tracker.test/?id=OPS-12"' in page


def test_a_planned_publication_and_a_freeze_stand_on_the_pages_of_the_zone_and_the_dashboard(
    alice: User, bob: User, browser: Browser, zone: Zone
) -> None:
    client, now = browser(bob), timezone.now()
    edits(bob, zone)
    soon = now + timedelta(days=1)
    send(client, reverse("changes"), "plan", name="Tonight", publish_at=f"{timezone.localtime(soon):%Y-%m-%dT%H:%M}")
    times = FreezeTimes(now - timedelta(hours=1), now + timedelta(days=2))
    publish_rules.add_freeze(scope=Scope(), times=times, reason="Year’s end", author=alice, now=now)
    page = client.get(reverse("zone-detail", args=[zone.name])).content.decode()
    assert "“Tonight”" in page
    review = client.get(reverse("draft-request", args=[PublishRequest.objects.get().key])).content.decode()
    assert "Frozen until" in review
    assert "Frozen until" in page
    assert "Year’s end" in client.get(reverse("home")).content.decode()
    assert publish_due(now=soon) == 0
    displayed = client.get(reverse("home")).content.decode()
    assert "“Tonight” wasn’t published as scheduled" in displayed
    assert "was not published on" in client.get(reverse("zone-detail", args=[zone.name])).content.decode()


def queries_of(client: Client, page: str) -> tuple[int, int]:
    """Return a page's number of queries, and how many of them read requests, rules, freezes, hooks or locks."""
    client.get(page)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(page).status_code == 200
    tables = ("zones_publishrequest", "zones_approvalrule", "zones_freeze", "zones_publishhook", "zones_lock")
    found = [query["sql"] or "" for query in captured]
    return len(found), sum(any(f'"{table}"' in sql for table in tables) for sql in found)


def test_approvals_freezes_and_locks_cost_a_page_one_query_at_most(
    alice: User, bob: User, browser: Browser, zone: Zone, make_zone: MakeZone
) -> None:
    """Tests a zone without approvals, freezes and locks. With some, a page needs further queries to display them."""
    other, client = make_zone(name="other.test."), browser(bob)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 60 A 192.0.2.77"), now=NOW)
    pages = (f"/zones/{zone.name}/", f"/zones/{zone.name}/review/", "/zones/", "/changes/", "/")
    before = {page: queries_of(client, page) for page in pages}
    assert [count for _, count in before.values()] == [1, 1, 0, 1, 1]
    terms: dict[str, Any] = {"reason": "As it is", "author": alice, "now": NOW}

    def keep_back(kept: Zone) -> None:
        now = timezone.now()
        publish_rules.add_approval_rule(scope=Scope(zone=kept), terms=ApprovalTerms(), **terms)
        times = FreezeTimes(now, now + timedelta(hours=1))
        publish_rules.add_freeze(scope=Scope(zone=kept), times=times, **terms)
        locks.add_lock(zone=kept, name="", type=None, manager=NO_MANAGER, **terms)

    keep_back(other)
    assert {page: queries_of(client, page) for page in pages} == before
    keep_back(zone)
    after = {page: queries_of(client, page)[0] - before[page][0] for page in pages}
    assert list(after.values()) == [4, 7, 0, 3, 0]
