"""What is wrong with an installation, and a report of it. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from dnspanel.conditions import Condition, Severity
from dnspanel.monitoring.doctor.remedies import REMEDIES, UNKNOWN, Level
from dnspanel.texts import gettext


class Exit(IntEnum):
    """The exit status of `doctor`. Nothing was found; something was found; nothing was found, but a check failed."""

    HEALTHY, FOUND, UNCHECKED = 0, 1, 2


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
    causes: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, str]:
        names = ("id", "level", "message", "fix", "command", "key")
        return {name: str(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A check that couldn't be done, and the reason."""

    check: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The findings, worst first, the checks that couldn't be done, and the number of all checks."""

    at: datetime
    version: str
    host: str
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    checks: int

    @property
    def status(self) -> Exit:
        if self.findings:
            return Exit.FOUND
        return Exit.UNCHECKED if self.unchecked else Exit.HEALTHY

    def to_json(self) -> dict[str, Any]:
        return {
            "at": self.at.isoformat(timespec="seconds"),
            "version": self.version,
            "host": self.host,
            "status": int(self.status),
            "checks": self.checks,
            "findings": [each.to_json() for each in self.findings],
            "unchecked": [{"check": each.check, "reason": each.reason} for each in self.unchecked],
        }

    def to_text(self) -> str:
        """Return the report for a terminal."""
        lines = [f"dnspanel {self.version} on {self.host}, {self.at:%Y-%m-%d %H:%M:%S} UTC", ""]
        for each in self.findings:
            lines += [f"{each.level.upper():8} {each.id}: {each.message}", f"{'':8} {each.fix}"]
            lines += [f"{'':8} $ {each.command}", ""] if each.command else [""]
        lines += [f"{'UNKNOWN':8} {each.check}: not checked. {each.reason}" for each in self.unchecked]
        lines.append(f"{self.checks} checks, {len(self.findings)} findings, {len(self.unchecked)} not checked.")
        return "\n".join(lines) + "\n"


def finding(kind: str, message: str, subject: str = "", *, causes: Iterable[str] = ()) -> Finding:
    """Return a finding with the level, the fix and the command that REMEDIES has for this kind."""
    remedy = REMEDIES[kind]
    key = f"{kind}:{subject}" if subject else kind
    command = remedy.command.format(subject=subject)
    return Finding(kind, remedy.level, message, gettext(remedy.fix), command, key, frozenset(causes))


def finding_of(condition: Condition) -> Finding:
    """Return an alert's condition as a finding."""
    remedy = REMEDIES.get(condition.key) or REMEDIES.get(condition.kind, UNKNOWN)
    subject = condition.key.partition(":")[2].partition("@")[0]
    level = Level.PROBLEM if condition.severity == Severity.CRITICAL else Level.WARNING
    command = remedy.command.format(subject=subject)
    # A PowerDNS that needs files with another schema refuses to start.
    causes = frozenset({f"node.release:{subject}"} if condition.kind == "node.powerdns" else ())
    return Finding(condition.kind, level, condition.message, gettext(remedy.fix), command, condition.key, causes)


def without_consequences(findings: Iterable[Finding]) -> Collection[Finding]:
    """Return the findings that no other finding explains, problems first, then by key. One finding for each key."""
    by_key = {each.key: each for each in findings}
    own = [each for each in by_key.values() if not each.causes & by_key.keys()]
    return sorted(own, key=lambda each: (each.level != Level.PROBLEM, each.key))
