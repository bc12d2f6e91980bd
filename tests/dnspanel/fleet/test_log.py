"""The change log over real segments."""

import pytest
from django.utils import timezone

from dnspanel.fleet import log as log_module
from dnspanel.fleet.log import DatabaseChangeLog
from dnspanel.publish.encode import encode_step
from dnspanel.publish.models import Segment
from dnspanel.publish.signing import public_keys
from dnspanel.zones import edit
from dnspanel.zones.models import LogHead
from replication.errors import Diverged
from replication.protocol import Ack
from replication.segment import open_segment

pytestmark = pytest.mark.django_db(transaction=True)


def publish(name: str) -> None:
    edit.create_zone(name=name, author=None, channel="system", now=timezone.now())
    encode_step(now=timezone.now())


def test_an_empty_log_has_no_head() -> None:
    log = DatabaseChangeLog(4)
    assert log.head() is None
    assert log.oldest() == 1


def test_segments_come_in_order_and_can_be_read() -> None:
    for name in ("a.test.", "b.test.", "c.test."):
        publish(name)
    log = DatabaseChangeLog(4)
    head = log.head()
    assert head is not None
    assert (head.epoch, head.sequence) == (LogHead.objects.get().epoch, 3)
    found = list(log.segments_after(1))
    assert [(s.first, s.last) for s in found] == [(2, 2), (3, 3)]
    with found[0].open() as file:
        content = file.read()
    assert len(content) == found[0].size
    assert open_segment(content, public_keys()).last == 2
    assert DatabaseChangeLog(5).head() is None


def test_an_ack_of_the_head_must_have_its_digests() -> None:
    publish("a.test.")
    log = DatabaseChangeLog(4)
    head = log.head()
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
        log = DatabaseChangeLog(4, near=near)
        head = log.head()
        assert head is not None
        assert head.sequence == 7
        assert [segment.first for segment in log.segments_after(near)] == list(range(near + 1, 8))
        assert [segment.first for segment in log.segments_after(0)] == list(range(1, 8))
        again = log.head()
        assert again == head
