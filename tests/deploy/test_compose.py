"""`docker-compose.yml`: what it names is there, and nobody has more than they need."""

import re
from typing import Any

import pytest
import yaml

from dnspanel.demo.container import make_secrets
from tests.docs.documents import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

# Who sees which secrets: everybody else sees none.
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
# Who writes secrets; all others only read them.
MAKERS = {"secrets", "ready"}
# What PostgreSQL's entry point needs to give its data to its user and become it.
TO_BECOME_ANOTHER_USER = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}


def mounts(service: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Volume or path, where, and whether it can be written."""
    found = (entry.split(":") for entry in service.get("volumes", ()))
    return [(source, target, "ro" not in rest) for source, target, *rest in found]


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
    """Only names of files: whoever has the repository, and whoever lists the containers, learns none."""
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
    """A volume gets its owner from the directory of the image that mounts it first."""
    made = (ROOT / "Dockerfile").read_text()
    for _, target, _ in mounts(SERVICES["secrets"]):
        assert re.search(rf"[ \n]{target}\b", made), target
