"""Helpers that take a publication back, as if ring 0 had rejected it, for tests of callers that wait for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Thread
from time import monotonic, sleep

from django.db import connection
from django.utils import timezone

from dnspanel.fleet.models import Node
from dnspanel.fleet.push.acks import record_ack
from dnspanel.zones.models import Publication
from dnspanel.zones.publishing import failed
from dnspanel.zones.publishing.ready_zones import nothing
from replication.wire.position import Position
from replication.wire.protocol import Ack

REASON = "PowerDNS failed to answer a query for www.example.test. CAA: SERVFAIL."


def take_back(sequence: int, *nodes: Node, now: datetime | None = None) -> Publication:
    """Take the publication back, and let the nodes confirm its inverse, which comes in the same segment."""
    now = now or timezone.now()
    inverse = failed.take_back(sequence=sequence, reason=REASON, now=now, in_transaction=nothing)
    assert inverse is not None
    for node in nodes:
        position = Position(inverse.epoch, inverse.sequence)
        record_ack(node_id=node.pk, ack=Ack(position, b"m" * 16, b"r" * 16), now=now)
    return inverse


@contextmanager
def refusing(sequence: int, act: Callable[[int], object] = take_back) -> Iterator[None]:
    """Run `act` in a thread once the publication `sequence` exists. By default, take the publication back."""

    def refuse() -> None:
        until = monotonic() + 20
        while not Publication.objects.filter(pk=sequence).exists() and monotonic() < until:
            sleep(0.02)
        act(sequence)
        connection.close()

    canary = Thread(target=refuse)
    canary.start()
    try:
        yield
    finally:
        canary.join()
