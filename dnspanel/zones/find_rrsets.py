"""RRsets of a zone that hold a text, looked for in a bounded number of them at a time.

No index finds a part of a name or an rdata: one of trigrams makes every write three times as slow. So RRsets are
compared in their order, and who looks for more is told where to go on: each answer costs the same in a large zone.
"""

from typing import Any

from django.db.models import F, Func, Q, QuerySet, TextField, Value

from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone

MOST_COMPARED = 30_000  # RRsets; 40 ms

StoredKey = tuple[bytes, int]  # owner_key and type: the order of an editor
BEFORE_ALL: StoredKey = (b"", 0)


def holding(rrsets: QuerySet[StoredRRset], text: str) -> QuerySet[StoredRRset]:
    """Those with the text in name, rdata or comment, in whichever case. Names are stored in lower case."""
    # This collation takes half as long; rdata have no letters but those of ASCII.
    joined = Func(
        F("rdata"),
        Value("\n"),
        template='(array_to_string(%(expressions)s) COLLATE "C")',
        output_field=TextField(),
    )
    in_comment = ~Q(comment="") & Q(comment__icontains=text)
    return rrsets.alias(joined=joined).filter(Q(name__contains=text.lower()) | Q(joined__icontains=text) | in_comment)


def last_compared(zone: Zone, start: StoredKey) -> StoredKey | None:
    """The last of the next MOST_COMPARED RRsets behind `start`; None if the zone has no more than that."""
    if zone.rrset_count <= MOST_COMPARED:
        return None
    keys = between(StoredRRset.objects.filter(zone=zone), start).order_by("owner_key", "type")
    found = keys.values_list("owner_key", "type")[MOST_COMPARED - 1 : MOST_COMPARED].first()
    return None if found is None else (bytes(found[0]), found[1])


def between(rows: "QuerySet[Any]", start: StoredKey, last: StoredKey | None = None) -> "QuerySet[Any]":
    """Those behind `start`, up to and with `last` if there is one."""
    owner_key, type_ = start
    rows = rows.filter(owner_key__gte=owner_key).exclude(owner_key=owner_key, type__lte=type_)
    if last is None:
        return rows
    owner_key, type_ = last
    return rows.filter(owner_key__lte=owner_key).exclude(owner_key=owner_key, type__gt=type_)
