"""Send nodes the agent's package of this panel's version, and describe the state of upgrades. Verbs.

A node installs the package only if its administrator allowed this (`replication.agent.upgrade_request`). The key of the
panel's own certificate signs the package, because a node needs no further key to verify it: only the panel's authority.
"""

from datetime import datetime
from enum import StrEnum
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from django.conf import settings

from dnspanel.accounts.actors.actors import Author, Permission
from dnspanel.accounts.audit import audit
from dnspanel.fleet import events
from dnspanel.fleet.errors import WrongState
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes.authority import client_key, client_of, client_ssl_context, ensure_authority
from dnspanel.fleet.nodes.reported import read_report
from dnspanel.texts import gettext
from dnspanel.zones.rights import access
from replication import __version__
from replication.errors import ReplicationError

# The panel's own package contains the first directory. An operator adds packages for other releases of Debian.
DIRECTORIES = (settings.BASE_DIR / "agents", settings.VAR_DIR / "agents")


class UpgradeState(StrEnum):
    """The state of the upgrade of a node's agent to the panel's version."""

    CURRENT = "current"  # the agent has the panel's version, or a newer one
    DUE = "due"
    RUNNING = "running"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"  # the panel can't upgrade this agent


def upgrade_state(node: Node) -> tuple[UpgradeState, str]:
    """Return the state from the last report of the node's agent, with a reason or "" as the message."""
    word = node.report.get("upgrades")
    if word in ("waiting", "running"):
        return UpgradeState.RUNNING, gettext("The node installs the agent’s package.")
    if read_report(node).is_older is False:
        return UpgradeState.CURRENT, ""
    if reason := _reason_against(node):
        return UpgradeState.UNAVAILABLE, reason
    if word == "failed":
        return UpgradeState.FAILED, str(node.report.get("upgrade_message", ""))[:1000]
    return UpgradeState.DUE, ""


def upgrade_agent(*, node: Node, now: datetime, by: Author) -> None:
    """Send the node the agent's package of this panel. The node's report later has the result.

    Raise Forbidden if not permitted, or WrongState if the panel can't upgrade this agent or the agent refuses.
    """
    access.require(by, Permission.NODES)
    package = _package_for(node)
    if (reason := _reason_against(node)) or package is None:
        raise WrongState(node.name, gettext("can’t be upgraded: {reason}").format(reason=reason.rstrip(".")))
    authority = ensure_authority(now=now)
    signer = pkcs7.PKCS7SignatureBuilder().set_data(package.read_bytes())
    certificate = x509.load_pem_x509_certificate(authority.client_pem.encode())
    signer = signer.add_signer(certificate, client_key(authority), hashes.SHA256())
    signed = signer.sign(Encoding.DER, [pkcs7.PKCS7Options.Binary])
    audit.record(action="node.upgrade", by=by, now=now, target=node.name, version=__version__)
    message = gettext("The panel sent the agent’s package {version}.").format(version=__version__)
    events.note(node_id=node.pk, kind="upgrade", message=message, now=now, by=by)
    context = client_ssl_context(authority)
    try:
        with client_of(node, context) as client:
            client.upgrade(signed)
    except ReplicationError as exc:
        raise WrongState(node.name, gettext("didn’t take the package: {exc}").format(exc=exc)) from exc


def _reason_against(node: Node) -> str:
    """Return the reason why the panel can't upgrade this node's agent, or ""."""
    if node.is_front:
        return gettext("The panel can’t upgrade the agents of fronts.")
    if node.is_ring0:
        return gettext("The panel’s own package upgrades the canary.")
    if node.state not in (NodeState.ACTIVE, NodeState.DRAINED):
        return gettext("The node isn’t enrolled.")
    if node.report.get("upgrades", "refused") == "refused":
        return gettext("The node doesn’t allow the panel to upgrade the agent.")
    if _package_for(node) is None:
        return gettext("The panel doesn’t have the agent’s package for the node’s system.")
    return ""


def _package_for(node: Node) -> Path | None:
    """Return the file of the agent's package for the node's Debian, or None if the panel doesn't have it."""
    release = str(node.report.get("debian", ""))
    if not release.isdecimal() or len(release) > 3:
        return None
    name = f"dnspanel-agent_{__version__.replace('.dev', '~dev')}+deb{release}_amd64.deb"
    return next((path for each in DIRECTORIES if (path := each / name).is_file()), None)
