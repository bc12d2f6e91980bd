"""Fixtures and helpers for tests of imports. Each import has its own directory and runs in this process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer import job_rights
from dnspanel.transfer.documents import Document, Options
from dnspanel.transfer.imports import import_jobs, worker
from dnspanel.transfer.models import ACTIVE_STATES, ImportJob, SourceKind, State
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie

MakeImport = Callable[..., ImportJob]


def zone_text(name: str, *lines: str, serial: int = 7) -> str:
    """Return the text of a zone file with a SOA, two NS records and the given lines."""
    head = (
        f"$ORIGIN {name}",
        "$TTL 3600",
        f"@ SOA ns1.example.net. hostmaster.example.net. {serial} 10800 3600 604800 3600",
        "@ NS ns1.example.net.",
        "@ NS ns2.example.net.",
    )
    return "\n".join((*head, *lines, ""))


def work_through(job: ImportJob, *, most: int = 500) -> ImportJob:
    """Run the job's units in this process until the job is no longer active. Fail after `most` turns."""
    for _ in range(most):
        if job.state not in ACTIVE_STATES or job.paused:
            return job
        worker.read_import(job.pk)
        worker.work_on_import(job.pk)
        job.refresh_from_db()
    raise AssertionError(f"still {job.state} after {most} turns")


def import_all(job: ImportJob) -> ImportJob:
    """Run an import from the scan to the report, and return the finished job."""
    work_through(job)
    assert job.state == State.CHOOSING, job.failure
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    assert job.state == State.PLANNED, job.failure
    import_jobs.start_apply(job=job, author=job_rights.actor_of_job(job), now=NOW)
    return work_through(job)


def lines_of(name: str) -> set[str]:
    """Return a zone's records in PostgreSQL except the SOA, as `name ttl type-number rdata…`."""
    zone = Zone.objects.get(name=name, deleted_at=None)
    return {
        f"{one.name} {one.ttl} {one.type} {' | '.join(one.rdata)}"
        for one in StoredRRset.objects.filter(zone=zone).exclude(type=6)
    }


@pytest.fixture(autouse=True)
def directories(tmp_path: Path, settings: Any) -> Path:
    settings.TRANSFER_DIR = tmp_path / "transfer"
    settings.PUBLISHER_DIR = tmp_path / "publisher"
    settings.TRANSFER_PROCESSES = 2
    settings.STORAGES = settings.STORAGES | {
        "segments": settings.STORAGES["segments"] | {"OPTIONS": {"location": str(tmp_path / "segments")}}
    }
    return tmp_path


@pytest.fixture
def make_import(alice: User) -> MakeImport:
    """Return a function that creates an import from zone texts, {path: text}. The import is ready to be scanned."""

    def make_import(texts: dict[str, str], *, options: Options | None = None, title: str = "test") -> ImportJob:
        documents = [Document(path=path, text=text.encode()) for path, text in texts.items()]
        return import_jobs.create_of_documents(
            documents=documents, source=SourceKind.PASTE, title=title, author=alice, now=NOW, options=options
        )

    return make_import
