"""Workers are shared fairly: a person with many jobs or silent servers gets only a share of them."""

from collections.abc import Iterator

import psycopg
import pytest

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock, take
from dnspanel.transfer import places
from dnspanel.transfer.import_limits import MOST_READ_AT_ONCE
from dnspanel.transfer.imports import import_jobs, worker
from dnspanel.transfer.models import CutoverCheck, ImportJob, SourceKind
from tests.dnspanel.test_advisory_locks import other_session
from tests.dnspanel.transfer.conftest import MakeImport, zone_text
from tests.people import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker_elsewhere() -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    """Open a database session for another worker, which locks the jobs that it works on."""
    with other_session() as session:
        yield session


def unread(author: User | None) -> ImportJob:
    """Return an import whose source is still unread."""
    job = import_jobs.create_job(source=SourceKind.JSON, title="unread", author=author, now=NOW)
    import_jobs.start_scan(job=job, now=NOW)
    return job


@pytest.mark.parametrize(
    ("taken", "people", "places_", "is_fair"),
    [
        (0, 1, 1, True),
        (1, 1, 2, True),
        (2, 1, 2, False),
        (1, 2, 2, False),
        (1, 2, 3, True),
        (0, 5, 2, True),
        (1, 5, 2, False),
    ],
)
def test_nobody_has_more_than_their_share_while_others_wait(
    taken: int, people: int, places_: int, is_fair: bool
) -> None:
    assert places.is_fair(taken, people=people, places=places_) == is_fair


def test_who_has_the_only_places_lets_others_take_turns(
    make_import: MakeImport, bob: User, worker_elsewhere: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    first, second = (make_import({"a": zone_text(f"{name}.test.")}) for name in ("a", "b"))
    take(worker_elsewhere, Lock.WORKER, first.pk * places.WORKERS_OF_IMPORT)
    assert places.may_compute(first.author_id)  # no one else waits, so she may use both workers
    job = make_import({"c": zone_text("c.test.")})
    ImportJob.objects.filter(pk=job.pk).update(author=bob)
    assert not places.may_compute(first.author_id)
    assert "turn of others" in worker.work_on_import(second.pk).summary
    assert "units=" in worker.work_on_import(job.pk).summary


# Previously three silent servers of one person blocked all bulk workers, with all imports and snapshots.
def test_of_one_person_few_sources_are_read_at_once(
    alice: User, bob: User, worker_elsewhere: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    reading = [unread(alice) for _ in range(MOST_READ_AT_ONCE - 1)]
    check = CutoverCheck.objects.create(author=alice, created_at=NOW, server="192.0.2.1", port=53)
    for job in reading:
        take(worker_elsewhere, Lock.READER, job.pk)
    assert places.may_read(alice.pk)
    take(worker_elsewhere, Lock.COMPARISON, check.pk)
    assert [places.may_read(person) for person in (alice.pk, bob.pk, None)] == [False, True, True]
    assert "of its author" in worker.read_import(unread(alice).pk)
    assert worker.imports_to_read() != []


def test_a_source_that_has_given_nothing_yet_is_no_work(make_import: MakeImport, alice: User) -> None:
    waiting, found = unread(alice), make_import({"a": zone_text("a.test.")})
    assert worker.active_imports() == [found.pk]
    assert worker.imports_to_read() == [waiting.pk]
    assert worker.work_on_import(waiting.pk).summary.endswith("nothing to do")
