"""Run the beat schedule of the queues `publish` and `push` in their own workers while no messages arrive.

If Redis is stopped, full or unreachable, or beat hangs, no tasks arrive. A thread in these workers detects this and
calls the functions that beat otherwise triggers with messages. Each function finds its work in PostgreSQL, under the
same advisory locks. Running one twice is therefore harmless, even when Redis comes back.
"""

import logging
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from celery import Celery, Task
from celery.signals import celeryd_after_setup, task_received

from dnspanel import wake
from dnspanel.processes.broker import WAKING_QUEUES
from dnspanel.processes.redis_health import RedisProblem, redis_problem

# These queues get a message at least every two seconds. After this time without one, the worker looks for work itself.
SILENCE_SECONDS = 5.0
# The pauses between checks of Redis: while it works, and while it fails, because then an answer can take a second.
_LOOK_SECONDS, _LOOK_AGAIN_SECONDS = 1.0, 5.0
# The wait before each of the three steps from an edit to the last node: encode, canary, other nodes.
_SHORTEST_SECONDS = 1.0
_TICK_SECONDS = 0.2

logger = logging.getLogger(__name__)


class Poller:
    """A poller that runs the scheduled tasks of some queues in this process while no messages arrive."""

    def __init__(self, app: Celery, queues: Iterable[str]) -> None:
        self._queues = frozenset(queues)
        self._entries: list[tuple[Task[..., Any], float]] = [
            (app.tasks[entry["task"]], float(entry["schedule"]))
            for entry in app.conf.beat_schedule.values()
            if entry["task"] in app.tasks and self._is_ours(app.tasks[entry["task"]])
        ]
        # `fleet.tasks` recognizes by this prefix that pushes can start in this process.
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="push-poll")
        self._running: dict[str, Future[None]] = {}
        self._due: dict[str, float] = {}
        self._received_at = time.monotonic()
        self._problem: RedisProblem | None = None
        self._look_at = 0.0
        self.is_at_work = False

    def start(self) -> None:
        """Start a daemon thread that watches for messages. While none arrive, `wake` runs tasks in this process."""
        task_received.connect(self._note_message)
        wake.instead = self.run_here
        threading.Thread(target=self._watch, name="poller", daemon=True).start()

    def run_here(self, task: "Task[..., Any]", args: tuple[Any, ...], countdown: float) -> bool:
        """Run the task in this process if no messages arrive. Return False if the task has to be sent as a message."""
        if not self.is_at_work or not self._is_ours(task):
            return False
        if countdown:
            timer = threading.Timer(countdown, self._pool.submit, (_run, task, args))
            timer.daemon = True
            timer.start()
        else:
            self._pool.submit(_run, task, args)
        return True

    def _note_message(self, **_: object) -> None:
        self._received_at = time.monotonic()

    def _is_ours(self, task: "Task[..., Any]") -> bool:
        queue = task.app.amqp.router.route({}, task.name)["queue"]
        return getattr(queue, "name", queue) in self._queues

    def _watch(self) -> None:
        while True:
            try:
                self._step(time.monotonic())
            except Exception:  # the thread must not end
                logger.exception("the poller failed, and goes on")
            time.sleep(_TICK_SECONDS)

    def _step(self, now: float) -> None:
        if now >= self._look_at:
            self._problem = redis_problem()
            self._look_at = time.monotonic() + (_LOOK_AGAIN_SECONDS if self._problem else _LOOK_SECONDS)
        is_at_work = self._problem is not None or now - self._received_at > SILENCE_SECONDS
        if is_at_work != self.is_at_work:
            self.is_at_work, self._due = is_at_work, {}
            reason = f"Redis is {self._problem}" if self._problem else "silence"
            logger.warning(
                "polling %s queues=%s", f"begins ({reason})" if is_at_work else "ends", ",".join(sorted(self._queues))
            )
        if is_at_work:
            for task, seconds in self._entries:
                # Work with a long period starts with a wait: daily work was probably done today already.
                first = now if seconds <= 60 else now + seconds
                running = self._running.get(task.name)
                if now < self._due.setdefault(task.name, first) or (running and not running.done()):
                    continue
                self._due[task.name] = now + (seconds if seconds > 2 else _SHORTEST_SECONDS)
                self._running[task.name] = self._pool.submit(_run, task, ())


def _run(task: "Task[..., Any]", args: tuple[Any, ...]) -> None:
    try:
        task(*args)
    except Exception:  # no caller waits for the result
        logger.exception("a task failed while there are no messages task=%s", task.name)


def use() -> None:
    """Make every worker of this process that consumes WAKING_QUEUES start a poller."""
    celeryd_after_setup.connect(begin)


def begin(instance: Any, **_: object) -> None:
    """Start the poller if this worker consumes one of WAKING_QUEUES."""
    if queues := WAKING_QUEUES & set(instance.app.amqp.queues.consume_from):
        Poller(instance.app, queues).start()
