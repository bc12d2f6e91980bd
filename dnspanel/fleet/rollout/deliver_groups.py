"""Deliver to groups: release publications when earlier groups acknowledge them, stop, pin, skip and resume. Verbs.

`advance` runs after every ack and every second, and depends only on stored data. A person's decision (stop, pin, skip a
group) is valid until a person ends it.
"""

import logging
import threading
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from dnspanel.accounts.actors.actors import Author, Permission, user_of
from dnspanel.accounts.audit import audit
from dnspanel.advisory_locks import SqlLock
from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.database.sql import execute
from dnspanel.fleet import events
from dnspanel.fleet.errors import DeliveryRefused
from dnspanel.fleet.models import Delivery, Node, NodeGroup, NodeState
from dnspanel.fleet.rollout import take_back
from dnspanel.fleet.rollout.gates import Gates, read_gates
from dnspanel.fleet.rollout.stages import Ring0, Stop, stop_for
from dnspanel.fleet.signals import released
from dnspanel.texts import gettext
from dnspanel.zones.models import LogHead
from dnspanel.zones.rights import access

LONGEST_REASON = 500

# True if anything has to be decided (False for a fleet with one group and no ring 0), and True if there is a merge.
_IS_STAGED = """
    SELECT EXISTS (SELECT FROM fleet_node WHERE is_ring0 AND state = 'active')
        OR EXISTS (SELECT FROM fleet_release)
        OR (SELECT count(*) FROM fleet_nodegroup) > 1,
        EXISTS (SELECT FROM fleet_isolation WHERE merged_at IS NULL)"""
# Only one transaction at a time decides up to which sequence nodes are updated.
_ALONE = f"SELECT {SqlLock.ROLLOUT.until_commit}"
# Releases can be computed again, so no caller waits until they are on disk. A stop must be on disk.
_QUICKLY = f"SELECT {SqlLock.ROLLOUT.until_commit}, set_config('synchronous_commit', 'off', true)"
_DURABLY = "SELECT set_config('synchronous_commit', 'on', true)"
_RELEASE = """
    INSERT INTO fleet_release (group_id, epoch, sequence, at) VALUES (%s, %s, %s, %s)
    ON CONFLICT (group_id, epoch) DO UPDATE SET sequence = excluded.sequence, at = excluded.at
    WHERE fleet_release.sequence < excluded.sequence"""
_GO_FREE = """
    DELETE FROM fleet_release r WHERE r.epoch <> %s
        OR NOT EXISTS (SELECT FROM unnest(%s::bigint[]) held (id) WHERE held.id IS NOT DISTINCT FROM r.group_id)
    RETURNING r.group_id, r.epoch = %s"""

logger = logging.getLogger(__name__)
_turn = threading.Lock()
_requested = threading.Event()


def advance(*, now: datetime) -> None:
    """Release each stage as far as earlier stages allow, and wake nodes whose limit has risen.

    Also merge reverted publications (`merge_acked`), end skips of groups with a live node, and stop delivery after a
    stage with a fault. If several callers arrive at the same time, one does the work, and checks once more for the
    others. A fleet without stages costs one query.
    """
    _requested.set()
    while _requested.is_set() and _turn.acquire(blocking=False):
        try:
            _requested.clear()
            _advance(now)
        finally:
            _turn.release()


def stop(*, reason: str, by: Author, now: datetime) -> None:
    """Stop all delivery until `resume`. Raise Forbidden without permission, DeliveryRefused for an invalid reason."""
    access.require(by, Permission.NODES)
    reason = _check_reason(reason)
    with transaction.atomic():
        delivery = _lock_delivery()
        Delivery.objects.filter(pk=delivery.pk).update(
            stopped_reason=reason, stopped_at=now, stopped_group=None, stopped_whole=True
        )
        audit.record(action="delivery.stop", by=by, now=now, reason=reason)
        _note_all("delivery", gettext("Delivery to all nodes stopped. Reason: {reason}").format(reason=reason), now, by)
    logger.warning("delivery stopped by=%s: %s", user_of(by) or "command line", reason)


def resume(*, by: Author, now: datetime) -> None:
    """Resume stopped delivery. Earlier answers of nodes then no longer cause a stop.

    Raise Forbidden if not permitted, or DeliveryRefused if delivery isn't stopped. Current faults (a node that refuses,
    or diverging content) stop it again.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        delivery = _lock_delivery()
        if not delivery.stopped_reason:
            raise DeliveryRefused(gettext("Delivery is not stopped."))
        Delivery.objects.filter(pk=delivery.pk).update(
            stopped_reason="", stopped_at=None, stopped_group=None, stopped_whole=False, resumed_at=now
        )
        audit.record(action="delivery.resume", by=by, now=now, reason=delivery.stopped_reason)
        _note_all("delivery", gettext("Delivery resumed."), now, by)
    logger.info("delivery goes on by=%s", user_of(by) or "command line")
    advance(now=now)
    _wake(_active_ids())


def pin(*, sequence: int, reason: str, by: Author, now: datetime) -> None:
    """Pin the fleet: no node goes beyond this sequence until `unpin`. Publishing and encoding continue.

    Raise DeliveryRefused if the sequence is beyond the head, or if a node already serves a newer one, because a pin
    reverts nothing. Also raise it if the reason is empty or too long. Raise Forbidden without permission.
    """
    access.require(by, Permission.NODES)
    reason = _check_reason(reason)
    with transaction.atomic():
        delivery = _lock_delivery()
        head = LogHead.objects.get()
        acked = Node.objects.filter(state=NodeState.ACTIVE, epoch=head.epoch).aggregate(most=Max("acked"))["most"] or 0
        if sequence > head.sequence:
            raise DeliveryRefused(
                gettext("The newest publication has sequence {sequence}.").format(sequence=head.sequence)
            )
        if sequence < acked:
            raise DeliveryRefused(
                gettext(
                    "A node already serves sequence {acked}, and a pin can’t revert changes. Pin at {acked} or later, "
                    "and undo the unwanted publications."
                ).format(acked=acked)
            )
        Delivery.objects.filter(pk=delivery.pk).update(
            pinned=sequence, pinned_reason=reason, pinned_at=now, pinned_by=user_of(by)
        )
        audit.record(action="delivery.pin", by=by, now=now, sequence=sequence, reason=reason)
        _note_all(
            "delivery",
            gettext("Fleet pinned at sequence {sequence}. Reason: {reason}").format(sequence=sequence, reason=reason),
            now,
            by,
        )
    logger.warning("fleet pinned sequence=%s by=%s: %s", sequence, user_of(by) or "command line", reason)
    _wake(_active_ids())


def unpin(*, by: Author, now: datetime) -> None:
    """Let nodes continue to the head by stages. Raise Forbidden without permission, DeliveryRefused if not pinned."""
    access.require(by, Permission.NODES)
    with transaction.atomic():
        delivery = _lock_delivery()
        if delivery.pinned is None:
            raise DeliveryRefused(gettext("The fleet is not pinned."))
        Delivery.objects.filter(pk=delivery.pk).update(pinned=None, pinned_reason="", pinned_at=None, pinned_by=None)
        audit.record(action="delivery.unpin", by=by, now=now, sequence=delivery.pinned)
        _note_all("delivery", gettext("Fleet unpinned from sequence {pinned}.").format(pinned=delivery.pinned), now, by)
    advance(now=now)
    _wake(_active_ids())


def skip(*, group: NodeGroup, reason: str, by: Author, now: datetime) -> None:
    """Let later groups continue while no node of this group is live. The skip ends when a node is live again.

    Raise Forbidden if not permitted. Raise DeliveryRefused if a node is live, if the group has no active nodes, or if
    the reason is empty or too long.
    """
    access.require(by, Permission.NODES)
    reason = _check_reason(reason)
    with transaction.atomic():
        _lock_delivery()
        stage = next((s for s in read_gates(now=now).stages if s.group_id == group.pk), None)
        if stage is None or not stage.members:
            raise DeliveryRefused(
                gettext("The group {name} has no active nodes, so delivery doesn’t wait for it.").format(
                    name=group.name
                )
            )
        if stage.live:
            raise DeliveryRefused(
                gettext("Node {name} in group {name2} is live. To skip the group, drain the node first.").format(
                    name=stage.live[0].name, name2=group.name
                )
            )
        NodeGroup.objects.filter(pk=group.pk).update(skipped_reason=reason, skipped_at=now)
        audit.record(action="delivery.skip", by=by, now=now, target=group.name, reason=reason)
        for member in stage.members:
            message = gettext("Other groups no longer wait for {name}. Reason: {reason}").format(
                name=group.name, reason=reason
            )
            events.note(node_id=member.id, kind="delivery", message=message, now=now, by=by)
    advance(now=now)


def _advance(now: datetime) -> None:
    with prepared_cursor() as cursor:
        cursor.execute(_IS_STAGED)
        is_staged, is_isolating = cursor.fetchone()
    if is_isolating:
        take_back.merge_acked(now=now)
    if not is_staged:
        return
    with transaction.atomic():
        execute(_QUICKLY)
        gates = read_gates(now=now)
        _end_skips(gates, now)
        if not gates.stopped_reason and (found := stop_for(gates.stages)):
            _stop_behind(found, now)
            gates = read_gates(now=now)
        groups = _write_releases(gates, now)
        node_ids = _nodes_of(groups, gates) if groups else []
    _wake(node_ids)


def _write_releases(gates: Gates, now: datetime) -> set[int | None]:
    """Store the limits of stages that wait for others, and delete the rest. Return groups whose limit rose or ended."""
    moved: set[int | None] = set()
    limited = [c for c in gates.clearances() if c.sequence is not None and c.stage.ring0 is Ring0.NO]
    rows = gates.releases + sum(clearance.stage.released is None for clearance in limited)
    with prepared_cursor() as cursor:
        for clearance in limited:
            if clearance.sequence != clearance.stage.released:
                cursor.execute(_RELEASE, (clearance.stage.group_id, gates.epoch, clearance.sequence, now))
                moved.add(clearance.stage.group_id)
        if rows != len(limited):  # some rows belong to groups that no longer wait, or to another epoch
            cursor.execute(_GO_FREE, (gates.epoch, [c.stage.group_id for c in limited], gates.epoch))
            moved |= {group_id for group_id, is_ours in cursor.fetchall() if is_ours}
    return moved


def _stop_behind(found: Stop, now: datetime) -> None:
    """Stop every stage after the one in `found`, until a person resumes delivery."""
    execute(_DURABLY)
    _lock_delivery()
    Delivery.objects.filter(pk=1).update(
        stopped_reason=found.reason, stopped_at=now, stopped_group_id=found.stage.group_id, stopped_whole=False
    )
    audit.record(action="delivery.stop", by=None, now=now, target=found.stage.name, reason=found.reason)
    for member in found.stage.members:
        message = gettext("Delivery stopped after {name}. Reason: {reason}").format(
            name=found.stage.name, reason=found.reason
        )
        events.note(node_id=member.id, kind="delivery", message=message, now=now)
    logger.error("delivery stopped behind group=%s: %s", found.stage.name, found.reason)


def _end_skips(gates: Gates, now: datetime) -> None:
    for stage in gates.stages:
        if stage.group_id is not None and stage.is_skipped and stage.live:
            NodeGroup.objects.filter(pk=stage.group_id).update(skipped_reason="", skipped_at=None)
            audit.record(action="delivery.skip_ended", by=None, now=now, target=stage.name)


def _nodes_of(groups: set[int | None], gates: Gates) -> list[int]:
    nodes = [member.id for s in gates.stages if s.ring0 is Ring0.NO and s.group_id in groups for member in s.members]
    return [*nodes, *gates.fronts]


def _active_ids() -> list[int]:
    return list(Node.objects.filter(state=NodeState.ACTIVE).values_list("pk", flat=True))


def _wake(node_ids: Iterable[int]) -> None:
    if ids := list(node_ids):
        released.send_robust(sender=None, node_ids=ids)


def _lock_delivery() -> Delivery:
    """Return the single row of `Delivery`, locked until the end of the transaction."""
    execute(_ALONE)
    delivery, _ = Delivery.objects.get_or_create(pk=1)
    return delivery


def _note_all(kind: str, message: str, now: datetime, by: Author) -> None:
    for node_id in _active_ids():
        events.note(node_id=node_id, kind=kind, message=message, now=now, by=by)


def _check_reason(reason: str) -> str:
    reason = " ".join(reason.split())
    if not reason or len(reason) > LONGEST_REASON:
        raise DeliveryRefused(
            gettext("Enter a reason of up to {longest_reason} characters.").format(longest_reason=LONGEST_REASON)
        )
    return reason
