"""Each broken installation is named correctly, and nothing else is. A healthy one has no findings.

Tests `doctor.diagnosis`, `doctor.check_inputs`, `doctor.file_checks`, `doctor.findings` and `doctor.remedies`.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.utils import timezone

from dnspanel.backup.models import Backup
from dnspanel.conditions import kinds
from dnspanel.demo.stores import postgres_programs
from dnspanel.fleet.models import Delivery, NodeState, PanelProcess
from dnspanel.fleet.nodes.heartbeats import DRILL
from dnspanel.fleet.processes.beats import Identity, Load, beat_process
from dnspanel.fleet.processes.process_roles import BUSY_FOR
from dnspanel.monitoring.doctor import network_probes, store_checks
from dnspanel.monitoring.doctor.diagnosis import diagnose
from dnspanel.monitoring.doctor.remedies import REMEDIES
from dnspanel.processes.redis_health import quick_connection
from tests.dnspanel.monitoring.doctor.installation import (
    Installation,
    Server,
    durable_postgresql,
    reload_settings,
    run,
    use_servers,
    write_pair,
    write_rows,
)
from tests.docs.documents import ROOT
from tests.own_certificates import own_certificate
from tests.ports import free_port
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def healthy(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Installation]:
    servers = {"ns1": Server(), "ring0": Server()}
    for server in servers.values():
        server.start()
    use_servers(servers, settings)
    write_rows(servers)
    # Earlier tests of this process left tasks, because no worker runs. Over a thousand would be a finding.
    quick_connection(settings.REDIS_URL).delete(*BUSY_FOR)
    with durable_postgresql():
        yield Installation(servers, tmp_path)
    for server in servers.values():
        server.stop()


class Breaking:
    """What a case can change: the installation, the settings and functions. Everything is undone after the test."""

    def __init__(self, installation: Installation, settings: Any, patch: pytest.MonkeyPatch, later: ExitStack) -> None:
        self.installation, self.settings, self.patch, self.later = installation, settings, patch, later

    def run(self, statement: str, *, undo: str = "") -> None:
        run(statement)
        if undo:
            self.later.callback(run, undo)

    def set_postgresql(self, name: str, value: str) -> None:
        self.run(f"ALTER SYSTEM SET {name} = {value}")
        self.later.callback(reload_settings)
        self.later.callback(run, f"ALTER SYSTEM RESET {name}")
        reload_settings()

    def set_redis(self, **values: str) -> None:
        redis = quick_connection(self.settings.REDIS_URL)
        for name, value in values.items():
            name = name.replace("_", "-")
            self.later.callback(redis.config_set, name, redis.config_get(name)[name])
            redis.config_set(name, value)

    def serve(self, **values: Any) -> Server:
        server = Server(directory=self.installation.directory, **values)
        server.start()
        self.later.callback(server.stop)
        return server


@pytest.fixture
def breaking(healthy: Installation, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Breaking]:
    with ExitStack() as later:
        yield Breaking(healthy, settings, monkeypatch, later)


Break = Callable[[Breaking], None]
CASES: dict[str, tuple[str, Break]] = {}


def case(expected: str) -> Callable[[Break], Break]:
    """Register a function that breaks one thing, and the id of the finding about it."""

    def register(function: Break) -> Break:
        CASES[function.__name__] = (expected, function)
        return function

    return register


@case("panel.migrations")
def a_migration_is_missing(breaking: Breaking) -> None:
    again = "INSERT INTO django_migrations (app, name, applied) VALUES ('zones', '0001_tables', now())"
    breaking.run("DELETE FROM django_migrations WHERE app = 'zones' AND name = '0001_tables'", undo=again)


@case("panel.unknown_migrations")
def a_newer_version_was_installed_before(breaking: Breaking) -> None:
    breaking.run(
        "INSERT INTO django_migrations (app, name, applied) VALUES ('zones', '9999_tomorrow', now())",
        undo="DELETE FROM django_migrations WHERE name = '9999_tomorrow'",
    )


@case("panel.debug")
def the_pages_show_their_code(breaking: Breaking) -> None:
    breaking.settings.DEBUG = True


@case("dnspanel.E002")
def the_secret_key_is_short(breaking: Breaking) -> None:
    breaking.settings.SECRET_KEY = "short"


@case("dnspanel.W001")
def the_panel_has_no_tls(breaking: Breaking) -> None:
    breaking.settings.PANEL_URL = "http://panel.test"


@case("dnspanel.W005")
def a_former_master_key_is_set(breaking: Breaking) -> None:
    breaking.settings.MASTER_KEYS_OLD = [Fernet.generate_key().decode()]


@case("dnspanel.E016")
def the_gateways_key_is_missing(breaking: Breaking) -> None:
    breaking.settings.UPDATE_TLS_PORT = 853
    breaking.settings.UPDATE_TLS_CERTIFICATE = write_pair(own_certificate(), breaking.installation.directory)[0]


@case("redis.policy")
def redis_drops_tasks(breaking: Breaking) -> None:
    breaking.set_redis(maxmemory_policy="allkeys-lru")


@case("panel.redis")
def redis_is_full(breaking: Breaking) -> None:
    breaking.set_redis(maxmemory="1")


@case("panel.redis")
def redis_is_away(breaking: Breaking) -> None:
    breaking.settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"


@case("redis.save")
def redis_cannot_save(breaking: Breaking) -> None:
    redis = quick_connection(breaking.settings.REDIS_URL)
    wrong = Path(redis.config_get("dir")["dir"]) / "dump.rdb"
    wrong.unlink(missing_ok=True)
    (wrong / "directory").mkdir(parents=True)

    def saved(status: str) -> None:
        redis.bgsave()
        until(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == status, seconds=30, what=status)

    breaking.later.callback(saved, "ok")
    breaking.later.callback(wrong.rmdir)
    breaking.later.callback((wrong / "directory").rmdir)
    breaking.set_redis(save="")
    saved("err")


@case("redis.password")
def redis_has_no_password(breaking: Breaking) -> None:
    """Start another Redis, because all tests share the panel's."""
    port = free_port()
    options = ["--port", str(port), "--bind", "*", "--protected-mode", "no", "--save", "", "--maxmemory", "64mb"]
    server = subprocess.Popen(
        ["redis-server", *options], stdout=subprocess.DEVNULL, cwd=breaking.installation.directory
    )
    breaking.later.callback(server.wait)
    breaking.later.callback(server.kill)
    breaking.settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"

    def answers() -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(answers, seconds=30, what="Redis")


@case("redis.version")
def redis_is_old(breaking: Breaking) -> None:
    breaking.patch.setattr(store_checks, "OLDEST_REDIS", 99)


@case("panel.queue")
def tasks_pile_up(breaking: Breaking) -> None:
    redis = quick_connection(breaking.settings.REDIS_URL)
    breaking.later.callback(redis.delete, "bulk")
    redis.rpush("bulk", *["{}"] * 1001)


@case("postgresql.version")
def postgresql_is_old(breaking: Breaking) -> None:
    breaking.patch.setattr(store_checks, "OLDEST_POSTGRESQL", 99)


@case("postgresql.fsync")
def postgresql_does_not_wait_for_the_disk(breaking: Breaking) -> None:
    breaking.set_postgresql("fsync", "off")


@case("postgresql.full_page_writes")
def postgresql_logs_no_full_pages(breaking: Breaking) -> None:
    breaking.set_postgresql("full_page_writes", "off")


@case("postgresql.synchronous_commit")
def postgresql_confirms_too_early(breaking: Breaking) -> None:
    breaking.set_postgresql("synchronous_commit", "off")


@case("postgresql.autovacuum")
def postgresql_never_cleans(breaking: Breaking) -> None:
    breaking.set_postgresql("autovacuum", "off")


@case("postgresql.connections")
def connections_run_out(breaking: Breaking) -> None:
    breaking.patch.setattr(store_checks, "CONNECTIONS_SHARE", 0.0)


@case("postgresql.slot")
def a_replication_slot_is_forgotten(breaking: Breaking) -> None:
    slot = f"doctor_{os.getpid()}"
    breaking.run(
        f"SELECT pg_create_physical_replication_slot('{slot}', true)",
        undo=f"SELECT pg_drop_replication_slot('{slot}')",
    )


@case("postgresql.standby")
def a_standby_is_behind(breaking: Breaking) -> None:
    """Stop a receiver of the log, which is then behind like a standby with a disk that hangs."""
    database = breaking.settings.DATABASES["default"]
    command = [
        str(postgres_programs() / "pg_receivewal"),
        "--directory",
        str(breaking.installation.directory),
        "--synchronous",
    ]
    where = ["--host", database["HOST"], "--port", database["PORT"], "--username", database["USER"]]
    receiver = subprocess.Popen(
        [*command, *where], env={**os.environ, "PGPASSWORD": database["PASSWORD"]}, stderr=subprocess.DEVNULL
    )
    breaking.later.callback(receiver.wait)
    breaking.later.callback(receiver.kill)

    def receives() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_replication WHERE flush_lsn IS NOT NULL")
            return bool(cursor.fetchone()[0])

    until(receives, seconds=60, what="pg_receivewal")
    receiver.send_signal(signal.SIGSTOP)
    for _ in range(9):
        breaking.run("SELECT pg_logical_emit_message(false, 'test', repeat('x', 16 << 20))")


@case("panel.clock")
def the_clock_of_postgresql_is_wrong(breaking: Breaking) -> None:
    ahead = SimpleNamespace(now=lambda: datetime.now(UTC) + timedelta(seconds=40))
    breaking.patch.setattr(store_checks, "timezone", ahead)


@case("panel.not_running")
def no_process_runs(breaking: Breaking) -> None:
    PanelProcess.objects.all().delete()


@case("panel.not_running")
def all_processes_were_killed(breaking: Breaking) -> None:
    breaking.run("UPDATE fleet_panelprocess SET at = now() - interval '1 hour'")
    breaking.run("UPDATE fleet_heartbeat SET at = now() - interval '1 hour' WHERE process IN ('collector', 'watch')")


@case("panel.process")
def a_worker_stopped(breaking: Breaking) -> None:
    PanelProcess.objects.filter(name="bulk").update(at=timezone.now() - timedelta(minutes=5))


@case("panel.process_version")
def a_process_still_runs_old_code(breaking: Breaking) -> None:
    PanelProcess.objects.filter(name="beat").update(version="0.9.0")


@case("panel.disk")
def the_disk_is_full(breaking: Breaking) -> None:
    _fill(breaking, f_bavail=10)


@case("panel.disk")
def the_inodes_are_used_up(breaking: Breaking) -> None:
    _fill(breaking, f_favail=10)


def _fill(breaking: Breaking, **values: int) -> None:
    sizes = {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": 1000, "f_bfree": 500, "f_bavail": 500}
    found = {**sizes, "f_files": 1000, "f_ffree": 500, "f_favail": 500, "f_flag": 0, "f_namemax": 255, **values}
    breaking.patch.setattr(os, "statvfs", lambda path: os.statvfs_result(found.values()))


@case("panel.secret_file")
def everyone_can_read_a_secret(breaking: Breaking) -> None:
    path = breaking.installation.directory / "master-key"
    path.write_text("secret")
    path.chmod(0o644)
    breaking.patch.setenv("PANEL_MASTER_KEY_FILE", str(path))


@case("gateway.tls_expired")
def the_gateways_certificate_expired(breaking: Breaking) -> None:
    _show(breaking, begins=datetime.now(UTC) - timedelta(days=40))


@case("gateway.tls_expires")
def the_gateways_certificate_expires_soon(breaking: Breaking) -> None:
    _show(breaking, begins=datetime.now(UTC) - timedelta(days=28))


@case("gateway.tls_key")
def the_gateways_key_is_another_ones(breaking: Breaking) -> None:
    _show(breaking)
    Path(breaking.settings.UPDATE_TLS_KEY).write_text(own_certificate().key)


def _show(breaking: Breaking, **values: Any) -> None:
    certificate, key = write_pair(own_certificate(**values), breaking.installation.directory)
    breaking.settings.UPDATE_TLS_PORT = 853
    breaking.settings.UPDATE_TLS_CERTIFICATE, breaking.settings.UPDATE_TLS_KEY = certificate, key


@case("panel.tls_expired")
def the_panels_certificate_expired(breaking: Breaking) -> None:
    _encrypt(breaking, "panel.test", begins=datetime.now(UTC) - timedelta(days=31))


@case("panel.tls_expires")
def the_panels_certificate_expires_soon(breaking: Breaking) -> None:
    _encrypt(breaking, "panel.test", begins=datetime.now(UTC) - timedelta(days=25))


@case("panel.tls_name")
def the_panels_certificate_has_another_name(breaking: Breaking) -> None:
    _encrypt(breaking, "other.test")


def _encrypt(breaking: Breaking, name: str, **values: Any) -> None:
    server = breaking.serve(certificate=own_certificate(name, **values))
    breaking.settings.PANEL_URL = "https://panel.test"
    breaking.settings.PROXY_URL = f"https://127.0.0.1:{server.port}"
    breaking.settings.TRUSTED_PROXIES = ["unix"]


@case("panel.proxy")
def no_proxy_listens(breaking: Breaking) -> None:
    breaking.settings.PROXY_URL = f"http://127.0.0.1:{free_port()}"


@case("gateway.port")
def the_gateway_does_not_listen(breaking: Breaking) -> None:
    now = timezone.now()
    beat_process(identity=Identity("update", socket.gethostname(), 2, now), load=Load(), now=now)
    breaking.settings.UPDATE_PORT = free_port()


@case("gateway.port")
def the_gateway_answers_only_over_udp(breaking: Breaking) -> None:
    now = timezone.now()
    beat_process(identity=Identity("update", socket.gethostname(), 2, now), load=Load(), now=now)
    breaking.settings.UPDATE_PORT = breaking.serve(ways=("udp",)).port


@case("node.dns_tcp")
def a_firewall_drops_tcp(breaking: Breaking) -> None:
    breaking.installation.change_node(dns_port=breaking.serve(ways=("udp",)).port)


@case("node.dns_udp")
def a_firewall_drops_udp(breaking: Breaking) -> None:
    breaking.installation.change_node(dns_port=breaking.serve(ways=("tcp",)).port)


@case("node.dns")
def a_firewall_drops_dns(breaking: Breaking) -> None:
    breaking.installation.change_node(dns_port=free_port())


@case("node.agent_port")
def a_firewall_drops_the_panels_connections(breaking: Breaking) -> None:
    breaking.installation.change_node(agent_port=free_port())


@case("node.offline")
def a_machine_is_off(breaking: Breaking) -> None:
    silent_since = timezone.now() - timedelta(minutes=3)
    breaking.installation.change_node(contact_at=silent_since, dns_port=free_port(), agent_port=free_port())


@case("node.reader")
def a_program_reads_a_nodes_files_for_ever(breaking: Breaking) -> None:
    breaking.installation.report(oldest_reader=20_000)


@case("node.rejecting")
def a_node_refuses(breaking: Breaking) -> None:
    breaking.installation.change_node(refusal="its disk is full")


@case("node.powerdns")
def a_name_server_is_stopped(breaking: Breaking) -> None:
    breaking.installation.report(unserved="pdns_server does not answer")
    breaking.installation.change_node(dns_port=free_port())


@case("node.clock")
def a_nodes_clock_is_wrong(breaking: Breaking) -> None:
    breaking.installation.report(clock=timezone.now().timestamp() + 90)


@case("node.map")
def a_nodes_map_is_full(breaking: Breaking) -> None:
    breaking.installation.report(map_used=0.95)


@case("node.disk")
def a_nodes_disk_is_full(breaking: Breaking) -> None:
    breaking.installation.report(disk_free_bytes=1)


@case("node.agent")
def an_agent_is_old(breaking: Breaking) -> None:
    breaking.installation.report(versions={"agent": "0.0.1", "powerdns": "4.7.3"})


@case("node.release")
def a_powerdns_was_upgraded(breaking: Breaking) -> None:
    breaking.installation.report(wanted_schema=5, installed_powerdns="4.9.17", unserved="pdns_server does not start")


@case("node.setup")
def a_node_listens_elsewhere(breaking: Breaking) -> None:
    breaking.installation.report(agent_port=1)


@case("node.certificate")
def a_nodes_certificate_is_not_renewed(breaking: Breaking) -> None:
    breaking.installation.change_node(certificate_expires_at=timezone.now() + timedelta(days=3))


@case("panel.canary")
def no_canary_exists(breaking: Breaking) -> None:
    breaking.installation.change_node("ring0", state=NodeState.RETIRED)


@case("panel.stopped")
def delivery_is_stopped(breaking: Breaking) -> None:
    Delivery.objects.update_or_create(
        defaults={"stopped_reason": "a test", "stopped_at": timezone.now()},
    )


@case("panel.backup")
def the_backup_is_old(breaking: Breaking) -> None:
    Backup.objects.update(at=timezone.now() - timedelta(days=3))


@case("panel.drill")
def the_last_drill_is_old(breaking: Breaking) -> None:
    breaking.run(f"UPDATE fleet_heartbeat SET at = now() - interval '100 days' WHERE process = '{DRILL}'")


@case("panel.drill")
def no_backup_was_ever_tested(breaking: Breaking) -> None:
    breaking.run(f"DELETE FROM fleet_heartbeat WHERE process = '{DRILL}'")


def test_nothing_is_named_on_a_healthy_installation(healthy: Installation) -> None:
    report = diagnose(now=timezone.now())
    assert not report.findings, report.to_text()
    assert not report.unchecked
    assert report.status == 0


@pytest.mark.parametrize("broken", CASES)
def test_a_broken_installation_is_named_and_nothing_else_is(broken: str, breaking: Breaking) -> None:
    expected, make_broken = CASES[broken]
    make_broken(breaking)
    report = diagnose(now=timezone.now())
    assert [each.id for each in report.findings] == [expected], report.to_text()
    assert report.status == 1
    (found,) = report.findings
    assert found.fix
    assert "{" not in found.message + found.fix + found.command


def test_each_kind_of_the_doctors_own_has_a_case_and_a_row_in_the_document() -> None:
    own = sorted(kind for kind in REMEDIES if kind.partition(":")[0] not in kinds())
    assert [kind for kind in own if kind not in {expected for expected, _ in CASES.values()}] == []
    rows = [line.split("|") for line in (ROOT / "docs/operate/doctor.md").read_text().splitlines()]
    documented = {row[1].strip(" `"): row[2].strip() for row in rows if len(row) == 6 and "." in row[1]}
    assert documented == {kind: REMEDIES[kind].level for kind in own}


def test_commands_have_the_units_of_the_canary_and_of_fronts(healthy: Installation) -> None:
    healthy.report("ring0", unserved="it is stopped")
    healthy.report("ns1", unserved="it is stopped")
    healthy.change_node("ns1", is_front=True)
    commands = {each.key: each.command for each in diagnose(now=timezone.now()).findings}
    assert commands["node.powerdns:ring0"] == "systemctl restart pdns@canary dnspanel-canary"
    assert commands["node.powerdns:ns1"] == "systemctl restart dnsdist dnspanel-front"


@pytest.mark.parametrize("hangs", [False, True])
def test_without_postgresql_the_other_checks_are_still_made(healthy: Installation, *, hangs: bool) -> None:
    """The status is that of findings, and everything that PostgreSQL knows is reported as not checked."""
    before = dict(connection.settings_dict)
    connection.close()
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        connection.settings_dict["PORT"] = str(silent.getsockname()[1] if hangs else free_port())
        try:
            report = diagnose(now=timezone.now())
        finally:
            connection.settings_dict |= before
    assert [each.id for each in report.findings] == ["panel.postgresql"]
    assert {"alerts", "replication", "migrations"} <= report.unchecked.keys()
    assert report.status == 1


def test_a_check_that_fails_is_not_a_finding(healthy: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(address: str, port: int) -> bool:
        raise MemoryError("no memory")

    monkeypatch.setattr(network_probes, "_accepts", fail)
    report = diagnose(now=timezone.now())
    assert not report.findings
    assert report.unchecked.keys() == {"agent of ns1", "agent of ring0"}
    assert report.status == 2
    assert "UNKNOWN  agent of ns1: not checked. MemoryError: no memory" in report.to_text()
