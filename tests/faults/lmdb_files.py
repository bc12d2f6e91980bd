"""The content of a node's LMDB files, read in one transaction each, beside other processes that have them open."""

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
    """Open a read transaction on one table; None without such a table."""
    with lmdb.open(str(path), subdir=False, readonly=True, max_dbs=MAX_DBS, create=False) as env:
        try:
            table = env.open_db(name, create=False)
        except lmdb.NotFoundError:
            yield None
            return
        with env.begin(db=table) as txn:
            yield txn


def position(main: Path) -> Position | None:
    """Return up to where both files are complete, as the agent computes it at its start."""
    rows = []
    for path in (main, records_of(main)):
        with _reading(path, OWN_DBI) as txn:
            rows.append(decode_file_row(txn.get(ROW_KEY)) if txn else None)
    return combined_position(*rows)


def sequence(main: Path) -> int:
    """Return the sequence of `position`; 0 before there is one."""
    found = position(main)
    return found.sequence if found else 0


def zones_without_records(main: Path, schema: int) -> list[str]:
    """Return zones that PowerDNS would find in the main file without finding a SOA for them.

    The agent may be writing. It takes a zone out of the main file before its records, and puts it there after them:
    only a zone that the main file has before and after they were looked for is without them.
    """
    kind = schema_for(schema)
    before = _zones(main, kind)
    with _reading(records_of(main), kind.dbi(Dbi.RECORDS).name) as txn:
        lacking = [id for id in before if txn.get(keys.record_key(id, keys.APEX, rdtypes.SOA)) is None]
    after = _zones(main, kind)
    return [before[id] for id in lacking if id in after]


def _zones(main: Path, kind: Schema) -> dict[int, str]:
    """Return the names in the main file by their IDs, which are never given twice."""
    with _reading(main, kind.dbi(Dbi.DOMAINS).name) as txn:
        zones = [decode_domain(kind.unwrap(value)) for _, value in txn.cursor()] if txn else []
    return {zone.id: zone.name for zone in zones}


def dead_readers(main: Path) -> list[int]:
    """Return processes that are gone and still hold a place in a table of readers."""
    found = []
    for path in (main, records_of(main)):
        with lmdb.open(str(path), subdir=False, readonly=True, max_dbs=MAX_DBS, create=False) as env:
            lines = (line.split() for line in env.readers().splitlines()[1:])
            found += [int(fields[0]) for fields in lines if fields and fields[0].isdigit()]
    return sorted({pid for pid in found if not is_alive(pid)})


def records_of(main: Path) -> Path:
    """Return the records file that belongs to a main file."""
    return main.with_name(main.name + "-0")
