"""Queries to name servers over a network that loses packets."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from dnspanel.transfer.cutover.dns_probe import Server, ask
from replication.dns import rdtypes

Reply = Callable[[dns.message.Message, int], list[dns.message.Message]]


def answer_to(query: dns.message.Message, text: str = "192.0.2.1") -> dns.message.Message:
    response = dns.message.make_response(query)
    response.flags |= dns.flags.AA
    response.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "A", text))
    return response


def sockets_of_one_port() -> tuple[socket.socket, socket.socket]:
    """Return a UDP and a TCP socket on the same port. Retries, because a free UDP port may be in use for TCP."""
    for _ in range(50):
        udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
        try:
            udp.bind(("127.0.0.1", 0))
            tcp.bind(udp.getsockname())
        except OSError:
            udp.close()
            tcp.close()
        else:
            return udp, tcp
    raise OSError("no port is free for both UDP and TCP")


@contextmanager
def server(reply: Reply, tcp: Callable[[dns.message.Message], dns.message.Message] | None = None) -> Iterator[Server]:
    """Run a name server on loopback. `reply` receives each query and the number of earlier queries for its name."""
    udp, listener = sockets_of_one_port()
    udp.settimeout(0.05)
    listener.listen()
    listener.settimeout(0.05)
    stop = threading.Event()
    queries: dict[str, int] = {}

    def serve() -> None:
        while not stop.is_set():
            try:
                packet, peer = udp.recvfrom(4096)
            except TimeoutError:
                continue
            query = dns.message.from_wire(packet)
            name = query.question[0].name.to_text()
            queries[name] = queries.get(name, 0) + 1
            for response in reply(query, queries[name]):
                udp.sendto(response.to_wire(), peer)

    def serve_tcp() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                size = int.from_bytes(connection.recv(2), "big")
                assert tcp is not None
                wire = tcp(dns.message.from_wire(connection.recv(size))).to_wire(max_size=65535)
                connection.sendall(len(wire).to_bytes(2, "big") + wire)

    threads = [threading.Thread(target=serve), threading.Thread(target=serve_tcp)]
    for thread in threads:
        thread.start()
    try:
        yield Server("s", *udp.getsockname())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        udp.close()
        listener.close()


def test_every_answer_belongs_to_its_question_whatever_the_order() -> None:
    pending: list[dns.message.Message] = []

    def reply(query: dns.message.Message, _: int) -> list[dns.message.Message]:
        number = int(str(query.question[0].name).split(".")[0][1:])
        pending.append(answer_to(query, f"192.0.2.{number}"))
        return [pending.pop(0) for _ in range(len(pending))][::-1] if len(pending) == 10 else []

    questions = [(f"n{number}.test.", rdtypes.A) for number in range(100)]
    with server(reply) as one:
        [answers] = ask([one], questions, in_flight=20)
    for (name, type_), answer in zip(questions, answers, strict=True):
        found = answer.at(name, type_)
        assert found is not None
        assert found.rdata == {bytes((192, 0, 2, int(name.split(".")[0][1:])))}
        assert answer.is_authoritative


def test_lost_packets_are_sent_again() -> None:
    with server(lambda query, times: [answer_to(query)] if times == 3 else []) as one:
        [answers] = ask([one], [(f"n{number}.test.", rdtypes.A) for number in range(50)], try_seconds=0.25)
    assert [answer.rcode for answer in answers] == [0] * 50


def test_a_silent_server_is_given_up_and_does_not_hold_up_others() -> None:
    questions = [("a.test.", rdtypes.A), ("b.test.", rdtypes.A)]
    started = time.monotonic()
    with server(lambda *_: []) as silent, server(lambda query, _: [answer_to(query)]) as well:
        by_silent, by_well = ask([silent, well], questions, try_seconds=0.05)
    assert [answer.rcode for answer in by_silent] == [None, None]
    assert by_silent[0].failure == "no answer"
    assert [answer.rcode for answer in by_well] == [0, 0]
    assert time.monotonic() - started < 5


def test_a_closed_port_is_explained() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    [[answer]] = ask([Server("s", "127.0.0.1", port)], [("a.test.", rdtypes.A)], try_seconds=0.05)
    assert (answer.rcode, answer.failure) == (None, "Connection refused")


def test_what_is_cut_short_is_sent_over_tcp() -> None:
    def cut(query: dns.message.Message, _: int) -> list[dns.message.Message]:
        response = dns.message.make_response(query)
        response.flags |= dns.flags.TC
        return [response]

    with server(cut, tcp=answer_to) as one:
        [[answer]] = ask([one], [("a.test.", rdtypes.A)])
    assert answer.at("a.test.", rdtypes.A) is not None


def test_an_answer_to_another_question_is_not_taken() -> None:
    def forged(query: dns.message.Message, _: int) -> list[dns.message.Message]:
        other = dns.message.make_query("other.test.", "A")
        other.id = query.id
        return [answer_to(other, "192.0.2.66"), answer_to(query)]

    with server(forged) as one:
        [[answer]] = ask([one], [("a.test.", rdtypes.A)])
    assert answer.at("a.test.", rdtypes.A) is not None
    assert answer.at("other.test.", rdtypes.A) is None


@pytest.mark.parametrize("in_flight", [7, 200])
def test_no_more_questions_are_under_way_than_agreed(in_flight: int) -> None:
    under_way = 0
    most = 0
    lock = threading.Lock()
    waiting: list[dns.message.Message] = []

    def reply(query: dns.message.Message, _: int) -> list[dns.message.Message]:
        nonlocal under_way, most
        with lock:
            waiting.append(query)
            most = max(most, len(waiting))
            # No query is answered before all allowed queries are in progress, or the last ones have arrived.
            if len(waiting) < min(in_flight, 300 - under_way):
                return []
            under_way += len(waiting)
            answers = [answer_to(each) for each in waiting]
            waiting.clear()
            return answers

    with server(reply) as one:
        [answers] = ask([one], [(f"n{number}.test.", rdtypes.A) for number in range(300)], in_flight=in_flight)
    assert {answer.rcode for answer in answers} == {int(dns.rcode.NOERROR)}
    assert most == in_flight


def test_who_may_not_know_is_not_told_why_a_server_does_not_answer() -> None:
    """Otherwise a comparison would tell a member which ports of any host are closed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    told, untold = (Server("closed", "127.0.0.1", port, is_described=is_described) for is_described in (True, False))
    answers = ask([told, untold], [("a.test.", rdtypes.A)], try_seconds=0.01)
    assert [answer.failure for [answer] in answers] == ["Connection refused", "no answer"]
