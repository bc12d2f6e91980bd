"""The fix for each kind of finding: one sentence, and the command of an installation from the packages. Pure.

docs/operate/doctor.md has a row for each kind of the doctor's own. The others are kinds of alerts, with their severity.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dnspanel.texts import gettext_noop


class Level(StrEnum):
    """A problem does harm now, or loses data in the next failure. A warning will become a problem."""

    PROBLEM, WARNING = "problem", "warning"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A fix. The command can contain `{subject}`: the node, process, file or setting."""

    fix: str
    command: str = ""
    level: Level = Level.PROBLEM


_WARNING = Level.WARNING
_TARGET, _NTP = "systemctl restart dnspanel.target", "timedatectl set-ntp true && timedatectl"
_JOURNAL, _AUDIT = "journalctl -u 'dnspanel@*' -n 100", "dnspanel manage audit"
_AGENT, _BOTH = "systemctl restart dnspanel-agent", "systemctl restart pdns dnspanel-agent"
_AGENT_LOG = "journalctl -u dnspanel-agent -n 50"
_GATEWAY, _NGINX = "systemctl restart dnspanel@update", "systemctl reload nginx"
_PSQL = "runuser -u postgres -- psql -c "
_MOST, _STANDBYS = _PSQL + "'SHOW max_connections'", _PSQL + "'TABLE pg_stat_replication'"
_DROP_SLOT = _PSQL + "\"SELECT pg_drop_replication_slot('{subject}')\""
_EVICT_NOTHING, _REDIS_LOG = "redis-cli config set maxmemory-policy noeviction", "journalctl -u redis-server -n 50"
_TURN_ON = _PSQL + "'ALTER SYSTEM SET {subject} = on' -c 'SELECT pg_reload_conf()'"

_RESTART = gettext_noop("Restart the process, and read its log.")
_CLOCKS = gettext_noop("Synchronize both clocks with NTP.")
_RENEW = gettext_noop("Renew the certificate, then reload nginx.")
_FILES = gettext_noop("Install a certificate and its key for the gateway, then restart the gateway.")
_PROCESS = Remedy(_RESTART, "systemctl restart dnspanel@{subject}")
_LOGS = Remedy(gettext_noop("Read the logs of “beat” and of the workers, and remove the cause."), _JOURNAL)
_NODE_LOG = Remedy(gettext_noop("On the node, restart the agent and read its log."), _AGENT)
_STORAGE = Remedy(gettext_noop("Delete files that you don’t need, or enlarge the disk."), "df -h && df -i")
_RESYNC = Remedy(gettext_noop("Press “Resync from scratch” on the node’s page, then check all copies."), _AUDIT)
_FIREWALL = Remedy(gettext_noop("Let all firewalls on the way to the node accept this port."), "nft list ruleset")
_SETTING = Remedy(gettext_noop("Set it to “on”, then reload PostgreSQL."), _TURN_ON)

# For kinds of alerts that are not about the installation, such as zones and secondaries.
UNKNOWN = Remedy(gettext_noop("Look up this message in docs/operate/troubleshooting.md, and follow its row."))

REMEDIES: Mapping[str, Remedy] = {
    **dict.fromkeys(("panel.process", "panel.stuck"), _PROCESS),
    **dict.fromkeys(("panel.overdue", "panel.failing", "panel.certificate", "panel.stall"), _LOGS),
    **dict.fromkeys(("node.late", "node.stale", "node.certificate"), _NODE_LOG),
    **dict.fromkeys(("panel.disk", "node.disk"), _STORAGE),
    **dict.fromkeys(("node.diverged", "node.digest"), _RESYNC),
    "panel.postgresql": Remedy(gettext_noop("Start PostgreSQL, and read its log."), "systemctl status postgresql"),
    "panel.redis": Remedy(gettext_noop("Start Redis or give it more memory."), "systemctl status redis-server"),
    "panel.process:proxy": Remedy(_RESTART, "systemctl restart nginx"),
    "panel.collector": Remedy(_RESTART, "systemctl restart dnspanel@collector"),
    "panel.log_age": Remedy(_RESTART, "systemctl restart dnspanel@publish"),
    "panel.late": Remedy(gettext_noop("Open Nodes → Delivery, and check the place in this message."), _JOURNAL),
    "panel.held": Remedy(gettext_noop("Open the page /hold/, and choose whose content counts.")),
    "panel.stopped": Remedy(gettext_noop("Remove the cause, then press “Resume delivery” on Nodes → Delivery.")),
    "panel.pinned": Remedy(gettext_noop("Press “Unpin fleet” on Nodes → Delivery.")),
    "panel.object": Remedy(gettext_noop("Check the disk or bucket for errors, then check all copies."), _AUDIT),
    "panel.backup": Remedy(gettext_noop("Make a backup every day."), "dnspanel manage backup - >/root/panel.tar"),
    "node.offline": Remedy(gettext_noop("Start the agent, and let firewalls accept the panel’s connections."), _AGENT),
    "node.rejecting": Remedy(gettext_noop("Fix the cause. The panel tries again automatically."), _AGENT_LOG),
    "node.powerdns": Remedy(gettext_noop("On the node, restart the DNS server and read its log."), _BOTH),
    "node.map": Remedy(gettext_noop("Double lmdb-map-size and map_size_mib on the node, then restart both."), _BOTH),
    "node.reader": Remedy(gettext_noop("On the node, restart PowerDNS and the agent."), _BOTH),
    "node.clock": Remedy(_CLOCKS, _NTP),
    "node.agent": Remedy(gettext_noop("Upgrade the agent on the node."), "dnspanel nodes upgrade"),
    "node.setup": Remedy(gettext_noop("Correct the agent’s configuration, and run the same join again.")),
    "node.front": Remedy(gettext_noop("Open Nodes, and repair the nodes behind this front.")),
    **dict.fromkeys(("node.agent_port", "node.dns", "node.dns_udp", "node.dns_tcp"), _FIREWALL),
    **{f"postgresql.{name}": _SETTING for name in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum")},
    "panel.not_running": Remedy(gettext_noop("Start all processes."), _TARGET),
    "panel.process_version": Remedy(gettext_noop("Restart all processes."), _TARGET, _WARNING),
    "panel.debug": Remedy(gettext_noop("Remove PANEL_DEBUG, then restart all processes."), _TARGET),
    "panel.migrations": Remedy(gettext_noop("Apply the migrations."), "dnspanel manage migrate"),
    "panel.unknown_migrations": Remedy(gettext_noop("Install the newer version."), "apt install dnspanel", _WARNING),
    "panel.clock": Remedy(_CLOCKS, _NTP, _WARNING),
    "panel.queue": Remedy(_RESTART, "systemctl restart dnspanel@{subject}", _WARNING),
    "panel.canary": Remedy(gettext_noop("Set up the canary, or resume its updates."), "dnspanel setup", _WARNING),
    "panel.drill": Remedy(gettext_noop("Test a backup."), "dnspanel manage backup_drill /root/panel.tar", _WARNING),
    "panel.secret_file": Remedy(gettext_noop("Let only root and the panel’s user read it."), "chmod o= '{subject}'"),
    "panel.proxy": Remedy(gettext_noop("Start nginx, and let firewalls accept its port."), "systemctl restart nginx"),
    "panel.tls_expired": Remedy(_RENEW, _NGINX),
    "panel.tls_expires": Remedy(_RENEW, _NGINX, _WARNING),
    "panel.tls_name": Remedy(gettext_noop("Install a certificate for this name, then reload nginx."), _NGINX, _WARNING),
    "gateway.tls_expired": Remedy(_FILES, _GATEWAY),
    "gateway.tls_expires": Remedy(_FILES, _GATEWAY, _WARNING),
    "gateway.tls_key": Remedy(_FILES, _GATEWAY),
    "gateway.port": Remedy(_RESTART, _GATEWAY),
    "node.release": Remedy(gettext_noop("Press “Rebuild” on the node’s page.")),
    "postgresql.version": Remedy(gettext_noop("Upgrade PostgreSQL."), "pg_lsclusters", _WARNING),
    "postgresql.connections": Remedy(gettext_noop("Double max_connections, then restart PostgreSQL."), _MOST, _WARNING),
    "postgresql.standby": Remedy(gettext_noop("Check the standby’s log, disk and network."), _STANDBYS, _WARNING),
    "postgresql.slot": Remedy(gettext_noop("Start its standby again, or drop the slot."), _DROP_SLOT, _WARNING),
    "redis.version": Remedy(gettext_noop("Upgrade Redis."), "apt install redis-server", _WARNING),
    "redis.policy": Remedy(gettext_noop("Set it to “noeviction”, also in redis.conf."), _EVICT_NOTHING),
    "redis.save": Remedy(gettext_noop("Read Redis’s log, and check its disk."), _REDIS_LOG, _WARNING),
    "redis.password": Remedy(gettext_noop("Set a password, or bind Redis to 127.0.0.1."), "redis-cli config get bind"),
}
