"""Add expiry times to rows in the editor."""

from collections.abc import Sequence
from dataclasses import replace

from dnspanel.web.frame.rows import DisplayRow
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing.expiry import expiries_at


def with_expiries(zone: Zone, rows: Sequence[DisplayRow]) -> list[DisplayRow]:
    """Return the rows with their expiry times, in one query. A row without an expiry is unchanged."""
    found = expiries_at(zone, {row.name for row in rows})
    if not found:
        return list(rows)
    return [replace(row, expiry=found.get((row.name, row.row.change.type))) for row in rows]
