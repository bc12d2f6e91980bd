"""Tests of the Celery queues: no task that the system needs waits behind users' tasks.

Tests `dnspanel.celery` and `dnspanel.periodic_work`.
"""

import re

import pytest
from django.conf import settings

from dnspanel.celery import app
from dnspanel.monitoring.metrics import QUEUES
from tests.docs.documents import ROOT

OF_PEOPLE = {"run_import", "run_export", "run_policies", "run_template", "run_changes"}
WAITING_FOR_OTHERS = {"read_import", "run_cutover_check"}


def queue_of(task: str) -> str:
    return str(app.amqp.router.route({}, task)["queue"].name)


@pytest.fixture(scope="module")
def tasks() -> set[str]:
    app.loader.import_default_modules()
    return {name for name in app.tasks if name.startswith("dnspanel.")}


# Regression test: snapshots, log maintenance and the hold waited behind imports in the same queue.
def test_bulk_and_sources_have_peoples_work_only(tasks: set[str]) -> None:
    of = {queue: {task.rpartition(".")[2] for task in tasks if queue_of(task) == queue} for queue in QUEUES}
    assert (of["bulk"], of["sources"]) == (OF_PEOPLE, WAITING_FOR_OTHERS)
    assert {"make_snapshot", "tend_log", "tend_hold", "tend_search", "forget_old_files"} <= of["system"]
    assert sum(map(len, of.values())) == len(tasks)


def test_beat_says_no_other_queue_than_the_routes(tasks: set[str]) -> None:
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] in tasks
        assert "queue" not in entry.get("options", {})


@pytest.mark.parametrize("file", ["Procfile", "docker-compose.yml"])
def test_every_queue_has_a_worker(file: str) -> None:
    text = (ROOT / file).read_text()
    assert set(re.findall(r"-Q[\", ]+(\w+)", text)) == set(QUEUES)
