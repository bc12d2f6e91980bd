"""Tests of conditions about silent processes, stuck queues and overdue work. One cause gives one condition."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from dnspanel.alerts import process_rules
from dnspanel.alerts.process_rules import WORK, overdue_after, process_conditions
from dnspanel.conditions import Severity, kinds
from dnspanel.fleet.processes.process_roles import BUSY_FOR, COLLECTOR, NAMES, PROXY
from dnspanel.fleet.processes.state import PeriodicNow, ProcessesNow, ProcessNow, queue_of
from tests.people import NOW


def ago(**time: float) -> datetime:
    return NOW - timedelta(**time)


def process(name: str, **given: Any) -> ProcessNow:
    places = 1 if name in BUSY_FOR else 0
    known = {"host": "panel", "pid": 7, "started_at": ago(hours=3), "at": ago(seconds=5), "places": places}
    return ProcessNow(name, **{**known, **given})


def work(name: str = "empty-trash", **given: Any) -> PeriodicNow:
    entry = settings.CELERY_BEAT_SCHEDULE[name]
    known = {
        "queue": queue_of(entry["task"]),
        "interval": timedelta(seconds=entry["schedule"]),
        "since": ago(days=30),
        "succeeded_at": ago(seconds=1),
    }
    return PeriodicNow(name, **{**known, **given})


WELL = ProcessesNow(
    processes=tuple(map(process, NAMES)),
    periodic=tuple(map(work, settings.CELERY_BEAT_SCHEDULE)),
    answered=dict.fromkeys(BUSY_FOR, ago(seconds=8)),
    watched_since=ago(hours=3),
)


def changed(*others: ProcessNow, without: str = "", **given: Any) -> ProcessesNow:
    """Return the state of a healthy panel with these processes replaced and one removed."""
    names = {each.name for each in others} | {without}
    kept = [each for each in WELL.processes if each.name not in names]
    return replace(WELL, processes=(*kept, *others), **given)


def found(state: ProcessesNow, *, redis_answers: bool = True) -> list[tuple[str, str]]:
    conditions = process_conditions(state, NOW, redis_answers=redis_answers)
    assert {condition.kind for condition in conditions} <= kinds().keys()
    return [(condition.key, str(condition.severity)) for condition in conditions]


def message_of(state: ProcessesNow) -> str:
    [condition] = process_conditions(state, NOW, redis_answers=True)
    return str(condition.message)


def test_nothing_is_wrong_with_a_panel_that_is_well_or_that_never_ran() -> None:
    assert found(WELL) == []
    assert found(ProcessesNow()) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != COLLECTOR])
def test_a_name_of_which_no_process_gives_a_sign_is_named(name: str) -> None:
    silent = process(name, at=ago(seconds=31))
    assert found(changed(silent)) == [(f"panel.process:{name}", Severity.CRITICAL)]
    assert found(changed(process(name, at=ago(seconds=30)))) == []
    assert found(changed(silent, replace(silent, pid=8, at=ago(seconds=1)))) == [
        (f"panel.process:{name}@panel:7", Severity.WARNING)
    ]


def test_the_collector_is_named_by_a_condition_of_its_own_and_nothing_is_said_of_the_proxy_meanwhile() -> None:
    silent = ago(minutes=5)
    assert found(changed(process(COLLECTOR, at=silent), process(PROXY, at=silent))) == []


def test_the_message_says_what_does_not_work() -> None:
    assert message_of(changed(process("push", at=ago(seconds=40)))) == (
        "No push process has been running for 40 s. Effect: nodes get no updates."
    )


@pytest.mark.parametrize(
    ("left", "watched", "expected"),
    [
        (ago(seconds=30), ago(hours=3), False),  # it is restarting
        (ago(seconds=70), ago(hours=3), True),
        (ago(hours=9), ago(seconds=40), False),  # the whole panel was off
        (None, ago(minutes=4), False),
        (None, ago(minutes=6), True),  # it never started
    ],
)
def test_a_process_that_was_stopped_and_not_started_again_is_named(
    left: datetime | None, watched: datetime, expected: bool
) -> None:
    state = changed(without="sources", watched_since=watched, left={"sources": left} if left else {})
    assert found(state) == ([("panel.process:sources", Severity.CRITICAL)] if expected else [])


def test_the_gateway_may_be_stopped_for_good() -> None:
    assert found(changed(without="update", left={"update": ago(days=1)})) == []


def test_after_postgresql_was_away_every_process_has_time_to_appear() -> None:
    everything = tuple(replace(each, at=ago(minutes=5)) for each in WELL.processes)
    state = replace(WELL, processes=everything)
    assert found(replace(state, watched_since=ago(seconds=50))) == []
    assert len(found(replace(state, watched_since=ago(seconds=61)))) == len(NAMES) - 2  # collector, proxy


def test_a_lost_process_is_forgotten_while_others_do_its_work() -> None:
    living, lost = process("push"), process("push", pid=8, at=ago(minutes=61))
    assert found(changed(living, lost)) == []


def test_a_queue_that_takes_nothing_is_named_although_its_worker_gives_signs() -> None:
    unanswered = {**WELL.answered, "push": ago(seconds=46)}
    assert found(changed(process("push", places=16, busy=2), answered=unanswered)) == [
        ("panel.stuck:push", Severity.CRITICAL)
    ]
    assert found(changed(process("push", places=16, busy=16), answered=unanswered)) == []
    assert found(changed(process("push", started_at=ago(seconds=20)), answered=unanswered)) == []


@pytest.mark.parametrize("queue", BUSY_FOR)
def test_a_worker_may_be_busy_for_as_long_as_its_work_takes(queue: str) -> None:
    busy = process(queue, busy=1, task="dnspanel.x", task_since=ago(minutes=14))
    limit = BUSY_FOR[queue]
    assert found(changed(busy, answered={**WELL.answered, queue: NOW - limit})) == []
    state = changed(busy, answered={**WELL.answered, queue: NOW - limit - timedelta(seconds=1)})
    [(key, _)] = found(state)
    assert key == f"panel.stuck:{queue}"
    assert "Its only worker thread has been busy with dnspanel.x for 14 min" in message_of(state)


def test_one_task_that_never_ends_is_named() -> None:
    busy = process("bulk", places=2, busy=1, task="dnspanel.run_import", task_since=ago(minutes=61))
    assert found(changed(busy)) == [("panel.stuck:bulk@panel:7", Severity.WARNING)]


@pytest.mark.parametrize(
    "state",
    [
        changed(process("beat", at=ago(minutes=2))),
        changed(without="beat", left={"beat": ago(seconds=20)}),
        replace(WELL, redis_away_at=ago(seconds=50)),
    ],
)
def test_without_beat_or_redis_no_queue_is_called_stuck_and_no_work_overdue(state: ProcessesNow) -> None:
    late = tuple(replace(each, succeeded_at=ago(days=3)) for each in WELL.periodic)
    state = replace(state, answered=dict.fromkeys(BUSY_FOR, ago(hours=1)), periodic=late)
    assert {key for key, _ in found(state)} <= {"panel.process:beat"}
    assert found(replace(WELL, answered={}, periodic=late), redis_answers=False) == []


@pytest.mark.parametrize("name", settings.CELERY_BEAT_SCHEDULE)
def test_work_that_is_overdue_is_named_in_words(name: str) -> None:
    after = overdue_after(work(name))
    late = work(name, succeeded_at=NOW - after - timedelta(seconds=1))
    state = replace(WELL, periodic=(late,), watched_since=ago(days=3))
    assert found(state) == [("panel.overdue", Severity.WARNING)]
    assert WORK[name] in message_of(state)
    assert found(replace(state, periodic=(replace(late, succeeded_at=NOW - after),))) == []


def test_every_entry_of_the_schedule_has_words_and_nothing_else_has() -> None:
    assert WORK.keys() == settings.CELERY_BEAT_SCHEDULE.keys()
    assert process_rules.EFFECTS.keys() == set(NAMES)


def test_work_that_is_overdue_in_a_panel_that_was_just_switched_on_is_given_time() -> None:
    late = work("empty-trash", succeeded_at=ago(days=9))
    assert found(replace(WELL, periodic=(late,), watched_since=ago(minutes=10))) == []


def test_overdue_work_of_all_kinds_is_one_condition_and_work_of_a_silent_worker_none() -> None:
    late = tuple(replace(each, succeeded_at=ago(days=3)) for each in WELL.periodic)
    assert found(replace(WELL, periodic=late)) == [("panel.overdue", Severity.WARNING)]
    silent = changed(process("system", at=ago(minutes=2)), periodic=tuple(w for w in late if w.queue == "system"))
    assert found(silent) == [("panel.process:system", Severity.CRITICAL)]


def test_work_that_fails_again_and_again_is_named_with_the_error() -> None:
    begun, error = ago(seconds=60), "KeyError: 'x'"
    failing = work("link-acts", failures=3, failing_since=begun, error=error, succeeded_at=ago(hours=9))
    state = replace(WELL, periodic=(failing,))
    assert found(state) == [("panel.failing:link-acts", Severity.WARNING)]
    assert message_of(state) == "A periodic task failed 3 times in 60 s: chaining audit log entries. KeyError: 'x'"
    well = replace(failing, succeeded_at=ago(seconds=9))
    assert found(replace(WELL, periodic=(replace(well, failures=2),))) == []
    assert found(replace(WELL, periodic=(replace(well, failing_since=ago(seconds=59)),))) == []
    seldom = work("empty-trash", failures=1, failing_since=ago(seconds=1), error="OSError: full")
    assert found(replace(WELL, periodic=(seldom,))) == [("panel.failing:empty-trash", Severity.WARNING)]
