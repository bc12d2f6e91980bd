"""Manage groups of nodes, and the order in which the groups receive publications. Verbs."""

import re
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, Permission
from dnspanel.accounts.audit import audit
from dnspanel.fleet.errors import GroupRefused
from dnspanel.fleet.models import Delivery, Node, NodeGroup, NodeState
from dnspanel.fleet.rollout import deliver_groups
from dnspanel.texts import gettext
from dnspanel.zones.rights import access
from replication.wire.protocol import is_resolver

LONGEST_VERIFY_SECONDS = 24 * 3600
MOST_GROUPS = 50

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Names with another meaning on the pages.
_RESERVED = frozenset({"ring0", "ring-0"})


def create_group(*, name: str, verify_seconds: int, by: Author, now: datetime) -> NodeGroup:
    """Create a group and put it last. The first group contains all nodes without a group, and later groups are empty.

    Raise Forbidden if not permitted, or GroupRefused for an invalid or used name, an invalid time or too many groups.
    """
    access.require(by, Permission.NODES)
    _check_name(name)
    _check_seconds(verify_seconds)
    try:
        with transaction.atomic():
            groups = NodeGroup.objects.select_for_update().order_by("order")
            if len(groups) >= MOST_GROUPS:
                raise GroupRefused(
                    gettext("The limit of {most_groups} groups has been reached.").format(most_groups=MOST_GROUPS)
                )
            last = max((group.order for group in groups), default=0)
            if groups:
                # A node stays in the group where people saw it: a new last group does not take nodes along.
                Node.objects.filter(group=None, is_ring0=False).update(group=groups[len(groups) - 1])
            group = NodeGroup.objects.create(name=name, order=last + 1, verify_seconds=verify_seconds)
            audit.record(action="group.create", by=by, now=now, target=name, verify_seconds=verify_seconds)
    except IntegrityError as exc:
        raise GroupRefused(gettext("A group named {name} already exists.").format(name=name), field="name") from exc
    deliver_groups.advance(now=now)
    return group


def rename_group(*, group: NodeGroup, name: str, by: Author, now: datetime) -> None:
    """Rename the group. Raise Forbidden if not permitted, or GroupRefused if the name is invalid or already used."""
    access.require(by, Permission.NODES)
    _check_name(name)
    try:
        with transaction.atomic():
            NodeGroup.objects.filter(pk=group.pk).update(name=name)
            audit.record(action="group.rename", by=by, now=now, target=name, before=group.name)
    except IntegrityError as exc:
        raise GroupRefused(gettext("A group named {name} already exists.").format(name=name), field="name") from exc


def set_verify_seconds(*, group: NodeGroup, seconds: int, by: Author, now: datetime) -> None:
    """Set how long the group must answer correctly before the next one starts.

    Raise Forbidden if not permitted, or GroupRefused if the time is out of range.
    """
    access.require(by, Permission.NODES)
    _check_seconds(seconds)
    with transaction.atomic():
        NodeGroup.objects.filter(pk=group.pk).update(verify_seconds=seconds)
        before = group.verify_seconds
        audit.record(action="group.verify", by=by, now=now, target=group.name, verify_seconds=seconds, before=before)
    deliver_groups.advance(now=now)


def set_resolver(*, group: NodeGroup, resolver: str, by: Author, now: datetime) -> None:
    """Set the resolver for ALIAS on the group's nodes. An empty string selects the fleet's resolver.

    Nodes are changed one after another. Raise Forbidden if not permitted, or GroupRefused for an invalid address.
    """
    access.require(by, Permission.NODES)
    if resolver and not is_resolver(resolver):
        message = gettext(
            "Enter an IP address, with the port if it isn’t 53, such as 192.0.2.53, 192.0.2.53:5300 or "
            "[2001:db8::53]:5300."
        )
        raise GroupRefused(
            gettext("The resolver isn’t a valid address. {message}").format(message=message), field="resolver"
        )
    with transaction.atomic():
        NodeGroup.objects.filter(pk=group.pk).update(resolver=resolver)
        audit.record(action="group.resolver", by=by, now=now, target=group.name, before=group.resolver, after=resolver)


def move_group(*, group: NodeGroup, earlier: bool, by: Author, now: datetime) -> None:
    """Swap the group with its neighbor. Raise Forbidden if not permitted, or GroupRefused without a neighbor."""
    access.require(by, Permission.NODES)
    with transaction.atomic():
        groups = list(NodeGroup.objects.select_for_update().order_by("order"))
        at = next((number for number, each in enumerate(groups) if each.pk == group.pk), None)
        to = None if at is None else at - 1 if earlier else at + 1
        if at is None or to is None or not 0 <= to < len(groups):
            raise GroupRefused(
                (
                    gettext("{name} is already the first group.")
                    if earlier
                    else gettext("{name} is already the last group.")
                ).format(name=group.name)
            )
        if len(groups) - 1 in (at, to):
            # Nodes without a group stay in the group that was the last one.
            Node.objects.filter(group=None, is_ring0=False).update(group=groups[-1])
        one, other = groups[at], groups[to]
        above = groups[-1].order + 1  # the order is unique at every moment
        NodeGroup.objects.filter(pk=one.pk).update(order=above)
        NodeGroup.objects.filter(pk=other.pk).update(order=one.order)
        NodeGroup.objects.filter(pk=one.pk).update(order=other.order)
        audit.record(action="group.move", by=by, now=now, target=group.name, earlier=earlier)
    deliver_groups.advance(now=now)


def delete_group(*, group: NodeGroup, by: Author, now: datetime) -> None:
    """Delete the group. If it is the last one, nodes without a group are assigned to the group before it.

    Raise Forbidden if not permitted, or GroupRefused if the group has nodes or delivery is stopped there.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        groups = list(NodeGroup.objects.select_for_update().order_by("order"))
        inside = Node.objects.filter(group=group).exclude(state=NodeState.RETIRED)
        if first := inside.order_by("name").first():
            raise GroupRefused(
                gettext("Group {name2} still has nodes, such as {name}. Move them to another group first.").format(
                    name=first.name, name2=group.name
                )
            )
        if Delivery.objects.filter(stopped_group=group).exclude(stopped_reason="").exists():
            raise GroupRefused(
                gettext("Delivery is stopped after {name}. Resume delivery first.").format(name=group.name)
            )
        homeless = Node.objects.filter(group=None, is_ring0=False).exclude(state=NodeState.RETIRED)
        if groups and groups[-1].pk == group.pk and len(groups) > 1 and homeless.exists():
            homeless.update(group=groups[-2])
        Node.objects.filter(group=group).update(group=None)  # retired nodes
        NodeGroup.objects.filter(pk=group.pk).delete()
        audit.record(action="group.delete", by=by, now=now, target=group.name)
    deliver_groups.advance(now=now)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        message = gettext("A group name must have 1 to 63 lowercase letters, digits and hyphens, such as canary.")
        raise GroupRefused(message, field="name")
    if name in _RESERVED:
        raise GroupRefused(
            gettext("The name {name} is reserved for the panel’s own server.").format(name=name), field="name"
        )


def _check_seconds(seconds: int) -> None:
    if not 0 <= seconds <= LONGEST_VERIFY_SECONDS:
        raise GroupRefused(gettext("Enter a number of seconds from 0 to 86400."), field="verify_seconds")
