"""`docker-compose.yml`: everything that it names exists, and no service has more access than it needs."""

import ipaddress
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dnspanel.demo.container import make_secrets
from tests.deploy.build_context import copy_files, parse_dockerfile
from tests.deploy.container_root import Containers
from tests.docs.documents import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

# Services that see each kind of secrets.
OF_PANEL = {"secrets"}
SECRETS = {
    **dict.fromkeys(
        ("migrate", "web", "publish", "push", "bootstrap", "sources", "bulk", "system", "beat", "collector", "update"),
        OF_PANEL,
    ),
    "secrets": {"secrets", "secrets-postgres", "secrets-redis", "code-ns1", "code-ns2", "code-ns3", "code-ring0"},
    "ready": {"secrets", "code-ns1", "code-ns2", "code-ns3", "code-ring0"},
    "postgres": {"secrets-postgres"},
    "redis": {"secrets-redis"},
    **{name: {f"code-{name}"} for name in ("ns1", "ns2", "ns3", "ring0")},
}
# Services that write secrets; all others only read them.
MAKERS = {"secrets", "ready"}
# PostgreSQL's entry point needs these to give its data to its user and switch to that user.
TO_BECOME_ANOTHER_USER = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}


def mounts(service: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return a service's mounts: volume or path, target, and True if it is writable."""
    found = (entry.split(":") for entry in service.get("volumes", ()))
    return [(source, target, "ro" not in rest) for source, target, *rest in found]


STAGES = parse_dockerfile((ROOT / "Dockerfile").read_text())


def command_of(service: dict[str, Any]) -> str:
    return " ".join(service.get("command") or STAGES[service["build"]["target"]].command)


def runs_the_panel(service: dict[str, Any]) -> bool:
    """Return True if the service is built from the repository and runs manage.py, Celery or gunicorn."""
    return "build" in service and bool(
        re.search(r"manage\.py|celery -A dnspanel|gunicorn dnspanel", command_of(service))
    )


# One service for each set of mounts, because equal mounts give equal results.
PANEL_SERVICES = {
    str([service["volumes"], service["tmpfs"], service["environment"]]): name
    for name, service in SERVICES.items()
    if runs_the_panel(service)
}


@pytest.fixture(scope="module")
def containers() -> Iterator[Containers]:
    """Return the containers with the image files, and volumes with the secrets that the first service has made."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a process mounts of its own")
    # Not below `tmp_path`, which only root can enter.
    directory = Path(tempfile.mkdtemp(prefix="dnspanel-containers-", dir="/tmp"))
    directory.chmod(0o755)
    images, volumes = directory / "images", directory / "volumes"
    copy_files(STAGES["panel"], images / "panel")
    volumes.mkdir(mode=0o755)
    made = Containers(STAGES, images, volumes)
    done = made.run(SERVICES["secrets"], SERVICES["secrets"]["command"])
    assert (done.returncode, done.stderr) == (0, "")
    yield made
    shutil.rmtree(directory)


@pytest.mark.parametrize("name", PANEL_SERVICES.values())
def test_the_checks_of_the_panel_pass_with_what_the_service_mounts(name: str, containers: Containers) -> None:
    """Previously `ready` had no volume for encoded data, so check E007 ended it before it printed the link."""
    done = containers.run(SERVICES[name], ["python", "manage.py", "check"])
    assert done.returncode == 0, done.stderr


def test_web_serves_the_command_line(containers: Containers) -> None:
    """The command-line file is built from the image's packages, and runs without them."""
    make = "import sys; from dnspanel.cli_file import command_line; sys.stdout.buffer.write(command_line('https://x.test'))"
    run_it = (
        f'python -c "{make}" >/tmp/dnspanel && chmod +x /tmp/dnspanel && PATH=/usr/bin:/bin /tmp/dnspanel --version'
    )
    done = containers.run(SERVICES["web"], ["sh", "-c", run_it])
    assert (done.returncode, done.stderr, done.stdout.startswith("dnspanel 1.")) == (0, "", True)


@pytest.mark.parametrize("name", ["web", "ready"])
def test_a_service_writes_to_what_it_mounts_and_nowhere_else(name: str, containers: Containers) -> None:
    service = SERVICES[name]
    for source, target, can_write in [*mounts(service), ("tmpfs", "/tmp", True), ("root", "/srv/dnspanel", False)]:
        done = containers.run(service, ["sh", "-c", f"touch {target}/.written && rm {target}/.written"])
        assert (done.returncode == 0) == can_write, (source, target, done.stderr)


def test_most_services_run_the_panel() -> None:
    assert {name for name in SERVICES if runs_the_panel(SERVICES[name])} == {
        *("migrate", "web", "publish", "push", "bootstrap", "sources", "bulk", "system"),
        *("beat", "collector", "update", "ready"),
    }


def test_nothing_of_our_images_is_mounted_in_memory_where_the_image_has_no_directory() -> None:
    """At a restart, runc gives the mount the mode of the directory that it created at the first start: 0755, root."""
    for name, service in SERVICES.items():
        if "build" in service:
            targets = {path.split(":")[0] for path in service["tmpfs"]} - {"/tmp"}
            missing = {path for path in targets if not STAGES[service["build"]["target"]].has_made(path)}
            assert missing == set(), name


@pytest.mark.parametrize("name", SERVICES)
def test_the_logs_of_a_service_have_a_bound(name: str) -> None:
    logging = SERVICES[name]["logging"]
    assert logging["driver"] == "json-file"
    assert logging["options"] == {"max-size": "10m", "max-file": "5"}


def test_a_busy_machine_has_minutes_before_up_gives_up() -> None:
    waited_for = {
        other
        for service in SERVICES.values()
        for other, terms in service.get("depends_on", {}).items()
        if terms["condition"] == "service_healthy"
    }
    assert waited_for == {"postgres", "redis", "web", "proxy"}
    for name in waited_for:
        check = SERVICES[name]["healthcheck"]
        assert (check["start_period"], check["timeout"]) == ("15m", "10s"), name


@pytest.mark.parametrize(
    ("answer", "healthy"),
    [(b"HTTP/1.1 200 OK\r\n\r\n", True), (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False), (b"", False)],
)
def test_web_is_healthy_when_it_answers_that_it_can_serve(answer: bytes, healthy: bool, tmp_path: Path) -> None:
    """A connection to the socket is not enough: gunicorn accepts connections even if it could only answer 503."""
    path = tmp_path / "web.sock"
    command, *arguments = SERVICES["web"]["healthcheck"]["test"][1:]
    probe = [argument.replace("/run/dnspanel/web.sock", str(path)) for argument in arguments]
    assert command == "python"
    assert subprocess.run([sys.executable, *probe], capture_output=True).returncode != 0, "there is no socket yet"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with subprocess.Popen([sys.executable, *probe], stderr=subprocess.DEVNULL) as process:
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(1000).startswith(b"GET /readyz HTTP/1.0\r\n")
                connection.sendall(answer)
            assert (process.wait(timeout=30) == 0) == healthy


def test_web_starts_before_the_other_processes_of_the_panel() -> None:
    """If all start together on a small machine, each gets a tenth of it, and everything waits for `web`."""
    for name in set(PANEL_SERVICES.values()) | {"push", "collector"}:
        if SERVICES[name].get("restart"):
            assert ("web" in SERVICES[name]["depends_on"]) == (name != "web")


def test_no_other_container_can_get_the_address_of_a_node() -> None:
    """Otherwise Docker could give a stopped node's address to another container, and the node could not start again."""
    [config] = COMPOSE["networks"]["fleet"]["ipam"]["config"]
    nodes = {
        ipaddress.ip_address(each["networks"]["fleet"]["ipv4_address"])
        for each in SERVICES.values()
        if isinstance(each.get("networks"), dict)
    }
    assert len(nodes) == 4
    assert nodes <= set(ipaddress.ip_network(config["subnet"]))
    assert not nodes & set(ipaddress.ip_network(config["ip_range"]))


def test_the_link_is_printed_even_where_a_node_did_not_come() -> None:
    admit, welcome = SERVICES["ready"]["command"][-1].split(";", 1)
    assert "demo_admit" in admit
    assert "demo_welcome" in welcome


def is_secret(volume: str) -> bool:
    return volume.startswith(("secrets", "code-"))


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_walls(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert "/tmp" in service["tmpfs"]
    assert service["cap_drop"] == ["ALL"]
    assert set(service.get("cap_add", ())) == (TO_BECOME_ANOTHER_USER if name == "postgres" else set())
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert 0 < service["pids_limit"] <= 400
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_sees_its_own_secrets_and_no_others(name: str) -> None:
    secret = {source: can_write for source, _, can_write in mounts(SERVICES[name]) if is_secret(source)}
    assert set(secret) == SECRETS.get(name, set())
    for source, can_write in secret.items():
        assert can_write == (name in MAKERS and (name, source) != ("ready", "secrets"))


def test_no_secret_stands_in_the_file() -> None:
    """It has only names of secret files, so readers of the repository or the container list learn no secret."""
    named = {key: str(value) for each in SERVICES.values() for key, value in (each.get("environment") or {}).items()}
    for key, value in named.items():
        if re.search("KEY|PASSWORD|SECRET|DATABASE|REDIS", key):
            assert key.endswith("_FILE"), key
            assert value.startswith("/secrets/")


def test_every_secret_that_is_named_is_made(tmp_path: Any) -> None:
    make_secrets.make_secrets(tmp_path)
    volume_of = {source: target.rpartition("/")[2] for source, target, _ in mounts(SERVICES["secrets"])}
    for name, service in SERVICES.items():
        environment = (service.get("environment") or {}).values()
        files = re.findall(r"/secrets/([\w.-]+)", " ".join(map(str, [*environment, service.get("command", "")])))
        [volume] = {source for source, target, _ in mounts(service) if target == "/secrets"} or {""}
        if name not in MAKERS and volume:
            assert files
            assert all((tmp_path / volume_of[volume] / file).exists() for file in files), name


def test_volumes_networks_and_services_that_are_named_exist_and_the_others_do_not() -> None:
    mounted = {source for each in SERVICES.values() for source, _, _ in mounts(each)}
    paths = {source for source in mounted if source.startswith(".")}
    assert mounted - paths == set(COMPOSE["volumes"])
    assert all((ROOT / path).exists() for path in paths)
    assert {name for each in SERVICES.values() for name in each.get("networks", ())} == set(COMPOSE["networks"])
    assert {name for each in SERVICES.values() for name in each.get("depends_on", ())} <= set(SERVICES)


def test_images_of_others_have_a_version() -> None:
    images = {each["image"] for each in SERVICES.values() if "build" not in each}
    assert all(re.fullmatch(r"[a-z]+:\d[\d.]*", image) for image in images), images


def test_only_the_proxy_and_the_gateway_are_reached_from_outside_and_only_from_this_machine() -> None:
    published = {name: each["ports"] for name, each in SERVICES.items() if "ports" in each}
    assert set(published) == {"proxy", "update", "ns1", "ns2", "ns3"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_volumes_belong_to_the_panels_user_from_the_image_on() -> None:
    """A new volume gets its owner from the image's directory at its first mount."""
    made = (ROOT / "Dockerfile").read_text()
    for _, target, _ in mounts(SERVICES["secrets"]):
        assert re.search(rf"[ \n]{target}\b", made), target


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"PANEL_URL": "", "PANEL_PORT": "8000"}, "http://127.0.0.1:8000"),
        ({"PANEL_URL": "", "PANEL_PORT": "9000"}, "http://127.0.0.1:9000"),
        ({"PANEL_URL": "https://dns.example.net/", "PANEL_PORT": "9000"}, "https://dns.example.net"),
    ],
)
def test_the_link_has_the_port_that_was_chosen(given: dict[str, str], expected: str) -> None:
    """Previously, with only PANEL_PORT set, the printed link had port 8000."""
    assert given.keys() <= SERVICES["ready"]["environment"].keys()
    secrets = dict.fromkeys(("PANEL_SECRET_KEY", "PANEL_MASTER_KEY", "PANEL_DATABASE", "PANEL_REDIS_URL"), "x")
    command = [sys.executable, "-c", "from dnspanel import settings; print(settings.PANEL_URL)"]
    env = {"PATH": os.environ["PATH"], **secrets, "PANEL_DATABASE": "postgresql://", **given}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.strip() == expected, done.stderr


def test_both_images_are_told_their_version_and_keep_it() -> None:
    """The build context has no .git, so without this argument all images would have an unknown version."""
    builds = [each["build"] for each in SERVICES.values() if "build" in each]
    assert {build["args"]["DNSPANEL_VERSION"] for build in builds} == {"${DNSPANEL_VERSION:-}"}
    stages = re.split(r"^FROM ", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    for target in {build["target"] for build in builds}:
        [stage] = [stage for stage in stages if re.match(rf"\S+ AS {target}\n", stage)]
        copied, declared, written = (
            stage.index(line)
            for line in ("COPY replication", "ARG DNSPANEL_VERSION", 'version.py --write "$DNSPANEL_VERSION"')
        )
        assert copied < written
        assert declared < written
