"""Enroll, describe, drain, revoke and retire nodes. Verbs.

1. A person creates the node and gets a code, which is valid once within 15 minutes.
2. The agent creates its key, and sends a signing request with the code.
3. A person compares the request's fingerprint with the agent's output and approves. The panel signs the certificate.
4. The agent asks again with the same code and request, and receives the certificate.
"""

import base64
import contextlib
import hashlib
import logging
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import IntegrityError, transaction
from django.db.models import Case, QuerySet, When

from dnspanel.accounts.actors.actors import Author, Permission, user_of
from dnspanel.accounts.audit import audit
from dnspanel.database.first_rows import first_or
from dnspanel.fleet import events
from dnspanel.fleet.errors import BadNode, BadRequest, CodeRefused, NameTaken, UnknownNode, WrongState
from dnspanel.fleet.models import EnrolmentCode, Front, Node, NodeGroup, NodeState
from dnspanel.fleet.nodes.authority import client_key, ensure_authority, fingerprint, sign_node_certificate
from dnspanel.fleet.nodes.node_rules import check_node, checked_addresses, checked_tags
from dnspanel.fleet.signals import fronts_changed
from dnspanel.publish.keys import sealing_keys
from dnspanel.publish.keys.segment_signing import ensure_signing_key, keys_generation, public_keys
from dnspanel.publish.reading.schemas import use_schema
from dnspanel.texts import gettext
from dnspanel.zones.models import LogHead
from dnspanel.zones.rights import access
from replication.wire.enrolment import JoinSettings, Role, encode_answer, request_fingerprint

CODE_LIFETIME = timedelta(minutes=15)
# The number of hex digits of the authority's SHA-256 in a code. With them, the agent recognizes the right panel.
CODE_FINGERPRINT_LENGTH = 32
MOST_DIGITS = 19  # digits of a node's number
MOST_PREDECESSORS = 10


_NO_CERTIFICATE = {
    "certificate_pem": "",
    "certificate_sha256": "",
    "certificate_expires_at": None,
    "next_certificate_pem": "",
    "next_certificate_sha256": "",
}
_NOT_DRAINED = {"drain_reason": "", "drained_at": None, "drained_until": None, "drained_by": None}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The reply while a request waits for approval. `settings` are the panel's settings for this server."""

    fingerprint: str
    settings: JoinSettings


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The reply with everything that an agent needs to become a node."""

    node: str
    schema: int
    cluster: str
    certificate: str
    ca: str
    signing_keys: list[str]  # Base64 of the raw Ed25519 public keys
    keys_generation: int
    panel: str  # the panel's certificate and its signature: see `replication.wire.enrolment`
    signature: str
    settings: dict[str, Any] = field(default_factory=dict)
    settings_signature: str = ""


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """The values that a user enters for a node. A node without a `group` belongs to the last group."""

    name: str
    dns_address: str
    dns_port: int
    agent_host: str
    agent_port: int
    schema: int
    group: NodeGroup | None = None
    tags: Sequence[str] = ()

    def normalize(self) -> "NodeDescription":
        """Return the description with normalized tags. Raise BadNode if a value is invalid."""
        check_node(self.name, self.dns_address, self.dns_port, self.agent_host, self.agent_port, self.schema)
        return replace(self, tags=checked_tags(self.tags))


def create_node(
    described: NodeDescription, *, now: datetime, by: Author, is_ring0: bool = False, is_front: bool = False
) -> Node:
    """Create a node that waits for its agent. Raise BadNode or NameTaken for invalid values, or Forbidden.

    `by` is None for commands on the panel's machine. Ring 0 is a private server next to the publisher, and receives
    every publication first. A front is a dnsdist in front of nodes, which are set afterwards (`fronts`).
    """
    access.require(by, Permission.NODES)
    if is_front:
        described = replace(described, schema=_schema_for_fronts(described.schema))
    described = described.normalize()
    try:
        with transaction.atomic():
            node = Node.objects.create(
                name=described.name,
                dns_address=described.dns_address,
                dns_port=described.dns_port,
                agent_host=described.agent_host,
                agent_port=described.agent_port,
                schema=described.schema,
                group=described.group,
                tags=described.tags,
                is_ring0=is_ring0,
                is_front=is_front,
                created_at=now,
            )
            if is_front:
                Front.objects.create(node=node)
            use_schema(schema=node.schema, now=now)
            addresses = {"dns": node.dns_address, "agent": node.agent_host}
            audit.record(action="node.create", by=by, now=now, target=node.name, number=node.pk, **addresses)
    except IntegrityError as exc:
        raise NameTaken(described.name) from exc
    logger.info("created node=%s by=%s", node.name, user_of(by) or "command line")
    return node


def make_code(*, node: Node, now: datetime, by: Author) -> str:
    """Return a new one-time code for this node, and delete the node's older codes.

    Raise Forbidden if not permitted, or WrongState if the node isn't waiting for its approval.
    """
    access.require(by, Permission.NODES)
    if node.state != NodeState.AWAITING_APPROVAL:
        raise WrongState(node.name, gettext("is already enrolled"))
    authority = ensure_authority(now=now)
    # Hexadecimal: a code that begins with a dash would look like an option on the agent's command line.
    secret = secrets.token_hex(24)
    with transaction.atomic():
        EnrolmentCode.objects.filter(node=node).delete()
        EnrolmentCode.objects.create(
            node=node, secret_sha256=_sha256(secret), created_at=now, expires_at=now + CODE_LIFETIME
        )
        audit.record(action="node.code", by=by, now=now, target=node.name)
    return f"{secret}.{fingerprint(authority)[:CODE_FINGERPRINT_LENGTH]}"


def submit_request(*, code: str, csr_pem: str, now: datetime) -> Waiting | Enrolled:
    """Store an agent's signing request, and return its status. The agent repeats the request to get a new status.

    Raise CodeRefused for an invalid code, and BadRequest for an unacceptable request. One conditional UPDATE claims the
    code, so that of two different requests with the same code, one is refused.
    """
    request = checked_request(csr_pem)
    if not code.isascii():  # not a valid code, and a lone surrogate cannot be encoded
        raise CodeRefused
    secret_sha256 = _sha256(code.partition(".")[0])
    request_sha256 = request_fingerprint(request)
    claimed = EnrolmentCode.objects.filter(
        secret_sha256=secret_sha256, used_at=None, expires_at__gt=now, node__state=NodeState.AWAITING_APPROVAL
    ).update(used_at=now, csr_pem=csr_pem, csr_sha256=request_sha256)
    used = EnrolmentCode.objects.select_related("node").filter(secret_sha256=secret_sha256, csr_sha256=request_sha256)
    enrollment = first_or(used, CodeRefused)
    node = enrollment.node
    if claimed:
        logger.info("signing request received node=%s fingerprint=%s", node.name, request_sha256)
    if node.state == NodeState.AWAITING_APPROVAL:
        return Waiting(fingerprint=request_sha256, settings=settings_of(node))
    if node.state == NodeState.RETIRED or not node.certificate_pem:
        raise CodeRefused
    return _answer_enrolment(node, request_sha256, now)


def settings_of(node: Node) -> JoinSettings:
    """Return the settings that the panel sends to a server when it joins as this node."""
    role = Role.FRONT if node.is_front else Role.CANARY if node.is_ring0 else Role.NODE
    return JoinSettings(role, str(node.dns_address), node.dns_port, node.agent_port)


def request_of(node: Node) -> EnrolmentCode | None:
    """Return the enrollment code with the node's signing request, or None if the node hasn't sent a request."""
    return node.codes.exclude(used_at=None).order_by("-used_at").first()


def approve(*, node: Node, now: datetime, by: Author) -> Node:
    """Sign the waiting request and activate the node. Raise WrongState if no request waits, or Forbidden."""
    access.require(by, Permission.NODES)
    waiting = request_of(node)
    if waiting is None:
        raise WrongState(node.name, gettext("hasn’t requested a certificate yet"))
    certificate = sign_node_certificate(
        authority=ensure_authority(now=now),
        public_key=public_key(checked_request(waiting.csr_pem)),
        node_name=node.name,
        agent_host=node.agent_host,
        now=now,
    )
    with transaction.atomic():
        _move(
            node,
            to=NodeState.ACTIVE,
            expected=(NodeState.AWAITING_APPROVAL,),
            refused=gettext("is not waiting for approval"),
            certificate_pem=certificate.public_bytes(serialization.Encoding.PEM).decode(),
            certificate_sha256=certificate.fingerprint(hashes.SHA256()).hex(),
            certificate_expires_at=certificate.not_valid_after_utc,
            # The machine that enrolled with this code is the node, even if another one presented the identity before.
            machine="",
            machine_address="",
            other_machine="",
            other_machine_address="",
            other_machine_at=None,
        )
        audit.record(action="node.approve", by=by, now=now, target=node.name, fingerprint=waiting.csr_sha256)
        message = gettext("Node approved with fingerprint {csr_sha256}.").format(csr_sha256=waiting.csr_sha256)
        events.note(node_id=node.pk, kind="enrolment", message=message, now=now, by=by)
    logger.info("approved node=%s by=%s", node.name, user_of(by) or "command line")
    return node


def decline(*, node: Node, now: datetime, by: Author) -> Node:
    """Decline the node's request and delete its code. Raise WrongState if the node isn't waiting, or Forbidden."""
    access.require(by, Permission.NODES)
    if node.state != NodeState.AWAITING_APPROVAL:
        raise WrongState(node.name, gettext("is not waiting for approval"))
    with transaction.atomic():
        EnrolmentCode.objects.filter(node=node).delete()
        audit.record(action="node.decline", by=by, now=now, target=node.name)
    logger.info("declined node=%s by=%s at=%s", node.name, user_of(by) or "command line", now.isoformat())
    return node


def revoke(*, node: Node, now: datetime, by: Author) -> Node:
    """Revoke the node's certificate and rotate the sealing keys. The node still serves zones, and must enroll again.

    Use this if someone else could have the node's key, or if the certificate has expired. Raise WrongState unless the
    node is active or drained, or Forbidden without permission.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        _move(
            node,
            to=NodeState.AWAITING_APPROVAL,
            expected=(NodeState.ACTIVE, NodeState.DRAINED),
            refused=gettext("doesn’t have a valid certificate"),
            **_NO_CERTIFICATE,
            **_NOT_DRAINED,
            refusal="",
            refused_at=None,
        )
        EnrolmentCode.objects.filter(node=node).delete()
        audit.record(action="node.revoke", by=by, now=now, target=node.name)
        message = gettext("Certificate revoked. The panel won’t connect to the node until it’s enrolled again.")
        events.note(node_id=node.pk, kind="certificate", message=message, now=now, by=by)
        # Others may have the keys on its disk. These keys must not open later data.
        sealing_keys.rotate(now=now, by=by)
    logger.info("revoked the certificate node=%s by=%s", node.name, user_of(by) or "command line")
    return node


def drain(*, node: Node, now: datetime, by: Author, reason: str = "", until: datetime | None = None) -> Node:
    """Stop pushes to the node until the time `until`, or until a person resumes it. The node still serves its zones.

    Raise WrongState if the node isn't active, BadNode if `until` is in the past, or Forbidden without permission.
    """
    access.require(by, Permission.NODES)
    if until is not None and until <= now:
        raise BadNode("until", gettext("The drain’s end time must be in the future."))
    with transaction.atomic():
        _move(
            node,
            to=NodeState.DRAINED,
            expected=(NodeState.ACTIVE,),
            refused=gettext("is not active"),
            drain_reason=reason,
            drained_at=now,
            drained_until=until,
            drained_by=user_of(by),
        )
        audit.record(
            action="node.drain",
            by=by,
            now=now,
            target=node.name,
            reason=reason,
            until=until.isoformat() if until else "",
        )
        events.note(node_id=node.pk, kind="drain", message=_drain_message(reason, until), now=now, by=by)
    logger.info("drained node=%s by=%s at=%s", node.name, user_of(by) or "command line", now.isoformat())
    return node


def resume(*, node: Node, now: datetime, by: Author, is_due: bool = False) -> Node:
    """Resume pushes, including all missed publications. Raise WrongState unless the node is drained, or Forbidden.

    `is_due` is True if the drain has ended automatically. Only the message of the event depends on it.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        _move(
            node, to=NodeState.ACTIVE, expected=(NodeState.DRAINED,), refused=gettext("is not drained"), **_NOT_DRAINED
        )
        audit.record(action="node.resume", by=by, now=now, target=node.name)
        message = (
            gettext("Updates resumed automatically when the drain ended.") if is_due else gettext("Updates resumed.")
        )
        events.note(node_id=node.pk, kind="resume", message=message, now=now, by=by)
    logger.info("resumed node=%s by=%s at=%s", node.name, user_of(by) or "command line", now.isoformat())
    return node


def resume_due(*, now: datetime) -> int:
    """Resume every node whose drain has expired. Return the number of resumed nodes."""
    resumed = 0
    for node in Node.objects.filter(state=NodeState.DRAINED, drained_until__lte=now):
        with contextlib.suppress(WrongState):  # another caller was first
            resume(node=node, now=now, by=None, is_due=True)
            resumed += 1
    return resumed


def retire(*, node: Node, now: datetime, by: Author) -> Node:
    """Retire the node permanently and delete its codes. Raise WrongState if it is already retired, or Forbidden.

    A new node can use the name. The URL of the retired node's page then contains its slug. The sealing keys are
    rotated, so that the retired node's disk can't decrypt DNSSEC keys that are published later.
    """
    access.require(by, Permission.NODES)
    with transaction.atomic():
        _move(
            node,
            to=NodeState.RETIRED,
            expected=(NodeState.AWAITING_APPROVAL, NodeState.ACTIVE, NodeState.DRAINED),
            refused=gettext("is already retired"),
        )
        EnrolmentCode.objects.filter(node=node).delete()
        audit.record(action="node.retire", by=by, now=now, target=node.name, number=node.pk)
        events.note(node_id=node.pk, kind="retire", message=gettext("Node retired."), now=now, by=by)
        sealing_keys.rotate(now=now, by=by)
    logger.info("retired node=%s by=%s at=%s", node.name, user_of(by) or "command line", now.isoformat())
    return node


def describe(
    *,
    node: Node,
    group: NodeGroup | None,
    tags: Collection[str],
    public_addresses: Collection[str],
    now: datetime,
    by: Author,
) -> Node:
    """Set the node's group, tags and public addresses. Raise BadNode if one of them is invalid, or Forbidden."""
    access.require(by, Permission.NODES)
    checked, addresses = checked_tags(tags), checked_addresses(public_addresses)
    with transaction.atomic():
        current = Node.objects.select_for_update(of=("self",)).select_related("group").get(pk=node.pk)
        before = {"group": current.group.name if current.group else "", "tags": current.tags}
        after = {"group": group.name if group else "", "tags": checked}
        if current.public_addresses != addresses:
            before["public_addresses"], after["public_addresses"] = current.public_addresses, addresses
        Node.objects.filter(pk=node.pk).update(group=group, tags=checked, public_addresses=addresses)
        audit.record(action="node.describe", by=by, now=now, target=node.name, before=before, after=after)
    node.refresh_from_db()
    return node


def node_by_name(name: str) -> Node:
    """Return the node with this name or slug. Raise UnknownNode if no node matches.

    If several nodes had this name, return the one that isn't retired, or else the newest one.
    """
    return first_or(nodes_named(name), lambda: UnknownNode(name))


def node_in_fleet(name: str) -> Node | None:
    """Return the node with this name, or None if it doesn't exist or is retired."""
    return Node.objects.filter(name=name).exclude(state=NodeState.RETIRED).first()


def nodes_named(name: str) -> "QuerySet[Node]":
    """Return the nodes that this name or slug can refer to, best match first."""
    plain, _, number = name.partition("_")
    if number:
        is_number = number.isascii() and number.isdecimal() and len(number) < MOST_DIGITS
        return (
            Node.objects.filter(name=plain, pk=int(number), state=NodeState.RETIRED)
            if is_number
            else Node.objects.none()
        )
    is_retired = Case(When(state=NodeState.RETIRED, then=1), default=0)
    return Node.objects.filter(name=name).order_by(is_retired, "-pk")


def predecessors_of(node: Node) -> list[Node]:
    """Return the retired nodes that previously had this node's name, newest first, at most MOST_PREDECESSORS."""
    retired = Node.objects.filter(name=node.name, state=NodeState.RETIRED, pk__lt=node.pk)
    return list(retired.only("name", "state").order_by("-pk")[:MOST_PREDECESSORS])


def _schema_for_fronts(default: int) -> int:
    """Return any node's schema, because fronts can read every schema. Return `default` if there are no nodes."""
    nodes = Node.objects.filter(is_front=False).exclude(state=NodeState.RETIRED).order_by("is_ring0", "name")
    return nodes.values_list("schema", flat=True).first() or default


def _move(node: Node, *, to: NodeState, expected: tuple[NodeState, ...], refused: str, **fields: object) -> None:
    """Change the state with one conditional UPDATE. Raise WrongState if the current state isn't in `expected`."""
    moved = Node.objects.filter(pk=node.pk, state__in=expected).update(state=to, **fields)
    if not moved:
        raise WrongState(node.name, refused)
    node.refresh_from_db()
    transaction.on_commit(lambda: fronts_changed.send_robust(sender=None), robust=True)


def _answer_enrolment(node: Node, request_sha256: str, now: datetime) -> Enrolled:
    authority = ensure_authority(now=now)
    ensure_signing_key(now=now)
    fields = {
        "node": node.name,
        "schema": node.schema,
        "cluster": str(LogHead.objects.get().cluster),
        "certificate": node.certificate_pem,
        "ca": authority.ca_pem,
        "signing_keys": [base64.b64encode(public).decode() for public in public_keys()],
        "keys_generation": keys_generation(),
    }
    key = client_key(authority)
    settings = settings_of(node)
    return Enrolled(
        **encode_answer(fields, request=request_sha256, panel=authority.client_pem, key=key, settings=settings)
    )


def checked_request(csr_pem: str) -> x509.CertificateSigningRequest:
    """Parse a signing request. Raise BadRequest unless its sender proves possession of an acceptable key.

    Names in the request are ignored.
    """
    try:
        request = x509.load_pem_x509_csr(csr_pem.encode())
        signed = request.is_signature_valid
    except (ValueError, TypeError, InvalidSignature) as exc:
        raise BadRequest(gettext("the request is not in PEM format")) from exc
    if not signed:
        raise BadRequest(gettext("the signature is invalid"))
    public_key(request)
    return request


def public_key(request: x509.CertificateSigningRequest) -> ec.EllipticCurvePublicKey:
    key = request.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise BadRequest(gettext("the key is not a P-256 EC key"))
    return key


def _drain_message(reason: str, until: datetime | None) -> str:
    if until and reason:
        message = gettext("Node drained until {until}. Reason: {reason}")
    elif until:
        message = gettext("Node drained until {until}.")
    else:
        message = gettext("Node drained. Reason: {reason}") if reason else gettext("Node drained.")
    return message.format(until=f"{until:%Y-%m-%d %H:%M} UTC" if until else "", reason=reason)


def _sha256(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
