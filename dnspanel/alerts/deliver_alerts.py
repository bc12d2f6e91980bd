"""Deliver alerts. A route's waiting messages are sent as one message, which is retried for about a day. Verbs.

Delivery is at least once, because an attempt is recorded only after sending. If a worker is killed in between, the same
message is sent again with the same id.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.alerts.alert_texts import payload_of, subject_of, text_of
from dnspanel.alerts.models import Message, Route, RouteKind
from dnspanel.alerts.watch import GATHER, alert_of
from dnspanel.conditions import Condition
from dnspanel.texts import gettext, speaking
from dnspanel.webhooks.errors import AddressRefused, NoAnswer, NotTold
from dnspanel.webhooks.mail import Mail, send_mail
from dnspanel.webhooks.post import Answer, Post, post
from dnspanel.webhooks.sign_events import signed_headers

# The pauses before the second attempt, the third and so on. Together, they are about a day.
WAITS = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 3 * 3600, 8 * 3600, 12 * 3600))
MOST_ATTEMPTS = len(WAITS) + 1

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt. `error` is empty if the message was accepted."""

    error: str = ""
    status: int | None = None
    answer: str = ""
    ms: float | None = None


def routes_with_due(*, now: datetime) -> list[int]:
    """Return the ids of active routes with due messages, and of any routes with a due test message."""
    due = Message.objects.filter(sent_at=None, failed_at=None, due_at__lte=now)
    due = due.filter(Q(route__active=True) | Q(alert=None))
    return list(due.order_by().values_list("route", flat=True).distinct())


def deliver_all(*, route_id: int, clock: Callable[[], datetime]) -> None:
    """Send all due messages of this route, unless another worker is already sending them."""
    with hold_lock(Lock.ROUTE, route_id) as mine:
        while mine and deliver_next(route_id=route_id, clock=clock):
            pass


def deliver_next(*, route_id: int, clock: Callable[[], datetime], send: Post = post, mail: Mail = send_mail) -> bool:
    """Send the route's due messages as one message, and record the outcome. Return False if nothing is due.

    1. If a message is due, add messages that are due soon or failed before, so that a hundred alerts become one mail.
    2. Send the message outside of any transaction.
    3. Record the outcome. After a crash before this step, the attempt is repeated.
    """
    now = clock()
    route = Route.objects.filter(pk=route_id).first()
    group = _due_together(route, now) if route is not None else []
    if route is None or not group:
        return False
    outcome = _attempt(route, group, now, send, mail)
    record_outcome(route=route, group=group, outcome=outcome, now=clock())
    return True


def record_outcome(*, route: Route, group: Sequence[Message], outcome: Outcome, now: datetime) -> None:
    """Record the outcome for these messages: accepted, waiting for another attempt, or given up.

    A test message has one attempt. Messages that another worker has already sent or given up stay unchanged.
    """
    attempts = max(message.attempts for message in group) + 1
    given_up = bool(outcome.error) and (attempts >= MOST_ATTEMPTS or _is_test(group))
    answer = {"status": outcome.status, "answer": outcome.answer, "error": outcome.error, "ms": outcome.ms}
    waiting = Message.objects.filter(pk__in=[message.pk for message in group], sent_at=None, failed_at=None)
    waiting.update(
        attempts=attempts,
        answer={**answer, "at": now.isoformat(), "together": len(group)},
        sent_at=None if outcome.error else now,
        failed_at=now if given_up else None,
        **({"due_at": now + WAITS[attempts - 1]} if outcome.error and not given_up else {}),
    )
    level = logging.WARNING if outcome.error else logging.INFO
    logger.log(
        level,
        "told route=%s messages=%d attempt=%d %s",
        route.name,
        len(group),
        attempts,
        outcome.error or f"status={outcome.status}",
    )


def tell_at_once(
    *, route: Route, condition: Condition, since: datetime, now: datetime, send: Post = post, mail: Mail = send_mail
) -> bool:
    """Send an alert about a condition to a route without using PostgreSQL. Return True if the receiver accepted it.

    Nothing is recorded. The message id stays the same for all attempts during an outage.
    """
    alert = alert_of(condition, since, now)
    alert.pk = -int(since.timestamp())
    outcome = _attempt(route, [Message(pk=alert.pk, route=route, alert=alert)], now, send, mail)
    level = logging.WARNING if outcome.error else logging.INFO
    logger.log(level, "told route=%s at once %s", route.name, outcome.error or f"status={outcome.status}")
    return not outcome.error


def _due_together(route: Route, now: datetime) -> list[Message]:
    """Return the messages to send now, oldest first. If a test message is due, return only the test message."""
    waiting = route.messages.filter(sent_at=None, failed_at=None)
    if test := waiting.filter(alert=None, due_at__lte=now).order_by("pk").first():
        return [test]
    waiting = waiting.filter(alert__isnull=False)
    if not route.active or not waiting.filter(due_at__lte=now).exists():
        return []
    soon = Q(due_at__lte=now + GATHER) | Q(attempts__gt=0)
    return list(waiting.filter(soon).select_related("alert").order_by("pk"))


def _attempt(route: Route, group: Sequence[Message], now: datetime, send: Post, mail: Mail) -> Outcome:
    try:
        if route.kind == RouteKind.MAIL:
            with speaking(settings.DEFAULT_LANGUAGE):
                subject, text = subject_of(group), text_of(group, panel_url=settings.PANEL_URL)
            answer = mail(route.address, subject, text, message_id=_message_id(group))
        else:
            answer = _post(route, group, now, send)
    except (NotTold, AddressRefused, NoAnswer) as exc:
        return Outcome(error=str(exc))
    error = (
        ""
        if 200 <= answer.status < 300
        else gettext("The receiver returned HTTP status {status}.").format(status=answer.status)
    )
    return Outcome(error, answer.status, answer.text, round(answer.ms, 1))


def _post(route: Route, group: Sequence[Message], now: datetime, send: Post) -> Answer:
    body = payload_of(group, now=now)
    secret = decrypt_secret(route.secret or b"").decode()
    headers = signed_headers(message_id=_message_id(group), timestamp=int(now.timestamp()), body=body, secrets=[secret])
    return send(route.address, {"Content-Type": "application/json", **headers}, body)


def _message_id(group: Sequence[Message]) -> str:
    """Return an id that is the same for every attempt to send these messages, so that receivers detect duplicates."""
    # An alert that became worse is sent as another message with another id.
    named = ",".join(f"{message.pk}.{message.alert.severity if message.alert else ''}" for message in group)
    return f"alert_{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def _is_test(group: Sequence[Message]) -> bool:
    return all(message.alert_id is None for message in group)
