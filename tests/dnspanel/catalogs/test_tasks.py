"""Tests of the catalog worker: it handles due catalogs, and a transfer or a user's change wakes it."""

import pytest

from dnspanel import wake as waking
from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.catalogs import tasks
from dnspanel.catalogs.signals import due
from dnspanel.primaries import refresh
from tests.dnspanel.catalogs.conftest import FIRST, ZONES, Producer, followed, names_here
from tests.people import NOW

OURS = (tasks.follow_catalogs, tasks.follow_producers)
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_catalog_that_came_is_followed_by_the_worker_that_is_woken_then(
    producer: Producer, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    monkeypatch.setattr(tasks, "wake", lambda task: woken.append(task.name))
    monkeypatch.setattr(waking, "wake", lambda task, *_: task in OURS and woken.append(task.name))
    producer.name(FIRST, ZONES[0])
    catalog = followed(producer, alice)
    assert woken == [tasks.follow_catalogs.name]
    producer.name(FIRST, ZONES[1])
    assert refresh.take_turn(zone_id=catalog.pk, clock=lambda: NOW) == "ixfr"
    assert len(woken) == 2
    assert names_here(catalog) == ZONES[:1]
    tasks.follow_catalogs()
    assert names_here(catalog) == ZONES[:2]
    member = catalog.listings.get(zone_name=ZONES[0])
    refresh.take_turn(zone_id=member.zone_id, clock=lambda: NOW)
    assert len(woken) == 2, "a member is no catalog"
    due.send(None)
    assert len(woken) == 3


def test_one_at_a_time_follows_a_catalog(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ZONES[0])
    catalog = followed(producer, alice)
    with hold_lock(Lock.CATALOG, catalog.pk) as mine:
        assert mine
        tasks.follow_catalogs()
