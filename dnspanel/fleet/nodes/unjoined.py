"""Change and remove nodes that were created but never joined. Verbs.

An approved node can only be retired, because its name is in certificates, in the audit log and in the node's data.
"""

import logging
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, Permission, user_of
from dnspanel.accounts.audit import audit
from dnspanel.fleet.errors import NameTaken, WrongState
from dnspanel.fleet.models import EnrolmentCode, Node, NodeEvent, NodeState
from dnspanel.fleet.nodes.node_lifecycle import NodeDescription
from dnspanel.publish.reading.schemas import use_schema
from dnspanel.texts import gettext
from dnspanel.zones.rights import access

logger = logging.getLogger(__name__)

_FIELDS = ("name", "dns_address", "dns_port", "agent_host", "agent_port", "schema", "group", "tags")


def has_joined(node: Node) -> bool:
    """Return True if the node was ever part of the fleet, even if its certificate is revoked."""
    if node.state != NodeState.AWAITING_APPROVAL or node.contact_at is not None or node.acked_at is not None:
        return True
    return NodeEvent.objects.filter(node=node, kind="enrolment").exists()


def change_node(*, node: Node, described: NodeDescription, now: datetime, by: Author) -> Node:
    """Replace a node's values, and delete its unused codes, because their commands contain the old addresses.

    Raise Forbidden if not permitted, BadNode for an invalid value, NameTaken, or WrongState if the node has joined.
    """
    access.require(by, Permission.NODES)
    described = described.normalize()
    name = described.name
    try:
        with transaction.atomic():
            current = _lock_unjoined(node)
            before = _audit_values(current)
            for field in _FIELDS:
                setattr(current, field, getattr(described, field))
            current.save(update_fields=_FIELDS)
            use_schema(schema=described.schema, now=now)
            EnrolmentCode.objects.filter(node=current, used_at=None).delete()
            audit.record(action="node.change", by=by, now=now, target=name, before=before, after=_audit_values(current))
    except IntegrityError as exc:
        raise NameTaken(name) from exc
    logger.info("changed node=%s before=%s by=%s", name, before["name"], user_of(by) or "command line")
    return current


def remove_node(*, node: Node, now: datetime, by: Author) -> None:
    """Remove a node, so that its name can be used again. Raise WrongState if the node has joined, or Forbidden."""
    access.require(by, Permission.NODES)
    with transaction.atomic():
        current = _lock_unjoined(node)
        audit.record(action="node.remove", by=by, now=now, target=current.name, dns=current.dns_address)
        current.delete()
    logger.info("removed node=%s by=%s", node.name, user_of(by) or "command line")


def _lock_unjoined(node: Node) -> Node:
    """Lock the node's row and return the stored node. Raise WrongState if it has joined or no longer exists."""
    current = Node.objects.select_for_update(of=("self",)).select_related("group").filter(pk=node.pk).first()
    if current is None:
        raise WrongState(node.name, gettext("is already removed"))
    if has_joined(current):
        raise WrongState(
            node.name, gettext("has already joined, so you can only edit its group, tags and addresses, or retire it")
        )
    return current


def _audit_values(node: Node) -> dict[str, Any]:
    values = {field: getattr(node, field) for field in _FIELDS}
    return values | {"group": node.group.name if node.group else ""}
