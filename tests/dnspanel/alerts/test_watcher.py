"""Tests of the watch in the collector's process, which works without a broker."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from dnspanel.alerts import watch
from dnspanel.alerts.models import Alert, Message
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


@pytest.mark.django_db(transaction=True)
def test_a_postgresql_that_stays_away_is_told_without_it_once_and_is_an_alert_when_it_is_back(
    route: MakeRoute, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    route("ops", "mail", "ops@people.test")
    watcher = Watcher()
    watcher.step()  # reads the routes

    def away(**_: object) -> None:
        raise OperationalError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(watch, "look", away)
        patch.setattr("dnspanel.alerts.watcher.AWAY_FOR", timedelta(0))
        watcher.step()
        eventually(lambda: len(mail_server.mails) == 1)
        eventually(lambda: all(telling.done() for telling in watcher._telling.values()))
        watcher.step()
    monkeypatch.setattr("dnspanel.alerts.watcher.AWAY_FOR", timedelta(0))
    monkeypatch.setattr(watch, "LOOK_EVERY", timedelta(0))
    watcher.step()
    assert "PostgreSQL hasn’t responded for" in mail_server.mails[0].text
    assert len(mail_server.mails) == 1
    assert Alert.objects.get(key="panel.postgresql").over_at is None
    watcher.step()
    assert watcher._away_since is None


@pytest.mark.django_db(transaction=True)
def test_a_postgresql_that_was_restarted_is_no_alert(
    route: MakeRoute, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    route("ops", "mail", "ops@people.test")
    watcher = Watcher()
    watcher.step()

    def away(**_: object) -> None:
        raise OperationalError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(watch, "look", away)
        watcher.step()
    watcher.step()
    assert mail_server.mails == []
    assert not Alert.objects.filter(key="panel.postgresql").exists()
