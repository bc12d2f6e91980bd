"""Uploads to a disk that is really full: 507 with the reason from pages and APIs, and the upload continues later."""

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from dnspanel.accounts.models import User
from dnspanel.database import database_away
from dnspanel.database.database_away import Notes
from dnspanel.transfer.errors import DiskFull
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportJob, SourceKind
from tests.dnspanel.api.v2.conftest import Caller
from tests.dnspanel.api.v2.conftest import call as call
from tests.dnspanel.api.v2.conftest import make_caller as make_caller
from tests.dnspanel.transfer.conftest import directories as directories
from tests.dnspanel.transfer.files.test_upload import contents, send
from tests.dnspanel.web.conftest import Browser
from tests.dnspanel.web.conftest import browser as browser
from tests.full_disk import fill, small_disk, use_inodes
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob

pytestmark = pytest.mark.django_db(transaction=True)

REASON = "The panel’s disk has only 0 MiB left. Delete old imports and exports, then resume the upload."


@pytest.fixture
def disk(directories: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Mount a disk of 1 MiB for uploads. The panel uses all of it."""
    monkeypatch.setattr(upload, "FREE_BYTES", 0)
    with small_disk(directories / "transfer") as path:
        yield path


@pytest.fixture
def job(bob: User) -> ImportJob:
    return import_jobs.create_job(source=SourceKind.FILES, title="files", author=bob, now=NOW)


def test_an_upload_continues_when_space_is_free_again(job: ImportJob, disk: Path) -> None:
    send(job, "a", 0, b"first ")
    fill(disk)
    with pytest.raises(DiskFull, match="has only 0 MiB left"):
        send(job, "a", 6, b"x" * 100_000)
    assert contents(job) == {"a": b"first "}
    (disk / "filler").unlink()
    send(job, "a", 6, b"second")
    assert contents(job) == {"a": b"first second"}


@pytest.mark.parametrize("spoil", [fill, use_inodes])
def test_the_first_chunk_is_refused_with_507(
    browser: Browser, bob: User, job: ImportJob, disk: Path, spoil: Any
) -> None:
    spoil(disk)
    answer = browser(bob).post(
        f"/imports/{job.pk}/upload/?name=a&offset=0",
        b"x" * 10_000,
        content_type="application/octet-stream",
        headers={"Accept": "application/json"},
    )
    assert (answer.status_code, answer.json()) == (507, {"errors": [REASON]})


@pytest.mark.parametrize("spoil", [fill, use_inodes])
def test_a_form_without_a_script_gets_a_page(browser: Browser, bob: User, disk: Path, spoil: Any) -> None:
    spoil(disk)
    form = {"form_id": uuid4(), "files": [SimpleUploadedFile("a.zone", b"x" * 10_000)]}
    answer = browser(bob).post("/imports/new/files/", form)
    assert answer.status_code == 507
    assert "The disk is full" in answer.content.decode()
    assert REASON in answer.content.decode()


def test_a_form_whose_files_django_cannot_store_gets_a_page(
    browser: Browser, bob: User, disk: Path, settings: Any, caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    """Django stores files above 2.5 MB on the disk before any view runs."""
    monkeypatch.setattr(database_away, "_notes", Notes())
    settings.FILE_UPLOAD_TEMP_DIR = str(disk)
    fill(disk)
    client = browser(bob)
    client.raise_request_exception = False
    form = {"form_id": uuid4(), "files": [SimpleUploadedFile("a.zone", b"x" * 3_000_000)]}
    answer = client.post("/imports/new/files/", form)
    assert answer.status_code == 507
    assert "A disk of the panel is full" in answer.content.decode()
    assert "a disk is full: POST /imports/new/files/: [Errno 28]" in caplog.text
    del answer, client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # Django's unfinished file, before the disk is unmounted


@pytest.mark.parametrize("spoil", [fill, use_inodes])
def test_api_v2_names_the_problem(call: Caller, disk: Path, spoil: Any) -> None:
    made = call.good("POST", "/imports", {"source": "files"})
    spoil(disk)
    url = f"/imports/{made['id']}/files/a"
    problem = call.problem(507, "PUT", url, b"x" * 10_000, media="application/octet-stream")
    assert (problem["code"], problem["detail"]) == ("disk-full", REASON)
