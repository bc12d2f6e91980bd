"""Tests of the change log over real segments."""

from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.fleet.models import Isolation
from dnspanel.fleet.push import segment_log as log_module
from dnspanel.fleet.push.segment_log import DatabaseChangeLog
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.errors import DamagedObject
from dnspanel.publish.files.snapshots import make_snapshot
from dnspanel.publish.keys.segment_signing import public_keys
from dnspanel.publish.models import Segment
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.errors import Diverged
from replication.steps import Nothing, SendSegments, SendSnapshot, Way, next_step
from replication.wire.position import Position
from replication.wire.protocol import Ack
from replication.wire.segment import open_segment

pytestmark = pytest.mark.django_db(transaction=True)


def publish(name: str) -> None:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", timezone.now()))
    encode_step(now=timezone.now())


def test_an_empty_log_has_no_head() -> None:
    assert DatabaseChangeLog(4).way(None) == Way(None)
    assert DatabaseChangeLog(4).newest() is None


def test_segments_come_in_order_and_can_be_read() -> None:
    for name in ("a.test.", "b.test.", "c.test."):
        publish(name)
    log = DatabaseChangeLog(4)
    head = log.way(None).head
    assert head is not None
    assert (head.epoch, head.sequence) == (LogHead.objects.get().epoch, 3)
    found = list(log.segments_after(1))
    assert [(s.first, s.last) for s in found] == [(2, 2), (3, 3)]
    with found[0].open() as file:
        content = file.read()
    assert len(content) == found[0].size
    assert open_segment(content, public_keys()).last == 2
    assert DatabaseChangeLog(5).newest() is None


def test_an_ack_of_the_head_must_have_its_digests() -> None:
    publish("a.test.")
    log = DatabaseChangeLog(4)
    head = log.way(None).head
    assert head is not None
    digest = bytes(Segment.objects.get().digest)
    log.check(Ack(head, digest[:16], digest[16:]))
    with pytest.raises(Diverged):
        log.check(Ack(head, digest[:16], bytes(16)))


def test_the_head_is_the_newest_even_when_it_lies_pages_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "PAGE", 2)
    for number in range(7):
        publish(f"z{number}.test.")
    for near in range(8):
        log = DatabaseChangeLog(4)
        have = Position(LogHead.objects.get().epoch, near)
        way = log.way(have)
        assert way.head is not None
        assert way.head == way.target
        assert (way.head.sequence, way.oldest <= near + 1, way.segments) == (7, True, 7 - near)
        assert [segment.first for segment in log.segments_after(near)] == list(range(near + 1, 8))
        assert [segment.first for segment in log.segments_after(0)] == list(range(1, 8))
        assert log.way(have) == way


def test_a_node_may_go_no_further_than_its_limit() -> None:
    for number in range(5):
        publish(f"z{number}.test.")
    epoch = LogHead.objects.get().epoch
    log = DatabaseChangeLog(4, limit=3)
    for near in range(3):
        way = log.way(Position(epoch, near))
        assert (way.head, way.target) == (Position(epoch, 5), Position(epoch, 3))
        assert [segment.last for segment in log.segments_after(near)] == list(range(near + 1, 4))
    for beyond in (3, 4, 5):
        assert next_step(Position(epoch, beyond), log.way(Position(epoch, beyond))) == Nothing()
    assert DatabaseChangeLog(4, limit=0).way(None).target is None


def test_a_damaged_segment_breaks_the_way_for_those_before_it() -> None:
    for number in range(5):
        publish(f"z{number}.test.")
    epoch = LogHead.objects.get().epoch
    Segment.objects.filter(first=3).update(damaged=True)
    log = DatabaseChangeLog(4)
    steps = [next_step(Position(epoch, near), log.way(Position(epoch, near))) for near in range(6)]
    assert [isinstance(step, SendSnapshot) for step in steps] == [True, True, True, False, False, False]
    assert steps[3:] == [SendSegments(after=3), SendSegments(after=4), Nothing()]


def test_an_object_found_altered_is_not_given_out_and_never_looked_for_again(publisher_directory: Path) -> None:
    publish("a.test.")
    publish("b.test.")
    log = DatabaseChangeLog(4)
    log.way(None)
    (publisher_directory / "segments" / Segment.objects.get(first=2).object_name).write_bytes(b"x")
    first, second = log.segments_after(0)
    first.open().close()
    with pytest.raises(DamagedObject):
        second.open()
    assert Segment.objects.get(first=2).damaged


def test_the_snapshot_on_the_way_is_one_that_segments_lead_on_from() -> None:
    for number in range(3):
        publish(f"z{number}.test.")
        make_snapshot(schema=4, now=timezone.now())
    assert DatabaseChangeLog(4).long_way(None).snapshot == 3
    assert DatabaseChangeLog(4, limit=2).long_way(None).snapshot == 2
    Segment.objects.filter(first=3).update(damaged=True)
    publish("last.test.")
    assert DatabaseChangeLog(4).long_way(None).snapshot == 3
    Segment.objects.filter(first=4).update(damaged=True)
    assert DatabaseChangeLog(4).long_way(None).snapshot is None


def test_a_snapshot_of_what_was_taken_back_since_is_for_nobody() -> None:
    """Regression test: a new node got the snapshot and served the bad publication until the merged segment arrived."""
    for number in range(4):
        publish(f"z{number}.test.")
        make_snapshot(schema=4, now=timezone.now())
    now, epoch = timezone.now(), LogHead.objects.get().epoch
    Isolation.objects.create(epoch=epoch, failed=2, inverse=4, found_at=now, merged_at=now)
    assert DatabaseChangeLog(4).long_way(None).snapshot == 4
    assert DatabaseChangeLog(4, limit=3).long_way(None).snapshot == 1
    Isolation.objects.update(inverse=5)
    assert DatabaseChangeLog(4).long_way(None).snapshot == 1


def test_a_log_of_which_only_a_snapshot_is_left_still_has_its_head() -> None:
    publish("a.test.")
    make_snapshot(schema=4, now=timezone.now())
    Segment.objects.all().delete()
    epoch = LogHead.objects.get().epoch
    way = DatabaseChangeLog(4).way(None)
    assert (way.head, way.target, way.snapshot) == (Position(epoch, 1), Position(epoch, 1), 1)
    assert isinstance(next_step(None, way), SendSnapshot)
    assert next_step(Position(epoch, 1), DatabaseChangeLog(4).way(Position(epoch, 1))) == Nothing()
