"""Waking a worker: enqueued once, short-lived, and nobody's failure when the broker is away."""

from typing import Any

import pytest
from kombu.exceptions import OperationalError

from dnspanel.wake import LIFETIME, wake, wake_each


class Task:
    """Records what is enqueued; fails from the call on that has this number."""

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
