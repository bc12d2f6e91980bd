"""Tests of taking back: the failed publication and its inverse become one segment before other nodes continue."""

from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.fleet.models import Isolation, Node
from dnspanel.fleet.rollout import take_back
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.keys.segment_signing import all_public_keys
from dnspanel.publish.models import Segment
from dnspanel.publish.storage.objects import open_object
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Publication, Zone
from dnspanel.zones.publishing import bulk, edit
from replication.dns import rrset
from replication.wire.segment import open_segment
from tests.dnspanel.fleet.agents import open_store
from tests.dnspanel.fleet.conftest import MakeNode

pytestmark = pytest.mark.django_db(transaction=True)

NAME = ("www.z.test.", 1)


@pytest.fixture
def ring0(active_node: MakeNode) -> Node:
    edit.create_zone(zone=edit.NewZone("z.test."), acting=Acting(None, "system", timezone.now()))
    encode()
    node = active_node("ring0")
    Node.objects.filter(pk=node.pk).update(is_ring0=True, epoch=LogHead.objects.get().epoch, acked=1)
    node.refresh_from_db()
    return node


def encode() -> None:
    while encode_step(now=timezone.now()) is not None:
        pass


def publish(value: str) -> int:
    zone = Zone.objects.get(name="z.test.")
    change = bulk.ZoneChange(zone.pk, zone.revision, {NAME: rrset.make(*NAME, 60, [value])})
    publication, _ = bulk.change_zones(changes=[change], acting=Acting(None, "system", timezone.now()))
    encode()
    assert publication is not None
    return publication.sequence


def isolate(node: Node, sequence: int) -> int:
    inverse = take_back.isolate(node=node, sequence=sequence, reason="It fails.", now=timezone.now())
    assert inverse is not None
    encode()
    return inverse.sequence


def ranges() -> list[tuple[int, int]]:
    return list(Segment.objects.order_by("first").values_list("first", "last"))


def test_they_are_merged_once_ring_0_answers_with_what_took_it_back(ring0: Node, tmp_path: Path) -> None:
    failed = publish("192.0.2.1")
    inverse = isolate(ring0, failed)
    assert not take_back.merge_acked(now=timezone.now())
    assert len(ranges()) == 3
    Node.objects.filter(pk=ring0.pk).update(acked=inverse)
    assert take_back.merge_acked(now=timezone.now())
    assert ranges() == [(1, 1), (failed, inverse)]
    assert Isolation.objects.get().merged_at is not None
    store = open_store(tmp_path / "node", LogHead.objects.get().cluster)
    for segment in Segment.objects.order_by("first"):
        with open_object(segment.object_name) as file:
            store.apply(open_segment(file.read(), all_public_keys()))
    assert b"".join(store.digests()) == bytes(segment.digest)
    store.close()
    assert not take_back.merge_acked(now=timezone.now())


def test_what_took_it_back_has_to_be_encoded_first(ring0: Node) -> None:
    failed = publish("192.0.2.1")
    inverse = take_back.isolate(node=ring0, sequence=failed, reason="It fails.", now=timezone.now())
    assert inverse is not None
    Node.objects.filter(pk=ring0.pk).update(acked=inverse.sequence)
    assert not take_back.merge_acked(now=timezone.now())


def test_two_that_failed_between_each_other_become_one_segment(ring0: Node) -> None:
    first, second = publish("192.0.2.1"), publish("192.0.2.2")
    isolate(ring0, second)
    last = isolate(ring0, first)
    Node.objects.filter(pk=ring0.pk).update(acked=last)
    assert take_back.merge_acked(now=timezone.now())
    assert ranges() == [(1, 1), (first, last)]
    assert not Zone.objects.get().rrsets.filter(name=NAME[0]).exists()


def test_without_ring_0_it_is_merged_as_soon_as_it_is_encoded(ring0: Node) -> None:
    isolate(ring0, publish("192.0.2.1"))
    Node.objects.filter(pk=ring0.pk).update(state="drained")
    assert take_back.merge_acked(now=timezone.now())


def test_a_zone_that_it_brought_leaves_no_trace(ring0: Node, tmp_path: Path) -> None:
    brought = edit.create_zone(zone=edit.NewZone("bad.test."), acting=Acting(None, "system", timezone.now())).sequence
    encode()
    inverse = isolate(ring0, brought)
    Node.objects.filter(pk=ring0.pk).update(acked=inverse)
    assert take_back.merge_acked(now=timezone.now())
    assert Zone.objects.get(name="bad.test.").deleted_at is not None
    store = open_store(tmp_path / "node", LogHead.objects.get().cluster)
    for segment in Segment.objects.order_by("first"):
        with open_object(segment.object_name) as file:
            store.apply(open_segment(file.read(), all_public_keys()))
    assert store.zone_id("bad.test.") is None
    assert b"".join(store.digests()) == bytes(segment.digest)
    store.close()


def test_isolating_twice_changes_nothing_more(ring0: Node) -> None:
    failed = publish("192.0.2.1")
    isolate(ring0, failed)
    assert take_back.isolate(node=ring0, sequence=failed, reason="It fails.", now=timezone.now()) is None
    assert Publication.objects.count() == 3
