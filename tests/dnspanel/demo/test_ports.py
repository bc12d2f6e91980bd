"""Tests of port choice: chosen ports are free and distinct."""

import socket
from collections.abc import Iterator

import pytest

from dnspanel.demo import ports


@pytest.fixture(params=[socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["tcp", "udp"])
def taken_port(request: pytest.FixtureRequest) -> Iterator[int]:
    with socket.socket(socket.AF_INET, request.param) as sock:
        sock.bind((ports.LOOPBACK, 0))
        if request.param == socket.SOCK_STREAM:
            sock.listen()
        yield sock.getsockname()[1]


def test_a_port_that_somebody_listens_on_is_not_free(taken_port: int) -> None:
    assert not ports.is_free(taken_port)
    assert not ports.wait_until_free(taken_port, seconds=0)


def test_the_preferred_port_is_taken_if_it_can_be_had() -> None:
    free = ports.choose(taken=set())
    assert ports.choose(taken=set(), preferred=free) == free


def test_a_preferred_port_that_is_in_use_gives_way_to_another(taken_port: int) -> None:
    assert ports.choose(taken=set(), preferred=taken_port) in ports.RANGE


def test_a_port_is_not_chosen_twice() -> None:
    free = ports.choose(taken=set())
    assert ports.choose(taken={free}, preferred=free) != free


def test_the_complaint_names_the_port_and_what_to_do() -> None:
    sentence = str(ports.PortTaken(8000, "the web page", instead="set PANEL_PORT to another port"))
    assert sentence == "Port 8000 (the web page) is in use by another program; set PANEL_PORT to another port."
