"""The content of a node's LMDB files, read in one transaction per file while other processes have them open."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb

from replication.codec import keys
from replication.codec.domains import decode_domain
from replication.codec.schema import Dbi, Schema, schema_for
from replication.dns import rdtypes
from replication.store.file_row import combined_position, decode_file_row
from replication.store.opening import MAX_DBS, OWN_DBI
from replication.wire.position import Position
from tests.faults.hosts import is_alive

ROW_KEY = b"position"


@contextmanager
def _reading(path: Path, name: bytes) -> Iterator[Any]:
    """Open a read transaction on one table. Yield None if the table does not exist."""
    with lmdb.open(str(path), subdir=False, readonly=True, max_dbs=MAX_DBS, create=False) as env:
        try:
            table = env.open_db(name, create=False)
        except lmdb.NotFoundError:
            yield None
            return
        with env.begin(db=table) as txn:
            yield txn


def position(main: Path) -> Position | None:
    """Return the position up to which both files are complete, as the agent computes it at startup."""
    rows = []
    for path in (main, records_of(main)):
        with _reading(path, OWN_DBI) as txn:
            rows.append(decode_file_row(txn.get(ROW_KEY)) if txn else None)
    return combined_position(*rows)


def sequence(main: Path) -> int:
    """Return the sequence of `position`, or 0 if there is no position."""
    found = position(main)
    return found.sequence if found else 0


def zones_without_records(main: Path, schema: int) -> list[str]:
    """Return the zones that PowerDNS finds in the main file but that have no SOA record.

    The agent may be writing. It removes a zone from the main file before its records, and adds it after them. So a zone
    counts only if the main file has it before and after the search for its records.
    """
    kind = schema_for(schema)
    before = _zones(main, kind)
    with _reading(records_of(main), kind.dbi(Dbi.RECORDS).name) as txn:
        lacking = [id for id in before if txn.get(keys.record_key(id, keys.APEX, rdtypes.SOA)) is None]
    after = _zones(main, kind)
    return [before[id] for id in lacking if id in after]


def _zones(main: Path, kind: Schema) -> dict[int, str]:
    """Return the zone names in the main file by id. Ids are never reused."""
    with _reading(main, kind.dbi(Dbi.DOMAINS).name) as txn:
        zones = [decode_domain(kind.unwrap(value)) for _, value in txn.cursor()] if txn else []
    return {zone.id: zone.name for zone in zones}


def dead_readers(main: Path) -> list[int]:
    """Return dead processes that still occupy a slot in the reader table."""
    found = []
    for path in (main, records_of(main)):
        with lmdb.open(str(path), subdir=False, readonly=True, max_dbs=MAX_DBS, create=False) as env:
            lines = (line.split() for line in env.readers().splitlines()[1:])
            found += [int(fields[0]) for fields in lines if fields and fields[0].isdigit()]
    return sorted({pid for pid in found if not is_alive(pid)})


def records_of(main: Path) -> Path:
    """Return the records file that belongs to a main file."""
    return main.with_name(main.name + "-0")
