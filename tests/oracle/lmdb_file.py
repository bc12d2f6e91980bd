"""PowerDNS's LMDB files, written with dnspanel's codec and read back as decoded rows."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import lmdb

from replication.codec import dnssec, domains, keys, values
from replication.codec.domains import ZoneObject
from replication.codec.schema import SETTINGS_DBI, Dbi, File, Schema, schema_for
from replication.codec.values import StoredRecord
from replication.compile import Row
from replication.dns import names

MAP_SIZE = 1 << 30


def open_environment(path: Path, *, readonly: bool = False) -> "lmdb.Environment":
    return lmdb.open(
        str(path), subdir=False, max_dbs=128, map_size=MAP_SIZE, readonly=readonly, lock=not readonly, mode=0o600
    )


def _open_dbi(env: "lmdb.Environment", schema: Schema, dbi: Dbi, txn: Any) -> Any:
    spec = schema.dbi(dbi)
    return env.open_db(
        spec.name, txn=txn, integerkey=spec.integerkey, dupsort=spec.dupsort, dupfixed=spec.dupfixed, create=True
    )


def write(
    path: Path,
    schema_number: int,
    zones: Mapping[str, tuple[int, list[Row]]],
    signing: Sequence[dnssec.MetadataObject | dnssec.KeyObject] = (),
) -> None:
    """Write compiled zones, each with its id, and signing data into a database, in a node's format."""
    schema = schema_for(schema_number)
    now = time.time_ns()
    with open_environment(path) as main:
        with main.begin(write=True) as txn:
            settings = main.open_db(SETTINGS_DBI, txn=txn)
            for key, body in schema.pdns_rows(UUID(int=7)):
                txn.put(key, schema.wrap(body, now, txn.id()), db=settings)
        with main.begin(write=True) as txn:
            dbis = {
                dbi: _open_dbi(main, schema, dbi, txn) for dbi in schema.all_dbis if schema.dbi(dbi).file is File.MAIN
            }
            for zone, (zone_id, _) in zones.items():
                for dbi, key, body in schema.zone_rows(zone_id, zone):
                    txn.put(key, schema.wrap(body, now, txn.id()), db=dbis[dbi])
            for row_id, obj in enumerate(signing, 1):
                table, index, body = _attached(obj, schema)
                txn.put(schema.row_id_key(row_id), schema.wrap(body, now, txn.id()), db=dbis[table])
                key, body = schema.index_row(obj.zone, row_id)
                txn.put(key, schema.wrap(body, now, txn.id()), db=dbis[index])
    with open_environment(shard_of(path)) as shard, shard.begin(write=True) as txn:
        records = _open_dbi(shard, schema, Dbi.RECORDS, txn)
        for zone_id, rows in zones.values():
            for rel, type, body in rows:
                txn.put(keys.record_key(zone_id, rel, type), schema.wrap(body, now, txn.id()), db=records)


def _attached(obj: dnssec.MetadataObject | dnssec.KeyObject, schema: Schema) -> tuple[Dbi, Dbi, bytes]:
    if isinstance(obj, dnssec.KeyObject):
        return Dbi.KEYDATA, Dbi.KEYDATA_INDEX, dnssec.encode_key(obj, schema.number)
    return Dbi.METADATA, Dbi.METADATA_INDEX, dnssec.encode_metadata(obj, schema.number)


@dataclass(frozen=True)
class Contents:
    """The content of a database for tools and servers, without the headers."""

    zones: Mapping[str, ZoneObject]
    rows: Mapping[tuple[int, bytes, int], bytes]

    def rows_of(self, zone: str) -> dict[tuple[bytes, int], bytes]:
        zone_id = self.zones[zone].id
        return {(rel, type): body for (id_, rel, type), body in self.rows.items() if id_ == zone_id}


def read(path: Path, schema_number: int) -> Contents:
    """Return a database's zones, with their key ids, and its record bodies."""
    schema = schema_for(schema_number)
    zones: dict[str, ZoneObject] = {}
    for key, body in _bodies(path, schema, Dbi.DOMAINS):
        obj = domains.decode_domain(body)
        zone_id = keys.decode_row_id(key, big_endian=schema.has_header)
        assert obj.id in (0, zone_id)
        zones[obj.name] = ZoneObject(obj.name, zone_id, obj.kind, obj.account)
    records = _bodies(shard_of(path), schema, Dbi.RECORDS)
    return Contents(zones, {keys.decode_record_key(key): body for key, body in records})


def _bodies(path: Path, schema: Schema, dbi: Dbi) -> Iterable[tuple[bytes, bytes]]:
    with open_environment(path, readonly=True) as env, env.begin() as txn:
        table = env.open_db(schema.dbi(dbi).name, txn=txn, create=False)
        for key, value in txn.cursor(table):
            if not schema.is_deleted(value):
                yield bytes(key), bytes(schema.unwrap(value))


def bodies(path: Path, schema_number: int) -> dict[tuple[Dbi, bytes], bytes]:
    """Return all rows of both files without headers, which contain the write time."""
    schema = schema_for(schema_number)
    return {
        (dbi, key): body for dbi in schema.all_dbis for key, body in _bodies(_file_of(path, schema, dbi), schema, dbi)
    }


def settings(path: Path, schema_number: int) -> list[tuple[bytes, bytes]]:
    """Return the rows of PowerDNS's settings table."""
    schema = schema_for(schema_number)
    with open_environment(path, readonly=True) as env, env.begin() as txn:
        table = env.open_db(SETTINGS_DBI, txn=txn, create=False)
        return [(bytes(key), bytes(schema.unwrap(value))) for key, value in txn.cursor(table)]


def _file_of(path: Path, schema: Schema, dbi: Dbi) -> Path:
    return path if schema.dbi(dbi).file is File.MAIN else shard_of(path)


def shard_of(path: Path) -> Path:
    """Return the path of the records file of a main file."""
    return path.with_name(path.name + "-0")


def canonical_body(body: bytes, rel: bytes, type: int, zone: str) -> bytes:
    """Return a row's body in dnspanel's form: uncompressed names, and records sorted by wire format."""
    owner = keys.name_from_relative_key(rel, zone)
    records = values.decode_records(body)
    return values.encode_records(
        sorted(
            (
                StoredRecord(
                    values.decompress(type, record.content, owner, zone),
                    record.ttl,
                    record.auth,
                    record.disabled,
                    record.ordername,
                )
                for record in records
            ),
            key=lambda record: record.content,
        )
    )


def key_text(zone: str, rel: bytes, type: int) -> str:
    """Return a readable form of a row's key for failure messages."""
    return f"{names.relative_text(keys.name_from_relative_key(rel, zone), zone)} TYPE{type}"
