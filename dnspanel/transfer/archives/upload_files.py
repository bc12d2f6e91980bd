"""Read uploads, packed or not, and yield each file's path and content in a fixed order."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer import import_limits
from dnspanel.transfer.archives.decompress import Damaged, Entry, EntryKind, Meter, compression_of, unpacked_chunks
from dnspanel.transfer.archives.paths import clean_path, printable
from dnspanel.transfer.archives.tar_reader import BLOCK, is_tar, tar_entries
from dnspanel.transfer.archives.zip_reader import is_zip, zip_entries
from dnspanel.transfer.documents import SourceFault
from dnspanel.transfer.errors import UploadRefused
from dnspanel.transfer.import_limits import MOST_DOCUMENT_BYTES, MOST_ENTRIES
from dnspanel.zones.rules.violations import Severity

Content = tuple[str, bytes]

# Archives that are only recognized so that an error can say that they are not supported.
_OTHER_ARCHIVES = (
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\x04\x22\x4d\x18", "LZ4"),
    (b"!<arch>\n", "ar"),
)
_PACKED_SUFFIXES = (".gz", ".bz2", ".xz")
_NOT_FILES = {
    "link": gettext_noop("links are not imported"),
    "device": gettext_noop("devices are not imported"),
    "sparse file": gettext_noop("sparse files are not imported"),
}
_REASONS = {
    EntryKind.ENCRYPTED: gettext_noop("encrypted archives are not supported"),
    EntryKind.METHOD: gettext_noop("unsupported compression method: use “deflate”"),
    EntryKind.DAMAGED: gettext_noop("damaged: the size, checksum or header doesn’t match the archive directory"),
    EntryKind.UNKNOWN: gettext_noop("not a regular file"),
}


class Contents:
    """All files of one upload. Every walk yields the same files in the same order."""

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self._uploads = list(zip(map(Path, paths), map(clean_path, names), strict=True))
        # Paths of several archives get the archive's name as a prefix. Paths of a single archive stay as they are.
        self._is_alone = len(self._uploads) == 1
        self._own_names = {own for _, name in self._uploads for own in (name, _unpacked_name(name))}
        self.size = sum(_size_below(path) for path, _ in self._uploads)

    def is_upload_itself(self, path: str) -> bool:
        """Return True if the path belongs to the only uploaded file, rather than to a member of an archive."""
        return self._is_alone and path in self._own_names

    def walk(self, meter: Meter) -> Iterator[Content | SourceFault]:
        """Yield (path, content) for every file, or a SourceFault for an entry that can't be imported, such as a link.

        Raise UploadRefused if the upload exceeds a limit. Also raise it for a damaged archive, because files could be
        missing.
        """
        count = 0
        for path, name in self._uploads:
            for entry in self._of_folder(path, name, meter) if path.is_dir() else self._of_file(path, name, meter):
                count += 1
                if count > MOST_ENTRIES:
                    raise _too_many()
                yield entry

    def chunks(self, meter: Meter) -> Iterator[bytes]:
        """Yield the raw content of all files, including tar headers, for a search that ignores file boundaries.

        Skip the rest of a damaged archive. Raise UploadRefused for an archive bomb.
        """
        for path, _ in self._uploads:
            for file in _files_below(path) if path.is_dir() else (path,):
                with suppress(Damaged):
                    yield from _chunks_of(file, meter)

    def _of_folder(self, root: Path, name: str, meter: Meter) -> Iterator[Content | SourceFault]:
        prefix = "" if self._is_alone else name + "/"
        for path in _files_below(root):
            printable_path = prefix + printable(path.relative_to(root).as_posix())
            if path.is_symlink() or not path.is_file():
                yield _not_a_file(printable_path, "link" if path.is_symlink() else "device")
            else:
                yield from self._of_file(path, printable_path, meter, prefix=printable_path + "/")

    def _of_file(
        self, path: Path, name: str, meter: Meter, prefix: str | None = None
    ) -> Iterator[Content | SourceFault]:
        if prefix is None:
            prefix = "" if self._is_alone else name + "/"
        with path.open("rb", buffering=0) as file:
            first = file.read(BLOCK)
            file.seek(0)
            if is_zip(first):
                yield from _normalise_entries(zip_entries(file, meter, MOST_DOCUMENT_BYTES), name, prefix)
            elif other := next((name for magic, name in _OTHER_ARCHIVES if first.startswith(magic)), ""):
                yield _fault(
                    name,
                    "depth",
                    gettext("{format} archives are not supported: use .tar.gz or .zip").format(format=other),
                )
            else:
                yield from _stream(file, first, name, prefix, meter)


def _stream(file: BinaryIO, first: bytes, name: str, prefix: str, meter: Meter) -> Iterator[Content | SourceFault]:
    """Yield (path, content) or faults from a tar or a file, both perhaps compressed. Raise UploadRefused if damaged."""
    compression = compression_of(first)
    chunks = unpacked_chunks(file, compression, meter)
    try:
        begun = _at_least(chunks, BLOCK)
    except Damaged as exc:
        raise UploadRefused(
            gettext("{name} is damaged: {exc}. Upload the file again.").format(name=name, exc=exc)
        ) from exc
    if is_tar(begun[:BLOCK]):
        yield from _normalise_entries(tar_entries(_put_before(begun, chunks), MOST_DOCUMENT_BYTES), name, prefix)
        return
    name = _unpacked_name(name) if compression else name
    if compression and (compression_of(begun) or is_zip(begun)):
        yield _fault(name, "depth", import_limits.title("depth"))
        return
    try:
        content = _full_content(begun, chunks)
    except Damaged as exc:
        raise UploadRefused(
            gettext("{name} is damaged: {exc}. Upload the file again.").format(name=name, exc=exc)
        ) from exc
    yield (
        (name, content)
        if content is not None
        else _fault(name, "document", gettext("too large: {limit}").format(limit=import_limits.title("document")))
    )


def _unpacked_name(name: str) -> str:
    return name.rpartition(".")[0] if name.lower().endswith(_PACKED_SUFFIXES) else name


def _normalise_entries(entries: Iterator[Entry], archive: str, prefix: str) -> Iterator[Content | SourceFault]:
    """Yield (normalized path, content) or a fault for each file of an archive. Raise UploadRefused if it is damaged."""
    last = 0
    path = ""
    try:
        for last, (raw, kind, content) in enumerate(entries, 1):
            if last > MOST_ENTRIES:
                raise _too_many()
            try:
                path = prefix + clean_path(raw.decode("utf-8", "surrogateescape"))
            except UploadRefused as exc:
                if kind is not EntryKind.FOLDER:
                    yield _fault(archive, "path", gettext("{exc} (entry {number:,})").format(exc=exc, number=last))
                continue
            if kind is EntryKind.FILE:
                yield path, content
            elif kind is not EntryKind.FOLDER:
                yield _unreadable(path, kind)
    except Damaged as exc:
        if not path:
            raise UploadRefused(
                gettext("{name} is damaged: {exc}. Upload the file again.").format(name=archive, exc=exc)
            ) from exc
        raise UploadRefused(
            gettext(
                "{name} is damaged: {exc}. The last of {last:,} readable entries is {path}. Upload the file again."
            ).format(name=archive, exc=exc, last=last, path=path)
        ) from exc


def _unreadable(path: str, kind: EntryKind) -> SourceFault:
    if kind.value in _NOT_FILES:
        return _not_a_file(path, kind.value)
    if kind is EntryKind.TOO_LARGE:
        return _fault(path, "document", gettext("too large: {limit}").format(limit=import_limits.title("document")))
    return _fault(path, kind.name.lower(), gettext(_REASONS[kind]))


def _not_a_file(path: str, kind: str) -> SourceFault:
    return _fault(path, "link" if kind == "link" else "device", gettext(_NOT_FILES[kind]))


def _fault(path: str, code: str, reason: str) -> SourceFault:
    return SourceFault(path, 0, 0, "", reason, code, severity=Severity.ERROR)


def _too_many() -> UploadRefused:
    return UploadRefused(
        gettext("The upload has too many entries: {limit}.").format(limit=import_limits.title("entries")),
        limit="entries",
    )


def _at_least(chunks: Iterator[bytes], size: int) -> bytes:
    begun = b""
    while len(begun) < size and (chunk := next(chunks, b"")):
        begun += chunk
    return begun


def _put_before(begun: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield begun
    yield from chunks


def _full_content(begun: bytes, chunks: Iterator[bytes]) -> bytes | None:
    """Return the full content, or None if it is too large for one document."""
    parts, size = [begun], len(begun)
    while size <= MOST_DOCUMENT_BYTES:
        chunk = next(chunks, b"")
        if not chunk:
            return b"".join(parts)
        parts.append(chunk)
        size += len(chunk)
    return None


def _chunks_of(path: Path, meter: Meter) -> Iterator[bytes]:
    if path.is_symlink() or not path.is_file():
        return
    with path.open("rb", buffering=0) as file:
        first = file.read(BLOCK)
        file.seek(0)
        if is_zip(first):
            yield from (entry.content for entry in zip_entries(file, meter, MOST_DOCUMENT_BYTES))
        else:
            yield from unpacked_chunks(file, compression_of(first), meter)


def _files_below(root: Path) -> Iterator[Path]:
    """Yield all files in a folder and its subfolders, in a fixed order. Links to folders are yielded, not followed."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (Path(folder, file) for file in sorted([*files, *links]))


def _size_below(path: Path) -> int:
    return sum(file.lstat().st_size for file in _files_below(path)) if path.is_dir() else path.stat().st_size
