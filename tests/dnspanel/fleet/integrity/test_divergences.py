"""Tests of divergences: the difference of a zone on a node, and its end."""

from datetime import timedelta

import pytest

from dnspanel.fleet.integrity import divergences
from dnspanel.fleet.models import Divergence, Node, NodeEvent
from dnspanel.zones.models import Zone
from tests.dnspanel.fleet.conftest import NOW, MakeNode

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(seconds=3)
DESCRIPTION = "its records are not what the panel wrote"


@pytest.fixture
def node(active_node: MakeNode) -> Node:
    node = active_node()
    NodeEvent.objects.all().delete()
    return node


def messages() -> list[str]:
    return list(NodeEvent.objects.order_by("pk").values_list("sentence", flat=True))


def test_a_zone_is_found_once_however_often_it_is_told(node: Node) -> None:
    for _ in range(3):
        divergences.record_found(node_id=node.pk, zones=[(5, "example.test.", DESCRIPTION)], now=NOW)
    row = Divergence.objects.get()
    assert (row.zone_id, row.zone_name, row.words, row.found_at, row.repaired_at) == (
        5,
        "example.test.",
        DESCRIPTION,
        NOW,
        None,
    )
    assert messages() == [f"example.test.: {DESCRIPTION}."]


def test_a_zone_that_the_node_cannot_name_has_the_panels_name(node: Node) -> None:
    zone = Zone.objects.create(name="gone.test.", serial=1, created_at=NOW, changed_at=NOW)
    divergences.record_found(node_id=node.pk, zones=[(zone.pk, "", "it is gone from the list of zones")], now=NOW)
    assert Divergence.objects.get().zone_name == "gone.test."


def test_a_repair_tells_what_was_found_row_by_row(node: Node) -> None:
    divergences.record_found(node_id=node.pk, zones=[(5, "example.test.", DESCRIPTION)], now=NOW)
    words = ("www.example.test. A was missing", "x.example.test. A was there, though nobody published it")
    divergences.record_repaired(node_id=node.pk, zone_id=5, zone_name="example.test.", differences=words, now=LATER)
    row = Divergence.objects.get()
    assert row.repaired_at == LATER
    assert row.words == f"{DESCRIPTION}: {words[0]}; {words[1]}"
    assert messages()[-1] == f"example.test.: repaired ({words[0]}; {words[1]})."


def test_what_a_repair_found_is_told_though_a_comparison_was_first(node: Node) -> None:
    divergences.record_found(node_id=node.pk, zones=[(5, "example.test.", DESCRIPTION)], now=NOW)
    divergences.record_over(node_id=node.pk, now=NOW)
    for _ in range(2):
        words = ("www.example.test. A was missing",)
        divergences.record_repaired(node_id=node.pk, zone_id=5, zone_name="example.test.", differences=words, now=LATER)
    assert Divergence.objects.get().words == f"{DESCRIPTION}: {words[0]}"
    assert [message for message in messages() if "repaired" in message] == [f"example.test.: repaired ({words[0]})."]


def test_the_same_zone_may_be_found_again_after_its_repair(node: Node) -> None:
    for _ in range(2):
        divergences.record_found(node_id=node.pk, zones=[(5, "example.test.", DESCRIPTION)], now=NOW)
        divergences.record_repaired(node_id=node.pk, zone_id=5, zone_name="example.test.", differences=(), now=LATER)
    assert Divergence.objects.filter(repaired_at=LATER).count() == 2


def test_what_nobody_found_cannot_be_repaired(node: Node) -> None:
    divergences.record_repaired(node_id=node.pk, zone_id=5, zone_name="example.test.", differences=(), now=NOW)
    assert not Divergence.objects.exists()
    assert messages() == []


def test_a_failed_repair_says_why_until_one_succeeds(node: Node) -> None:
    divergences.record_found(node_id=node.pk, zones=[(5, "example.test.", DESCRIPTION)], now=NOW)
    divergences.record_failed(node_id=node.pk, zone_id=5, error="no")
    assert Divergence.objects.get().error == "no"
    divergences.record_repaired(node_id=node.pk, zone_id=5, zone_name="", differences=(), now=LATER)
    row = Divergence.objects.get()
    assert (row.error, row.zone_name) == ("", "example.test.")


def test_a_node_where_everything_differs_tells_of_few_and_counts_the_others(node: Node) -> None:
    zones = [(number, f"z{number}.test.", DESCRIPTION) for number in range(1, 31)]
    divergences.record_found(node_id=node.pk, zones=zones, now=NOW)
    assert Divergence.objects.count() == 30
    assert len(messages()) == 6
    assert messages()[-1] == "25 more zones differ from the panel’s."
    divergences.record_over(node_id=node.pk, now=LATER)
    assert not Divergence.objects.filter(repaired_at=None).exists()


def test_a_comparison_is_news_only_when_it_comes_out_otherwise(node: Node) -> None:
    for is_equal in (True, True, False, False, True):
        divergences.record_compared(node_id=node.pk, is_equal=is_equal, now=NOW)
    assert messages() == ["The node’s content differs from the panel’s at the same position."]
    found = Node.objects.get()
    assert (found.digest_equal, found.digest_compared_at) == (True, NOW)
