"""Workers are woken by tasks that carry an id or nothing: a task that is lost costs seconds, and never a change.

PostgreSQL says what there is to do, and the beat schedule finds it again. So a
caller need not know whether the broker answers, and must not fail if it does not.
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kombu.exceptions import OperationalError

if TYPE_CHECKING:
    from celery import Task

# A task that waited longer is worth nothing: beat has found the work since.
LIFETIME = 10.0

logger = logging.getLogger(__name__)


def wake(task: "Task[..., Any]", *args: int | list[int], lifetime: float = LIFETIME, countdown: float = 0) -> bool:
    """Enqueue a task, to be run after `countdown` seconds and forgotten `lifetime` seconds later.

    False if the broker does not answer: that is logged, and is no error.
    """
    try:
        task.apply_async(args, countdown=countdown, expires=countdown + lifetime, retry=False)
    except (OperationalError, OSError) as exc:
        logger.warning("cannot wake a worker for %s, beat will find the work: %s", task.name, exc)
        return False
    return True


def wake_each(task: "Task[..., Any]", ids: Iterable[int], *, countdown: float = 0) -> None:
    """Enqueue a task for each id; a broker that does not answer is tried once, not once for each."""
    for one in ids:
        if not wake(task, one, countdown=countdown):
            return
