"""The bulk worker's tasks find work even if a wake-up is lost."""

from typing import Any

import pytest
from django.db import OperationalError
from kombu.exceptions import OperationalError as BrokerError

from dnspanel.transfer import tasks
from dnspanel.transfer.imports import worker
from dnspanel.transfer.models import ImportJob, State
from tests.dnspanel.transfer.conftest import MakeImport, zone_text

pytestmark = pytest.mark.django_db


def test_a_worker_does_all_that_waits(make_import: MakeImport) -> None:
    job = make_import({"a": zone_text("a.test.")})
    assert "units=" in tasks.run_import(job.pk)
    job.refresh_from_db()
    assert job.state == State.CHOOSING


def test_beat_wakes_workers_for_each_import_at_work(make_import: MakeImport, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[int] = []
    monkeypatch.setattr(tasks.run_import, "apply_async", lambda args, **options: woken.append(args[0]))
    job = make_import({"a": zone_text("a.test.")})
    tasks.drive_transfers()
    assert woken == [job.pk, job.pk]  # one for each worker that may help


def test_a_dead_broker_does_not_stop_an_import(make_import: MakeImport, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise BrokerError("no Redis")

    monkeypatch.setattr(tasks.run_import, "apply_async", refuse)
    tasks.wake_workers(sender=ImportJob, job_id=make_import({"a": zone_text("a.test.")}).pk)


def test_postgresql_away_is_no_failure_of_the_import(make_import: MakeImport, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(job_id: int) -> worker.Turn:
        raise OperationalError("gone")

    monkeypatch.setattr(worker, "work_on_import", away)
    assert tasks.run_import(1) is None
