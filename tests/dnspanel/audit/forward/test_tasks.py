"""Tests of the workers that send entries to destinations, one worker for each destination."""

from threading import Thread
from typing import Any

import pytest
from django.db import connection

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.audit.forward import tasks
from dnspanel.audit.forward.models import Destination
from tests.dnspanel.audit.forward.conftest import MakeDestination, linked
from tests.dnspanel.webhooks.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


def in_another_session(act: Any) -> None:
    def run() -> None:
        try:
            act()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    thread.join()


def test_each_destination_that_is_behind_gets_a_sender_and_only_one(
    make_destination: MakeDestination, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueued: list[Any] = []
    monkeypatch.setattr(tasks, "wake_each", lambda task, ids: enqueued.extend((task, one) for one in ids))
    with Receiver() as receiver:
        made = make_destination(receiver.url)
        tasks.drive_evidence()
        assert enqueued == []
        linked(alice, "team.create")
        tasks.drive_evidence()
        assert enqueued == [(tasks.deliver_evidence, made.pk)]
        with hold_lock(Lock.EVIDENCE, made.pk):
            in_another_session(lambda: tasks.deliver_evidence(made.pk))
        assert receiver.received == []
        tasks.deliver_evidence(made.pk)
        assert len(receiver.received) == 1
        tasks.deliver_evidence(made.pk)
        assert len(receiver.received) == 1
    assert Destination.objects.get().sent_to == 2
