"""Which rows of a draft block publishing: errors and conflicts, marked in the editor and counted in the draft bar.

They are those of the plan that the review shows. It is made anew for each page and each change of the draft, so a
large draft is not checked here: the review does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dnspanel.accounts.models import User
from dnspanel.web.layout import PanelRequest
from dnspanel.web.rows import DisplayRow, capitalized, row_id, rrset_query
from dnspanel.zones import revision
from dnspanel.zones.models import Operation, Zone
from replication.dns import names, rdata

MOST_OPERATIONS = 500
_CONFLICT = "It was published meanwhile, too: choose in the review what shall hold"


@dataclass(frozen=True, slots=True)
class BlockedRow:
    """An RRset that cannot be published as it is, and the first reason."""

    id: str
    title: str
    query: str
    message: str


@dataclass(frozen=True, slots=True)
class Blocking:
    """What blocks publishing a zone's draft; `is_complete` is False where the draft is too large to be checked."""

    rows: tuple[BlockedRow, ...] = ()
    is_complete: bool = True


def blocking_of(request: PanelRequest, zone: Zone) -> Blocking:
    """Return what blocks publishing this person's draft of the zone, found once for each request.

    Ask only when the request has changed all that it changes.
    """
    known: dict[int, Blocking] = getattr(request, "blocking", {})
    if zone.pk not in known:
        known[zone.pk] = _find(request.user, zone)
        request.blocking = known  # type: ignore[attr-defined]
    return known[zone.pk]


def with_blocking(request: PanelRequest, zone: Zone, rows: Iterable[DisplayRow]) -> list[DisplayRow]:
    """Return the rows with the reason why they block publishing, where they do. Conflicts say so themselves."""
    messages = {row.id: row.message for row in blocking_of(request, zone).rows if row.message != _CONFLICT}
    return [replace(row, blocked=messages.get(row.id, "")) for row in rows]


def _find(author: User, zone: Zone) -> Blocking:
    operations = Operation.objects.filter(draft__author=author, zone=zone)[: MOST_OPERATIONS + 1].count()
    if not operations:
        return Blocking()
    if operations > MOST_OPERATIONS:
        return Blocking(is_complete=False)
    found: dict[tuple[str, int], str] = {}
    for plan in revision.preview(author=author, zones=[zone]):
        for conflict in plan.conflicts:
            found.setdefault(conflict.change.key, _CONFLICT)
        for violation in plan.errors:
            found.setdefault((violation.name, violation.type), capitalized(violation.message, name=violation.name))
    return Blocking(tuple(_row(zone, name, type, message) for (name, type), message in found.items()))


def _row(zone: Zone, name: str, type: int, message: str) -> BlockedRow:
    title = f"{names.owner_text(name, zone.name)} {rdata.type_to_text(type)}"
    return BlockedRow(row_id(name, type), title, rrset_query(name, type), message)
