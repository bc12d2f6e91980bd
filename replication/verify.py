"""Verify PowerDNS's answers over DNS against the rows that it must serve.

Only authoritative rows that PowerDNS answers directly from the row can be compared. Names at and below delegations, and
the types that live signing generates, are not compared. A deleted RRset is compared if no wildcard can answer for it.
For a name inside another served zone, the rows of that zone are the expected answer, whatever the parent zone contains.

Answers for ALIAS and LUA are computed. `computed_questions` returns the queries for them. `find_unanswered` checks only
that PowerDNS answered, because only the resolver or the code determines the right answer. A missing answer is no reason
to reject a push. Otherwise the name servers of one customer's ALIAS target could stop all changes of all zones.
"""

import contextlib
import secrets
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from replication import stats
from replication.codec import keys, values
from replication.dns import names, rdata, rdtypes
from replication.dns.plain_answer import is_plainly
from replication.errors import BadRdata, NotServed
from replication.store.store import Store
from replication.wire.operations import ZoneMark
from replication.wire.protocol import Unanswered

# At most this many RRsets and zones of one push are queried. If there are more, an even selection is queried.
MAX_QUESTIONS = 64
# If more zones were touched than are purged by name, this many of each are enough.
FEW_QUESTIONS = 16
# A lost query is sent again after this time.
RETRY_SECONDS = 0.05
# The mark of the agent's own questions: the traffic class "lower effort" (RFC 8622), which changes nothing on the node.
OWN_TRAFFIC_CLASS = 4
# A computed answer can take longer, because the resolver has to query other servers first.
COMPUTED_RETRY_SECONDS = 0.3

_HEADER = struct.Struct(">HHHHHH")
_TAIL = struct.Struct(">HH")
# EDNS with room for 1232 bytes, which is also where PowerDNS truncates.
_OPT = b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0)
_OPT_DNSSEC = b"\0" + struct.pack(">HHIH", 41, 1232, 0x8000, 0)  # with DO
_COMPUTED = frozenset((rdtypes.ALIAS, rdtypes.LUA))
_NOT_COMPARABLE = frozenset((values.ENT, 46, 47, 48, 50, 51, 59, 60)) | _COMPUTED

T = TypeVar("T")


class EvenSample(Generic[T]):
    """At most `limit` items of a stream of any length, evenly spread over the stream."""

    def __init__(self, limit: int = MAX_QUESTIONS) -> None:
        self._limit, self._every, self._seen = limit, 1, 0
        self.items: list[T] = []

    @property
    def is_partial(self) -> bool:
        """True if the stream had more items than are kept."""
        return self._every > 1

    def add(self, item: T) -> None:
        self.extend((item,))

    def extend(self, items: Sequence[T]) -> None:
        """Add these items to the end of the stream. The cost depends on the number of kept items, not of all items."""
        if self._every == 1 and len(self.items) + len(items) <= self._limit:
            self.items += items
            self._seen += len(items)
            return
        at = -self._seen % self._every
        while at < len(items):
            if len(self.items) == self._limit:
                self.items = self.items[::2]
                self._every *= 2
                at += -(self._seen + at) % self._every
                continue
            self.items.append(items[at])
            at += self._every
        self._seen += len(items)


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expected RRset, in wire form. If `rdata` is empty, the answer must not contain the RRset.

    `answered_by` is the zone that answers, if it isn't the zone in which the RRset was published.
    """

    name: str
    type: int
    ttl: int = 0
    rdata: frozenset[bytes] = frozenset()
    answered_by: str = ""

    def __str__(self) -> str:
        text = f"{self.name} {rdata.type_to_text(self.type)}"
        return f"{text} (answered by zone {self.answered_by})" if self.answered_by else text

    def difference(self, answer: dns.message.Message) -> str | None:
        """Describe how the answer differs from the expected RRset, or return None if both are equal."""
        found = rrset_in(answer, self.name, self.type)
        if not self.rdata:
            return None if found is None else f"{len(found)} records"
        if answer.rcode() != dns.rcode.NOERROR:
            return dns.rcode.to_text(answer.rcode())
        if found is None:
            return "no such RRset"
        if not answer.flags & dns.flags.AA:
            return "an answer without authority"
        if found.ttl != self.ttl:
            return f"TTL {found.ttl} instead of {self.ttl}"
        answered = frozenset(item.to_wire() or b"" for item in found)
        # A compressed name has the capitals of the name that it points to.
        if answered != self.rdata and _fold_wires(self.type, answered) != _fold_wires(self.type, self.rdata):
            return "other records: " + ", ".join(sorted(item.to_text() for item in found))[:200]
        return None


def _fold_wires(type: int, wires: Iterable[bytes]) -> frozenset[str]:
    """Convert rdata to text with lowercase names, or to hex if it is unreadable."""
    found = set()
    for wire in wires:
        try:
            found.add(rdata.fold(type, rdata.from_wire(type, wire)))
        except BadRdata:
            found.add(wire.hex())
    return frozenset(found)


def expectations(store: Store, marks: Iterable[ZoneMark], record_keys: Iterable[bytes]) -> Iterator[Expectation]:
    """Yield the expected SOA of each marked zone, and the expected RRset of each key, from the store's rows.

    A missing zone must have no SOA. Keys of rows that can't be compared are skipped.
    """
    requested: set[tuple[str, int]] = set()
    zones: dict[int, str | None] = {}  # the zone of each id that PowerDNS finds by the zone's name
    for mark in marks:
        zone_id = store.zone_id(mark.name)
        if zone_id is None:
            yield Expectation(mark.name, rdtypes.SOA)
            continue
        zones[zone_id] = mark.name
        if (body := store.rows(zone_id).get(keys.APEX, rdtypes.SOA)) is not None:
            requested.add((mark.name, rdtypes.SOA))
            yield _expected_row(mark.name, rdtypes.SOA, body)
    for key in record_keys:
        zone_id, rel, type = keys.decode_record_key(key)
        if zone_id not in zones:
            zones[zone_id] = _served_name(store, zone_id)
        zone = zones[zone_id]
        if zone is None or type in _NOT_COMPARABLE:
            continue
        name = keys.name_from_relative_key(rel, zone)
        if (name, type) in requested:
            continue
        requested.add((name, type))
        expected = _expectation_of_row(store, zone, zone_id, name, rel, type)
        if expected is not None:
            yield expected


@dataclass(frozen=True, slots=True)
class ComputedQuestion:
    """An ALIAS or LUA record, and the types to query in order to check PowerDNS's answers for it."""

    key: bytes  # of its row
    zone: str
    name: str
    type: int
    types: tuple[int, ...]  # to query

    def problem(self, answers: Mapping[int, dns.message.Message]) -> str:
        """Return the problem with these answers (by queried type), or "" if they are correct."""
        for type in self.types:
            if type not in answers:
                suspect = "resolver" if self.type == rdtypes.ALIAS else "code"
                return f"no answer for {rdata.type_to_text(type)}: the {suspect} may be too slow"
            rcode = answers[type].rcode()
            if rcode == dns.rcode.SERVFAIL and self.type == rdtypes.ALIAS:
                return "SERVFAIL: its target cannot be resolved"
            if rcode == dns.rcode.NXDOMAIN and self.type == rdtypes.LUA:
                return "its code is not run: LUA is off"  # such a PowerDNS finds nothing at the name
            if rcode != dns.rcode.NOERROR:
                return dns.rcode.to_text(rcode)
        if any(rrset_in(answer, self.name, type) or answer.flags & dns.flags.TC for type, answer in answers.items()):
            return ""
        if self.type == rdtypes.LUA:
            return f"its code answers nothing for {rdata.type_to_text(self.types[0])}"
        # PowerDNS that follows an ALIAS to a target without addresses sends no SOA along.
        is_followed = not any(answer.authority for answer in answers.values())
        return "its target has no addresses" if is_followed else "it is not followed: no resolver is set up"


def computed_questions(store: Store, record_keys: Iterable[bytes]) -> Iterator[ComputedQuestion]:
    """Yield the queries for the ALIAS and LUA records among these rows. Records that are not served are skipped."""
    for key in record_keys:
        zone_id, rel, type = keys.decode_record_key(key)
        if type not in _COMPUTED or (zone := _served_name(store, zone_id)) is None:
            continue
        name = keys.name_from_relative_key(rel, zone)
        body = store.rows(zone_id).get(rel, type)
        if body is None or _zone_inside(store, name, zone) is not None:
            continue
        records = values.decode_records(body)
        if records[0].auth:
            yield ComputedQuestion(key, zone, name, type, _types_answered(type, records))


def is_computed(record_key: bytes) -> bool:
    """Return True if this is the key of an ALIAS or LUA row."""
    return keys.decode_record_key(record_key)[2] in _COMPUTED


def _types_answered(type: int, records: Sequence[values.StoredRecord]) -> tuple[int, ...]:
    """Return the types that PowerDNS answers instead of this type. LUA rdata begins with the answered type."""
    if type == rdtypes.ALIAS:
        return rdtypes.A, rdtypes.AAAA
    return tuple(sorted({int.from_bytes(record.content[:2], "big") for record in records}))


def find_unanswered(
    questions: Sequence[ComputedQuestion], address: str, port: int, *, seconds: float
) -> dict[bytes, Unanswered]:
    """Return the records that PowerDNS doesn't answer correctly within `seconds`, keyed by row key."""
    answers: dict[bytes, dict[int, dns.message.Message]] = {question.key: {} for question in questions}
    requested = [(question, type) for question in questions for type in question.types]
    waiting = dict(enumerate(requested, start=secrets.randbelow(1 << 15)))
    deadline = time.monotonic() + seconds
    with connect_socket(address, port) as sock:
        while waiting and time.monotonic() < deadline:
            for id_, (question, type) in waiting.items():
                stats.OWN_QUESTIONS.add()
                _send(sock, encode_question(id_, question.name, type))
            retry_at = min(deadline, time.monotonic() + COMPUTED_RETRY_SECONDS)
            while waiting and (packet := _receive(sock, retry_at)) is not None:
                answered = waiting.pop(int.from_bytes(packet[:2], "big"), None)
                if answered is not None:
                    with contextlib.suppress(dns.exception.DNSException):
                        message = dns.message.from_wire(packet, ignore_trailing=True, raise_on_truncation=False)
                        answers[answered[0].key][answered[1]] = message
    found = ((question, question.problem(answers[question.key])) for question in questions)
    return {
        question.key: Unanswered(question.zone, question.name, rdata.type_to_text(question.type), problem)
        for question, problem in found
        if problem
    }


def _served_name(store: Store, zone_id: int) -> str | None:
    """Return the name of the zone with this id. Return None if it is missing or another zone now has its name."""
    zone = store.zone(zone_id)
    return zone.name if zone is not None and store.zone_id(zone.name) == zone_id else None


def _expectation_of_row(store: Store, zone: str, zone_id: int, name: str, rel: bytes, type: int) -> Expectation | None:
    """Return the expected answer for a row, present or absent. Return None if rows alone don't determine it."""
    if (answering := _zone_inside(store, name, zone)) is not None:
        return _expectation_of_zone(store, answering, name, type)
    rows = store.rows(zone_id)
    body = rows.get(rel, type)
    if body is not None:
        return _expected_row(name, type, body) if values.decode_records(body)[0].auth else None
    if not rows.at(rel) and _wildcard_covers(store, zone_id, rel):
        return None
    return Expectation(name, type)


def _expected_row(name: str, type: int, body: bytes) -> Expectation:
    records = values.decode_records(body)
    return Expectation(name, type, records[0].ttl, frozenset(record.content for record in records))


def _expectation_of_zone(store: Store, zone: str, name: str, type: int) -> Expectation | None:
    """Return this zone's expected answer for a name in its parent zone, or None if rows don't determine it.

    If this zone lacks the name, a DNAME or a wildcard can answer.
    """
    zone_id, rel = store.zone_id(zone), keys.relative_key(name, zone)
    assert zone_id is not None
    types = {each for each, _ in store.rows(zone_id).at(rel)}
    if not types or types & _COMPUTED:
        return None
    if type == rdtypes.DS and name == zone:  # answered by the parent zone (RFC 4035 3.1.4.1)
        return None
    expected = _expectation_of_row(store, zone, zone_id, name, rel, type)
    return None if expected is None else replace(expected, answered_by=zone)


def _zone_inside(store: Store, name: str, zone: str) -> str | None:
    """Return the closest zone at or above a name inside `zone`, or None if that is `zone` itself."""
    at: str | None = name
    while at is not None and at != zone:
        if store.zone_id(at) is not None:
            return at
        at = names.parent(at)
    return None


def _wildcard_covers(store: Store, zone_id: int, rel: bytes) -> bool:
    """Return True if a wildcard can answer for a missing name."""
    rows = store.rows(zone_id)
    return any(rows.at(keys.wildcard_below(above)) for above in keys.ancestors(rel))


def verify(expected: Sequence[Expectation], address: str, port: int, *, seconds: float) -> None:
    """Query all expected RRsets. Raise NotServed for the first answer that differs or doesn't arrive.

    All queries are sent at once over UDP. Lost queries are sent again. If an answer doesn't fit into UDP, its query is
    repeated over TCP.
    """
    waiting = dict(enumerate(expected, start=secrets.randbelow(1 << 15)))
    deadline = time.monotonic() + seconds
    with connect_socket(address, port) as sock:
        while waiting:
            for id_, expectation in waiting.items():
                stats.OWN_QUESTIONS.add()
                _send(sock, encode_question(id_, expectation.name, expectation.type))
            retry_at = min(deadline, time.monotonic() + RETRY_SECONDS)
            while waiting and (packet := _receive(sock, retry_at)) is not None:
                _take_answer(packet, waiting, address, port, deadline)
            if waiting and time.monotonic() >= deadline:
                question = next(iter(waiting.values()))
                raise NotServed(question=str(question), expected="an answer", found="none")


def ask(
    address: str, port: int, name: str, type: int, seconds: float = 1.0, *, dnssec: bool = False
) -> dns.message.Message:
    """Send a query and return the answer, over TCP if it doesn't fit into UDP. Raise NotServed without a valid one."""
    deadline = time.monotonic() + seconds
    id_ = secrets.randbelow(1 << 16)
    with connect_socket(address, port) as sock:
        while time.monotonic() < deadline:
            _send(sock, encode_question(id_, name, type, dnssec=dnssec))
            retry_at = min(deadline, time.monotonic() + RETRY_SECONDS * 4)
            while (packet := _receive(sock, retry_at)) is not None:
                if packet[:2] == id_.to_bytes(2, "big"):
                    return _full_message(packet, name, type, address, port, deadline, dnssec=dnssec)
    raise NotServed(question=f"{name} {rdata.type_to_text(type)}", expected="an answer", found="none")


def encode_question(id_: int, name: str, type: int, *, dnssec: bool = False) -> bytes:
    """Encode a query with EDNS as resolvers send it, or if `dnssec` is True, as validating resolvers do."""
    head = _HEADER.pack(id_ & 0xFFFF, 0, 1, 0, 0, 1)
    return head + names.to_wire(name) + _TAIL.pack(type, 1) + (_OPT_DNSSEC if dnssec else _OPT)


def connect_socket(address: str, port: int) -> socket.socket:
    """Connect a non-blocking UDP socket to a PowerDNS. Its packets have the mark of the agent's own questions."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    level, option = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if ":" in address else (socket.IPPROTO_IP, socket.IP_TOS)
    sock.setsockopt(level, option, OWN_TRAFFIC_CLASS)
    sock.connect((address, port))
    sock.setblocking(False)  # noqa: FBT003  # it takes no names
    return sock


def _send(sock: socket.socket, packet: bytes) -> None:
    """Send a packet if the kernel accepts it. Otherwise the packet counts as lost and is sent again later."""
    with contextlib.suppress(OSError):
        sock.send(packet)


def _receive(sock: socket.socket, until: float) -> bytes | None:
    """Return the next packet, or None once `until` has passed. Ignore errors such as a refused connection."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        if poll.poll(left * 1000):
            try:
                return sock.recv(4096)
            except OSError:
                time.sleep(min(left, 0.005))
    return None


def _take_answer(packet: bytes, waiting: dict[int, Expectation], address: str, port: int, deadline: float) -> None:
    """Remove the query that this packet answers from `waiting`. Raise NotServed if the answer differs or is invalid."""
    id_ = int.from_bytes(packet[:2], "big")
    expectation = waiting.get(id_)
    if expectation is None:
        return
    if is_plainly(packet, expectation.name, expectation.type, expectation.ttl, expectation.rdata):
        del waiting[id_]
        return
    answer = _full_message(packet, expectation.name, expectation.type, address, port, deadline)
    difference = expectation.difference(answer)
    if difference is not None:
        expectation_text = f"{len(expectation.rdata)} records" if expectation.rdata else "no such RRset"
        raise NotServed(question=str(expectation), expected=expectation_text, found=difference)
    del waiting[id_]


def _full_message(  # noqa: PLR0913  # the parts of a question to a server
    packet: bytes, name: str, type: int, address: str, port: int, deadline: float, *, dnssec: bool = False
) -> dns.message.Message:
    question = f"{name} {rdata.type_to_text(type)}"
    try:
        message = dns.message.from_wire(packet, ignore_trailing=True, raise_on_truncation=False)
        if not message.flags & dns.flags.TC:
            return message
        query = dns.message.from_wire(encode_question(message.id, name, type, dnssec=dnssec))
        return dns.query.tcp(query, address, timeout=max(0.1, deadline - time.monotonic()), port=port)
    except (dns.exception.DNSException, OSError, EOFError) as exc:
        raise NotServed(question=question, expected="an answer", found=str(exc) or exc.__class__.__name__) from exc


def rrset_in(answer: dns.message.Message, name: str, type: int) -> dns.rrset.RRset | None:
    """Return an answer's RRset with this name and type, or None if the answer doesn't contain it."""
    owner, _ = dns.name.from_wire(names.to_wire(name), 0)
    for rrset in answer.answer:
        if rrset.rdtype == type and rrset.rdclass == dns.rdataclass.IN and rrset.name == owner:
            return rrset
    return None
