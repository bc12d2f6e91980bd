"""Read one zone from an archive's dump, table by table, without restoring the dump into a database.

`pg_restore` writes the rows of one table as PostgreSQL's COPY text, which is read line by line. Only the requested zone
is in memory, regardless of the size of the archive.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg.adapt import Transformer

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.backup.backup_archive import DUMP, Manifest, read_archive
from dnspanel.backup.errors import ZoneNotInArchive
from dnspanel.backup.programs import Target, panel_database, refuse_failure, start
from dnspanel.zones.dnssec.key_material import read as read_pair
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.publishing.first_signing import BroughtKey, BroughtSigning
from replication.dns.rrset import RRset, parse_notes

Row = Mapping[str, str | None]  # the text of each column; None is NULL

_TEXTS = psycopg.postgres.types["text"].array_oid
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class ArchivedKey:
    """A DNSSEC key in an archive. Its private part is encrypted with the master key."""

    id: int
    private_encrypted: bytes


@dataclass(frozen=True, slots=True)
class ArchivedZone:
    """A zone in its archived state."""

    manifest: Manifest
    row: Row
    rrsets: tuple[RRset, ...]
    signing: SigningState
    keys: tuple[ArchivedKey, ...]

    @property
    def name(self) -> str:
        return _require_text(self.row, "name")

    @property
    def was_in_trash(self) -> bool:
        return self.row.get("deleted_at") is not None

    @property
    def is_edited_here(self) -> bool:
        """True if people could edit the zone: it was neither transferred from a primary nor a catalog zone."""
        return not self.row.get("transferred_from") and self.row.get("is_catalog") != "t"

    @property
    def team_id(self) -> int | None:
        return _number(self.row.get("team_id"))

    @property
    def default_ttl(self) -> int | None:
        return _number(self.row.get("default_ttl"))

    @property
    def tags(self) -> list[str]:
        return _texts(self.row.get("tags") or "{}")

    def brought_signing(self) -> BroughtSigning | None:
        """Return the zone's decrypted keys and signing settings for a new zone, or None if the zone had no keys."""
        private = {key.id: key.private_encrypted for key in self.keys}
        states = [key for key in self.signing.keys if key.id in private]
        if not states:
            return None
        keys = tuple(
            BroughtKey(
                read_pair(decrypt_secret(private[key.id]).decode()),
                key.flags,
                active=key.active,
                published=key.published,
            )
            for key in states
        )
        return BroughtSigning(keys, self.signing.nsec3, self.signing.cds, self.signing.cdnskey)


def read_zone(file: IO[bytes], name: str) -> ArchivedZone:
    """Read one zone, by its canonical name, from an archive. The whole archive is checked.

    If the archive has several zones with this name, read the one that wasn't deleted, or else the one deleted last.
    Raise BadArchive for an invalid archive, ZoneNotInArchive for an unknown name, or ProgramFailed.
    """
    with tempfile.TemporaryDirectory(prefix="restore-zone-") as directory:
        dump = Path(directory) / DUMP
        manifest = read_archive(file, dump)
        target = panel_database()
        named = list(_rows(dump, target, "zones_zone", "name", name))
        if not named:
            raise ZoneNotInArchive(name, manifest.made_at)
        row = max(named, key=lambda each: (each.get("deleted_at") is None, each.get("deleted_at") or ""))
        zone_id = _require_text(row, "id")
        rrsets = tuple(_rrset(each) for each in _rows(dump, target, "zones_rrset", "zone_id", zone_id))
        states = [each.get("state") for each in _rows(dump, target, "zones_signing", "zone_id", zone_id)]
        signing = SigningState.from_json(json.loads(states[0])) if states and states[0] else SigningState()
        keys = tuple(
            ArchivedKey(int(_require_text(each, "id")), bytes.fromhex(private.removeprefix("\\x")))
            for each in _rows(dump, target, "zones_zonekey", "zone_id", zone_id)
            if (private := each.get("private_encrypted")) is not None and each.get("deleted_at") is None
        )
        return ArchivedZone(manifest, row, rrsets, signing, keys)


def _rows(dump: Path, target: Target, table: str, column: str, value: str) -> Iterator[Row]:
    """Yield the table's rows in the dump whose `column` is `value`. The value must not contain control characters."""
    arguments = ["--data-only", "--no-owner", "--no-privileges", f"--table={table}", "--file=-", str(dump)]
    wanted = value.replace("\\", "\\\\").encode()
    with start("pg_restore", arguments, target, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        columns: list[str] = []
        place = -1
        for line in process.stdout:
            if not columns:
                if line.startswith(b"COPY "):
                    columns = [
                        each.strip().strip('"') for each in line.decode().split("(", 1)[1].split(")")[0].split(",")
                    ]
                    place = columns.index(column)
                continue
            if line == b"\\.\n":
                columns = []
                continue
            if (fields := line[:-1].split(b"\t"))[place] == wanted:
                yield dict(zip(columns, map(_field, fields), strict=True))
        stderr = process.stderr.read() if process.stderr else b""
        refuse_failure("pg_restore", process.wait(), stderr)


def _field(raw: bytes) -> str | None:
    r"""Return the text of a COPY field, or None for \N."""
    if raw == b"\\N":
        return None
    text = raw.decode()
    if "\\" not in text:
        return text
    parts, escaped = [], False
    for char in text:
        if escaped:
            parts.append(_ESCAPES.get(char, char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            parts.append(char)
    return "".join(parts)


def _rrset(row: Row) -> RRset:
    notes = parse_notes(row.get("notes") or "")
    rdata, disabled = (tuple(_texts(_require_text(row, column))) for column in ("rdata", "disabled"))
    type_, ttl = int(_require_text(row, "type")), int(_require_text(row, "ttl"))
    return RRset(_require_text(row, "name"), type_, ttl, rdata, disabled, row.get("comment") or "", notes)


def _texts(array: str) -> list[str]:
    """Return the members of a PostgreSQL text array."""
    found: list[str] = Transformer().get_loader(_TEXTS, psycopg.pq.Format.TEXT).load(array.encode())
    return found


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _require_text(row: Row, column: str) -> str:
    text: Any = row[column]
    assert text is not None
    return str(text)
