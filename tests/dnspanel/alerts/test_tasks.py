"""Tests of the Celery tasks of alerts: a check of the fleet, sending to routes, and a missing broker."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from dnspanel.alerts import tasks
from dnspanel.alerts.models import Message
from dnspanel.fleet.models import Heartbeat
from dnspanel.fleet.nodes.heartbeats import WATCH, beat, heartbeats
from dnspanel.wake import LIFETIME
from tests.dnspanel.alerts.conftest import MakeRoute
from tests.mailserver import MailServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_look_wakes_a_sender_and_the_message_arrives(
    route: MakeRoute, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(tasks.tell_route, "apply_async", lambda args, **options: woken.append((*args, options)))
    made = route("ops", "mail", "ops@people.test").route
    Message.objects.create(route=made, alert=None, due_at=timezone.now())
    tasks.watch_fleet()
    assert WATCH in heartbeats()
    assert woken == [(made.pk, {"countdown": 0, "expires": LIFETIME, "retry": False})]
    tasks.tell_route(made.pk)
    tasks.tell_route(made.pk)
    assert [mail.to for mail in mail_server.mails] == [["ops@people.test"]]


def test_a_dead_broker_loses_no_message(route: MakeRoute, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BrokerError("connection refused")

    made = route("ops", "mail", "ops@people.test").route
    Message.objects.create(route=made, alert=None, due_at=timezone.now())
    monkeypatch.setattr(tasks.tell_route, "apply_async", refuse)
    tasks.wake_sender(route_id=made.pk)
    assert "cannot wake a worker for dnspanel.alerts.tasks.tell_route" in caplog.text
    assert Message.objects.filter(sent_at=None, failed_at=None).count() == 1


def test_old_alerts_are_forgotten() -> None:
    assert tasks.forget_old_alerts() == "forgot alerts=0"


def test_after_a_look_of_the_collector_beat_leaves_the_lock_alone(route: MakeRoute) -> None:
    """Regression test: a worker that hung during a check kept the lock, so the collector could no longer check."""
    now = timezone.now()
    beat(process=WATCH, now=now - timedelta(seconds=10))
    tasks.watch_fleet()
    assert heartbeats()[WATCH] == now - timedelta(seconds=10)
    Heartbeat.objects.update(at=now - timedelta(seconds=30))
    tasks.watch_fleet()
    assert heartbeats()[WATCH] >= now
