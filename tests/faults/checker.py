"""Random edits and queries throughout a fault, and finally the assertions of `history`.

    with Checker(stack, panels, seed=7) as checker:
        checker.until_made(20)
        ...the fault...
        checker.until_made(40)
    checker.judge()

`judge` stops the edits, waits until all nodes are at the head, and raises AssertionError with all broken promises.
`without` lists promises that the fault suspends; the test has to give the reason.
"""

import contextlib
import ipaddress
import itertools
import random
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype

from dnspanel.demo.stack import Stack
from replication.store.applying import POSITION_ZONE
from tests.faults import acts, history
from tests.faults.history import PRESENT, Edit, Key, Log, Seen, Value
from tests.faults.panel import ActFailed, Panel, PanelGone
from tests.stack import until

NAMES = ("www", "mail", "a.b.c", "*.wild", "host1", "host2")
TYPES = ("AAAA", "TXT")
ASK_SECONDS = 1.0
WATCH_SECONDS = 0.05
QUIET_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    """A name server to query. `name` is its node's name in the panel."""

    name: str
    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Panels:
    """Panel processes for the three concurrent activities: the test's acts, random edits, and status queries."""

    test: Panel
    edits: Panel
    watch: Panel


def servers_of(stack: Stack) -> list[Server]:
    """Return the stack's three nodes as servers."""
    return [Server(node.name, "127.0.0.1", node.dns_port) for node in stack.nodes]


class Checker:
    """Runs the module's edits and queries. `edits_per_second` is only a target."""

    def __init__(
        self, servers: Sequence[Server], panels: Panels, *, seed: int, zones: int = 2, edits_per_second: float = 25
    ) -> None:
        self.panels = panels
        self.edits: list[Edit] = []
        self.seen: list[Seen] = []
        self.silent: dict[str, float] = {server.name: 0.0 for server in servers}  # longest silence so far, seconds
        self.positions: dict[str, list[Any]] = {}  # each node's position as the panel displays it
        self._chance = random.Random(seed)
        self._zones = [f"c{seed}-{n}.check.test." for n in range(zones)]
        self._pause = 1 / edits_per_second
        self._servers = {server.name: server for server in servers}
        self._stop, self._stop_edits = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._author: threading.Thread | None = None
        self._numbers = itertools.count(1)
        self._first = 0
        self._faults: list[BaseException] = []

    def __enter__(self) -> Self:
        self._first = self.panels.test.do(acts.positions)["head"]
        for zone in self._zones:
            self._edit({(zone, ""): PRESENT}, acts.create_zone, name=zone)
        self._start(self._watch)
        for server in self._servers.values():
            self._start(self._ask, server)
        self._author = self._start(self._write)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.stop()

    # During the fault

    def made(self) -> int:
        """Return the number of acknowledged edits."""
        return sum(edit.sequence is not None for edit in self.edits)

    def until_made(self, number: int, *, seconds: float = 60) -> None:
        """Wait for this total of acknowledged edits. Raise TimeoutError if it takes longer than `seconds`."""
        until(lambda: self.made() >= number or self._ended(), seconds=seconds, what=f"{number} edits")
        if self._faults:
            raise self._faults[0]

    def more(self, number: int, *, seconds: float = 60) -> None:
        """Wait for this number of further edits."""
        self.until_made(self.made() + number, seconds=seconds)

    @property
    def zone(self) -> str:
        """The first of the edited zones."""
        return self._zones[0]

    def wait_until_everywhere(self, sequence: int, *, names: Sequence[str], seconds: float = 60) -> None:
        """Wait until the panel displays these nodes at this sequence or a later one."""

        def there() -> bool:
            nodes = self.panels.test.do(acts.positions)["nodes"]
            return all(nodes[name][1] >= sequence for name in names)

        until(there, seconds=seconds, what=f"sequence {sequence} at {', '.join(names)}")

    def add(self, server: Server) -> None:
        """Start to query this server, too."""
        self._servers[server.name] = server
        self.silent[server.name] = 0.0
        self._start(self._ask, server)

    def stop_edits(self) -> None:
        """Stop the edits, but not the queries."""
        self._stop_edits.set()
        if self._author is not None:
            self._author.join(30)

    def stop(self) -> None:
        """Stop edits and queries."""
        self.stop_edits()
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    # Afterward

    def judge(self, *, seconds: float = QUIET_SECONDS, audit: bool = True, without: str = "") -> None:
        """Stop the edits, wait until all nodes are at the head, and raise AssertionError with all broken promises."""
        try:
            self.stop_edits()
            head = self._quiet(seconds)
            time.sleep(0.2)
        finally:
            self.stop()
        if self._faults:
            raise self._faults[0]
        log = self._log()
        messages = [
            *self._gaps(),
            *history.lost_edits(log, self.edits),
            *history.wrong_in_the_end(log, head, self._final_answers(log)),
            *history.broken(log, self.seen),
        ]
        if audit:
            messages += self._audit()
        kept = [message for message in messages if message[1] not in without]
        assert not kept, "\n".join(kept[:20])
        assert any(self.made() and seen.values for seen in self.seen), "nothing was asked"

    def _quiet(self, seconds: float) -> int:
        """Wait until all active nodes are at the head of the log, and return the head's sequence."""
        found: dict[str, Any] = {}

        def at_head() -> bool:
            found.update(self.panels.test.do(acts.positions))
            return all(is_at_head(found, name) for name in self._servers)

        try:
            until(at_head, seconds=seconds, what="every node at the head of the log")
        except TimeoutError as exc:
            raise AssertionError(f"{exc}; the panel shows {found}") from exc
        return int(found["head"])

    def _log(self) -> Log:
        log = Log(begun={edit.sequence: edit.begun for edit in self.edits if edit.sequence is not None})
        for sequence, zone, kind, name, type_number, value in self.panels.test.do(acts.published, after=self._first):
            if zone not in self._zones:
                continue
            if kind in ("create", "restore"):
                log.create(sequence, zone)
            elif kind == "delete":
                log.delete(sequence, zone)
            elif (type_text := dns.rdatatype.to_text(type_number)) in TYPES:
                log.change(sequence, zone, (name, type_text), value)
        return log

    def _gaps(self) -> list[str]:
        """Return violations of assertion (a): gaps in the log or its segments."""
        found = self.panels.test.do(
            acts.rows,
            sql="SELECT sequence FROM zones_publication WHERE sequence > %s ORDER BY 1",
            parameters=[self._first],
        )
        sequences = [row[0] for row in found]
        expected = list(range(self._first + 1, self._first + 1 + len(sequences)))
        return [] if sequences == expected else [f"(a) the log has a gap after {self._first}: {sequences}"]

    def _final_answers(self, log: Log) -> list[Seen]:
        found = []
        for server in self._servers.values():
            for name, type_text in log.keys():  # noqa: SIM118 - a method of ours, not a mapping's
                if type_text:
                    found.append(_ask(server, name, type_text, self._zone_of(name), floor=0, seconds=5))
        return found

    def _audit(self) -> list[str]:
        try:
            self.panels.test.do(acts.audit)
        except ActFailed as exc:
            return [f"(f) {exc.message}"]
        return []

    # The threads

    def _start(self, run: Any, *facts: Any) -> threading.Thread:
        def guarded() -> None:
            try:
                run(*facts)
            except BaseException as exc:
                self._faults.append(exc)

        thread = threading.Thread(target=guarded, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _ended(self) -> bool:
        return self._author is None or not self._author.is_alive()

    def _write(self) -> None:
        """Publish random edits until stopped. Record failed ones and continue."""
        while not self._stop_edits.wait(self._pause):
            zone = self._chance.choice(self._zones)
            kind = self._chance.choices(("put", "delete", "recreate"), weights=(12, 4, 1))[0]
            if kind == "recreate":
                self._edit({(zone, ""): None}, acts.delete_zone, name=zone)
                self._edit({(zone, ""): PRESENT}, acts.create_zone, name=zone)
            else:
                self._change(zone, f"{self._chance.choice(NAMES)}.{zone}", gone=kind == "delete")

    def _change(self, zone: str, name: str, *, gone: bool) -> None:
        number = next(self._numbers)
        stamp = f'"e{number}"'
        address = str(ipaddress.IPv6Address(f"2001:db8::{number >> 16:x}:{number & 0xFFFF:x}"))
        values: dict[Key, Value] = {
            (name, "AAAA"): None if gone else address,
            (name, "TXT"): None if gone else stamp,
            (f"log.{zone}", "TXT"): stamp,
        }
        texts = {f"{owner} {type_text}": value for (owner, type_text), value in values.items()}
        self._edit(values, acts.change, zone=zone, values=texts)

    def _edit(self, becomes: dict[Key, Value], act: Any, **facts: Any) -> None:
        begun, sequence, refusal = time.monotonic(), None, ""
        try:
            sequence = self.panels.edits.do(act, **facts)["sequence"]
        except (ActFailed, PanelGone) as exc:
            refusal = str(exc)
        self.edits.append(Edit(len(self.edits) + 1, becomes, begun, time.monotonic(), sequence, refusal))

    def _watch(self) -> None:
        """Record the panel's displayed positions until stopped. Without PostgreSQL, the last ones remain."""
        while not self._stop.wait(WATCH_SECONDS):
            with contextlib.suppress(ActFailed, PanelGone):
                self.positions = self.panels.watch.do(acts.positions)

    def _floor(self, node: str) -> int:
        """Return the node's position as the panel displays it, or 0 if it is of another epoch."""
        positions = self.positions
        found = positions.get("nodes", {}).get(node) if positions else None
        return int(found[1]) if found and found[0] == positions["epoch"] else 0

    def _ask(self, server: Server) -> None:
        """Send varied queries to one server until stopped."""
        chance = random.Random(server.name)
        answered = time.monotonic()
        while not self._stop.wait(0.01):
            zone = chance.choice(self._zones)
            name = f"{chance.choice(NAMES)}.{zone}"
            kind = chance.choice(("position", "ANY", "log", *TYPES, *TYPES))
            floor = self._floor(server.name)
            try:
                if kind == "position":
                    seen = _ask_position(server, floor)
                elif kind == "log":
                    seen = _ask(server, f"log.{zone}", "TXT", zone, floor=floor)
                else:
                    seen = _ask(server, name, kind, zone, floor=floor)
            except (dns.exception.DNSException, OSError, EOFError):
                self.silent[server.name] = max(self.silent[server.name], time.monotonic() - answered)
                continue
            self.silent[server.name] = max(self.silent[server.name], time.monotonic() - answered)
            answered = time.monotonic()
            self.seen.append(seen)

    def _zone_of(self, name: str) -> str:
        return next(zone for zone in self._zones if name.endswith(zone))


def _ask(server: Server, name: str, type_text: str, zone: str, *, floor: int, seconds: float = ASK_SECONDS) -> Seen:
    """Send a query and return the answer's values. ANY, which PowerDNS serves over TCP only, shows both types."""
    sent = time.monotonic()
    query = dns.message.make_query(name, type_text)
    over = dns.query.tcp if type_text == "ANY" else dns.query.udp
    reply = over(query, server.address, port=server.port, timeout=seconds)
    rcode = dns.rcode.to_text(reply.rcode())
    types = TYPES if type_text == "ANY" else (type_text,)
    values: dict[Key, Value] = {(zone, ""): None if rcode == "REFUSED" else PRESENT}
    if rcode != "REFUSED":
        found = {dns.rdatatype.to_text(rrset.rdtype): str(rrset[0]) for rrset in reply.answer}
        values |= {(name, each): found.get(each) for each in types}
    return Seen(server.name, sent, values, floor, rcode, answered=time.monotonic())


def _ask_position(server: Server, floor: int) -> Seen:
    sent = time.monotonic()
    query = dns.message.make_query(POSITION_ZONE, "TXT")
    reply = dns.query.udp(query, server.address, port=server.port, timeout=ASK_SECONDS)
    texts = [str(rrset[0]).strip('"') for rrset in reply.answer]
    epoch, _, sequence = texts[0].partition(" sequence=") if texts else ("", "", "")
    position = (epoch, int(sequence)) if sequence.isdecimal() else None
    return Seen(server.name, sent, {}, floor, dns.rcode.to_text(reply.rcode()), position)


def is_at_head(found: dict[str, Any], name: str) -> bool:
    """Return True if `acts.positions` shows the node at the head."""
    return has_acked(found, name, found["head"])


def has_acked(found: dict[str, Any], name: str, sequence: int) -> bool:
    """Return True if `acts.positions` shows that the node has the log up to this sequence. True for an empty log."""
    node = found["nodes"].get(name)
    return bool(node) and sequence <= node[1] <= found["head"] and (node[0] == found["epoch"] or found["head"] == 0)


def answers_at_all(servers: Iterable[Server], *, seconds: float = 0.2) -> bool:
    """Return True if each of these servers answers a query now."""
    for server in servers:
        try:
            query = dns.message.make_query(POSITION_ZONE, "TXT")
            dns.query.udp(query, server.address, port=server.port, timeout=seconds)
        except (dns.exception.DNSException, OSError):
            return False
    return True
