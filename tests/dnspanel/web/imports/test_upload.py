"""Uploads in chunks: each chunk is stored before it is acknowledged, and no chunk is sent twice."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.transfer import import_limits
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportJob, SourceKind, State
from tests.dnspanel.transfer.conftest import directories, work_through, zone_text
from tests.dnspanel.web.conftest import Browser
from tests.dnspanel.web.imports.test_source import file_of
from tests.people import NOW

__all__ = ["directories"]

JSON = {"Accept": "application/json"}
TEXT = zone_text("a.test.", "www 300 A 192.0.2.1").encode()


@pytest.fixture
def job(bob: User) -> ImportJob:
    return import_jobs.create_job(source=SourceKind.FILES, title="zones", author=bob, now=NOW)


def send(client: Client, job: ImportJob, body: bytes, *, offset: int, name: str = "a.test.zone") -> Any:
    address = f"/imports/{job.pk}/upload/?name={name}&offset={offset}"
    return client.post(address, body, content_type="application/octet-stream", headers=JSON)


def test_a_file_arrives_in_chunks_and_is_scanned(browser: Browser, bob: User, job: ImportJob) -> None:
    client = browser(bob)
    assert send(client, job, TEXT[:50], offset=0).json() == {"offset": 50}
    assert client.get(f"/imports/{job.pk}/upload/?name=a.test.zone").json() == {"offset": 50}
    assert send(client, job, TEXT[50:], offset=50).json() == {"offset": len(TEXT)}
    answer = client.post(f"/imports/{job.pk}/uploaded/", headers=JSON).json()
    assert answer == {"next": f"/imports/{job.pk}/"}
    job.refresh_from_db()
    assert work_through(job).state == State.CHOOSING


def test_a_chunk_at_a_wrong_place_is_told_the_right_one(browser: Browser, bob: User, job: ImportJob) -> None:
    client = browser(bob)
    send(client, job, TEXT[:50], offset=0)
    again = send(client, job, TEXT[:50], offset=0)  # the first answer was lost
    assert again.status_code == 409
    assert again.json()["offset"] == 50


def test_an_empty_file_is_a_file(browser: Browser, bob: User, job: ImportJob) -> None:
    assert send(browser(bob), job, b"", offset=0).json() == {"offset": 0}
    assert [file.name for file in upload.uploaded_files(job)] == ["a.test.zone"]


def test_a_name_that_leads_out_of_the_upload_is_refused_in_words(browser: Browser, bob: User, job: ImportJob) -> None:
    answer = send(browser(bob), job, b"x", offset=0, name="../../etc/passwd")
    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_a_limit_is_named(browser: Browser, bob: User, job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_UPLOAD_BYTES", 10)
    answer = send(browser(bob), job, b"x" * 11, offset=0)
    assert answer.status_code == 422
    assert import_limits.title("upload") in answer.json()["errors"][0]


def test_a_chunk_that_is_too_large_is_refused(
    browser: Browser, bob: User, job: ImportJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_limits, "CHUNK_BYTES", 1 << 20)
    answer = send(browser(bob), job, b"x" * ((1 << 20) + 1), offset=0)
    assert answer.status_code == 400
    assert "must not exceed 1 MiB" in answer.json()["errors"][0]


def test_an_upload_of_nothing_does_not_end(browser: Browser, bob: User, job: ImportJob) -> None:
    answer = browser(bob).post(f"/imports/{job.pk}/uploaded/", headers=JSON)
    assert answer.status_code == 422
    job.refresh_from_db()
    assert job.state == State.UPLOADING


def test_the_end_said_twice_is_one(browser: Browser, bob: User, job: ImportJob) -> None:
    client = browser(bob)
    send(client, job, TEXT, offset=0)
    first = client.post(f"/imports/{job.pk}/uploaded/", headers=JSON).json()
    assert client.post(f"/imports/{job.pk}/uploaded/", headers=JSON).json() == first


def test_a_job_that_waits_shows_what_has_arrived(browser: Browser, bob: User, job: ImportJob) -> None:
    send(browser(bob), job, TEXT[:50], offset=0)
    page = browser(bob).get(f"/imports/{job.pk}/").content.decode()
    assert "Resume upload" in page
    assert "Start scan" in page
    assert "a.test.zone" in page
    assert f'data-upload-to="/imports/{job.pk}/upload/"' in page


def test_without_a_script_the_rest_comes_by_the_form(browser: Browser, bob: User, job: ImportJob) -> None:
    sent = {"files": [file_of("a.test.zone", TEXT.decode())], "form_id": uuid4()}
    assert browser(bob).post(f"/imports/{job.pk}/uploaded/", sent)["Location"] == f"/imports/{job.pk}/"
    job.refresh_from_db()
    assert job.state == State.SCANNING


def test_chunks_after_the_end_are_refused(browser: Browser, bob: User, job: ImportJob) -> None:
    client = browser(bob)
    send(client, job, TEXT, offset=0)
    client.post(f"/imports/{job.pk}/uploaded/", headers=JSON)
    assert send(client, job, b"more", offset=len(TEXT)).status_code == 422
