"""Check Redis and the panel's disk for alert conditions."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from dnspanel.conditions import Condition, Reading, Severity, Subject
from dnspanel.fleet.conditions.nodes import disk_share
from dnspanel.processes.redis_health import RedisProblem, redis_problem
from dnspanel.texts import gettext, gettext_noop
from replication.disk import disk_of

# `process_rules` finds the conditions of processes, and `watcher` those of PostgreSQL.
KINDS = {
    "panel.postgresql": gettext_noop("PostgreSQL isn’t responding"),
    "panel.redis": gettext_noop("Redis has a problem"),
    "panel.process": gettext_noop("Process isn’t running"),
    "panel.stuck": gettext_noop("Worker is stuck"),
    "panel.overdue": gettext_noop("Periodic tasks are overdue"),
    "panel.failing": gettext_noop("Periodic task is failing"),
    "panel.disk": gettext_noop("Panel disk is almost full"),
}


@dataclass(frozen=True, slots=True)
class PanelInputs:
    redis_problem: RedisProblem | None = None
    disk_free_bytes: int = 0
    disk_bytes: int = 0
    disk_free_inodes: int = 0
    disk_inodes: int = 0  # 0: the file system creates inodes on demand


def read_panel(now: datetime, reading: Reading) -> PanelInputs:
    """Read the state of Redis and of the file system."""
    disk = disk_of(next(path for path in (settings.VAR_DIR, *settings.VAR_DIR.parents) if path.exists()))
    return PanelInputs(redis_problem(), disk.free_bytes, disk.bytes, disk.free_inodes, disk.inodes)


def panel_conditions(inputs: PanelInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield the current problems of Redis and of the panel's disk."""
    if inputs.redis_problem is not None:
        yield Condition("panel.redis", "panel.redis", Severity.CRITICAL, _redis_message(inputs.redis_problem))
    room, inodes = (inputs.disk_free_bytes, inputs.disk_bytes), (inputs.disk_free_inodes, inputs.disk_inodes)
    if filling := disk_share(room, inodes, "panel.disk", is_open):
        yield filling


def _redis_message(problem: RedisProblem) -> str:
    """Return a message about the Redis problem and its effects on the panel."""
    if problem is RedisProblem.FULL:
        return gettext(
            "Redis is full, so nodes get updates by polling, up to 5 s later. Live statistics aren’t available."
        )
    if problem is RedisProblem.REFUSES:
        return gettext(
            "Redis is rejecting writes, so nodes get updates by polling, up to 5 s later. Live statistics "
            "aren’t available."
        )
    return gettext(
        "Redis isn’t responding, so nodes get updates by polling, up to 5 s later. Live statistics aren’t available."
    )


SUBJECT = Subject(PanelInputs, KINDS, read_panel, panel_conditions)
