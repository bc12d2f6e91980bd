"""Find the rows of a draft that block publishing or have warnings, to mark them and to count them in the draft bar.

The rows come from the plan that the review shows. Because the plan is computed for each page and each change of the
draft, a large draft is checked only in the review.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dnspanel.accounts.models import User
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.rows import DisplayRow, capitalize, row_id, rrset_query
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.publishing import revision
from replication.dns import names, rdata
from replication.dns.rrset import Key

MOST_OPERATIONS = 500
_CONFLICT = gettext_lazy("Another change to this record was published. Choose a version in the review")


@dataclass(frozen=True, slots=True)
class BlockedRow:
    """An RRset that blocks publishing or has a warning, with the first reason."""

    id: str
    title: str
    query: str
    message: str


@dataclass(frozen=True, slots=True)
class Blocking:
    """Rows that block a zone's draft, and rows with only warnings. `is_complete` is False if the draft is too large."""

    rows: tuple[BlockedRow, ...] = ()
    warnings: tuple[BlockedRow, ...] = ()
    keys_with_warnings: frozenset[Key] = frozenset()
    warning_count: int = 0
    is_complete: bool = True


def blocking_of(request: PanelRequest, zone: Zone) -> Blocking:
    """Return the rows that block publishing the user's draft of the zone or have warnings, cached in the request.

    Call this function only after the request has made all its changes.
    """
    known: dict[int, Blocking] = getattr(request, "blocking", {})
    if zone.pk not in known:
        known[zone.pk] = _find(request.user, zone)
        request.blocking = known  # type: ignore[attr-defined]
    return known[zone.pk]


def with_blocking(request: PanelRequest, zone: Zone, rows: Iterable[DisplayRow]) -> list[DisplayRow]:
    """Return the rows with their blocking reasons and warnings. Rows with conflicts are already marked."""
    blocking = blocking_of(request, zone)
    if not blocking.rows and not blocking.warnings:
        return list(rows)
    messages = {row.id: row.message for row in blocking.rows if row.message != _CONFLICT}
    warnings = {row.id: row.message for row in blocking.warnings}
    return [replace(row, blocked=messages.get(row.id, ""), warned=warnings.get(row.id, "")) for row in rows]


def _find(author: User, zone: Zone) -> Blocking:
    operations = Operation.objects.filter(draft__author=author, zone=zone)[: MOST_OPERATIONS + 1].count()
    if not operations:
        return Blocking()
    if operations > MOST_OPERATIONS:
        return Blocking(is_complete=False)
    found: dict[Key, str] = {}
    warned: dict[Key, str] = {}
    count = 0
    for plan in revision.preview(author=author, zones=[zone]):
        for conflict in plan.conflicts:
            found.setdefault(conflict.change.key, _CONFLICT)
        for violation in plan.errors:
            found.setdefault((violation.name, violation.type), capitalize(violation.message, name=violation.name))
        count += len(plan.warnings)
        for violation in plan.warnings:
            warned.setdefault((violation.name, violation.type), capitalize(violation.message, name=violation.name))
    return Blocking(
        rows=tuple(_row(zone, *key, message) for key, message in found.items()),
        warnings=tuple(_row(zone, *key, message) for key, message in warned.items()),
        keys_with_warnings=frozenset(warned),
        warning_count=count,
    )


def _row(zone: Zone, name: str, type: int, message: str) -> BlockedRow:
    title = f"{names.owner_text(name, zone.name)} {rdata.type_to_text(type)}"
    return BlockedRow(row_id(name, type), title, rrset_query(name, type), message)
