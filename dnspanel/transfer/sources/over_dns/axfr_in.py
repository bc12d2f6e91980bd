"""Read zones from a running server by zone transfer (AXFR, RFC 5936), over TCP or TLS, optionally with TSIG.

The zones come from a list, a catalog zone or both. `Server` returns one zone, or the changes to it since a serial
(IXFR, RFC 1995).

If the server does not transfer a zone, that zone becomes a fault, and other zones are not affected. If the server
cannot be reached, SourceAway is raised. Each message is converted to text on arrival, so a zone takes little more
memory than its zone file.
"""

import math
import socket
import ssl
import struct
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, count, islice
from typing import TypeVar

import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.tsig

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.allowed_servers import Addresses, every_address
from dnspanel.transfer.documents import Item, SourceFault
from dnspanel.transfer.errors import SourceAway, SourceRefused
from dnspanel.transfer.sources import catalog_members, powerdns
from dnspanel.transfer.sources.over_dns.dns_over_tls import TlsPeer, TlsRefused, over_tls, words
from dnspanel.transfer.sources.over_dns.dns_wire import BadMessage, Message, Record
from dnspanel.transfer.sources.over_dns.ixfr_in import Increment, IncrementReader
from dnspanel.transfer.sources.over_dns.transfer_faults import TIMEOUT, TLS, Broken, NotGiven, refusal
from dnspanel.transfer.sources.over_dns.transfer_tsig import Signatures, TsigKey, key_of, parsed_name
from dnspanel.transfer.sources.prefetch import in_order
from dnspanel.transfer.sources.source_connections import Connections, connect
from dnspanel.transfer.zonefile.writer import ZoneText, wire_text
from replication.dns import names, rdtypes

TIMEOUT_SECONDS = 30.0
WORKERS = 4
MOST_SILENT = 8  # consecutive zones without a response, after which the import stops

_T = TypeVar("_T")


class AxfrSource:
    """One server's zones: those in a list, and the members of a catalog zone if there is one. `total` counts zones."""

    unit = "zones"

    def __init__(  # noqa: PLR0913  # the settings of a source
        self,
        server: str,
        port: int = 53,
        zones: Iterable[str] = (),
        *,
        catalog: str = "",
        tsig: TsigKey | None = None,
        timeout: float = TIMEOUT_SECONDS,
        addresses: Addresses = every_address,
    ) -> None:
        """Prepare to read from a server. `addresses` returns the server's addresses to connect to.

        Each message must arrive within `timeout` seconds. Raise SourceRefused if a zone name or the key is invalid.
        """
        self._server = Server(server, port, key_of(tsig), timeout, addresses)
        self._zones = sorted({parsed_name(zone) for zone in zones})
        self._catalog = parsed_name(catalog) if catalog else ""
        self.total = len(self._zones)
        self.done = 0

    def cut(self) -> None:
        """Abort all transfers."""
        self._server.connections.cut()

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield each zone's catalog groups, and then its document or a fault, without the first `skip` items.

        Zones are sorted by name. Raise SourceRefused if the catalog is refused or invalid. Raise SourceAway if the
        server can't be reached or doesn't respond for MOST_SILENT zones in a row.
        """
        members = self._members()
        self.total, self.done = len(members), 0
        before = 0
        for at, member in enumerate(members):
            if before + len(member.groups) + 1 > skip:
                break
            before += len(member.groups) + 1
            self.done = at + 1
        return islice(self._items(members[self.done :]), skip - before, None)

    def _items(self, members: list[catalog_members.Member]) -> Iterator[Item]:
        transfers = in_order(self._server.zone, (member.zone for member in members), WORKERS)
        silent = 0
        for member, found in zip(members, transfers, strict=True):
            silent = silent + 1 if isinstance(found, SourceFault) and found.code == TIMEOUT else 0
            if silent == MOST_SILENT:
                raise SourceAway(
                    gettext("the server at {host} didn’t send any of {most_silent} zones in time").format(
                        host=self._server.host, most_silent=MOST_SILENT
                    )
                )
            for group in member.groups:
                yield powerdns.kept_metadata(member.zone, "group", group)
            self.done += 1
            yield found

    def _members(self) -> list[catalog_members.Member]:
        listed = [catalog_members.Member(zone) for zone in self._zones]
        if not self._catalog:
            return listed
        try:
            found = catalog_members.members(self._catalog, self._server.records(self._catalog))
        except NotGiven as exc:
            raise SourceRefused(
                gettext("the catalog zone {catalog} couldn’t be read: {exc}").format(catalog=self._catalog, exc=exc)
            ) from exc
        except Broken as exc:
            raise SourceAway(
                gettext("the catalog zone {catalog} couldn’t be read: {exc}").format(catalog=self._catalog, exc=exc)
            ) from exc
        except catalog_members.BadCatalog as exc:
            raise SourceRefused(str(exc)) from exc
        known = {member.zone for member in found}
        return sorted([*found, *(one for one in listed if one.zone not in known)], key=lambda member: member.zone)


@dataclass(frozen=True)
class Server:
    """A server to transfer zones from. Each transfer has its own connection, and ends before `until` (monotonic)."""

    host: str
    port: int
    key: dns.tsig.Key | None
    timeout: float
    addresses: Addresses
    connections: Connections = field(default_factory=Connections)
    until: float = math.inf
    tls: TlsPeer | None = None  # if set, nothing is sent unencrypted

    def zone(self, zone: str) -> Item:
        """Return the zone's document, or a fault if its transfer fails. A transfer that breaks off is tried twice.

        Raise SourceAway if the connection fails, or ServerRefused if the host isn't allowed.
        """
        try:
            return self._twice(lambda: self._text(zone)).document(zone)
        except NotGiven as exc:
            return SourceFault(zone, 0, 0, "", str(exc), exc.code, zone=zone)
        except Broken as exc:
            return SourceFault(zone, 0, 0, "", str(exc), "transfer-broken", zone=zone)

    def all_of(self, zone: str) -> Iterator[Record]:
        """Transfer the zone by AXFR and yield its records, with the SOA first and only once.

        Raise SourceAway if the connection fails, or ServerRefused if the host isn't allowed. Raise NotGiven or
        BadMessage if the server doesn't send a complete, valid zone, signed if `key` is set. Raise Broken if the
        connection breaks or the zone changes during the transfer.
        """
        return self._records(zone)

    def answer(self, query: dns.message.Message) -> Message:
        """Send a query and return the response. If this server has a `key`, the response must be signed.

        Raise NotGiven if the response is late, invalid or has an RCODE other than NOERROR. Raise SourceAway if the
        connection fails, ServerRefused if the host isn't allowed, or Broken if the connection breaks.
        """
        with closing(self._messages(names.parse(query.question[0].name.to_text()), query)) as messages:
            return next(messages)

    def changes_since(self, zone: str, serial: int, most: int) -> Increment | Iterator[Record] | None:
        """Transfer the zone's changes since the serial by IXFR. Return None if they have more than `most` records.

        If the server sends the whole zone (RFC 1995 section 4), return its records as they arrive, like `all_of`. An
        increment without steps means that the server has nothing newer. Raise the same errors as `all_of`.
        """
        query = dns.message.make_query(zone, dns.rdatatype.IXFR, flags=0)
        mname = dns.rdata.from_text(dns.rdataclass.IN, dns.rdatatype.SOA, f". . {serial} 0 0 0 0")
        query.authority.append(dns.rrset.from_rdata(dns.name.from_text(zone), 0, mname))
        messages = self._messages(zone, query)
        message = next(messages)
        records = _answers(message)
        first = _first_soa(zone, records)
        reading = IncrementReader(first, serial)
        while True:
            for record in records:
                if not reading.take(record):
                    return chain([first], self._rest(first, message, chain([record], records), messages))
                if reading.count > most:
                    return None
            if reading.is_complete:
                if self.key is not None and message.signature is None:
                    raise NotGiven("tsig", gettext("the server didn’t sign the end of the changes"))
                return reading.found
            message = next(messages)
            records = _answers(message)

    def records(self, zone: str) -> list[catalog_members.Record]:
        """Return all of the zone's records. Raise the same errors as `all_of`."""
        found = self._twice(lambda: list(self._records(zone)))
        return [catalog_members.Record(one.name, one.type, wire_text(one.type, one.rdata)) for one in found]

    def _twice(self, transfer: Callable[[], _T]) -> _T:
        """Run a transfer and return its result. If it raises Broken, try once more."""
        try:
            return transfer()
        except Broken:
            return transfer()

    def _text(self, zone: str) -> ZoneText:
        text = ZoneText(zone)
        for name, type, ttl, wire in self._records(zone):
            text.add(name, ttl, rdtypes.type_to_text(type), presentation(type, wire))
            if text.is_too_large:
                raise NotGiven(
                    "too-large",
                    gettext("the zone is too large: {titles}").format(titles=import_limits.title("document")),
                )
        return text

    def _records(self, zone: str) -> Iterator[Record]:
        """Yield the zone's records, with the SOA only once. Raise NotGiven or Broken if the zone is incomplete."""
        messages = self._messages(zone)
        message = next(messages)
        records = _answers(message)
        first = _first_soa(zone, records)
        yield first
        yield from self._rest(first, message, records, messages)

    def _rest(
        self, first: Record, message: Message, records: Iterator[Record], messages: Iterator[Message]
    ) -> Iterator[Record]:
        """Yield the records between the two SOA records, from this message and the following ones.

        Raise NotGiven if the transfer ends wrongly, and Broken if the zone changed during the transfer.
        """
        while True:
            for record in records:
                if record.type != rdtypes.SOA or record.name != first.name:
                    yield record
                elif record.rdata != first.rdata:
                    raise Broken(gettext("the zone changed while it was being transferred"))
                elif next(records, None) is not None:
                    raise NotGiven("transfer-incomplete", gettext("records follow the end of the zone"))
                elif self.key is not None and message.signature is None:
                    raise NotGiven("tsig", gettext("the server didn’t sign the end of the zone"))
                else:
                    return
            message = next(messages)
            records = _answers(message)

    def _messages(self, zone: str, query: dns.message.Message | None = None) -> Generator[Message, None, None]:
        """Send the query, by default for AXFR, and yield the response's messages until the caller stops.

        Raise NotGiven unless each message belongs to the response, has the RCODE NOERROR and is signed correctly.
        """
        query = query or dns.message.make_query(zone, dns.rdatatype.AXFR, flags=0)
        if self.key is not None:
            query.use_tsig(self.key)
        wire = query.to_wire()
        signatures = Signatures(self.key, query.mac or b"")
        with self._connect_tcp() as connection:
            with _speaking():
                connection.sendall(struct.pack("!H", len(wire)) + wire)
            for number in count():
                wire = self._receive_message(connection)
                with _decoding():
                    message = Message(wire)
                if message.id != query.id or not message.is_response:
                    raise NotGiven("transfer-incomplete", gettext("the server’s message isn’t an answer"))
                if message.question not in (None, (zone, query.question[0].rdtype)):
                    raise NotGiven("transfer-incomplete", gettext("the server answered a different question"))
                signatures.check(message)
                if message.rcode != dns.rcode.NOERROR:
                    raise refusal(message.rcode)
                if number == 0 and self.key is not None and message.signature is None:
                    raise NotGiven("tsig", gettext("the server didn’t sign its answer"))
                yield message

    def _connect_tcp(self) -> socket.socket:
        """Connect to the server, and start TLS if `tls` is set. Raise the errors of `_start_tls`.

        Also raise SourceAway if the connection fails, or ServerRefused if the host isn't allowed.
        """
        try:
            connection = connect(self.addresses(self.host, self.port), self.port, self.timeout)
        except OSError as exc:
            raise SourceAway(
                gettext("no connection to {host} port {port}: {reason}").format(
                    host=self.host, port=self.port, reason=_reason_of(exc)
                )
            ) from exc
        self.connections.add(connection)
        return connection if self.tls is None else self._start_tls(connection, self.tls)

    def _start_tls(self, connection: socket.socket, peer: TlsPeer) -> socket.socket:
        """Start TLS on the connection. Raise NotGiven if TLS fails or the server's identity is wrong.

        Raise SourceAway if the connection breaks or the server does not respond.
        """
        where = gettext("{host} port {port}").format(host=self.host, port=self.port)
        try:
            secured = over_tls(connection, peer)
        except TlsRefused as exc:
            raise NotGiven(
                TLS, gettext("TLS connection to {where} failed: {reason}").format(where=where, reason=exc)
            ) from exc
        except OSError as exc:
            reason = _reason_of(exc)
            raise SourceAway(
                gettext("TLS connection to {where} failed: {reason}").format(where=where, reason=reason)
            ) from exc
        self.connections.add(secured)
        return secured

    def _receive_message(self, connection: socket.socket) -> bytes:
        """Receive one complete message within `timeout` seconds and before `until`."""
        deadline = min(time.monotonic() + self.timeout, self.until)
        (size,) = struct.unpack("!H", self._bytes(connection, 2, deadline))
        return self._bytes(connection, size, deadline)

    def _bytes(self, connection: socket.socket, size: int, deadline: float) -> bytes:
        out = bytearray()
        while len(out) < size:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            with _speaking():
                part = connection.recv(size - len(out))
            if not part:
                raise Broken(gettext("the server closed the connection before the end of the zone"))
            out += part
        return bytes(out)


@contextmanager
def _decoding() -> Iterator[None]:
    """Convert BadMessage to NotGiven."""
    try:
        yield
    except BadMessage as exc:
        text = gettext("the server didn’t send a DNS message: {exc}").format(exc=exc)
        raise NotGiven("transfer-incomplete", text) from exc


def _answers(message: Message) -> Iterator[Record]:
    """Yield the records of the message's answer section. Raise NotGiven if a record is invalid."""
    with _decoding():
        yield from message.answers()


def _first_soa(zone: str, records: Iterator[Record]) -> Record:
    """Return a response's first record. Raise NotGiven unless it is the zone's SOA."""
    first = next(records, None)
    if first is None or first.type != rdtypes.SOA or first.name != zone:
        raise NotGiven("transfer-incomplete", gettext("the server’s answer doesn’t start with the zone’s SOA record"))
    return first


def _reason_of(exc: OSError) -> str:
    """Return why a connection failed, as a part of a sentence."""
    return gettext("the server didn’t respond") if isinstance(exc, TimeoutError) else exc.strerror or str(exc)


@contextmanager
def _speaking() -> Iterator[None]:
    try:
        yield
    except TimeoutError as exc:
        raise NotGiven(TIMEOUT, gettext("the server didn’t respond in time")) from exc
    except ssl.SSLError as exc:
        raise NotGiven(TLS, gettext("the TLS connection ended: {reason}").format(reason=words(exc))) from exc
    except OSError as exc:
        raise Broken(gettext("the connection was lost: {strerror}").format(strerror=exc.strerror)) from exc


# DNSSEC record types. Most imports leave them out; imports with signatures parse the generic form.
_SYNTHESISED = frozenset({46, 47, 50, 51})


def presentation(type: int, wire: bytes) -> str:
    """Return rdata as zone-file text. RRSIG, NSEC, NSEC3 and NSEC3PARAM use the generic form (RFC 3597)."""
    return f"\\# {len(wire)} {wire.hex()}" if type in _SYNTHESISED else wire_text(type, wire)
