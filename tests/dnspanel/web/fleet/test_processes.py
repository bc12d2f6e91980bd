"""The page of the panel's processes and its periodic work."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import PanelProcess, PeriodicTask
from dnspanel.fleet.nodes.heartbeats import WATCH_SINCE, beat
from dnspanel.fleet.processes.beats import Identity, Load, beat_process
from dnspanel.fleet.processes.periodic import know_schedule
from tests.dnspanel.web.conftest import HTMX, Browser

pytestmark = pytest.mark.django_db

PAGE = "/fleet/processes/"


def test_a_panel_whose_processes_never_ran_says_so(browser: Browser, bob: User) -> None:
    page = browser(bob).get(PAGE).content.decode()
    assert "No processes yet" in page
    assert "not running" not in page


def test_silent_and_missing_processes_come_first_with_what_does_not_work(browser: Browser, alice: User) -> None:
    now = timezone.now()
    beat(process=WATCH_SINCE, now=now - timedelta(hours=1))
    for name, seconds in (("web", 1), ("push", 40)):
        identity = Identity(name, "panel.test", 4711, now - timedelta(hours=2))
        load = Load(16, 3, "dnspanel.fleet.tasks.push_node", now) if name == "push" else Load()
        beat_process(identity=identity, load=load, now=now - timedelta(seconds=seconds))
    page = browser(alice).get(PAGE, headers=HTMX).content.decode()
    assert page.lstrip().startswith("<div")
    assert "<h1>" not in page
    assert page.index("nodes get no updates") < page.index("working")
    for text in ("silent", "not running", "panel.test", "process 4711", "3 of 16 slots in use", "push_node"):
        assert text in page
    PanelProcess.objects.filter(name="push").update(at=now, task_since=now - timedelta(hours=2))
    assert "long task" in browser(alice).get(PAGE).content.decode()


def test_periodic_work_that_fails_or_is_overdue_comes_first(browser: Browser, alice: User) -> None:
    now = timezone.now()
    know_schedule(names=["empty-trash", "link-acts", "tend-log"], now=now - timedelta(days=3))
    beat(process=WATCH_SINCE, now=now - timedelta(days=3))
    PeriodicTask.objects.filter(name="link-acts").update(succeeded_at=now)
    PeriodicTask.objects.filter(name="tend-log").update(
        failures=9, failing_since=now - timedelta(hours=1), error="OSError: <full>", succeeded_at=now
    )
    page = browser(alice).get(PAGE).content.decode()
    assert page.index("emptying the trash") < page.index("chaining audit log entries")
    assert page.index("creating snapshots and pruning segments") < page.index("chaining audit log entries")
    for text in ("overdue", "failing", "on time", "not yet", "OSError: &lt;full&gt;"):
        assert text in page
