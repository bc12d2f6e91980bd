"""The gateway's sockets: UDP and TCP on one port, everything bounded.

asyncio holds the connections; each message is answered in one of a few
threads, each with a database connection of its own. Who sends too much is
not answered over UDP, where senders can be forged, and cut off over TCP.
"""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import datetime
from ipaddress import IPv6Address, ip_address
from threading import Barrier, BrokenBarrierError
from typing import Any
from uuid import uuid4

from django.db import close_old_connections, connection

from dnspanel.accounts import audit
from dnspanel.gateway.answers import answers
from dnspanel.gateway.limits import Rates

logger = logging.getLogger(__name__)

THREADS = 8
MAX_WAITING = 500  # messages under way or in the queue
MAX_CONNECTIONS = 300
MAX_CONNECTIONS_OF_ONE = 50
IDLE_SECONDS = 15.0
SEND_SECONDS = 10.0
STOP_SECONDS = 5.0
PER_SECOND, BURST = 300, 600  # messages of one address
_LENGTH_BYTES = 2

Clock = Callable[[], datetime]


class Gateway:
    """Listens between `start` and `stop`."""

    def __init__(self, host: str, port: int, *, clock: Clock) -> None:
        self.host, self.port = host, port
        self._clock = clock
        self._rates = Rates()
        self._threads = ThreadPoolExecutor(THREADS, "gateway")
        self._waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()  # a datagram or a connection each
        self._answering: set[asyncio.Task[None]] = set()  # those of them that wait for no client
        self._connections: Counter[str] = Counter()
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None

    async def start(self) -> None:
        """Both sockets listen on the host's port; port 0 becomes a free one. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._tcp = await asyncio.start_server(self._serve_connection, self.host, self.port, backlog=128)
        self.port = self._tcp.sockets[0].getsockname()[1]
        family = self._tcp.sockets[0].family
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self._on_datagram), local_addr=(self.host, self.port), family=family
        )
        self._udp = transport
        _enlarge_buffer(transport.get_extra_info("socket"))
        logger.info("listening host=%s port=%d", self.host, self.port)

    async def stop(self) -> None:
        """Nothing new is accepted; what is under way is finished, as far as it does not take long."""
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
        self._connections[address] += 1
        try:
            if self._connections[address] <= MAX_CONNECTIONS_OF_ONE and self._connections.total() <= MAX_CONNECTIONS:
                # Gone, silent, or not taking what it asked for: in each case there is nobody to tell.
                with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                    await self._converse(reader, writer, address)
        finally:
            self._connections[address] -= 1
            self._connections += Counter()  # forget the zeros
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str) -> None:
        """Answer one message after the other until the client leaves or is silent for too long."""
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
            await self._answer(wire, address, send, over_tcp=True)

    # Both

    def _admits(self, address: str) -> bool:
        now = asyncio.get_running_loop().time()
        return self._waiting < MAX_WAITING and self._rates.allows(address, now=now, per_second=PER_SECOND, burst=BURST)

    async def _answer(self, wire: bytes, address: str, send: Callable[[bytes], None], *, over_tcp: bool) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._work, wire, address, send, over_tcp)
        finally:
            self._answering.discard(task)
            self._waiting -= 1

    def _work(self, wire: bytes, address: str, send: Callable[[bytes], None], over_tcp: bool) -> None:
        """In a thread: find the answer and send it. A bug costs one answer, never the process."""
        close_old_connections()
        try:
            # Closed here and now, because a transfer that breaks off must end its transaction in this thread.
            with (
                audit.coming_from(audit.Origin(address, str(uuid4()))),
                closing(answers(wire, address=address, over_tcp=over_tcp, now=self._clock())) as replies,
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
        """Every thread closes its own database connection, because no other one may."""
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
    """The address that a token's networks mean: without a zone index, and IPv4 as IPv4."""
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _enlarge_buffer(sock: socket.socket) -> None:
    """Room for a burst of datagrams while all threads are busy."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
