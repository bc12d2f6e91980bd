"""Upload files for an import, in chunks that can be sent again. Many small files are sent as one archive."""

import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

import click

from dnspanel.cli.errors import Refused
from dnspanel.cli.progress import progress
from dnspanel.cli.session import Session

CHUNK_BYTES = 4 << 20
# More files than this are sent as one archive, because one request per file would take longer than sending the bytes.
MOST_SINGLE_FILES = 20


def upload(session: Session, number: int, paths: Sequence[Path], *, pack: bool) -> None:
    """Upload all files for the import. Raise UsageError for a folder unless `pack` is True."""
    if any(path.is_dir() for path in paths) or len(paths) > MOST_SINGLE_FILES:
        if not pack and any(path.is_dir() for path in paths):
            raise click.UsageError("Give files, not folders, for this kind of source.")
        if pack:
            with _pack_files(paths) as archive:
                _send(session, number, "files.tar.gz", archive)
            return
    for name, path in zip(_names(paths), paths, strict=True):
        with path.open("rb") as file:
            _send(session, number, name, file)


def _send(session: Session, number: int, name: str, file: IO[bytes]) -> None:
    """Upload the file in chunks. Skip the parts that the panel already has."""
    size = file.seek(0, 2)
    url = f"/imports/{number}/files/{quote(name, safe='/')}"
    with progress(f"Uploading {name}") as line:
        at = 0
        while at < size or size == at == 0:
            file.seek(at)
            chunk = file.read(CHUNK_BYTES)
            try:
                arrived = session.client.upload(url, chunk, offset=at)["size"]
            except Refused as exc:
                # The panel may have the chunk although its answer was lost. Continue after it.
                arrived = exc.problem.get("offset")
                if not isinstance(arrived, int) or not at < arrived <= size:
                    raise
            at = arrived
            line.show(at >> 10, size >> 10, "KiB")
            if size == 0:
                return


def _names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: its base name, or its full path if two files have the same base name."""
    own = [path.name for path in paths]
    if len(set(own)) == len(own):
        return own
    return [str(path.absolute()).lstrip("/") for path in paths]


@contextmanager
def _pack_files(paths: Sequence[Path]) -> Iterator[IO[bytes]]:
    """Pack the files, including those in folders, into a temporary archive. The archive is deleted after the block."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, dereference=True) as archive:
            for name, path in zip(_names(paths), paths, strict=True):
                for each in sorted(path.rglob("*")) if path.is_dir() else [path]:
                    if each.is_file():
                        inside = name if each == path else f"{name or 'files'}/{each.relative_to(path)}"
                        archive.add(each, inside, recursive=False, filter=_without_owner)
        yield file


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Remove the owner from a file's archive entry, because the owner is meaningless on another machine."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
