"""Tests of upgrades of agents, with real agents over real TLS. `openssl` verifies what the panel signs.

Tests `agent.upgrade_request` too. The package is only text here. tests/deploy/test_agent_upgrade.py
installs real packages on a machine.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import ExtendedKeyUsageOID
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, Role
from dnspanel.fleet.errors import WrongState
from dnspanel.fleet.models import Node, NodeEvent
from dnspanel.fleet.nodes import agent_upgrades
from dnspanel.fleet.nodes.agent_upgrades import UpgradeState, upgrade_agent, upgrade_state
from dnspanel.fleet.nodes.authority import ensure_authority
from dnspanel.zones.errors import Forbidden
from replication import __version__
from replication.agent import upgrade_request
from tests.dnspanel.fleet.conftest import EnrolledAgent
from tests.docs.documents import ROOT
from tests.people import make_person
from tests.replication.agent.servers import Authority

pytestmark = pytest.mark.django_db(transaction=True)

Make = Callable[..., EnrolledAgent]
PACKAGE = b"!<arch>\nthe bytes of a package\r\n\x00"
INSTALL = ROOT / "deploy/debian/programs/agent-install-upgrade"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let agents of this process look into a directory of the test for root's files."""
    directory = tmp_path / "root"
    directory.mkdir()
    monkeypatch.setattr(upgrade_request, "AUTHORITY", directory / "upgrades.pem")
    monkeypatch.setattr(upgrade_request, "OUTCOME", directory / "outcome")
    return directory


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the panel a package for Debian 12."""
    directory = tmp_path / "packages"
    directory.mkdir()
    monkeypatch.setattr(agent_upgrades, "DIRECTORIES", (tmp_path / "none", directory))
    file = directory / f"dnspanel-agent_{__version__.replace('.dev', '~dev')}+deb12_amd64.deb"
    file.write_bytes(PACKAGE)
    return file


def allow(places: Path) -> None:
    (places / "upgrades.pem").write_text(ensure_authority(now=timezone.now()).ca_pem)


def reported(agent: EnrolledAgent, **more: object) -> Node:
    """Store the agent's report as the collector does, from an older agent on Debian 12. Return the node."""
    report = {**agent.status().to_json(), "debian": "12", **more}
    report["versions"] = {**report["versions"], "agent": "0.9.0"}
    Node.objects.filter(pk=agent.node.pk).update(report=report, reported_at=timezone.now())
    return Node.objects.get(pk=agent.node.pk)


def verify(request: Path, authority: Path, out: Path) -> bool:
    """Return True if the node's program accepts the request. The package is then in `out`."""
    return subprocess.run([INSTALL, "--verify", request, authority, out]).returncode == 0


def test_a_node_that_allows_upgrades_gets_a_package_that_openssl_accepts(
    enrolled_agent: Make, places: Path, package: Path, tmp_path: Path
) -> None:
    allow(places)
    agent = enrolled_agent()
    node = reported(agent)
    assert upgrade_state(node) == (UpgradeState.DUE, "")
    upgrade_agent(node=node, now=timezone.now(), by=None)
    request = agent.directory / "state/upgrade/request"
    assert verify(request, places / "upgrades.pem", tmp_path / "new.deb")
    assert (tmp_path / "new.deb").read_bytes() == PACKAGE
    assert agent.status().upgrades == "waiting"
    assert upgrade_state(reported(agent))[0] == UpgradeState.RUNNING
    assert NodeEvent.objects.get(kind="upgrade").sentence == f"The panel sent the agent’s package {__version__}."
    assert AuditEntry.objects.filter(action="node.upgrade").count() == 1
    request.unlink()  # as root does
    for text, state, message in (
        ("running\n\n", UpgradeState.RUNNING, "The node installs the agent’s package."),
        ("failed\napt failed\n", UpgradeState.FAILED, "apt failed"),
        ("installed\n1.0.0\n", UpgradeState.DUE, ""),
    ):
        (places / "outcome").write_text(text)
        assert upgrade_state(reported(agent)) == (state, message)


def test_a_large_package_arrives_through_a_file(
    enrolled_agent: Make, places: Path, package: Path, tmp_path: Path
) -> None:
    allow(places)
    package.write_bytes(PACKAGE * 50_000)
    agent = enrolled_agent()
    upgrade_agent(node=reported(agent), now=timezone.now(), by=None)
    assert verify(agent.directory / "state/upgrade/request", places / "upgrades.pem", tmp_path / "new.deb")
    assert (tmp_path / "new.deb").read_bytes() == PACKAGE * 50_000


def test_upgrades_are_off_until_root_allows_them(enrolled_agent: Make, places: Path, package: Path) -> None:
    agent = enrolled_agent()
    assert agent.status().upgrades == "refused"
    node = reported(agent)
    assert upgrade_state(node) == (
        UpgradeState.UNAVAILABLE,
        "The node doesn’t allow the panel to upgrade the agent.",
    )
    with pytest.raises(WrongState, match="doesn’t allow the panel to upgrade the agent"):
        upgrade_agent(node=node, now=timezone.now(), by=None)
    # The agent refuses too, even if the panel's last report is old.
    with pytest.raises(WrongState, match="didn’t take the package: the node doesn’t allow"):
        upgrade_agent(node=reported(agent, upgrades="allowed"), now=timezone.now(), by=None)
    assert not (agent.directory / "state/upgrade").exists()


@pytest.mark.parametrize(
    ("changes", "report", "reason"),
    [
        ({"is_front": True}, {}, "agents of fronts"),
        ({"is_ring0": True}, {}, "own package upgrades the canary"),
        ({"state": "retired"}, {}, "isn’t enrolled"),
        ({}, {"debian": "13"}, "doesn’t have the agent’s package"),
        ({}, {"debian": "../12"}, "doesn’t have the agent’s package"),
        ({}, {"debian": "1" * 300}, "doesn’t have the agent’s package"),
    ],
)
def test_what_the_panel_cannot_upgrade_has_a_reason(
    enrolled_agent: Make,
    places: Path,
    package: Path,
    changes: dict[str, object],
    report: dict[str, object],
    reason: str,
) -> None:
    allow(places)
    node = reported(enrolled_agent(), **report)
    Node.objects.filter(pk=node.pk).update(**changes)
    node.refresh_from_db()
    state, message = upgrade_state(node)
    assert (state, reason in message) == (UpgradeState.UNAVAILABLE, True)
    with pytest.raises(WrongState, match=reason):
        upgrade_agent(node=node, now=timezone.now(), by=None)


def test_an_agent_of_the_panels_version_is_current(enrolled_agent: Make) -> None:
    agent = enrolled_agent()
    Node.objects.filter(pk=agent.node.pk).update(report=agent.status().to_json())
    assert upgrade_state(Node.objects.get()) == (UpgradeState.CURRENT, "")


def test_only_people_who_can_change_nodes_can_upgrade_them(enrolled_agent: Make, package: Path) -> None:
    with pytest.raises(Forbidden):
        upgrade_agent(node=enrolled_agent().node, now=timezone.now(), by=make_person("eve", Role.MEMBER))


def signed(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> bytes:
    builder = pkcs7.PKCS7SignatureBuilder().set_data(PACKAGE).add_signer(certificate, key, hashes.SHA256())
    return builder.sign(serialization.Encoding.DER, [pkcs7.PKCS7Options.Binary])


def of_authority(
    authority: Authority, name: str, usage: x509.ObjectIdentifier
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    certificate, key_file = authority.issue(name, f"signer-{name}", usage)
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return x509.load_pem_x509_certificate(certificate.read_bytes()), key


def test_only_the_panels_own_certificate_signs_packages(tmp_path: Path) -> None:
    """A node has a key and a certificate of the same authority. Nodes and other authorities must not sign packages."""
    authority, request, out = Authority(tmp_path), tmp_path / "request", tmp_path / "new.deb"
    other = tmp_path / "other"
    other.mkdir()
    client, server = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
    refused = {
        "a node": of_authority(authority, "ns1", server),
        "a node with the panel's name": of_authority(authority, "panel", server),
        "another client": of_authority(authority, "ns2", client),
        "another authority": of_authority(Authority(other), "panel", client),
    }
    for name, signer in refused.items():
        request.write_bytes(signed(*signer))
        assert not verify(request, authority.path, out), name
    panel = signed(*of_authority(authority, "panel", client))
    at = panel.index(PACKAGE)
    for name, content in {
        "nothing": b"",
        "an unsigned package": PACKAGE,
        "another package": panel[:at] + PACKAGE.upper() + panel[at + len(PACKAGE) :],
        "a part": panel[:-1],
    }.items():
        request.write_bytes(content)
        assert not verify(request, authority.path, out), name
    assert not out.exists()
    request.write_bytes(panel)
    assert verify(request, authority.path, out)


def test_an_authority_that_the_system_trusts_signs_no_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """openssl adds the system's authorities for web sites to the named one unless its options forbid this."""
    other = tmp_path / "other"
    other.mkdir()
    trusted = Authority(other)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.path))
    monkeypatch.setenv("SSL_CERT_DIR", str(other))
    subprocess.run(["openssl", "rehash", other], check=True)
    request = tmp_path / "request"
    request.write_bytes(signed(*of_authority(trusted, "panel", ExtendedKeyUsageOID.CLIENT_AUTH)))
    assert not verify(request, Authority(tmp_path).path, tmp_path / "new.deb")
    assert verify(request, trusted.path, tmp_path / "new.deb")
