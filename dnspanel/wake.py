"""Wake workers. Messages contain only ids, and a lost message delays work only by seconds.

PostgreSQL has the list of pending work, and the beat schedule finds that work again. Therefore callers must not fail if
the broker is down, and don't have to check whether it answers.
"""

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TYPE_CHECKING, Any

from django.dispatch import Signal
from kombu.exceptions import OperationalError

if TYPE_CHECKING:
    from celery import Task

# A message that waits longer is useless, because beat has found the work by then.
LIFETIME = 10.0

logger = logging.getLogger(__name__)

# In a worker that gets no messages (`without_broker`), this runs the task. It returns False for tasks of other workers.
instead: "Callable[[Task[..., Any], tuple[Any, ...], float], bool] | None" = None

_by_thread = False
_due: set[str] = set()  # tasks for which the thread still has to send a message


def wake(task: "Task[..., Any]", *args: int | list[int], lifetime: float = LIFETIME, countdown: float = 0) -> bool:
    """Enqueue a task that runs after `countdown` seconds. Workers drop a task that is `lifetime` seconds late.

    If the broker does not answer, log that and return False. This isn't an error.
    """
    if instead is not None and instead(task, args, countdown):
        return True
    try:
        task.apply_async(args, countdown=countdown, expires=countdown + lifetime, retry=False)
    except (OperationalError, OSError) as exc:
        logger.warning("cannot wake a worker for %s, beat will find the work: %s", task.name, exc)
        return False
    return True


def wake_after(signal: Signal, task: "Task[..., Any]", *arguments: str) -> None:
    """Make the signal enqueue the task with these arguments of the signal. Call this once, when the app is ready."""
    signal.connect(
        lambda **sent: wake(task, *(sent[name] for name in arguments)), weak=False, dispatch_uid=f"wake {task.name}"
    )


def wake_each(task: "Task[..., Any]", ids: Iterable[int], *, countdown: float = 0) -> None:
    """Enqueue a task for each id. Stop after the first failure, because then the broker does not answer."""
    for one in ids:
        if not wake(task, one, countdown=countdown):
            return


def answer_before_waking() -> None:
    """Make `wake_soon` send from a thread of this process, so responses do not wait for the broker.

    For an edit by API, the message took a sixth of the response time, or two seconds if the broker was down.
    """
    global _by_thread
    _by_thread = True


def wake_soon(task: "Task[..., Any]") -> None:
    """Enqueue a task without arguments, possibly after this function returns.

    Several calls can become one message. The task sees everything that the caller committed before this call.
    """
    if not _by_thread:
        wake(task)
    elif task.name not in _due:
        _due.add(task.name)
        _thread().submit(copy_context().run, _wake_now, task)  # with the id of the request


def _wake_now(task: "Task[..., Any]") -> None:
    _due.discard(task.name)  # first, because later commits need another message
    try:
        wake(task)
    except Exception:  # no one waits for the result
        logger.exception("cannot wake a worker for %s", task.name)


@cache
def _thread() -> ThreadPoolExecutor:
    """Return the thread that sends messages, which is created on first use because forked processes lose threads."""
    return ThreadPoolExecutor(1, thread_name_prefix="wake")
