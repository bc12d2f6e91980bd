"""Track the machine of a node: the first one that presents the node's identity, until a person decides. Verbs.

If a disk or directory was copied, two machines present the same identity. Both continue to serve their data. Both get
no new publications, because only a person knows which machine is right.
"""

import logging
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Permission
from dnspanel.accounts.audit import audit
from dnspanel.fleet import events
from dnspanel.fleet.errors import WrongState
from dnspanel.fleet.models import Node
from dnspanel.texts import gettext
from dnspanel.zones.rights import access

_MOST_FORMER = 100

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Sightings:
    """The start times that one node's agent reported. They are kept in memory by the process that polls the agent."""

    latest: float | None = None
    _former: list[float] = field(default_factory=list)

    def is_second(self, started_at: float) -> bool:
        """Record an agent's start time. Return True if it runs at the same time as the agent that answered before.

        Every start has a different time, and an agent that was replaced by a newer one never answers again. Therefore,
        an older agent that answers after a newer one runs on another machine, even if that machine is an exact copy.
        """
        if started_at == self.latest:
            return False
        returned = started_at in self._former
        if self.latest is not None:
            self._former = [*self._former, self.latest][-_MOST_FORMER:]
        self.latest = started_at
        return returned


def see(*, node: Node, machine: str, address: str, second: bool, now: datetime) -> None:
    """Record that this machine, at this address, presented the node's identity.

    The first machine is accepted as the node. Pushes to both stop if another machine, or a `second` agent that seems to
    be on the same machine, presents the identity. An agent that is too old to report its machine changes nothing.
    """
    if not machine:
        return
    if not node.machine:
        Node.objects.filter(pk=node.pk, machine="").update(machine=machine, machine_address=address)
        return
    if machine == node.machine and not second:
        if address != node.machine_address and not node.other_machine:
            Node.objects.filter(pk=node.pk, machine=machine).update(machine_address=address)
        return
    is_new = Node.objects.filter(pk=node.pk, other_machine="").update(
        other_machine=machine, other_machine_address=address, other_machine_at=now
    )
    if is_new:
        node.refresh_from_db()
        logger.error("two agents with one identity node=%s: %s", node.name, describe_conflict(node))
        message = f"{describe_conflict(node).capitalize()}."
        events.note(node_id=node.pk, kind="machine", message=message, now=now)


def describe_conflict(node: Node) -> str:
    """Return a clause about the conflict if two machines present the node's identity, or "" if there is no conflict."""
    if not node.other_machine:
        return ""
    first, other = (
        address or gettext("an unknown address") for address in (node.machine_address, node.other_machine_address)
    )
    if node.other_machine == node.machine:
        return gettext(
            "two identical agents use this identity, at {first} and {other}. Stop the copy, or enroll it as a "
            "separate node"
        ).format(first=first, other=other)
    return gettext(
        "two machines use this identity: {machine} at {first} and {other_machine} at {other}. Neither "
        "machine gets updates until you choose one"
    ).format(machine=node.machine[:12], first=first, other_machine=node.other_machine[:12], other=other)


def accept_other(*, node: Node, machine: str, now: datetime, by: Author) -> None:
    """Accept the other machine as this node. Raise Forbidden, or WrongState if this machine is no longer reported."""
    access.require(by, Permission.NODES)
    with transaction.atomic():
        moved = (
            Node.objects.filter(pk=node.pk, other_machine=machine)
            .exclude(other_machine="")
            .update(
                machine=machine,
                machine_address=node.other_machine_address,
                other_machine="",
                other_machine_address="",
                other_machine_at=None,
                refusal="",
                refused_at=None,
            )
        )
        if not moved:
            raise WrongState(node.name, gettext("no longer reports this machine"))
        audit.record(action="node.machine", by=by, now=now, target=node.name, machine=machine)
        message = gettext("Machine {machine} accepted as this node.").format(machine=machine[:12])
        events.note(node_id=node.pk, kind="machine", message=message, now=now, by=by)


def keep_first(*, node: Node, now: datetime, by: Author) -> None:
    """Keep the first machine, and flag the other one again if it answers.

    Raise Forbidden if not permitted, or WrongState if no other machine is reported.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        moved = (
            Node.objects.filter(pk=node.pk)
            .exclude(other_machine="")
            .update(other_machine="", other_machine_address="", other_machine_at=None, refusal="", refused_at=None)
        )
        if not moved:
            raise WrongState(node.name, gettext("is used by only one machine"))
        audit.record(action="node.machine", by=by, now=now, target=node.name, machine=node.machine)
        message = gettext("Machine {machine} confirmed as this node. The other machine was rejected.").format(
            machine=node.machine[:12]
        )
        events.note(node_id=node.pk, kind="machine", message=message, now=now, by=by)
