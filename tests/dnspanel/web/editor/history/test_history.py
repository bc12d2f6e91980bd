"""The history of a zone: lists, differences, undo and restore."""

import re
from datetime import timedelta
from html import unescape

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.web.editor.history.history import differences
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import queries, rrset_pages
from dnspanel.zones.models import Channel, Operation, Publication, Revision, Zone
from dnspanel.zones.signing import sign
from replication.dns.rrset import RRset
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

ZONE = "/zones/example.test./"
HISTORY = ZONE + "history/"


def publish(
    zone: Zone, author: User, changes: list[RRset], gone: tuple[tuple[str, int], ...] = (), **facts: object
) -> None:
    wanted: dict[tuple[str, int], RRset | None] = {(rrset.name, rrset.type): rrset for rrset in changes}
    wanted |= dict.fromkeys(gone)
    now = NOW + timedelta(minutes=Operation.objects.count())
    change_rrsets(zone=zone, changes=wanted, author=author, channel=Channel.WEB, now=now, **facts)  # type: ignore[arg-type]


@pytest.fixture
def zone(make_zone: MakeZone, alice: User, bob: User) -> Zone:
    """Create a zone. Revision 2 changes www, revision 3 deletes mail, and revision 4 adds a TXT record."""
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.9")
    publish(zone, bob, [rr("www 60 A 192.0.2.2")], reason="OPS <2>")
    publish(zone, alice, [], (("mail.example.test.", 1),))
    publish(zone, alice, [rr('t 300 TXT "<script>alert(1)</script>"')])
    zone.refresh_from_db()
    return zone


def test_the_list_says_who_when_why_and_how_much(zone: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(HISTORY).content.decode()
    assert "OPS &lt;2&gt;" in page
    assert "Zone created" in page
    assert page.index(f"{HISTORY}4/") < page.index(f"{HISTORY}3/") < page.index(f"{HISTORY}1/")
    for name in ("alice", "bob"):
        assert name in page


def test_the_next_revisions_come_on_demand(
    zone: Zone, browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(60):
        publish(zone, bob, [rr(f"www 60 A 192.0.2.{number + 3}")])
    client = browser(bob)
    with django_assert_max_num_queries(20):
        page = client.get(HISTORY).content.decode()
    assert page.count('name="r"') == 50
    more = client.get(HISTORY, {"before": "15"}, headers=HTMX).content.decode()
    assert more.count('name="r"') == 14
    assert "<html" not in more


@pytest.mark.parametrize("before", ["-1", "x", "1e9", "99999999999999", "٣"])
def test_a_cursor_that_is_none_does_no_harm(zone: Zone, browser: Browser, bob: User, before: str) -> None:
    assert browser(bob).get(HISTORY, {"before": before}).status_code == 200


def test_a_revision_shows_its_change_and_the_ways_back(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(HISTORY + "2/").content.decode()
    assert "<del>300</del>" in page
    assert "192.0.2.2" in page
    assert "Revert revision" in page
    assert "Restore revision" in page
    text = browser(bob).get(HISTORY + "4/", {"as": "text"}).content.decode()
    assert "t.example.test. 300 IN TXT &quot;&lt;script&gt;" in text


def test_a_reader_sees_revisions_without_the_ways_back(zone: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(HISTORY + "2/").content.decode()
    assert "Revert revision" not in page


def test_a_revision_that_never_was_is_not_found(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert client.get(HISTORY + "99/").status_code == 404
    assert client.post(HISTORY + "99/undo/").status_code == 404
    assert client.get(HISTORY + "compare/?r=1&r=99").status_code == 404


def test_two_revisions_are_compared_whatever_the_order_of_the_ticks(zone: Zone, browser: Browser, bob: User) -> None:
    found = {(diff.change.name, diff.mark) for diff in differences(zone, 1, 4)}
    assert found == {
        ("www.example.test.", "changed"),
        ("mail.example.test.", "deleted"),
        ("t.example.test.", "added"),
    }
    page = browser(bob).get(f"{HISTORY}compare/?r=3&r=1").content.decode()
    assert "Revision 1 → 3" in page
    assert "mail" in page


@pytest.mark.parametrize("query", ["", "?r=1", "?r=1&r=1", "?r=1&r=2&r=3", "?r=x&r=y"])
def test_comparing_needs_two_ticks(zone: Zone, browser: Browser, bob: User, query: str) -> None:
    response = browser(bob).get(f"{HISTORY}compare/{query}", follow=True)
    assert "Select two revisions" in response.content.decode()


def test_a_record_has_its_own_history(zone: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(f"{HISTORY}record/?name=www.example.test.&type=A").content.decode()
    assert "Revision 2" in page
    assert "Revision 3" not in page
    untouched = browser(charlie).get(f"{HISTORY}record/?name=example.test.&type=NS").content.decode()
    assert "has not changed since the zone was created" in untouched


@pytest.mark.parametrize("who", ["alice", "charlie"])
def test_the_history_of_a_record_leads_to_who_could_change_it_then(
    who: str, zone: Zone, browser: Browser, alice: User, charlie: User
) -> None:
    client = browser({"alice": alice, "charlie": charlie}[who])
    page = client.get(f"{HISTORY}record/?name=www.example.test.&type=A").content.decode()
    link = unescape(re.findall(r'href="?([^" >]*/access/\?[^" >]*)', page)[0])
    assert ("who=" in link) == (who == "alice"), "only who knows its author is led to them"
    answer = client.get(link)
    assert answer.status_code == 200
    assert "The result shows the current access rights." in answer.content.decode()


def test_reverting_a_revision_drafts_its_inverse(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).post(f"{HISTORY}3/undo/", follow=True)
    assert page.redirect_chain == [(ZONE + "review/?reason=Revert+revision+3", 302)]
    assert "Draft created for example.test.: Revert revision 3." in page.content.decode()
    assert 'value="Revert revision 3"' in page.content.decode()  # the default reason, which is stored in the history
    row = rrset_pages.rrset_row(zone=zone, author=bob, name="mail.example.test.", type=1)
    assert row.change.after == rr("mail 300 A 192.0.2.9")
    assert Operation.objects.count() == 1


def test_returning_the_zone_undoes_everything_since(zone: Zone, browser: Browser, bob: User) -> None:
    browser(bob).post(f"{HISTORY}1/return/")
    assert Operation.objects.count() == 3


def test_a_revert_of_what_changed_again_is_a_conflict(zone: Zone, browser: Browser, alice: User, bob: User) -> None:
    publish(zone, alice, [rr("www 60 A 192.0.2.77")])
    page = browser(bob).post(f"{HISTORY}2/undo/", follow=True).content.decode()
    assert "Published version" in page
    assert "192.0.2.77" in page


def test_a_draft_in_the_way_is_named_and_kept(zone: Zone, browser: Browser, bob: User) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 60 A 192.0.2.50"), now=NOW)
    page = browser(bob).post(f"{HISTORY}2/undo/", follow=True).content.decode()
    assert "Your draft already changes A www.example.test." in page
    row = rrset_pages.rrset_row(zone=zone, author=bob, name="www.example.test.", type=1)
    assert row.change.after == rr("www 60 A 192.0.2.50")


def test_the_creation_of_a_zone_is_not_reverted_but_told_how(zone: Zone, browser: Browser, bob: User) -> None:
    assert "To undo this, delete the zone" in browser(bob).post(f"{HISTORY}1/undo/", follow=True).content.decode()


def test_a_change_of_the_signing_is_told_in_words(zone: Zone, browser: Browser, bob: User) -> None:
    sign.sign(zones=[zone], acting=Acting(author=bob, channel=Channel.WEB, now=NOW))
    assert "signed with ECDSAP256SHA256, key " in browser(bob).get(HISTORY).content.decode()
    page = browser(bob).get(HISTORY + "5/").content.decode()
    assert "signed with ECDSAP256SHA256, key " in page
    assert "Only the serial changed" not in page
    assert "Revert revision" not in page


def test_each_row_has_its_ways_back_and_its_zone_file(zone: Zone, browser: Browser, bob: User, charlie: User) -> None:
    page = browser(bob).get(HISTORY).content.decode()
    for number in (2, 3):
        assert f'formaction="{HISTORY}{number}/undo/"' in page
        assert f'formaction="{HISTORY}{number}/return/"' in page
    assert f'formaction="{HISTORY}1/undo/"' not in page  # revision 1 created the zone
    assert f'formaction="{HISTORY}4/return/"' not in page  # the zone is already at revision 4
    assert "formaction" not in browser(charlie).get(HISTORY).content.decode()
    assert f'href="{HISTORY}4/file/"' in browser(charlie).get(HISTORY).content.decode()


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({"author": "ALICE"}, [4, 3, 1]),
        ({"name": "www"}, [2]),
        ({"name": "mail.example.test"}, [3]),
        ({"name": "mail", "author": "bob"}, []),
        ({"channel": "api"}, []),
        ({"channel": "smoke"}, [4, 3, 2, 1]),
        ({"since": "2026-11-21", "until": "2026-11-21"}, [4, 3, 2, 1]),
        ({"since": "2026-11-22"}, []),
        ({"until": "2026-02-31"}, [4, 3, 2, 1]),
    ],
)
def test_revisions_are_found_by_author_way_day_and_name(
    zone: Zone, browser: Browser, bob: User, query: dict[str, str], numbers: list[int]
) -> None:
    page = browser(bob).get(HISTORY, query).content.decode()
    assert [int(found) for found in re.findall(r'aria-label="Compare revision (\d+)"', page)] == numbers
    assert numbers or "No matching revisions" in page


def test_a_name_that_is_none_of_the_zone_is_told(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(HISTORY, {"name": "www.other.test."}).content.decode()
    assert "www.other.test. is not in the zone example.test." in page


def test_rare_revisions_are_looked_for_step_by_step(
    zone: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_REVISIONS_LOOKED_THROUGH", 2)
    client = browser(bob)
    page = client.get(HISTORY, {"author": "bob"}).content.decode()
    assert "Searched back to revision 3" in page
    assert "author=bob&amp;before=3" in page
    rows = client.get(HISTORY, {"author": "bob", "before": "3"}, headers=HTMX).content.decode()
    assert 'aria-label="Compare revision 2"' in rows


def test_a_revision_is_downloaded_as_a_zone_file(zone: Zone, browser: Browser, charlie: User) -> None:
    client = browser(charlie)
    response = client.get(f"{HISTORY}1/file/")
    assert 'filename="example.test-revision-1.zone"' in response["Content-Disposition"]
    lines = response.content.decode().splitlines()
    assert lines[0] == "$ORIGIN example.test."
    assert lines[1].startswith("@ 3600 IN SOA ")
    assert "mail 300 IN A 192.0.2.9" in lines
    assert "www 300 IN A 192.0.2.1" in lines
    assert "mail 300 IN A 192.0.2.9" not in client.get(f"{HISTORY}3/file/").content.decode()
    assert client.get(f"{HISTORY}9/file/").status_code == 404
    Zone.objects.filter(pk=zone.pk).update(rrset_count=1_000_000)
    assert client.get(f"{HISTORY}1/file/")["Location"] == ZONE + "export/"


def test_a_revision_that_was_removed_because_of_its_age_says_so(browser: Browser, alice: User, zone: Zone) -> None:
    Revision.objects.filter(zone=zone, number__lt=4).delete()
    client, reason = browser(alice), "was removed, because it was too old to be kept"
    for path in ("3/", "compare/?r=2&r=4", "3/file/"):
        answer = client.get(HISTORY + path)
        assert (answer.status_code, reason in answer.content.decode()) == (404, True), path
    for path in ("3/undo/", "2/return/"):
        answer = client.post(HISTORY + path)
        assert (answer.status_code, reason in answer.content.decode()) == (404, True), path
    publication = Publication.objects.earliest("sequence")
    page = client.get(f"/publications/{publication.sequence}/").content.decode()
    assert "The history of this publication was removed" in page
