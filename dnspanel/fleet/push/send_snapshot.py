"""Transfer the newest suitable snapshot to a node. A transfer continues where an earlier attempt ended.

The few workers of the queue `bootstrap` run this, so that even many requests don't delay edits.
"""

import logging
import time
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from django.utils import timezone

from dnspanel.fleet import events
from dnspanel.fleet.models import Bootstrap, Node
from dnspanel.fleet.nodes import node_keys
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.fleet.push import acks
from dnspanel.fleet.push.lease import PAUSE, SHORT_FOR, SHORT_PAUSE, Lease
from dnspanel.fleet.push.outcome import Refusal, outcome_of
from dnspanel.fleet.push.segment_log import DatabaseChangeLog
from dnspanel.fleet.rollout import bogus_zones, failed_publication
from dnspanel.fleet.rollout.gates import with_limit
from dnspanel.publish.errors import DamagedObject
from dnspanel.publish.files.snapshots import read_chunk, read_manifest
from dnspanel.publish.models import Snapshot
from dnspanel.publish.storage.damage import drop_snapshot
from dnspanel.publish.tasks import request_snapshot
from dnspanel.texts import gettext
from replication import node_client, push
from replication.errors import NEEDS_A_PERSON, Diverged, NeedsSnapshot, NodeUnreachable, NotServed, ReplicationError
from replication.steps import Refuse, Way, next_step
from replication.store.snapshot import Manifest
from replication.wire.position import Position
from replication.wire.protocol import Ack

logger = logging.getLogger(__name__)


def send_snapshot(*, lease: Lease) -> bool:
    """Make the node serve the requested snapshot. On failure, store the reason in the lease's row and return False.

    If the snapshot is missing or damaged, or its content had to be repaired, request another one. Raise LeaseLost if
    another worker has taken over. A DatabaseError is passed on.
    """
    bootstrap = Bootstrap.objects.select_related("node").get(node_id=lease.node_id)
    node = with_limit(Node.objects.filter(pk=lease.node_id)).get()
    lease.note(started_at=bootstrap.started_at or timezone.now())
    snapshot = None
    try:
        with lease.keep_alive(), _client(node) as client:
            snapshot = _snapshot_for(node, bootstrap.schema, client.status().position)
            passed = bogus_zones.names_for_snapshot(node)
            ack = node_keys.with_keys(client, partial(_send, client, snapshot, lease, bootstrap, passed))
            unproved = _fault_of_snapshot(node, ack, passed)
    except DamagedObject as exc:
        if snapshot is not None:
            drop_snapshot(snapshot=snapshot, reason=exc.reason, now=timezone.now())
        request_snapshot(schema=bootstrap.schema)
        lease.leave(error=gettext("{exc}. The panel is creating another snapshot").format(exc=exc))
        return False
    except NeedsSnapshot as exc:
        request_snapshot(schema=bootstrap.schema)
        lease.leave(error=exc.reason, pause=_pause(bootstrap))
        return False
    except NotServed as exc:
        if _is_resolved(node, bootstrap, exc, timezone.now()):
            lease.leave(error=str(exc), pause=SHORT_PAUSE)
        else:
            _refuse(node, lease, exc)
        return False
    except ReplicationError as exc:
        lease.leave(error=str(exc), pause=_pause(bootstrap) if isinstance(exc, NodeUnreachable) else PAUSE)
        if isinstance(exc, NEEDS_A_PERSON):  # not a node that is catching up
            acks.record_refusal(node_id=node.pk, message=str(exc), now=timezone.now())
        logger.warning("no snapshot for node=%s: %s", node.name, exc)
        return False
    if unproved is not None:  # the next snapshot contains the repair
        request_snapshot(schema=bootstrap.schema)
        _refuse(node, lease, unproved)
        return False
    return _conclude(node, bootstrap, ack, lease, timezone.now())


def _pause(bootstrap: Bootstrap) -> timedelta:
    """Return the pause before the next attempt. It is short at first, because the agent may be ready soon."""
    return SHORT_PAUSE if timezone.now() - bootstrap.asked_at < SHORT_FOR else PAUSE


def _snapshot_for(node: "Node", schema: int, have: Position | None) -> Snapshot:
    """Return the snapshot to send to a node at the position `have`.

    The snapshot isn't older than the node's data, so answers never go back in time. Segments continue from there. Raise
    NeedsSnapshot if no such snapshot exists, and NodeAhead or WrongEpoch if the node's data must not be overwritten.
    """
    limit: int | None = node.limit  # type: ignore[attr-defined]
    way = DatabaseChangeLog(schema, limit=limit).long_way(have)
    step = next_step(have, way)
    if isinstance(step, Refuse):
        raise step.error
    if way.head is None or way.snapshot is None or way.snapshot < _least(have, way):
        raise NeedsSnapshot(reason=gettext("the panel is still creating the snapshot"))
    found = Snapshot.objects.filter(schema=schema, epoch=way.head.epoch, sequence=way.snapshot).first()
    if found is None:
        raise NeedsSnapshot(reason=gettext("the panel is still creating the snapshot"))
    return found


def _least(have: Position | None, way: Way) -> int:
    """Return the lowest sequence for a snapshot: the node's own in the current epoch, or 0 in any other epoch."""
    is_ours = have is not None and way.head is not None and have.epoch == way.head.epoch
    return have.sequence if have is not None and is_ours else 0


def _fault_of_snapshot(node: Node, ack: Ack, passed: Collection[str]) -> NotServed | None:
    """Return the fault in ring 0's answers after the snapshot, or None. For other nodes, record unproven zones."""
    if node.is_ring0:
        return failed_publication.examine_snapshot(node=node, position=ack.position, now=timezone.now())
    bogus_zones.let_pass_as_ring0(node=node, names=passed, now=timezone.now())
    return None


def _is_resolved(node: Node, bootstrap: Bootstrap, error: NotServed, now: datetime) -> bool:
    """Revert the error's cause and request a snapshot, or stop proving the zone. Return False if neither works."""
    refusal = outcome_of(error, is_ring0=node.is_ring0)
    assert isinstance(refusal, Refusal)
    if refusal.not_served and failed_publication.examine(node=node, error=refusal.not_served, now=now):
        request_snapshot(schema=bootstrap.schema)
        return True
    is_exhausted = refusal.not_served is not None
    return refusal.unproven is not None and bogus_zones.let_pass(
        node=node, error=refusal.unproven, now=now, is_exhausted=is_exhausted
    )


def _refuse(node: Node, lease: Lease, error: NotServed) -> None:
    lease.leave(error=str(error))
    acks.record_refusal(node_id=node.pk, message=str(error), now=timezone.now())
    logger.warning("no snapshot for node=%s: %s", node.name, error)


def _send(
    client: node_client.NodeClient, snapshot: Snapshot, lease: Lease, bootstrap: Bootstrap, passed: Collection[str]
) -> Ack:
    """Send the missing chunks, record each one, and make the node install the snapshot. Return the node's ack.

    Raise Diverged if the node's position or digests then differ from those of the snapshot.
    """
    sealed, manifest = read_manifest(snapshot)
    is_resumed = (bootstrap.chunks, bootstrap.bytes) == (snapshot.chunks, snapshot.size)
    chunks, size = (bootstrap.chunks_sent, bootstrap.bytes_sent) if is_resumed else (0, 0)
    lease.note(chunks=snapshot.chunks, bytes=snapshot.size, chunks_sent=chunks, bytes_sent=size, error="")

    def note_chunk(number: int, stored: int) -> None:
        nonlocal chunks, size
        chunks, size = min(chunks + 1, snapshot.chunks), min(size + stored, snapshot.size)
        lease.note(chunks_sent=chunks, bytes_sent=size)

    started = time.monotonic()
    ack = push.send_snapshot(
        client,
        sealed,
        lambda number: read_chunk(snapshot, manifest, number),
        raw_size=manifest.raw_size,
        sent=note_chunk,
        unproven=passed,
    )
    _refuse_diverged(ack, manifest)
    logger.info(
        "snapshot given node_id=%s sequence=%s chunks=%s bytes=%s seconds=%.1f",
        lease.node_id,
        snapshot.sequence,
        snapshot.chunks,
        client.bytes_sent,
        time.monotonic() - started,
    )
    return ack


def _refuse_diverged(ack: Ack, manifest: Manifest) -> None:
    expected = manifest.digest_main + manifest.digest_records
    found = ack.digest_main + ack.digest_records
    if ack.position != manifest.position or found != expected:
        raise Diverged(expected=expected, found=found, what=gettext("the node’s database after the snapshot"))


def _conclude(node: Node, bootstrap: Bootstrap, ack: Ack, lease: Lease, now: datetime) -> bool:
    """Finish the request and record the position that the node acknowledged. Always return True."""
    before = Position(node.epoch, node.acked) if node.epoch else None
    acks.record_snapshot_ack(node_id=node.pk, ack=ack, schema=bootstrap.schema, before=before, now=now)
    if lease.end():
        message = gettext("Full snapshot installed at sequence {sequence}. Reason: {reason}.").format(
            sequence=ack.position.sequence, reason=bootstrap.reason
        )
        events.note(node_id=node.pk, kind="snapshot", message=message, now=now)
    return True


def _client(node: Node) -> node_client.NodeClient:
    context = client_ssl_context(ensure_authority(now=timezone.now()))
    return client_of(node, context)
