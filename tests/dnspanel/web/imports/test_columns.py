"""The columns of a CSV file: the guess, the preview of the first rows, corrections, and the scan."""

from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import ImportJob, ImportZone, SourceKind, State
from tests.dnspanel.transfer.conftest import directories, work_through
from tests.dnspanel.web.conftest import Browser
from tests.dnspanel.web.imports.test_source import file_of
from tests.people import NOW

__all__ = ["directories"]

TABLE = "zone,host,type,ttl,value\na.test,@,A,300,192.0.2.1\na.test,www,CNAME,300,a.test.\n"
GUESSED = {"column-0": "zone", "column-1": "name", "column-2": "type", "column-3": "ttl", "column-4": "value"}


@pytest.fixture
def job(bob: User) -> ImportJob:
    job = import_jobs.create_job(source=SourceKind.CSV, title="table", author=bob, now=NOW)
    upload.receive_file(job=job, name="table.csv", stream=file_of("table.csv", TABLE))
    return job


def columns(job: ImportJob) -> str:
    return f"/imports/{job.pk}/columns/"


def test_a_table_waits_for_somebody_to_look_at_its_columns(browser: Browser, bob: User, job: ImportJob) -> None:
    assert browser(bob).post(f"/imports/{job.pk}/uploaded/")["Location"] == columns(job)
    page = browser(bob).get(columns(job))
    assert [field.value() for field in page.context["form"].columns] == list(GUESSED.values())
    assert b"192.0.2.1" in page.content
    assert b"delimiter: comma" in page.content


def test_the_columns_are_kept_and_the_table_is_read_so(browser: Browser, bob: User, job: ImportJob) -> None:
    response = browser(bob).post(columns(job), {**GUESSED, "header": "on"})
    assert response["Location"] == f"/imports/{job.pk}/"
    job.refresh_from_db()
    assert job.parameters["mapping"]["value"] == 4
    work_through(job)
    assert (job.state, job.failure) == (State.CHOOSING, "")
    zone = ImportZone.objects.get(job=job)
    assert zone.name == "a.test."
    assert [fault.reason for fault in queries.faults_page(job, severity="error")] == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"column-4": ""}, "Assign a column for: value."),
        ({"column-3": "value"}, "Only one column can be assigned to value."),
        ({"column-0": ""}, "Assign the zone column, or enter a zone here."),
        ({"column-0": "", "fixed_zone": "a..test"}, "empty"),
    ],
)
def test_columns_that_say_too_little_are_refused(
    browser: Browser, bob: User, job: ImportJob, changed: dict[str, Any], message: str
) -> None:
    response = browser(bob).post(columns(job), {**GUESSED, "header": "on", **changed})
    assert response.status_code == 422
    assert message in response.content.decode()
    job.refresh_from_db()
    assert job.state == State.UPLOADING


def test_a_table_without_zones_takes_one_for_all_rows(browser: Browser, bob: User, job: ImportJob) -> None:
    browser(bob).post(columns(job), {**GUESSED, "column-0": "", "fixed_zone": "Other.test", "header": "on"})
    job.refresh_from_db()
    assert job.parameters["mapping"]["fixed_zone"] == "other.test."


def test_another_kind_of_import_has_no_columns(browser: Browser, bob: User) -> None:
    job = import_jobs.create_job(source=SourceKind.FILES, title="zones", author=bob, now=NOW)
    assert browser(bob).get(columns(job))["Location"] == f"/imports/{job.pk}/"


def test_a_file_that_is_no_text_is_said_so(browser: Browser, bob: User) -> None:
    job = import_jobs.create_job(source=SourceKind.CSV, title="table", author=bob, now=NOW)
    upload.receive_file(job=job, name="t.csv", stream=file_of("t.csv", "zone,host\n" + "\x00" * 3))
    assert browser(bob).get(columns(job), follow=True).status_code == 200
