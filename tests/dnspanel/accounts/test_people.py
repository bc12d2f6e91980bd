"""Roles of people, and who may no longer sign in."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from dnspanel.accounts import people
from dnspanel.accounts.errors import LastAdministrator
from dnspanel.accounts.models import Role, User
from tests.people import make_person


def test_a_role_changes(alice: User, bob: User) -> None:
    people.change_role(user=bob, role=Role.READER)
    bob.refresh_from_db()
    assert bob.role == Role.READER
    with pytest.raises(ValueError, match="emperor"):
        people.change_role(user=bob, role="emperor")


def test_somebody_deactivated_comes_back(alice: User, bob: User) -> None:
    people.deactivate(user=bob)
    assert not User.objects.get(pk=bob.pk).is_active
    people.reactivate(user=bob)
    assert User.objects.get(pk=bob.pk).is_active


def test_the_last_administrator_cannot_be_lost(alice: User, bob: User) -> None:
    for act in (lambda: people.change_role(user=alice, role=Role.EDITOR), lambda: people.deactivate(user=alice)):
        with pytest.raises(LastAdministrator, match="alice"):
            act()
    people.change_role(user=alice, role=Role.ADMINISTRATOR)
    people.change_role(user=bob, role=Role.ADMINISTRATOR)
    people.deactivate(user=alice)
    with pytest.raises(LastAdministrator, match="bob"):
        people.change_role(user=bob, role=Role.READER)


@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_remove_each_other_at_once() -> None:
    for turn in range(5):
        two = [make_person(f"admin{turn}{letter}", Role.ADMINISTRATOR) for letter in "ab"]
        barrier = Barrier(2, timeout=10)

        def run(user: User, barrier: Barrier = barrier) -> bool:
            try:
                barrier.wait()
                people.deactivate(user=user)
            except LastAdministrator:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as pool:
            removed = list(pool.map(run, two))
        assert sorted(removed) == [False, True]
        User.objects.all().delete()
