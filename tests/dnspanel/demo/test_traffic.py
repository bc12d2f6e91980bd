"""Tests of the demo's background queries: bounded, on loopback only, for existing and missing names."""

import random
import socket
from collections.abc import Iterator

import dns.message
import pytest

from dnspanel.demo import traffic
from dnspanel.demo.sample import SampleZone
from replication.dns import rdtypes, rrset

ZONE = SampleZone(
    name="example.test.",
    rrsets=(
        rrset.make("www.example.test.", rdtypes.A, 300, ["192.0.2.1"]),
        rrset.make("*.example.test.", rdtypes.TXT, 300, ['"any"']),
    ),
)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(1)
        yield sock


def trickle(server: socket.socket) -> traffic.Trickle:
    port = server.getsockname()[1]
    return traffic.Trickle(port, phase=0.25, questions=traffic.questions_for([ZONE]), chance=random.Random(1))


def test_the_rate_stays_within_its_bounds() -> None:
    rates = [traffic.rate(second, phase=0.3) for second in range(200)]
    assert min(rates) >= traffic.LOWEST
    assert max(rates) <= traffic.HIGHEST
    assert max(rates) - min(rates) > 20


def test_a_wildcard_is_asked_by_a_name_below_it() -> None:
    queried = [str(dns.message.from_wire(wire).question[0].name) for wire in traffic.questions_for([ZONE]).existing]
    assert queried == ["www.example.test.", "any-1.example.test."]


def test_a_step_sends_what_is_due(server: socket.socket) -> None:
    with trickle(server) as one:
        sent = one.step(now=0.0, elapsed=0.5)
        received = [dns.message.from_wire(server.recv(512)) for _ in range(sent)]
    assert sent == int(traffic.rate(0.0, phase=0.25) / 2)
    assert all(str(message.question[0].name).endswith("example.test.") for message in received)


def test_a_long_pause_is_not_made_up_for(server: socket.socket) -> None:
    with trickle(server) as one:
        assert one.step(now=0.0, elapsed=3600.0) <= traffic.HIGHEST


def test_a_node_that_is_down_does_not_stop_the_trickle(server: socket.socket) -> None:
    with trickle(server) as one:
        server.close()
        for now in range(3):
            one.step(now=float(now), elapsed=1.0)
