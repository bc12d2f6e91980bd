"""The page of the audit log."""

import csv
import json
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client

from dnspanel.accounts.actors.actors import actor_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, Session, User
from dnspanel.web.access.audit import MOST_ENTRIES, filters_of
from dnspanel.zones.audit import audit_links
from dnspanel.zones.audit.audit_trail import Filters, acts_page
from dnspanel.zones.audit.audit_verify import verify_chain
from dnspanel.zones.models import AuditLink
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, PASSWORD
from tests.publishing import change_rrsets


@pytest.mark.parametrize(
    ("search", "filters"),
    [
        ("", Filters()),
        ("action:Token. who:alice", Filters(action="token.", user="alice")),
        ('from:192.0.2. "web ops" shop', Filters(address="192.0.2.", texts=("web ops", "shop"))),
        ("session:1F3a", Filters(session="1f3a")),
        ("a:b\0c", Filters(texts=("a:b", "c"))),
    ],
)
def test_a_search_is_read_word_by_word(search: str, filters: Filters) -> None:
    assert filters_of(search) == filters


def test_a_filter_that_there_is_not_is_told_beside_the_list(browser: Browser, alice: User) -> None:
    page = browser(alice).get("/audit/", {"q": "user:alice who:alice"}).content.decode()
    assert "Unknown filters, searched as text: <code>user:</code>." in " ".join(page.split())
    assert "<code>who:</code>, <code>action:</code>, <code>from:</code>, <code>session:</code>" in page
    assert "unknown-filters" not in browser(alice).get("/audit/", {"q": "who:alice from:2001:db8:: b"}).content.decode()


@pytest.fixture
def log(alice: User, bob: User) -> None:
    with audit.coming_from(audit.Origin("192.0.2.7", "one")):
        audit.record(action="sign-in.failed", by=None, now=NOW, target="bob")
    audit.record(action="team.create", by=alice, now=NOW, target="Web <ops>", members=["ana", "bea"], empty="")
    audit.record(action="webhook.create", by=bob, now=NOW, target="hooks.test")


@pytest.mark.usefixtures("log")
def test_administrators_see_all_and_others_their_own_acts(browser: Browser, alice: User, bob: User) -> None:
    page = browser(alice).get("/audit/").content.decode()
    assert "Web &lt;ops&gt;" in page
    assert "ana, bea" in page
    assert '<span class="quiet">empty</span>' not in page
    mine = browser(bob).get("/audit/").content.decode()
    assert "hooks.test" in mine
    assert "ops" not in mine


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("action:sign-in.failed", "192.0.2.7"),
        ("from:192.0.2.", "sign-in.failed"),
        ("who:ALICE ops", "team.create"),
        ("action:publish", "example.test"),
    ],
)
def test_a_search_finds_by_its_words(
    browser: Browser, make_zone: MakeZone, alice: User, search: str, found: str
) -> None:
    make_zone()
    page = browser(alice).get("/audit/", {"q": search}).content.decode()
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert rows.count("<tr") == 1
    assert found in rows


@pytest.mark.usefixtures("log")
def test_nothing_found_says_so_with_the_search(browser: Browser, alice: User) -> None:
    assert b"No entries match" in browser(alice).get("/audit/?q=nonsense").content


def test_pages_follow_each_other_and_htmx_gets_the_rows_alone(browser: Browser, alice: User) -> None:
    for number in range(MOST_ENTRIES + 2):
        audit.record(action="team.create", by=alice, now=NOW, target=f"team-{number}-")
    client = browser(alice)
    first = client.get("/audit/?q=action:team.")
    after = first.context["next_after"]
    assert b"team-1-" not in first.content
    rest = client.get("/audit/", {"q": "action:team.", "after": after}, headers={**HTMX, "HX-Target": "audit-more"})
    assert rest.content.lstrip().startswith(b"<tbody>")
    assert b"team-1-" in rest.content
    assert rest.context["next_after"] == ""
    for nonsense in ("x", "²-1", "-", "9" * 5000):
        assert client.get("/audit/", {"after": nonsense}).status_code == 200


def test_a_row_opens_with_before_and_after_and_its_place_in_the_chain(browser: Browser, alice: User, bob: User) -> None:
    with audit.coming_from(audit.Origin("192.0.2.7", "req-1")):
        audit.record(
            action="zone.settings", by=alice, now=NOW, target="a.test.", tags=["shop"], tags_before=["<old>"], team=""
        )
    audit_links.link_new_acts()
    entry = AuditEntry.objects.get()
    client = browser(alice)
    listed = client.get("/audit/").content.decode()
    assert f'href="/audit/entry/{entry.pk}/"' in listed
    assert "<summary>alice changed the settings of a.test.</summary>" in listed
    assert "<dt>Tags</dt><dd><del>&lt;old&gt;</del> → <ins>shop</ins></dd>" in listed
    page = client.get(f"/audit/entry/{entry.pk}/").content.decode()
    for text in ("192.0.2.7", "req-1", "&lt;old&gt;", "shop", f"1:{AuditLink.objects.get().hash}"):
        assert text in page
    assert browser(bob).get(f"/audit/entry/{entry.pk}/").status_code == 404
    assert client.get(f"/audit/nonsense/{entry.pk}/").status_code == 404


def test_a_publication_opens_with_the_rrsets_it_changed(browser: Browser, make_zone: MakeZone, alice: User) -> None:
    zone = make_zone()
    rrset = rr("www 60 A 192.0.2.99")
    published = change_rrsets(
        zone=zone, changes={(rrset.name, rrset.type): rrset}, author=alice, channel="web", now=NOW
    )
    assert published is not None
    page = browser(alice).get(f"/audit/publication/{published.sequence}/").content.decode()
    assert '<h1 class="wrap">alice published 1 change of example.test.</h1>' in page
    displayed = page[page.index('id="act-rrsets"') :]
    for text in ("example.test.</p>", 'title="www.example.test."', "TTL 60", "192.0.2.99", "added"):
        assert text in displayed
    assert f'href="/publications/{published.sequence}/"' in page


@pytest.mark.usefixtures("log")
def test_what_a_search_finds_comes_as_a_file_that_no_spreadsheet_runs(browser: Browser, alice: User) -> None:
    audit.record(action="team.create", by=alice, now=NOW, target="=HYPERLINK(1)")
    audit_links.link_new_acts()
    client = browser(alice)
    found = client.get("/audit/export.json?q=action:team.")
    rows = json.loads(b"".join(found.streaming_content) if found.streaming else found.content)
    assert [row["target"] for row in rows] == ["=HYPERLINK(1)", "Web <ops>"]
    assert rows[1]["details"]["members"] == ["ana", "bea"]
    assert rows[1]["number"] > 0
    assert len(rows[1]["hash"]) == 64
    table = list(csv.reader(client.get("/audit/export.csv?q=action:team.").content.decode().splitlines()))
    assert [row[9] for row in table] == ["target", "'=HYPERLINK(1)", "Web <ops>"]
    assert json.loads(client.get("/audit/export.json?q=nonsense").content) == []
    assert client.get("/audit/export.xml").status_code == 404


@pytest.mark.usefixtures("log")
def test_the_chain_is_checked_by_a_button_and_the_page_says_what_came_of_it(
    browser: Browser, alice: User, bob: User
) -> None:
    client = browser(alice)
    assert b"Check now" not in browser(bob).get("/audit/").content
    assert browser(bob).post("/audit/check/").status_code == 403
    assert client.post("/audit/check/", follow=True).status_code == 200
    assert b"check in progress" in client.get("/audit/").content or not AuditLink.objects.exists()
    audit_links.link_new_acts()
    audit_links.check_chain(now=NOW)
    page = client.get("/audit/").content.decode()
    assert "intact" in page
    assert "broken" not in page
    AuditEntry.objects.filter(action="team.create").delete()
    audit_links.check_chain(now=NOW)
    page = client.get("/audit/").content.decode()
    assert "broken" in page
    assert "is missing" in page


def test_acts_and_publications_of_one_session_are_found_from_the_list_of_sessions(
    alice: User,
) -> None:
    """Previously the log had the address of an act, but not the session."""
    laptop, phone = Client(), Client()
    for client in (laptop, phone):
        client.post("/sign-in/", {"login": "alice", "password": PASSWORD})
    laptop.post("/teams/new/", {"name": "Web"})
    servers = {"nameservers": "ns1.example.net.", "hostmaster": "h@example.net"}
    laptop.post("/zones/new/", {"names": "shop.test", **servers, "form_id": str(uuid4())})
    phone.post("/teams/new/", {"name": "Ops"})
    ids = {client: Session.objects.get(pk=client.session.session_key).public_id for client in (laptop, phone)}

    actor = actor_of(alice)
    assert actor is not None

    def found(session: str) -> list[str]:
        return [act.action for act in acts_page(actor, filters=Filters(session=session))[0]]

    assert found(ids[laptop]) == found(ids[laptop][:8]) == ["publish", "team.create", "sign-in"]
    assert found(ids[phone]) == ["team.create", "sign-in"]
    assert f"?q=session:{ids[phone]}" in laptop.get("/account/signing-in/").content.decode()
    page = laptop.get("/audit/", {"q": f"session:{ids[laptop]}"}).content.decode()
    assert f"Session {ids[laptop][:8]}" in page
    entry = AuditEntry.objects.get(target="Ops")
    assert ids[phone] in laptop.get(f"/audit/entry/{entry.pk}/").content.decode()
    # A made-up cookie is no session, and says nothing in the log.
    stranger = Client()
    stranger.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    stranger.post("/sign-in/", {"login": "alice", "password": "wrong"})
    assert AuditEntry.objects.get(action="sign-in.failed").session == ""


def test_the_chain_covers_the_session(alice: User) -> None:
    with audit.coming_from(audit.Origin("192.0.2.7", "one", lambda: "1f3a")):
        audit.record(action="team.create", by=alice, now=NOW, target="Web")
    audit_links.link_new_acts()
    assert verify_chain().faults == ()
    AuditEntry.objects.filter(session="1f3a").update(session="")
    assert len(verify_chain().faults) == 1
