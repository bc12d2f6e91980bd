"""Tests of waiting for nodes: limits on time and number of waiters, and growing pauses between checks."""

import pytest
from django.utils import timezone

from dnspanel.api import waiting
from dnspanel.fleet.push.acks import record_ack
from dnspanel.zones.errors import TakenBack
from dnspanel.zones.models import Publication, Zone
from replication.wire.position import Position
from replication.wire.protocol import Ack
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.fleet.conftest import waiting_node as waiting_node
from tests.dnspanel.taken_back import take_back
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import alice as alice

pytestmark = pytest.mark.django_db


class Clock:
    """Time that passes only during sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def publication(zone: Zone) -> Publication:
    return Publication.objects.get(sequence=zone.sequence)


def test_without_nodes_there_is_nothing_to_wait_for(publication: Publication) -> None:
    clock = Clock()
    assert waiting.is_everywhere(publication) is None
    assert waiting.wait_for_nodes(publication, 30, clock=clock, sleep=clock.sleep) is False
    assert clock.pauses == []


def test_a_wait_ends_on_time_and_asks_less_often_as_it_goes(publication: Publication, active_node: MakeNode) -> None:
    active_node("ns1")
    clock = Clock()
    assert waiting.wait_for_nodes(publication, 1000, clock=clock, sleep=clock.sleep) is False
    assert clock.now == pytest.approx(waiting.LONGEST_WAIT)
    assert clock.pauses[:-1] == sorted(clock.pauses[:-1])
    assert len(clock.pauses) < 300


def test_a_wait_ends_when_the_last_node_answers(publication: Publication, active_node: MakeNode) -> None:
    nodes = [active_node("ns1"), active_node("ns2")]
    clock = Clock()

    def prove_one(seconds: float) -> None:
        clock.sleep(seconds)
        position = Position(publication.epoch, publication.sequence)
        ack = Ack(position=position, digest_main=b"m" * 16, digest_records=b"r" * 16)
        record_ack(node_id=nodes.pop().pk, ack=ack, now=timezone.now())

    assert waiting.wait_for_nodes(publication, 30, clock=clock, sleep=prove_one) is True
    assert len(clock.pauses) == 2


def test_when_too_many_wait_the_next_one_does_not(
    publication: Publication, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    active_node("ns1")
    clock = Clock()
    full = waiting.BoundedSemaphore(1)
    full.acquire()
    monkeypatch.setattr(waiting, "_places", full)
    assert waiting.wait_for_nodes(publication, 30, clock=clock, sleep=clock.sleep) is None
    assert clock.pauses == []


@pytest.mark.django_db(transaction=True)
def test_a_publication_that_is_taken_back_ends_the_wait_at_once(
    publication: Publication, active_node: MakeNode
) -> None:
    # Regression test: the waiter had read the publication before the canary refused it. All nodes then acked the
    # inverse publication, so the waiter was informed that all nodes had the change.
    active_node("ns1")
    clock = Clock()

    def refuse(seconds: float) -> None:
        clock.sleep(seconds)
        take_back(publication.sequence)

    with pytest.raises(TakenBack, match="SERVFAIL"):
        waiting.wait_for_nodes(publication, 30, clock=clock, sleep=refuse)
    assert len(clock.pauses) == 1


@pytest.mark.django_db(transaction=True)
def test_what_was_taken_back_is_nowhere_also_where_there_is_no_node(
    publication: Publication, active_node: MakeNode
) -> None:
    take_back(publication.sequence)
    with pytest.raises(TakenBack):
        waiting.wait_for_nodes(publication, 0)
    node = active_node("ns1")
    assert waiting.proofs_of(publication) == [False]
    record_ack(
        node_id=node.pk,
        ack=Ack(Position(publication.epoch, publication.sequence + 1), b"m" * 16, b"r" * 16),
        now=timezone.now(),
    )
    assert waiting.proofs_of(publication) == [False]
