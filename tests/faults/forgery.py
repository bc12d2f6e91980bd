"""Acts of an attacker who controls the panel's connection and sometimes its keys. Nodes must refuse these segments."""

import base64
import hashlib
import zlib
from typing import Any
from uuid import UUID, uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone

from dnspanel.fleet.models import Authority, Node
from dnspanel.fleet.nodes.authority import client_ssl_context
from dnspanel.publish.keys import segment_signing
from dnspanel.publish.models import Segment
from dnspanel.publish.storage.objects import open_object
from dnspanel.zones.models import LogHead
from replication.node_client import NodeClient
from replication.wire import segment

# An unknown kind of operation, and an unknown version of segments.
UNKNOWN_KIND, UNKNOWN_VERSION = 0x7F, 99


def client(node: Node) -> NodeClient:
    context = client_ssl_context(Authority.objects.get())
    return NodeClient(node.agent_host, node.agent_port, context, certificate_sha256=node.pins)


def push(name: str, body: str) -> dict[str, Any]:
    """Push these Base64 bytes as segments. Return the acknowledgment, or raise the node's refusal."""
    content = base64.b64decode(body)
    with client(Node.objects.get(name=name)) as connection:
        ack = connection.push(content, len(content))
    return {"sequence": ack.position.sequence, "digests": (ack.digest_main + ack.digest_records).hex()}


def status(name: str) -> dict[str, Any]:
    """Return the status of the node's agent."""
    with client(Node.objects.get(name=name)) as connection:
        return connection.status().to_json()


def stored_segments(after: int) -> list[dict[str, Any]]:
    """Return all schema-4 segments that end after this sequence, with their content as Base64."""
    rows = Segment.objects.filter(schema=4, epoch=LogHead.objects.get().epoch, last__gt=after).order_by("last")
    found = []
    for row in rows:
        with open_object(row.object_name) as file:
            body = base64.b64encode(file.read()).decode()
        found.append({"first": row.first, "last": row.last, "object": row.object_name, "body": body})
    return found


def forged(name: str, fault: str) -> str:
    """Return the next segment for this node as Base64, valid except for one fault.

    `cluster`: from another panel. `key`: signed by another key. `version`, `kind`: unknown values of a later release.
    """
    node, head = Node.objects.get(name=name), LogHead.objects.get()
    digest = bytes(node.digest or bytes(32))
    body = zlib.compress(bytes((UNKNOWN_KIND,)) * 4, wbits=-15) if fault == "kind" else zlib.compress(b"", wbits=-15)
    header = segment.HEADER.pack(
        segment.MAGIC,
        UNKNOWN_VERSION if fault == "version" else segment.VERSION,
        node.schema,
        uuid4().bytes if fault == "cluster" else head.cluster.bytes,
        UUID(str(node.epoch)).bytes,
        node.acked + 1,
        node.acked + 1,
        int(timezone.now().timestamp() * 1e9),
        digest[:16],
        digest[16:],
        0,
        0,
        1 if fault == "kind" else 0,
        len(body),
    )
    key = Ed25519PrivateKey.generate() if fault == "key" else _panel_key()
    content = header + body
    signature = key.sign(b"dnspanel segment 1\0" + hashlib.blake2b(content).digest())
    return base64.b64encode(content + signature).decode()


def _panel_key() -> Ed25519PrivateKey:
    return segment_signing.private_key(segment_signing.ensure_signing_key(now=timezone.now()))
