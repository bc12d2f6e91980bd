"""Convert change rows in the log to changes: the RRset before and after."""

from dnspanel.zones.models import Change as StoredChange
from replication.dns.rrset import Change, RRset


def change_of(row: StoredChange) -> Change:
    """Return the change that a row stores."""
    return Change(row.name, row.type, rrset_before(row), rrset_after(row))


def rrset_before(row: StoredChange) -> RRset | None:
    """Return the RRset before this change, or None if the change created the RRset."""
    return RRset.from_json(row.name, row.type, row.before) if row.before else None


def rrset_after(row: StoredChange) -> RRset | None:
    """Return the RRset after this change, or None if the change deleted the RRset."""
    return RRset.from_json(row.name, row.type, row.after) if row.after else None
