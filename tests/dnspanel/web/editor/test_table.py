"""The zone editor: table, quick add, and notes about other people's edits."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.web import row_patterns
from dnspanel.web.frame.rows import row_id
from dnspanel.zones.acting import Acting
from dnspanel.zones.complaints import warned
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import find_rrsets, rrset_order, rrset_pages
from dnspanel.zones.lists.rrset_order import RRsetColumn
from dnspanel.zones.models import Channel, Operation, Zone
from dnspanel.zones.order import display_order
from dnspanel.zones.publishing import edit
from replication.dns.rrset import RRset, make
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

ZONE = "/zones/example.test./"
QUICK = ZONE + "quick/"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone(
        "www 300 A 192.0.2.1 | 192.0.2.2", "mail 300 A 192.0.2.9", "@ 3600 MX 10 mail", "shop 300 CNAME www"
    )


def wanted(author: User, zone: Zone, name: str, type: int = 1) -> RRset | None:
    return rrset_pages.rrset_row(zone=zone, author=author, name=name, type=type).change.after


def add(client: Client, line: str, **fields: str) -> tuple[int, str]:
    response = client.post(QUICK, {"line": line, **fields}, headers=HTMX)
    return response.status_code, response.content.decode()


# The table


def test_an_editor_sees_the_records_and_the_line_to_add_one(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(ZONE).content.decode()
    assert 'id="quick-line"' in page
    assert "192.0.2.9" in page
    assert page.index(">@</a>") < page.index(">mail</a>") < page.index(">www</a>")


def test_a_reader_sees_records_and_the_reason_but_no_input(zone: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(ZONE).content.decode()
    assert "192.0.2.9" in page
    assert "Your role is Reader" in page
    for control in (
        'id="quick-line"',
        "data-edit",
        "data-delete",
        "draft-bar",
        reverse("zone-delete", args=[zone.name]),
    ):
        assert control not in page


def test_a_zone_that_is_not_there_is_not_found(browser: Browser, bob: User) -> None:
    assert browser(bob).get("/zones/nothing.test./").status_code == 404


def test_soa_and_ns_stand_first(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone("@ 300 A 192.0.2.1", "@ 300 MX 10 mail", "mail 300 A 192.0.2.9")
    page = browser(bob).get(ZONE).content.decode()
    types = re.findall(r'<span class="type">([A-Z]+)</span>', page)
    assert types == ["SOA", "NS", "A", "MX", "A"]
    orders = re.findall(r'data-order="([^"]+)"', page)
    assert orders == sorted(orders)


def test_a_row_without_a_comment_leaves_its_place_to_the_values(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    """Previously SOA, SPF and HTTPS values wrapped next to an empty comment column."""
    zone = make_zone("www 300 A 192.0.2.1")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("shop 300 A 192.0.2.1", comment="till May"), now=NOW)
    rows = browser(bob).get(ZONE).content.decode().split("<tbody")
    [www] = [row for row in rows if 'data-name="www.example.test."' in row]
    [shop] = [row for row in rows if 'data-name="shop.example.test."' in row]
    assert 'colspan="2"' in www
    assert "col-comment" not in www
    assert 'colspan="2"' not in shop
    assert 'class="col-comment">till May<' in shop


def test_the_filter_counts_types_while_somebody_is_drafting(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert "TXT (1)" not in client.get(ZONE).content.decode()
    _, answer = add(client, "@ 300 TXT hello")
    filter_ = answer[answer.index('id="filter-type"') :]
    assert 'hx-swap-oob="innerHTML"' in filter_
    assert "TXT (1)" in filter_
    assert "TXT (1)" in client.get(ZONE).content.decode()


def test_a_filter_that_there_is_not_is_told_where_nothing_is_found(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    """Values contain words with colons, so only a search without results is reported as an unknown filter."""
    make_zone('@ 300 TXT "v=spf1 include:spf.example.net -all"')
    client = browser(bob)
    page = client.get(ZONE, {"q": "typ:A"}).content.decode()
    assert "Unknown filters, searched as text:" in page
    assert "Did you mean <code>type:</code>?" in page
    assert "unknown-filters" not in client.get(ZONE, {"q": "include:spf"}).content.decode()


def test_filters_in_the_text_find_records_and_their_faults_are_told(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    found = client.get(ZONE, {"q": "type:a -name:www ttl:300"}).content.decode()
    assert [row_id(f"{owner}.example.test.", 1) in found for owner in ("mail", "www")] == [True, False]
    assert "data-row" not in client.get(ZONE, {"q": "type:a tag:shop"}, headers=HTMX).content.decode()
    wrong = client.get(ZONE, {"q": "type:mxx ttl:x"}, headers=HTMX).content.decode()
    assert "mxx isn’t a valid type. Did you mean type:mx?" in wrong
    assert "ttl: needs seconds" in wrong


def test_a_text_in_a_large_zone_is_looked_for_step_by_step(
    zone: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display_order, "LARGE", 0)  # and names don't have places yet
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", 4)
    client = browser(bob)
    page = client.get(ZONE, {"q": "192.0.2.1"}).content.decode()
    assert "No matching records" not in page
    assert 'Searched up to <span class="mono">mail</span>' in page
    step = re.search(r'hx-get="([^"]+)" hx-trigger="load, click"', page)
    assert step is not None
    rest = client.get(html.unescape(step[1]), headers=HTMX).content.decode()
    assert row_id("www.example.test.", 1) in rest
    assert "more-rows" not in rest
    after = html.unescape(step[1]).replace("192.0.2.1", "absent")
    assert "No other records in this zone match" in client.get(after, headers=HTMX).content.decode()


def test_filters_find_by_text_and_type_and_stay_in_the_form(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(ZONE, {"q": "192.0.2.9", "type": "A"}).content.decode()
    assert row_id("mail.example.test.", 1) in page
    assert row_id("www.example.test.", 1) not in page
    assert 'value="192.0.2.9"' in page
    fragment = browser(bob).get(ZONE, {"type": "MX"}, headers=HTMX).content.decode()
    assert fragment.lstrip().startswith('<div class="table-wrap"')
    assert row_id("example.test.", 15) in fragment
    assert "quick-line" not in fragment


def test_a_filter_that_finds_nothing_shows_itself_and_a_way_out(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(ZONE, {"q": "<b>none"}).content.decode()
    assert "No matching records" in page
    assert '<span class="chip">&lt;b&gt;none</span>' in page


def test_a_page_restored_from_history_is_whole(zone: Zone, browser: Browser, bob: User) -> None:
    headers = HTMX | {"HX-History-Restore-Request": "true"}
    assert b"<html" in browser(bob).get(ZONE, headers=headers).content


@pytest.mark.parametrize("after", ["nonsense", "zz-1", "00-x", "", "ff" * 300 + "-70000"])
def test_a_cursor_that_is_none_does_no_harm(zone: Zone, browser: Browser, bob: User, after: str) -> None:
    assert browser(bob).get(ZONE, {"after": after}).status_code == 200


def test_a_zone_of_ten_thousand_rrsets_costs_the_queries_of_a_small_one(
    alice: User,
    bob: User,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    hosts = [RRset(f"h{number:05}.example.test.", 1, 300, ("192.0.2.1",)) for number in range(10_000)]
    ns = make("example.test.", 2, 300, ["ns1.example.net.", "ns2.example.net."])
    edit.create_zone(zone=edit.NewZone("example.test.", [ns, *hosts]), acting=Acting(alice, Channel.IMPORT, NOW))
    client = browser(bob)
    client.get(ZONE)
    drawn: list[str] = []
    pattern_of = row_patterns._pattern_of
    monkeypatch.setattr(row_patterns, "_pattern_of", lambda row, draw: drawn.append(row.type) or pattern_of(row, draw))
    with django_assert_max_num_queries(22):
        page = client.get(ZONE).content.decode()
    assert drawn == ["SOA", "NS", "A"]  # all other rows reuse these patterns
    assert page.count("data-delete") == 99  # 100 rows, except the SOA, which cannot be deleted
    cursor = page.split("after=")[1].split('"')[0]
    with django_assert_max_num_queries(13):
        more = client.get(f"{ZONE}?after={cursor}", headers=HTMX).content.decode()
    assert more.count("data-delete") == 100
    assert len(page) < 400_000


# Quick add


def test_one_line_and_enter_puts_a_record_into_the_draft(zone: Zone, browser: Browser, bob: User) -> None:
    status, fragment = add(browser(bob), "www2 300 A 192.0.2.7")
    assert status == 200
    assert wanted(bob, zone, "www2.example.test.") == rr("www2 300 A 192.0.2.7")
    assert row_id("www2.example.test.", 1) in fragment
    assert 'hx-swap-oob="beforeend:#rrsets"' in fragment
    assert "1 change" in fragment
    assert zone.rrsets.filter(name="www2.example.test.").count() == 0


def test_adding_tells_the_page_where_to_look_and_what_to_say(zone: Zone, browser: Browser, bob: User) -> None:
    response = browser(bob).post(QUICK, {"line": "www2 A 192.0.2.7"}, headers=HTMX)
    assert "www2 A added to draft, 1 change" in response["HX-Trigger"]
    assert "draft-changed" in response["HX-Trigger"]
    assert response["HX-Trigger-After-Settle"] == '{"focus-on": "#quick-line"}'


def test_without_a_script_adding_leads_back_to_the_row(zone: Zone, browser: Browser, bob: User) -> None:
    response = browser(bob).post(QUICK, {"line": "www2 A 192.0.2.7"}, follow=True)
    assert response.redirect_chain == [(f"{ZONE}#{row_id('www2.example.test.', 1)}", 302)]
    assert "www2 A added to draft." in response.content.decode()


def test_a_value_joins_its_rrset_and_adding_it_twice_is_adding_it_once(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    for _ in range(2):
        assert add(client, "www A 192.0.2.3")[0] == 200
    assert wanted(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.1 | 192.0.2.2 | 192.0.2.3")
    assert Operation.objects.count() == 1


def test_a_value_that_is_there_makes_no_change(zone: Zone, browser: Browser, bob: User) -> None:
    status, fragment = add(browser(bob), "www A 192.0.2.1")
    assert (status, Operation.objects.count()) == (200, 0)
    assert "already has this value" in fragment


def test_a_new_record_takes_the_ttl_of_the_soa(zone: Zone, browser: Browser, bob: User) -> None:
    soa = wanted(bob, zone, zone.name, 6)
    assert soa is not None
    add(browser(bob), "new A 192.0.2.3")
    new = wanted(bob, zone, "new.example.test.")
    assert new is not None
    assert new.ttl == soa.ttl


def test_while_typing_the_line_is_shown_as_understood(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    fragment = client.get(QUICK, {"line": "www 60 A 192.0.2.3"}, headers=HTMX).content.decode()
    assert "www.example.test." in fragment
    assert "TTL 60" in fragment
    assert "will also change from 300 to 60" in fragment
    assert Operation.objects.count() == 0
    wrong = client.get(QUICK, {"line": "shop A 192.0.2.3"}, headers=HTMX).content.decode()
    assert "CNAME must be the only record" in wrong
    assert "column 8" in client.get(QUICK, {"line": "shop A x"}, headers=HTMX).content.decode()


def test_the_checks_while_typing_know_the_rest_of_the_draft(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    line = {"line": "@ MX 20 mail2"}
    assert "doesn’t have an address" in client.get(QUICK, line, headers=HTMX).content.decode()
    add(client, "mail2 A 192.0.2.8")
    assert "no address" not in client.get(QUICK, line, headers=HTMX).content.decode()


def test_a_fault_keeps_the_line_and_says_where(zone: Zone, browser: Browser, bob: User) -> None:
    status, fragment = add(browser(bob), "www A 192.0.2.x")
    assert status == 422
    assert "column 7" in fragment
    page = browser(bob).post(QUICK, {"line": 'x TXT "<script>alert(1)</script>'})
    assert page.status_code == 422
    assert 'value="x TXT &quot;&lt;script&gt;alert(1)&lt;/script&gt;"' in page.content.decode()
    assert Operation.objects.count() == 0


def test_a_doubled_zone_name_is_asked_about_and_never_doubled_silently(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    status, fragment = add(client, "new.example.test A 192.0.2.3")
    assert status == 422
    assert "new.example.test.example.test." in fragment
    assert Operation.objects.count() == 0
    assert add(client, "new.example.test A 192.0.2.3", means="absolute")[0] == 200
    assert wanted(bob, zone, "new.example.test.") is not None
    assert add(client, "new.example.test A 192.0.2.3", means="relative")[0] == 200
    assert wanted(bob, zone, "new.example.test.example.test.") is not None


def test_a_second_cname_offers_to_replace_the_first(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    status, fragment = add(client, "shop CNAME mail")
    assert status == 422
    assert "Replace value" in fragment
    assert add(client, "shop CNAME mail", replace="yes")[0] == 200
    assert wanted(bob, zone, "shop.example.test.", 5) == rr("shop 300 CNAME mail")


@pytest.mark.parametrize(
    "value",
    [r'"a\"b\\c"', '"<script>alert(1)</script>"', r'"\000\255"', '"a" "b"', '"' + "k" * 255 + '" "' + "k" * 145 + '"'],
)
def test_text_is_stored_exactly_and_shown_escaped(zone: Zone, browser: Browser, bob: User, value: str) -> None:
    status, fragment = add(browser(bob), f"t TXT {value}")
    assert status == 200
    stored = wanted(bob, zone, "t.example.test.", 16)
    assert stored is not None
    assert stored.rdata == (value,)
    assert "<script>" not in fragment


def test_a_record_of_an_unknown_type_travels_as_bytes(zone: Zone, browser: Browser, bob: User) -> None:
    assert add(browser(bob), r"x TYPE65280 \# 2 abcd")[0] == 200
    assert wanted(bob, zone, "x.example.test.", 65280) is not None


# Others


def test_others_drafts_are_named_in_a_slim_line(zone: Zone, browser: Browser, alice: User, bob: User) -> None:
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("a 300 A 192.0.2.1"), now=NOW)
    assert "alice has 1 change in draft" in browser(bob).get(ZONE).content.decode()
    assert "in draft</span>" not in browser(alice).get(ZONE).content.decode()


def publish(zone: Zone, author: User, line: str) -> None:
    rrset = rr(line)
    changes = {(rrset.name, rrset.type): rrset}
    change_rrsets(zone=zone, changes=changes, author=author, channel=Channel.WEB, now=NOW)


def test_news_says_what_others_published_and_whether_it_touches_mine(
    zone: Zone, browser: Browser, alice: User, bob: User
) -> None:
    client = browser(bob)
    news = ZONE + "news/"
    assert client.get(news, {"since": "1"}, headers=HTMX).status_code == 204
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.50"), now=NOW)
    publish(zone, alice, "other 300 A 192.0.2.1")
    strip = client.get(news, {"since": "1"}, headers=HTMX).content.decode()
    assert "Revision 2 by alice" in strip
    assert "Conflicts with your draft" not in strip
    assert client.get(news, {"since": "1", "seen": "2"}, headers=HTMX).status_code == 204
    publish(zone, alice, "www 300 A 192.0.2.60")
    strip = client.get(news, {"since": "1", "seen": "2"}, headers=HTMX).content.decode()
    assert "Conflicts with your draft: 1." in strip
    assert reverse("zone-review", args=[zone.name]) in strip


def test_the_chip_says_where_the_revision_is(zone: Zone, browser: Browser, charlie: User) -> None:
    chip = browser(charlie).get(ZONE + "sync/", headers=HTMX).content.decode()
    assert "no active nodes" in chip
    assert reverse("publication", args=[zone.sequence]) in chip


def test_records_with_warnings_are_found_and_say_them(
    zone: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(zone, bob, "old 300 CNAME gone")
    client = browser(bob)
    table = client.get(ZONE, {"q": "has:warning"}, headers=HTMX).content.decode()
    assert ">old</a>" in table
    assert "gone.example.test" in table.split(">old</a>")[1]
    assert ">www</a>" not in table
    assert "Search further" not in table
    monkeypatch.setattr(warned, "MOST_CHECKED", 1)
    assert "Search further" in client.get(ZONE, {"q": "has:warning"}, headers=HTMX).content.decode()
    for page in ("/zones/", "/search/"):
        refused = client.get(page, {"q": "has:warning"})
        assert refused.status_code == 422
        assert "a zone’s record table" in refused.content.decode()
    everything = {"q": "has:warning", "all": "1", "act": "ttl", "ttl": "60"}
    assert client.post(f"{ZONE}many/", everything).status_code == 422


MOST_BYTES = 150_000  # size of a large zone's first page before compression


def test_a_page_of_records_is_light(make_zone: MakeZone, bob: User) -> None:
    """Previously it weighed 228 KB: each row contained its URLs twice, and most of the rest was white space."""
    make_zone(*(f"host{number} 300 A 192.0.2.{number % 250 + 1}" for number in range(1, 1000)))
    client = Client()  # reads the page without collapsing white space
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    page = client.get(ZONE).content
    assert page.count(b'class="rrset') == 100
    assert len(page) < MOST_BYTES


# Sorting


def test_heads_sort_the_records_and_the_next_rows_stay_in_the_order(zone: Zone, browser: Browser, bob: User) -> None:
    for number in range(101):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(f"h{number} {10_000 + number} A 192.0.2.1"), now=NOW)
    client = browser(bob)
    page = client.get(ZONE).content.decode()
    assert f'href="{ZONE}?sort=ttl"' in page
    assert f'href="{ZONE}?sort=-name"' in page
    assert page.count("aria-sort=") == 1
    longest = client.get(ZONE, {"sort": "-ttl"}, headers=HTMX).content.decode()
    assert longest.index(">h100</a>") < longest.index(">h99</a>") < longest.index(">h1</a>")
    assert '<option value="-ttl" selected>' in longest
    assert "data-sorted" in longest
    rest = re.search(r'hx-get="([^"]+sort=-ttl&amp;after=[^"]+)"', longest)
    assert rest is not None
    more = client.get(html.unescape(rest[1]), headers=HTMX).content.decode()
    assert ">h0</a>" in more
    assert ">@</a>" in more
    assert ">h1</a>" not in more


def test_a_zone_too_large_for_a_column_says_so_at_its_head_and_stays_sorted_by_name(
    zone: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", 3)
    monkeypatch.setitem(rrset_order.MOST_SORTED, RRsetColumn.VALUE, 5)
    client = browser(bob)
    page = client.get(ZONE, {"sort": "-value"}).content.decode()
    assert page.count("Value: Sorting is limited to 5 records") == 1
    assert "Sorted by name because the list is too long" in page
    assert page.index(">mail</a>") < page.index(">www</a>")
    assert "Sorted by name" not in client.get(ZONE, {"sort": "-value", "in": "draft"}).content.decode()
    assert "Sorted by name" not in client.get(ZONE, {"sort": "-ttl"}).content.decode()
