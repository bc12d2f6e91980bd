"""The watch inside the collector's process: looks and tells without any broker."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import OperationalError
from django.utils import timezone

from dnspanel.alerts import watch
from dnspanel.alerts.models import Message
from dnspanel.alerts.watcher import Watcher
from dnspanel.fleet.nodes.heartbeats import WATCH, heartbeats
from tests.dnspanel.alerts.conftest import MakeRoute
from tests.mailserver import MailServer


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "not within 10 s"
        time.sleep(0.02)


@pytest.mark.django_db(transaction=True)
def test_it_looks_and_tells_until_it_is_stopped(
    route: MakeRoute, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LOOK_EVERY", watch.LOOK_EVERY / 50)
    Message.objects.create(route=route("ops", "mail", "ops@people.test").route, alert=None, due_at=timezone.now())
    stop = threading.Event()
    thread = threading.Thread(target=Watcher().run, args=(stop,))
    thread.start()
    try:
        eventually(lambda: bool(mail_server.mails))
        eventually(lambda: Message.objects.filter(sent_at__isnull=False).exists())
        assert WATCH in heartbeats()
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()
    assert len(mail_server.mails) == 1


@pytest.mark.django_db(transaction=True)
def test_a_postgresql_that_is_away_is_said_once_and_the_next_look_is_made(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watcher = Watcher()

    def away(**_: object) -> None:
        raise OperationalError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(watch, "look", away)
        watcher.step()
        watcher.step()
    assert caplog.text.count("nobody watches, PostgreSQL does not answer: connection refused") == 1
    watcher.step()
    assert WATCH in heartbeats()


@pytest.mark.django_db(transaction=True)
def test_a_fault_of_ours_is_logged_and_does_not_end_the_watch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watcher = Watcher()
    with monkeypatch.context() as patch:
        patch.setattr(watch, "look", lambda **_: 1 / 0)
        watcher.step()
    assert "ZeroDivisionError" in caplog.text
    watcher.step()
    assert WATCH in heartbeats()
