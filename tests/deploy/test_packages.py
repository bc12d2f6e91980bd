"""The Debian packages on machines that have nothing else: install, set up, serve a zone, reboot, repair, purge.

The machines run systemd in systemd-nspawn. Run with -s to see the seconds of each step. Covers `setup.local_nodes`,
`setup.local_stores` and `setup.__main__`.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.version import version_to_build
from tests.deploy.docker import client
from tests.deploy.machines import Machine, debian_root, machines
from tests.docs.documents import ROOT
from tests.oracle.powerdns import Unavailable
from tests.stack import until

HOST = "panel.example.test"
ZONE = "first.example."
BUILD_SECONDS = 3600
READY_SECONDS = 300
MOST_EXPOSED = 2.5
RELEASES = {"12": ("bookworm", "libldap-2.5-0"), "13": ("trixie", "libldap2")}

pytestmark = [
    pytest.mark.full(reason="builds packages, and boots machines"),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("systemd-nspawn"), reason="needs root and systemd-nspawn"),
]


@pytest.fixture(scope="module", params=["12"])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def packages(release: str) -> Path:
    """Build the packages of one release unless this version is there, and return their folder."""
    folder = ROOT / "dist" / f"debian{release}"
    version = version_to_build().replace(".dev", "~dev")
    if (folder / "SHA256SUMS").exists() and list(folder.glob(f"dnspanel_{version}+deb*.deb")):
        return folder
    subprocess.run([str(ROOT / "deploy/debian/build.sh"), release], check=True, timeout=BUILD_SECONDS)
    return folder


@pytest.fixture(scope="module")
def fleet(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    """Boot a machine for the panel and one for a node."""
    try:
        base = debian_root(*RELEASES[release])
    except Unavailable as exc:
        pytest.skip(str(exc))
    with machines(base, tmp_path_factory.mktemp("machines"), "panel", "node") as booted:
        yield booted


def test_lintian_finds_no_error(packages: Path) -> None:
    debs = [str(path) for path in sorted(packages.glob("*.deb"))]
    done = subprocess.run(["lintian", "--fail-on=error", *debs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_commit_gives_the_same_bytes_again(packages: Path, release: str) -> None:
    sums = (packages / "SHA256SUMS").read_text()
    shutil.rmtree(ROOT / "var/package" / RELEASES[release][0] / "cache")
    subprocess.run([str(ROOT / "deploy/debian/build.sh"), release], check=True, timeout=BUILD_SECONDS, umask=0o077)
    assert (packages / "SHA256SUMS").read_text() == sums


def test_from_a_bare_debian_to_the_first_answer_and_back(
    fleet: list[Machine], packages: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Five commands on the panel and the node. Then what an operator meets in years, in minutes."""
    panel, node = fleet
    install(panel, packages, "dnspanel")
    with timed("dnspanel setup"):
        link = set_up(panel)
    trust(panel, monkeypatch, tmp_path)
    token = client.first_token(link)
    with timed("a node joins"):
        add_node(panel, node, packages)
    client.create_zone(token, ZONE)
    assert client.edit(token, ZONE, f"www.{ZONE}", "first", wait=30).ok
    assert answer(panel, node.address, "www") == '"first"'
    check_second_run(panel)
    check_hardening(panel)
    check_late_stores(panel)
    node.reboot()
    with timed("the panel's machine stops, boots, and is ready"):
        panel.reboot()
        until(lambda: is_ready(panel), seconds=READY_SECONDS, what="the panel after a reboot", pause=0.5)
    assert client.edit(token, ZONE, f"www.{ZONE}", "second", wait=60).ok
    assert answer(panel, node.address, "www") == '"second"'
    check_upgrade(panel)
    assert answer(panel, node.address, "www") == '"second"'
    check_reinstallation(panel, packages)
    check_purge(panel)


class timed:
    """Print the seconds that the block takes."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *exc: object) -> None:
        sys.stdout.write(f"{self.what}: {time.monotonic() - self.began:.1f} s\n")


def install(machine: Machine, packages: Path, name: str) -> None:
    """Copy one package into the machine and install it with what it recommends, from the local repository."""
    (found,) = packages.glob(f"{name}_*.deb")
    shutil.copy(found, machine.root / "root")
    machine.run("apt-get", "-q", "update")
    with timed(f"apt install {name}"):
        machine.run("apt-get", "-qy", "install", f"/root/{found.name}")


def set_up(panel: Machine) -> str:
    """Run setup without questions, and return the first administrator's link."""
    said = panel.run("dnspanel", "setup", "--yes")
    sys.stdout.write(said)
    assert "PANEL_MASTER_KEY" in said
    assert "SHA-256 fingerprint" in said
    assert panel.run("stat", "-c", "%a %U %G", "/etc/dnspanel/panel.env") == "640 root dnspanel\n"
    assert is_ready(panel)
    (link,) = re.findall(r"https://\S+/welcome/\S+/", said)
    assert link.startswith(f"https://{HOST}/")
    return str(link)


def trust(panel: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let this process reach the panel by its name, and trust only its certificate."""
    certificate = tmp_path / "panel.pem"
    shutil.copy(panel.root / "etc/dnspanel/tls/fullchain.pem", certificate)
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: resolve(panel.address if host == HOST else host, *rest, **more),
    )
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.setattr(client, "URL", f"https://{HOST}")


def add_node(panel: Machine, node: Machine, packages: Path) -> None:
    """Install the agent, and join with the fingerprint that both machines show."""
    node.run("sh", "-c", f"echo {panel.address} {HOST} >>/etc/hosts")
    install(node, packages, "dnspanel-agent")
    where = [f"--dns-address={node.address}", f"--agent-host={node.address}"]
    code = panel.run("dnspanel", "manage", "create_node", "ns1", *where).strip()
    with node.start("dnspanel-agent", "join", "--panel", f"https://{HOST}", "--code", code) as joining:
        assert joining.stdout is not None
        for line in joining.stdout:
            if found := re.search(r"fingerprint ([0-9a-f]+)", line):
                panel.run("dnspanel", "manage", "approve_node", "ns1", "--fingerprint", found[1])
            last = line
    assert joining.returncode == 0, last


def answer(machine: Machine, server: str, name: str) -> str:
    return machine.run("dig", "+short", f"@{server}", f"{name}.{ZONE}", "TXT").strip()


def is_ready(panel: Machine) -> bool:
    curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10"]
    socket_of_web = ["--unix-socket", "/run/dnspanel/web.sock", "http://localhost/readyz"]
    return panel.run(*curl, *socket_of_web, may_fail=True) == "200"


def check_second_run(panel: Machine) -> None:
    """Check that a second setup changes nothing, and repairs what is broken."""
    before = panel.run("cat", "/etc/dnspanel/panel.env")
    said = panel.run("dnspanel", "setup", "--yes")
    steps = ("Secrets", "Database", "nginx", "Processes", "Canary", "PowerDNS")
    assert [step for step in steps if f"{step}: unchanged" not in said] == [], said
    panel.run("rm", "/etc/nginx/sites-enabled/dnspanel")
    panel.run("systemctl", "disable", "--now", "dnspanel-canary.service", "dnspanel@push.service")
    said = panel.run("dnspanel", "setup", "--yes")
    assert "nginx: /etc/nginx/sites-enabled/dnspanel" in said
    assert "Canary: dnspanel-canary.service" in said
    assert panel.run("systemctl", "is-active", "dnspanel@push.service") == "active\n"
    assert panel.run("cat", "/etc/dnspanel/panel.env") == before


def check_hardening(panel: Machine) -> None:
    units = panel.run("systemctl", "list-units", "--plain", "--no-legend", "dnspanel@*", "dnspanel-canary*")
    exposed = {}
    for unit in re.findall(r"^(\S+\.service)", units, re.MULTILINE):
        said = panel.run("systemd-analyze", "security", "--no-pager", unit)
        exposed[unit] = float(re.findall(r"Overall exposure level for \S+: ([0-9.]+)", said)[0])
    sys.stdout.write(f"{exposed}\n")
    assert len(exposed) == 11
    assert {unit: level for unit, level in exposed.items() if level > MOST_EXPOSED} == {}


def check_late_stores(panel: Machine) -> None:
    """Check that processes which start before PostgreSQL and Redis are ready when both answer."""
    panel.run("systemctl", "stop", "postgresql", "redis-server", "dnspanel@*")
    panel.run("systemctl", "--no-block", "start", "dnspanel.target")
    time.sleep(10)  # for processes that end because they find no PostgreSQL
    panel.run("systemctl", "start", "postgresql", "redis-server")
    with timed("ready after late stores"):
        until(lambda: is_ready(panel), seconds=READY_SECONDS, what="the panel after late stores", pause=0.5)


def check_upgrade(panel: Machine) -> None:
    """Check that a package over a running panel restarts each process, and that a failed migration restarts none."""
    before = main_processes(panel)
    (package,) = (panel.root / "root").glob("dnspanel_*.deb")
    upgrade = ("apt-get", "-qy", "install", "--reinstall", f"/root/{package.name}")
    panel.run(
        "runuser", "-u", "postgres", "--", "psql", "-c", "ALTER TABLE django_migrations RENAME TO away", "dnspanel"
    )
    assert "dnspanel" in panel.run(*upgrade, may_fail=True)
    assert main_processes(panel) == before
    panel.run("runuser", "-u", "postgres", "--", "psql", "-c", "DROP TABLE IF EXISTS django_migrations", "dnspanel")
    panel.run(
        "runuser", "-u", "postgres", "--", "psql", "-c", "ALTER TABLE away RENAME TO django_migrations", "dnspanel"
    )
    panel.run("dpkg", "--configure", "-a")
    until(lambda: is_ready(panel), seconds=READY_SECONDS, what="the panel after an upgrade", pause=0.5)
    assert before.isdisjoint(main_processes(panel))


def main_processes(panel: Machine) -> set[str]:
    """Return the ids of the main processes of all units of the panel."""
    return set(panel.run("systemctl", "show", "--property=MainPID", "--value", "dnspanel@*").split())


def check_reinstallation(panel: Machine, packages: Path) -> None:
    """Check that a removed panel leaves its data, and works again after an installation."""
    panel.run("apt-get", "-qy", "remove", "dnspanel")
    assert panel.run("systemctl", "is-active", "dnspanel@web.service", may_fail=True).strip() != "active"
    install(panel, packages, "dnspanel")
    panel.run("dnspanel", "setup", "--yes")
    assert is_ready(panel)


def check_purge(panel: Machine) -> None:
    panel.run("apt-get", "-qy", "purge", "dnspanel")
    left = panel.run(
        "sh", "-c", "ls -d /etc/dnspanel* /var/lib/dnspanel* /usr/lib/dnspanel* /etc/nginx/*/dnspanel", may_fail=True
    )
    assert left == ""
    assert panel.run("systemctl", "list-units", "--plain", "--no-legend", "dnspanel*", "pdns@*") == ""
    panel.run("nginx", "-t")
