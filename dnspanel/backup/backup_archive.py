"""Write and read archives: one tar file with the manifest first, then PostgreSQL's own dump.

    manifest.json     the format and time of the archive, and the SHA-256 of the dump
    database.dump     `pg_dump --format=custom`

All secrets in the dump are encrypted with PANEL_MASTER_KEY. That key is not in the archive. The manifest contains its
fingerprint, so that a wrong key is noticed before anything is replaced.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Self

from dnspanel.backup.errors import BadArchive, WrongKey
from dnspanel.texts import gettext

FORMAT = 1
MANIFEST = "manifest.json"
DUMP = "database.dump"
# Even with the names of all migrations, a manifest of the panel is smaller than this.
_MAX_MANIFEST = 1 << 20
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    made_at: str  # ISO 8601, UTC
    panel: str  # version of the panel
    postgresql: str  # version of the server
    cluster: str
    epoch: str
    sequence: int
    master_key: str  # fingerprint
    migrations: Mapping[str, tuple[str, ...]]  # by app, in order
    counts: Mapping[str, int]  # number of rows, by kind of object
    size: int  # of the dump
    sha256: str  # of the dump
    format: int = FORMAT

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Parse the result of `to_json`. Raise BadArchive if it is invalid."""
        try:
            message: Any = json.loads(text)
            if message["format"] != FORMAT:
                raise BadArchive(
                    gettext("the archive has format {message}, but this panel reads format {format}.").format(
                        message=message["format"], format=FORMAT
                    )
                )
            values = {field.name: message[field.name] for field in fields(cls)}
            values["migrations"] = {app: tuple(names) for app, names in values["migrations"].items()}
            return cls(**values)
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise BadArchive(gettext("the archive’s manifest cannot be read.")) from exc


def refuse_another_key(manifest: Manifest, own: Collection[str]) -> None:
    """Raise WrongKey unless one of the fingerprints in `own` equals the fingerprint in the archive's manifest.

    `own` starts with the fingerprint of the key in use.
    """
    if manifest.master_key not in own:
        raise WrongKey(archive=manifest.master_key, ours=next(iter(own)))


def digest_of(path: Path) -> tuple[int, str]:
    """Return the size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return file.tell(), digest.hexdigest()


def write_archive(file: IO[bytes], manifest: Manifest, dump: Path, *, made_at: datetime) -> None:
    """Write the archive to a file or a pipe."""
    with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, MANIFEST, io.BytesIO(manifest.to_json()), len(manifest.to_json()), made_at)
        with dump.open("rb") as content:
            _add(tar, DUMP, content, manifest.size, made_at)


def read_archive(file: IO[bytes], dump: Path) -> Manifest:
    """Check the archive, extract its dump to `dump` and return its manifest. Raise BadArchive if it is damaged."""
    try:
        with tarfile.open(fileobj=file, mode="r|") as tar:
            manifest = Manifest.from_json(_read_manifest(tar))
            _copy_dump(tar, manifest, dump)
            return manifest
    except (tarfile.TarError, EOFError) as exc:
        raise BadArchive(gettext("the archive is not a complete tar file.")) from exc


def _add(tar: tarfile.TarFile, name: str, content: IO[bytes], size: int, made_at: datetime) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, int(made_at.timestamp())
    tar.addfile(member, content)


def _read_manifest(tar: tarfile.TarFile) -> bytes:
    content = _member(tar, MANIFEST)
    text = content.read(_MAX_MANIFEST + 1)
    if len(text) > _MAX_MANIFEST:
        raise BadArchive(gettext("the archive’s manifest is too large."))
    return text


def _copy_dump(tar: tarfile.TarFile, manifest: Manifest, dump: Path) -> None:
    content = _member(tar, DUMP)
    digest, size = hashlib.sha256(), 0
    with dump.open("wb") as file:
        while piece := content.read(_PIECE):
            size += len(piece)
            if size > manifest.size:
                break
            digest.update(piece)
            file.write(piece)
    if size != manifest.size or digest.hexdigest() != manifest.sha256:
        raise BadArchive(gettext("the SHA-256 hash of {dump} doesn’t match the manifest.").format(dump=DUMP))


def _member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    """Return the next member, which must be a plain file with this name. Otherwise raise BadArchive."""
    member = tar.next()
    content = tar.extractfile(member) if member is not None and member.isfile() and member.name == name else None
    if content is None:
        raise BadArchive(gettext("the archive doesn’t contain {name}.").format(name=name))
    return content
