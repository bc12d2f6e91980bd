"""`dnspanel nodes upgrade` on machines: a node gets the agent's package of the panel, and only from the panel.

The next releases are the packages of this checkout with higher numbers. Run with -s to see the measured seconds. Covers
`deploy/debian/programs/agent-install-upgrade` and the command `dnspanel nodes upgrade`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.docker import client
from tests.deploy.machines import Machine, debian_root, machines
from tests.deploy.test_packages import (
    HOST,
    READY_SECONDS,
    SCHEMAS,
    SUITES,
    ZONE,
    add_node,
    answer,
    install,
    is_ready,
    packages,
    release,
    set_up,
    timed,
    trust,
)
from tests.oracle.powerdns import Unavailable
from tests.stack import until

__all__ = ["packages", "release"]

pytestmark = [
    pytest.mark.full(reason="builds packages, and boots machines"),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("systemd-nspawn"), reason="needs root and systemd-nspawn"),
]

NEXT, THIRD, BROKEN = "9.0.0", "9.1.0", "9.2.0"
REQUEST = "/var/lib/dnspanel-agent/state/upgrade/request"
OUTCOME = "/var/lib/dnspanel-upgrade/outcome"


@pytest.fixture(scope="module")
def fleet(release: str, packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    """Boot machines for the panel and a node."""
    try:
        base = debian_root(SUITES[release])
    except Unavailable as exc:
        pytest.skip(str(exc))
    with machines(base, packages, tmp_path_factory.mktemp("machines"), "panel", "node") as booted:
        yield booted


def test_the_panel_upgrades_the_agent_of_a_node_that_allows_it(
    release: str, packages: Path, fleet: list[Machine], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    panel, node = fleet
    install(panel, "dnspanel")
    link = set_up(panel)
    trust(panel, monkeypatch, tmp_path)
    token = client.first_token(link, ["see nodes", "enroll and change nodes"])
    add_node(panel, node, SCHEMAS[release])
    client.create_zone(token, ZONE)
    assert client.edit(token, ZONE, f"www.{ZONE}", "first", wait=30).ok
    first = agent_version(node)
    upgrade_panel(panel, packages, release, NEXT, tmp_path)

    said = upgrade_nodes(panel, token)
    assert "Not upgraded: ns1: The node doesn’t allow the panel to upgrade the agent." in said
    assert "ring0" not in said, "the panel's own package has upgraded the canary"
    check_compromised_agent(node, tmp_path)

    assert panel_authority(panel) in node.run("dnspanel-agent", "allow-upgrades")
    until(lambda: "due" in upgrade_of_node(panel, token), seconds=60, what="the node's report", pause=1)
    with timed("dnspanel nodes upgrade"):
        assert "1 agent upgraded." in upgrade_nodes(panel, token)
    assert agent_version(node) == f"{NEXT}+deb{release}" != first
    assert node.run("cat", OUTCOME) == f"installed\n{NEXT}+deb{release}\n"
    assert "0 agents upgraded." in upgrade_nodes(panel, token)
    check_compromised_agent(node, tmp_path)
    check_old_package(panel, node, packages, release)

    upgrade_panel(panel, packages, release, THIRD, tmp_path)
    assert "1 agent upgraded." in upgrade_nodes(panel, token)
    upgrade_panel(panel, packages, release, BROKEN, tmp_path)
    with timed("an upgrade to a broken agent, and back"):
        said = upgrade_nodes(panel, token, may_fail=True)
    reason = f"the agent did not run with {BROKEN}+deb{release}, so {THIRD}+deb{release} was installed again"
    assert reason in said
    assert "The upgrade stopped. Nodes without the new agent: ns1" in said
    assert agent_version(node) == f"{THIRD}+deb{release}"
    assert node.run("systemctl", "is-active", "dnspanel-agent.service") == "active\n"
    assert client.edit(token, ZONE, f"www.{ZONE}", "second", wait=60).ok
    assert answer(panel, node.address, "www") == '"second"'
    node.run("apt-get", "-qy", "install", "--allow-downgrades", "/var/lib/dnspanel-upgrade/previous.deb")
    assert agent_version(node) == f"{NEXT}+deb{release}"
    assert client.edit(token, ZONE, f"www.{ZONE}", "third", wait=60).ok
    assert answer(panel, node.address, "www") == '"third"'
    node.run("apt-get", "-qy", "purge", "dnspanel-agent")
    left = node.run("sh", "-c", "find /etc /var/lib -name '*dnspanel*' -not -path '/var/lib/dpkg/*'", may_fail=True)
    assert left == ""


def check_compromised_agent(node: Machine, directory: Path) -> None:
    """Check that the agent's user cannot install a package, whether upgrades are allowed or not."""
    before = node.run("dpkg-query", "--show")
    tree = directory / "evil"
    (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
    (tree / "DEBIAN/control").write_text(
        "Package: dnspanel-agent\nVersion: 99\nArchitecture: amd64\nMaintainer: x <x@x.test>\nDescription: x\n"
    )
    (tree / "DEBIAN/postinst").write_text("#!/bin/sh\ntouch /root/evil\n")
    (tree / "DEBIAN/postinst").chmod(0o755)
    evil = node.root / "opt/evil.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(evil)], check=True)
    # The agent's own key is the best that an attacker on the node has.
    identity = "/var/lib/dnspanel-agent/identity"
    sign = f"openssl cms -sign -binary -nodetach -outform DER -signer {identity}/node.pem -inkey {identity}/node.key"
    is_allowed = node.run("sh", "-c", "ls /etc/dnspanel-agent") != "agent.toml\n"
    for make in ("cat /opt/evil.deb", f"{sign} -in /opt/evil.deb", "echo"):
        put = f"mkdir -p {REQUEST.removesuffix('/request')} && {make} >{REQUEST}.part && mv {REQUEST}.part {REQUEST}"
        node.run("runuser", "-u", "pdns", "--", "sh", "-c", put)
        if is_allowed:
            until(lambda: "has not signed" in node.run("cat", OUTCOME, may_fail=True), seconds=30, what="the refusal")
            until(lambda: not (node.root / REQUEST.lstrip("/")).exists(), seconds=5, what="the end of the request")
            (node.root / OUTCOME.lstrip("/")).unlink()
    node.run("rm", "-f", REQUEST)
    node.run("sh", "-c", f"ln -s /etc/shadow {REQUEST}")
    if is_allowed:
        until(lambda: "has not signed" in node.run("cat", OUTCOME, may_fail=True), seconds=30, what="the refusal")
        assert not node.run("sh", "-c", "cat /var/lib/dnspanel-upgrade/request 2>/dev/null", may_fail=True)
    node.run("rm", "-f", REQUEST)
    node.run("systemctl", "reset-failed", may_fail=True)
    assert node.run("dpkg-query", "--show") == before
    assert not (node.root / "root/evil").exists()


def check_old_package(panel: Machine, node: Machine, packages: Path, release: str) -> None:
    """Check that a package that the panel signed before cannot be sent again later to get an older agent."""
    (old,) = packages.glob("dnspanel-agent_*.deb")
    shutil.copy(old, panel.root / "opt/old.deb")
    script = (
        "from django.utils import timezone; from cryptography import x509;"
        "from cryptography.hazmat.primitives import hashes;"
        "from cryptography.hazmat.primitives.serialization import Encoding, pkcs7;"
        "from dnspanel.fleet.nodes.authority import client_key, ensure_authority;"
        "a = ensure_authority(now=timezone.now());"
        "b = pkcs7.PKCS7SignatureBuilder().set_data(open('/opt/old.deb', 'rb').read());"
        "b = b.add_signer(x509.load_pem_x509_certificate(a.client_pem.encode()), client_key(a), hashes.SHA256());"
        "open('/var/lib/dnspanel/old.signed', 'wb').write(b.sign(Encoding.DER, [pkcs7.PKCS7Options.Binary]))"
    )
    panel.run("dnspanel", "manage", "shell", "-c", script)
    shutil.copy(panel.root / "var/lib/dnspanel/old.signed", node.root / "var/lib/dnspanel-agent/state/upgrade")
    node.run("mv", f"{Path(REQUEST).parent}/old.signed", REQUEST)
    until(lambda: "is older than" in node.run("cat", OUTCOME, may_fail=True), seconds=30, what="the refusal")
    assert agent_version(node) == f"{NEXT}+deb{release}"


def agent_version(node: Machine) -> str:
    return node.run("dpkg-query", "--show", "--showformat=${Version}", "dnspanel-agent")


def panel_authority(panel: Machine) -> str:
    """Return the fingerprint that the page Nodes → Keys shows."""
    script = (
        "from django.utils import timezone; from dnspanel.fleet.nodes.authority import *;"
        "print(fingerprint(ensure_authority(now=timezone.now())))"
    )
    return panel.run("dnspanel", "manage", "shell", "-c", script).split()[-1]


def upgrade_nodes(panel: Machine, token: str, *, may_fail: bool = False) -> str:
    """Run `dnspanel nodes upgrade` on the panel's machine, and return all that it prints."""
    said = panel.run("sh", "-c", f"{settings_of(token)} dnspanel nodes upgrade 2>&1", may_fail=may_fail)
    sys.stdout.write(said)
    return said


def upgrade_of_node(panel: Machine, token: str) -> str:
    """Return the line about upgrades that `dnspanel nodes show` prints."""
    said = panel.run("sh", "-c", f"{settings_of(token)} dnspanel nodes show ns1", may_fail=True)
    return next((line for line in said.splitlines() if line.startswith("upgrade")), "")


def settings_of(token: str) -> str:
    return f"DNSPANEL_URL=https://{HOST} DNSPANEL_TOKEN={token} SSL_CERT_FILE=/etc/dnspanel/tls/fullchain.pem"


def upgrade_panel(panel: Machine, packages: Path, release: str, version: str, directory: Path) -> None:
    """Install the panel's package with another number, which has the agent's package with the same number."""
    built = next_release(packages, release, version, directory / version)
    shutil.copy(built, panel.root / "root")
    panel.run("apt-get", "-qy", "install", f"/root/{built.name}")
    until(lambda: is_ready(panel), seconds=READY_SECONDS, what="the panel after the upgrade", pause=0.5)


def next_release(packages: Path, release: str, version: str, directory: Path) -> Path:
    """Make packages of this checkout with another number. Return the panel's. The agent of BROKEN does not start."""
    (agent,), (panel,) = packages.glob("dnspanel-agent_*.deb"), packages.glob("dnspanel_*.deb")
    number = f"{version}+deb{release}"
    tree = unpack(agent, directory / "agent", "dnspanel-agent", number, version)
    if version == BROKEN:
        (tree / "replication/agent/__main__.py").write_text("raise SystemExit('broken by a test')\n")
        shutil.rmtree(tree / "replication/agent/__pycache__")
    built = build(directory / "agent", directory / f"dnspanel-agent_{number}_amd64.deb")
    tree = unpack(panel, directory / "panel", "dnspanel", number, version)
    shutil.rmtree(tree / "agents")
    (tree / "agents").mkdir()
    shutil.copy(built, tree / "agents")
    return build(directory / "panel", directory / f"dnspanel_{number}_amd64.deb")


def unpack(package: Path, directory: Path, name: str, number: str, version: str) -> Path:
    """Unpack a package, change its number, and return its folder below /usr/lib."""
    directory.mkdir(parents=True)
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(directory)], check=True)
    control = directory / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {number}", control.read_text()))
    (directory / "DEBIAN/md5sums").unlink(missing_ok=True)
    (directory / f"usr/lib/{name}/replication/built_version.txt").write_text(f"{version}\n")
    return directory / f"usr/lib/{name}"


def build(tree: Path, package: Path) -> Path:
    subprocess.run(["dpkg-deb", "--build", "-Zzstd", "-z1", str(tree), str(package)], check=True)
    return package
