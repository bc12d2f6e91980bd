"""Receive an import's files in chunks. An upload can take hours, and survives crashes. Verbs.

    <import>/upload/manifest    SQLite: number, name and size of each file
    <import>/upload/0001 …      their bytes

A file on disk never has the name that the uploader gave it. The manifest contains the file's valid size. If an
interrupted chunk left more bytes in the file, the next chunk overwrites them.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from django.db import transaction
from django.utils import timezone

from dnspanel.accounts.actors.actors import Author
from dnspanel.database.database_away import is_full
from dnspanel.texts import gettext
from dnspanel.transfer import import_limits, import_quotas, job_rights
from dnspanel.transfer.archives.paths import clean_path
from dnspanel.transfer.errors import DiskFull, QuotaExceeded, TransferError, UploadRefused, WrongState
from dnspanel.transfer.files.spool import import_directory
from dnspanel.transfer.import_limits import MOST_ENTRIES, MOST_UPLOAD_BYTES
from dnspanel.transfer.models import ImportJob, State
from replication.disk import disk_of

# Bytes that stay free, because the database and the log use this disk too, and an import needs space.
FREE_BYTES = 512 << 20
_READ_BYTES = 1 << 20
_BUSY_SECONDS = 30.0
_TABLE = """
CREATE TABLE IF NOT EXISTS file (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL,
    size INTEGER NOT NULL DEFAULT 0)
"""


class Stream(Protocol):
    """A stream that chunks are read from, such as a request body or a file."""

    def read(self, size: int, /) -> bytes: ...


class Uploaded(NamedTuple):
    """A file of an upload. `name` is its path as given by the uploader, in normalized form."""

    name: str
    size: int
    path: Path


class WrongOffset(UploadRefused):
    """A chunk doesn't begin at the end of the file. `offset` is the required start of the next chunk."""

    def __init__(self, name: str, offset: int) -> None:
        super().__init__(
            gettext("{name} already has {offset:,} bytes. Continue the upload at this offset.").format(
                name=name, offset=offset
            )
        )
        self.offset = offset


class ChunkUnderWay(UploadRefused):
    """The panel is already receiving another chunk of the same file."""


def receive_chunk(*, job: ImportJob, name: str, offset: int, stream: Stream, size: int | None = None) -> int:
    """Append a chunk to the file, durably, and return the file's new size.

    The chunk is the next `size` bytes of the stream, or the rest of the stream. An interrupted chunk leaves the file
    unchanged. Raise WrongOffset if `offset` isn't the file's size, and ChunkUnderWay if another chunk of the file is
    arriving. Raise WrongState if the import no longer accepts files, and QuotaExceeded if the author's quota is
    exceeded. Raise UploadRefused if a limit (`path`, `entries`, `upload`) is exceeded or the stream ends early. Raise
    DiskFull if the disk is full.
    """
    _check_open(job)
    name = clean_path(name)
    with _disk_full_refused(), closing(_manifest(job, make=True)) as manifest:
        number = _number(manifest, name)
        with _lock_file(_path(job, number), name) as file:
            known = _size(manifest, number)
            if offset != known:
                raise WrongOffset(name, known)
            os.ftruncate(file, known)
            os.lseek(file, known, os.SEEK_SET)
            room = _room(job, manifest)
            if size is not None and size > room.bytes:
                raise room.refusal
            try:
                end = known + _append(file, stream, size, room)
                os.fsync(file)
                with manifest:
                    manifest.execute("UPDATE file SET size = ? WHERE number = ?", (end, number))
                    _count_bytes(job, manifest, end - known)
            except BaseException:
                os.ftruncate(file, known)
                raise
    return end


@contextmanager
def _disk_full_refused() -> Iterator[None]:
    """Raise DiskFull if the block fails because the disk has no space or no inodes."""
    try:
        yield
    except (OSError, sqlite3.Error) as exc:
        if not is_full(exc):
            raise
        raise _disk_full(0) from exc


def _disk_full(free: int) -> DiskFull:
    return DiskFull(
        gettext(
            "The panel’s disk has only {room:,} MiB left. Delete old imports and exports, then resume the upload."
        ).format(room=free >> 20)
    )


def receive_file(*, job: ImportJob, name: str, stream: Stream) -> int:
    """Replace the file with the stream's content, and return its size. Raise the errors of `receive_chunk`."""
    remove_file(job=job, name=name)
    return receive_chunk(job=job, name=name, offset=0, stream=stream)


def remove_file(*, job: ImportJob, name: str) -> None:
    """Remove the file from the upload, if it exists. Raise WrongState if the import no longer accepts files."""
    _check_open(job)
    if not _directory(job).exists():
        return
    with closing(_manifest(job)) as manifest, manifest:
        row = manifest.execute("SELECT number FROM file WHERE name = ?", (clean_path(name),)).fetchone()
        if row is not None:
            manifest.execute("DELETE FROM file WHERE number = ?", row)
            _count_bytes(job, manifest, 0)
            _path(job, row[0]).unlink(missing_ok=True)


def uploaded_files(job: ImportJob) -> list[Uploaded]:
    """Return the files that have arrived so far, in the order of their first chunks."""
    if not _directory(job).exists():
        return []
    with closing(_manifest(job)) as manifest:
        rows = manifest.execute("SELECT number, name, size FROM file ORDER BY number").fetchall()
    return [Uploaded(name, size, _path(job, number)) for number, name, size in rows]


def offset_of(job: ImportJob, name: str) -> int:
    """Return the offset for the next chunk of a file, or 0 before the first chunk."""
    name = clean_path(name)
    return next((file.size for file in uploaded_files(job) if file.name == name), 0)


def _count_bytes(job: ImportJob, manifest: sqlite3.Connection, added: int) -> None:
    """Update the upload's size in the job's row. Raise QuotaExceeded if `added` bytes exceed the author's quota."""
    with transaction.atomic():
        if added:
            import_quotas.refuse_bytes(job_rights.actor_of_job(job), added, now=timezone.now())
        total = manifest.execute("SELECT coalesce(sum(size), 0) FROM file").fetchone()[0]
        ImportJob.objects.filter(pk=job.pk).update(upload_bytes=total)


class _Room(NamedTuple):
    """The number of bytes that can still be added to an upload, and the error for exceeding it."""

    bytes: int
    refusal: TransferError


def _append(file: int, stream: Stream, size: int | None, room: _Room) -> int:
    """Append the stream to the file, and return the number of bytes written.

    Raise UploadRefused if the stream has fewer than `size` bytes, and `room.refusal` if it has more than `room` allows.
    """
    written = 0
    while size is None or written < size:
        block = stream.read(_READ_BYTES if size is None else min(_READ_BYTES, size - written))
        if not block:
            break
        if written + len(block) > room.bytes:
            raise room.refusal
        view = memoryview(block)
        while view:
            view = view[os.write(file, view) :]
        written += len(block)
    if size is not None and written < size:
        raise UploadRefused(
            gettext("Only {written:,} of the chunk’s {size:,} bytes arrived. Send the chunk again.").format(
                written=written, size=size
            )
        )
    return written


def _room(job: ImportJob, manifest: sqlite3.Connection) -> _Room:
    disk = disk_of(_directory(job))
    free = disk.free_bytes - FREE_BYTES if disk.has_inodes else 0
    allowed = MOST_UPLOAD_BYTES - manifest.execute("SELECT coalesce(sum(size), 0) FROM file").fetchone()[0]
    author = job_rights.actor_of_job(job)
    left = import_quotas.bytes_left(author, now=timezone.now())
    if left is not None and left < min(allowed, free):
        return _Room(left, _quota_refusal(author, left))
    if allowed <= free:
        return _Room(
            allowed,
            UploadRefused(
                gettext("The upload is too large: {limit}.").format(limit=import_limits.title("upload")), limit="upload"
            ),
        )
    return _Room(max(0, free), _disk_full(max(0, free)))


def _quota_refusal(author: Author, left: int) -> TransferError:
    """Return the error for an upload that exceeds the author's quota."""
    try:
        with transaction.atomic():
            import_quotas.refuse_bytes(author, left + 1, now=timezone.now())
    except QuotaExceeded as refusal:
        return refusal
    return UploadRefused(gettext("The upload no longer fits into the available space. Try the upload again."))


def _number(manifest: sqlite3.Connection, name: str) -> int:
    """Return the file's number in the manifest, and add the file if it is new.

    Raise UploadRefused if the upload has too many files.
    """
    query = "SELECT number FROM file WHERE name = ?"
    with manifest:
        if manifest.execute(query, (name,)).fetchone() is None:
            if manifest.execute("SELECT count(*) FROM file").fetchone()[0] >= MOST_ENTRIES:
                raise UploadRefused(
                    gettext("The upload has too many files: {titles}.").format(titles=import_limits.title("entries")),
                    limit="entries",
                )
            # Another chunk of the same file may have inserted it just now.
            manifest.execute("INSERT OR IGNORE INTO file (name) VALUES (?)", (name,))
        return int(manifest.execute(query, (name,)).fetchone()[0])


def _size(manifest: sqlite3.Connection, number: int) -> int:
    row = manifest.execute("SELECT size FROM file WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise UploadRefused(gettext("The file was removed during the upload."))
    return int(row[0])


@contextmanager
def _lock_file(path: Path, name: str) -> Iterator[int]:
    """Open the file and lock it until the block or the process ends. Raise ChunkUnderWay if it is already locked."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise ChunkUnderWay(gettext("Another chunk of {name} is being uploaded.").format(name=name)) from exc
        yield file
    finally:
        os.close(file)


def _manifest(job: ImportJob, *, make: bool = False) -> sqlite3.Connection:
    if make:
        _directory(job).mkdir(parents=True, exist_ok=True)
    manifest = sqlite3.connect(_directory(job) / "manifest", timeout=_BUSY_SECONDS)
    manifest.execute("PRAGMA synchronous = FULL")
    manifest.execute(_TABLE)
    return manifest


def _check_open(job: ImportJob) -> None:
    if job.state != State.UPLOADING:
        raise WrongState(gettext("This import no longer accepts files."))


def _directory(job: ImportJob) -> Path:
    return import_directory(job.pk) / "upload"


def _path(job: ImportJob, number: int) -> Path:
    return _directory(job) / f"{number:04d}"
