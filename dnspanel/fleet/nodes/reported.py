"""Parse a node's last report: free space, versions, clock, checks and remarks. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dnspanel.fleet.models import Node
from dnspanel.texts import duration_text, gettext, gettext_noop, joined, ngettext
from replication import __version__
from replication.errors import BadBytes
from replication.version import is_older
from replication.wire.protocol import ComputedTypes

# In seconds. If the node's clock is off by more, lag and charts are misleading.
CLOCK_TOLERANCE = 2.0
MAP_ALARM = 0.7
DISK_ALARM = 0.1

_RELEASES = {4: "4.7", 5: gettext_noop("4.8 or 4.9"), 6: gettext_noop("5.0 or 5.1")}


@dataclass(frozen=True, slots=True)
class Reported:
    """The parsed values of one report. Values that an older agent doesn't report are empty, 0 or None."""

    heard: bool
    state: str  # of the agent itself
    powerdns: str
    installed: str
    agent: str
    lmdb: str
    map_used: float | None
    disk_free: int | None
    disk_free_share: float | None
    oldest_reader: int
    rss_bytes: int
    clock_ahead: float | None  # seconds; negative: behind
    needed_schema: int  # the schema that the installed PowerDNS needs; 0: the node's own, or unknown
    is_old: bool  # the agent's protocol is older than the panel's
    is_older: bool | None  # older than the panel; None: the order of the two versions is unknown
    diverged_count: int
    checked_at: float
    check_share: float
    computes: str  # which of ALIAS and LUA it answers; empty if not reported
    resolver_problem: str
    unanswered_count: int
    is_answering: bool  # PowerDNS answers with all data of the node's files

    @property
    def remarks(self) -> tuple[str, ...]:
        """Short remarks about the node's problems, worst first."""
        found: list[str] = []
        if self.needed_schema:
            installed = self.installed or release(self.needed_schema)
            found.append(gettext("PowerDNS {release} needs a rebuild").format(release=installed))
        if count := self.diverged_count:
            found.append(ngettext("{count:,} zone differs", "{count:,} zones differ", count).format(count=count))
        if self.resolver_problem:
            found.append(gettext("ALIAS resolver not found"))
        if self.unanswered_count:
            found.append(gettext("{count} ALIAS or LUA unanswered").format(count=self.unanswered_count))
        if self.map_used is not None and self.map_used > MAP_ALARM:
            found.append(gettext("map {share} full").format(share=f"{100 * self.map_used:.0f} %"))
        if self.disk_free_share is not None and self.disk_free_share < DISK_ALARM:
            found.append(gettext("disk {share} full").format(share=f"{100 - 100 * self.disk_free_share:.0f} %"))
        if self.clock_is_wrong:
            message = gettext("clock {time} ahead") if (self.clock_ahead or 0) > 0 else gettext("clock {time} behind")
            found.append(message.format(time=_clock_off(self.clock_ahead or 0)))
        if self.is_old:
            found.append(gettext("agent update needed"))
        elif self.is_older:
            found.append(gettext("agent outdated"))
        return tuple(found)

    @property
    def clock_is_wrong(self) -> bool:
        return self.clock_ahead is not None and abs(self.clock_ahead) > CLOCK_TOLERANCE


def _free_shares(report: Mapping[str, Any]) -> list[float]:
    """Return the free shares of bytes and of inodes. Omit a share that is unknown."""
    pairs = [(report.get(f"disk_free_{kind}"), report.get(f"disk_{kind}")) for kind in ("bytes", "inodes")]
    return [free / total for free, total in pairs if free is not None and total]


def read_report(node: Node) -> Reported:
    """Parse a node's last report. Very old agents sent only their versions, which are stored in `versions`."""
    report: Mapping[str, Any] = node.report
    told = {**node.versions, **(report.get("versions") or {})}
    agent = str(told.get("agent", ""))
    free = report.get("disk_free_bytes")
    needed, heard = int(report.get("wanted_schema") or 0), bool(report)
    return Reported(
        heard=heard,
        state=str(report.get("state", "")),
        powerdns=f"dnsdist {told.get('dnsdist', '')}".strip() if node.is_front else str(told.get("powerdns", "")),
        installed=str(report.get("installed_powerdns") or told.get("installed") or ""),
        agent=agent,
        lmdb=str(told.get("lmdb", "")),
        map_used=float(report["map_used"]) if "map_used" in report and not node.is_front else None,
        disk_free=int(free) if free is not None else None,
        disk_free_share=min(shares) if (shares := _free_shares(report)) else None,
        oldest_reader=int(report.get("oldest_reader") or 0),
        rss_bytes=int(report.get("rss_bytes") or 0),
        clock_ahead=report["clock"] - node.reported_at.timestamp() if node.reported_at and "clock" in report else None,
        needed_schema=needed if needed != node.schema else 0,
        is_old=bool(report) and not report.get("machine"),
        is_older=is_older(agent, __version__),
        diverged_count=int(report.get("diverged_count") or 0),
        checked_at=float(report.get("checked_at") or 0),
        check_share=float(report.get("check_share") or 0),
        computes=describe_computed(reported_types(node)),
        resolver_problem=str(report.get("resolver_problem") or ""),
        unanswered_count=len(node.unanswered),
        is_answering=heard and not report.get("unserved") and report.get("answered") == report.get("position"),
    )


def reported_types(node: Node) -> ComputedTypes | None:
    """Return the node's settings for computed types from its agent's last report, or None if they are unknown."""
    try:
        return ComputedTypes.from_json(node.report["computed_types"])
    except (BadBytes, KeyError, TypeError):
        return None


def describe_computed(types: ComputedTypes | None) -> str:
    """Describe computed types, such as "ALIAS via 192.0.2.53, LUA off". Return "" for None."""
    if types is None:
        return ""
    alias = gettext("ALIAS via {resolver}").format(resolver=types.resolver) if types.resolver else gettext("ALIAS off")
    return joined(", ", [alias, gettext("LUA on") if types.lua else gettext("LUA off")])


def release(schema: int) -> str:
    """Return the PowerDNS releases with this schema, such as "5.0 or 5.1", or "with schema 7" if they are unknown."""
    if schema not in _RELEASES:
        return gettext("with schema {schema}").format(schema=schema)
    return gettext(_RELEASES[schema])


def _clock_off(ahead: float) -> str:
    return duration_text(timedelta(seconds=round(abs(ahead))))


def explain_rebuild(node: Node, reported: Reported) -> str:
    """Explain why the node needs files with another schema, and the next steps. Return "" if no rebuild is needed."""
    if not reported.needed_schema:
        return ""
    installed = reported.installed or release(reported.needed_schema)
    return gettext(
        "PowerDNS {release} on {name} needs LMDB schema {needed}, but the files have schema {schema}. The "
        "setting in pdns.conf prevents the new release from starting and converting the files. The "
        "rebuild sends a snapshot with the right schema and checks it. The agent then replaces the old "
        "files and restarts PowerDNS."
    ).format(release=installed, name=node.name, needed=reported.needed_schema, schema=node.schema)
