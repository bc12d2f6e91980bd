"""Convert rows of the records table back to a zone's RRsets, as far as the rows allow it. Pure.

Nodes never receive comments or disabled records, so the result doesn't contain them. Rows that the compiler adds, of
empty non-terminals and NSEC3 chains, are left out.
"""

from collections.abc import Iterable, Iterator

from replication.codec import keys, values
from replication.dns import rdata
from replication.dns.rrset import RRset

# NSEC3's helper rows have this type, and empty non-terminals have `values.ENT`. Neither is a real record.
_ADDED_BY_COMPILING = frozenset({values.ENT, 50})


def rrsets_of_rows(zone: str, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[RRset]:
    """Yield the RRsets in these rows (record key, body), in order. Raise BadBytes or BadRdata for an invalid row."""
    for key, body in rows:
        _, relative, type = keys.decode_record_key(key)
        if type in _ADDED_BY_COMPILING:
            continue
        name = keys.name_from_relative_key(relative, zone)
        stored = values.decode_records(body)
        served = (record.content for record in stored if not record.disabled)
        wires = sorted({values.decompress(type, content, name, zone) for content in served})
        if wires:
            yield RRset(name, type, stored[0].ttl, tuple(rdata.from_wire(type, wire) for wire in wires))
