"""One connection per node, one push at a time."""

import threading

import pytest

from dnspanel.fleet.push.connections import Line, lines
from replication.errors import Busy

pytestmark = pytest.mark.django_db


def test_the_client_is_kept_until_address_or_certificate_change() -> None:
    line = Line()
    first = line.client("127.0.0.1", 8533, frozenset({"aa"}))
    assert line.client("127.0.0.1", 8533, frozenset({"aa"})) is first
    second = line.client("127.0.0.1", 8534, frozenset({"aa"}))
    assert second is not first
    assert line.client("127.0.0.1", 8534, frozenset({"bb"})) is not second
    line.close()


def test_each_node_has_its_own_line() -> None:
    assert lines[1] is lines[1]
    assert lines[1] is not lines[2]
    lines.close()


def test_two_pushes_of_one_node_never_run_at_once() -> None:
    line, running, worst = Line(), [0], [0]
    guard = threading.Lock()

    def attempt(_: Line) -> None:
        with guard:
            running[0] += 1
            worst[0] = max(worst[0], running[0])
        threading.Event().wait(0.002)
        with guard:
            running[0] -= 1

    threads = [threading.Thread(target=lambda: [line.push(attempt) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert worst == [1]


def test_a_push_that_fails_frees_the_line() -> None:
    line = Line()

    def fail(_: Line) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        line.push(fail)
    ran: list[Line] = []
    line.push(ran.append)
    assert ran == [line]


def test_a_line_that_is_in_use_answers_requests_afterwards() -> None:
    line = Line()
    ran: list[str] = []
    line.push(lambda _: ran.append("first"))
    with line.held(1):
        line.push(lambda _: ran.append("rung meanwhile"))
        assert ran == ["first"]
    assert ran == ["first", "rung meanwhile"]
    with line.held(1):
        pass
    assert len(ran) == 2, "nobody rang"


def test_a_line_held_by_a_push_is_waited_for_and_not_for_ever() -> None:
    line, begun, done = Line(), threading.Event(), threading.Event()

    def attempt(_: Line) -> None:
        begun.set()
        done.wait(5)

    push = threading.Thread(target=lambda: line.push(attempt))
    push.start()
    begun.wait(5)
    with pytest.raises(Busy), line.held(0.01):
        pass
    done.set()
    with line.held(5):
        pass
    push.join(5)


def test_an_error_while_a_line_is_held_frees_it() -> None:
    line = Line()
    with pytest.raises(RuntimeError), line.held(1):
        raise RuntimeError("a bug")
    with line.held(1):
        pass
