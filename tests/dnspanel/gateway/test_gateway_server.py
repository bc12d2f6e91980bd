"""Tests of the gateway's sockets: UDP and TCP, limits, idle and broken clients, shutdown."""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import dns.message
import dns.query
import dns.rcode
import dns.update
import dns.zone
import pytest
from django.utils import timezone

from dnspanel.gateway import gateway_server
from dnspanel.gateway.gateway_server import Gateway, plain_address
from dnspanel.gateway.rate_limits import Rates
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.gateway.conftest import Key, MakeKey
from tests.dnspanel.zones.conftest import MakeZone

pytestmark = pytest.mark.django_db(transaction=True)

LOOPBACK = "127.0.0.1"


@contextmanager
def running() -> Iterator[int]:
    """Run a gateway and yield its port."""
    with running_gateway() as gateway:
        yield gateway.port


@contextmanager
def running_gateway(*, tls_port: int | None = None) -> Iterator[Gateway]:
    """Run a gateway in a thread, with the real clock."""
    loop = asyncio.new_event_loop()
    gateway = Gateway(LOOPBACK, 0, clock=timezone.now, tls_port=tls_port)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(gateway.start(), loop).result(10)
        yield gateway
        asyncio.run_coroutine_threadsafe(gateway.stop(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def port() -> Iterator[int]:
    with running() as port:
        yield port


def update(key: Key, *, name: str = "new") -> dns.update.UpdateMessage:
    message = dns.update.UpdateMessage("example.test.")
    message.add(name, 60, "A", "192.0.2.77")
    message.use_tsig(key.tsig, algorithm=key.tsig.algorithm)
    return message


def question() -> dns.message.Message:
    return dns.message.make_query("example.test.", "SOA")


@pytest.mark.parametrize("ask", [dns.query.udp, dns.query.tcp])
def test_updates_and_questions_over_both_transports(
    zone: Zone, key: Key, port: int, ask: Callable[..., dns.message.Message]
) -> None:
    assert ask(question(), LOOPBACK, port=port, timeout=5).answer
    assert ask(update(key), LOOPBACK, port=port, timeout=5).rcode() == dns.rcode.NOERROR
    assert Publication.objects.count() == 2
    newest = Publication.objects.latest("sequence")
    assert (newest.address, len(newest.request_id)) == (LOOPBACK, 36), "audited as those of requests are"


def test_many_updates_at_once_lose_nothing(zone: Zone, make_key: MakeKey, port: int) -> None:
    key = make_key("busy.test.")

    def send(number: int) -> None:
        message = dns.update.UpdateMessage("example.test.")
        message.add("pool", 60, "A", f"192.0.2.{number}")
        message.use_tsig(key.tsig)
        dns.query.udp_with_fallback(message, LOOPBACK, port=port, timeout=20)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(1, 31)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(zone.rrsets.get(name="pool.example.test.").rdata) == 30
    assert Publication.objects.count() == 31


def test_one_connection_carries_many_messages(zone: Zone, key: Key, port: int) -> None:
    with socket.create_connection((LOOPBACK, port), timeout=5) as connection:
        for number in range(5):
            reply = dns.query.tcp(update(key, name=f"n{number}"), LOOPBACK, timeout=5, sock=connection)
            assert reply.rcode() == dns.rcode.NOERROR
    assert Publication.objects.count() == 6


def test_a_large_zone_is_transferred_and_is_whole(make_zone: MakeZone, key: Key, port: int) -> None:
    make_zone(*(f"h{number} 300 A 192.0.2.1" for number in range(5000)))
    messages = dns.query.xfr(LOOPBACK, "example.test.", port=port, keyring=key.tsig, timeout=10, relativize=False)
    assert len(dns.zone.from_xfr(messages, relativize=False).nodes) == 5001


def test_a_client_that_leaves_in_the_middle_of_a_transfer_harms_nobody(
    make_zone: MakeZone, key: Key, port: int
) -> None:
    make_zone(*(f"h{number} 300 TXT {'x' * 200}" for number in range(5000)))
    for _ in range(6):
        query = dns.message.make_query("example.test.", "AXFR")
        query.use_tsig(key.tsig)
        wire = query.to_wire()
        with socket.create_connection((LOOPBACK, port), timeout=5) as connection:
            connection.sendall(struct.pack(">H", len(wire)) + wire)
            connection.recv(100)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert dns.query.tcp(question(), LOOPBACK, port=port, timeout=10).answer
    messages = dns.query.xfr(LOOPBACK, "example.test.", port=port, keyring=key.tsig, timeout=10, relativize=False)
    assert len(dns.zone.from_xfr(messages, relativize=False).nodes) == 5001


def test_garbage_and_half_messages_leave_it_answering(zone: Zone, port: int) -> None:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as datagrams:
        for length in range(0, 400, 7):
            datagrams.sendto(bytes(range(256))[:length] * 2, (LOOPBACK, port))
    for start in (b"", b"\0", b"\xff\xff\0", b"\0\0", b"\0\x0cxxxxxxxxxxxx"):
        with socket.create_connection((LOOPBACK, port), timeout=5) as connection:
            connection.sendall(start)
    assert dns.query.udp(question(), LOOPBACK, port=port, timeout=5).answer


def test_who_is_silent_is_cut_off(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_server, "IDLE_SECONDS", 0.2)
    with running() as port, socket.create_connection((LOOPBACK, port), timeout=5) as connection:
        connection.sendall(b"\0")
        assert connection.recv(1) == b""


def is_answered_over_tcp(port: int) -> bool:
    with suppress(EOFError, ConnectionError):
        return bool(dns.query.tcp(question(), LOOPBACK, port=port, timeout=5).answer)
    return False


def test_one_address_has_so_many_connections(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_server, "MAX_CONNECTIONS_OF_ONE", 3)
    with running() as port:
        connections = [socket.create_connection((LOOPBACK, port), timeout=5) for _ in range(3)]
        with socket.create_connection((LOOPBACK, port), timeout=5) as one_more:
            assert one_more.recv(1) == b""
        for connection in connections:
            connection.close()
        deadline = time.monotonic() + 5  # the gateway notices the closed connections a moment later
        while not is_answered_over_tcp(port):
            assert time.monotonic() < deadline


def test_a_flood_is_not_answered_and_is_forgotten(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_server, "PER_SECOND", 10)
    monkeypatch.setattr(gateway_server, "BURST", 5)
    admitted: list[bool] = []
    seconds, real = 0.0, Rates.allows

    def allows(rates: Rates, key: Hashable, *, now: float, **limits: Any) -> bool:
        """Ask the real function with a fixed time."""
        admitted.append(real(rates, key, now=seconds, **limits))
        return admitted[-1]

    monkeypatch.setattr(Rates, "allows", allows)
    with running() as port, socket.socket(type=socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        for _ in range(20):
            client.sendto(question().to_wire(), (LOOPBACK, port))
        assert all(client.recv(512) for _ in range(5))
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(512)
        assert admitted == [True] * 5 + [False] * 15
        seconds = 0.6
        assert dns.query.udp(question(), LOOPBACK, port=port, timeout=5).answer


def test_it_stops_while_a_client_is_connected(zone: Zone) -> None:
    with running() as port:
        connection = socket.create_connection((LOOPBACK, port), timeout=5)
        dns.query.tcp(question(), LOOPBACK, timeout=5, sock=connection)
        began = time.monotonic()
    assert time.monotonic() - began < gateway_server.STOP_SECONDS
    assert connection.recv(1) == b""
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port), timeout=1)


@pytest.mark.parametrize(
    ("text", "address"),
    [("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("2001:db8::1%eth0", "2001:db8::1")],
)
def test_an_address_is_what_the_networks_of_a_token_mean(text: str, address: str) -> None:
    assert plain_address(text) == address
