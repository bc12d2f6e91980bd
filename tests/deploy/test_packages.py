"""The Debian packages on machines that have nothing else: install, set up, serve a zone, reboot, repair, purge.

The machines run systemd in systemd-nspawn. Run with -s to see the seconds of each step. Covers `setup.local_nodes`,
`setup.local_stores`, `setup.system_units`, `setup.rotate_master_key` and `setup.__main__`.
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
OTHER_HOST = "other.example.test"
ZONE = "first.example."
BUILD_SECONDS = 3600
READY_SECONDS = 300
MOST_EXPOSED = 2.5
SUITES = {"12": "bookworm", "13": "trixie"}
# The schemas of the PowerDNS in each release.
SCHEMAS = {"12": 4, "13": 5}

pytestmark = [
    pytest.mark.full(reason="builds packages, and boots machines"),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("systemd-nspawn"), reason="needs root and systemd-nspawn"),
]


@pytest.fixture(scope="module", params=list(SUITES))
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def packages(release: str) -> Path:
    """Build the packages of one release unless this version is there, and return the folder."""
    folder = ROOT / "dist" / f"debian{release}"
    version = version_to_build().replace(".dev", "~dev")
    if (folder / "Packages").exists() and list(folder.glob(f"dnspanel_{version}+deb*.deb")):
        return folder
    build(release)
    return folder


def build(release: str, umask: int = 0o022) -> None:
    command = [str(ROOT / "deploy/debian/build.sh"), "--offline", release]
    subprocess.run(command, check=True, timeout=BUILD_SECONDS, umask=umask)


@pytest.fixture(scope="module")
def fleet(release: str, packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    """Boot machines for the panel, a node, and a front with the command line."""
    try:
        base = debian_root(SUITES[release])
    except Unavailable as exc:
        pytest.skip(str(exc))
    with machines(base, packages, tmp_path_factory.mktemp("machines"), "panel", "node", "front") as booted:
        yield booted


def test_lintian_finds_no_error(packages: Path) -> None:
    debs = [str(path) for path in sorted(packages.glob("*.deb"))]
    done = subprocess.run(["lintian", "--fail-on=error", *debs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_commit_gives_the_same_bytes_again(packages: Path, release: str) -> None:
    sums = (packages / "SHA256SUMS").read_text()
    shutil.rmtree(ROOT / "var/package" / SUITES[release] / "cache")
    build(release, umask=0o077)
    assert (packages / "SHA256SUMS").read_text() == sums


def test_from_a_bare_debian_to_the_first_answer_and_back(
    release: str, fleet: list[Machine], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Five commands on the panel and the node. Then what an operator meets in years, in minutes."""
    panel, node, front = fleet
    install(panel, "dnspanel")
    with timed("dnspanel setup"):
        link = set_up(panel)
    trust(panel, monkeypatch, tmp_path)
    token = client.first_token(link, ["see nodes", "enroll and change nodes"])
    with timed("a node joins"):
        add_node(panel, node, SCHEMAS[release])
    client.create_zone(token, ZONE)
    assert client.edit(token, ZONE, f"www.{ZONE}", "first", wait=30).ok
    assert answer(panel, node.address, "www") == '"first"'
    add_front(panel, front, token)
    check_second_run(panel)
    check_redis(panel)
    check_hardening(panel)
    check_late_stores(panel)
    check_new_name(panel)
    check_acme(panel)
    trust(panel, monkeypatch, tmp_path)
    with timed("dnspanel rotate-master-key"):
        check_new_master_key(panel)
    node.reboot()
    with timed("the panel's machine stops, boots, and is ready"):
        panel.reboot()
        until(lambda: is_ready(panel), seconds=READY_SECONDS, what="the panel after a reboot", pause=0.5)
    assert client.edit(token, ZONE, f"www.{ZONE}", "second", wait=60).ok
    assert answer(panel, node.address, "www") == '"second"'
    check_upgrade(panel)
    assert answer(panel, node.address, "www") == '"second"'
    check_reinstallation(panel)
    backup = make_backup(panel, tmp_path)
    check_purge(panel)
    check_move(panel, node, token, backup)
    check_removed_node(panel, front, node, token)


class timed:
    """Print the seconds that the block takes."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *exc: object) -> None:
        sys.stdout.write(f"{self.what}: {time.monotonic() - self.began:.1f} s\n")


def install(machine: Machine, *names: str) -> None:
    """Install packages with what they recommend, from the folder and without network."""
    machine.run("apt-get", "-q", "update")
    with timed(f"apt install {' '.join(names)}"):
        machine.run("apt-get", "-qy", "install", *names)


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


def add_node(panel: Machine, node: Machine, schema: int) -> None:
    node.run("sh", "-c", f"echo {panel.address} {HOST} >>/etc/hosts")
    install(node, "dnspanel-agent")
    join(panel, node, "ns1", "dnspanel-agent", f"--schema={schema}")


def join(panel: Machine, machine: Machine, name: str, program: str, *options: str) -> None:
    """Create a node or front, and join with the fingerprint that both machines show."""
    where = [f"--dns-address={machine.address}", f"--agent-host={machine.address}", *options]
    code = panel.run("dnspanel", "manage", "create_node", name, *where).strip()
    with machine.start(program, "join", "--panel", f"https://{HOST}", "--code", code) as joining:
        assert joining.stdout is not None
        for line in joining.stdout:
            if found := re.search(r"fingerprint ([0-9a-f]+)", line):
                panel.run("dnspanel", "manage", "approve_node", name, "--fingerprint", found[1])
            last = line
    assert joining.returncode == 0, last


def add_front(panel: Machine, front: Machine, token: str) -> None:
    """Join a front, and let the command line of another machine put the node behind it."""
    front.run("sh", "-c", f"echo {panel.address} {HOST} >>/etc/hosts")
    install(front, "dnspanel-front", "dnspanel-cli")
    join(panel, front, "front1", "dnspanel-front", "--front")
    shutil.copy(panel.root / "etc/dnspanel/tls/fullchain.pem", front.root / "root/panel.pem")
    assert ZONE in front.run(*command_line(token), "zones", "list")
    front.run(*command_line(token), "api", "PATCH", "/nodes/front1/front", "-F", 'backends={"ns1": 1}')
    until(lambda: answer(front, front.address, "www") == '"first"', seconds=30, what="the front's answer", pause=0.5)


def command_line(token: str) -> tuple[str, ...]:
    settings = (f"DNSPANEL_URL=https://{HOST}", f"DNSPANEL_TOKEN={token}", "SSL_CERT_FILE=/root/panel.pem")
    return ("env", *settings, "dnspanel")


def answer(machine: Machine, server: str, name: str) -> str:
    return machine.run("dig", "+short", f"@{server}", f"{name}.{ZONE}", "TXT", may_fail=True).strip()


def is_ready(panel: Machine) -> bool:
    curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10"]
    socket_of_web = ["--unix-socket", "/run/dnspanel/web.sock", "http://localhost/readyz"]
    return panel.run(*curl, *socket_of_web, may_fail=True) == "200"


def check_second_run(panel: Machine) -> None:
    """Check that a second setup changes nothing, and repairs what is broken."""
    before = panel.run("cat", "/etc/dnspanel/panel.env")
    said = panel.run("dnspanel", "setup", "--yes")
    steps = ("Settings", "Database", "Redis", "nginx", "Processes", "Canary", "PowerDNS")
    assert [step for step in steps if f"{step}: unchanged" not in said] == [], said
    panel.run("rm", "/etc/nginx/sites-enabled/dnspanel", "/etc/redis/redis-dnspanel.conf")
    panel.run(
        "systemctl", "disable", "--now", "dnspanel-canary.service", "redis-server@dnspanel", "dnspanel@push.service"
    )
    said = panel.run("dnspanel", "setup", "--yes")
    assert "Redis: /etc/redis/redis-dnspanel.conf, redis-server@dnspanel.service" in said
    assert "Processes: dnspanel@push.service" in said
    assert "nginx: /etc/nginx/sites-enabled/dnspanel" in said
    assert "Canary: dnspanel-canary.service" in said
    assert panel.run("systemctl", "is-active", "dnspanel@push.service") == "active\n"
    assert panel.run("cat", "/etc/dnspanel/panel.env") == before


def check_redis(panel: Machine) -> None:
    """Check that only the panel's processes can open the panel's Redis."""
    ping = ("redis-cli", "-s", "/run/redis-dnspanel/redis-server.sock", "ping")
    assert panel.run("runuser", "-u", "dnspanel", "--", *ping) == "PONG\n"
    assert "PONG" not in panel.run("runuser", "-u", "nobody", "--", *ping, may_fail=True)
    assert panel.run("sh", "-c", "redis-cli -s /run/redis-dnspanel/redis-server.sock config get port") == "port\n0\n"


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
    panel.run("systemctl", "stop", "postgresql", "redis-server@dnspanel", "dnspanel@*")
    panel.run("systemctl", "--no-block", "start", "dnspanel.target")
    time.sleep(10)  # for processes that end because they find no PostgreSQL
    panel.run("systemctl", "start", "postgresql", "redis-server@dnspanel")
    with timed("ready after late stores"):
        until(lambda: is_ready(panel), seconds=READY_SECONDS, what="the panel after late stores", pause=0.5)


def check_new_name(panel: Machine) -> None:
    """Check that the panel gets another name and a certificate for it, and then the former name again."""
    panel.run("sh", "-c", f"echo {panel.address} {OTHER_HOST} >>/etc/hosts")
    said = panel.run("dnspanel", "setup", "--host", OTHER_HOST)
    assert "Settings: PANEL_URL, PANEL_ALLOWED_HOSTS" in said
    assert "Certificate: self-signed" in said
    assert f"https://{OTHER_HOST}/" in said
    curl = ("curl", "-s", "-o", "/dev/null", "--cacert", "/etc/dnspanel/tls/fullchain.pem", "-w")
    assert panel.run(*curl, "%{http_code}", f"https://{OTHER_HOST}/sign-in/") == "200"
    assert panel.run(*curl, "%{redirect_url}", f"http://{OTHER_HOST}/x") == f"https://{OTHER_HOST}/x"
    panel.run("sh", "-c", "cp -L /etc/dnspanel/tls/*.pem /root/")
    panel.run("dnspanel", "setup", "--host", HOST)
    said = panel.run("dnspanel", "setup", "--certificate=/root/fullchain.pem", "--key=/root/privkey.pem")
    assert "Certificate: /etc/dnspanel/tls/fullchain.pem is /root/fullchain.pem" in said
    assert panel.run(*curl, "%{http_code}", f"https://{OTHER_HOST}/sign-in/") == "400"  # a name of another panel
    panel.run("rm", "/etc/dnspanel/tls/fullchain.pem", "/etc/dnspanel/tls/privkey.pem")
    panel.run("dnspanel", "setup", "--yes")


def check_acme(panel: Machine) -> None:
    """Check that the panel gets a certificate of an authority with ACME, and that its renewal reaches nginx."""
    shutil.copy(Path(__file__).with_name("pebble.sh"), panel.root / "root")
    panel.run("sh", "/root/pebble.sh")
    before = certificate_of(panel)
    said = panel.run("dnspanel", "setup", "--answers", "/root/acme.toml")
    assert f"ACME: certificate for {HOST}" in said
    issued = certificate_of(panel)
    panel.run("certbot", "renew", "--force-renewal", "--no-random-sleep-on-renew")
    until(lambda: certificate_of(panel) not in (before, issued), seconds=30, what="the renewed certificate")
    assert "ACME: unchanged" in panel.run("dnspanel", "setup", "--yes")
    panel.run("rm", "/etc/dnspanel/tls/fullchain.pem", "/etc/dnspanel/tls/privkey.pem")
    assert "Certificate: self-signed" in panel.run("dnspanel", "setup", "--yes")


def certificate_of(panel: Machine) -> str:
    """Return the fingerprint of the certificate that nginx shows."""
    connect = f"openssl s_client -connect {HOST}:443 -servername {HOST} </dev/null 2>/dev/null"
    return panel.run("sh", "-c", f"{connect} | openssl x509 -noout -fingerprint -sha256")


def check_new_master_key(panel: Machine) -> None:
    key = "sed -n s/^PANEL_MASTER_KEY=//p /etc/dnspanel/panel.env"
    former = panel.run("sh", "-c", key)
    said = panel.run("dnspanel", "rotate-master-key")
    assert "The panel runs with the new key" in said
    assert panel.run("sh", "-c", key) not in ("", former)
    assert panel.run("cat", "/etc/dnspanel/former-master-keys") == former
    assert panel.run("stat", "-c", "%a", "/etc/dnspanel/former-master-keys") == "600\n"
    checked = panel.run("dnspanel", "manage", "check")
    assert not re.search("E017|W004|W005", checked), checked


def check_upgrade(panel: Machine) -> None:
    """Check that a package over a running panel restarts each process, and that a failed migration restarts none."""
    before = main_processes(panel)
    upgrade = ("apt-get", "-qy", "install", "--reinstall", "dnspanel")
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


def check_reinstallation(panel: Machine) -> None:
    """Check that a removed panel leaves its data, and works again after an installation."""
    panel.run("apt-get", "-qy", "remove", "dnspanel")
    assert panel.run("systemctl", "is-active", "dnspanel@web.service", may_fail=True).strip() != "active"
    install(panel, "dnspanel")
    panel.run("dnspanel", "setup", "--yes")
    assert is_ready(panel)


def check_purge(panel: Machine) -> None:
    panel.run("apt-get", "-qy", "purge", "dnspanel")
    places = ("/etc", "/etc/nginx/*", "/etc/redis", "/var/lib", "/var/lib/redis", "/usr/lib")
    left = panel.run("sh", "-c", " ".join(["ls -d", *(f"{place}/*dnspanel*" for place in places)]), may_fail=True)
    assert left == ""
    assert panel.run("systemctl", "list-units", "--plain", "--no-legend", "dnspanel*", "pdns@*") == ""
    panel.run("nginx", "-t")


def make_backup(panel: Machine, directory: Path) -> Path:
    """Carry out the runbook's steps on the former machine, and return the folder with its archive and /etc/dnspanel."""
    panel.run("systemctl", "disable", "--now", "dnspanel.target")
    panel.run("systemctl", "stop", "dnspanel@*")
    panel.run("sh", "-c", "umask 077; dnspanel manage backup - >/root/panel.tar")
    shutil.copytree(panel.root / "etc/dnspanel", directory / "dnspanel", symlinks=True)
    shutil.copy(panel.root / "root/panel.tar", directory)
    return directory


def check_move(panel: Machine, node: Machine, token: str, backup: Path) -> None:
    """Check that a machine without a panel becomes the panel of a backup, and that its node follows it."""
    panel.run("runuser", "-u", "postgres", "--", "dropdb", "dnspanel")
    panel.run("runuser", "-u", "postgres", "--", "dropuser", "dnspanel")
    install(panel, "dnspanel")
    shutil.copytree(backup / "dnspanel", panel.root / "etc/dnspanel", symlinks=True, dirs_exist_ok=True)
    with timed("dnspanel setup --restore"):
        said = panel.run("dnspanel", "setup", "--yes", "--restore", "/root/panel.tar")
    assert "Restored the backup" in said
    assert "Certificate: unchanged" in said
    assert "Canary: name server ring0" in said
    client.use_panels_content()
    until(lambda: client.edit(token, ZONE, f"www.{ZONE}", "moved", wait=60).ok, seconds=READY_SECONDS, what="an edit")
    assert answer(panel, node.address, "www") == '"moved"'


def check_removed_node(panel: Machine, front: Machine, node: Machine, token: str) -> None:
    """Check that one command on each side removes a node for good."""
    shutil.copy(panel.root / "etc/dnspanel/tls/fullchain.pem", front.root / "root/panel.pem")
    front.run(*command_line(token), "nodes", "retire", "ns1", "--yes")
    assert "ns1" not in front.run(*command_line(token), "nodes", "list")
    node.run("apt-get", "-qy", "purge", "dnspanel-agent")
    left = node.run("sh", "-c", "ls -d /etc/dnspanel* /var/lib/dnspanel* /etc/systemd/system/*dnspanel*", may_fail=True)
    assert left == ""
    assert answer(front, node.address, "www") != '"moved"'
