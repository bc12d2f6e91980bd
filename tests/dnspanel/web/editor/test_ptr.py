"""PTR records for A and AAAA: the check box, the offer after a change, and the page that compares them."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.web.editor.lines.rrset_form import digest_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Operation, Zone
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

ZONE = "/zones/example.test./"
PTR = ZONE + "ptr/"
REVERSE = "2.0.192.in-addr.arpa."
WWW = "?name=www.example.test.&type=A"
ROW = {"name": "www", "type": "A", "ttl": "300", "old_name": "www.example.test.", "old_type": "A", "base_revision": "1"}


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.9", "far 300 AAAA 2001:db8::1", "@ 300 MX 10 mail")


@pytest.fixture
def reverse(make_zone: MakeZone) -> Zone:
    return make_zone("1 300 PTR www.example.test.", "8 300 PTR gone.example.test.", name=REVERSE)


def drafted(person: User) -> dict[str, str]:
    edits = [draft.edit_of(operation).change for operation in Operation.objects.filter(draft__author=person)]
    return {change.name: " | ".join(change.after.rdata) if change.after else "" for change in edits}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("new A 192.0.2.5", f'in <span class="mono">{REVERSE}</span>'),
        ("new A 192.0.2.8", 'currently pointing to <span class="mono">gone.example.test.</span>'),
        ("new A 198.51.100.1", "no reverse zone in this panel"),
    ],
    ids=["zone-here", "other-name", "no-zone"],
)
def test_quick_add_names_the_reverse_zone(
    zone: Zone, reverse: Zone, browser: Browser, bob: User, line: str, expected: str
) -> None:
    below = browser(bob).get(ZONE + "quick/", {"line": line}, headers=HTMX).content.decode()
    assert "Also update PTR" in below
    assert expected in below
    assert ("disabled" in below) is ("no reverse zone" in expected)
    assert (
        "Also update PTR" not in browser(bob).get(ZONE + "quick/", {"line": "new TXT a"}, headers=HTMX).content.decode()
    )


@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
def test_quick_add_makes_the_ptr_in_the_same_draft_only_if_ticked(
    zone: Zone, reverse: Zone, browser: Browser, bob: User, headers: dict[str, str]
) -> None:
    client = browser(bob)
    client.post(ZONE + "quick/", {"line": "one A 192.0.2.5"}, headers=headers)
    assert drafted(bob) == {"one.example.test.": "192.0.2.5"}
    answer = client.post(ZONE + "quick/", {"line": "www A 192.0.2.6", "ptr": "yes"}, headers=headers, follow=True)
    assert f"1 PTR in {REVERSE} also added to draft" in answer.content.decode()
    assert drafted(bob)[f"6.{REVERSE}"] == "www.example.test."
    assert f"1.{REVERSE}" not in drafted(bob), "the other address of the name was not asked about"
    if headers:
        assert '<input type="hidden" name="ptr" value="yes">' in answer.content.decode(), (
            "the next one has the tick, too"
        )


def test_the_tick_of_a_row_is_set_if_the_ptr_was_made_and_follows(
    zone: Zone, reverse: Zone, browser: Browser, bob: User
) -> None:
    client = browser(bob)
    row = client.get(ZONE + "rrset/" + WWW, headers=HTMX).content.decode()
    assert " checked> Also update PTR" in row
    mail = client.get(f"{ZONE}rrset/?name=mail.example.test.&type=A", headers=HTMX).content.decode()
    assert "Also update PTR" in mail
    assert " checked> Also update PTR" not in mail
    mx = client.get(f"{ZONE}rrset/?name=example.test.&type=MX", headers=HTMX).content.decode()
    assert "Also update PTR" not in mx
    seen = {"seen": digest_of(rr("www 300 A 192.0.2.1"))}
    typed = ROW | seen | {"name": "web", "values": "192.0.2.1\n192.0.2.7", "ptr": "yes"}
    answer = client.post(ZONE + "rrset/", typed, headers=HTMX).content.decode()
    assert "still name" not in answer
    assert drafted(bob) == {
        "www.example.test.": "",
        "web.example.test.": "192.0.2.1 | 192.0.2.7",
        f"1.{REVERSE}": "web.example.test.",
        f"7.{REVERSE}": "web.example.test.",
    }


@pytest.mark.parametrize("at", ["rrset/", "rrset/form/"], ids=["row", "panel"])
def test_without_the_tick_what_is_left_is_offered(
    zone: Zone, reverse: Zone, browser: Browser, bob: User, at: str
) -> None:
    typed = ROW | {"seen": digest_of(rr("www 300 A 192.0.2.1")), "values": "192.0.2.7"}
    client = browser(bob)
    answer = client.post(ZONE + at, typed, headers=HTMX).content.decode()
    assert "1 PTR still points to a deleted name" in answer
    assert drafted(bob) == {"www.example.test.": "192.0.2.7"}
    client.post(PTR, {"pair": "www.example.test. 192.0.2.1"}, headers=HTMX)
    assert drafted(bob)[f"1.{REVERSE}"] == ""


def test_the_side_panel_has_the_tick_and_says_where(zone: Zone, reverse: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert " checked> Also update PTR" in client.get(ZONE + "rrset/form/" + WWW, headers=HTMX).content.decode()
    typed = {"name": "n", "type": "A", "values": "192.0.2.5", "tab": "raw"}
    checks = client.post(ZONE + "rrset/form/?act=check", typed, headers=HTMX).content.decode()
    assert REVERSE in checks
    client.post(ZONE + "rrset/form/", typed | {"ptr": "yes", "act": "save"}, headers=HTMX)
    assert drafted(bob)[f"5.{REVERSE}"] == "n.example.test."


def test_deleting_offers_to_take_the_ptr_away_and_undoing_offers_the_same(
    zone: Zone, reverse: Zone, browser: Browser, bob: User
) -> None:
    client = browser(bob)
    answer = client.post(ZONE + "rrset/delete/" + WWW, headers=HTMX).content.decode()
    assert 'name="pair" value="www.example.test. 192.0.2.1"' in answer
    assert drafted(bob) == {"www.example.test.": ""}
    client.post(PTR, {"pair": "www.example.test. 192.0.2.1"}, headers=HTMX)
    assert drafted(bob) == {"www.example.test.": "", f"1.{REVERSE}": ""}
    client.post(ZONE + "quick/", {"line": "new A 192.0.2.5", "ptr": "yes"})
    undone = client.post(f"{ZONE}rrset/undo/?name=new.example.test.&type=A", headers=HTMX).content.decode()
    assert 'name="pair" value="new.example.test. 192.0.2.5"' in undone
    assert (
        "still name"
        not in client.post(f"{ZONE}rrset/delete/?name=mail.example.test.&type=A", headers=HTMX).content.decode()
    )
    plain = client.post(f"{ZONE}rrset/delete/" + WWW, follow=True).content.decode()
    assert "still name" not in plain, "its PTR goes already"


def test_without_a_script_the_deletion_says_where_it_is_offered(
    zone: Zone, reverse: Zone, browser: Browser, bob: User
) -> None:
    page = browser(bob).post(ZONE + "rrset/delete/" + WWW, follow=True).content.decode()
    assert "1 PTR outdated. Open the Reverse tab" in page


def test_pasted_lines_get_their_ptrs(zone: Zone, reverse: Zone, browser: Browser, bob: User) -> None:
    text = "a A 192.0.2.3\n  A 192.0.2.4\nb A 192.0.2.3\nc A 198.51.100.1\nt TXT x"
    client = browser(bob)
    panel = client.post(ZONE + "paste/", {"text": text}, headers=HTMX).content.decode()
    assert "Also update PTR" in panel
    assert REVERSE in panel
    client.post(ZONE + "paste/", {"text": text, "act": "add", "ptr": "yes"})
    found = drafted(bob)
    assert {name: found[name] for name in found if REVERSE in name} == {
        f"3.{REVERSE}": "a.example.test.",
        f"4.{REVERSE}": "a.example.test.",
    }


def test_the_page_compares_a_zone_and_mends_what_is_ticked_or_all(
    zone: Zone, reverse: Zone, browser: Browser, bob: User
) -> None:
    client = browser(bob)
    page = client.get(PTR).content.decode()
    assert "<h2>1 to fix</h2>" in page
    assert 'value="mail.example.test. 192.0.2.9"' in page
    assert "1 can’t be compared or fixed" in page
    pair = "mail.example.test. 192.0.2.9"
    answer = client.post(PTR, {"act": "ticked", "pair": [pair, "nonsense", "a..b 1"]}, follow=True).content.decode()
    assert "1 PTR in 2.0.192.in-addr.arpa. also added to draft." in answer
    assert drafted(bob) == {f"9.{REVERSE}": "mail.example.test."}
    assert "No problems found" in answer
    backwards = client.get(f"/zones/{REVERSE}/ptr/").content.decode()
    assert "<h2>1 to fix</h2>" in backwards
    assert "is outdated and will be removed" in backwards
    client.post(f"/zones/{REVERSE}/ptr/", {"act": "all"})
    assert drafted(bob) == {f"9.{REVERSE}": "mail.example.test.", f"8.{REVERSE}": ""}
    assert "No changes needed" in client.post(PTR, {"act": "all"}, follow=True).content.decode()


def test_the_page_can_be_about_the_draft_alone(zone: Zone, reverse: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert "Your draft doesn’t change addresses" in client.get(PTR + "?in=draft").content.decode()
    draft.delete_rrset(author=bob, zone=zone, name="www.example.test.", type=1, now=NOW)
    assert 'value="www.example.test. 192.0.2.1"' in client.get(PTR + "?in=draft").content.decode()


def test_a_reader_sees_the_page_without_its_buttons(zone: Zone, reverse: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(PTR).content.decode()
    assert "No permission to change" in page
    assert "Fix " not in page


def test_a_new_zone_can_be_asked_for_by_an_address(browser: Browser, bob: User) -> None:
    page = browser(bob).get("/zones/new/?names=198.51.100.1").content.decode()
    assert "100.51.198.in-addr.arpa." in page
