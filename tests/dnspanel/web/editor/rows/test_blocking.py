"""Rows with errors that prevent publication, on pages without JavaScript."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.web.editor.rows import blocking
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.discarded import discard
from dnspanel.zones.models import Channel, Operation, Zone
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

ZONE = "/zones/example.test./"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.9")


def put(author: User, zone: Zone, line: str) -> None:
    draft.replace_rrset(author=author, zone=zone, rrset=rr(line), now=NOW)


def test_errors_and_conflicts_are_counted_and_lead_to_their_rows(
    zone: Zone, browser: Browser, alice: User, bob: User
) -> None:
    put(bob, zone, "mail 300 CNAME www")
    put(bob, zone, "www 300 A 192.0.2.2")
    theirs = rr("www 300 A 192.0.2.3")
    change_rrsets(zone=zone, changes={(theirs.name, 1): theirs}, author=alice, channel=Channel.WEB, now=NOW)
    client = browser(bob)
    for url in (ZONE, f"{ZONE}paste/", f"{ZONE}rrset/?name=www.example.test.&type=A"):
        page = client.get(url).content.decode()
        assert '<span class="num">2</span>' in page
        assert "Another change to this record was published" in page
    rows = client.get(ZONE).content.decode()
    assert rows.count("Blocks publishing:") == 2  # in the row, and in the template that scripts copy
    assert "/rrset/?name=mail.example.test.&amp;type=CNAME" in rows
    fragment = client.get(ZONE, headers=HTMX).content.decode()
    assert fragment.count("Blocks publishing:") == 1
    added = client.post(f"{ZONE}quick/", {"line": "new 300 A 192.0.2.1"}, headers=HTMX).content.decode()
    assert '<span class="num">2</span>' in added


def test_a_draft_that_can_be_published_has_no_mark(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "new 300 A 192.0.2.1")
    page = browser(bob).get(ZONE).content.decode()
    assert "blocking errors" not in page
    assert page.count("Blocks publishing:") == 1


def test_warnings_are_counted_marked_and_can_be_looked_at_alone(
    zone: Zone, browser: Browser, bob: User, charlie: User
) -> None:
    put(bob, zone, "new 5 A 192.0.2.1")
    put(bob, zone, "fine 300 A 192.0.2.1")
    put(bob, zone, "@ 300 MX 10 nowhere")
    client = browser(bob)
    page = client.get(ZONE).content.decode()
    assert '<span class="num">2</span> <span class="not-phone">warnings</span>' in page
    assert "resolvers ask again every 5 seconds" in page
    alone = client.get(ZONE + "?in=warnings").content.decode()
    assert alone.count('<tbody class="rrset') == 2
    assert "Records with warnings in your draft" in alone
    client.post(ZONE + "many/", {"all": "1", "in": "warnings", "act": "ttl", "ttl": "600"})
    changed = Operation.objects.filter(wanted__ttl=600).values_list("name", flat=True)
    assert sorted(changed) == ["example.test.", "new.example.test."], "and no other record"
    assert client.get(ZONE + "?in=warnings", headers=HTMX).content.decode().count('<tbody class="rrset') == 1
    discard(author=bob, now=NOW)
    assert "No records in your draft have warnings" in client.get(ZONE + "?in=warnings").content.decode()
    assert browser(charlie).get(ZONE + "?in=warnings").status_code == 200


def test_a_large_draft_is_left_to_the_review(
    zone: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocking, "MOST_OPERATIONS", 1)
    put(bob, zone, "mail 300 CNAME www")
    put(bob, zone, "new 300 A 192.0.2.1")
    page = browser(bob).get(ZONE).content.decode()
    assert "Large drafts are checked only during review." in page
    assert "blocking errors" not in page
