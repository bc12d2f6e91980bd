"""The layout around all pages."""

import json

import pytest
from django.contrib.staticfiles.finders import get_finders
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from dnspanel.accounts.models import Role, User
from dnspanel.fleet.models import Node
from dnspanel.web.frame.layout import Frame, RefusalBlock, no_store, say
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import LogHead
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person


def texts_for(user: User) -> list[str]:
    request = RequestFactory().get("/")
    request.user = user
    request.resolver_match = None
    return [entry.text for entry in Frame(request).nav]


def test_the_navigation_holds_what_a_role_can_use(alice: User, bob: User, charlie: User) -> None:
    assert texts_for(alice) == ["Home", "Zones", "Changes", "Imports", "Nodes", "People", "Access", "Audit log"]
    assert texts_for(bob) == ["Home", "Zones", "Changes", "Imports", "Nodes", "Access", "Audit log"]
    assert texts_for(charlie) == ["Home", "Zones", "Changes", "Nodes", "Access", "Audit log"]
    assert texts_for(make_person("mia", Role.MEMBER)) == ["Home", "Zones", "Access", "Audit log"]


def test_the_entry_of_the_page_is_marked(browser: Browser, alice: User) -> None:
    page = browser(alice).get("/zones/new/").content.decode()
    assert page.count('aria-current="page"') == 1
    assert '<a href="/zones/" aria-current="page"' in page
    for path in ("/fleet/minutes/", "/fleet/processes/"):
        assert '<a href="/nodes/" aria-current="page"' in browser(alice).get(path).content.decode()


def test_the_draft_pill_counts_changes_and_zones(
    make_zone: MakeZone, browser: Browser, bob: User, charlie: User
) -> None:
    zone = make_zone()
    assert b"No draft" in browser(bob).get("/frame/draft/", headers=HTMX).content
    for line in ("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)
    pill = browser(bob).get("/frame/draft/", headers=HTMX).content.decode()
    assert '<span class="not-phone">2 changes in 1 zone</span>' in pill
    assert b'id="draft-pill"' not in browser(charlie).get("/zones/").content


def test_the_fleet_pill_answers_204_while_it_says_the_same(
    browser: Browser, charlie: User, active_node: MakeNode
) -> None:
    client = browser(charlie)
    assert b"No nodes" in client.get("/frame/fleet/", headers=HTMX).content
    assert client.get("/frame/fleet/", {"seen": "No active node"}, headers=HTMX).status_code == 204
    node, head = active_node("ns1"), LogHead.objects.get()
    Node.objects.filter(pk=node.pk).update(epoch=head.epoch, acked=head.sequence, contact_at=timezone.now())
    pill = client.get("/frame/fleet/", {"seen": "No active node"}, headers=HTMX)
    assert b"1/1" in pill.content
    assert b"dot is-ok" in pill.content
    assert b"Live: 1 node" in pill.content


def test_what_an_answer_says_adds_up() -> None:
    response = say(HttpResponse(), toast="Saved.", draft_changed=True)
    say(response, speak="three changes", focus="#row")
    assert json.loads(response["HX-Trigger"]) == {
        "toast": {"kind": "ok", "text": "Saved."},
        "draft-changed": "",
        "speak": "three changes",
        "focus-on": "#row",
    }


def test_a_secret_is_kept_by_no_cache() -> None:
    assert no_store(lambda request: HttpResponse())(RequestFactory().get("/"))["Cache-Control"] == "no-store"


def test_htmx_is_shipped_once_and_it_is_the_vendored_copy() -> None:
    shipped = [
        path for finder in get_finders() for path, _ in finder.list([]) if "htmx" in path and path.endswith(".js")
    ]
    assert shipped == ["vendor/htmx.min.js"]


def test_a_block_reports_refusals_of_its_kinds_and_raises_others() -> None:
    found: list[Exception] = []
    refusal = LookupError("no")
    with RefusalBlock(found.append, (LookupError,)):
        raise refusal
    with pytest.raises(ValueError, match="other"), RefusalBlock(found.append, (LookupError,)):
        raise ValueError("other")
    assert found == [refusal]
