"""Unpack compressed files as streams of chunks.

Bytes are counted while they are unpacked, because the size in a header can't be trusted. A file's format is detected
from its first bytes, never from its name.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from enum import Enum
from typing import BinaryIO, NamedTuple, Protocol

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.errors import UploadRefused
from dnspanel.transfer.import_limits import MOST_RATIO, MOST_UNPACKED_BYTES, RATIO_FREE_BYTES

READ_BYTES = 1 << 18
# The most bytes that one step unpacks, regardless of the size of its input.
CHUNK_BYTES = 1 << 20
_MOST_XZ_MEMORY = 128 << 20


class Damaged(UploadRefused):
    """A compressed file or an archive is invalid or ends early."""


class EntryKind(Enum):
    """The kind of an archive entry. Only files have content."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    DEVICE = "device"
    SPARSE = "sparse file"
    TOO_LARGE = "too large"
    ENCRYPTED = "encrypted"
    METHOD = "compressed in an unknown way"
    DAMAGED = "damaged"
    UNKNOWN = "of an unknown type"


class Entry(NamedTuple):
    """An entry of an archive. `path` is exactly as in the archive, not normalized."""

    path: bytes
    kind: EntryKind
    content: bytes = b""


class Meter:
    """A counter of the bytes read from disk and the bytes unpacked. It refuses archive bombs."""

    def __init__(self, size: int) -> None:
        self.read = 0
        self.unpacked = 0
        self._most = min(MOST_UNPACKED_BYTES, max(RATIO_FREE_BYTES, MOST_RATIO * size))

    def count(self, unpacked: int) -> None:
        """Count unpacked bytes. Raise UploadRefused (limit `unpacked` or `ratio`) if the total is too large."""
        self.unpacked += unpacked
        if self.unpacked > self._most:
            limit = "unpacked" if self.unpacked > MOST_UNPACKED_BYTES else "ratio"
            raise UploadRefused(
                gettext("The upload exceeds a limit for compressed files: {limit}.").format(
                    limit=import_limits.title(limit)
                ),
                limit=limit,
            )


class _Decompressor(Protocol):
    """The interface shared by the decompressors of `bz2` and `lzma`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def compression_of(first: bytes) -> str:
    """Detect a file's compression from its first bytes. Return `gzip`, `bzip2`, `xz` or ""."""
    if first.startswith(b"\x1f\x8b"):
        return "gzip"
    if first[:3] == b"BZh" and first[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    return "xz" if first.startswith(b"\xfd7zXZ\0") else ""


def unpacked_chunks(file: BinaryIO, compression: str, meter: Meter) -> Iterator[bytes]:
    """Yield the unpacked content of the file. Raise Damaged if it is invalid, or UploadRefused for an archive bomb."""
    if compression == "gzip":
        return _decompress_gzip(file, meter)
    if compression == "bzip2":
        return _streams(file, meter, bz2.BZ2Decompressor, "bzip2")
    if compression == "xz":
        return _streams(file, meter, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_XZ_MEMORY), "xz")
    return _plain(file, meter)


def _plain(file: BinaryIO, meter: Meter) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        meter.read += len(chunk)
        meter.count(len(chunk))
        yield chunk


def _decompress_gzip(file: BinaryIO, meter: Meter) -> Iterator[bytes]:
    """Yield the content of every gzip member of the file, one after another.

    Zeros after the last member are padding. Raise Damaged if a member is invalid or cut off.
    """
    left = b""
    while True:
        stream = zlib.decompressobj(wbits=31)
        while not stream.eof:
            left = left or _read(file, meter)
            if not left:
                raise Damaged(gettext("the gzip stream ends too early"))
            try:
                chunk = stream.decompress(left, CHUNK_BYTES)
            except zlib.error as exc:
                raise Damaged(gettext("the gzip stream is damaged")) from exc
            left = stream.unconsumed_tail
            meter.count(len(chunk))
            if chunk:
                yield chunk
        left = _behind(file, stream.unused_data, meter)
        if not left:
            return


def _streams(file: BinaryIO, meter: Meter, new: Callable[[], _Decompressor], kind: str) -> Iterator[bytes]:
    left = b""
    while True:
        stream = new()
        while not stream.eof:
            if stream.needs_input:
                left = left or _read(file, meter)
                if not left:
                    raise Damaged(gettext("the {kind} stream ends too early").format(kind=kind))
            try:
                chunk = stream.decompress(left, CHUNK_BYTES)
            except (OSError, EOFError, ValueError, lzma.LZMAError) as exc:
                raise Damaged(gettext("the {kind} stream is damaged").format(kind=kind)) from exc
            left = b""
            meter.count(len(chunk))
            if chunk:
                yield chunk
        left = _behind(file, stream.unused_data, meter)
        if not left:
            return


def _behind(file: BinaryIO, unused: bytes, meter: Meter) -> bytes:
    """Return the data after a finished stream and its padding, or b"" at the end of the file."""
    while True:
        if rest := unused.lstrip(b"\0"):
            return rest
        unused = _read(file, meter)
        if not unused:
            return b""


def _read(file: BinaryIO, meter: Meter) -> bytes:
    packed = file.read(READ_BYTES)
    meter.read += len(packed)
    return packed
