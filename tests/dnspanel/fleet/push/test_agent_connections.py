"""Tests of agent connections: one connection and one push at a time for each node."""

import threading

import pytest

from dnspanel.fleet.push.agent_connections import AgentConnection, connections
from replication.errors import Busy

pytestmark = pytest.mark.django_db


def test_the_client_is_kept_until_address_or_certificate_change() -> None:
    connection = AgentConnection()
    first = connection.client("127.0.0.1", 8533, frozenset({"aa"}))
    assert connection.client("127.0.0.1", 8533, frozenset({"aa"})) is first
    second = connection.client("127.0.0.1", 8534, frozenset({"aa"}))
    assert second is not first
    assert connection.client("127.0.0.1", 8534, frozenset({"bb"})) is not second
    connection.close()


def test_each_node_has_its_own_connection() -> None:
    assert connections[1] is connections[1]
    assert connections[1] is not connections[2]
    connections.close()


def test_two_pushes_of_one_node_never_run_at_once() -> None:
    connection, running, worst = AgentConnection(), [0], [0]
    guard = threading.Lock()

    def attempt(_: AgentConnection) -> None:
        with guard:
            running[0] += 1
            worst[0] = max(worst[0], running[0])
        threading.Event().wait(0.002)
        with guard:
            running[0] -= 1

    threads = [threading.Thread(target=lambda: [connection.push(attempt) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert worst == [1]


def test_a_push_that_fails_frees_the_connection() -> None:
    connection = AgentConnection()

    def fail(_: AgentConnection) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        connection.push(fail)
    ran: list[AgentConnection] = []
    connection.push(ran.append)
    assert ran == [connection]


def test_a_connection_that_is_in_use_answers_requests_afterwards() -> None:
    connection = AgentConnection()
    ran: list[str] = []
    connection.push(lambda _: ran.append("first"))
    with connection.reserve(1):
        connection.push(lambda _: ran.append("requested meanwhile"))
        assert ran == ["first"]
    assert ran == ["first", "requested meanwhile"]
    with connection.reserve(1):
        pass
    assert len(ran) == 2, "nobody asked for one"


def test_a_connection_used_by_a_push_is_waited_for_and_not_for_ever() -> None:
    connection, begun, done = AgentConnection(), threading.Event(), threading.Event()

    def attempt(_: AgentConnection) -> None:
        begun.set()
        done.wait(5)

    push = threading.Thread(target=lambda: connection.push(attempt))
    push.start()
    begun.wait(5)
    with pytest.raises(Busy), connection.reserve(0.01):
        pass
    done.set()
    with connection.reserve(5):
        pass
    push.join(5)


def test_an_error_while_a_line_is_held_frees_it() -> None:
    connection = AgentConnection()
    with pytest.raises(RuntimeError), connection.reserve(1):
        raise RuntimeError("a bug")
    with connection.reserve(1):
        pass


def test_a_connection_that_was_taken_is_nobody_elses_and_requests_are_kept() -> None:
    connection, ran = AgentConnection(), []
    assert connection.take(lambda _: ran.append("by take"))
    assert not connection.take(lambda _: ran.append("by the second"))
    connection.push(lambda _: ran.append("by push"))
    assert ran == []
    assert connection.let_go(), "two pushes were requested meanwhile"
    assert connection.take(lambda _: None)
    assert not connection.let_go(), "they are for the one who was told"


def test_whoever_cannot_take_a_connection_is_served_by_its_holder() -> None:
    connection, ran = AgentConnection(), []
    with connection.reserve(1):
        assert not connection.take(lambda _: ran.append("once it is free"))
    assert ran == ["once it is free"]
