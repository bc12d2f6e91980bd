"""The estate in every form that rivals need: in PostgreSQL, as zone files, and in PowerDNS's LMDB for a secondary.

Otherwise a secondary would first have to transfer hundreds of thousands of zones, which takes longer than all
measurements. Each kind of secondary starts in the state after such a transfer.
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
from replication.store.opening import OWN_DBI
from tests import zonegen
from tests.benchmarks.powerdns_tables import Tables, Zone
from tests.ports import free_port
from tests.replication.panel import MAP_SIZE, Panel

BATCH = 2_000
SCHEMA = 4  # of the PowerDNS in Debian 12


class Estate:
    """An estate that grows: the small size is the beginning of the large size, as in dnspanel.

    It has LMDB files of each of the schemas.
    """

    def __init__(self, directory: Path, tables: Tables, *, largest: int, schemas: Sequence[int] = (SCHEMA,)) -> None:
        self.directory, self.tables = directory, tables
        self.files = directory / "zones"
        self.zones: list[str] = []
        self.primary_port = free_port()
        self._coming = zonegen.estate(largest)
        for path in (self.files, *(self._lmdb(schema).parent for schema in schemas)):
            path.mkdir()
        self._panels = [Panel(self._lmdb(schema).parent, schema) for schema in schemas]

    def close(self) -> None:
        for panel in self._panels:
            panel.close()

    def _lmdb(self, schema: int) -> Path:
        return self.directory / f"lmdb{schema}" / "panel.lmdb"

    def grow(self, zones: int) -> None:
        """Add zones to each form until it has `zones` zones."""
        while batch := list(islice(self._coming, min(BATCH, zones - len(self.zones)))):
            self._add(batch)
        self.tables.finish()

    def _add(self, batch: Sequence[Zone]) -> None:
        self.zones += [name for name, _ in batch]
        self.tables.add(batch)
        for name, rrsets in batch:
            (self.files / f"{name}zone").write_text(zonegen.zone_text(rrsets))
        for panel in self._panels:
            panel.create_packed(*(rrsets for _, rrsets in batch))
            panel.zones.clear()  # otherwise it would keep every record in memory
            panel.segments.clear()

    def lmdb_for_sharing(self, path: Path, schema: int) -> None:
        """Make LMDB files with only PowerDNS's own tables."""
        self._copy(path, schema)
        for suffix in ("", "-0"):
            with (
                lmdb.open(f"{path}{suffix}", subdir=False, max_dbs=128, map_size=MAP_SIZE) as env,
                env.begin(write=True) as txn,
            ):
                for name in [bytes(name) for name in txn.cursor().iternext(values=False)]:
                    if name.startswith(OWN_DBI):
                        txn.drop(env.open_db(name, txn, create=False))

    def _copy(self, path: Path, schema: int) -> None:
        for suffix in ("", "-0"):
            shutil.copyfile(f"{self._lmdb(schema)}{suffix}", f"{path}{suffix}")

    def secondary_lmdb(self, path: Path) -> None:
        """Make LMDB files in which every zone is a secondary zone that was checked just now."""
        self._copy(path, SCHEMA)
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
