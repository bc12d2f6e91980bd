"""Store segments, snapshots and prepared rows as immutable objects in the storage `segments`.

An object's name contains a hash of its bytes, so writing it again is harmless. Two writers with different content write
two objects, and the row in PostgreSQL determines which one is valid. An object without a row is left over from a crash.

The storage is a directory (`DurableDirectory`) or a bucket (`bucket.Bucket`). Both raise OSError if an operation fails.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol, cast
from uuid import UUID

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, storages

from dnspanel.publish.errors import DamagedObject, StorageUnreachable
from dnspanel.texts import gettext
from replication.disk import sync_directory

_HASH_DIGITS = 16
_PIECE = 1 << 20


class ObjectStorage(Protocol):
    """The methods of a storage that this module needs."""

    def put(self, name: str, content: bytes) -> None: ...
    def open(self, name: str, mode: str = "rb") -> BinaryIO: ...
    def delete(self, name: str) -> None: ...
    def listdir(self, path: str) -> tuple[list[str], list[str]]: ...
    def get_modified_time(self, name: str) -> datetime: ...


class DurableDirectory(FileSystemStorage):
    """A directory in which a file is either absent, or complete and synced.

    Django's own storage writes files in place and never syncs them. A power loss could leave a row with an empty
    segment.
    """

    def put(self, name: str, content: bytes) -> None:
        """Store the object. If it already exists, check that it is complete, and raise DamagedObject otherwise."""
        if not self.exists(name):
            self.save(name, ContentFile(content))
        if self.size(name) != len(content):
            reason = gettext(
                "the stored object {name} is damaged. Delete it so that the panel can write a new copy"
            ).format(name=name)
            raise DamagedObject(object_name=name, reason=reason)

    def _save(self, name: str, content: "File[bytes]") -> str:
        path = Path(self.path(name))
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            for above in path.parent.parents:
                sync_directory(above)
                if above == Path(self.location):
                    break
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # unlike a rename, a link never replaces an existing file
                os.link(temporary, path)
        finally:
            os.unlink(temporary)
        sync_directory(path.parent)
        return name


def object_name(*, schema: int, epoch: UUID, first: int, last: int, content: bytes) -> str:
    """Return the name of a segment's object. Names sort by sequence."""
    return f"{schema}/{epoch}/{first:016d}-{last:016d}-{hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]}"


def put_object(name: str, content: bytes) -> None:
    """Store the object durably. Raise DamagedObject if it exists but is damaged, or StorageUnreachable on failure."""
    with _errors_of_storage(name):
        _storage().put(name, content)


def open_object(name: str) -> BinaryIO:
    """Open an object for reading. Raise DamagedObject if it is missing, StorageUnreachable if the storage fails."""
    with _errors_of_storage(name):
        return _storage().open(name, "rb")


def open_segment_object(name: str) -> BinaryIO:
    """Open a segment's object, and check its bytes against the hash in its name.

    Raise DamagedObject if they differ or the object is missing, and StorageUnreachable if the storage fails.
    """
    file = open_object(name)
    try:
        with _errors_of_storage(name):
            digest = hashlib.sha256()
            while piece := file.read(_PIECE):
                digest.update(piece)
            file.seek(0)
        if not name.endswith("-" + digest.hexdigest()[:_HASH_DIGITS]):
            raise DamagedObject(
                object_name=name,
                reason=gettext("the content of object {name} doesn’t match its name").format(name=name),
            )
    except BaseException:
        file.close()
        raise
    return file


def read_object(name: str) -> bytes:
    """Return a small object's bytes. Raise DamagedObject if it is missing, StorageUnreachable if the storage fails."""
    with open_object(name) as file, _errors_of_storage(name):
        return file.read()


def delete_object(name: str) -> None:
    """Delete an unreferenced object, if it exists. Raise StorageUnreachable if the storage fails."""
    with _errors_of_storage(name):
        _storage().delete(name)


def objects_below(directory: str, *, before: datetime) -> Iterator[str]:
    """Yield the names of objects that are directly in a directory and were stored before a given time.

    Raise StorageUnreachable if the storage fails.
    """
    with _errors_of_storage(directory):
        try:
            _, names = _storage().listdir(directory)
        except FileNotFoundError:
            return
    for name in (f"{directory}/{name}" for name in sorted(names)):
        with _errors_of_storage(name), suppress(FileNotFoundError):
            if _storage().get_modified_time(name) < before:
                yield name


def _storage() -> ObjectStorage:
    return cast(ObjectStorage, storages["segments"])


@contextmanager
def _errors_of_storage(name: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as exc:
        raise DamagedObject(
            object_name=name, reason=gettext("the object {name} is missing from storage").format(name=name)
        ) from exc
    except OSError as exc:
        raise StorageUnreachable(object_name=name, reason=str(exc)) from exc
