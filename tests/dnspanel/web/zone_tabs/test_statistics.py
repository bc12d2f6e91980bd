"""The query rate of a zone on its page and in reviews, and the text if it is unknown."""

import re
import time

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import Role, User
from dnspanel.fleet import telemetry, zone_queries
from dnspanel.fleet.models import Node
from dnspanel.secondaries import set_up_secondaries
from dnspanel.secondaries.models import Member
from dnspanel.web.zone_tabs.statistics import small_rate
from dnspanel.zones.drafts import draft
from replication.wire.protocol import Counted, Top
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.test_telemetry import sample
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.web.test_every_url import member_of
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

pytestmark = pytest.mark.usefixtures("live_redis")
STATISTICS = "/zones/example.test/statistics/"


def tells(node: Node, times: int, **lists: tuple[Counted, ...]) -> None:
    """Store statistics of the node: 1,000 queries per second, and `times` of 10,000 queries for the zone."""
    now = int(time.time())
    telemetry.keep_samples(node_id=node.pk, samples=[sample(now - 1, 1000), sample(now, 1000)])
    top = Top(at=time.time(), zones=(Counted("example.test.", times),), questions=10_000, **lists)
    zone_queries.keep_zone_top(node_id=node.pk, zone="example.test.", top=top)
    zone_queries.keep_minute(node_id=node.pk, top=top, at=now - 60)


def test_numbers_come_with_their_error_and_their_method(
    browser: Browser, make_zone: MakeZone, charlie: User, active_node: MakeNode
) -> None:
    make_zone()
    nodes = active_node("ns1"), active_node("ns2"), active_node("ns3")
    tells(
        nodes[0],
        4_100,
        names=(Counted("www.example.test/A", 4_000), Counted("example.test/MX", 100)),
        types=(Counted("A", 4_000), Counted("MX", 100)),
        nxdomain=(Counted("no.example.test/A", 7),),
    )
    tells(nodes[1], 100, names=(Counted("www.example.test/A", 100),), types=(Counted("A", 100),))
    page = browser(charlie).get(STATISTICS).content.decode()
    for told in (
        'about <strong>420</strong> queries per second <span class="quiet">± 9.8</span>',
        "4,200 of the last 20,000 queries, recorded by 2 of 3 nodes",
        "at 95 % confidence",
        "at most 420 queries per second. Data exists for 1 of 60 minutes",
        '<span class="mono">www.example.test.</span></td><td class="num">410</td>',
        '<span class="mono">no.example.test.</span></td><td class="num">7</td>',
        "no data yet",
    ):
        assert told in page, told
    fragment = browser(charlie).get(STATISTICS, headers=HTMX).content.decode()
    assert "<html" not in fragment
    assert "420" in fragment


def test_looking_makes_the_nodes_be_asked_and_nothing_is_invented(
    browser: Browser, make_zone: MakeZone, charlie: User, active_node: MakeNode
) -> None:
    zone = make_zone()
    assert "No node serves this zone" in browser(charlie).get(STATISTICS).content.decode()
    node = active_node("ns1")
    page = browser(charlie).get(STATISTICS).content.decode()
    assert "No data yet." in page
    assert "No node has reported any data yet." in page
    assert zone_queries.watched_zones() == [zone.name]
    now = int(time.time())
    telemetry.keep_samples(node_id=node.pk, samples=[sample(now - 1, 1000), sample(now, 1000)])
    busy = Top(at=now, zones=(Counted("busy.test.", 9),), questions=10_000)
    zone_queries.keep_minute(node_id=node.pk, top=busy, at=now - 60)
    zone_queries.keep_zone_top(node_id=node.pk, zone=zone.name, top=Top(at=now, questions=10_000))
    page = browser(charlie).get(STATISTICS).content.decode()
    assert "less than <strong>0.3</strong> queries per second" in page
    assert "No data because the zone isn’t among the 200 busiest zones on any node." in page


def test_nodes_are_named_to_those_who_see_nodes(
    browser: Browser, make_zone: MakeZone, charlie: User, active_node: MakeNode
) -> None:
    zone = make_zone()
    tells(active_node("secret-node"), 100)
    assert "secret-node" in browser(charlie).get(STATISTICS, headers=HTMX).content.decode()
    page = browser(member_of(zone)).get(STATISTICS, headers=HTMX).content.decode()
    assert "about <strong>10.0</strong>" in page
    assert "secret-node" not in page


def test_secondaries_of_the_zone_stand_there_for_who_may_see_nodes(
    browser: Browser, make_zone: MakeZone, alice: User, charlie: User
) -> None:
    zone = make_zone()
    assert "Secondaries" not in browser(charlie).get(STATISTICS).content.decode()
    set_up_secondaries.create_secondary(terms=set_up_secondaries.Terms("partner", ["9.9.9.9"]), by=alice, now=NOW)
    Member.objects.update(served_serial=4711, served_at=NOW, transferred_how="IXFR", transferred_at=NOW)
    page = browser(charlie).get(STATISTICS).content.decode()
    assert "partner" in page
    assert "4711" in page
    assert "partner" not in browser(member_of(zone)).get(STATISTICS).content.decode()


def test_as_many_queries_for_any_number_of_nodes(
    browser: Browser,
    make_zone: MakeZone,
    charlie: User,
    active_node: MakeNode,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    make_zone()
    client = browser(charlie)
    client.get(STATISTICS)
    for number in range(5):
        tells(active_node(f"ns{number}"), 100)
        with django_assert_num_queries(6):
            client.get(STATISTICS, headers=HTMX)


def test_a_review_says_how_often_the_changed_names_are_asked(
    browser: Browser, make_zone: MakeZone, bob: User, active_node: MakeNode
) -> None:
    zone, other = make_zone("www 300 A 192.0.2.1"), make_zone(name="other.test.")
    node = active_node("ns1")
    for line in ("www 60 A 192.0.2.9", "quiet 60 A 192.0.2.9", "www 60 TXT x"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)
    client = browser(bob)
    review = client.get("/zones/example.test/review/").content.decode()
    address = re.search(r'id="draft-queries" hx-get="([^"]*)"', review)
    assert address is not None
    assert client.get(address[1], headers=HTMX).status_code == 204
    assert zone_queries.watched_zones() == [zone.name]
    tells(node, 4_100, names=(Counted("www.example.test/A", 4_100), Counted("mail.example.test/A", 9)))
    told = client.get(address[1], headers=HTMX).content.decode()
    assert '<span class="mono">www.example.test.</span> A gets about 410 queries per second.' in told
    assert "mail" not in told
    assert "hx-get" not in told, "it is not asked for again"
    assert "410" in client.get("/changes/queries/", headers=HTMX).content.decode()
    assert client.get(f"/changes/queries/?zone={other.name}", headers=HTMX).status_code == 204
    User.objects.filter(pk=bob.pk).update(role=Role.MEMBER)
    assert browser(User.objects.get(pk=bob.pk)).get("/changes/queries/").status_code == 403


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.0, "0"),
        (0.00004, "0.001"),
        (0.0449, "0.045"),
        (0.3, "0.3"),
        (0.96, "1.0"),
        (12.34, "12.3"),
        (4100.4, "4,100"),
    ],
)
def test_small_rates_keep_two_digits_that_say_something(rate: float, text: str) -> None:
    assert small_rate(rate) == text
