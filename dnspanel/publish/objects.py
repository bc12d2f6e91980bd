"""Segments at rest, and what is prepared for them: immutable objects in the storage named `segments`.

An object's name holds a hash of its bytes, so writing it again is harmless,
and two writers that disagree write two objects; the row in PostgreSQL says
which one counts. An object without a row is left over from a crash.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast
from uuid import UUID

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, storages

from replication.errors import BadSegment


class DurableDirectory(FileSystemStorage):
    """A directory whose files appear whole and synced, or not at all.

    Django's own storage writes in place and never syncs: after a power loss a
    row could name a segment that is empty.
    """

    def _save(self, name: str, content: "File[bytes]") -> str:
        path = Path(self.path(name))
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            for above in path.parent.parents:
                _sync_directory(above)
                if above == Path(self.location):
                    break
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # a link, unlike a rename, never replaces what is there
                os.link(temporary, path)
        finally:
            os.unlink(temporary)
        _sync_directory(path.parent)
        return name


def object_name(*, schema: int, epoch: UUID, first: int, last: int, content: bytes) -> str:
    """Return the name of a segment's object; names sort by sequence."""
    return f"{schema}/{epoch}/{first:016d}-{last:016d}-{hashlib.sha256(content).hexdigest()[:16]}"


def put_object(name: str, content: bytes) -> None:
    """Store the object durably; when it is there already, only look that it is whole. Raises BadSegment."""
    storage = storages["segments"]
    if not storage.exists(name):
        storage.save(name, ContentFile(content))
    if storage.size(name) != len(content):
        raise BadSegment(reason=f"the stored object {name} is damaged; remove it, and it is written again")


def open_object(name: str) -> BinaryIO:
    """Open a stored segment for reading. Raises BadSegment when it is missing."""
    try:
        return cast(BinaryIO, storages["segments"].open(name, "rb"))
    except FileNotFoundError as exc:
        raise BadSegment(reason=f"the object {name} is missing from the storage of segments") from exc


def delete_object(name: str) -> None:
    """Remove an object that nothing names any more. Idempotent."""
    storages["segments"].delete(name)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
