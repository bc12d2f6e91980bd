"""The pace of imports: an import waits for the nodes that make progress, and for no others."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.fleet.models import Node, NodeState
from dnspanel.publish.models import Segment
from dnspanel.transfer.imports import import_pace
from dnspanel.zones.models import LogHead
from dnspanel.zones.signals import room_requested

pytestmark = pytest.mark.django_db


def at(sequence: int) -> LogHead:
    """Set the end of the log and of its segments to this sequence."""
    head = LogHead.objects.get()
    head.sequence = sequence
    head.save()
    Segment.objects.create(
        epoch=head.epoch,
        schema=4,
        first=1,
        last=sequence,
        object_name="x",
        size=1,
        digest=b"",
        sealed_at=timezone.now(),
    )
    return head


def node(name: str, acked: int, *, seconds_ago: float = 0.0, state: str = NodeState.ACTIVE) -> None:
    now = timezone.now()
    Node.objects.create(
        name=name,
        state=state,
        dns_address="192.0.2.1",
        agent_host="192.0.2.1",
        agent_port=1,
        created_at=now,
        acked=acked,
        acked_at=now - timedelta(seconds=seconds_ago),
    )


def test_the_slowest_node_that_moves_sets_the_pace() -> None:
    at(100)
    node("ns1", 99)
    node("ns2", 92)
    assert import_pace.publications_under_way() == 8


def test_a_node_that_stands_still_or_is_drained_is_not_waited_for() -> None:
    at(100)
    node("ns1", 10, seconds_ago=60)
    node("ns2", 5, state=NodeState.DRAINED)
    assert import_pace.publications_under_way() == 0


def test_what_waits_for_powerdns_to_read_its_list_is_not_waited_for() -> None:
    at(100)
    node("ns1", 10, seconds_ago=60)
    Node.objects.update(applied=99, applied_at=timezone.now())
    assert import_pace.publications_under_way() == 1


def test_what_is_not_encoded_yet_is_under_way() -> None:
    head = at(90)
    head.sequence = 97
    head.save()
    assert import_pace.publications_under_way() == 7


def test_waiting_ends_with_the_job_or_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_pace, "MOST_SECONDS", 5.0)
    at(100)
    node("ns1", 10)
    answers = iter((True, True, False))
    import_pace.wait_for_room(lambda: next(answers))
    assert next(answers, None) is None
    monkeypatch.setattr(import_pace, "MOST_SECONDS", 0.05)
    assert not import_pace.wait_for_room(lambda: True)


def test_large_changes_of_the_apis_give_way_too() -> None:
    at(100)
    node("ns1", 99)
    assert [answer for _, answer in room_requested.send(sender=None)] == [True]
