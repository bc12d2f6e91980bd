"""Write the heartbeats of Celery's workers, and record the outcomes of their periodic tasks.

A worker is working while its event loop turns. In a pool with one thread, the loop stops during a task, which can
legitimately take long. Every loop also stops while Redis is unreachable. In both cases, the worker counts as working.
"""

import logging
import time
from datetime import datetime
from typing import Any

from celery.signals import task_failure, task_success, worker_ready, worker_shutdown
from celery.worker import state
from django.utils import timezone

from dnspanel.celery import take_met
from dnspanel.fleet.processes.alive import Alive, Turns
from dnspanel.fleet.processes.beats import Load
from dnspanel.fleet.processes.periodic import Outcomes, record_outcomes
from dnspanel.processes.redis_health import redis_problem

TURN_EVERY = 5.0
TURNS_WITHIN = 30.0

logger = logging.getLogger(__name__)
outcomes = Outcomes()
_alive: "WorkerLife | None" = None


class WorkerLife:
    """The heartbeats of one worker. They start only once, even if the worker reconnects to Redis."""

    def __init__(self, consumer: Any) -> None:
        self._turns = Turns()
        self._places = int(consumer.pool.limit or 1)
        self._first_seen: dict[str, datetime] = {}
        consumer.hub.timer.call_repeatedly(TURN_EVERY, self._turns.mark)
        queues = sorted(consumer.app.amqp.queues.consume_from)
        self._life = Alive(*queues, is_working=self.is_working, load=self.load, also=_write_outcomes)
        self._life.start()

    def stop(self) -> None:
        self._life.stop()

    def is_working(self) -> bool:
        if self._turns.is_recent(TURNS_WITHIN) or (self._places == 1 and _requests()):
            return True
        if redis_problem() is not None:
            self._turns.mark()  # the loop has time to turn again once Redis is back
            return True
        logger.error("this worker takes no tasks: its event loop has not turned for %.0f s", TURNS_WITHIN)
        return False

    def load(self, now: datetime) -> Load:
        """Return the worker's load. A task's age counts from the first call that found the task."""
        requests = {str(request.id): str(request.name) for request in _requests()}
        self._first_seen = {task_id: self._first_seen.get(task_id, now) for task_id in requests}
        if not requests:
            return Load(self._places)
        oldest = min(requests, key=lambda task_id: self._first_seen[task_id])
        return Load(self._places, len(requests), requests[oldest], self._first_seen[oldest])


@worker_ready.connect
def begin(sender: Any = None, **signal: object) -> None:
    global _alive
    if _alive is None:
        _alive = WorkerLife(sender)


@worker_shutdown.connect
def end(**signal: object) -> None:
    if _alive is not None:
        _alive.stop()


@task_success.connect
def note_success(sender: Any = None, **signal: object) -> None:
    """Record that a task succeeded, or that it failed if it suppressed an error (a statement over its time limit).

    Record nothing if PostgreSQL was unreachable during the task, because the task did nothing.
    """
    met = take_met()
    if met.error is not None:
        outcomes.note_failure(sender.name, met.error, timezone.now())
    elif not met.was_away:
        outcomes.note_success(sender.name, timezone.now())


@task_failure.connect
def note_failure(sender: Any = None, exception: Any = None, **signal: object) -> None:
    take_met()
    outcomes.note_failure(sender.name, exception, timezone.now())


def _write_outcomes(now: datetime) -> None:
    record_outcomes(outcomes=outcomes.take())


def _requests() -> list[Any]:
    """Return this worker's running and reserved tasks, after several attempts if another thread changes the sets."""
    for _ in range(5):
        try:
            return list(state.reserved_requests | state.active_requests)
        except RuntimeError:
            time.sleep(0.01)
    return []
