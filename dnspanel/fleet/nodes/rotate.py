"""Rotate the nodes' certificates and the panel's own certificate automatically. Verbs.

1. Less than a third of the lifetime is left: the agent creates a key and a signing request, and the panel signs it.
2. The panel stores the new certificate beside the old one. From now on, the agent can present either of them.
3. The agent receives the new certificate, checks it, and presents it on all later connections.
4. When the panel has seen the new certificate, it replaces the old one, which is no longer accepted.

Every step determines how far the last attempt got, so a crash repeats only one step.
"""

import logging
import ssl
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import transaction
from django.db.models import Q

from dnspanel.accounts.actors.actors import Author, Permission
from dnspanel.accounts.audit import audit
from dnspanel.fleet import events
from dnspanel.fleet.errors import FleetError, WrongState
from dnspanel.fleet.models import Authority, Node, NodeState
from dnspanel.fleet.nodes.authority import (
    NODE_LIFETIME,
    certificate_is_due,
    client_of,
    client_ssl_context,
    ensure_authority,
    rotate_client_certificate,
    sign_node_certificate,
)
from dnspanel.fleet.nodes.node_lifecycle import checked_request, public_key
from dnspanel.texts import gettext
from dnspanel.zones.rights import access
from replication.errors import ReplicationError, Transient

ANSWER_SECONDS = 5.0
_ENROLLED = (NodeState.ACTIVE, NodeState.DRAINED)

logger = logging.getLogger(__name__)


def rotate_due(*, now: datetime) -> int:
    """Start or continue all due rotations, also the panel's. Return the number of nodes with a new certificate."""
    if rotate_client_certificate(now=now):
        logger.info("the panel's own certificate was replaced")
    due = Q(certificate_expires_at__lt=now + NODE_LIFETIME / 3, certificate_expires_at__gt=now)
    rotated = 0
    for node in Node.objects.filter(due | ~Q(next_certificate_sha256=""), state__in=_ENROLLED):
        if node.next_certificate_sha256 or certificate_is_due(node.certificate_pem, now):
            try:
                rotated += rotate_node(node=node, now=now)
            except (ReplicationError, FleetError) as exc:
                logger.log(
                    logging.INFO if isinstance(exc, Transient) else logging.WARNING,
                    "the certificate of node=%s is not replaced yet: %s",
                    node.name,
                    exc,
                )
    return rotated


def rotate_now(*, node: Node, now: datetime, by: Author) -> None:
    """Start a rotation of the node's certificate before it is due.

    Raise Forbidden if not permitted, WrongState if the node is not enrolled, or ReplicationError if the agent fails.
    """
    access.require(by, Permission.NODES)
    if node.state not in _ENROLLED or not node.certificate_sha256:
        raise WrongState(node.name, gettext("doesn’t have a valid certificate"))
    audit.record(action="node.rotate", by=by, now=now, target=node.name)
    rotate_node(node=node, now=now, by=by)


def rotate_node(*, node: Node, now: datetime, by: Author = None) -> bool:
    """Try to continue the rotation of the node's certificate. Return True once the node has presented the new one.

    Raise ReplicationError, without losing progress, if the agent can't be reached or refuses. Raise WrongState if
    another process changed the node.
    """
    authority = ensure_authority(now=now)
    context = client_ssl_context(authority)
    if node.next_certificate_sha256 and _presented_fingerprint(node, context) == node.next_certificate_sha256:
        return _adopt(node, now, by)
    with client_of(node, context, answer_seconds=ANSWER_SECONDS) as client:
        _prepare(node, public_key(checked_request(client.certificate_request())), authority, now)
        client.install_certificate(node.next_certificate_pem, authority.ca_pem)
    return _presented_fingerprint(node, context) == node.next_certificate_sha256 and _adopt(node, now, by)


def _prepare(node: Node, key: ec.EllipticCurvePublicKey, authority: Authority, now: datetime) -> None:
    """Allow the agent to present a certificate for this key. Commit this before sending the certificate to the agent.

    Each key has one certificate: another attempt, parallel or later, sends the same one. Raise WrongState if another
    process changed the node.
    """
    if node.next_certificate_pem:
        prepared = x509.load_pem_x509_certificate(node.next_certificate_pem.encode())
        if prepared.public_key() == key:
            return
    certificate = sign_node_certificate(
        authority=authority, public_key=key, node_name=node.name, agent_host=node.agent_host, now=now
    )
    unchanged = Node.objects.filter(
        pk=node.pk,
        certificate_sha256=node.certificate_sha256,
        state__in=_ENROLLED,
        next_certificate_sha256=node.next_certificate_sha256,
    )
    prepared_now = unchanged.update(
        next_certificate_pem=certificate.public_bytes(serialization.Encoding.PEM).decode(),
        next_certificate_sha256=certificate.fingerprint(hashes.SHA256()).hex(),
    )
    if not prepared_now:
        raise WrongState(node.name, gettext("has changed in the meantime"))
    node.refresh_from_db()


def _adopt(node: Node, now: datetime, by: Author) -> bool:
    """Replace the certificate with the new one that the agent presented. Return False if another call already did."""
    certificate = x509.load_pem_x509_certificate(node.next_certificate_pem.encode())
    with transaction.atomic():
        moved = Node.objects.filter(pk=node.pk, next_certificate_sha256=node.next_certificate_sha256).update(
            certificate_pem=node.next_certificate_pem,
            certificate_sha256=node.next_certificate_sha256,
            certificate_expires_at=certificate.not_valid_after_utc,
            next_certificate_pem="",
            next_certificate_sha256="",
        )
        if moved:
            message = gettext("Certificate replaced. The new one expires on {not_valid_after_utc:%Y-%m-%d}.").format(
                not_valid_after_utc=certificate.not_valid_after_utc
            )
            events.note(node_id=node.pk, kind="certificate", message=message, now=now, by=by)
    node.refresh_from_db()
    return bool(moved)


def _presented_fingerprint(node: Node, context: ssl.SSLContext) -> str:
    """Return the fingerprint of the certificate that the agent presents on a new connection."""
    with client_of(node, context, answer_seconds=ANSWER_SECONDS) as client:
        client.status()
        return client.peer_sha256
