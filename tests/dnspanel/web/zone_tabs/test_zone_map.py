"""The map of a zone: arrows in, out of and into the zone, dangling ones first; in zones of one record and of many."""

import re
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.web.zone_tabs.zone_map import MOST_OF_TYPE
from dnspanel.zones.models import Complaint, Zone
from dnspanel.zones.store import store_rrsets
from replication.codec.keys import relative_key
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import NOW, make_person

ROW = re.compile(r"<tr><td.*?</tr>")


def page_of(client: Any, name: str = "example.test.") -> str:
    return client.get(f"/zones/{name}/map/").content.decode()


def rows_of(page: str) -> list[str]:
    """Return the rows of the list as text."""
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in ROW.findall(page)]


def fill(zone: Zone, *lines: tuple[str, int, str]) -> None:
    """Add RRsets to the zone's table, as a large import does."""
    rrsets = [make(f"{name}.{zone.name}", type, 300, [text]) for name, type, text in lines]
    store_rrsets.copy_in([store_rrsets.rows_of_zone(zone.pk, zone.name, rrsets)])


def test_one_record_of_each_state(browser: Browser, make_zone: MakeZone, charlie: User) -> None:
    make_zone("mx 300 A 192.0.2.1", "web 300 CNAME other", name="other.test.")
    make_zone(
        "www 300 A 192.0.2.1",
        "good 300 CNAME www",
        "dead 300 CNAME nothing.example.test.",
        "mail 300 MX 10 mx.other.test. | 20 gone.other.test.",
        "sub 300 NS ns1.elsewhere.test.",
    )
    page = page_of(browser(charlie))
    rows = rows_of(page)
    assert rows[0].startswith("dead.example.test. CNAME nothing.example.test. dangling CNAME dead points to")
    assert rows[1].startswith("mail.example.test. MX gone.other.test. dangling MX mail points to gone.other.test.")
    assert rows[2:4] == [
        "good.example.test. CNAME www.example.test. in this zone",
        "mail.example.test. MX mx.other.test. in another zone of the panel",
    ]
    assert {*rows[4:]} == {
        "example.test. NS ns1.example.net. outside, not checked",
        "example.test. NS ns2.example.net. outside, not checked",
        "sub.example.test. NS ns1.elsewhere.test. outside, not checked",
    }
    assert "2 dangling records" in page
    assert page.count('<path d="M390') == page.count('tabindex="-1"> <text') == len(rows)
    assert page.count('<a class="is-bad" href="/zones/example.test./?at=dead.example.test."') == 1


def test_records_of_other_zones_point_into_the_zone(browser: Browser, make_zone: MakeZone, charlie: User) -> None:
    make_zone("www 300 A 192.0.2.1")
    make_zone("shop 300 CNAME www.example.test.", name="other.test.")
    page = page_of(browser(charlie))
    assert "shop.other.test. CNAME www.example.test. from another zone" in rows_of(page)
    assert 'href="/zones/other.test./?at=shop.other.test."' in page
    assert "no dangling records" in page


def test_zones_that_a_member_cant_see_stay_unknown(browser: Browser, make_zone: MakeZone) -> None:
    make_zone("shop 300 CNAME www.example.test.", name="hidden.test.")
    zone = make_zone("www 300 A 192.0.2.1", "lost 300 CNAME gone.hidden.test.")
    mia = make_person("mia", Role.MEMBER)
    own = Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=own.to_json(), created_at=NOW)
    page = page_of(browser(mia))
    assert "lost.example.test. CNAME gone.hidden.test. outside, not checked" in rows_of(page)
    assert "shop.hidden.test." not in page


def test_alike_records_are_one_arrow(browser: Browser, make_zone: MakeZone, charlie: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    fill(zone, *((f"n{number}", rdtypes.CNAME, f"www.{zone.name}") for number in range(20)))
    rows = rows_of(page_of(browser(charlie)))
    [row] = [row for row in rows if "CNAME" in row]
    assert "+17 CNAME www.example.test. in this zone" in row


def test_a_zone_without_pointing_records(browser: Browser, make_zone: MakeZone, charlie: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    store_rrsets.delete_rrsets([(zone.pk, zone.name, zone.name, rdtypes.NS)])
    assert "No record points to a name" in page_of(browser(charlie))


@pytest.mark.parametrize("size", [1, 20, 20_000])
def test_the_page_is_small_and_needs_no_more_queries(
    browser: Browser,
    make_zone: MakeZone,
    charlie: User,
    size: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    long = "a" * 60
    fill(zone, *((f"{long}.n{number}", rdtypes.CNAME, f"{long}.t{number}.elsewhere.test.") for number in range(size)))
    # The check after the publication has found the last record of the zone.
    fill(zone, ("zz-last", rdtypes.CNAME, f"gone.{zone.name}"))
    key = relative_key(f"zz-last.{zone.name}", zone.name)
    Complaint.objects.create(zone=zone, owner_key=key, type=rdtypes.CNAME, message="points nowhere")
    client = browser(charlie)
    page_of(client)
    with django_assert_max_num_queries(40):
        page = page_of(client)
    rows = rows_of(page)
    assert rows[0].startswith("zz-last.example.test. CNAME gone.example.test. dangling")
    assert len(rows) == min(size, MOST_OF_TYPE + 1) + 3
    assert len(page.encode()) < 150_000
    assert ("The zone has more such records" in page) == (size > MOST_OF_TYPE)
    assert ("at least 1 dangling record" in page) == (size > MOST_OF_TYPE)
