"""The list of zones, new zones, deletion (`zones.delete_zone`) and the trash."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, Team, User
from dnspanel.fleet.models import Node
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Operation, Publication, Zone
from dnspanel.zones.plan import deletion_guard
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.search import zone_conditions
from dnspanel.zones.signing import sign
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.markup import folded
from tests.people import NOW, make_person

LIST = "/zones/"
NEW = "/zones/new/"
FORM = {"nameservers": "ns1.example.net.\nns2.example.net.", "hostmaster": "hostmaster@example.net"}


def new_zone(**fields: str) -> dict[str, str]:
    return {**FORM, "form_id": str(uuid4()), **fields}


@pytest.fixture
def many_zones(alice: User) -> None:
    zones = [NewZone(f"customer-{number:03}.test.") for number in range(120)]
    edit.create_zones(zones=zones, acting=Acting(alice, Channel.IMPORT, NOW))


def test_everybody_signed_in_sees_the_zones(
    make_zone: MakeZone, browser: Browser, alice: User, bob: User, charlie: User
) -> None:
    make_zone()
    for person in (alice, bob, charlie):
        assert b"example.test." in browser(person).get(LIST).content


def test_a_reader_sees_why_the_button_is_off(browser: Browser, bob: User, charlie: User) -> None:
    assert (
        "You don’t have permission to create zones. An administrator can change your role".encode()
        in browser(charlie).get(LIST).content
    )
    assert reverse("zone-new").encode() in browser(bob).get(LIST).content


def test_an_empty_panel_says_what_a_zone_is_and_offers_one(browser: Browser, bob: User) -> None:
    page = browser(bob).get(LIST).content.decode()
    assert "No zones yet" in page
    assert f'class="btn btn-primary" href="{NEW}"' in page


def test_a_filter_that_there_is_not_is_told_beside_the_list(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    """Previously `tags:shop` was silently searched in names, and found nothing."""
    make_zone()
    client = browser(bob)
    for headers in ({}, {**HTMX, "HX-Target": "zone-list"}):
        page = client.get(LIST, {"q": "foo:bar example"}, headers=headers).content.decode()
        assert "Unknown filters, searched as text: <code>foo:</code>" in " ".join(page.split())
        assert "<code>value:</code>, <code>zone:</code>" in page
    assert "Did you mean <code>tag:</code>?" in client.get(LIST, {"q": "tags:x"}).content.decode()
    assert "unknown-filters" not in client.get(LIST, {"q": "has:192.0.2.1 tag:x example"}).content.decode()


def test_signed_zones_are_marked_and_found(
    make_zone: MakeZone, browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    zones = {name: make_zone(name=f"{name}.test.") for name in ("signed-one", "once", "never", "signed-two")}
    for name in ("signed-one", "signed-two", "once"):
        sign.sign(zones=[zones[name]], acting=Acting(author=bob, channel="web", now=NOW))
    sign.unsign(zones=[zones["once"]], acting=Acting(author=bob, channel="web", now=NOW))
    client = browser(bob)
    with django_assert_max_num_queries(11):
        assert client.get(LIST).content.decode().count("#shield") == 2
    signed = client.get(LIST, {"q": "dnssec:signed"}).content.decode()
    assert ["signed-one.test" in signed, "once.test" in signed, "never.test" in signed] == [True, False, False]
    unsigned = client.get(LIST, {"q": "dnssec:unsigned"}).content.decode()
    assert ["signed-one.test" in unsigned, "once.test" in unsigned, "never.test" in unsigned] == [False, True, True]
    wrong = client.get(LIST, {"q": "dnssec:yes"})
    assert wrong.status_code == 422
    assert "dnssec: must be signed, on, unsigned, off or rolling, not yes." in wrong.content.decode()
    assert "never.test" not in wrong.content.decode()


def test_a_search_that_is_too_general_says_what_it_needs(
    make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zone_conditions, "MANY_ZONES", 0)
    make_zone()
    for headers in ({}, {**HTMX, "HX-Target": "zone-list"}):
        refused = browser(bob).get(LIST, {"q": "ex"}, headers=headers)
        assert refused.status_code == 422
        assert "enter at least three letters or digits in a row" in refused.content.decode()
    assert "example.test." in browser(bob).get(LIST, {"q": "exa"}).content.decode()


def test_a_search_that_finds_nothing_shows_its_terms_and_a_way_out(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    make_zone()
    page = browser(bob).get(LIST, {"q": "shop <b>"}).content.decode()
    assert "No zones match" in page
    assert '<span class="chip">shop</span>' in page
    assert "&lt;b&gt;" in page
    assert "Clear search" in page


def test_has_finds_zones_by_a_value(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone("www 300 A 192.0.2.7")
    make_zone(name="other.test.")
    page = browser(bob).get(LIST, {"q": "has:192.0.2.7"}).content
    assert b"example.test." in page
    assert b"other.test." not in page


def test_htmx_gets_the_list_alone_and_a_person_the_page(many_zones: None, browser: Browser, bob: User) -> None:
    fragment = browser(bob).get(LIST, {"q": "customer"}, headers={**HTMX, "HX-Target": "zone-list"})
    assert fragment.content.lstrip().startswith(b'<section id="zone-list"')
    assert "120 zones" in fragment["HX-Trigger"]
    page = browser(bob).get(LIST, {"q": "customer"})
    assert b"<!doctype html>" in page.content
    assert page["Vary"] == "HX-Request, Accept-Language, Cookie, Accept-Encoding"


def test_the_next_hundred_are_appended_and_the_last_page_offers_no_more(
    many_zones: None, browser: Browser, bob: User
) -> None:
    first = browser(bob).get(LIST).content.decode()
    assert first.count("data-row") == 100
    assert "after=customer-099.test." in first
    headers = {**HTMX, "HX-Target": "zone-more"}
    rest = browser(bob).get(LIST, {"after": "customer-099.test."}, headers=headers).content.decode()
    assert rest.lstrip().startswith("<tbody>")
    assert rest.count("data-row") == 20
    assert "zone-more" not in rest


@pytest.mark.parametrize("nodes", [0, 6])
def test_a_hundred_zones_cost_as_many_queries_as_one(
    many_zones: None,
    browser: Browser,
    bob: User,
    active_node: MakeNode,
    nodes: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(nodes):
        active_node(f"ns{number}")
    client = browser(bob)
    # Session, user, zones and their number, draft; nodes, log head and missing publications for list and summary;
    # stalls and stopped delivery; open alerts and the hold. With late nodes: the places where publications wait.
    with django_assert_max_num_queries(20 if nodes else 11):
        client.get(LIST)
    with django_assert_max_num_queries(7):
        client.get(LIST, headers={**HTMX, "HX-Target": "zone-list"})


def test_the_column_of_nodes_says_where_a_zone_has_arrived(
    make_zone: MakeZone, active_node: MakeNode, browser: Browser, bob: User
) -> None:
    zone = make_zone()
    publication = Publication.objects.get(sequence=zone.sequence)
    ahead, behind = active_node("ns1"), active_node("ns2")
    Node.objects.filter(pk=ahead.pk).update(epoch=publication.epoch, acked=zone.sequence)
    page = browser(bob).get(LIST).content.decode()
    node = reverse("node-detail", args=["ns2"])
    assert re.search(rf'1/2:</span> ?<span> ?<a href="{node}">ns2 offline', page)
    chip = browser(bob).get(reverse("zone-sync", args=[zone.name]), headers=HTMX).content.decode()
    assert f'<a href="{node}">ns2 offline' in chip
    Node.objects.filter(pk=behind.pk).update(epoch=publication.epoch, acked=zone.sequence)
    assert "2/2" in browser(bob).get(LIST).content.decode()


def test_a_new_zone_is_published_at_once_and_opened(browser: Browser, bob: User) -> None:
    response = browser(bob).post(NEW, new_zone(names="Größe.test", reason="for the shop"))
    zone = Zone.objects.get()
    assert zone.name == "xn--gre-6ka8i.test."
    assert response.status_code == 302
    assert response["Location"] == reverse("zone-detail", args=[zone.name])
    publication = Publication.objects.get()
    assert (publication.author, publication.channel, publication.reason) == (bob, Channel.WEB, "for the shop")
    assert "ns1.example.net. hostmaster.example.net." in zone.rrsets.get(type=6).rdata[0]


def test_several_names_make_several_zones_in_one_publication(browser: Browser, bob: User) -> None:
    response = browser(bob).post(NEW, new_zone(names="one.test\n\n two.test. \none.test"))
    assert sorted(Zone.objects.values_list("name", flat=True)) == ["one.test.", "two.test."]
    assert response["Location"] == reverse("publication", args=[Publication.objects.get().sequence])


def test_the_same_form_sent_twice_makes_one_zone(browser: Browser, bob: User) -> None:
    form = new_zone(names="one.test")
    for _ in range(2):
        assert browser(bob).post(NEW, form).status_code == 302
    assert Publication.objects.count() == Zone.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"names": "good.test\nbad..test"}, "Line 2:"),
        ({"names": "example.test"}, "The zone example.test. already exists."),
        ({"names": "position.dnspanel.invalid"}, "is reserved"),
        ({"names": "test"}, "The zone test. isn’t allowed"),
        ({"names": "good.test\nlan\ncorp"}, "The zone corp. isn’t allowed"),
        ({"names": "2001:db8::/32"}, "2001:db8::/32 isn’t a valid zone name."),
        ({"names": "new.test", "nameservers": "  "}, "This field is required."),
        ({"names": "new.test", "hostmaster": "a..b"}, "isn’t a valid domain name"),
    ],
)
def test_a_refused_form_keeps_what_was_typed_and_says_what_is_wrong(
    make_zone: MakeZone, browser: Browser, bob: User, fields: dict[str, str], complaint: str
) -> None:
    make_zone()
    response = browser(bob).post(NEW, new_zone(**fields))
    page = response.content.decode()
    assert response.status_code == 422
    assert complaint in page
    assert 'aria-invalid="true"' in page
    assert fields["names"] in page
    assert Zone.objects.count() == 1


def test_the_preview_shows_what_a_zone_begins_with(browser: Browser, bob: User) -> None:
    preview = browser(bob).get(NEW, {**FORM, "names": "one.test\ntwo.test"}, headers=HTMX).content.decode()
    assert preview.lstrip().startswith('<aside class="card" id="new-preview"')
    assert f"@ 3600 SOA ns1.example.net. hostmaster.example.net. {timezone.now():%Y%m%d}01 " in preview
    assert "@ 3600 NS ns2.example.net." in preview
    assert "1 more zone gets the same" in preview
    assert (
        "appear here when the name is complete"
        in browser(bob).get(NEW, {**FORM, "names": "bad..name"}, headers=HTMX).content.decode()
    )
    assert not Zone.objects.exists()


def test_the_preview_says_which_names_cannot_be_had(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    """Previously only sending the form showed that a zone existed."""
    make_zone()
    typed = {**FORM, "names": "example.test\nnew.test\ncorp"}
    preview = browser(bob).get(NEW, typed, headers=HTMX).content.decode()
    assert "The zone example.test. already exists." in preview
    assert "The zone corp. isn’t allowed" in preview
    fine = browser(bob).get(NEW, {**FORM, "names": "new.test"}, headers=HTMX).content.decode()
    assert "new-refusals" not in fine


def test_all_that_is_wrong_with_several_names_is_told_at_once(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    """Previously the page reported only the first fault, so each correction revealed the next one."""
    make_zone()
    make_zone(name="other.test.")
    names = "bad..test\nexample.test\ncorp\n192.0.2.0/24\nother.test\ngood.test"
    page = browser(bob).post(NEW, new_zone(names=names)).content.decode()
    for complaint in (
        "Line 1:",
        "The zone example.test. already exists.",
        "The zone other.test. already exists.",
        "The zone corp. isn’t allowed",
        "192.0.2.0/24 isn’t a valid zone name.",
    ):
        assert page.count(complaint) == 1
    page = browser(bob).post(NEW, new_zone(names="\n".join(f"bad..{n}" for n in range(15)))).content.decode()
    assert "And 5 more lines." in page


def test_a_network_in_place_of_a_name_offers_its_reverse_zones(browser: Browser, bob: User) -> None:
    client = browser(bob)
    typed = "one.test\n192.0.2.64/26\n198.51.100.0/23"
    for page in (
        client.get(NEW, {**FORM, "names": typed}, headers=HTMX).content.decode(),
        client.post(NEW, new_zone(names=typed)).content.decode(),
    ):
        assert "Use 64/26.2.0.192.in-addr.arpa." in page
        assert "Use 2.0.192.in-addr.arpa." in page
        assert "Use 2 zones, 100.51.198.in-addr.arpa. to 101.51.198.in-addr.arpa." in page
        assert "64 CNAME 64.64/26.2.0.192.in-addr.arpa." in page
    chosen = new_zone(names=typed, reverse="192.0.2.64/26 64/26.2.0.192.in-addr.arpa.", reason="office")
    page = client.post(NEW, chosen).content.decode()
    assert "one.test\n64/26.2.0.192.in-addr.arpa.\n198.51.100.0/23" in page
    assert 'value="office"' in page
    assert not Zone.objects.exists()
    both = "100.51.198.in-addr.arpa.\n101.51.198.in-addr.arpa."
    assert client.post(NEW, new_zone(names=both)).status_code == 302


def test_a_new_zone_is_delegated_by_the_draft_of_who_may_change_the_zone_above(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    make_zone()
    client = browser(bob)
    page = client.post(NEW, new_zone(names="sub.example.test", delegate="on"), follow=True).content.decode()
    assert "The delegation in example.test. was added to your draft" in page
    operation = Operation.objects.get()
    assert (operation.draft.author, operation.name, operation.type) == (bob, "sub.example.test.", 2)
    page = client.post(NEW, new_zone(names="other.test", delegate="on"), follow=True).content.decode()
    assert "No delegation was added" in page
    client.post(NEW, new_zone(names="more.example.test"))
    assert Operation.objects.count() == 1, "only who ticks it gets a draft"


def test_a_subzone_is_delegated_to_a_team_from_the_menu_of_the_zone(
    make_zone: MakeZone, browser: Browser, alice: User
) -> None:
    zone = make_zone()
    few = Team.objects.create(name="Few", created_at=NOW)
    client = browser(alice)
    page = client.get(reverse("zone-detail", args=[zone.name])).content.decode()
    [link] = re.findall(r'href="(/zones/new/\?[^"]*delegate=on)"', page)
    page = client.get(link.replace("&amp;", "&")).content.decode()
    assert "sub.example.test." in page
    assert re.search(r'name="delegate"[^>]* checked', page)
    assert not re.search(r'name="delegate"[^>]* checked', client.get(NEW).content.decode())
    client.post(NEW, new_zone(names="sub.example.test", delegate="on", team=str(few.pk)))
    assert Zone.objects.get(name="sub.example.test.").team == few
    assert Operation.objects.get().zone == zone


def test_deletion_wants_the_name_and_says_what_goes(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    address = reverse("zone-delete", args=[zone.name])
    page = browser(bob).get(address).content.decode()
    assert "3 record sets will no longer resolve" in page
    assert "with its history for 30 days" in page
    wrong = browser(bob).post(address, {"typed": "exmaple.test", "form_id": str(uuid4())})
    assert wrong.status_code == 422
    assert Zone.objects.get().deleted_at is None


def test_deletion_shows_the_records_of_other_zones_that_point_in(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    lines = ("www 300 A 192.0.2.1", "sub 300 NS ns1.example.net. | ns.sub", "ns.sub 300 A 192.0.2.5")
    zone = make_zone(*lines, "out 300 CNAME www.other.test.")
    make_zone("shop 300 CNAME www.example.test.", "a.b 300 CNAME gone.example.test.", name="other.test.")
    make_zone("ns 300 A 192.0.2.5", name="sub.example.test.")
    page = browser(bob).get(reverse("zone-delete", args=[zone.name])).content.decode()
    assert re.findall(r'<li class="mono">\s*<a href="([^"#]+)#[^"]+">([^<]+)</a>\s*CNAME → ([^<\s]+)', page) == [
        ("/zones/other.test./?at=shop", "shop.other.test.", "www.example.test.")
    ]
    page = browser(bob).get(reverse("zone-delete", args=["sub.example.test."])).content.decode()
    assert "point to this zone" not in page, "the delegation goes with it, and is offered by itself"


def test_the_page_says_before_it_is_sent_that_too_many_zones_go(
    browser: Browser, bob: User, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 0)
    make_zone("www 300 A 192.0.2.1")
    url = reverse("zone-delete", args=["example.test."])
    client = browser(bob)
    page = client.get(url).content.decode()
    assert "more than 0 zones within 10 minutes" in page
    assert 'name="typed_count"' in page
    sent = {"typed": "example.test", "form_id": "0b9f5d3e-6a7f-4c75-9d3e-0d5a1f2b3c4d"}
    assert client.post(url, sent).status_code == 422
    assert client.post(url, sent | {"typed_count": "1"}).status_code == 302


def test_a_deleted_zone_leads_to_its_progress_and_into_the_trash(
    make_zone: MakeZone, browser: Browser, bob: User, charlie: User
) -> None:
    zone = make_zone()
    form = {"typed": "Example.TEST", "form_id": str(uuid4()), "reason": "moved away"}
    response = browser(bob).post(reverse("zone-delete", args=[zone.name]), form)
    newest = Publication.objects.latest("sequence")
    assert response["Location"] == reverse("publication", args=[newest.sequence])
    assert newest.reason == "moved away"
    assert b"example.test." not in browser(charlie).get(LIST).content
    trash = browser(charlie).get("/zones/trash/").content.decode()
    assert "example.test." in trash
    assert "30 days" in trash
    assert "disabled" in trash


def test_the_address_of_a_deleted_zone_leads_to_the_trash_where_it_stands_first(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    for name in ("later.test.", "example.test."):
        zone = make_zone(name=name)
        edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW))
        Zone.objects.filter(pk=zone.pk).update(deleted_at=NOW)
    for path in (reverse("zone-detail", args=[zone.name]), reverse("zone-history", args=[zone.name])):
        page = browser(bob).get(path)
        assert page.status_code == 404
        assert f"was deleted on {NOW:%Y-%m-%d %H:%M} UTC" in page.content.decode()
    link = re.search(r'href="(/zones/trash/\?after=[^"]+)"', page.content.decode())
    assert link is not None
    trash = browser(bob).get(link[1]).content.decode()
    assert trash.index("example.test.") < trash.index("later.test.")


def test_the_trash_of_zones_of_others_is_not_told_of(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zone = make_zone()
    edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW))
    member = browser(make_person("mia", Role.MEMBER))
    pages = [member.get(f"/zones/{name}/").content.decode() for name in (zone.name, "other-zon.test.")]
    assert "was deleted" not in pages[0]
    known, unknown = (re.sub(r'"X-CSRFToken": "\w+"|name="csrfmiddlewaretoken" value="\w+"', "", p) for p in pages)
    assert known.replace(zone.name, "other-zon.test.") == unknown


@pytest.mark.parametrize("ticked", [True, False])
def test_deleting_a_zone_ends_its_delegation_if_ticked(
    browser: Browser, bob: User, make_zone: MakeZone, ticked: bool
) -> None:
    make_zone("sub 300 NS ns1.example.net. | ns.sub", "ns.sub 300 A 192.0.2.5", "www.sub 300 A 192.0.2.6")
    make_zone(name="sub.example.test.")
    url = reverse("zone-delete", args=["sub.example.test."])
    client = browser(bob)
    page = client.get(url).content.decode()
    assert "Also remove the delegation in example.test. (in your draft)" in page
    assert "− ns.sub.example.test. A 192.0.2.5" in page
    assert "www.sub" not in page
    form = {"typed": "sub.example.test.", "form_id": str(uuid4())} | ({"undelegate": "yes"} if ticked else {})
    answer = client.post(url, form, follow=True).content.decode()
    assert ("The removal of the delegation in example.test. was added to your draft" in answer) is ticked
    gone = Operation.objects.filter(draft__author=bob, wanted__isnull=True).values_list("name", "type")
    assert set(gone) == ({("sub.example.test.", 2), ("ns.sub.example.test.", 1)} if ticked else set())


def test_a_head_sorts_and_turns_the_order_round(many_zones: None, browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get(LIST, {"q": "customer"}).content.decode()
    assert (
        'aria-sort="ascending"><a class="sort-link" id="sort-name" href="/zones/?q=customer&amp;sort=-name"'
        in folded(page)
    )
    assert 'href="/zones/?q=customer&amp;sort=-rrsets"' in page
    turned = client.get(LIST, {"q": "customer", "sort": "-name"}, headers={**HTMX, "HX-Target": "zone-list"})
    text = turned.content.decode()
    assert 'aria-sort="descending"><a class="sort-link" id="sort-name" href="/zones/?q=customer"' in folded(text)
    assert '<option value="-name" selected>' in text
    assert text.index("customer-119.test.") < text.index("customer-118.test.")
    rest = re.search(r'hx-get="\?(q=customer&amp;sort=-name&amp;after=[^"]+)"', text)
    assert rest is not None
    more = client.get(f"{LIST}?{rest[1].replace('&amp;', '&')}", headers={**HTMX, "HX-Target": "zone-more"})
    assert re.findall(r"customer-0\d\d.test.(?=</a>)", more.content.decode()) == [
        f"customer-{number:03}.test." for number in range(19, -1, -1)
    ]
    assert '<option value="name" selected>' in client.get(LIST, {"sort": "colour"}).content.decode()


def fill(zones: int) -> None:
    """Create `zones` more zones without records, which were signed once.

    Without signing rows, PostgreSQL's plan for that table would depend on other tests' leftovers, and the page would
    read either 20 or 220 blocks.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_zone (name, sort_name, serial, revision, rrset_count, created_at, changed_at, sequence)"
            " SELECT made.name, made.name, 1, 1, 2, now(), now(), n FROM generate_series(1, %s) n"
            " CROSS JOIN LATERAL (SELECT 'z' || lpad(n::text, 7, '0') || '.test.') AS made (name)",
            [zones],
        )
        cursor.execute(
            "INSERT INTO zones_signing (zone_id, state, is_signed, changed_at)"
            " SELECT id, '{}', false, now() FROM zones_zone"
        )
        cursor.execute("ANALYZE zones_zone, zones_signing")


def blocks_of(client: Client) -> tuple[int, int]:
    """Return the number of queries of the list's first page, and the number of 8-KiB blocks that these read."""
    client.get(LIST)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(LIST).status_code == 200
    found = [query["sql"] for query in captured if query["sql"].startswith(("SELECT", "WITH"))]
    blocks = 0
    with connection.cursor() as cursor:
        for sql in found:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".replace("%", "%%"), [])
            plan = cursor.fetchone()[0][0]["Plan"]
            blocks += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return len(captured), blocks


def test_who_sees_three_of_many_zones_pays_no_more_than_who_sees_all(browser: Browser, alice: User) -> None:
    """Tests the list's first page with each kind of grant that limits zones: names, a tag and a team."""
    fill(5_000)
    three = list(Zone.objects.order_by("-name").values_list("pk", flat=True)[:3])
    team = Team.objects.create(name="Few", created_at=NOW)
    Zone.objects.filter(pk__in=three).update(tags=["few"], team=team)
    administrators = blocks_of(browser(alice))
    # Including fleet, alerts and drafts, which a member does not see, and the number of zones, which exceeds a page.
    assert administrators[0] == 10
    ways: dict[str, Any] = {"zones": frozenset(three), "tags": frozenset({"few"}), "teams": frozenset({team.pk})}
    for way, places in ways.items():
        member = make_person(way, Role.MEMBER)
        grant = Grant(frozenset({Right.READ}), **{way: places})
        GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
        client = browser(member)
        statements, blocks = blocks_of(client)
        assert (statements, blocks <= administrators[1]) == (7, True), (way, blocks, administrators)
        assert client.get(LIST).content.decode().count('<tr id="zone-') == 3
