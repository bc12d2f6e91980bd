"""The guard that allows or refuses servers for jobs. Verbs and each new connection call it."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from dnspanel import outbound
from dnspanel.accounts.models import Role, User
from dnspanel.transfer import allowed_servers
from dnspanel.transfer.errors import ServerRefused, SourceAway
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportJob, SourceKind
from dnspanel.transfer.sources import registry
from dnspanel.zones.errors import Forbidden
from tests.dnspanel.transfer.conftest import work_through
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db

AXFR = {"server": "old.test", "port": 5353, "zones": ["a.test."]}
API = {"url": "http://old.test:8081", "server_id": "localhost", "zones": []}
POSTGRES = {"kind": "postgresql", "host": "old.test", "database": "d", "user": "u", "port": None}
MYSQL = POSTGRES | {"kind": "mysql"}
EVERY_SOURCE = [
    (SourceKind.AXFR, AXFR, "server"),
    (SourceKind.POWERDNS_API, API, "url"),
    (SourceKind.POWERDNS_SQL, POSTGRES, "host"),
    (SourceKind.POWERDNS_SQL, MYSQL, "host"),
]


@pytest.fixture
def leads_to(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return a list of DNS answers for all hosts. Each query takes the next answer; the last one is repeated."""
    answers: list[list[str]] = [["9.9.9.9"]]
    monkeypatch.setattr(outbound, "resolve_host", lambda host, port: answers.pop(0) if len(answers) > 1 else answers[0])
    return answers


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Yield a listening socket of this machine. No job may connect to it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        yield listening


def make(source: str, parameters: Mapping[str, Any], author: User | None) -> ImportJob:
    return import_jobs.create_job(
        source=source, title="old", author=author, now=NOW, parameters=parameters, secret={"key": "k"}
    )


def test_every_kind_of_source_is_either_no_server_or_has_its_guard() -> None:
    local = {SourceKind.FILES, SourceKind.PASTE, SourceKind.CSV, SourceKind.JSON, SourceKind.RETRY}
    local |= {SourceKind.POWERDNS_DUMP, SourceKind.POWERDNS_LMDB}
    assert set(SourceKind) - local == set(allowed_servers.SERVER_SOURCES) == set(allowed_servers._PLACES)


@pytest.mark.parametrize(("source", "parameters", "field"), EVERY_SOURCE)
def test_no_source_leads_to_an_address_of_the_panels_own_network(
    alice: User, leads_to: list[list[str]], source: str, parameters: dict[str, Any], field: str
) -> None:
    for addresses in (["127.0.0.1"], ["9.9.9.9", "10.0.0.7"], ["169.254.169.254"], ["::ffff:127.0.0.1"]):
        leads_to[:] = [addresses]
        with pytest.raises(ServerRefused, match=r"old\.test doesn’t resolve to a public address") as refused:
            make(source, parameters, alice)
        assert refused.value.field == field
    assert not ImportJob.objects.exists()


@pytest.mark.parametrize(("source", "parameters", "field"), EVERY_SOURCE)
def test_a_name_that_leads_elsewhere_by_then_is_not_connected_to(
    alice: User,
    leads_to: list[list[str]],
    listening: socket.socket,
    source: str,
    parameters: dict[str, Any],
    field: str,
) -> None:
    """DNS rebinding: the name is public when the job is created and its source opened, and local after that."""
    port = listening.getsockname()[1]
    told = parameters | ({"url": f"http://old.test:{port}"} if "url" in parameters else {"port": port})
    leads_to[:] = [["9.9.9.9"], ["9.9.9.9"], ["127.0.0.1"]]
    job = work_through(make(source, told, alice))
    assert job.paused
    assert "a public address" in job.failure
    with pytest.raises(BlockingIOError):
        listening.accept()


@pytest.mark.parametrize(("source", "parameters", "field"), EVERY_SOURCE)
def test_the_connection_goes_to_the_address_that_was_checked(
    alice: User,
    leads_to: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    parameters: dict[str, Any],
    field: str,
) -> None:
    import psycopg

    addresses: list[str] = []

    def refuse(address: tuple[str, int], *args: Any, **more: Any) -> socket.socket:
        addresses.append(address[0])
        raise ConnectionRefusedError(111, "Connection refused")

    def connect(**told: Any) -> None:
        addresses.append(told["hostaddr"])
        assert told["host"] == "old.test"
        raise psycopg.OperationalError("Connection refused")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(SourceAway, match="Connection refused"):
        list(registry.open_source(make(source, parameters, alice)).items())
    assert addresses == ["9.9.9.9"]


def test_an_import_that_outlived_its_authors_role_reads_no_server(leads_to: list[list[str]], alice: User) -> None:
    job = make(SourceKind.AXFR, AXFR, alice)
    User.objects.filter(pk=alice.pk).update(role=Role.MEMBER)
    with pytest.raises(Forbidden, match="right to add records to every zone"):
        registry.open_source(ImportJob.objects.get(pk=job.pk))


def test_members_make_the_panel_read_no_server(leads_to: list[list[str]]) -> None:
    with pytest.raises(Forbidden, match="Upload the zone files"):
        make(SourceKind.AXFR, AXFR, make_person("mia", Role.MEMBER))


def test_the_operators_networks_and_command_line_reach_what_they_name(
    alice: User, leads_to: list[list[str]], settings: Any
) -> None:
    leads_to[:] = [["10.1.2.3"]]
    make(SourceKind.AXFR, AXFR, None)
    settings.SOURCE_NETWORKS = ["10.1.0.0/16"]
    make(SourceKind.AXFR, AXFR, alice)
    assert ImportJob.objects.count() == 2


@pytest.mark.parametrize(
    ("source", "parameters", "field"),
    [
        (SourceKind.AXFR, AXFR | {"port": 25}, "port"),
        (SourceKind.POWERDNS_API, API | {"url": "http://old.test:22"}, "url"),
        (SourceKind.POWERDNS_API, API | {"url": "http://old.test:x"}, "url"),
        (SourceKind.POWERDNS_SQL, POSTGRES | {"port": 443}, "port"),
        (SourceKind.POWERDNS_SQL, POSTGRES | {"host": "/run/postgresql"}, "host"),
        (SourceKind.POWERDNS_SQL, POSTGRES | {"host": "old.test,localhost"}, "host"),
        (SourceKind.POWERDNS_SQL, {"kind": "sqlite", "database": "/etc/passwd"}, "kind"),
    ],
)
def test_a_place_that_no_such_server_has_is_refused_at_its_field(
    alice: User, leads_to: list[list[str]], source: str, parameters: dict[str, Any], field: str
) -> None:
    with pytest.raises(ServerRefused) as refused:
        make(source, parameters, alice)
    assert refused.value.field == field


def test_comparisons_ask_addresses_only() -> None:
    for address in ("old.test", "127.0.0.1", "::1", "10.0.0.1"):
        with pytest.raises(ServerRefused):
            allowed_servers.refuse_dns_server("server", address, 53, port_field="port")
    allowed_servers.refuse_dns_server("server", "9.9.9.9", 53, port_field="port")


def test_the_words_for_an_address_are_for_the_panels_own_jobs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(host: str, port: int) -> Sequence[str]:
        raise outbound.NoAddress(f"{host} cannot be resolved.")

    monkeypatch.setattr(outbound, "resolve_host", nothing)
    with pytest.raises(SourceAway, match=r"old\.test cannot be resolved"):
        allowed_servers.every_address("old.test", 53)


def test_names_of_the_inside_and_names_that_there_are_not_are_refused_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(host: str, port: int) -> Sequence[str]:
        raise outbound.NoAddress(f"{host} cannot be resolved.")

    said = set()
    for resolve in (nothing, lambda host, port: ["10.0.0.7"], lambda host, port: []):
        monkeypatch.setattr(outbound, "resolve_host", resolve)
        with pytest.raises((ServerRefused, SourceAway)) as refused:
            allowed_servers.allowed_addresses("old.test", 53)
        said.add(str(refused.value))
    assert len(said) == 1
