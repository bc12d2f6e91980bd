"""The picture of the fleet's last hour, with 1, 20 and 1,000 nodes."""

import re
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Node, NodeGroup, NodeState
from dnspanel.fleet.reads.queries import watched_statuses
from dnspanel.fleet.rollup import keep_lags, roll_up
from dnspanel.web.fleet.minute_squares import squares_of
from dnspanel.zones.models import LogHead, Publication
from replication.wire.protocol import Sample
from tests.dnspanel.fleet.conftest import NOW, MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_redis")]
PICTURE = "/fleet/minutes/"
MOST_BYTES = 150_000


def sample(at: int, questions: int, refused: int = 0) -> Sample:
    rcodes = {"NOERROR": questions - refused, "REFUSED": refused}
    return Sample(at, 1.0, 1000, questions, 0, rcodes, 90, 10, 5, 5, 312, 48_000_000)


@pytest.fixture
def publication() -> datetime:
    """Publish something seven and a half minutes ago, and return its time."""
    head, at = LogHead.objects.get(), timezone.now() - timedelta(seconds=450)
    Publication.objects.create(sequence=1, epoch=head.epoch, at=at, channel="system")
    LogHead.objects.update(sequence=1)
    return at


def create_fleet(count: int) -> list[Node]:
    """Create active nodes in sync in two groups. The second is behind, and the third is away."""
    groups = [NodeGroup.objects.create(name=name, order=order) for order, name in enumerate(("first", "world"))]
    head, now = LogHead.objects.get(), timezone.now()
    Node.objects.bulk_create(
        Node(
            name=f"edge{number:04}",
            state=NodeState.ACTIVE,
            dns_address="192.0.2.53",
            agent_host="127.0.0.1",
            agent_port=8533,
            created_at=NOW - timedelta(days=30),
            epoch=head.epoch,
            acked=0 if number == 1 else head.sequence,
            contact_at=now - timedelta(hours=1) if number == 2 else now + timedelta(minutes=5),
            group=groups[number > 4],
        )
        for number in range(count)
    )
    return list(Node.objects.order_by("name"))


def keep(at: datetime, now: datetime | None = None) -> None:
    """Store the lags as a check of alerts at this time would. `now` is the time of the state, if it is another one."""
    keep_lags({status.node.pk: status.health for status in watched_statuses(now=now or at)}, now=at)


def squares(show: str = "lag") -> dict[str, Any]:
    now = timezone.now()
    return squares_of(watched_statuses(now=now), show, now)


def test_a_minute_has_the_longest_lag_and_the_worst_node_is_first(publication: datetime) -> None:
    create_fleet(3)
    now = timezone.now()
    for minutes in range(59, 0, -1):
        then = now - timedelta(minutes=minutes)
        keep(then)
    Node.objects.filter(name="edge0001").update(acked=1)
    keep(now - timedelta(minutes=1), now)  # a shorter lag in the same minute
    found = squares()
    assert [(row.node.name, row.text) for row in found["rows"]] == [
        ("edge0002", "no contact"),
        ("edge0000", "in sync"),
        ("edge0001", "in sync"),
    ]
    behind = found["rows"][2]
    assert set(behind.paths) == {"0", "1", "2", "3"}
    assert behind.paths["0"].startswith("M0 5h")
    assert behind.paths["0"].endswith("M59 5h1")
    assert behind.most.startswith("6 min, ")
    histogram = [(text, number) for _, text, number, _ in found["legend"]]
    assert [text for text, _ in histogram[:5]] == ["in sync", "< 1 min", "≥ 1 min", "≥ 5 min", "no contact"]
    assert sum(number for _, number in histogram) == 3 * 60
    # The second node lacked the publication from its time until now. The third has no contact in any minute.
    squares_behind = {level: number for level, _, number, _ in found["legend"]}
    assert squares_behind["4"] == 60
    assert squares_behind["1"] + squares_behind["2"] + squares_behind["3"] == sum(
        int(length) for level in "123" for length in re.findall(r"h(\d+)", behind.paths[level])
    )
    assert sum(share for *_, share in found["legend"]) == pytest.approx(100)


def test_paused_nodes_wait_and_unchecked_minutes_have_no_data(publication: datetime) -> None:
    create_fleet(1)
    Node.objects.update(state=NodeState.DRAINED, acked=0)
    [row] = squares()["rows"]
    assert (row.level, row.text, row.most) == ("waits", "drained", "")
    assert row.paths == {"none": "M0 5h59", "waits": "M59 5h1"}


def test_the_minutes_before_a_node_was_created_have_no_data(publication: datetime) -> None:
    [node] = create_fleet(1)
    now = timezone.now()
    for minutes in range(10, 0, -1):
        keep(now - timedelta(minutes=minutes))
    Node.objects.update(created_at=now - timedelta(minutes=4))
    [row] = squares()["rows"]
    assert (row.node, row.paths["none"], row.paths["0"]) == (node, "M0 5h56", "M56 5h4")


def test_queries_and_refusals_come_from_the_minutes_of_the_nodes() -> None:
    busy, refusing, *_ = create_fleet(3)
    end = int(time.time()) // 60 * 60
    for node, questions, refused in ((busy, 1000, 0), (refusing, 100, 20)):
        seconds = [sample(at, questions, refused) for at in range(end - 119, end + 1, 30)]
        telemetry.keep_samples(node_id=node.pk, samples=[*seconds, sample(end + 1, 1)])
        roll_up(node_id=node.pk)
    found = squares("queries")
    assert [(row.level, row.text) for row in found["rows"]] == [
        ("4", "1,000 q/s"),
        ("1", "100 q/s"),
        ("none", "no data"),
    ]
    assert found["rows"][0].paths["4"].endswith("h2")
    assert [(row.level, row.text) for row in squares("refusals")["rows"]][:2] == [("3", "20 %"), ("0", "0 %")]


def test_without_redis_only_the_current_lag_is_known(publication: datetime) -> None:
    create_fleet(2)
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        keep(timezone.now())
        assert squares()["rows"][0].paths == {"none": "M0 5h59", "3": "M59 5h1"}
        assert squares("queries")["rows"][0].paths == {"none": "M0 5h60"}


@pytest.mark.parametrize("count", [1, 20, 1000])
def test_the_picture_of_a_fleet_of_any_size_is_small_and_needs_no_query_per_node(
    browser: Browser,
    bob: User,
    publication: datetime,
    count: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    create_fleet(count)
    browser(bob).get("/")
    client = Client()  # counts the bytes that are sent
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    for url in (f"{PICTURE}?show=lag", f"{PICTURE}?show=queries", f"{PICTURE}?show=refusals"):
        with django_assert_max_num_queries(8):
            fragment = client.get(url, headers=HTMX).content.decode()
        assert len(set(re.findall(r'href="(/nodes/edge\d+/)"', fragment))) == count
    for url in ("/", "/nodes/"):
        response = client.get(url)
        assert b'id="fleet-minutes"' in response.content
        assert len(response.content) < MOST_BYTES, url


def test_a_large_fleet_has_a_square_for_each_node_by_group_and_names_the_worst(
    browser: Browser, bob: User, publication: datetime
) -> None:
    create_fleet(40)
    page = browser(bob).get(PICTURE).content.decode()
    worst = re.search(r'class="squares-worst">(.*?)</p>', page)
    assert worst is not None
    assert re.findall(r"edge\d+(?=</a>)", worst[1])[:2] == ["edge0002", "edge0001"]
    assert '<a class="is-4" href="/nodes/edge0002/" title="edge0002: no contact">' in page
    assert re.findall(r"<h3[^>]*>\s*(\w+)", page) == ["first", "world"]
    assert page.count('title="edge') == 40


def test_the_tiles_keep_the_picture_that_loads_itself(browser: Browser, bob: User) -> None:
    create_fleet(3)
    fragment = browser(bob).get("/nodes/", headers=HTMX).content.decode()
    assert 'id="squares-place" hx-preserve' in fragment
    assert 'id="fleet-minutes"' not in fragment
    picture = browser(bob).get(f"{PICTURE}?show=queries", headers=HTMX).content.decode()
    assert picture.lstrip().startswith("<section")
    assert f'hx-get="{PICTURE}?show=queries"' in picture
    assert 'aria-current="true">Queries' in picture


def test_a_node_that_has_not_joined_has_no_squares(browser: Browser, bob: User, waiting_node: MakeNode) -> None:
    waiting_node("ns1")
    assert 'href="/nodes/ns1/"' not in browser(bob).get(PICTURE, headers=HTMX).content.decode()
