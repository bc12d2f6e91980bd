"""Clients that haven't authenticated yet: a flood of them harms only such clients."""

import contextlib
import socket
from collections.abc import Callable, Iterator

import pytest

from replication.agent.strangers import (
    MOST,
    MOST_KNOWN,
    OF_KNOWN_NETWORK,
    OF_ONE_NETWORK,
    Strangers,
    network_of,
)

Arrive = Callable[[str], socket.socket]


@pytest.fixture
def strangers() -> Strangers:
    return Strangers()


@pytest.fixture
def arrive(strangers: Strangers) -> Iterator[Arrive]:
    """Return a function that opens a connection from an address and keeps its other end open."""
    with contextlib.ExitStack() as open_sockets:

        def arrive(address: str) -> socket.socket:
            ours, theirs = socket.socketpair()
            open_sockets.enter_context(ours)
            open_sockets.enter_context(theirs)
            ours.settimeout(0)
            strangers.add(ours, address)
            return ours

        yield arrive


def is_cut(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False


def test_the_oldest_of_a_network_gives_way_to_its_next_one(strangers: Strangers, arrive: Arrive) -> None:
    other = arrive("198.51.100.1")
    first, *rest = [arrive("192.0.2.1") for _ in range(OF_ONE_NETWORK + 1)]
    assert is_cut(first)
    assert not any(map(is_cut, [other, *rest]))
    assert len(strangers) == OF_ONE_NETWORK + 1


def test_in_a_full_house_the_oldest_of_all_gives_way(strangers: Strangers, arrive: Arrive) -> None:
    came = [arrive(f"192.0.2.{number}") for number in range(MOST + 3)]
    assert [is_cut(one) for one in came] == [True] * 3 + [False] * MOST
    assert len(strangers) == MOST


def test_a_flood_takes_nothing_from_an_address_where_the_panel_was_known(strangers: Strangers, arrive: Arrive) -> None:
    strangers.remove(arrive("203.0.113.9"), known=True)
    of_panel = [arrive("203.0.113.9") for _ in range(OF_KNOWN_NETWORK)]
    flood = [arrive(f"192.0.2.{number}") for number in range(100)]
    assert not any(map(is_cut, of_panel))
    assert sum(map(is_cut, flood)) == 100 - (MOST - OF_KNOWN_NETWORK)


def test_only_a_few_addresses_stay_known(strangers: Strangers, arrive: Arrive) -> None:
    for number in range(MOST_KNOWN + 1):
        strangers.remove(arrive(f"203.0.113.{number}"), known=True)
    of_forgotten = [arrive("203.0.113.0") for _ in range(OF_ONE_NETWORK + 1)]
    of_known = [arrive("203.0.113.1") for _ in range(OF_ONE_NETWORK + 1)]
    assert [is_cut(of_forgotten[0]), is_cut(of_known[0])] == [True, False]


def test_who_was_cut_and_who_has_left_can_be_removed_again(strangers: Strangers, arrive: Arrive) -> None:
    first = arrive("192.0.2.1")
    first.close()
    for _ in range(OF_ONE_NETWORK):
        arrive("192.0.2.1")
    strangers.remove(first, known=True)
    assert len(strangers) == OF_ONE_NETWORK


def test_a_network_is_an_ipv4_address_or_half_an_ipv6_one() -> None:
    assert network_of("192.0.2.1") == network_of("::ffff:192.0.2.1") != network_of("::ffff:192.0.2.2")
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1") != network_of("2001:db8:0:1::1")
    assert network_of("fe80::1%eth0") == network_of("fe80::2")
