"""Send many DNS queries to several servers at once.

Queries are sent over UDP with EDNS. A lost query is sent again, and a truncated answer is fetched over TCP. The number
of open queries is limited, to avoid overloading a production server.
"""

import contextlib
import secrets
import select
import socket
import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rdataclass
import dns.rrset

from dnspanel.texts import gettext, gettext_noop
from replication.dns import names
from replication.verify import encode_question

MOST_IN_FLIGHT = 200
TRIES = 3
TRY_SECONDS = 1.0
TCP_SECONDS = 4.0
_TCP_AT_ONCE = 8
_PACKETS_AT_ONCE = 1000

_SILENCE = gettext_noop("no answer")

Question = tuple[str, int]  # name and type


@dataclass(frozen=True, slots=True)
class Server:
    """A server to query. `name` is its name in messages.

    `is_described` is False if people must not learn why the server doesn't answer. They could otherwise use the panel
    to find the open ports of any host.
    """

    name: str
    address: str
    port: int = 53
    is_described: bool = True

    def silence(self, reason: str) -> "Answer":
        """Return the Answer for a server that didn't reply. It contains the reason only if `is_described`."""
        return Answer(None, failure=reason if self.is_described else gettext(_SILENCE))


@dataclass(frozen=True, slots=True)
class Found:
    """An RRset in an answer, with rdata in canonical wire form."""

    name: str
    type: int
    ttl: int
    rdata: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer to one query. If the server didn't answer, `rcode` is None and `failure` is the reason."""

    rcode: int | None
    is_authoritative: bool = False
    found: tuple[Found, ...] = ()
    authority: tuple[Found, ...] = ()
    additional: tuple[Found, ...] = ()
    failure: str = ""

    def at(self, name: str, type: int) -> Found | None:
        """Return the RRset with this name and type in the answer section, or None if it isn't there."""
        return next((each for each in self.found if each.name == name and each.type == type), None)


def ask(
    servers: Sequence[Server],
    questions: Sequence[Question],
    *,
    in_flight: int = MOST_IN_FLIGHT,
    try_seconds: float = TRY_SECONDS,
) -> list[list[Answer]]:
    """Send every query to every server. Return one list of answers per server, in the order of the queries."""
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(_Line(server, questions)) for server in servers]
        _exchange(lines, max(1, in_flight // max(1, len(lines))), try_seconds)
        return _answers(lines, questions)


class _Line:
    """The exchange with one server: the unanswered queries, and the received packets."""

    def __init__(self, server: Server, questions: Sequence[Question]) -> None:
        self.server = server
        self.packets: list[bytes | None] = [None] * len(questions)
        self.failure = ""
        self._questions = questions
        self._first_id = secrets.randbelow(1 << 16)
        self._waiting: deque[tuple[int, int]] = deque((number, TRIES) for number in range(len(questions)))
        self._sent: dict[int, tuple[int, int, float]] = {}  # id → (number, tries left, deadline)

    def __enter__(self) -> "_Line":
        family = socket.AF_INET6 if ":" in self.server.address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setblocking(False)  # noqa: FBT003  # takes no keywords
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        try:
            self.socket.connect((self.server.address, self.server.port))
        except OSError as exc:
            self.failure = exc.strerror or str(exc)
            self._waiting.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @property
    def is_done(self) -> bool:
        return not self._waiting and not self._sent

    def send(self, most: int, now: float, try_seconds: float) -> None:
        """Resend lost queries that have tries left, then send new ones, until `most` queries are open."""
        for id_ in [id_ for id_, (_, _, until) in self._sent.items() if until <= now]:
            number, tries, _ = self._sent.pop(id_)
            if tries > 1:
                self._waiting.appendleft((number, tries - 1))
        while self._waiting and len(self._sent) < most:
            number, tries = self._waiting.popleft()
            id_ = (self._first_id + number) & 0xFFFF
            if id_ in self._sent:
                self._waiting.appendleft((number, tries))
                return
            name, type_ = self._questions[number]
            with contextlib.suppress(OSError):  # counts as a lost packet
                self.socket.send(encode_question(id_, name, type_))
            self._sent[id_] = (number, tries, now + try_seconds)

    def receive(self) -> None:
        """Read arrived packets, at most _PACKETS_AT_ONCE, so that a fast server can't delay the others."""
        for _ in range(_PACKETS_AT_ONCE):
            try:
                packet = self.socket.recv(65535)
            except BlockingIOError:
                return
            except OSError as exc:  # no server listens on the port; the tries run out
                self.failure = exc.strerror or str(exc)
                return
            sent = self._sent.get(int.from_bytes(packet[:2], "big"))
            if sent is not None and self._fits(packet, sent[0]):
                del self._sent[int.from_bytes(packet[:2], "big")]
                self.packets[sent[0]] = packet

    def _fits(self, packet: bytes, number: int) -> bool:
        """Return True if the packet answers the query with this number, and not a query from an earlier round.

        A packet without a question section also fits. It means that the server couldn't parse the query.
        """
        name, type_ = self._questions[number]
        question = names.to_wire(name) + type_.to_bytes(2, "big")
        return packet[12 : 12 + len(question)].lower() == question.lower() or packet[4:6] == b"\0\0"


def _exchange(lines: Sequence[_Line], most: int, try_seconds: float) -> None:
    poll = select.poll()
    by_number = {line.socket.fileno(): line for line in lines}
    for number in by_number:
        poll.register(number, select.POLLIN)
    while not all(line.is_done for line in lines):
        now = time.monotonic()
        for line in lines:
            line.send(most, now, try_seconds)
        for number, _ in poll.poll(try_seconds * 100):
            by_number[number].receive()


def _answers(lines: Sequence[_Line], questions: Sequence[Question]) -> list[list[Answer]]:
    """Parse the packets into answers, identical ones only once, and fetch truncated answers over TCP."""
    found: list[list[Answer]] = [[] for _ in lines]
    cut_short: list[tuple[int, int]] = []
    for number in range(len(questions)):
        read: dict[bytes, Answer] = {}
        for at, line in enumerate(lines):
            packet = line.packets[number]
            if packet is None:
                found[at].append(line.server.silence(line.failure or _SILENCE))
                continue
            if packet[2] & 0x02:
                cut_short.append((at, number))
            body = packet[2:]
            if body not in read:
                read[body] = _read(packet)
            answer = read[body]
            found[at].append(answer if answer.rcode is not None else line.server.silence(answer.failure))
    if cut_short:
        with ThreadPoolExecutor(_TCP_AT_ONCE) as pool:
            by_tcp = pool.map(lambda each: _ask_by_tcp(lines[each[0]].server, questions[each[1]]), cut_short)
            for (at, number), answer in zip(cut_short, by_tcp, strict=True):
                found[at][number] = answer
    return found


def _ask_by_tcp(server: Server, question: Question) -> Answer:
    try:
        query = dns.message.from_wire(encode_question(1, *question))
        return answer_of(dns.query.tcp(query, server.address, TCP_SECONDS, server.port, ignore_trailing=True))
    except (dns.exception.DNSException, OSError, EOFError) as exc:
        return server.silence(
            gettext("truncated over UDP, TCP failed: {reason}").format(reason=str(exc) or exc.__class__.__name__)
        )


def _read(packet: bytes) -> Answer:
    try:
        return answer_of(dns.message.from_wire(packet, ignore_trailing=True, raise_on_truncation=False))
    except dns.exception.DNSException as exc:
        return Answer(None, failure=gettext("unreadable answer: {exc}").format(exc=exc))


def answer_of(message: dns.message.Message) -> Answer:
    """Convert a DNS message to an Answer with comparable values."""
    return Answer(
        rcode=int(message.rcode()),
        is_authoritative=bool(message.flags & dns.flags.AA),
        found=_section(message.answer),
        authority=_section(message.authority),
        additional=_section(message.additional),
    )


def _section(rrsets: Iterable[dns.rrset.RRset]) -> tuple[Found, ...]:
    return tuple(
        Found(
            names.from_wire(rrset.name.to_digestable()),
            int(rrset.rdtype),
            rrset.ttl,
            frozenset(item.to_digestable() for item in rrset),
        )
        for rrset in rrsets
        if rrset.rdclass == dns.rdataclass.IN
    )
