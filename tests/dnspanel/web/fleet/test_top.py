"""A node's top lists and their texts. Opening the page makes the collector fetch them."""

from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.fleet import telemetry
from dnspanel.web.fleet.top import MOST_ROWS, view_of
from replication.wire.protocol import Counted, Top
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser

TOP = Top(
    at=1_795_000_000.0,
    names=(Counted("www.one.test/A", 900), Counted("one.test/MX", 99), Counted("x.test/TXT", 1)),
    types=(Counted("A", 900),),
    rcodes=(Counted("NOERROR", 7),),
)


@pytest.mark.usefixtures("live_redis")
def test_looking_makes_the_collector_fetch_and_the_lists_appear(
    browser: Browser, charlie: User, active_node: MakeNode
) -> None:
    node = active_node("ns1")
    assert not telemetry.is_watched(node_id=node.pk)
    page = browser(charlie).get("/nodes/ns1/traffic/").content.decode()
    assert "Loading lists" in page
    assert telemetry.is_watched(node_id=node.pk)
    telemetry.keep_top(node_id=node.pk, top=TOP)
    fragment = browser(charlie).get("/nodes/ns1/traffic/", headers=HTMX).content.decode()
    assert "<html" not in fragment
    assert "recent queries of each kind" in fragment
    assert '<span class="type">MX</span> <span class="mono">one.test</span>' in fragment
    assert "Clients by network" not in fragment


@pytest.mark.usefixtures("live_redis")
def test_the_agents_log_is_for_those_who_change_nodes(
    browser: Browser, alice: User, charlie: User, active_node: MakeNode
) -> None:
    telemetry.keep_log(node_id=active_node("ns1").pk, lines=[f"line {number} <b>" for number in range(30)])
    page = browser(alice).get("/nodes/ns1/log/").content.decode()
    assert "line 29 &lt;b&gt;" in page
    assert "line 9 " not in page
    assert "line 29" not in browser(charlie).get("/nodes/ns1/log/").content.decode()


def test_shares_and_empty_lists_in_words() -> None:
    names, nothing, *_ = view_of(TOP).lists
    assert [(row.what, row.type, row.share) for row in names.rows] == [
        ("www.one.test", "A", "90 %"),
        ("one.test", "MX", "10 %"),
        ("x.test", "TXT", "< 1 %"),
    ]
    assert (nothing.rows, nothing.empty) == ((), "No queries for nonexistent names.")


def test_networks_are_shown_only_where_the_agent_tells_them() -> None:
    told = Top(at=1.0, networks=(Counted("192.0.2.0/24", 5),))
    last = view_of(told).lists[-1]
    assert (last.title, last.rows[0].what, last.rows[0].type) == ("Clients by network", "192.0.2.0/24", "")


def test_a_list_is_cut() -> None:
    many = Top(at=1.0, names=tuple(Counted(f"n{n}.test/A", 99 - n) for n in range(20)))
    assert len(view_of(many).lists[0].rows) == MOST_ROWS


def test_without_redis_the_page_stands(browser: Browser, charlie: User, active_node: MakeNode, settings: Any) -> None:
    active_node("ns1")
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert "Loading lists" in browser(charlie).get("/nodes/ns1/traffic/").content.decode()
