"""Paste of many lines: all are checked, and the valid ones enter the draft."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.counted_lines import TooManyLines
from dnspanel.web.editor.lines.pasted_table import mapping_of, read_table
from dnspanel.web.editor.lines.quick_add import PastedLine, read_lines
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Operation, Zone
from replication.dns.rrset import RRset
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.work import work_of

PASTE = "/zones/example.test./paste/"
TEXT = """\
$TTL 600
one  A 192.0.2.1
     A 192.0.2.2
two  A 192.0.2.300
three.example.test A 192.0.2.3
@ SOA a. b. 1 2 3 4 5
t TXT "<script>alert(1)</script>"
www A 192.0.2.9
"""


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "shop 300 CNAME www")


def wanted(bob: User, zone: Zone, name: str, type: int = 1) -> RRset | None:
    return rrset_pages.rrset_row(zone=zone, author=bob, name=name, type=type).change.after


def test_each_line_says_what_it_is_or_what_is_wrong(zone: Zone, browser: Browser, bob: User) -> None:
    panel = browser(bob).post(PASTE, {"text": TEXT}, headers=HTMX).content.decode()
    assert "Add 4 of 7 lines" in panel
    assert "column 8" in panel
    assert "three.example.test has no trailing dot" in panel
    assert "The SOA cannot be pasted" in panel
    assert "&lt;script&gt;" in panel
    assert "<script>" not in panel
    assert Operation.objects.count() == 0


def test_the_good_lines_go_into_the_draft_and_the_page_shows_them(zone: Zone, browser: Browser, bob: User) -> None:
    response = browser(bob).post(PASTE, {"text": TEXT, "act": "add"}, follow=True)
    assert response.redirect_chain[0][0] == "/zones/example.test./?in=draft"
    assert "4 of 7 lines added to draft." in response.content.decode()
    assert wanted(bob, zone, "one.example.test.") == rr("one 600 A 192.0.2.1 | 192.0.2.2")
    # $TTL applies to new RRsets only; www keeps its TTL.
    assert wanted(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.1 | 192.0.2.9")


def test_only_ticked_lines_are_added(zone: Zone, browser: Browser, bob: User) -> None:
    data = {"text": TEXT, "act": "add", "checked": "yes", "line": ["2"]}
    assert browser(bob).post(PASTE, data, headers=HTMX)["HX-Redirect"] == "/zones/example.test./?in=draft"
    assert wanted(bob, zone, "one.example.test.") == rr("one 600 A 192.0.2.1")
    assert Operation.objects.count() == 1


def test_doubled_names_are_left_out_until_the_question_is_answered(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    client.post(PASTE, {"text": TEXT, "act": "add", "means": "absolute"})
    assert wanted(bob, zone, "three.example.test.") is not None
    assert wanted(bob, zone, "three.example.test.example.test.") is None


def test_a_second_cname_is_a_fault_of_its_line(zone: Zone, browser: Browser, bob: User) -> None:
    panel = browser(bob).post(PASTE, {"text": "shop CNAME mail"}, headers=HTMX).content.decode()
    assert "This name already has a CNAME record" in panel


def test_a_stated_ttl_that_moves_an_rrset_says_so(zone: Zone, browser: Browser, bob: User) -> None:
    panel = browser(bob).post(PASTE, {"text": "www 60 A 192.0.2.9"}, headers=HTMX).content.decode()
    assert "from 300 to 60" in panel


def test_rows_of_a_table_go_into_the_draft_and_a_faulty_one_says_why(zone: Zone, browser: Browser, bob: User) -> None:
    table = "Name,Type,Value,Disabled\nwww,A,192.0.2.9,\nnew,A,192.0.2.1,\nnew,A,192.0.2.2,yes\nbad,A,192.0.2.300,\n"
    client = browser(bob)
    panel = client.post(PASTE, {"text": table}, headers=HTMX).content.decode()
    assert "Recognized as a table with the columns name, type, value, disabled." in panel
    assert "Add 3 of 4 lines" in panel
    assert "bad,A,192.0.2.300," in panel
    client.post(PASTE, {"text": table, "act": "add"})
    assert wanted(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.1 | 192.0.2.9")
    new = wanted(bob, zone, "new.example.test.")
    assert new is not None
    assert (new.rdata, new.disabled, new.ttl) == (("192.0.2.1", "192.0.2.2"), ("192.0.2.2",), 3600)


def test_a_text_beyond_the_limit_is_not_cut_but_refused(zone: Zone, browser: Browser, bob: User) -> None:
    response = browser(bob).post(PASTE, {"text": "x" * 2_000_001, "act": "add"}, headers=HTMX)
    assert response.status_code == 422
    assert "2,000,001 characters" in response.content.decode()
    assert 'href="/imports/new/"' in response.content.decode()


def test_too_many_lines_are_refused_and_kept(zone: Zone, browser: Browser, bob: User) -> None:
    text = "\n".join(f"h{number} A 192.0.2.1" for number in range(1001))
    response = browser(bob).post(PASTE, {"text": text}, headers=HTMX)
    assert response.status_code == 422
    assert "at most 1,000" in response.content.decode()
    assert 'href="/imports/new/"' in response.content.decode()
    assert "h1000 A 192.0.2.1" in response.content.decode()


def test_without_a_script_pasting_is_a_page(zone: Zone, browser: Browser, bob: User) -> None:
    assert b"<html" in browser(bob).get(PASTE).content
    assert b"Add 4 of 7 lines" in browser(bob).post(PASTE, {"text": TEXT}).content


def text_of(line: str) -> str:
    """Return the line repeated to two megabytes."""
    return line * (1_990_000 // len(line))


@pytest.mark.parametrize(
    "line",
    ["www 300 A 192.0.2.1 ;note\n", "$TTL 300\n", "www,A,192.0.2.1\n", "x\n", "( a\n)\n"],
    ids=["records", "directives", "a table", "words", "parentheses"],
)
def test_a_long_paste_is_refused_before_it_is_parsed(line: str, zone: Zone, browser: Browser, bob: User) -> None:
    """Previously a web worker parsed 83,000 lines for 16 seconds before it counted them."""
    lines = text_of(line).count("\n")
    mapping = mapping_of(text_of(line), zone.name)

    def read(text: str) -> list[PastedLine]:
        return read_table(text, zone.name, mapping) if mapping else read_lines(text, zone.name)

    def refuse() -> None:
        with pytest.raises(TooManyLines) as refused:
            read(text_of(line))
        assert refused.value.count == lines

    assert work_of(refuse).steps < work_of(lambda: read((line if mapping else "www 300 A 192.0.2.1\n") * 900)).steps
    response = browser(bob).post(PASTE, {"text": text_of(line), "act": "add"}, headers=HTMX)
    assert response.status_code == 422
    assert "at most 1,000" in response.content.decode()


@pytest.mark.parametrize(
    "text", ["x" * 300_000, "a," + "x" * 300_000 + "\n", 'name,type,value\na,TXT,"' + "x" * 300_000]
)
def test_a_line_longer_than_a_cell_of_pythons_csv_is_no_server_error(
    text: str, zone: Zone, browser: Browser, bob: User
) -> None:
    response = browser(bob).post(PASTE, {"text": text, "act": "add"}, headers=HTMX)
    assert response.status_code == 200
    assert "1 line" in response.content.decode()
