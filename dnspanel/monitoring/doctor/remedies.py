"""The fix for each kind of finding: one sentence, and the command of an installation from the packages. Pure.

docs/operate/doctor.md has a row for each kind. Kinds of alerts have the severity of the alert instead of a level.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dnspanel.texts import gettext_noop


class Level(StrEnum):
    """A problem already does harm or loses data in the next failure. A warning will become a problem."""

    PROBLEM, WARNING = "problem", "warning"


@dataclass(frozen=True, slots=True)
class Remedy:
    """A fix. The command can contain `{subject}`: the node, process, file or setting."""

    fix: str
    command: str = ""
    level: Level = Level.PROBLEM


_RESTART = gettext_noop("Restart the process, and read its log.")
_LOGS = gettext_noop("Read the logs of “beat” and of the workers, and remove the cause of the error.")
_NODE_LOG = gettext_noop("On the node, restart the agent and read its log.")
_STORAGE = gettext_noop("Delete files that you don’t need, or enlarge the disk.")
_NTP = gettext_noop("Synchronize both clocks with NTP.")
_GATEWAY_FILES = gettext_noop(
    "Replace the files in PANEL_UPDATE_TLS_CERTIFICATE and PANEL_UPDATE_TLS_KEY, then restart the gateway."
)
_FIREWALL = gettext_noop("Let the firewalls of the node and on the way to it accept this port.")
_SETTING = gettext_noop("Set it to “on”, then reload PostgreSQL.")
_JOURNAL = "journalctl -u 'dnspanel@*' -n 100"
_TARGET = "systemctl restart dnspanel.target"
_RESTART_AGENT = "systemctl restart dnspanel-agent && journalctl -u dnspanel-agent -n 50"
_RESTART_BOTH = "systemctl restart pdns dnspanel-agent"
_RESTART_GATEWAY = "systemctl restart dnspanel@update"
_RELOAD_NGINX = "systemctl reload nginx"
_RULES = "nft list ruleset"
_PSQL = "runuser -u postgres -- psql -c "
_TURN_ON = _PSQL + "'ALTER SYSTEM SET {subject} = on' -c 'SELECT pg_reload_conf()'"

# For kinds of alerts that are not about the installation, such as zones and secondaries.
UNKNOWN = Remedy(gettext_noop("Look up this message in docs/operate/troubleshooting.md, and follow its row."))

_ALERTS = {
    "panel.postgresql": Remedy(gettext_noop("Start PostgreSQL, and read its log."), "systemctl status postgresql"),
    "panel.redis": Remedy(
        gettext_noop("Start Redis or give it more memory, and read its log."), "systemctl status redis-server"
    ),
    "panel.process": Remedy(_RESTART, "systemctl restart dnspanel@{subject}"),
    "panel.process:proxy": Remedy(_RESTART, "systemctl restart nginx"),
    "panel.stuck": Remedy(_RESTART, "systemctl restart dnspanel@{subject}"),
    "panel.collector": Remedy(_RESTART, "systemctl restart dnspanel@collector"),
    "panel.log_age": Remedy(_RESTART, "systemctl restart dnspanel@publish"),
    "panel.overdue": Remedy(_LOGS, _JOURNAL),
    "panel.failing": Remedy(_LOGS, _JOURNAL),
    "panel.certificate": Remedy(_LOGS, _JOURNAL),
    "panel.stall": Remedy(_LOGS, _JOURNAL),
    "panel.disk": Remedy(_STORAGE, "df -h /var/lib/dnspanel && df -i /var/lib/dnspanel"),
    "panel.late": Remedy(gettext_noop("Open Nodes → Delivery, and check the place in this message."), _JOURNAL),
    "panel.held": Remedy(gettext_noop("Open the page /hold/, and choose whose content counts.")),
    "panel.stopped": Remedy(gettext_noop("Remove the cause, then press “Resume delivery” on Nodes → Delivery.")),
    "panel.pinned": Remedy(gettext_noop("Press “Unpin fleet” on Nodes → Delivery.")),
    "panel.object": Remedy(
        gettext_noop("Check the disk or the bucket for errors, then compare all copies of the zones."),
        "dnspanel manage audit",
    ),
    "panel.backup": Remedy(
        gettext_noop("Make a backup now, and let cron make one every day."),
        "dnspanel manage backup - >/root/panel.tar",
    ),
    "node.late": Remedy(_NODE_LOG, _RESTART_AGENT),
    "node.stale": Remedy(_NODE_LOG, _RESTART_AGENT),
    "node.offline": Remedy(
        gettext_noop("Start the agent on the node, and let firewalls accept the panel’s connections to its port."),
        _RESTART_AGENT,
    ),
    "node.certificate": Remedy(_NODE_LOG, _RESTART_AGENT),
    "node.powerdns": Remedy(
        gettext_noop("On the node, restart the DNS server and read its log."),
        "systemctl restart pdns && journalctl -u pdns -n 50",
    ),
    "node.diverged": Remedy(
        gettext_noop("Press “Resync from scratch” on the node’s page, then compare all copies of the zones."),
        "dnspanel manage audit",
    ),
    "node.digest": Remedy(
        gettext_noop("Press “Resync from scratch” on the node’s page, then compare all copies of the zones."),
        "dnspanel manage audit",
    ),
    "node.disk": Remedy(_STORAGE, "df -h && df -i"),
    "node.map": Remedy(
        gettext_noop("Double lmdb-map-size and map_size_mib on the node, then restart PowerDNS and the agent."),
        _RESTART_BOTH,
    ),
    "node.reader": Remedy(gettext_noop("Restart PowerDNS and the agent on the node."), _RESTART_BOTH),
    "node.clock": Remedy(_NTP, "timedatectl set-ntp true && timedatectl"),
    "node.agent": Remedy(gettext_noop("Upgrade the agent on the node."), "apt install --only-upgrade dnspanel-agent"),
    "node.setup": Remedy(gettext_noop("Correct agent.toml or front.toml on the node, and run the same join again.")),
    "node.front": Remedy(gettext_noop("Open Nodes, and repair the nodes behind this front.")),
}

_OWN = {
    "panel.not_running": Remedy(gettext_noop("Start all processes."), _TARGET),
    "panel.process_version": Remedy(gettext_noop("Restart all processes."), _TARGET, Level.WARNING),
    "panel.debug": Remedy(gettext_noop("Remove PANEL_DEBUG, then restart all processes."), _TARGET),
    "panel.migrations": Remedy(gettext_noop("Apply the migrations."), "dnspanel manage migrate"),
    "panel.unknown_migrations": Remedy(
        gettext_noop("Install the newer version again."), "apt install --only-upgrade dnspanel", Level.WARNING
    ),
    "panel.clock": Remedy(_NTP, "timedatectl set-ntp true && timedatectl", Level.WARNING),
    "panel.queue": Remedy(
        gettext_noop("Open Nodes → Processes, and read the log of the worker."),
        "journalctl -u dnspanel@{subject} -n 100",
        Level.WARNING,
    ),
    "panel.canary": Remedy(gettext_noop("Set up the canary, or end its pause."), "dnspanel setup", Level.WARNING),
    "panel.drill": Remedy(
        gettext_noop("Test the newest backup, and let cron test each one."),
        "dnspanel manage backup_drill /root/panel.tar",
        Level.WARNING,
    ),
    "panel.secret_file": Remedy(gettext_noop("Let only root and the panel’s user read it."), "chmod o= '{subject}'"),
    "panel.proxy": Remedy(
        gettext_noop("Start nginx, and let the firewall accept connections to it."), "systemctl restart nginx"
    ),
    "panel.tls_expired": Remedy(gettext_noop("Renew the certificate, then reload nginx."), _RELOAD_NGINX),
    "panel.tls_expires": Remedy(
        gettext_noop("Renew the certificate, then reload nginx."), _RELOAD_NGINX, Level.WARNING
    ),
    "panel.tls_name": Remedy(
        gettext_noop("Install a certificate for this name, then reload nginx."), _RELOAD_NGINX, Level.WARNING
    ),
    "gateway.tls_expired": Remedy(_GATEWAY_FILES, _RESTART_GATEWAY),
    "gateway.tls_expires": Remedy(_GATEWAY_FILES, _RESTART_GATEWAY, Level.WARNING),
    "gateway.tls_key": Remedy(_GATEWAY_FILES, _RESTART_GATEWAY),
    "gateway.port": Remedy(_RESTART, _RESTART_GATEWAY),
    "node.agent_port": Remedy(_FIREWALL, _RULES),
    "node.dns": Remedy(_FIREWALL, _RULES),
    "node.dns_udp": Remedy(_FIREWALL, _RULES),
    "node.dns_tcp": Remedy(_FIREWALL, _RULES),
    "node.release": Remedy(gettext_noop("Press “Rebuild” on the node’s page.")),
    "postgresql.version": Remedy(gettext_noop("Upgrade PostgreSQL."), "pg_lsclusters", Level.WARNING),
    "postgresql.fsync": Remedy(_SETTING, _TURN_ON),
    "postgresql.full_page_writes": Remedy(_SETTING, _TURN_ON),
    "postgresql.synchronous_commit": Remedy(_SETTING, _TURN_ON),
    "postgresql.autovacuum": Remedy(_SETTING, _TURN_ON),
    "postgresql.connections": Remedy(
        gettext_noop("Double max_connections, then restart PostgreSQL."),
        _PSQL + "'SHOW max_connections'",
        Level.WARNING,
    ),
    "postgresql.standby": Remedy(
        gettext_noop("Check the standby’s log, its disk and the network to it."),
        _PSQL + "'TABLE pg_stat_replication'",
        Level.WARNING,
    ),
    "postgresql.slot": Remedy(
        gettext_noop("Start its standby again, or drop the slot."),
        _PSQL + "\"SELECT pg_drop_replication_slot('{subject}')\"",
        Level.WARNING,
    ),
    "redis.version": Remedy(gettext_noop("Upgrade Redis."), "apt install redis-server", Level.WARNING),
    "redis.policy": Remedy(
        gettext_noop("Set it to “noeviction”, also in redis.conf."), "redis-cli config set maxmemory-policy noeviction"
    ),
    "redis.save": Remedy(
        gettext_noop("Read Redis’s log, and check its disk and its directory."),
        "journalctl -u redis-server -n 50",
        Level.WARNING,
    ),
    "redis.password": Remedy(
        gettext_noop("Set “requirepass” in redis.conf and PANEL_REDIS_URL, or bind Redis to 127.0.0.1."),
        "redis-cli config get bind",
    ),
}

REMEDIES: Mapping[str, Remedy] = {**_ALERTS, **_OWN}
