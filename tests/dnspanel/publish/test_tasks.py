"""Tests of the publisher's task, and of its wake-up."""

import time
from typing import Any

import pytest
from kombu.exceptions import OperationalError

from dnspanel.publish import tasks
from dnspanel.publish.models import Segment
from dnspanel.wake import LIFETIME
from dnspanel.zones.models import LogHead, Zone
from tests.dnspanel.publish.encoding.test_encode import create

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_task_encodes_up_to_the_head_and_says_so() -> None:
    create("a.test.")
    create("b.test.")
    assert "sequence=2" in tasks.encode_log()
    assert tasks.encode_log() == "nothing to encode"
    assert Segment.objects.get().last == LogHead.objects.get().sequence


def test_a_publication_wakes_the_publisher(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[dict[str, Any]] = []
    monkeypatch.setattr(tasks.encode_log, "apply_async", lambda _, **options: woken.append(options))
    create("a.test.")
    assert woken == [{"countdown": 0, "expires": LIFETIME, "retry": False}]


def test_with_a_dead_broker_the_edit_is_saved_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(tasks.encode_log, "apply_async", refuse)
    create("a.test.")
    assert Zone.objects.filter(name="a.test.").exists()


def test_a_dead_broker_costs_an_edit_no_time(settings: Any) -> None:
    from celery import Celery

    app = Celery("deaf", broker="redis://127.0.0.1:1/0", set_as_current=False)
    app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    began = time.monotonic()
    with pytest.raises((OperationalError, OSError)):
        app.send_task("dnspanel.publish.tasks.encode_log", retry=False)
    assert time.monotonic() - began < 3  # with retries it would take six seconds
