"""Tests of the short wait for the canary's verdict."""

import pytest

from dnspanel.fleet.models import Node
from dnspanel.fleet.reads import canary
from dnspanel.zones.errors import TakenBack
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.api.test_waiting import Clock
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.reads.test_arrivals import prove
from tests.dnspanel.taken_back import take_back
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def publication(zone: Zone) -> Publication:
    return Publication.objects.get(sequence=zone.sequence)


@pytest.fixture
def ring0(active_node: MakeNode) -> Node:
    node = active_node("canary")
    Node.objects.filter(pk=node.pk).update(is_ring0=True)
    return node


def test_without_a_canary_nobody_waits(publication: Publication, active_node: MakeNode) -> None:
    active_node("ns1")
    clock = Clock()
    canary.wait_for_canary(publication, clock=clock, sleep=clock.sleep)
    assert clock.pauses == []


def test_the_wait_ends_with_the_canarys_proof(publication: Publication, ring0: Node) -> None:
    clock = Clock()

    def prove_it(seconds: float) -> None:
        clock.sleep(seconds)
        prove(ring0, publication.sequence, 20)

    canary.wait_for_canary(publication, clock=clock, sleep=prove_it)
    assert len(clock.pauses) == 1


def test_a_canary_that_says_nothing_is_waited_for_a_moment(publication: Publication, ring0: Node) -> None:
    clock = Clock()
    canary.wait_for_canary(publication, clock=clock, sleep=clock.sleep)
    assert clock.now == pytest.approx(canary.PATIENCE)


def test_the_wait_ends_when_the_canary_refuses(publication: Publication, ring0: Node) -> None:
    clock = Clock()

    def refuse(seconds: float) -> None:
        clock.sleep(seconds)
        take_back(publication.sequence)

    with pytest.raises(TakenBack, match="SERVFAIL"):
        canary.wait_for_canary(publication, clock=clock, sleep=refuse)
    assert len(clock.pauses) == 1


def test_when_too_many_wait_the_next_one_does_not(
    publication: Publication, ring0: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = canary.BoundedSemaphore(1)
    full.acquire()
    monkeypatch.setattr(canary, "_places", full)
    clock = Clock()
    canary.wait_for_canary(publication, clock=clock, sleep=clock.sleep)
    assert clock.pauses == []
    take_back(publication.sequence)
    with pytest.raises(TakenBack):
        canary.wait_for_canary(publication, clock=clock, sleep=clock.sleep)
