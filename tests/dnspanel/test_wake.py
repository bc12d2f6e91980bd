"""Tests of waking a worker: a task is enqueued once and soon expires, and a missing broker is no error."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kombu.exceptions import OperationalError

from dnspanel import wake as wake_module
from dnspanel.wake import LIFETIME, answer_before_waking, wake, wake_each, wake_soon


class Task:
    """A task that records its calls. If `error` is given, every call after the first `fails_at` ones raises it."""

    name = "some.task"

    def __init__(self, *, error: Exception | None = None, fails_at: int = 0) -> None:
        self.calls: list[tuple[tuple[int, ...], dict[str, Any]]] = []
        self._error, self._fails_at = error, fails_at

    def apply_async(self, args: tuple[int, ...], **options: Any) -> None:
        self.calls.append((args, options))
        if self._error is not None and len(self.calls) > self._fails_at:
            raise self._error


def test_a_task_is_enqueued_once_and_forgotten_soon() -> None:
    task = Task()
    assert wake(task, 7)
    assert wake(task, countdown=2, lifetime=60)
    assert task.calls == [
        ((7,), {"countdown": 0, "expires": LIFETIME, "retry": False}),
        ((), {"countdown": 2, "expires": 62, "retry": False}),
    ]


@pytest.mark.parametrize("error", [OperationalError("connection refused"), ConnectionResetError("gone")], ids=str)
def test_a_dead_broker_is_logged_and_no_error(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    assert not wake(Task(error=error), 7)
    assert caplog.messages == [f"cannot wake a worker for some.task, beat will find the work: {error}"]


def test_an_error_that_is_not_the_brokers_is_not_hidden() -> None:
    with pytest.raises(TypeError):
        wake(Task(error=TypeError("no such argument")), 7)


def test_a_broker_that_dies_is_not_tried_again_for_each() -> None:
    task = Task(error=OperationalError("connection refused"), fails_at=2)
    wake_each(task, [1, 2, 3, 4, 5], countdown=1)
    assert [args for args, _ in task.calls] == [(1,), (2,), (3,)]
    assert {options["expires"] for _, options in task.calls} == {LIFETIME + 1}


@pytest.fixture
def by_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Wake workers from a thread, as in a web process."""
    monkeypatch.setattr(wake_module, "_by_thread", False)
    answer_before_waking()
    yield
    wake_module._thread().shutdown(wait=True)
    wake_module._thread.cache_clear()


class SlowTask(Task):
    """A task whose broker is slow."""

    def __init__(self, **fails: Any) -> None:
        super().__init__(**fails)
        self.begun, self.may_go_on = threading.Semaphore(0), threading.Semaphore(0)

    def apply_async(self, args: tuple[int, ...], **options: Any) -> None:
        self.begun.release()
        self.may_go_on.acquire(timeout=10)
        super().apply_async(args, **options)


def test_elsewhere_soon_is_at_once() -> None:
    task = Task()
    wake_soon(task)
    assert [args for args, _ in task.calls] == [()]


@pytest.mark.usefixtures("by_thread")
def test_nobody_waits_for_the_broker_and_no_request_is_lost() -> None:
    task = SlowTask()
    wake_soon(task)
    assert task.begun.acquire(timeout=10)
    assert task.calls == [], "it is under way"
    for _ in range(3):
        wake_soon(task)  # the message in progress may be too early for new work
    for _ in range(2):
        task.may_go_on.release()
    assert task.begun.acquire(timeout=10)
    wake_module._thread().submit(lambda: None).result(10)
    assert [args for args, _ in task.calls] == [(), ()], "three requests were one message"


@pytest.mark.usefixtures("by_thread")
@pytest.mark.parametrize("error", [OperationalError("connection refused"), TypeError("a bug")], ids=str)
def test_after_a_failure_the_next_request_is_sent(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    task = Task(error=error)
    for calls in (1, 2):
        wake_soon(task)
        wake_module._thread().submit(lambda: None).result(10)
        assert len(task.calls) == calls
    assert len([message for message in caplog.messages if "cannot wake a worker for some.task" in message]) == 2
