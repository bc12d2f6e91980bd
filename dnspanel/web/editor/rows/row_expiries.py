"""The times at which rows of an editor are removed, where a person set them."""

from collections.abc import Sequence
from dataclasses import replace

from dnspanel.web.frame.rows import DisplayRow
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing.expiry import expiries_at


def with_expiries(zone: Zone, rows: Sequence[DisplayRow]) -> list[DisplayRow]:
    """Return the rows with when each is removed, where a person set that; in one query."""
    found = expiries_at(zone, {row.name for row in rows})
    if not found:
        return list(rows)
    return [replace(row, expiry=found.get((row.name, row.row.change.type))) for row in rows]
