"""Query every name whose rows changed, to check that PowerDNS can read the name's rows.

PowerDNS reads all rows of a name for a query of any type, and answers every query with SERVFAIL if it cannot read one
row. Therefore one query per name is enough, and only the rcode of its answer matters. `verify` proves the content of
answers for a sample. The queries are small and are sent over UDP, a few at a time.
"""

import contextlib
import select
import socket
import struct
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice

import dns.rcode

from replication import stats, verify
from replication.codec import keys, values
from replication.dns import names, rdata, rdtypes
from replication.errors import NotServed
from replication.store.store import Store
from replication.verify_transfer import Transfers

# At most this many queries are in flight at a time, so that their answers fit into a socket's receive buffer of the
# kernel's default size.
MOST_UNDER_WAY = 100
# At most this many plain rows of a push are kept, evenly spread.
MOST_PLAIN = 20_000
# A zone with at least this many names to query is transferred instead, unless it has many times as many rows.
FEWEST_TO_TRANSFER = 16
MOST_ROWS_PER_NAME = 3
# If no answer arrives for this time, the queries in flight are sent again.
RETRY_SECONDS = 0.1
# The types that imports have most. Every PowerDNS reads each of their values: docs/develop/boundary-values.md.
PLAIN_TYPES = frozenset(
    {
        values.ENT,
        rdtypes.A,
        rdtypes.AAAA,
        rdtypes.CNAME,
        rdtypes.MX,
        rdtypes.NS,
        rdtypes.PTR,
        rdtypes.SOA,
        rdtypes.SRV,
        rdtypes.TXT,
    }
)
# Computed and signing types. Their names are queried with a type that no name has: PowerDNS still reads all rows.
_BY_OTHER_TYPE = frozenset({rdtypes.ALIAS, rdtypes.LUA, values.ENT, 46, 47, 48, 50, 51, 59, 60})
_NO_TYPE = 65_279  # the last one before those for private use

_HEAD = struct.Struct(">HHHHHH")
_LENGTH = struct.Struct(">H")
_TYPE = struct.Struct(">H")
_PLAIN_ENDS = frozenset(map(_TYPE.pack, PLAIN_TYPES))
_COMPUTED_ENDS = frozenset(map(_TYPE.pack, (rdtypes.ALIAS, rdtypes.LUA)))
_HASHED_END = _TYPE.pack(rdtypes.NSEC3)  # such rows are at hashes, not at names


class ChangedNames:
    """The rows that a push changes, limited to rows whose names have to be queried.

    All rows of types other than PLAIN_TYPES are kept, about 25 bytes each, except those of NSEC3 chains. At most
    MOST_PLAIN plain rows are kept, evenly spread. An import has millions of rows, so only each row's type is examined.
    """

    def __init__(self) -> None:
        self._others = bytearray()  # each key with its length before it
        self._plain: verify.EvenSample[bytes] = verify.EvenSample(MOST_PLAIN)

    def extend(self, record_keys: Sequence[bytes]) -> None:
        others = [key for key in record_keys if key[-2:] not in _PLAIN_ENDS]
        self._plain.extend([key for key in record_keys if key[-2:] in _PLAIN_ENDS] if others else record_keys)
        for key in others:
            if key[-2:] != _HASHED_END:
                self._others += _LENGTH.pack(len(key)) + key

    def add(self, other: "ChangedNames") -> None:
        self._others += other._others
        self._plain.extend(other._plain.items)

    def selection(self, most_plain: int) -> Iterator[bytes]:
        """Yield the key of one row for each name that has to be proved.

        These are all names where a row of a type other than PLAIN_TYPES changed. If at most `most_plain` plain rows
        changed, names with only plain rows are added. Otherwise plain rows are left to the sample that `verify`
        compares byte by byte.
        """
        is_too_much = self._plain.is_partial or len(self._plain.items) > most_plain
        plain = {} if is_too_much else {key[:-2]: key for key in self._plain.items}
        name, at = b"", 0
        while at < len(self._others):
            (length,) = _LENGTH.unpack_from(self._others, at)
            key = bytes(self._others[at + 2 : at + 2 + length])
            at += 2 + length
            if key[:-2] != name:
                name = key[:-2]
                plain.pop(name, None)
                yield key
        yield from plain.values()


def prove_names(  # noqa: PLR0913  # what is asked, where, and for how long
    store: Store,
    record_keys: Iterable[bytes],
    address: str,
    port: int,
    *,
    seconds: float,
    known: Collection[str] = (),
    may_transfer: bool = False,
) -> None:
    """Query the name of each of these rows, except the names in `known`, whose answers are already proved.

    If `may_transfer` is true, zones that have many of these names are transferred instead, because PowerDNS then reads
    all rows of the zone. Raise NotServed for the first name that PowerDNS answers with SERVFAIL, and if no answer
    arrives for `seconds`.
    """
    if may_transfer:
        with Transfers(address, port, seconds=seconds) as transfers:
            record_keys = list(_not_transferred(store, record_keys, transfers))
    questions = _questions(store, record_keys, frozenset(map(names.to_wire, known)))
    under_way: dict[int, bytes] = {}
    id_, heard_at = 0, time.monotonic()
    with verify.connect_socket(address, port) as sock:
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        while True:
            for question in islice(questions, MOST_UNDER_WAY - len(under_way)):
                id_ = (id_ + 1) & 0xFFFF
                under_way[id_] = question
                _send(sock, id_, question)
            if not under_way:
                return
            poll.poll(RETRY_SECONDS * 1000)
            answers = list(_receive_packets(sock))
            for answer in answers:
                answered = under_way.pop(int.from_bytes(answer[:2], "big"), None)
                if answered is not None and answer[3] & 0x0F == dns.rcode.SERVFAIL:
                    raise NotServed(question=_text_of(answered), expected="an answer", found="SERVFAIL")
            if answers:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > seconds:
                raise NotServed(question=_text_of(next(iter(under_way.values()))), expected="an answer", found="none")
            else:  # lost on the way
                for lost, question in under_way.items():
                    _send(sock, lost, question)


def _not_transferred(store: Store, record_keys: Iterable[bytes], transfers: Transfers) -> Iterator[bytes]:
    """Transfer zones that have many of these names. Yield the keys whose names still have to be queried."""
    for prefix, of_zone in groupby(record_keys, key=lambda key: key[:4]):
        together = list(of_zone)
        plain = [key for key in together if key[-2:] in _PLAIN_ENDS]
        zone_id = int.from_bytes(prefix, "big")
        if len(plain) >= FEWEST_TO_TRANSFER and _is_worth_a_transfer(store, zone_id, len(plain)):
            zone_wire = _wire_of_zone(store, zone_id)
            if zone_wire is not None and transfers.is_complete(zone_wire):
                together = [key for key in together if key[-2:] not in _PLAIN_ENDS]
        yield from together


def _is_worth_a_transfer(store: Store, zone_id: int, changed: int) -> bool:
    """Return True if the zone has few unchanged rows, and PowerDNS doesn't sign it or compute answers for it."""
    zone, most = store.zone(zone_id), changed * MOST_ROWS_PER_NAME
    if zone is None or store.signed_zones([zone.name]):
        return False
    ends = [key[-2:] for key, _ in islice(store.rows(zone_id).raw(), most + 1)]
    return len(ends) <= most and _COMPUTED_ENDS.isdisjoint(ends)


def _questions(store: Store, record_keys: Iterable[bytes], known: frozenset[bytes]) -> Iterator[bytes]:
    """Yield the query (name, type and class in wire form) for each row.

    Rows of zones that are not served are skipped, and so are names in `known`.
    """
    zone_wires: dict[bytes, bytes | None] = {}
    for key in record_keys:
        prefix = key[:4]
        if prefix not in zone_wires:
            zone_wires.clear()  # keys come zone by zone
            zone_wires[prefix] = _wire_of_zone(store, int.from_bytes(prefix, "big"))
        zone_wire = zone_wires[prefix]
        if zone_wire is None:
            continue
        rel, type = key[4:-3], int.from_bytes(key[-2:], "big")
        wire = zone_wire
        if rel != keys.APEX:
            for label in rel[:-1].split(b"\0"):
                wire = bytes((len(label),)) + label + wire
        if wire not in known:
            yield wire + (_NO_TYPE if type in _BY_OTHER_TYPE else type).to_bytes(2, "big") + b"\0\1"


def _wire_of_zone(store: Store, zone_id: int) -> bytes | None:
    zone = store.zone(zone_id)
    return names.to_wire(zone.name) if zone is not None and store.zone_id(zone.name) == zone_id else None


def _text_of(question: bytes) -> str:
    return f"{names.from_wire(question[:-4])} {rdata.type_to_text(int.from_bytes(question[-4:-2], 'big'))}"


def _send(sock: socket.socket, id_: int, question: bytes) -> None:
    stats.OWN_QUESTIONS.add()
    with contextlib.suppress(OSError):  # counts as lost on the way
        sock.send(_HEAD.pack(id_, 0, 1, 0, 0, 0) + question)


def _receive_packets(sock: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(OSError):
        while True:
            packet = sock.recv(1500)
            if len(packet) >= 12:
                yield packet
