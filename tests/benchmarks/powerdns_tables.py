"""PowerDNS's tables in a separate PostgreSQL server or in SQLite, for rivals that read or transfer zones."""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psycopg

from dnspanel.demo.stack import Stack, StackShape
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.benchmarks.rivals import rival_schema

Zone = tuple[str, Sequence[RRset]]

_DOMAINS = "domains (id, name, type, notified_serial)"
_RECORDS = "records (domain_id, name, type, content, ttl, prio, disabled, ordername, auth)"
_SET_ADDRESS = "UPDATE records SET content = %s WHERE name = %s AND type = 'A'"
_NEXT_SERIAL = r"""
    UPDATE records
    SET content = concat_ws(' ', split_part(content, ' ', 1), split_part(content, ' ', 2),
        split_part(content, ' ', 3)::bigint + 1, substring(content FROM '^\S+ \S+ \S+ (.*)$'))
    WHERE name = %s AND type = 'SOA'"""


class Tables:
    """The zones in PostgreSQL, in PowerDNS's tables. One connection changes them, as an SQL-based panel would."""

    def __init__(self, connection: psycopg.Connection, url: str) -> None:
        self.url = url
        self._connection = connection
        self._zones = 0
        connection.execute(rival_schema().encode())

    def add(self, zones: Iterable[Zone]) -> None:
        """Add these zones, rectified as by `pdnsutil`.

        Their type is MASTER, which has no effect on a server that is not configured as a primary. So nothing is
        notified.
        """
        numbered = list(enumerate(zones, self._zones + 1))
        self._zones += len(numbered)
        with self._connection.transaction(), self._connection.cursor() as cursor:
            with cursor.copy(f"COPY {_DOMAINS} FROM STDIN") as copy:
                for number, (name, rrsets) in numbered:
                    copy.write_row((number, name.rstrip("."), "MASTER", _serial(rrsets)))
            with cursor.copy(f"COPY {_RECORDS} FROM STDIN") as copy:
                for number, zone in numbered:
                    for row in _rows(number, *zone):
                        copy.write_row(row)

    def finish(self) -> None:
        """Vacuum and analyze the tables, so that the planner knows the new rows and no vacuum is due soon."""
        self._connection.execute("VACUUM ANALYZE")

    def change(self, *, zone: str, name: str, address: str) -> None:
        """Change one address and the zone's serial in a durable transaction."""
        with self._connection.transaction():
            self._connection.execute(_SET_ADDRESS, [address, name.rstrip(".")])
            self._connection.execute(_NEXT_SERIAL.encode(), [zone.rstrip(".")])

    def wal_position(self) -> str:
        """Return the current WAL position. A standby that has replayed it has every change made so far."""
        row = self._connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        assert row is not None
        return str(row[0])

    def wal_sent(self) -> float:
        """Return the average bytes of WAL sent to each standby since the cluster was created."""
        row = self._connection.execute(
            "SELECT avg(pg_wal_lsn_diff(sent_lsn, '0/0'))::float FROM pg_stat_replication"
        ).fetchone()
        return float(row[0]) if row and row[0] else 0.0


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Tables]:
    """Make empty tables in a new, durable PostgreSQL cluster, configured as in a stack. It ends with the context."""
    with Stack(directory, StackShape(sample_zones=False, traffic=False, stores_only=True)) as stack:
        url = stack.stores.database_url
        with psycopg.connect(url, autocommit=True) as connection:
            yield Tables(connection, url)


def write_sqlite(path: Path, zones: Iterable[Zone]) -> None:
    """Write a new SQLite database with PowerDNS's tables and these zones."""
    numbered = list(enumerate(zones, 1))
    domains = ((number, name.rstrip("."), "MASTER", _serial(rrsets)) for number, (name, rrsets) in numbered)
    records = (row for number, zone in numbered for row in _rows(number, *zone))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(rival_schema("sqlite3"))
        connection.executemany(f"INSERT INTO {_DOMAINS} VALUES (?, ?, ?, ?)", domains)
        connection.executemany(f"INSERT INTO {_RECORDS} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", records)
        connection.commit()
        connection.execute("ANALYZE")


def _serial(rrsets: Sequence[RRset]) -> int:
    return next(int(rrset.rdata[0].split()[2]) for rrset in rrsets if rrset.type == rdtypes.SOA)


def _rows(number: int, zone: str, rrsets: Sequence[RRset]) -> Iterator[tuple[object, ...]]:
    """Yield rows of `records`. PowerDNS has a separate column for the preference of an MX record."""
    for rrset in rrsets:
        owner = rrset.name.rstrip(".")
        ordername = owner.removesuffix(zone.rstrip(".")).rstrip(".")
        for text in rrset.rdata:
            prio, content = text.split(" ", 1) if rrset.type == rdtypes.MX else ("0", text)
            type_name = rdtypes.type_to_text(rrset.type)
            yield number, owner, type_name, content, rrset.ttl, prio, False, ordername, True
