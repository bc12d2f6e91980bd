"""Send keys to nodes: keys that verify segments, and keys that decrypt DNSSEC keys. Verbs.

A node reports the keys that it accepts. If they differ from `signing.public_keys`, the node gets the list, signed by a
key that it knows. A new signing key isn't used until every active node accepts it, unless a person forces its use. A
node gets the keys that seal private DNSSEC keys (`publish.keys.sealing_keys`) when data needs a key that it lacks.
"""

import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from dnspanel.accounts.actors.actors import Author, Permission
from dnspanel.fleet import events
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.publish.errors import KeyRefused
from dnspanel.publish.keys import sealing_keys, segment_signing
from dnspanel.publish.models import SigningKey
from dnspanel.texts import gettext
from dnspanel.zones.rights import access
from replication.errors import BadSignature, Refused, ReplicationError, UnknownSealingKey
from replication.node_client import NodeClient

T = TypeVar("T")

ANSWER_SECONDS = 5.0
HEARD_WITHIN = timedelta(minutes=1)

logger = logging.getLogger(__name__)


class KeysSent(StrEnum):
    """The result of sending the panel's keys to a node: it already had them, has them now, or can't get them."""

    BEFORE = "before"
    NOW = "now"
    CANNOT = "cannot"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A signing key, with the number of active nodes that accept it and the names of those that don't yet."""

    key: SigningKey
    accepting: int
    lacking: tuple[str, ...]


def rotate(*, now: datetime, by: Author) -> SigningKey:
    """Create the next signing key for all nodes. Raise RotationUnderWay if a next key exists, or Forbidden."""
    access.require(by, Permission.NODES)
    return segment_signing.rotate(now=now, by=by)


def force(*, now: datetime, by: Author) -> SigningKey | None:
    """Use the new key now, even if some nodes don't accept it yet. Return the key, or None if there is no new key."""
    access.require(by, Permission.NODES)
    return segment_signing.begin_use(now=now, by=by)


def retire_former(*, now: datetime, by: Author) -> int:
    """Make nodes accept only the current key. Raise KeyStillNeeded if stored data needs an old key, or Forbidden."""
    access.require(by, Permission.NODES)
    return segment_signing.retire_former(now=now, by=by)


def spread_keys(*, now: datetime) -> int:
    """Send the signing keys to nodes that accept other keys. Return the number of nodes that received them.

    Once all active nodes accept the new key, use it. A node that was silent for HEARD_WITHIN gets no keys.
    """
    expected = {key.hex() for key in segment_signing.public_keys()}
    nodes = Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED)).exclude(certificate_sha256="")
    context = client_ssl_context(ensure_authority(now=now))
    sent, lacking = 0, []
    for node in nodes:
        if set(node.report.get("signing_keys") or ()) == expected:
            continue
        try:
            result = _send_if_heard(node, context, now)
        except ReplicationError as exc:
            result = KeysSent.CANNOT
            logger.info("node=%s does not have the signing keys yet: %s", node.name, exc)
        sent += result == KeysSent.NOW
        if result == KeysSent.CANNOT and node.state == NodeState.ACTIVE:
            lacking.append(node.name)
    if not lacking and segment_signing.begin_use(now=now, by=None):
        logger.info("every active node accepts the new signing key; segments are sealed with it")
    return sent


def retire_when_possible(*, now: datetime) -> int:
    """Retire former keys if no stored data is signed with them. Return the number of retired keys."""
    try:
        return segment_signing.retire_former(now=now, by=None)
    except KeyRefused:
        return 0


def send_keys(client: NodeClient) -> KeysSent:
    """Send the key list if the node accepts other keys, and return the result. Raise ReplicationError on failure."""
    known = tuple(bytes.fromhex(key) for key in client.status().signing_keys)
    expected = set(segment_signing.public_keys())
    if set(known) == expected:
        return KeysSent.BEFORE
    sealed = segment_signing.sealed_keyring(known)
    if sealed is None:
        return KeysSent.CANNOT
    client.send_keys(sealed)
    accepted = {bytes.fromhex(key) for key in client.status().signing_keys}
    return KeysSent.NOW if accepted == expected else KeysSent.CANNOT


def with_keys(client: NodeClient, act: Callable[[], T]) -> T:
    """Call `act`. If the node lacks keys, send them and call `act` again. Raise ReplicationError on failure."""
    try:
        return act()
    except (Refused, UnknownSealingKey) as refusal:
        if not _send_lacking(client, refusal):
            raise
        return act()


def _send_lacking(client: NodeClient, refusal: Refused | UnknownSealingKey) -> bool:
    """Send the missing keys that made the node refuse a request.

    Return False if missing keys weren't the reason, or if the keys can't be sent.
    """
    if isinstance(refusal, UnknownSealingKey):
        client.put_sealing_keys(sealing_keys.all_sealing_keys())
        return True
    return refusal.was(BadSignature) and send_keys(client) == KeysSent.NOW


def acceptance() -> tuple[Acceptance, ...]:
    """Return the signing keys that aren't retired, newest first, and how many active nodes accept each key."""
    nodes = list(Node.objects.filter(state=NodeState.ACTIVE).order_by("name").only("name", "report"))
    found = []
    for key in SigningKey.objects.filter(retired_at=None).order_by("-created_at", "-pk"):
        public = bytes(key.public).hex()
        lacking = tuple(node.name for node in nodes if public not in (node.report.get("signing_keys") or ()))
        found.append(Acceptance(key, len(nodes) - len(lacking), lacking))
    return tuple(found)


def _send_if_heard(node: Node, context: ssl.SSLContext, now: datetime) -> KeysSent:
    """Send the keys to a node that reported recently. For a silent node, return CANNOT without an attempt."""
    if node.contact_at is None or now - node.contact_at > HEARD_WITHIN:
        return KeysSent.CANNOT
    with client_of(node, context, answer_seconds=ANSWER_SECONDS) as client:
        result = send_keys(client)
    if result == KeysSent.NOW:
        events.note(
            node_id=node.pk, kind="keys", message=gettext("The node received the current signing keys."), now=now
        )
    return result
