"""Without messages a worker runs what beat would have had it do: its own queues, each task once at a time."""

import threading
from typing import Any

import pytest
from celery import Celery

from dnspanel.processes.without_broker import SILENCE_SECONDS, Poller
from tests.stack import until


@pytest.fixture
def app() -> Celery:
    """Return an application with one task in each of two queues."""
    made = Celery("made", set_as_current=False)
    made.conf.task_routes = {"ours": {"queue": "push"}, "others": {"queue": "bulk"}}
    made.conf.beat_schedule = {
        "ours": {"task": "ours", "schedule": 2.0},
        "others": {"task": "others", "schedule": 2.0},
    }
    return made


@pytest.fixture
def calls(app: Celery) -> list[tuple[str, tuple[Any, ...]]]:
    found: list[tuple[str, tuple[Any, ...]]] = []

    @app.task(name="ours", shared=False)
    def ours(*args: Any) -> None:
        found.append(("ours", args))

    @app.task(name="others", shared=False)
    def others(*args: Any) -> None:
        found.append(("others", args))

    return found


def later(poller: Poller, seconds: float) -> None:
    """Take a step of the poller, this many seconds after it was made."""
    poller._step(poller._received_at + seconds)


def test_while_redis_is_well_and_messages_arrive_nothing_is_run(app: Celery, calls: list[Any]) -> None:
    poller = Poller(app, {"push"})
    later(poller, 1)
    assert not poller.is_at_work
    assert not poller.run_here(app.tasks["ours"], (7,), 0)
    assert calls == []


def test_after_a_silence_the_tasks_of_its_queues_are_run_each_second(app: Celery, calls: list[Any]) -> None:
    poller = Poller(app, {"push"})
    for count, seconds in enumerate((0.1, 1.2, 2.3), 1):
        later(poller, SILENCE_SECONDS + seconds)
        until(lambda count=count: len(calls) == count, seconds=10, what="a call")  # type: ignore[misc]
    assert set(calls) == {("ours", ())}
    poller._note_message()
    poller._step(poller._received_at)
    assert not poller.is_at_work


def test_a_redis_that_is_away_is_noticed_at_once(app: Celery, calls: list[Any], settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    poller = Poller(app, {"push"})
    later(poller, 0)
    assert poller.is_at_work
    until(lambda: calls == [("ours", ())], seconds=10, what="a call")
    assert poller.run_here(app.tasks["ours"], (7,), 0)
    assert poller.run_here(app.tasks["ours"], (8,), 0.05)
    assert not poller.run_here(app.tasks["others"], (), 0)
    until(lambda: sorted(calls) == [("ours", ()), ("ours", (7,)), ("ours", (8,))], seconds=10, what="two calls")


def test_a_task_that_lasts_is_not_begun_twice(app: Celery, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    begun, end = threading.Semaphore(0), threading.Event()

    @app.task(name="ours", shared=False)
    def ours() -> None:
        begun.release()
        end.wait(10)

    poller = Poller(app, {"push"})
    try:
        for seconds in (0, 2, 4):
            later(poller, seconds)
        assert begun.acquire(timeout=10)
        assert not begun.acquire(blocking=False)
    finally:
        end.set()
