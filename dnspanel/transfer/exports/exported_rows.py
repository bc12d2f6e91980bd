"""Read zones for an export, using a server-side cursor and one query for any number of zones.

Zones are ordered by name, and their RRsets are in canonical order with the SOA first. RRsets are streamed, because one
zone can have millions.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import psycopg
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.models import Zone
from replication.dns import rdtypes

# Name, type, TTL, rdata, disabled, comment, notes. A plain tuple, because an export has millions of rows.
Row = tuple[str, int, int, Sequence[str], Sequence[str], str, str]

_FETCHED_ROWS = 5000
_number = count(1)


class Out(Protocol):
    def write(self, data: bytes, /) -> Any: ...


class ExportedZone(NamedTuple):
    """A zone to export. Its rows can only be read once, and only before the next zone is fetched.

    `presigned` is the zone's signing state if the zone is served with its source's signatures.
    """

    name: str
    serial: int
    rrset_count: int
    rows: Iterator[Row]
    presigned: SigningState | None = None


@contextmanager
def snapshot() -> "Iterator[psycopg.Connection[Any]]":
    """Open a separate read-only connection that sees the database as of a single moment."""
    own = connection.copy()
    try:
        own.connect()
        raw: psycopg.Connection[Any] = own.connection
        raw.autocommit = False
        raw.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        raw.read_only = True
        yield raw
        raw.rollback()
    finally:
        own.close()


def zone_names(conn: "psycopg.Connection[Any]", zones: "QuerySet[Zone]") -> Iterator[str]:
    """Yield the names of these zones in sorted order."""
    with suppress(EmptyResultSet):  # for a person who is not allowed to see any zone
        sql, parameters = zones.order_by("name").values_list("name").query.sql_with_params()
        for (name,) in fetch_rows(conn, sql, parameters):
            yield name


def read_zones(conn: "psycopg.Connection[Any]", zones: "QuerySet[Zone]") -> Iterator[ExportedZone]:
    """Yield these zones except those without RRsets, sorted by name. The connection must be in a transaction."""
    with suppress(EmptyResultSet):
        chosen, parameters = zones.order_by().values_list("id", "name", "serial", "rrset_count").query.sql_with_params()
        sql = f"""
            SELECT z.name, z.serial, z.rrset_count, s.state::text,
                r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment, r.notes
            FROM ({chosen}) AS z (id, name, serial, rrset_count) JOIN zones_rrset r ON r.zone_id = z.id
                LEFT JOIN zones_signing s ON s.zone_id = z.id AND s.signatures_end IS NOT NULL
            ORDER BY z.name, r.owner_key, r.type"""
        for (name, serial, count, state), rows in groupby(
            fetch_rows(conn, sql, parameters), key=itemgetter(0, 1, 2, 3)
        ):
            presigned = None if state is None else SigningState.from_json(json.loads(state))
            yield ExportedZone(name, serial, count, soa_first(name, (row[4:] for row in rows)), presigned)


def fetch_rows(conn: "psycopg.Connection[Any]", sql: str, parameters: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query, fetched a few thousand at a time."""
    with conn.cursor(f"export-{next(_number)}", binary=True) as cursor:
        cursor.itersize = _FETCHED_ROWS
        cursor.execute(sql.encode(), parameters)
        yield from cursor


def soa_first(zone: str, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows with the SOA first, before apex types with lower type numbers, as in zone files."""
    pending: list[Row] = []
    for row in rows:
        if row[0] == zone and row[1] < rdtypes.SOA:
            pending.append(row)
            continue
        is_soa = row[0] == zone and row[1] == rdtypes.SOA
        yield from (row, *pending) if is_soa else (*pending, row)
        pending.clear()
        yield from rows
    yield from pending
