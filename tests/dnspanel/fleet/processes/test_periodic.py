"""Tests of the results of periodic work: kept in memory, and written in one statement."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings

from dnspanel.fleet.models import PeriodicTask
from dnspanel.fleet.processes.periodic import LONGEST_ERROR, Outcomes, know_schedule, message_of, record_outcomes
from dnspanel.fleet.processes.state import processes_now
from tests.dnspanel.fleet.conftest import NOW

TRASH = settings.CELERY_BEAT_SCHEDULE["empty-trash"]["task"]
LINK = settings.CELERY_BEAT_SCHEDULE["link-acts"]["task"]
LATER = NOW + timedelta(seconds=10)


def row(name: str) -> tuple[object, ...]:
    each = PeriodicTask.objects.get(name=name)
    return each.succeeded_at, each.failures, each.failing_since, each.error


def write(outcomes: Outcomes) -> None:
    record_outcomes(outcomes=outcomes.take())


@pytest.mark.django_db
def test_the_rows_are_those_of_the_schedule_and_keep_since_when_they_are() -> None:
    know_schedule(names=["empty-trash", "gone"], now=NOW)
    know_schedule(names=["empty-trash", "link-acts"], now=LATER)
    assert dict(PeriodicTask.objects.values_list("name", "since")) == {"empty-trash": NOW, "link-acts": LATER}
    assert [(each.name, each.queue) for each in processes_now().periodic] == [
        ("empty-trash", "system"),
        ("link-acts", "system"),
    ]


@pytest.mark.django_db
def test_successes_and_failures_are_counted_in_one_statement(django_assert_num_queries: Any) -> None:
    know_schedule(names=["empty-trash", "link-acts"], now=NOW)
    outcomes = Outcomes()
    outcomes.note_success(TRASH, NOW)
    outcomes.note_failure(LINK, OSError("full\nof details"), NOW)
    outcomes.note_failure(LINK, OSError("full"), LATER)
    outcomes.note_success("dnspanel.fleet.tasks.push_node", NOW)  # not in the schedule
    with django_assert_num_queries(1):
        write(outcomes)
    assert row("empty-trash") == (NOW, 0, None, "")
    assert row("link-acts") == (None, 2, NOW, "OSError: full")
    outcomes.note_failure(LINK, KeyError("x"), LATER)
    write(outcomes)
    assert row("link-acts") == (None, 3, NOW, "KeyError: 'x'")


@pytest.mark.django_db
def test_a_success_ends_failures_and_a_failure_after_it_counts_from_one() -> None:
    know_schedule(names=["link-acts"], now=NOW)
    outcomes = Outcomes()
    outcomes.note_failure(LINK, OSError("full"), NOW)
    write(outcomes)
    outcomes.note_success(LINK, LATER)
    outcomes.note_failure(LINK, OSError("again"), LATER)
    write(outcomes)
    assert row("link-acts") == (LATER, 1, LATER, "OSError: again")
    outcomes.note_success(LINK, LATER)
    write(outcomes)
    assert row("link-acts") == (LATER, 0, None, "")


@pytest.mark.django_db
def test_nothing_to_write_is_no_statement(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        write(Outcomes())


def test_an_error_is_one_line_of_bounded_length() -> None:
    assert message_of(ValueError("a\nb")) == "ValueError: a"
    assert message_of(ValueError()) == "ValueError: "
    assert len(message_of(ValueError("x" * 999))) == LONGEST_ERROR
