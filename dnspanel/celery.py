"""The Celery application. The settings assign tasks to queues; only `publish` must have a single consumer.

The only arguments of tasks are ids, because PostgreSQL has the list of pending work. If the broker loses a task, no
work is lost: the beat schedule finds the same work again.
"""

import logging
import logging.config
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from celery import Celery, Task, signals
from django.conf import settings
from django.db import connections

from dnspanel.processes import broker, without_broker
from replication.call_room import with_room
from replication.garbage import leave_out_what_is_loaded
from replication.log_lines import request_id

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnspanel.settings")
# Django's checks import every page, which takes a third of a worker's start time. Celery ignores their result.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")


class PanelTask(Task):
    """A task that starts on a live database connection, and that does not fail if PostgreSQL is unavailable."""

    @with_room
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task. Return None if PostgreSQL is unavailable, or if a statement exceeds its time limit."""
        with while_postgresql_answers():
            return super().__call__(*args, **kwargs)
        return None


broker.use()
without_broker.use()
app = Celery("dnspanel", task_cls="dnspanel.celery:PanelTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
for module in ("workers", "roll_call"):
    app.autodiscover_tasks(["dnspanel.fleet.processes"], related_name=module)
app.conf.beat_scheduler = "dnspanel.fleet.processes.clock:Clock"

logger = logging.getLogger(__name__)
# The PostgreSQL error that was suppressed in this thread's last task.
_met = threading.local()


@signals.setup_logging.connect
def write_lines_as_the_panel(loglevel: int | None = None, **signal: object) -> None:
    """Write log lines in the panel's format. Without a receiver of this signal, Celery would use its own format."""
    logging.config.dictConfig(settings.LOGGING)
    logging.getLogger("celery").setLevel(loglevel or logging.INFO)


@signals.before_task_publish.connect
def pass_request_id(headers: dict[str, Any] | None = None, **signal: object) -> None:
    """Add the current request id to a task's message, for the lines of the task."""
    if headers is not None and (id := request_id.get()):
        headers["request_id"] = id


@signals.task_prerun.connect
def begin_lines(task: Task, **signal: object) -> None:
    """Add the id of the request that enqueued the task, or else the task's own id, to the log lines of the task."""
    task.request.outer_request_id = request_id.set(task.request.get("request_id") or task.request.id)


@signals.task_postrun.connect
def end_lines(task: Task, **signal: object) -> None:
    """Remove the task's id from the log lines of this thread."""
    request_id.reset(task.request.outer_request_id)


@signals.celeryd_init.connect
def limit_statements(sender: object = "", instance: Any = None, **signal: object) -> None:
    """Set the time limit of SQL statements, before a worker starts its processes or threads.

    The worker's connections have its name: `sender` without the host. The worker `instance` prints no banner.
    """
    if instance is not None:
        instance.quiet = True
    from dnspanel.database import base, statement_time  # keeps imports of this package small

    base.name_process(str(sender).partition("@")[0] or "worker")
    statement_time.begin(statement_time.WORKER)


@signals.worker_init.connect
@signals.beat_init.connect
def refuse_another_master_key(**signal: object) -> None:
    """Stop a worker or beat whose master key differs from the database's, before its first task."""
    from dnspanel.processes.key_at_start import stop_with_another_key  # needs Django's apps

    stop_with_another_key()


@signals.worker_init.connect
def begin_with_a_small_heap(**signal: object) -> None:
    """Exclude loaded modules from garbage collection, after all tasks are imported and before workers start."""
    leave_out_what_is_loaded()


@contextmanager
def while_postgresql_answers() -> Iterator[None]:
    """Run the block on a live connection, and suppress the error if PostgreSQL is unavailable.

    Beat sends the task again. The worker logs one line when PostgreSQL becomes unavailable and one line when it is
    back, no matter how many tasks fail until then. An error is also suppressed if a statement exceeded its time limit;
    its traceback is logged.
    """
    from dnspanel.database import database_away, statement_time

    _close_old_connections()
    is_done = False
    try:
        with database_away.outlasting():
            yield
            is_done = True
    except Exception as exc:
        if not statement_time.was_ended(exc):
            raise
        _met.error = exc
        logger.exception("a statement took longer than a worker's may, beat will try again")
    finally:
        _close_old_connections()
    if not is_done and _met.__dict__.get("error") is None:
        _met.was_away = True


def _close_old_connections() -> None:
    """Close this thread's connections that are broken or too old. Through a pooler, each task returns its own."""
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:  # a direct caller of the task may have an open transaction
            each.close_if_unusable_or_obsolete()


@dataclass(frozen=True, slots=True)
class Met:
    """The PostgreSQL error that the last task suppressed: a statement over its time limit, or no connection."""

    error: BaseException | None
    was_away: bool


def take_met() -> Met:
    """Return the PostgreSQL error that the last task of this thread suppressed, and clear it."""
    found = Met(getattr(_met, "error", None), getattr(_met, "was_away", False))
    _met.__dict__.clear()
    return found
