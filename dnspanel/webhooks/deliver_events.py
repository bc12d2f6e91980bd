"""Deliver waiting events, with retries until an event is delivered or given up. Verbs.

Events are delivered at least once: an attempt is recorded after it was made. If a process dies in between, the same
event is sent again with the same `webhook-id`.

A webhook's due deliveries are sent one after another, the lowest number first. While a failed delivery waits for its
next attempt, deliveries with higher numbers are sent.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.urls import reverse

from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import TokenDead
from dnspanel.accounts.people.own_language import mail_language
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.texts import gettext, speaking
from dnspanel.webhooks import hooks
from dnspanel.webhooks.access import listener
from dnspanel.webhooks.errors import AddressRefused, NoAnswer, NotTold
from dnspanel.webhooks.mail import Mail, send_mail
from dnspanel.webhooks.messages import Line, chat_body, lines_of, mail_text, subject_of
from dnspanel.webhooks.models import READ_BY_PEOPLE, Delivery, DeliveryState, Event, Format, Webhook
from dnspanel.webhooks.payload import Listener, contents, listener_of, payload
from dnspanel.webhooks.post import Answer, Post, post
from dnspanel.webhooks.sign_events import signed_headers
from dnspanel.zones.models import PublishHook

# The pauses before the second attempt, the third and so on. Together, they are about a day.
WAITS = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 3 * 3600, 8 * 3600, 12 * 3600))
MOST_ATTEMPTS = len(WAITS) + 1
# The pauses of the whole webhook after the first failure, the second and so on, without a success in between.
RESTS = tuple(timedelta(seconds=s) for s in (0, 5, 30, 120, 300))
# A webhook is switched off after failing for this time, with at least LEAST_FAILURES failures.
PATIENCE = timedelta(days=3)
LEAST_FAILURES = 10
LONGEST_RETRY_AFTER = timedelta(days=1)
KEPT = timedelta(days=30)
# The number of events in one message for people. It includes events that are due soon.
MOST_TOGETHER = 50
SOON = timedelta(seconds=30)
_FORGOTTEN_AT_ONCE = 5_000
_GONE = 410

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of a delivery attempt. `error` is empty after a success. `final` means that a retry is pointless."""

    error: str = ""
    status: int | None = None
    answer: str = ""
    ms: float | None = None
    retry_after: timedelta = timedelta()
    final: bool = False


def _not_seen() -> Attempt:
    return Attempt(error=gettext("The webhook’s owner no longer has access to this event."), final=True)


def webhooks_with_due(*, now: datetime) -> list[int]:
    """Return the ids of active webhooks that have a due delivery and aren't paused after failures."""
    waiting = Delivery.objects.filter(state=DeliveryState.WAITING, next_at__lte=now, webhook__active=True)
    rested = Q(webhook__resting_until=None) | Q(webhook__resting_until__lte=now)
    return list(waiting.filter(rested).order_by().values_list("webhook", flat=True).distinct())


def deliver_next(*, webhook_id: int, clock: Callable[[], datetime], send: Post = post, mail: Mail = send_mail) -> bool:
    """Attempt this webhook's first due delivery and record the outcome. Return False if there is nothing to send now.

    1. Switch the webhook off and return False if its owner or token is no longer valid.
    2. Send the data that the listener is allowed to see, outside of any transaction. A program gets one event. People
       get one message with up to MOST_TOGETHER events that are due now or soon. Events that aren't visible fail.
    3. Record the outcome. After a crash before this step, the attempt is repeated.
    """
    now = clock()
    webhook = Webhook.objects.select_related("owner", "token").filter(pk=webhook_id, active=True).first()
    if webhook is None or (webhook.resting_until is not None and webhook.resting_until > now):
        return False
    waiting = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    waiting = waiting.select_related("event").order_by("number", "pk")
    delivery = waiting.filter(next_at__lte=now).first()
    if delivery is None:
        return False
    try:
        told = listener_of(webhook, listener(webhook, now=now))
    except TokenDead as exc:
        switch_off(webhook=webhook, reason=str(exc), now=now)
        return False
    if webhook.format in READ_BY_PEOPLE:
        soon = waiting.filter(next_at__lte=now + SOON)[:MOST_TOGETHER]
        _tell_people(webhook, list(soon), told, clock, send, mail)
        return True
    body = payload(delivery.event, told, number=delivery.number)
    if body is None:
        record_attempt(webhook=webhook, delivery=delivery, attempt=_not_seen(), now=clock(), sent=False)
    else:
        attempt = _attempt(webhook, delivery.event, body, now, send)
        record_attempt(webhook=webhook, delivery=delivery, attempt=attempt, now=clock())
    return True


def record_attempt(*, webhook: Webhook, delivery: Delivery, attempt: Attempt, now: datetime, sent: bool = True) -> None:
    """End the delivery or schedule its next attempt. If `sent` is True, also record the webhook's health.

    Do nothing if another process has already recorded an attempt of this delivery.
    """
    attempts = delivery.attempts + 1
    over = not attempt.error or attempt.final or attempts >= MOST_ATTEMPTS
    state = DeliveryState.WAITING if not over else DeliveryState.FAILED if attempt.error else DeliveryState.DELIVERED
    next_at = None if over else now + max(WAITS[attempts - 1], min(attempt.retry_after, LONGEST_RETRY_AFTER))
    with transaction.atomic():
        mine = Delivery.objects.filter(pk=delivery.pk, state=DeliveryState.WAITING, attempts=delivery.attempts)
        moved = mine.update(
            state=state,
            attempts=attempts,
            next_at=next_at,
            attempted_at=now,
            status=attempt.status,
            answer=attempt.answer,
            error=attempt.error,
            ms=attempt.ms,
        )
        if moved and sent:
            _record_health(webhook, attempt, now)
    logger.info(
        "%s webhook=%s delivery=%s attempt=%s status=%s ms=%.0f",
        state,
        webhook.pk,
        delivery.pk,
        attempts,
        attempt.status,
        attempt.ms or 0,
    )


def switch_off(*, webhook: Webhook, reason: str, now: datetime) -> None:
    """Switch the webhook off, store the reason, and give up the waiting deliveries."""
    with transaction.atomic():
        moved = Webhook.objects.filter(pk=webhook.pk, active=True).update(
            active=False, disabled_at=now, disabled_reason=reason
        )
        if moved:
            hooks.give_up_waiting(
                webhook_id=webhook.pk, reason=gettext("The webhook was disabled: {reason}").format(reason=reason)
            )
            audit.record(action="webhook.off", by=None, now=now, target=str(webhook.pk), webhook=webhook.pk, why=reason)
            logger.warning("switched off webhook=%s: %s", webhook.pk, reason)


def forget_old_deliveries(*, now: datetime) -> int:
    """Delete deliveries and events older than KEPT, except waiting ones. Return the number of deleted deliveries."""
    old = Delivery.objects.filter(created_at__lt=now - KEPT).exclude(state=DeliveryState.WAITING)
    gone = 0
    while pks := list(old.order_by("pk").values_list("pk", flat=True)[:_FORGOTTEN_AT_ONCE]):
        gone += Delivery.objects.filter(pk__in=pks).delete()[0]
    Event.objects.filter(at__lt=now - KEPT, deliveries=None).delete()
    return gone


def secrets_of(of: Webhook | PublishHook, *, now: datetime) -> list[str]:
    """Return the signing secrets: the newest one and, for a day after a rotation, the previous one."""
    found = [decrypt_secret(of.secret).decode()]
    if of.old_secret is not None and of.old_secret_until is not None and of.old_secret_until > now:
        found.append(decrypt_secret(of.old_secret).decode())
    return found


def _tell_people(
    webhook: Webhook,
    deliveries: Sequence[Delivery],
    told: Listener,
    clock: Callable[[], datetime],
    send: Post,
    mail: Mail,
) -> None:
    """Send these deliveries as one message and record the outcomes. Events that the owner can't see now fail."""
    seen: list[Delivery] = []
    events: list[tuple[str, Mapping[str, Any], str]] = []
    for delivery in deliveries:
        facts = contents(delivery.event, told)
        if facts is None:
            record_attempt(webhook=webhook, delivery=delivery, attempt=_not_seen(), now=clock(), sent=False)
        else:
            seen.append(delivery)
            events.append((delivery.event.kind, facts, _page_of(facts)))
    if not seen:
        return
    with speaking(mail_language(webhook.owner)):
        lines = lines_of(events)
    attempt = _attempt_message(webhook, lines, _message_id(seen), send, mail)
    now = clock()
    for delivery in seen:
        record_attempt(webhook=webhook, delivery=delivery, attempt=attempt, now=now, sent=delivery is seen[0])


def _attempt_message(webhook: Webhook, lines: Sequence[Line], message_id: str, send: Post, mail: Mail) -> Attempt:
    try:
        if webhook.format == Format.MAIL:
            stop = f"{settings.PANEL_URL}{reverse('webhook-stop-mails', args=[hooks.stop_key(webhook)])}"
            page = f"{settings.PANEL_URL}{reverse('webhook-detail', args=[webhook.pk])}"
            # RFC 8058: with these headers, an email client can unsubscribe without opening a page.
            headers = {"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
            with speaking(mail_language(webhook.owner)):
                subject, text = subject_of(lines), mail_text(lines, settings_url=page, stop_url=stop)
            answer = mail(webhook.owner.email, subject, text, message_id=message_id, headers=headers)
        else:
            with speaking(mail_language(webhook.owner)):
                body = chat_body(webhook.format, lines)
            answer = send(webhook.url, {"Content-Type": "application/json"}, body)
    except (AddressRefused, NoAnswer, NotTold) as exc:
        return Attempt(error=str(exc))
    return _attempt_of(answer)


def _page_of(facts: Mapping[str, Any]) -> str:
    """Return the URL of the publication, the request or the alert list that an event is about, otherwise ""."""
    if "severity" in facts:
        return f"{settings.PANEL_URL}{reverse('alert-list')}"
    if "sequence" in facts:
        return f"{settings.PANEL_URL}{reverse('publication', args=[facts['sequence']])}"
    return f"{settings.PANEL_URL}{reverse('draft-request', args=[facts['key']])}" if "key" in facts else ""


def _message_id(deliveries: Sequence[Delivery]) -> str:
    """Return an id that is the same in every attempt to send these deliveries."""
    named = ",".join(str(delivery.pk) for delivery in deliveries)
    return f"told_{hashlib.sha256(named.encode()).hexdigest()[:32]}"


def _attempt(webhook: Webhook, event: Event, body: bytes, now: datetime, send: Post) -> Attempt:
    headers = signed_headers(
        message_id=event.message_id, timestamp=int(now.timestamp()), body=body, secrets=secrets_of(webhook, now=now)
    )
    try:
        answer = send(webhook.url, {"Content-Type": "application/json", **headers}, body)
    except (AddressRefused, NoAnswer) as exc:
        return Attempt(error=str(exc))
    return _attempt_of(answer)


def _attempt_of(answer: Answer) -> Attempt:
    return Attempt(
        error=_fault_of(answer.status),
        status=answer.status,
        answer=answer.text,
        ms=answer.ms,
        retry_after=timedelta(seconds=answer.retry_after or 0),
        final=answer.status == _GONE,
    )


def _fault_of(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return gettext(
            "The receiver returned HTTP status {status}, but redirects aren’t followed. Enter the redirect’s "
            "target URL."
        ).format(status=status)
    return gettext("The receiver returned HTTP status {status}.").format(status=status)


def _record_health(webhook: Webhook, attempt: Attempt, now: datetime) -> None:
    """Reset the failures after a success. After a failure, pause the webhook (each time longer) or switch it off."""
    stored = Webhook.objects.filter(pk=webhook.pk)
    if not attempt.error:
        stored.exclude(failing_since=None).update(failing_since=None, failures=0, resting_until=None)
        return
    rest = RESTS[min(webhook.failures, len(RESTS) - 1)]
    stored.update(failures=F("failures") + 1, failing_since=Coalesce("failing_since", now), resting_until=now + rest)
    since = webhook.failing_since or now
    if attempt.status == _GONE:
        switch_off(webhook=webhook, reason=gettext("The receiver responded with status 410 (Gone)."), now=now)
    elif now - since >= PATIENCE and webhook.failures + 1 >= LEAST_FAILURES:
        switch_off(
            webhook=webhook,
            reason=gettext("All deliveries failed for {days} days. Last error: {error}").format(
                days=PATIENCE.days, error=attempt.error
            ),
            now=now,
        )
