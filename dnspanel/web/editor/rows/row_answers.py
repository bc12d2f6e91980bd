"""Mark rows in the editor that nodes never serve, because a child zone answers for their names."""

from collections.abc import Sequence
from dataclasses import replace

from dnspanel.web.frame.rows import DisplayRow
from dnspanel.zones.models import Zone
from dnspanel.zones.names import nesting


def with_answers(zone: Zone, rows: Sequence[DisplayRow]) -> list[DisplayRow]:
    """Return the rows, with the answering zone for each row that is never served. This takes at most two queries."""
    found = nesting.shadowed_rrsets(zone, [row.rrset for row in rows if row.rrset is not None])
    if not found:
        return list(rows)
    return [replace(row, answered_by=found.get((row.name, row.row.change.type), "")) for row in rows]
