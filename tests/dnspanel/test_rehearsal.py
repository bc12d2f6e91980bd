"""Tests of rehearsals, which roll back everything that was written inside the block."""

import pytest
from django.db import ProgrammingError, connection, transaction

from dnspanel import rehearsal
from dnspanel.accounts.models import Team
from dnspanel.advisory_locks import Lock, hold_lock, locked_keys
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def make_team(name: str) -> None:
    with transaction.atomic(durable=True):
        Team.objects.create(name=name, created_at=NOW)
        transaction.on_commit(lambda: pytest.fail("told somebody"))


def test_what_verbs_save_within_is_gone() -> None:
    with rehearsal.rehearse():
        make_team("First")
        make_team("Second")
        assert Team.objects.count() == 2
    assert Team.objects.count() == 0
    assert not connection.in_atomic_block


def refused() -> None:
    with rehearsal.rehearse():
        make_team("First")
        raise ValueError("refused")


def test_an_error_goes_on_and_leaves_nothing() -> None:
    with pytest.raises(ValueError, match="refused"):
        refused()
    assert Team.objects.count() == 0
    assert rehearsal.under_way() is None


def test_what_a_person_may_confirm_is_noted_and_does_not_end_it() -> None:
    with pytest.raises(ValueError, match="many"):
        rehearsal.hold(ValueError("many"))
    with rehearsal.rehearse() as rehearsed:
        rehearsal.hold(ValueError("many"))
        rehearsal.note("a plan")
    assert [str(refusal) for refusal in rehearsed.notes_of(Exception)] == ["many"]
    assert rehearsed.notes_of(str) == ["a plan"]


def fail_under_a_lock() -> None:
    with rehearsal.rehearse(), hold_lock(Lock.RESOURCE, 7, wait=True):
        assert locked_keys(Lock.RESOURCE) == [(Lock.RESOURCE, 7)]
        with connection.cursor() as cursor:
            cursor.execute("SELECT nothing_here")


def test_a_lock_that_was_waited_for_ends_with_it_even_after_a_statement_that_failed() -> None:
    with pytest.raises(ProgrammingError, match="nothing_here"):
        fail_under_a_lock()
    assert locked_keys(Lock.RESOURCE) == []
