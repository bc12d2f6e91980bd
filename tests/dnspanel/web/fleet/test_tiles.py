"""Readable numbers, and the two small charts of a tile."""

from uuid import UUID

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.node_health import Health, Word
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.fleet.telemetry import LiveNow
from dnspanel.web.fleet.tiles import fleet_line, percent, rate, rcode_bar, sparkline, tile_of
from replication.wire.position import Position

EPOCH = UUID(int=1)
HEAD = Position(EPOCH, 8812)
LIVE = LiveNow(
    at=100,
    qps=1234.5,
    qps_minute=(None, 10.0, 20.0, None, 5.0, 5.0),
    rcodes={"noerror": 90.0, "nxdomain": 9.5, "servfail": 0.5, "other": 0.0},
    latency_ms=0.314,
    cache_hit=0.934,
)


def node_status(acked: int = 8812, word: Word = Word.LIVE, lag: int = 0, epoch: UUID | None = EPOCH) -> NodeStatus:
    node = Node(pk=1, name="ns1", state=NodeState.ACTIVE, acked=acked, epoch=epoch, versions={"powerdns": "4.7.3"})
    return NodeStatus(node, Health(word, "why", lag, 40.0 if lag else 0), EPOCH)


def test_a_tile_of_a_live_node() -> None:
    tile = tile_of(node_status(), LIVE, HEAD)
    assert tile.behind_class == "quiet"
    assert (tile.tone, tile.qps, tile.position, tile.behind, tile.lag) == ("ok", "1,234", "8,812", "current", "none")
    assert (tile.latency, tile.cache_hit, tile.powerdns, tile.agent) == ("0.31 ms", "93 %", "4.7.3", "–")


def test_a_node_in_sync_has_the_same_class_in_every_language() -> None:
    with override("de"):
        tile = tile_of(node_status(), LIVE, HEAD)
        assert (tile.behind == "current", tile.behind_class) == (False, "quiet")
        row = render_to_string("fleet/_rows.html", {"block": {"ids": "1", "tiles": [tile]}})
        assert tile.behind not in row


def test_a_node_without_live_numbers_shows_none_rather_than_zero() -> None:
    tile = tile_of(node_status(), None, HEAD)
    assert (tile.qps, tile.latency, tile.cache_hit, tile.spark, tile.bar) == ("–", "–", "–", (), ())


def test_a_node_behind_says_how_far_in_changes_and_time() -> None:
    tile = tile_of(node_status(8809, Word.LATE, 3), LIVE, HEAD)
    assert (tile.behind, tile.lag, tile.tone) == ("−3", "3 · 40 s", "warn")
    assert tile.behind_class == "change"


def test_a_node_that_has_nothing_says_so() -> None:
    tile = tile_of(node_status(0, Word.WAITING, 8812, None), None, HEAD)
    assert (tile.position, tile.behind, tile.lag) == ("no data yet", "", "–")


def test_a_position_of_another_history_is_no_lag() -> None:
    assert tile_of(node_status(5, Word.LATE, 8812, UUID(int=2)), None, HEAD).behind == "different history"


def test_every_word_has_a_tone_and_a_symbol() -> None:
    for word in Word:
        tile = tile_of(node_status(word=word), None, HEAD)
        assert tile.tone
        assert tile.icon


def test_a_gap_breaks_the_sparkline() -> None:
    lines = sparkline(LIVE.qps_minute)
    assert len(lines) == 2
    assert lines[0].count(",") == 2


def test_a_sparkline_keeps_inside_its_box() -> None:
    for line in sparkline([0.0, 1e9, 0.0]):
        for point in line.split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= 120
            assert 0 <= y <= 28


def test_parts_of_the_bar_fill_it() -> None:
    parts = rcode_bar(LIVE.rcodes)
    assert [(part.rcode, part.share) for part in parts] == [
        ("noerror", "90 %"),
        ("nxdomain", "10 %"),
        ("servfail", "< 1 %"),
    ]
    assert sum(float(part.width) for part in parts) == pytest.approx(100)
    assert rcode_bar({"noerror": 0.0}) == ()


def test_the_line_above_adds_up_what_is_known() -> None:
    nodes = [node_status(), node_status(8809, Word.LATE, 3)]
    line = fleet_line(nodes, {1: LIVE}, HEAD)
    assert (line.counts.text, line.qps, line.head, line.lag) == ("1 of 2 nodes", "1,234", "8,812", "40 s")
    assert fleet_line(nodes, {}, HEAD).qps == "–"


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (4.24, "4.2"), (99.96, "100"), (12345.6, "12,346")])
def test_rates_have_a_decimal_only_while_they_are_small(value: float, text: str) -> None:
    assert rate(value) == text


def test_no_number_is_a_dash() -> None:
    assert percent(None) == rate(None) == "–"
