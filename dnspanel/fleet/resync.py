"""Handle people's requests to a node: a full snapshot, a snapshot of another schema, a check of all rows. Verbs."""

from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Permission
from dnspanel.accounts.audit import audit
from dnspanel.fleet import events
from dnspanel.fleet.errors import WrongState
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.push.bootstrap import ask_for_snapshot
from dnspanel.fleet.tasks import bootstrap_node, check_node
from dnspanel.publish.reading.schemas import KNOWN
from dnspanel.texts import gettext
from dnspanel.wake import wake
from dnspanel.zones.rights import access

# A task that has not started by then is useless, because the person will click the button again.
_LIFETIME = 60


def resync(*, node: Node, now: datetime, by: Author) -> None:
    """Request a full snapshot. The node writes only the differences.

    Raise Forbidden if not permitted, or WrongState if the node isn't active or already gets a snapshot.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        _ask(node, reason=gettext("someone requested a full resync"), schema=node.schema, now=now)
        audit.record(action="node.resync", by=by, now=now, target=node.name)
    wake(bootstrap_node, node.pk, lifetime=_LIFETIME)


def rebuild(*, node: Node, schema: int, now: datetime, by: Author) -> None:
    """Request a snapshot for the schema that the node's installed PowerDNS needs. Raise Forbidden if not permitted.

    Raise WrongState if the schema is unknown or already in use, for a front, or if the node isn't active or already
    gets a snapshot.
    """
    access.require(by, Permission.NODES)
    if schema not in KNOWN or schema == node.schema or node.is_front:
        raise WrongState(node.name, gettext("cannot be rebuilt with schema {schema}").format(schema=schema))
    with transaction.atomic():
        _ask(node, reason=gettext("PowerDNS needs schema {schema}").format(schema=schema), schema=schema, now=now)
        audit.record(action="node.rebuild", by=by, now=now, target=node.name, schema=schema)
    wake(bootstrap_node, node.pk, lifetime=_LIFETIME)


def check_now(*, node: Node, now: datetime, by: Author) -> None:
    """Request a check of every row on the node. The node's page shows the progress.

    Raise Forbidden if not permitted, or WrongState for a front, a node that isn't enrolled, or an unreachable task
    queue.
    """
    access.require(by, Permission.NODES)
    if node.is_front:
        raise WrongState(node.name, gettext("is a front and doesn’t store rows"))
    if node.state not in (NodeState.ACTIVE, NodeState.DRAINED):
        raise WrongState(node.name, gettext("is not enrolled"))
    if not wake(check_node, node.pk, lifetime=_LIFETIME):
        raise WrongState(node.name, gettext("can’t be checked now, because the task queue isn’t responding"))
    with transaction.atomic():
        audit.record(action="node.check", by=by, now=now, target=node.name)
        events.note(
            node_id=node.pk, kind="check", message=gettext("A check of every row was requested."), now=now, by=by
        )


def _ask(node: Node, *, reason: str, schema: int, now: datetime) -> None:
    if node.state != NodeState.ACTIVE:
        raise WrongState(node.name, gettext("doesn’t receive updates"))
    if not ask_for_snapshot(node_id=node.pk, reason=reason, now=now, schema=schema):
        raise WrongState(node.name, gettext("is already getting a snapshot"))
