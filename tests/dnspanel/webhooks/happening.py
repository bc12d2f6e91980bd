"""Helpers that cause events: publications, confirmations by nodes, and imports."""

from datetime import datetime, timedelta
from typing import Any

from dnspanel.accounts.actors.actors import Author, Grant, Right
from dnspanel.accounts.models import GrantRow, User
from dnspanel.fleet.models import Node
from dnspanel.fleet.push import acks
from dnspanel.transfer.models import ImportJob, ImportPiece, State
from dnspanel.webhooks.collect_events import collect_events
from dnspanel.webhooks.models import Delivery, Event
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Publication, Zone
from dnspanel.zones.publishing import edit
from replication.wire import protocol
from replication.wire.position import Position
from tests.people import NOW


def publish(name: str, author: Author = None, *, now: datetime = NOW) -> Publication:
    return edit.create_zone(zone=edit.NewZone(name), acting=Acting(author, "web", now, "as asked"))


def prove(node: Node, sequence: int, *, now: datetime = NOW) -> None:
    ack = protocol.Ack(Position(LogHead.objects.get().epoch, sequence), bytes(16), bytes(16))
    acks.record_ack(node_id=node.pk, ack=ack, now=now)


def hear(*nodes: Node, now: datetime) -> None:
    acks.record_contact(node_ids=[node.pk for node in nodes], versions={}, now=now)


def import_ended(author: User, *, state: str = State.DONE, now: datetime = NOW) -> ImportJob:
    job = ImportJob.objects.create(
        title="estate.zip", author=author, created_at=now, source="files", state=state, phase_at=now, ended_at=now
    )
    ImportPiece.objects.create(
        job=job, number=1, state="applied", items=3, documents=3, zones=3, records=30, errors=1, creates=2, created_in=1
    )
    return job


def give(user: User, zone: str, *rights: Right) -> None:
    grant = Grant(frozenset(rights or {Right.READ}), zones=frozenset({Zone.objects.get(name=zone).pk}))
    GrantRow.objects.create(user=user, grant=grant.to_json(), created_at=NOW)


def notice_all(now: datetime = NOW) -> list[tuple[str, Any]]:
    """Collect all new events. Return their (kind, facts) in order."""
    newest = max(Event.objects.values_list("pk", flat=True), default=0)
    while collect_events(now=now):
        pass
    return list(Event.objects.filter(pk__gt=newest).order_by("pk").values_list("kind", "facts"))


def told(**which: Any) -> list[tuple[str, str]]:
    """Return (owner, kind) of the deliveries that match the filter, in order."""
    found = Delivery.objects.filter(**which).order_by("pk")
    return list(found.values_list("webhook__owner__username", "event__kind"))


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)
