"""Read a change of the log from its row: the RRset as it was before, and as it is after."""

from dnspanel.zones.models import Change as StoredChange
from replication.dns.rrset import Change, RRset


def change_of(row: StoredChange) -> Change:
    """The change that is stored in this row."""
    return Change(row.name, row.type, rrset_before(row), rrset_after(row))


def rrset_before(row: StoredChange) -> RRset | None:
    """The RRset that this change found; None if there was none."""
    return RRset.from_json(row.name, row.type, row.before) if row.before else None


def rrset_after(row: StoredChange) -> RRset | None:
    """The RRset that this change left; None if it deleted it."""
    return RRset.from_json(row.name, row.type, row.after) if row.after else None
