"""Read the progress of audit log destinations for alerts and metrics, with a constant number of queries."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.models import AuditEntry
from dnspanel.audit.forward.deliver_acts import last_number
from dnspanel.audit.forward.models import Destination
from dnspanel.database.field_copies import copy_fields
from dnspanel.zones.audit.audit_chain import ENTRY
from dnspanel.zones.models import AuditLink, Publication


@dataclass(frozen=True, slots=True)
class DestinationHealth:
    """The state of an active destination: its number of missing entries, its last confirmation, and its failure.

    `begun_at` is when the destination was created, or last changed or switched. A delay counts only from then.
    """

    pk: int
    name: str
    behind: int  # number of missing entries
    oldest_at: datetime | None = None  # time of the first missing entry
    sent_at: datetime | None = None
    failing_since: datetime | None = None
    rejected_at: datetime | None = None
    begun_at: datetime | None = None


def destinations_health() -> tuple[DestinationHealth, ...]:
    """Return the state of all active destinations, sorted by name, with at most five queries, or one if none exist."""
    rows = list(Destination.objects.filter(active=True).order_by("name"))
    last = last_number() if rows else 0
    oldest = _done_at({row.sent_to + 1 for row in rows if row.sent_to < last})
    return tuple(
        copy_fields(
            DestinationHealth,
            row,
            behind=max(0, last - row.sent_to),
            oldest_at=oldest.get(row.sent_to + 1),
            begun_at=row.changed_at or row.created_at,
        )
        for row in rows
    )


def _done_at(numbers: Collection[int]) -> Mapping[int, datetime]:
    """Return the times of the entries with these numbers, keyed by number. Deleted entries are left out."""
    if not numbers:
        return {}
    links = list(AuditLink.objects.filter(number__in=numbers).values_list("number", "kind", "ref"))
    entries = AuditEntry.objects.filter(pk__in=[ref for _, kind, ref in links if kind == ENTRY])
    published = Publication.objects.filter(sequence__in=[ref for _, kind, ref in links if kind != ENTRY])
    times = {(True, pk): at for pk, at in entries.values_list("pk", "at")}
    times |= {(False, sequence): at for sequence, at in published.values_list("sequence", "at")}
    return {number: times[kind == ENTRY, ref] for number, kind, ref in links if (kind == ENTRY, ref) in times}
