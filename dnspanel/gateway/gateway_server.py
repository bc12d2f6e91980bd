"""Serve the gateway's sockets: UDP and TCP on one port, and TLS on another port if configured, all with limits.

asyncio handles the connections. A few threads answer the messages, each with its own database connection. A client that
sends too much gets no answer over UDP, where senders can be forged, and is disconnected over TCP.
"""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from ipaddress import IPv6Address, ip_address
from threading import Barrier, BrokenBarrierError
from typing import Any
from uuid import uuid4

from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from dnspanel.accounts.audit import audit
from dnspanel.database.database_away import note
from dnspanel.gateway.answers import answers
from dnspanel.gateway.errors import TlsRefused
from dnspanel.gateway.gateway_tls import Contexts, OverTls, let_in, note_refused_handshake, refusal_of
from dnspanel.gateway.rate_limits import Rates
from dnspanel.secondaries.errors import CertificateRefused

logger = logging.getLogger(__name__)

THREADS = 8
MAX_WAITING = 500  # messages being answered or in the queue
MAX_CONNECTIONS = 600
# NSD fetches 128 zones at once, each over its own connection. A refused one waits until the SOA's retry time.
MAX_CONNECTIONS_OF_ONE = 150
IDLE_SECONDS = 15.0
SEND_SECONDS = 10.0
HANDSHAKE_SECONDS = 10.0
STOP_SECONDS = 5.0
PER_SECOND, BURST = 300, 600  # messages of one address
_LENGTH_BYTES = 2

Clock = Callable[[], datetime]


class Gateway:
    """The gateway's server. It listens from `start` to `stop`."""

    def __init__(self, host: str, port: int, *, clock: Clock, tls_port: int | None = None) -> None:
        self.host, self.port, self.tls_port = host, port, tls_port
        self._clock = clock
        self._rates = Rates()
        self._threads = ThreadPoolExecutor(THREADS, "gateway")
        self._waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()  # one for each datagram or connection
        self._answering: set[asyncio.Task[None]] = set()  # the tasks that don't wait for a client
        self._connections: Counter[str] = Counter()
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None
        self._tls: socket.socket | None = None
        self._contexts = Contexts()

    async def start(self) -> None:
        """Listen on the ports, and store the system's choice for port 0. Raise OSError if a port can't be opened."""
        loop = asyncio.get_running_loop()
        self._tcp = await asyncio.start_server(self._serve_connection, self.host, self.port, backlog=128)
        self.port = self._tcp.sockets[0].getsockname()[1]
        family = self._tcp.sockets[0].family
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._on_datagram), local_addr=(self.host, self.port), family=family
        )
        self._udp = transport
        _enlarge_buffer(transport.get_extra_info("socket"))
        if self.tls_port is not None:
            self._tls = socket.create_server((self.host, self.tls_port), family=family, backlog=128)
            self._tls.setblocking(False)  # noqa: FBT003  # it takes no names
            self.tls_port = self._tls.getsockname()[1]
            self._keep(asyncio.create_task(self._accept_tls(self._tls)))
        logger.info("listening host=%s port=%d tls_port=%s", self.host, self.port, self.tls_port or "none")

    async def stop(self) -> None:
        """Stop accepting connections, end idle ones, and wait up to STOP_SECONDS for answers that are in progress."""
        if self._tcp is not None:
            self._tcp.close()
        for task in self._tasks - self._answering:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
        for task in self._tasks:
            task.cancel()
        if self._udp is not None:
            self._udp.close()
        if self._tls is not None:
            self._tls.close()
        await asyncio.get_running_loop().run_in_executor(None, self._end_threads)

    # UDP

    def _on_datagram(self, wire: bytes, sender: tuple[Any, ...]) -> None:
        if self._admits(plain_address(sender[0])):
            self._waiting += 1
            self._keep(asyncio.ensure_future(self._answer_datagram(wire, sender)))

    async def _answer_datagram(self, wire: bytes, sender: tuple[Any, ...]) -> None:
        loop = asyncio.get_running_loop()
        assert self._udp is not None
        udp = self._udp

        def send(reply: bytes) -> None:
            loop.call_soon_threadsafe(udp.sendto, reply, sender)

        await self._answer(wire, plain_address(sender[0]), send, over_tcp=False)

    # TCP

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._keep(task)
        address = plain_address(writer.get_extra_info("peername")[0])
        with closing(writer), self._count_connection(address) as is_let_in:
            if is_let_in:
                await self._converse(reader, writer, address)

    @contextmanager
    def _count_connection(self, address: str) -> Iterator[bool]:
        """Count a connection during the block. Yield True if the limits allow it. Suppress errors of a disconnect."""
        self._connections[address] += 1
        try:
            # The client has gone, is silent, or doesn't read its answer: it can't be notified.
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                of_one, all_of_them = self._connections[address], self._connections.total()
                yield of_one <= MAX_CONNECTIONS_OF_ONE and all_of_them <= MAX_CONNECTIONS
        finally:
            self._connections[address] -= 1
            self._connections += Counter()  # drop the zeros

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, tls: OverTls | None = None
    ) -> None:
        """Answer messages one after another until the client disconnects, is silent for too long or exceeds a limit."""
        loop = asyncio.get_running_loop()

        async def write(reply: bytes) -> None:
            writer.write(len(reply).to_bytes(_LENGTH_BYTES, "big") + reply)
            await asyncio.wait_for(writer.drain(), SEND_SECONDS)

        def send(reply: bytes) -> None:
            asyncio.run_coroutine_threadsafe(write(reply), loop).result(SEND_SECONDS * 2)

        while self._tcp is not None and self._tcp.is_serving():
            async with asyncio.timeout(IDLE_SECONDS):
                length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES), "big")
                wire = await reader.readexactly(length)
            if not self._admits(address):
                return
            self._waiting += 1
            await self._answer(wire, address, send, over_tcp=True, tls=tls)

    # TLS

    async def _accept_tls(self, listening: socket.socket) -> None:
        """Accept TLS connections until the gateway stops. A connection keeps the TLS context that it started with."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, (host, *_) = await loop.sock_accept(listening)
            except OSError as exc:  # no file descriptor is left until other connections end
                logger.error("no connection is taken: %s", exc)
                await asyncio.sleep(1)
                continue
            self._keep(asyncio.create_task(self._serve_tls(connection, plain_address(host))))

    async def _serve_tls(self, connection: socket.socket, address: str) -> None:
        context = None
        with self._count_connection(address) as is_let_in:
            try:
                if is_let_in and self._admits(address):
                    loop = asyncio.get_running_loop()
                    context = await loop.run_in_executor(self._threads, self._current_context)
            finally:
                if context is None:
                    connection.close()
            if context is not None and (found := await self._handshake(connection, address, context)) is not None:
                reader, writer, tls = found
                with closing(writer):
                    await self._converse(reader, writer, address, tls)

    async def _handshake(
        self, connection: socket.socket, address: str, context: ssl.SSLContext
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, OverTls] | None:
        """Return an accepted client's streams and its OverTls. For other clients, return None.

        A refusal is recorded, unless the client gave up. Raise OSError if the connection breaks.
        """
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=context, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except ssl.SSLError as exc:
            refusal = refusal_of(exc)
        else:
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            try:
                return reader, writer, let_in(writer.get_extra_info("ssl_object"))
            except TlsRefused as exc:
                writer.close()
                refusal = exc
        if refusal is not None:
            await loop.run_in_executor(self._threads, self._note_refusal, refusal, address)
        return None

    def _current_context(self) -> ssl.SSLContext | None:
        """Return the current TLS context. On an error, log it and return None. Runs in a thread."""
        close_old_connections()
        try:
            return self._contexts.current(self._clock())
        except (CertificateRefused, OSError, DatabaseError, InterfaceError) as exc:
            logger.error("no TLS: %s", exc)
            return None
        finally:
            close_old_connections()

    def _note_refusal(self, refusal: TlsRefused, address: str) -> None:
        """Record a refused handshake. Runs in a thread."""
        close_old_connections()
        try:
            note_refused_handshake(refusal, address, self._clock())
        except (DatabaseError, InterfaceError) as exc:
            note(f"a handshake of {address}", exc)
        finally:
            close_old_connections()

    # All

    def _admits(self, address: str) -> bool:
        now = asyncio.get_running_loop().time()
        return self._waiting < MAX_WAITING and self._rates.allows(address, now=now, per_second=PER_SECOND, burst=BURST)

    async def _answer(
        self, wire: bytes, address: str, send: Callable[[bytes], None], *, over_tcp: bool, tls: OverTls | None = None
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            work = partial(self._work, wire, address, send, tls, over_tcp=over_tcp)
            await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._answering.discard(task)
            self._waiting -= 1

    def _work(
        self, wire: bytes, address: str, send: Callable[[bytes], None], tls: OverTls | None, *, over_tcp: bool
    ) -> None:
        """Compute the answer and send it. Runs in a thread.

        Raise OSError if the client has gone or doesn't read the answer. All other errors are only logged.
        """
        close_old_connections()
        try:
            # Closed here, because an aborted transfer must end its transaction in this thread.
            with (
                audit.coming_from(audit.Origin(address, str(uuid4()))),
                closing(answers(wire, address=address, over_tcp=over_tcp, now=self._clock(), tls=tls)) as replies,
            ):
                for reply in replies:
                    send(reply)
        except (OSError, TimeoutError):
            raise
        except Exception:
            logger.exception("no answer to a message from=%s bytes=%d", address, len(wire))
        finally:
            close_old_connections()

    def _end_threads(self) -> None:
        """Make each thread close its own database connection and exit. Other threads aren't allowed to close it."""
        everyone = Barrier(THREADS)  # so that each thread takes one of these jobs

        def close() -> None:
            connection.close()
            with suppress(BrokenBarrierError):
                everyone.wait(STOP_SECONDS)

        for _ in range(THREADS):
            self._threads.submit(close)
        self._threads.shutdown()

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, on_datagram: Callable[[bytes, tuple[Any, ...]], None]) -> None:
        self._on_datagram = on_datagram

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self._on_datagram(data, addr)


def plain_address(text: str) -> str:
    """Return an address without its zone index. Convert an IPv4-mapped address to IPv4, as in tokens' networks."""
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _enlarge_buffer(sock: socket.socket) -> None:
    """Enlarge the receive buffer, so that it has room for a burst of datagrams while all threads are busy."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
