"""Violations of rules by RRsets, and their severity. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from replication.dns.rrset import RRset


class Severity(StrEnum):
    """The severity of a violation: an error blocks, a warning must be accepted, and a note is only shown."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    __hash__ = str.__hash__  # Enum's own hash is slow Python code, and thousands of violations are sorted at once


SEVERITY_ORDER = {severity: place for place, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an RRset breaks. `code` is the rule's stable name, and `target` the name that doesn't exist."""

    severity: Severity
    code: str
    name: str
    type: int
    message: str
    target: str = ""


def in_order(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return the violations without duplicates, sorted by severity (errors first), name, type and code."""
    return tuple(sorted(dict.fromkeys(violations), key=lambda v: (SEVERITY_ORDER[v.severity], v.name, v.type, v.code)))


def error(rrset: RRset, code: str, message: str) -> Violation:
    return Violation(Severity.ERROR, code, rrset.name, rrset.type, message)


def warning(rrset: RRset, code: str, message: str, target: str = "") -> Violation:
    return Violation(Severity.WARNING, code, rrset.name, rrset.type, message, target)


def note(rrset: RRset, code: str, message: str) -> Violation:
    return Violation(Severity.NOTE, code, rrset.name, rrset.type, message)
