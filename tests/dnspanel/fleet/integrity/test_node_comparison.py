"""Tests of the reaction to a node's digests, and of the comparison of all nodes."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from dnspanel.fleet.integrity import divergences
from dnspanel.fleet.integrity.node_comparison import (
    MOST_REPAIRS,
    CheckRows,
    Nothing,
    RepairZones,
    Seen,
    TakeSnapshot,
    compare_nodes,
    decide,
    seen_in,
)
from dnspanel.fleet.models import Divergence, Node, NodeEvent
from dnspanel.publish.models import Segment, Snapshot
from replication.wire.position import Position
from replication.wire.protocol import Status
from tests.dnspanel.fleet.conftest import NOW, MakeNode

EPOCH = uuid4()
AT = Position(EPOCH, 7)
DIGEST, OTHER = b"a" * 32, b"b" * 32
ZONE = (5, "example.test.", "its records are not what the panel wrote")


def test_a_node_with_the_panels_digest_is_equal() -> None:
    assert decide(Seen(AT, DIGEST), DIGEST) == Nothing(is_equal=True)


@pytest.mark.parametrize("seen", [Seen(None), Seen(None, DIGEST, (ZONE,), 1), Seen(AT, b"")])
def test_what_cannot_be_compared_is_left_alone(seen: Seen) -> None:
    assert decide(seen, DIGEST) == Nothing(is_equal=None)


def test_between_the_ends_of_segments_nothing_can_be_told() -> None:
    assert decide(Seen(AT, DIGEST), None) == Nothing(is_equal=None)


def test_zones_that_the_node_names_are_repaired_whatever_the_digests_say() -> None:
    for digest in (DIGEST, OTHER, b""):
        for expected in (DIGEST, None):
            assert decide(Seen(AT, digest, (ZONE,), 1), expected) == RepairZones((ZONE,))


def test_other_digests_without_a_name_make_the_node_look_and_then_get_a_snapshot() -> None:
    assert decide(Seen(AT, OTHER), DIGEST) == CheckRows()
    assert decide(Seen(AT, OTHER, has_read=True), DIGEST) == CheckRows()
    assert isinstance(decide(Seen(AT, OTHER, has_checked=True), DIGEST), TakeSnapshot)


def test_too_many_zones_and_what_belongs_to_no_zone_take_a_snapshot() -> None:
    assert decide(Seen(AT, DIGEST, (ZONE,), MOST_REPAIRS), DIGEST) == RepairZones((ZONE,))
    assert decide(Seen(AT, DIGEST, (ZONE,), MOST_REPAIRS + 1), DIGEST) == TakeSnapshot(
        "201 zones on the node differ from the panel’s"
    )
    beyond = (0, "key.test.", "a TSIG key was added on the server")
    assert decide(Seen(AT, DIGEST, (beyond, ZONE), 2), DIGEST) == TakeSnapshot(
        "the node’s files differ in data that doesn’t belong to a single zone: a TSIG key was added on the server"
    )


def status(**changes: object) -> Status:
    base = Status(
        node="ns1",
        position=AT,
        digest_main=DIGEST[:16],
        digest_records=DIGEST[16:],
        schema=4,
        state="in order",
        checked_at=1.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def test_a_status_is_seen_as_it_is_and_not_during_an_installation() -> None:
    assert seen_in(status()) == Seen(AT, DIGEST, has_read=True)
    assert seen_in(status(checked_at=0.0)).has_read is False
    assert seen_in(status(installing=("aa", 1, 2))).position is None


def heard(node: Node, reported: Status, *, seconds_ago: float = 1) -> Node:
    at = NOW - timedelta(seconds=seconds_ago)
    Node.objects.filter(pk=node.pk).update(report=reported.to_json(), reported_at=at, contact_at=at)
    return node


def segment(digest: bytes, *, last: int = 7, schema: int = 4) -> None:
    Segment.objects.create(
        epoch=EPOCH,
        schema=schema,
        first=last,
        last=last,
        object_name=f"{schema}-{last}",
        size=1,
        digest=digest,
        sealed_at=NOW,
    )


@pytest.mark.django_db
def test_each_node_is_compared_with_its_own_position(active_node: MakeNode) -> None:
    segment(DIGEST)
    segment(OTHER, last=8)
    same, behind, differs = (
        heard(active_node("same"), status()),
        heard(
            active_node("behind"), status(position=Position(EPOCH, 8), digest_main=b"b" * 16, digest_records=b"b" * 16)
        ),
        heard(active_node("differs"), status(digest_main=bytes(16))),
    )
    assert compare_nodes(now=NOW) == [differs.pk]
    found = dict(Node.objects.values_list("name", "digest_equal"))
    assert found == {"same": True, "behind": True, "differs": False}
    assert set(Node.objects.values_list("digest_compared_at", flat=True)) == {NOW}
    assert NodeEvent.objects.filter(node=differs, kind="diverged").count() == 1
    compare_nodes(now=NOW + timedelta(seconds=1))
    assert NodeEvent.objects.filter(node=differs, kind="diverged").count() == 1, "told once"
    assert behind.pk != same.pk


@pytest.mark.django_db
def test_a_snapshot_says_what_the_log_does_not_any_more(active_node: MakeNode) -> None:
    Snapshot.objects.create(
        epoch=EPOCH,
        schema=4,
        sequence=7,
        object_name="snapshot",
        size=1,
        raw_size=1,
        chunks=1,
        digest=DIGEST,
        made_at=NOW,
    )
    heard(active_node(), status())
    assert compare_nodes(now=NOW) == []
    assert Node.objects.get().digest_equal is True


@pytest.mark.django_db
def test_nodes_that_were_not_heard_or_cannot_be_compared_keep_what_was_recorded(active_node: MakeNode) -> None:
    segment(DIGEST)
    silent = heard(active_node("silent"), status(digest_main=bytes(16)), seconds_ago=60)
    Node.objects.filter(pk=silent.pk).update(digest_equal=True)
    heard(active_node("elsewhere"), status(position=Position(EPOCH, 6)))
    active_node("never")
    assert compare_nodes(now=NOW) == []
    assert dict(Node.objects.values_list("name", "digest_equal")) == {"silent": True, "elsewhere": None, "never": None}


@pytest.mark.django_db
def test_the_number_of_queries_does_not_grow_with_the_fleet(
    active_node: MakeNode, django_assert_max_num_queries: object
) -> None:
    segment(DIGEST)
    for number in range(6):
        heard(active_node(f"ns{number}"), status(position=Position(EPOCH, 6)))
    with django_assert_max_num_queries(3):  # type: ignore[operator]
        compare_nodes(now=NOW)


@pytest.mark.django_db
def test_what_is_equal_again_ends_what_was_open_once_every_row_was_read(active_node: MakeNode) -> None:
    segment(DIGEST)
    node = heard(active_node(), status(checked_at=0.0))
    divergences.record_found(node_id=node.pk, zones=[ZONE], now=NOW)
    compare_nodes(now=NOW)
    assert Divergence.objects.get().repaired_at is None, "its agent was started anew and has not looked yet"
    heard(node, status())
    compare_nodes(now=NOW)
    assert Divergence.objects.get().repaired_at == NOW
