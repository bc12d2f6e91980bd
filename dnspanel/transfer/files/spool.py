"""Spool documents between a source and the parser, in files of about a thousand documents each.

    offset  size  entry
    0       4     bytes of the path
    4       4     bytes of the zone's name; 0 if the source does not know it
    8       4     bytes of the text
    12      4     number of line numbers; 0 if lines are those of the file
    16            path, name, text, line numbers (4 bytes each)

All numbers are big-endian. A file gets its final name only when it is complete and synced to disk.
"""

import os
import shutil
import struct
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from dnspanel.texts import gettext
from dnspanel.transfer.documents import Document
from dnspanel.transfer.errors import TransferError

_HEAD = struct.Struct(">IIII")


def import_directory(job_id: int) -> Path:
    """Return the directory for an import's files: its upload, spool files and stage files."""
    return Path(settings.TRANSFER_DIR) / "imports" / str(job_id)


def spool_path(job_id: int, piece: int) -> Path:
    return import_directory(job_id) / f"spool-{piece:06d}"


def remove_files(job_id: int) -> None:
    """Delete all files of the import."""
    shutil.rmtree(import_directory(job_id), ignore_errors=True)


class SpoolWriter:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._unfinished = path.with_suffix(".part")
        self._file = self._unfinished.open("wb", buffering=1 << 20)
        self.documents = 0
        self.size = 0

    def add(self, document: Document) -> None:
        path, zone, lines = document.path.encode(), document.zone.encode(), _pack_numbers(document.lines)
        entry = (
            _HEAD.pack(len(path), len(zone), len(document.text), len(lines) // 4),
            path,
            zone,
            document.text,
            lines,
        )
        self._file.writelines(entry)
        self.size += sum(map(len, entry))
        self.documents += 1

    def finish(self) -> None:
        """Complete the file, sync it to disk, and give it its final name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._unfinished.rename(self._path)

    def abandon(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)


def read_documents(path: Path) -> Iterator[tuple[int, Document]]:
    """Yield (offset, document) for each entry. Raise TransferError if the file is missing or damaged."""
    with _open_file(path) as file:
        offset = 0
        while head := file.read(_HEAD.size):
            document, size = _document(file, head, path)
            yield offset, document
            offset += size


def read_document(path: Path, offset: int) -> Document:
    """Return the document at an offset. Raise TransferError if the file is missing or damaged."""
    with _open_file(path) as file:
        file.seek(offset)
        return _document(file, file.read(_HEAD.size), path)[0]


def _open_file(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=1 << 20)
    except OSError as exc:
        raise TransferError(
            gettext("A file for this import is missing from the panel’s disk ({name}).").format(name=path.name)
        ) from exc


def _document(file: BinaryIO, head: bytes, path: Path) -> tuple[Document, int]:
    try:
        path_size, zone_size, text_size, count = _HEAD.unpack(head)
    except struct.error as exc:
        raise TransferError(gettext("A file in this import is damaged ({name}).").format(name=path.name)) from exc
    size = path_size + zone_size + text_size + 4 * count
    body = file.read(size)
    if len(body) != size:
        raise TransferError(gettext("A file in this import is damaged ({name}).").format(name=path.name))
    zone_at, text_at = path_size, path_size + zone_size
    document = Document(
        path=body[:zone_at].decode(),
        zone=body[zone_at:text_at].decode(),
        text=body[text_at : text_at + text_size],
        lines=_unpack_numbers(body[text_at + text_size :]) if count else None,
    )
    return document, _HEAD.size + size


def _pack_numbers(lines: object) -> bytes:
    if not lines:
        return b""
    numbers = array("I", lines)  # type: ignore[call-overload]
    if sys.byteorder == "little":
        numbers.byteswap()
    return bytes(numbers.tobytes())


def _unpack_numbers(packed: bytes) -> "array[int]":
    numbers = array("I", packed)
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers
