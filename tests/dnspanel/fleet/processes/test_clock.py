"""Tests of beat's clock: it continues from each entry's last run, and checks every queue."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone
from kombu.exceptions import OperationalError as NoBroker

from dnspanel.celery import app
from dnspanel.fleet.models import PeriodicTask
from dnspanel.fleet.processes import clock as module
from dnspanel.fleet.processes.clock import Clock
from dnspanel.fleet.processes.periodic import know_schedule
from dnspanel.fleet.processes.process_roles import BUSY_FOR


@pytest.mark.django_db
def test_what_is_overdue_is_begun_at_once_and_the_rest_when_its_interval_is_over() -> None:
    now = timezone.now()
    know_schedule(names=["empty-trash", "check-audit-chain"], now=now - timedelta(days=2))
    PeriodicTask.objects.filter(name="check-audit-chain").update(succeeded_at=now - timedelta(hours=1))
    schedule = Clock(app).schedule
    assert schedule["empty-trash"].is_due().is_due
    is_due, seconds = schedule["check-audit-chain"].is_due()
    assert not is_due
    assert 22 * 3600 < seconds <= 23 * 3600
    assert not schedule["forget-old-alerts"].is_due().is_due  # a new entry's interval begins now


def test_without_postgresql_every_interval_begins_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(module, "last_done", away)
    assert not Clock(app).schedule["empty-trash"].is_due().is_due


@pytest.mark.django_db
def test_the_roll_of_every_queue_is_called_and_a_dead_broker_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []

    def send(name: str, *, queue: str, **options: Any) -> None:
        assert app.tasks[name]
        called.append(queue)
        if len(called) > len(BUSY_FOR):
            raise NoBroker("Redis is away")

    app.loader.import_default_modules()
    monkeypatch.setattr(app, "send_task", send)
    clock = Clock(app, schedule={}, lazy=True)
    clock.tick()
    assert called == list(BUSY_FOR)
    clock.tick()
    assert called == list(BUSY_FOR), "not before the interval is over"
    clock._called_at = float("-inf")
    clock.tick()
    assert len(called) == len(BUSY_FOR) + 1
