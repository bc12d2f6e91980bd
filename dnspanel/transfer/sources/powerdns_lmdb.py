"""Read zones from a PowerDNS LMDB of schema 4, 5 or 6 (releases 4.7 to 5.1), with one or more shards.

The main file has the zones. The files `<main>-0`, `<main>-1` … have the zones' records: the file number is the zone id
modulo the number of files. Objects that are not in the index are ignored, because releases before 4.7.4 left deleted
metadata and keys behind.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dnspanel.texts import gettext
from dnspanel.transfer.documents import Item, Kept, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources import powerdns
from dnspanel.transfer.sources.lmdb_pages import LmdbFile, Table
from dnspanel.transfer.zonefile.writer import ZoneText, comment_text, wire_text
from replication.codec import comments, dnssec, domains, header, keys, values
from replication.codec.schema import SETTINGS_DBI, Dbi, Schema, schema_for
from replication.dns.rdtypes import type_to_text
from replication.errors import BadBytes, BadName, UnknownSchema
from replication.wire.protocol import join_port

MOST_SHARDS = 4096
_NSEC3 = 50  # helper rows of the NSEC3 chain

_T = TypeVar("_T")


class PowerdnsLmdbSource:
    """The zones of a PowerDNS LMDB. `path` is the main file or its directory. `total` counts zones."""

    unit = "zones"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.total = 0
        self.done = 0

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield the TSIG keys, the faults of the main file, and the items of each zone, without the first `skip` items.

        The items of a zone are a note, its document or a fault, and data to keep. Zones are sorted by name. A missing
        or damaged shard is a fault of each of its zones. Raise SourceRefused if the main file is damaged, if reading a
        file fails, or if a server writes to a file during the import.
        """
        return islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        self.done = 0
        try:
            with _Database(_main_file(self._path)) as database:
                yield from database.tsig_keys()
                self.total = len(database.zones)
                yield from database.faults
                for zone_id, zone in database.zones:
                    yield from database.items_of(zone_id, zone)
                    self.done += 1
                database.check_unchanged()
        except (BadBytes, UnknownSchema) as exc:
            raise SourceRefused(gettext("the LMDB couldn’t be read: {exc}").format(exc=exc)) from exc
        except OSError as exc:
            raise SourceRefused(gettext("the LMDB couldn’t be read: {strerror}").format(strerror=exc.strerror)) from exc


def _main_file(path: Path) -> Path:
    """Return `path`, or if it is a directory, its main file. Raise SourceRefused unless there is exactly one."""
    if not path.is_dir():
        return path
    files = [file for file in sorted(path.iterdir()) if file.is_file() and not re.search(r"-(lock|\d+)$", file.name)]
    if len(files) != 1:
        raise SourceRefused(
            gettext(
                "the upload must contain one LMDB main file and its shards, but contains {files} main files"
            ).format(files=len(files))
        )
    return files[0]


@dataclass
class _Shard:
    """One file of records. `problem` is the reason why the file cannot be read, or ""."""

    file: LmdbFile | None = None
    records: Table | None = None
    comments: Table | None = None
    problem: str = ""


@dataclass
class _Aside:
    """Metadata and DNSSEC keys to keep, keyed by the zone's name and variant."""

    by_zone: dict[tuple[str, str], list[Kept]] = field(default_factory=lambda: defaultdict(list))


class _Database:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._main = LmdbFile(path)
        self._shards: dict[int, _Shard] = {}
        try:
            self.faults: list[SourceFault] = []
            self._schema, self._shard_count = self._settings()
            self.zones = self._zones()
            self._aside = self._metadata_and_keys()
        except BaseException:
            self._main.close()
            raise

    def __enter__(self) -> "_Database":
        return self

    def __exit__(self, *raised: object) -> None:
        self._main.close()
        for shard in self._shards.values():
            if shard.file is not None:
                shard.file.close()

    def check_unchanged(self) -> None:
        """Raise SourceRefused if a running server has written to one of the files during the import."""
        files = [self._main, *(shard.file for shard in self._shards.values() if shard.file is not None)]
        if not all(file.check_unchanged() for file in files):
            raise SourceRefused(
                gettext("a server changed the LMDB during the import: copy it with mdb_copy and import the copy")
            )

    def items_of(self, zone_id: int, zone: domains.ZoneObject) -> Iterator[Item]:
        """Yield all items of one zone: notes, its document or a fault, and data to keep."""
        note = powerdns.secondary_note(zone.name, zone.kind.name)
        if note is not None:
            yield note
        shard = self._shard(zone_id % self._shard_count)
        remarks: dict[tuple[str, str], str] = {}
        if shard.problem:
            yield SourceFault(zone.name, 0, 0, "", shard.problem, "no-shard", zone=zone.name)
        else:
            try:
                remarks = self._remarks(shard, zone_id, zone.name)
                text = self._text(shard, zone_id, zone.name, remarks)
                yield text.document(zone.name) if text.records else powerdns.empty_zone(zone.name)
            except (BadBytes, BadName) as exc:
                # A page that was overwritten during the read looks like damage.
                self.check_unchanged()
                yield SourceFault(
                    zone.name,
                    0,
                    0,
                    "",
                    gettext("the zone’s rows are damaged: {exc}").format(exc=exc),
                    "damaged",
                    zone=zone.name,
                )
        yield from _kept_fields(zone)
        yield from self._aside.by_zone.get((zone.name, zone.variant), ())
        for (name, type), remark in sorted(remarks.items()):
            yield powerdns.kept_comment(zone.name, name, type, remark)

    def tsig_keys(self) -> Iterator[Kept]:
        found = [obj for _, obj in self._objects(Dbi.TSIG, dnssec.decode_tsig)]
        for obj in sorted(found, key=lambda obj: (obj.name, obj.algorithm, obj.secret)):
            yield powerdns.kept_tsig(obj.name, obj.algorithm, obj.secret)

    def _settings(self) -> tuple[Schema, int]:
        table = self._main.table(SETTINGS_DBI)
        found = dict(self._main.rows(table)) if table is not None else {}
        version = found.get(b"schemaversion", b"")
        shards = found.get(b"shards", b"")
        if len(version) == 4:
            schema = schema_for(int.from_bytes(version, "little"))
            count = int.from_bytes(shards, "little")
        elif len(version) >= header.SIZE:
            schema = schema_for(int.from_bytes(header.decode_header(version)[1], "big"))
            count = int.from_bytes(header.decode_header(shards)[1], "big")
        else:
            raise SourceRefused(
                gettext("{name} is an LMDB file, but not PowerDNS’s main file").format(name=self._path.name)
            )
        if schema.has_header != (len(version) != 4) or not 1 <= count <= MOST_SHARDS:
            raise SourceRefused(
                gettext("{name} states schema {number} and {count} shards, which isn’t valid").format(
                    name=self._path.name, number=schema.number, count=count
                )
            )
        return schema, count

    def _zones(self) -> list[tuple[int, domains.ZoneObject]]:
        zones = []
        for zone_id, zone in self._objects(Dbi.DOMAINS, domains.decode_domain):
            if zone.variant:
                self.faults.append(powerdns.variant_zone(zone.name, zone.variant))
            else:
                zones.append((zone_id, zone))
        return sorted(zones, key=lambda pair: (pair[1].name, pair[0]))

    def _metadata_and_keys(self) -> _Aside:
        number, aside = self._schema.number, _Aside()
        metadata = self._objects(Dbi.METADATA, lambda body: dnssec.decode_metadata(body, number))
        for _, obj in metadata:
            aside.by_zone[obj.zone, obj.variant].append(powerdns.kept_metadata(obj.zone, obj.kind, obj.value))
        for _, key in self._objects(Dbi.KEYDATA, lambda body: dnssec.decode_key(body, number)):
            aside.by_zone[key.zone, key.variant].append(
                powerdns.kept_key(key.zone, key.flags, key.content, active=key.active, published=key.published)
            )
        return aside

    def _objects(self, dbi: Dbi, decode: Callable[[bytes], _T]) -> Iterator[tuple[int, _T]]:
        """Yield (id, object), sorted by id, for each undeleted row that the index lists. Damaged rows are `faults`."""
        table = self._main.table(self._schema.dbi(dbi).name)
        index = self._main.table(self._schema.dbi(Dbi(dbi + 1)).name)
        if table is None or index is None:
            return
        indexed = set(self._ids_of_index(index))
        found = []
        for key, value in self._main.rows(table):
            row_id = keys.decode_row_id(key, big_endian=self._schema.has_header)
            if row_id in indexed and not self._schema.is_deleted(value):
                try:
                    found.append((row_id, decode(self._schema.unwrap(value))))
                except (BadBytes, BadName) as exc:
                    reason = gettext("row {row} in the table {table} is damaged: {reason}").format(
                        row=row_id, table=dbi.name.lower(), reason=exc
                    )
                    self.faults.append(SourceFault(self._path.name, 0, 0, "", reason, "damaged"))
        yield from sorted(found, key=lambda pair: pair[0])

    def _ids_of_index(self, index: Table) -> Iterator[int]:
        for key, value in self._main.rows(index):
            if not self._schema.has_header:
                yield keys.decode_row_id(value, big_endian=False)
            elif not self._schema.is_deleted(value):
                # The name of a zone variant has a part that `decode_index_key` does not support. The id is at the end.
                yield keys.decode_row_id(key[-4:], big_endian=True)

    def _shard(self, number: int) -> _Shard:
        shard = self._shards.get(number)
        if shard is None:
            shard = self._shards[number] = self._open_shard(self._path.with_name(f"{self._path.name}-{number}"))
        return shard

    def _open_shard(self, path: Path) -> _Shard:
        try:
            file = LmdbFile(path)
        except FileNotFoundError:
            return _Shard(problem=gettext("the file {name} with the zone’s records is missing").format(name=path.name))
        except BadBytes as exc:
            return _Shard(
                problem=gettext("the file with the zone’s records couldn’t be read: {reason}").format(reason=exc)
            )
        shard = _Shard(file)
        try:
            shard.records = file.table(self._schema.dbi(Dbi.RECORDS).name)
            shard.comments = file.table(comments.COMMENTS_DBI) if self._schema.number >= 6 else None
        except BadBytes as exc:
            shard.problem = gettext("the file with the zone’s records couldn’t be read: {reason}").format(reason=exc)
        return shard

    def _rows(self, shard: _Shard, table: Table | None, zone_id: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and bodies of a zone's rows in one of the shard's tables, except deleted rows."""
        if table is None or shard.file is None:
            return
        prefix = keys.zone_prefix(zone_id)
        for key, value in shard.file.rows(table, prefix):
            if not key.startswith(prefix):
                return
            if not self._schema.is_deleted(value):
                yield key, self._schema.unwrap(value)

    def _text(self, shard: _Shard, zone_id: int, zone: str, remarks: dict[tuple[str, str], str]) -> ZoneText:
        """Return the zone's records without helper rows. Move their RRsets' comments from `remarks` to them."""
        text = ZoneText(zone)
        for key, body in self._rows(shard, shard.records, zone_id):
            _, relative, type = keys.decode_record_key(key)
            if type in (values.ENT, _NSEC3):
                continue
            name, mnemonic = keys.name_from_relative_key(relative, zone), type_to_text(type)
            remark = remarks.pop((name, mnemonic), "")
            for record in values.decode_records(body):
                text_form = wire_text(type, values.decompress(type, record.content, name, zone))
                text.add(name, record.ttl, mnemonic, text_form, disabled=record.disabled, comment=remark)
                remark = ""
        return text

    def _remarks(self, shard: _Shard, zone_id: int, zone: str) -> dict[tuple[str, str], str]:
        """Return the comments of each RRset as one text, keyed by owner and type."""
        by_rrset: dict[tuple[str, str], list[comments.CommentObject]] = defaultdict(list)
        for key, body in self._rows(shard, shard.comments, zone_id):
            _, relative, type = keys.decode_record_key(comments.decode_comment_key(key))
            comment = comments.decode_comment(body)
            by_rrset[keys.name_from_relative_key(relative, zone), type_to_text(type)].append(comment)
        return {
            place: comment_text([one.text for one in sorted(several, key=lambda one: (one.modified_at, one.text))])
            for place, several in by_rrset.items()
        }


def _kept_fields(zone: domains.ZoneObject) -> Iterator[Kept]:
    """Yield the zone's PowerDNS fields that zones in the panel don't have, and the kind of a catalog zone."""
    fields = {
        "account": zone.account,
        "primaries": " ".join(map(_address, zone.primaries)),
        "options": zone.options,
        "catalog": zone.catalog,
    }
    for name, value in fields.items():
        if value:
            yield powerdns.kept_metadata(zone.name, name, value)
    if zone.kind in (domains.ZoneKind.PRODUCER, domains.ZoneKind.CONSUMER):
        yield powerdns.kept_metadata(zone.name, "kind", zone.kind.name.lower())


def _address(primary: domains.Primary) -> str:
    """Format a primary's address as PowerDNS's other interfaces do."""
    if primary.port == 53:
        return primary.address
    return join_port(primary.address, primary.port)
