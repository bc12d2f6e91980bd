"""The tasks of the fleet. Most run in the queue *push*: `celery worker -Q push --pool=threads`.

A push task takes a node's id and sends all data that the node lacks. Beat also enqueues one for every node that is
behind, in case no worker could be woken.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

from celery import current_task, shared_task
from django.utils import timezone

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.fleet import events
from dnspanel.fleet.dnssec import drive, parent_checks, signalling_names
from dnspanel.fleet.integrity import decision, node_comparison, repair_node, unknown_history
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import fronts, machines, node_computed_types, node_keys, node_lifecycle, query_reports, rotate
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.fleet.push import acks, maintenance
from dnspanel.fleet.push.agent_connections import AgentConnection, connections
from dnspanel.fleet.push.bootstrap import ask_for_snapshot, regressed_nodes
from dnspanel.fleet.push.lease import SHORT_PAUSE, Lease, LeaseLost, free_bootstraps
from dnspanel.fleet.push.outcome import Refusal, SendSnapshot, TryAgain, outcome_of
from dnspanel.fleet.push.push_fan_out import push_together
from dnspanel.fleet.push.segment_log import DatabaseChangeLog
from dnspanel.fleet.push.send_snapshot import send_snapshot
from dnspanel.fleet.rollout import bogus_zones, deliver_groups, failed_publication
from dnspanel.fleet.rollout.gates import free_nodes, node_to_push, with_limit
from dnspanel.texts import gettext
from dnspanel.wake import wake, wake_each
from dnspanel.zones.signing import automatic
from replication.errors import ReplicationError
from replication.node_client import NodeClient
from replication.push import bring_to_head
from replication.wire.position import Position
from replication.wire.protocol import Ack

# How often the progress of a node far behind is recorded: an edit during an import is confirmed with this delay.
PROGRESS_SECONDS = 0.25
# If a node's files are newer than its ack, the next ack is requested after this time.
ASK_AGAIN_SECONDS = 0.25
# A node that refuses is tried again this often, and at every new segment.
REFUSAL_PAUSE = timedelta(seconds=10)

# A node that found a differing row searches for all such rows. Its result is requested after this time.
MENDING_DELAY = 1

# Pushes to reachable nodes never wait behind unreachable ones, which occupy a thread for seconds.
_POOL = "push-"
_together = ThreadPoolExecutor(8, thread_name_prefix=f"{_POOL}together")
_singly = ThreadPoolExecutor(16, thread_name_prefix=f"{_POOL}singly")
_away = ThreadPoolExecutor(8, thread_name_prefix=f"{_POOL}away")

# Parents can be slow, and pushes to nodes run on the same threads, so most threads must stay free.
_parents = threading.BoundedSemaphore(3)

logger = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def push_node(node_id: int) -> None:
    """Send one node all data that it lacks, up to its limit. Late, missing or repeated runs do no harm."""
    connections[node_id].push(lambda connection: _push(node_id, connection))


@shared_task(ignore_result=True)
def push_nodes(node_ids: list[int]) -> None:
    """Send several nodes all data that they lack, up to their limits. Nodes that lack the same data share one push."""
    _push_together(node_ids)


@shared_task(ignore_result=True)
def push_late_nodes() -> None:
    """Push to the nodes that are behind (see `late_nodes`)."""
    wake_released_nodes(node_ids=late_nodes())


@shared_task(ignore_result=True)
def rotate_identities() -> None:
    """Rotate certificates, and send new signing keys to the nodes. Each part continues where its last run ended."""
    rotate.rotate_due(now=timezone.now())
    node_keys.spread_keys(now=timezone.now())


@shared_task(ignore_result=True)
def set_up_computed_types() -> None:
    """Set up ALIAS and LUA on nodes that reported recently and have other settings, one after another."""
    node_computed_types.set_up(now=timezone.now())


@shared_task(ignore_result=True)
def count_queries() -> None:
    """Take the counts of queries from all nodes. A late or repeated run loses nothing."""
    with hold_lock(Lock.COUNTING) as mine:
        if mine:
            query_reports.take_reports(now=timezone.now())


@shared_task(ignore_result=True)
def set_up_fronts() -> None:
    """Send every front its settings. Late, missing or repeated runs do no harm."""
    with hold_lock(Lock.FRONTS) as mine:
        if mine:
            fronts.push_settings(now=timezone.now())


def wake_fronts(**_: Any) -> None:
    """Wake the task that sends fronts their settings, if any fronts exist. Without a broker, it runs a second later."""
    if Node.objects.filter(is_front=True).exclude(state=NodeState.RETIRED).exists():
        wake(set_up_fronts)


@shared_task(ignore_result=True)
def look_at_unproven_zones() -> None:
    """Check zones that failed validation on nodes, and clear the entries of those that validate again."""
    with hold_lock(Lock.UNPROVEN) as mine:
        if mine:
            bogus_zones.look(now=timezone.now())


@shared_task(ignore_result=True)
def drive_rollovers() -> None:
    """Check every open DNSSEC rollover and take due steps. This waits for answers from other servers."""
    with hold_lock(Lock.ROLLOVERS) as mine:
        if mine:
            drive.drive_rollovers(clock=timezone.now)


@shared_task(ignore_result=True)
def begin_due_rollovers() -> None:
    """Start the rollovers that automatic DNSSEC policies require."""
    automatic.begin_due_rollovers(now=timezone.now())


@shared_task(ignore_result=True)
def begin_first_ds() -> None:
    """Start rollovers to the first DS of zones that lack only their DS, if their DNSSEC policies require it."""
    automatic.begin_first_ds(now=timezone.now())


@shared_task(ignore_result=True)
def reconcile_signalling_names() -> None:
    """Update the signalling names (RFC 9615) of zones where signalling is or was on."""
    with hold_lock(Lock.SIGNALLING_NAMES) as mine:
        if mine:
            signalling_names.reconcile(now=timezone.now())


@shared_task(ignore_result=True)
def tidy_identities() -> None:
    """Retire signing keys that are no longer needed, and delete old events."""
    node_keys.retire_when_possible(now=timezone.now())
    events.forget_events(now=timezone.now())


@shared_task(ignore_result=True)
def compare_nodes() -> None:
    """Compare the digests of nodes that reported recently with the panel's, and wake repairs where needed."""
    for node_id in node_comparison.compare_nodes(now=timezone.now()):
        wake_repair(node_id)


@shared_task(ignore_result=True)
def mend_node(node_id: int) -> None:
    """Repair differences between this node and the panel, then wake its push. Repeated runs do no harm."""
    try:
        if repair_node.repair(node_id, connections[node_id]):
            wake(push_node, node_id)
    except ReplicationError as exc:
        logger.warning("cannot repair node_id=%s: %s", node_id, exc)


def wake_repair(node_id: int, *, countdown: float = 0) -> None:
    """Wake the repair of a node. If the broker is down, the repair starts up to a minute later."""
    wake(mend_node, node_id, countdown=countdown)


@shared_task(ignore_result=True)
def check_node(node_id: int) -> None:
    """Make the agent read and compare every row now. If the agent can't be reached, the node's page shows this."""
    node = Node.objects.filter(pk=node_id, state__in=(NodeState.ACTIVE, NodeState.DRAINED)).first()
    if node is None:
        return
    context = client_ssl_context(ensure_authority(now=timezone.now()))
    try:
        with client_of(node, context) as client:
            client.check()
    except ReplicationError as exc:
        message = gettext("The check couldn’t be started: {exc}.").format(exc=exc)
        events.note(node_id=node_id, kind="check", message=message, now=timezone.now())


@shared_task(ignore_result=True)
def bootstrap_node(node_id: int) -> None:
    """Send a node its snapshot under a lease, then wake its push. Try again if only a short pause is due."""
    with suppress(LeaseLost):
        lease = Lease.take(node_id=node_id, now=timezone.now())
        if lease is not None and send_snapshot(lease=lease):
            wake(push_node, node_id)
        elif lease is not None and lease.pause == SHORT_PAUSE:
            wake(bootstrap_node, node_id, countdown=SHORT_PAUSE.total_seconds() + 0.1)


@shared_task(ignore_result=True)
def bootstrap_waiting_nodes() -> None:
    """Wake a worker for every requested snapshot that no worker is sending, in random order.

    Before this, resume nodes whose drain has expired, and request snapshots for nodes that have lost data.
    """
    node_lifecycle.resume_due(now=timezone.now())
    for node_id, reason in regressed_nodes():
        ask_for_snapshot(node_id=node_id, reason=reason, now=timezone.now())
    waiting = list(free_bootstraps(now=timezone.now()).values_list("node_id", flat=True))
    random.shuffle(waiting)
    wake_each(bootstrap_node, waiting)


@shared_task(ignore_result=True)
def check_parents() -> None:
    """Query the parents of zones whose check is due, each at least once a day. This waits for other servers."""
    with hold_lock(Lock.PARENT_CHECKS) as mine:
        if mine:
            parent_checks.admit(now=timezone.now())
            parent_checks.check_all(parent_checks.take_on(now=timezone.now()), now=timezone.now())


@shared_task(ignore_result=True)
def check_parent(zone_id: int) -> None:
    """Query the parent of one zone if its check is due. Late, missing or repeated runs do no harm."""
    if not _parents.acquire(blocking=False):
        return  # beat finds it
    try:
        claims = parent_checks.take_on(now=timezone.now(), zone_ids=[zone_id])
        parent_checks.check_all(claims, now=timezone.now())
    finally:
        _parents.release()


# Tasks keep their old names, because messages of the previous version can still be in Redis during an upgrade.
@shared_task(name="dnspanel.fleet.tasks.tend_hold", ignore_result=True)
def maintain_hold() -> None:
    """Take the next step of a hold: list publications that only nodes have, or execute the decision."""
    decision.step(now=timezone.now())


@shared_task(name="dnspanel.fleet.tasks.tend_log", ignore_result=True)
def maintain_log() -> None:
    """Maintain the log: follow the nodes' schemas, make snapshots, merge segments, and delete unneeded data."""
    maintenance.maintain_log(now=timezone.now())


def late_nodes() -> list[int]:
    """Return the ids of active nodes to push: refusing, behind their limit, beyond the head or in another epoch.

    Nodes with a requested snapshot are left out. So are nodes with a recent refusal, except ring 0.
    """
    nodes = with_limit(Node.objects.filter(state=NodeState.ACTIVE, bootstrap=None)).values_list(
        "pk", "schema", "epoch", "acked", "refusal", "refused_at", "limit", "is_ring0"
    )
    patience = timezone.now() - REFUSAL_PAUSE
    heads: dict[int, Position | None] = {}
    late = []
    for node_id, schema, epoch, acked, refusal, refused_at, limit, is_ring0 in nodes:
        if schema not in heads:
            heads[schema] = DatabaseChangeLog(schema).newest()
        head = heads[schema]
        # All other nodes wait for ring 0.
        waits = refused_at is not None and refused_at > patience and not is_ring0
        if head is None or waits:
            continue
        target = head.sequence if limit is None else min(head.sequence, limit)
        if epoch != head.epoch or acked < target or acked > head.sequence or refusal:
            late.append(node_id)
    return late


def wake_nodes(*, schema: int, **_: Any) -> None:
    """Wake the push of every active node with this schema that has no limit."""
    _wake_pushes(free_nodes(schema=schema))


@shared_task(ignore_result=True)
def advance_delivery() -> None:
    """Release publications to groups, in case no worker did so after an ack or when a group's time to verify ended.

    Also wake fronts every second, so that they leave out nodes that have just fallen behind.
    """
    deliver_groups.advance(now=timezone.now())
    wake_fronts()


def wake_released_nodes(*, node_ids: Sequence[int], **_: Any) -> None:
    """Push to nodes whose limit has risen: in this process if it is a push worker, else through the broker.

    A push worker has usually just received the ack that the nodes waited for, and the broker would delay a user's edit
    by a few milliseconds. If the worker dies, beat wakes the pushes.
    """
    if not _pushes_here():
        _wake_pushes(node_ids)
    elif len(node_ids) == 1:
        _push_singly(node_ids[0])
    else:
        _together.submit(_push_here, push_nodes, node_ids)


def _pushes_here() -> bool:
    """Return True if this thread belongs to a push worker."""
    if threading.current_thread().name.startswith(_POOL):
        return True
    is_push = current_task and current_task.name in (push_node.name, push_nodes.name)
    return bool(is_push and not current_task.request.called_directly)


def _wake_pushes(node_ids: Sequence[int]) -> None:
    """Send one message that wakes the pushes to all these nodes."""
    if len(node_ids) == 1:
        wake(push_node, node_ids[0])
    elif node_ids:
        wake(push_nodes, list(node_ids))


def _push_here(push: Callable[[Any], None], whom: int | Sequence[int]) -> None:
    try:
        push(whom)
    except Exception:  # no caller needs the result
        logger.exception("cannot push to %s", whom)


def _push_together(node_ids: Sequence[int]) -> None:
    """Push to all these nodes together, and start pushes for the remaining work."""
    for left in push_together(node_ids, _push):
        for node_id in left.singly:
            _push_singly(node_id)
        if left.again:
            _together.submit(_push_here, push_nodes, left.again)


def _push_singly(node_id: int) -> None:
    """Push to this node in a thread of this process. Requests that arrive before the push starts share one push."""
    connection = connections[node_id]
    if not connection.is_queued:
        connection.is_queued = True
        pool = _singly if connection.reachable else _away
        pool.submit(_push_here, _push_queued, node_id)


def _push_queued(node_id: int) -> None:
    connections[node_id].is_queued = False  # set before the push, because the push can miss requests from now on
    push_node(node_id)


def _push(node_id: int, connection: AgentConnection) -> None:
    """Bring one node to its limit, if it takes pushes. React to an error as `outcome_of` decides.

    If another machine uses the node's identity, only record a refusal.
    """
    node = node_to_push(node_id)
    if node is None:
        return
    if node.other_machine:
        acks.record_refusal(node_id=node_id, message=machines.describe_conflict(node), now=timezone.now())
        return
    try:
        client = connection.client(node.agent_host, node.agent_port, node.pins)
        node_keys.with_keys(client, lambda: _bring_to_head(node, connection, client))
    except ReplicationError as exc:
        connection.applied = None
        match outcome_of(exc, is_ring0=node.is_ring0):
            case TryAgain():
                if connection.reachable:
                    logger.warning("cannot push node=%s: %s", node.name, exc)
                connection.reachable = False
            case SendSnapshot(reason):
                _ask_for_snapshot(node_id, reason)
            case Refusal() as refusal:
                _record(node, refusal)
    else:
        connection.reachable = True


def _record(node: Node, refusal: Refusal) -> None:
    if refusal.not_served and failed_publication.examine(node=node, error=refusal.not_served, now=timezone.now()):
        return  # its revert is on the way
    # For ring 0, everything that can be the cause is reverted by now.
    is_exhausted = refusal.not_served is not None
    if refusal.unproven and bogus_zones.let_pass(
        node=node, error=refusal.unproven, now=timezone.now(), is_exhausted=is_exhausted
    ):
        wake(push_node, node.pk)
        return
    if refusal.ahead:
        unknown_history.hold_if_ahead(positions=[(node.name, refusal.ahead)], now=timezone.now())
    acks.record_refusal(node_id=node.pk, message=refusal.message, now=timezone.now())
    if refusal.repair:
        wake_repair(node.pk, countdown=MENDING_DELAY)
    if refusal.snapshot:
        _ask_for_snapshot(node.pk, refusal.snapshot)


def _ask_for_snapshot(node_id: int, reason: str) -> None:
    if ask_for_snapshot(node_id=node_id, reason=reason, now=timezone.now()):
        wake(bootstrap_node, node_id)


def _bring_to_head(node: Node, connection: AgentConnection, client: NodeClient) -> None:
    """Push up to the node's limit. Record the first progress immediately, then every PROGRESS_SECONDS or sooner.

    If the node's PowerDNS doesn't know all new zones yet, request the node's ack again after ASK_AGAIN_SECONDS.
    """
    started, sent = time.monotonic(), client.bytes_sent
    begin = _acked_position(node)
    before = have = connection.place(begin)
    log = DatabaseChangeLog(node.schema, limit=node.limit)  # type: ignore[attr-defined]
    passing = bogus_zones.names_of(node) if node.has_unproven else ()  # type: ignore[attr-defined]
    ack: Ack | None = None
    until, at_head = started, False  # one request, whose ack a person may be waiting for
    while not at_head:
        pushed = bring_to_head(client, log, have, until=until, unproven=passing, pace=connection.pace)
        at_head = time.monotonic() < until
        if pushed is None:
            break
        ack, have = pushed, pushed.place
        at_head |= _take_ack(node, connection, log, ack)
        until = time.monotonic() + PROGRESS_SECONDS
    if ack is None and connection.applied is not None:
        ack = client.ack()
        have = ack.place
        _take_ack(node, connection, log, ack)
    if connection.applied is not None:
        _ask_again(node.pk, connection)
    if ack is None and node.refusal:
        acks.clear_refusal(node_id=node.pk)
    if ack is None or (have, _acked_position(node)) == (before, begin):
        return
    ms = (time.monotonic() - started) * 1000
    logger.info(
        "pushed node=%s from=%s to=%s acked=%s bytes=%s ms=%.1f",
        node.name,
        begin.sequence if begin else 0,
        ack.place.sequence,
        ack.position.sequence,
        client.bytes_sent - sent,
        ms,
    )


def _take_ack(node: Node, connection: AgentConnection, log: DatabaseChangeLog, ack: Ack) -> bool:
    """Record an ack and wake the nodes that waited for it. Return True if the node has everything up to its limit.

    An ack can repeat the last position if only the position of the node's files is newer. Raise Diverged if the ack has
    wrong digests.
    """
    log.check(ack)
    if ack.applied is not None and ack.applied != connection.applied:
        acks.record_applied(node_id=node.pk, position=ack.applied, now=timezone.now())
    connection.applied = ack.applied
    if ack.position == _acked_position(node):
        if node.refusal:
            acks.clear_refusal(node_id=node.pk)
        return False
    recorded = acks.record_ack(node_id=node.pk, ack=ack, now=timezone.now())
    node.epoch, node.acked = ack.position.epoch, ack.position.sequence
    if node.is_gate:  # type: ignore[attr-defined]
        deliver_groups.advance(now=timezone.now())
    if recorded is None or recorded.newest is None or ack.applied is not None:
        return False
    return not recorded.is_behind(node.acked, node.limit)  # type: ignore[attr-defined]


def _acked_position(node: Node) -> Position | None:
    return Position(node.epoch, node.acked) if node.epoch else None


def _ask_again(node_id: int, connection: AgentConnection) -> None:
    """Schedule another push by this process, unless one is scheduled. If the worker dies, it runs two seconds later."""
    if not connection.is_scheduled:
        connection.is_scheduled = True
        timer = threading.Timer(ASK_AGAIN_SECONDS, _push_scheduled, (node_id, connection))
        timer.daemon = True
        timer.start()


def _push_scheduled(node_id: int, connection: AgentConnection) -> None:
    connection.is_scheduled = False
    _push_singly(node_id)
