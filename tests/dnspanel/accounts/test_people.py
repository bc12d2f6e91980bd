"""Roles of people, and who may no longer sign in."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from dnspanel.accounts import people
from dnspanel.accounts.errors import LastAdministrator
from dnspanel.accounts.models import AuditEntry, Role, User
from tests.people import NOW, make_person


def test_a_role_changes(alice: User, bob: User) -> None:
    people.change_role(user=bob, role=Role.READER, by=None, now=NOW)
    bob.refresh_from_db()
    assert bob.role == Role.READER
    with pytest.raises(ValueError, match="emperor"):
        people.change_role(user=bob, role="emperor", by=None, now=NOW)


def test_each_change_of_a_person_is_in_the_audit_log_once(alice: User, bob: User) -> None:
    for _ in range(2):
        people.change_role(user=bob, role=Role.READER, by=alice, now=NOW)
    for _ in range(2):
        people.deactivate(user=bob, by=alice, now=NOW)
    for _ in range(2):
        people.reactivate(user=bob, by=alice, now=NOW)
    entries = AuditEntry.objects.order_by("pk").values_list("action", "target", "user__username")
    assert list(entries) == [(f"person.{act}", "bob", "alice") for act in ("role", "close", "open")]
    assert AuditEntry.objects.earliest("pk").details == {"role": "reader", "before": "editor"}


def test_somebody_deactivated_comes_back(alice: User, bob: User) -> None:
    people.deactivate(user=bob, by=None, now=NOW)
    assert not User.objects.get(pk=bob.pk).is_active
    people.reactivate(user=bob, by=None, now=NOW)
    assert User.objects.get(pk=bob.pk).is_active


def test_the_last_administrator_cannot_be_lost(alice: User, bob: User) -> None:
    how = {"user": alice, "by": None, "now": NOW}
    for act in (lambda: people.change_role(role=Role.EDITOR, **how), lambda: people.deactivate(**how)):
        with pytest.raises(LastAdministrator, match="alice"):
            act()
    people.change_role(user=alice, role=Role.ADMINISTRATOR, by=None, now=NOW)
    people.change_role(user=bob, role=Role.ADMINISTRATOR, by=None, now=NOW)
    people.deactivate(user=alice, by=None, now=NOW)
    with pytest.raises(LastAdministrator, match="bob"):
        people.change_role(user=bob, role=Role.READER, by=None, now=NOW)


@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_remove_each_other_at_once() -> None:
    for turn in range(5):
        two = [make_person(f"admin{turn}{letter}", Role.ADMINISTRATOR) for letter in "ab"]
        barrier = Barrier(2, timeout=10)

        def run(user: User, barrier: Barrier = barrier) -> bool:
            try:
                barrier.wait()
                people.deactivate(user=user, by=None, now=NOW)
            except LastAdministrator:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as pool:
            removed = list(pool.map(run, two))
        assert sorted(removed) == [False, True]
        User.objects.all().delete()
