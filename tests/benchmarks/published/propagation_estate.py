"""One estate in every form that a rival starts from: PostgreSQL, zone files, and PowerDNS's LMDB as a secondary has it.

A secondary would transfer hundreds of thousands of zones first, which takes longer than all that is measured. Each kind
begins with what it would have then.
"""

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import lmdb

from replication.codec import domains
from replication.codec.domains import Primary, ZoneKind
from replication.codec.schema import Dbi, schema_for
from tests import zonegen
from tests.benchmarks.powerdns_tables import Tables, Zone
from tests.ports import free_port
from tests.replication.panel import MAP_SIZE, Panel

BATCH = 2_000
SCHEMA = 4  # of Debian 12's PowerDNS


class Estate:
    """It grows: the small size is the beginning of the large one, as in `bench_push`."""

    def __init__(self, directory: Path, tables: Tables, *, largest: int) -> None:
        self.directory, self.tables = directory, tables
        self.files = directory / "zones"
        self.zones: list[str] = []
        self.primary_port = free_port()
        self._coming = zonegen.estate(largest)
        for path in (self.files, self._lmdb.parent):
            path.mkdir()
        self._panel = Panel(self._lmdb.parent, SCHEMA)

    def close(self) -> None:
        self._panel.close()

    @property
    def _lmdb(self) -> Path:
        return self.directory / "lmdb" / "panel.lmdb"

    def grow(self, zones: int) -> None:
        """So many zones are in each form."""
        while batch := list(islice(self._coming, min(BATCH, zones - len(self.zones)))):
            self._add(batch)
        self.tables.finish()

    def _add(self, batch: Sequence[Zone]) -> None:
        self.zones += [name for name, _ in batch]
        self.tables.add(batch)
        for name, rrsets in batch:
            (self.files / f"{name}zone").write_text(zonegen.zone_text(rrsets))
        self._panel.create_packed(*(rrsets for _, rrsets in batch))
        self._panel.zones.clear()  # it would remember every record
        self._panel.segments.clear()

    def secondary_lmdb(self, path: Path) -> None:
        """PowerDNS's files, with every zone a secondary that was checked just now."""
        for suffix in ("", "-0"):
            shutil.copyfile(f"{self._lmdb}{suffix}", f"{path}{suffix}")
        now, primary = int(time.time()), Primary("127.0.0.1", self.primary_port)
        spec = schema_for(SCHEMA).dbi(Dbi.DOMAINS)
        with lmdb.open(str(path), subdir=False, max_dbs=128, map_size=MAP_SIZE) as env:
            table = env.open_db(spec.name, integerkey=spec.integerkey, create=False)
            with env.begin(write=True, db=table) as txn, txn.cursor() as cursor:
                for key, body in cursor:
                    zone = replace(
                        domains.decode_domain(body), kind=ZoneKind.SECONDARY, primaries=(primary,), last_check=now
                    )
                    txn.put(key, domains.encode_domain(zone, SCHEMA))
