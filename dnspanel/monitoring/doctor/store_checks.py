"""Checks of PostgreSQL, of the panel's rows in it, and of Redis. Alerts cover what is not here."""

import time
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from dnspanel import __version__
from dnspanel.checks import is_loopback
from dnspanel.database.sql import fetch_all, fetch_one
from dnspanel.fleet.conditions.nodes import size_text
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.nodes.heartbeats import DRILL
from dnspanel.fleet.nodes.reported import explain_rebuild, read_report
from dnspanel.fleet.processes.process_roles import BUSY_FOR
from dnspanel.monitoring.doctor.check_inputs import CheckInputs
from dnspanel.monitoring.doctor.findings import Finding, finding
from dnspanel.monitoring.health import migrations_of_code
from dnspanel.processes.redis_health import quick_connection
from dnspanel.texts import duration_text, gettext, gettext_noop, ngettext

OLDEST_POSTGRESQL, OLDEST_REDIS = 15, 7
CLOCK_OFF, DRILL_AGE = timedelta(seconds=2), timedelta(days=90)
CONNECTIONS_SHARE, STANDBY_BYTES = 0.9, 64 << 20
# A worker that keeps up leaves only a few tasks of beat, which sends some each second.
MOST_WAITING = 1_000

SETTINGS = {
    "fsync": gettext_noop("PostgreSQL’s setting “fsync” is off, so a power failure can destroy the database."),
    "full_page_writes": gettext_noop(
        "PostgreSQL’s setting “full_page_writes” is off, so a power failure can damage tables."
    ),
    "synchronous_commit": gettext_noop(
        "PostgreSQL’s setting “synchronous_commit” is off, so a power failure loses changes that were confirmed."
    ),
    "autovacuum": gettext_noop("PostgreSQL’s setting “autovacuum” is off, so tables grow until PostgreSQL stops."),
}
_STANDBYS = """
    SELECT coalesce(nullif(application_name, ''), host(client_addr), pid::text), state,
        pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(replay_lsn, flush_lsn, write_lsn))
    FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'"""
_SLOTS = """
    SELECT slot_name, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)
    FROM pg_replication_slots WHERE NOT active AND restart_lsn IS NOT NULL"""
_CONNECTIONS = """
    SELECT count(*), current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    FROM pg_stat_activity WHERE backend_type = 'client backend'"""


def check_postgresql(inputs: CheckInputs) -> Iterator[Finding]:
    """Yield problems of the version, of the settings in the panel's own sessions, and of the number of connections."""
    number = int(fetch_one("SELECT current_setting('server_version_num')")[0]) // 10_000
    if number < OLDEST_POSTGRESQL:
        message = gettext("PostgreSQL {version} is too old. The oldest supported version is {oldest}.")
        yield finding("postgresql.version", message.format(version=number, oldest=OLDEST_POSTGRESQL))
    off = "SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off'"
    for (name,) in fetch_all(off, [list(SETTINGS)]):
        yield finding(f"postgresql.{name}", gettext(SETTINGS[name]), name)
    used, most = fetch_one(_CONNECTIONS)
    if used >= most * CONNECTIONS_SHARE:
        message = gettext("{used} of PostgreSQL’s {most} connections are in use.")
        yield finding("postgresql.connections", message.format(used=used, most=most))


def check_replication(inputs: CheckInputs) -> Iterator[Finding]:
    """Yield standbys that lag, and slots without one. Raise PermissionError if the panel can't see the standbys."""
    for name, kept in fetch_all(_SLOTS):
        message = gettext("No standby uses the replication slot {name}, so it fills PostgreSQL’s disk ({size} so far).")
        yield finding("postgresql.slot", message.format(name=name, size=size_text(int(kept))), name)
    for name, state, lag in fetch_all(_STANDBYS):
        if state is None:
            raise PermissionError("To check standbys, GRANT pg_read_all_stats TO the role in PANEL_DATABASE.")
        if lag is not None and lag > STANDBY_BYTES:
            message = gettext("The standby {name} lacks {size} of PostgreSQL’s log, which a failover would lose.")
            yield finding("postgresql.standby", message.format(name=name, size=size_text(int(lag))), name)


def check_clock(inputs: CheckInputs) -> Iterator[Finding]:
    """Compare this machine's clock with PostgreSQL's, less the time that the query took."""
    began = time.monotonic()
    theirs = fetch_one("SELECT clock_timestamp()")[0]
    off = abs(timezone.now() - theirs) - timedelta(seconds=time.monotonic() - began)
    if off > CLOCK_OFF:
        message = gettext("The clocks of this machine and of PostgreSQL’s machine differ by {time}.")
        yield finding("panel.clock", message.format(time=duration_text(off)))


def check_migrations() -> Iterator[Finding]:
    known = migrations_of_code()
    applied = set(MigrationRecorder(connection).applied_migrations())
    if missing := sorted(known - applied):
        message = ngettext(
            "{count} migration of this version isn’t applied: {name}.",
            "{count} migrations of this version aren’t applied. The first is {name}.",
            len(missing),
        )
        yield finding("panel.migrations", message.format(count=len(missing), name=".".join(missing[0])))
    # Apps of other packages replace migrations by others, and leave the rows.
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("dnspanel.")}
    replaced = {each for migration in MigrationLoader(None).disk_migrations.values() for each in migration.replaces}
    if unknown := sorted(each for each in applied - known - replaced if each[0] in ours):
        message = ngettext(
            "A newer version changed the database: {count} migration is unknown here, {name}.",
            "A newer version changed the database: {count} migrations are unknown here. The first is {name}.",
            len(unknown),
        )
        yield finding("panel.unknown_migrations", message.format(count=len(unknown), name=".".join(unknown[0])))


def check_processes(inputs: CheckInputs) -> Iterator[Finding]:
    """Yield a finding if no process reports, and one for each process of another version."""
    living = [each for each in inputs.processes.processes if not each.is_silent(inputs.now, None)]
    if not living:
        yield finding("panel.not_running", gettext("No process of the panel is running."))
    for each in living:
        if each.version and each.version != __version__:
            message = gettext("{name} on {host} (process {pid}) runs version {old}, and {new} is installed.").format(
                name=each.name, host=each.host, pid=each.pid, old=each.version, new=__version__
            )
            yield finding("panel.process_version", message, f"{each.name}@{each.host}:{each.pid}")


def check_nodes(inputs: CheckInputs) -> Iterator[Finding]:
    """Yield a finding if no canary gets publications before the nodes, and one for each node that needs a rebuild."""
    canaries = [node for node in inputs.nodes if node.is_ring0 and node.state == NodeState.ACTIVE]
    if not canaries and any(not node.is_ring0 for node in inputs.nodes):
        message = gettext("No canary tests publications first, so a bad one reaches all nodes at once.")
        yield finding("panel.canary", message)
    for node in inputs.nodes:
        if explanation := explain_rebuild(node, read_report(node)):
            yield finding("node.release", explanation, node.name)


def check_drill(inputs: CheckInputs) -> Iterator[Finding]:
    """Yield a finding if no backup was tested for a long time, or since the panel was set up."""
    last = inputs.fleet.heartbeats.get(DRILL)
    since = last or inputs.fleet.set_up_at
    if since is not None and inputs.now - since > DRILL_AGE:
        message = gettext("No backup was tested for {time}, so it may be impossible to restore one.")
        yield finding("panel.drill", message.format(time=duration_text(inputs.now - since)))


def check_redis() -> Iterator[Finding]:
    """Yield problems of Redis. It needs no append-only file, because the panel can lose all data there."""
    redis = quick_connection(settings.REDIS_URL)
    found = redis.info()
    if int(str(found["redis_version"]).partition(".")[0]) < OLDEST_REDIS:
        message = gettext("Redis {version} is too old. The oldest supported version is {oldest}.")
        yield finding("redis.version", message.format(version=found["redis_version"], oldest=OLDEST_REDIS))
    if (policy := found["maxmemory_policy"]) != "noeviction":
        message = gettext("Redis’s maxmemory-policy is “{policy}”, so a full Redis drops tasks.")
        yield finding("redis.policy", message.format(policy=policy))
    if "err" in {found.get("rdb_last_bgsave_status"), found.get("aof_last_write_status")}:
        message = gettext("Redis couldn’t save its data the last time, and will refuse writes if this continues.")
        yield finding("redis.save", message, causes=["panel.redis"])
    if urlsplit(settings.REDIS_URL).password:
        return  # Redis refuses a password if it has none
    listens = redis.config_get("bind", "protected-mode")
    is_local = listens["bind"] and all(is_loopback(each.lstrip("-")) for each in listens["bind"].split())
    if listens["protected-mode"] == "no" and not is_local:
        yield finding("redis.password", gettext("Redis accepts commands without a password from other machines."))


def check_queues(inputs: CheckInputs) -> Iterator[Finding]:
    redis = quick_connection(settings.REDIS_URL)
    for queue in BUSY_FOR:
        if (count := redis.llen(queue)) > MOST_WAITING:
            message = gettext("{count:,} tasks wait in the queue “{queue}”.").format(count=count, queue=queue)
            causes = ["panel.redis", "panel.not_running", f"panel.process:{queue}", f"panel.stuck:{queue}"]
            yield finding("panel.queue", message, queue, causes=causes)
