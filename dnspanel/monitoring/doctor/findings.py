"""What is wrong with an installation, and a report of it. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from dnspanel.conditions import Condition, Severity
from dnspanel.monitoring.doctor.remedies import REMEDIES, UNKNOWN, Level
from dnspanel.texts import gettext

_STOPPED = ("panel.process", "panel.collector", "panel.overdue", "panel.late", "panel.log_age")
# A PowerDNS that needs files with another schema refuses to start.
_CAUSES = {"node.powerdns": "node.release:{subject}", **dict.fromkeys(_STOPPED, "panel.not_running")}
HEALTHY, FOUND, UNCHECKED = 0, 1, 2  # the exit statuses


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, with one sentence about it, one sentence about the fix, and the command for the fix.

    `id` never changes its meaning. `key` also names the node, process or file, so it is unique in a report. `causes`
    are the keys of findings that would explain this one.
    """

    id: str
    level: Level
    message: str
    fix: str
    command: str
    key: str
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The findings, worst first, the reason for each check that couldn't be done, and the number of all checks."""

    at: datetime
    version: str
    host: str
    findings: tuple[Finding, ...]
    unchecked: Mapping[str, str]
    checks: int

    @property
    def status(self) -> int:
        return FOUND if self.findings else UNCHECKED if self.unchecked else HEALTHY

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "status": self.status}, indent=2, default=datetime.isoformat) + "\n"

    def to_text(self) -> str:
        """Return the report for a terminal."""
        lines = [f"dnspanel {self.version} on {self.host}, {self.at:%Y-%m-%d %H:%M:%S} UTC", ""]
        for each in self.findings:
            lines += [f"{each.level.upper():8} {each.id}: {each.message}", f"{'':8} {each.fix}"]
            lines += [f"{'':8} $ {each.command}", ""] if each.command else [""]
        lines += [f"{'UNKNOWN':8} {name}: not checked. {reason}" for name, reason in self.unchecked.items()]
        lines.append(f"{self.checks} checks, {len(self.findings)} findings, {len(self.unchecked)} not checked.")
        return "\n".join(lines) + "\n"


def finding(kind: str, message: str, subject: str = "", *, causes: Iterable[str] = ()) -> Finding:
    """Return a finding with the level, the fix and the command that REMEDIES has for this kind."""
    remedy = REMEDIES[kind]
    fix, command = gettext(remedy.fix), remedy.command.format(subject=subject)
    return Finding(kind, remedy.level, message, fix, command, f"{kind}:{subject}" if subject else kind, tuple(causes))


def finding_of(condition: Condition) -> Finding:
    """Return an alert's condition as a finding."""
    remedy = REMEDIES.get(condition.key) or REMEDIES.get(condition.kind, UNKNOWN)
    subject = condition.key.partition(":")[2].partition("@")[0]
    level = Level.PROBLEM if condition.severity == Severity.CRITICAL else Level.WARNING
    causes = (_CAUSES.get(condition.kind, "").format(subject=subject),)
    fix, command = gettext(remedy.fix), remedy.command.format(subject=subject)
    return Finding(condition.kind, level, condition.message, fix, command, condition.key, causes)
