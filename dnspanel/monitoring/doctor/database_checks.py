"""Checks of PostgreSQL, of its settings and of the panel's rows in it."""

import time
from collections.abc import Iterator
from datetime import timedelta

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from dnspanel import __version__
from dnspanel.database.sql import fetch_all, fetch_one
from dnspanel.durations import duration_text
from dnspanel.fleet.conditions.disks import size_text
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.nodes.heartbeats import DRILL
from dnspanel.fleet.nodes.reported import explain_rebuild, read_report
from dnspanel.monitoring.doctor.facts import Facts
from dnspanel.monitoring.doctor.findings import Finding, finding
from dnspanel.monitoring.health import migrations_of_code
from dnspanel.texts import gettext, gettext_noop, ngettext

OLDEST_POSTGRESQL = 15
CLOCK_OFF = timedelta(seconds=2)
CONNECTIONS_SHARE = 0.9
# A standby that lacks this much of the log lags by more than a checkpoint's worth of large transactions.
STANDBY_BYTES = 64 << 20
DRILL_AGE = timedelta(days=90)

# The settings that must be on, and what a crash or time does to the data without them.
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


class NoPermission(Exception):
    """An error: the panel's role can't see the state of standbys. The text says how to allow it."""


def check_version(facts: Facts) -> Iterator[Finding]:
    number = int(fetch_one("SELECT current_setting('server_version_num')")[0]) // 10_000
    if number < OLDEST_POSTGRESQL:
        message = gettext("PostgreSQL {version} is too old. The panel is tested with {oldest} and later.")
        yield finding("postgresql.version", message.format(version=number, oldest=OLDEST_POSTGRESQL))


def check_settings(facts: Facts) -> Iterator[Finding]:
    """Yield the settings of `SETTINGS` that are off. They apply to the panel's own sessions."""
    names = list(SETTINGS)
    for (name,) in fetch_all("SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = 'off'", [names]):
        yield finding(f"postgresql.{name}", gettext(SETTINGS[name]), name)


def check_connections(facts: Facts) -> Iterator[Finding]:
    used, most = fetch_one(_CONNECTIONS)
    if used >= most * CONNECTIONS_SHARE:
        message = gettext("{used} of PostgreSQL’s {most} connections are in use, and more processes can’t connect.")
        yield finding("postgresql.connections", message.format(used=used, most=most))


def check_standbys(facts: Facts) -> Iterator[Finding]:
    """Yield standbys that lag. Raise NoPermission if the panel's role can't see their positions."""
    for name, state, lag in fetch_all(_STANDBYS):
        if state is None:
            raise NoPermission("Let the panel see standbys: GRANT pg_read_all_stats TO the role in PANEL_DATABASE.")
        if lag is not None and lag > STANDBY_BYTES:
            message = gettext("The standby {name} lacks {size} of PostgreSQL’s log, which a failover would lose.")
            yield finding("postgresql.standby", message.format(name=name, size=size_text(int(lag))), name)


def check_slots(facts: Facts) -> Iterator[Finding]:
    for name, kept in fetch_all(_SLOTS):
        message = gettext("No standby uses the replication slot {name}, so it fills PostgreSQL’s disk ({size} so far).")
        yield finding("postgresql.slot", message.format(name=name, size=size_text(int(kept))), name)


def check_clock(facts: Facts) -> Iterator[Finding]:
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


def check_processes(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if no process reports, and one for each process of another version. Alerts cover the others."""
    living = [each for each in facts.processes.processes if not each.is_silent(facts.now, None)]
    if not living:
        yield finding("panel.not_running", gettext("No process of the panel is running."))
    for each in living:
        if each.version and each.version != __version__:
            message = gettext("{name} on {host} (process {pid}) runs version {old}, and {new} is installed.").format(
                name=each.name, host=each.host, pid=each.pid, old=each.version, new=__version__
            )
            yield finding("panel.process_version", message, f"{each.name}@{each.host}:{each.pid}")


def check_canary(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if nodes get publications that no canary has tried. A broken canary has its own alerts."""
    canaries = [node for node in facts.nodes if node.is_ring0]
    if any(not node.is_ring0 for node in facts.nodes_at_work()) and not any(
        node.state == NodeState.ACTIVE for node in canaries
    ):
        message = gettext("No canary tries publications first, so a bad one reaches all nodes at once.")
        yield finding("panel.canary", message)


def check_releases(facts: Facts) -> Iterator[Finding]:
    for node in facts.nodes_at_work():
        if message := explain_rebuild(node, read_report(node)):
            yield finding("node.release", message, node.name)


def check_drill(facts: Facts) -> Iterator[Finding]:
    """Yield a finding if no backup was tested for a long time, or since the panel was set up."""
    last = facts.fleet.heartbeats.get(DRILL)
    since = last or facts.fleet.set_up_at
    if since is not None and facts.now - since > DRILL_AGE:
        message = (
            gettext("The last test of a backup was {time} ago.").format(time=duration_text(facts.now - since))
            if last
            else gettext("No backup was ever tested, so it may be impossible to restore.")
        )
        yield finding("panel.drill", message)


def check_debug() -> Iterator[Finding]:
    if settings.DEBUG:
        yield finding("panel.debug", gettext("PANEL_DEBUG is on, so error pages show code and settings to everyone."))
