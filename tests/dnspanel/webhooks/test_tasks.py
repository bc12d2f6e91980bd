"""Tests of webhooks end to end: an event happens, tasks run, and the receiver gets a request.

Tests `webhooks.signals` too.
"""

import threading
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.wake import LIFETIME
from dnspanel.webhooks import hooks, place_publish_hooks, tasks
from dnspanel.webhooks.models import Delivery, Webhook
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.governance.publish_rules import Scope
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.dnspanel.webhooks.happening import publish
from tests.dnspanel.webhooks.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that records enqueued tasks in place of a broker."""
    woken: list[Any] = []
    monkeypatch.setattr(tasks.deliver_webhook, "apply_async", lambda args, **options: woken.append((*args, options)))
    return woken


def test_a_publication_reaches_the_receiver(
    bob: User, webhook: MakeWebhook, receiver: Receiver, woken: list[Any]
) -> None:
    made = webhook(bob, receiver.url).webhook
    publish("one.test.", bob, now=timezone.now())
    tasks.notice_events()
    assert woken == [(made.pk, {"countdown": 0, "expires": LIFETIME, "retry": False})]
    tasks.deliver_webhook(made.pk)
    assert [b"one.test." in received.body for received in receiver.received] == [True]
    woken.clear()
    tasks.notice_events()
    tasks.deliver_webhook(made.pk)
    assert (woken, len(receiver.received)) == ([], 1)


def test_a_test_that_somebody_asks_for_is_sent_at_once(bob: User, webhook: MakeWebhook, woken: list[Any]) -> None:
    made = webhook(bob).webhook
    hooks.send_ping(webhook=made, by=bob, now=timezone.now())
    assert [one[0] for one in woken] == [made.pk]


def test_with_a_dead_broker_nothing_is_lost(
    bob: User, webhook: MakeWebhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BrokerError("connection refused")

    made = webhook(bob, receiver.url).webhook
    with monkeypatch.context() as patch:
        patch.setattr(tasks.deliver_webhook, "apply_async", refuse)
        publish("one.test.", bob, now=timezone.now())
        tasks.notice_events()
        hooks.send_ping(webhook=made, by=bob, now=timezone.now())
    assert Delivery.objects.filter(state="waiting").count() == 2
    tasks.deliver_webhook(made.pk)
    assert len(receiver.received) == 2


def test_one_webhook_has_one_sender_at_a_time(bob: User, webhook: MakeWebhook, receiver: Receiver, woken: Any) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=timezone.now())
    is_locked, release = threading.Event(), threading.Event()

    def other_sender() -> None:
        with hold_lock(Lock.WEBHOOK, made.pk) as mine:
            assert mine
            is_locked.set()
            release.wait(10)
        connection.close()

    thread = threading.Thread(target=other_sender)
    thread.start()
    assert is_locked.wait(5)
    tasks.deliver_webhook(made.pk)
    assert receiver.received == []
    release.set()
    thread.join()
    tasks.deliver_webhook(made.pk)
    assert len(receiver.received) == 1


def test_slow_receivers_leave_threads_for_the_nodes(
    bob: User, webhook: MakeWebhook, receiver: Receiver, woken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = webhook(bob, receiver.url).webhook
    hooks.send_ping(webhook=made, by=bob, now=timezone.now())
    monkeypatch.setattr(tasks, "_places", threading.BoundedSemaphore(1))
    with tasks._places:
        tasks.deliver_webhook(made.pk)
        assert receiver.received == []
    tasks.deliver_webhook(made.pk)
    assert len(receiver.received) == 1


def test_the_old_log_is_forgotten(bob: User, webhook: MakeWebhook, woken: Any) -> None:
    webhook(bob)
    assert tasks.forget_old_deliveries() == "forgot deliveries=0"
    assert Webhook.objects.count() == 1


def test_beat_has_publish_hooks_asked_that_nobody_asked(alice: User, answering: Answering) -> None:
    made = place_publish_hooks.add_hook(
        scope=Scope(), terms=HookTerms(answering.url), reason="Names", author=alice, now=timezone.now()
    )
    answering.secret = made.secret
    answering.allow()
    tasks.ask_quiet_hooks()
    tasks.ask_quiet_hooks()
    assert [each["test"] for each in answering.questions] == [True]
    made.hook.refresh_from_db()
    assert (made.hook.failures, made.hook.ms is not None) == (0, True)
