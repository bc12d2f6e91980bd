"""Uploads to the panel's disk: chunks arrive in order, files are complete or absent, and stay in their directory."""

import io
import os
from pathlib import Path

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.errors import UploadRefused, WrongState
from dnspanel.transfer.files import upload
from dnspanel.transfer.files.upload import ChunkUnderWay, WrongOffset
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportJob, SourceKind, State
from replication.disk import Disk
from tests.people import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(alice: User) -> ImportJob:
    return import_jobs.create_job(source=SourceKind.FILES, title="files", author=alice, now=NOW)


def send(job: ImportJob, name: str, offset: int, content: bytes, size: int | None = None) -> int:
    return upload.receive_chunk(job=job, name=name, offset=offset, stream=io.BytesIO(content), size=size)


def contents(job: ImportJob) -> dict[str, bytes]:
    return {file.name: file.path.read_bytes() for file in upload.uploaded_files(job)}


def test_chunks_make_a_file(job: ImportJob) -> None:
    assert upload.uploaded_files(job) == []
    assert send(job, "estate.tar.gz", 0, b"first ") == 6
    assert upload.offset_of(job, "estate.tar.gz") == 6
    assert send(job, "estate.tar.gz", 6, b"second and what follows", size=6) == 12

    assert contents(job) == {"estate.tar.gz": b"first second"}
    (file,) = upload.uploaded_files(job)
    assert (file.name, file.size) == ("estate.tar.gz", 12)


@pytest.mark.parametrize("offset", [0, 5, 7, 1 << 40])
def test_a_chunk_that_does_not_begin_where_the_file_ends_is_told_where_to_go_on(job: ImportJob, offset: int) -> None:
    send(job, "a", 0, b"123456")
    with pytest.raises(WrongOffset, match="already has 6 bytes") as refused:
        send(job, "a", offset, b"x")

    assert refused.value.offset == 6
    assert contents(job) == {"a": b"123456"}


def test_a_chunk_that_breaks_off_leaves_the_file_as_it_was(job: ImportJob) -> None:
    send(job, "a", 0, b"123")
    with pytest.raises(UploadRefused, match="Only 2 of the chunk’s 5 bytes"):
        send(job, "a", 3, b"45", size=5)

    assert upload.offset_of(job, "a") == 3
    assert send(job, "a", 3, b"45678", size=5) == 8
    assert contents(job) == {"a": b"12345678"}


def test_what_a_crash_left_behind_is_cut_away(job: ImportJob) -> None:
    send(job, "a", 0, b"123")
    (file,) = upload.uploaded_files(job)
    with file.path.open("ab") as half:
        half.write(b"never acknowledged")

    assert upload.offset_of(job, "a") == 3
    send(job, "a", 3, b"4")
    assert contents(job) == {"a": b"1234"}


def test_a_stream_that_fails_leaves_the_file_as_it_was(job: ImportJob) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if part := super().read(1):
                return part
            raise OSError("the browser went away")

    send(job, "a", 0, b"123")
    with pytest.raises(OSError, match="went away"):
        upload.receive_chunk(job=job, name="a", offset=3, stream=Broken(b"45"), size=5)

    send(job, "a", 3, b"6")
    assert contents(job) == {"a": b"1236"}


def test_two_chunks_of_a_file_at_once_are_refused_and_two_files_are_not(job: ImportJob) -> None:
    class Meanwhile(io.BytesIO):
        """A chunk that lets other chunks arrive while it is read."""

        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() == 0:
                with pytest.raises(ChunkUnderWay):
                    send(job, "a", 0, b"other")
                send(job, "b", 0, b"beside")
            return super().read(size)

    upload.receive_chunk(job=job, name="a", offset=0, stream=Meanwhile(b"mine"))
    assert contents(job) == {"a": b"mine", "b": b"beside"}


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "a/../../b", "C:/a", "..\\a", "a\0b", "", "..", "x" * 2000, "ä" * 600]
)
def test_names_that_lead_elsewhere_are_refused(job: ImportJob, name: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UploadRefused) as refused:
        send(job, name, 0, b"evil")

    assert refused.value.limit == "path"
    assert sorted(tmp_path.rglob("*")) == before


def test_names_are_kept_with_their_folders_but_never_used_on_disk(job: ImportJob) -> None:
    for name in ("zones/a.zone", "./zones//b.zone", "manifest", "0001", "bücher.test"):
        send(job, name, 0, name.encode())
    files = upload.uploaded_files(job)

    assert [file.name for file in files] == ["zones/a.zone", "zones/b.zone", "manifest", "0001", "bücher.test"]
    assert [file.path.name for file in files] == ["0001", "0002", "0003", "0004", "0005"]
    assert len({file.path.parent for file in files}) == 1
    assert contents(job)["manifest"] == b"manifest"


def test_an_upload_may_not_be_too_large(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_UPLOAD_BYTES", 10)
    send(job, "a", 0, b"123456")
    for size in (5, None):
        with pytest.raises(UploadRefused, match="at most") as refused:
            send(job, "b", 0, b"12345", size=size)
        assert refused.value.limit == "upload"

    assert send(job, "b", 0, b"1234") == 4


def test_an_upload_may_not_have_too_many_files(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_ENTRIES", 1)
    send(job, "a", 0, b"1")
    with pytest.raises(UploadRefused) as refused:
        send(job, "b", 0, b"1")
    assert refused.value.limit == "entries"
    send(job, "a", 1, b"2")


def test_a_disk_is_refused_before_it_is_full(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "disk_of", lambda _: Disk(upload.FREE_BYTES + 4, 1 << 40, 9, 10))
    with pytest.raises(UploadRefused, match="has only 0 MiB left"):
        send(job, "a", 0, b"12345", size=5)
    with pytest.raises(UploadRefused, match="has only 0 MiB left"):
        send(job, "a", 0, b"12345")
    assert send(job, "a", 0, b"1234") == 4
    monkeypatch.setattr(upload, "disk_of", lambda _: Disk(1 << 40, 1 << 40, 0, 10))
    with pytest.raises(UploadRefused, match="has only 0 MiB left"):
        send(job, "b", 0, b"1")


def test_a_complete_file_replaces_the_earlier_one(job: ImportJob) -> None:
    send(job, "a", 0, b"half of someth")
    assert upload.receive_file(job=job, name="a", stream=io.BytesIO(b"whole")) == 5
    assert contents(job) == {"a": b"whole"}


def test_files_can_be_removed(job: ImportJob) -> None:
    upload.remove_file(job=job, name="never.there")
    send(job, "a", 0, b"1")
    send(job, "b", 0, b"2")
    (path, _) = (file.path for file in upload.uploaded_files(job))
    upload.remove_file(job=job, name="a")
    upload.remove_file(job=job, name="a")

    assert contents(job) == {"b": b"2"}
    assert not path.exists()
    send(job, "a", 0, b"3")
    assert contents(job) == {"b": b"2", "a": b"3"}


@pytest.mark.parametrize("state", [state for state in State if state != State.UPLOADING])
def test_an_import_that_has_begun_takes_no_files(job: ImportJob, state: State) -> None:
    send(job, "a", 0, b"1")
    job.state = state
    for refused in (
        lambda: send(job, "a", 1, b"2"),
        lambda: upload.receive_file(job=job, name="a", stream=io.BytesIO()),
        lambda: upload.remove_file(job=job, name="a"),
    ):
        with pytest.raises(WrongState):
            refused()
    assert contents(job) == {"a": b"1"}


def test_files_are_nobodys_elses_business(job: ImportJob) -> None:
    send(job, "a", 0, b"1")
    (file,) = upload.uploaded_files(job)
    assert os.stat(file.path).st_mode & 0o077 == 0
