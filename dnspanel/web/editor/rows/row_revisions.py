"""Add the latest revision to each row in the editor, with its author and time."""

from collections.abc import Sequence
from dataclasses import replace

from dnspanel.web.frame.rows import DisplayRow
from dnspanel.zones.log.history import revisions_numbered
from dnspanel.zones.models import Zone


def with_revisions(zone: Zone, rows: Sequence[DisplayRow], *, always: bool = False) -> list[DisplayRow]:
    """Return the rows with the revision that last changed each row, in one query. `always` shows it in each row."""
    found = revisions_numbered(zone=zone, numbers={row.row.changed_in for row in rows})
    return [
        replace(row, revision=last, shows_revision=always) if (last := found.get(row.row.changed_in)) else row
        for row in rows
    ]
