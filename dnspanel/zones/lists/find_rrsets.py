"""Search for text in a zone's RRsets, with a bounded number of comparisons for each page.

No index is used for parts of names or rdata, because a trigram index makes every write three times as slow. Instead,
RRsets are compared in order, and each page contains the start of the next page. Each page costs the same in a large
zone.
"""

from typing import Any

from django.db.models import BinaryField, Case, F, Func, IntegerField, QuerySet, Value, When

from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from replication.dns import rdtypes

MOST_COMPARED = 30_000  # RRsets; 40 ms

StoredKey = tuple[bytes, int]  # owner_key and type: the order of the primary key
BEFORE_ALL: StoredKey = (b"", 0)

# These types come first at their name, because people look for these most often. Other types keep their order.
_FIRST = {rdtypes.SOA: 0, rdtypes.NS: 1}


def last_compared(zone: Zone, start: StoredKey) -> StoredKey | None:
    """Return the last of the next MOST_COMPARED RRsets after `start`, or None if fewer follow."""
    if zone.rrset_count <= MOST_COMPARED:
        return None
    keys = between(StoredRRset.objects.filter(zone=zone), start).order_by("owner_key", "type")
    found = keys.values_list("owner_key", "type")[MOST_COMPARED - 1 : MOST_COMPARED].first()
    return None if found is None else (bytes(found[0]), found[1])


def between(rows: "QuerySet[Any]", start: StoredKey, last: StoredKey | None = None) -> "QuerySet[Any]":
    """Select the rows after `start`, up to and including `last` if given."""
    owner_key, type_ = start
    rows = rows.filter(owner_key__gte=owner_key).exclude(owner_key=owner_key, type__lte=type_)
    if last is None:
        return rows
    owner_key, type_ = last
    return rows.filter(owner_key__lte=owner_key).exclude(owner_key=owner_key, type__gt=type_)


def display_rank(type: int) -> int:
    """Return a type's rank among the RRsets of a name in the editor: SOA, NS, then the others by number."""
    return _FIRST.get(type, type + len(_FIRST))


def display_key(key: StoredKey) -> StoredKey:
    """Return the key that sorts RRsets by owner key, and at each name by `display_rank`."""
    return key[0], display_rank(key[1])


def in_display_order(
    rows: "QuerySet[Any]", start: StoredKey | None, last: StoredKey | None, limit: int, *, are_few: bool = False
) -> "QuerySet[Any]":
    """Return the first rows after `start` (None: the beginning), up to the name of `last`, in the editor's order.

    Rows are read along the primary key, and only the few RRsets of each name are sorted. Set `are_few` if the rows have
    few names. All rows are then sorted, because PostgreSQL would otherwise scan the zone's whole primary key.
    """
    whens = [When(type=type, then=Value(rank)) for type, rank in _FIRST.items()]
    rank = Case(*whens, default=F("type") + len(_FIRST), output_field=IntegerField())
    rows = rows.alias(display_rank=rank)
    if start is not None:
        owner_key, type_ = start
        rows = rows.filter(owner_key__gte=owner_key).exclude(owner_key=owner_key, display_rank__lte=display_rank(type_))
    if last is not None:
        rows = rows.filter(owner_key__lte=last[0])
    by_key = Func(F("owner_key"), template="(%(expressions)s || ''::bytea)", output_field=BinaryField())
    return rows.order_by(by_key if are_few else "owner_key", "display_rank")[:limit]
