"""All questions that a zone can be asked, and comparable answers of a server."""

import random
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import dns.flags
import dns.message
import dns.rrset

from replication.dns import names, rdtypes
from replication.dns.rrset import RRset

SECONDS = 5
# Queried at each name in addition to its own types.
ANY = 255
QUESTIONS = (rdtypes.A, rdtypes.AAAA, rdtypes.NS, rdtypes.DS, rdtypes.SOA, rdtypes.MX, rdtypes.TXT, rdtypes.CNAME, ANY)
QUESTIONS_AT_ENT = (rdtypes.A, rdtypes.NS, rdtypes.DS, ANY)
ABSENT = ("nx-0", "one.two.nx-0", "~~~", "*")
Question = tuple[str, int]
# One line per record: owner, TTL, type, rdata, with names in lowercase.
Section = frozenset[str]


@dataclass(frozen=True)
class Answer:
    """A server's answer without parts that vary between runs: the id and the order of records."""

    rcode: int
    authoritative: bool
    answer: Section
    authority: Section
    additional: Section


def questions(zone: str, rrsets: Iterable[RRset]) -> list[Question]:
    """Return questions for each name (with its own and the usual types), for names above, and for nonexistent names."""
    types: dict[str, set[int]] = {zone: set()}
    for rrset in rrsets:
        types.setdefault(rrset.name, set()).add(rrset.type)
        above = names.parent(rrset.name)
        # Empty non-terminals.
        while above is not None and names.is_within(above, zone) and above not in types:
            types[above] = set()
            above = names.parent(above)
    found = [(name, type) for name, own in types.items() for type in {*own, *(QUESTIONS if own else QUESTIONS_AT_ENT)}]
    for name, own in types.items():
        for absent in _absent_below(name, ABSENT if own else ABSENT[:1]):
            found += [(absent, rdtypes.A), (absent, rdtypes.DS), (absent, ANY)]
    return found


def _absent_below(name: str, prefixes: Iterable[str]) -> Iterator[str]:
    """Yield nonexistent names below this one, which get NXDOMAIN, a wildcard's answer or a referral."""
    for prefix in prefixes:
        below = f"{prefix}.{name}" if name != names.ROOT else f"{prefix}."
        if len(names.to_wire(below)) <= names.MAX_WIRE:
            yield below


class Asker:
    """Queries one server over UDP, and over TCP if the answer is truncated."""

    def __init__(self, port: int) -> None:
        self._address = ("127.0.0.1", port)
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.connect(self._address)
        self._udp.settimeout(SECONDS)

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *exc: object) -> None:
        self._udp.close()

    def ask(self, question: Question, number: int) -> bytes:
        """Return the bytes of the answer to a query with the given id."""
        name, type = question
        query = struct.pack(">6H", number, 0, 1, 0, 0, 0) + names.to_wire(name) + struct.pack(">2H", type, 1)
        self._udp.send(query)
        response = self._udp.recv(65535)
        if response[:2] != query[:2]:
            raise AssertionError(f"the answer to {question} has another id")
        return response if not response[2] & _TC else self._ask_by_tcp(query)

    def _ask_by_tcp(self, query: bytes) -> bytes:
        with socket.create_connection(self._address, timeout=SECONDS) as tcp, tcp.makefile("rb") as stream:
            tcp.sendall(struct.pack(">H", len(query)) + query)
            return stream.read(struct.unpack(">H", stream.read(2))[0])


_TC = 0x02  # in the third byte of a message


def ask_both(theirs: Asker, ours: Asker, question: Question) -> tuple[Answer, Answer]:
    """Ask both servers, and return both answers. Equal responses, the usual case, are parsed only once."""
    number = random.getrandbits(16)
    one, other = theirs.ask(question, number), ours.ask(question, number)
    their_answer = parse(one)
    return their_answer, their_answer if one == other else parse(other)


def parse(wire: bytes) -> Answer:
    """Parse a response into an Answer."""
    return answer_of(dns.message.from_wire(wire))


def answer_of(response: dns.message.Message) -> Answer:
    """Return the comparable parts of a response."""
    return Answer(
        int(response.rcode()),
        bool(response.flags & dns.flags.AA),
        _section(response.answer),
        _section(response.authority),
        _section(response.additional),
    )


def _section(rrsets: list[dns.rrset.RRset]) -> Section:
    return frozenset(
        f"{rrset.name.canonicalize()} {rrset.ttl} {rrset.rdtype} {rdata.to_digestable().hex()}"
        for rrset in rrsets
        for rdata in rrset
    )
