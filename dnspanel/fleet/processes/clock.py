"""Extend Celery's beat: write heartbeats while the schedule ticks, and send roll calls to the queues.

The last success of each entry is read from PostgreSQL, because a kill can damage Celery's own file, and a new container
loses it. A daily task's interval would then start again at each restart, and the task might never run.
"""

import atexit
import logging
import time
from typing import Any

from celery.beat import Scheduler
from celery.signals import beat_init
from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from kombu.exceptions import OperationalError

from dnspanel.database.base import name_process
from dnspanel.fleet.processes.alive import Alive, Turns
from dnspanel.fleet.processes.periodic import know_schedule, last_done
from dnspanel.fleet.processes.process_roles import BEAT, BEAT_EVERY, BUSY_FOR

# Beat ticks at least once a second; sending to a dead Redis takes a second or two.
TICKS_WITHIN = 30.0
logger = logging.getLogger(__name__)
ANSWER = "dnspanel.fleet.processes.roll_call.answer_roll"


class Clock(Scheduler):
    """A Celery scheduler that continues from the last successes in PostgreSQL and sends roll calls to all queues."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.turns = Turns()
        self._called_at = float("-inf")
        name_process(BEAT)
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Set up the schedule with each entry's last success. Intervals start now if PostgreSQL fails."""
        super().setup_schedule()
        try:
            done = last_done()
        except (DatabaseError, InterfaceError) as exc:
            logger.warning("every interval begins now, PostgreSQL does not answer: %s", exc)
            return
        for name, entry in self.schedule.items():
            if name in done:
                entry.last_run_at = done[name]

    def tick(self, *args: Any, **kwargs: Any) -> float:
        interval: float = super().tick(*args, **kwargs)
        self.turns.mark()
        if time.monotonic() - self._called_at >= BEAT_EVERY.total_seconds():
            self._called_at = time.monotonic()
            self._call_roll()
        return interval

    def _call_roll(self) -> None:
        """Send one task to each queue, if Redis is reachable. Each task expires when the next one is sent."""
        lifetime = BEAT_EVERY.total_seconds()
        try:
            for queue in BUSY_FOR:
                self.app.send_task(ANSWER, queue=queue, expires=lifetime, retry=False)
        except (OperationalError, OSError):
            pass  # Redis is unreachable, which has its own alert


@beat_init.connect
def begin(sender: Any = None, **signal: object) -> None:
    """Start this process's heartbeats, and align the rows of periodic tasks with its schedule."""
    scheduler = sender.scheduler
    entries = [name for name in scheduler.schedule if not name.startswith("celery.")]
    is_known = False

    def know(now: object) -> None:
        nonlocal is_known
        if not is_known:
            know_schedule(names=entries, now=timezone.now())
            is_known = True

    life = Alive(BEAT, is_working=lambda: scheduler.turns.is_recent(TICKS_WITHIN), also=know)
    life.start()
    atexit.register(life.stop)
