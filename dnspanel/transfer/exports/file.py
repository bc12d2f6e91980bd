"""Write export files in any export format."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db.models import QuerySet

from dnspanel.transfer.exports import bind, csv_export, json_export, query_file
from dnspanel.transfer.exports.exported_rows import ExportedZone, Out, Row, read_zones, zone_names
from dnspanel.transfer.exports.signings import Signings
from dnspanel.transfer.models import ExportFormat
from dnspanel.transfer.sealed_keys import Sealer
from dnspanel.zones.models import Zone

# Export files are repetitive text: higher levels cost much time and save little space.
GZIP_LEVEL = 4

_SUFFIXES = {
    ExportFormat.BIND: "tar",
    ExportFormat.JSON: "jsonl",
    ExportFormat.CSV: "csv",
    ExportFormat.QUERIES: "txt",
}


def suffix(export_format: str) -> str:
    """Return the file name suffix of an export format, without `.gz`."""
    return _SUFFIXES[ExportFormat(export_format)]


@dataclass(slots=True)
class Tally:
    """The progress of an export.

    `records` counts lines if the export is a query file. `keys` counts the sealed private keys, and `keyed` contains
    the ids of their zones.
    """

    zones: int = 0
    records: int = 0
    keys: int = 0
    keyed: list[int] = field(default_factory=list)


def write_export(  # noqa: PLR0913  # what is written, where, and how
    conn: "psycopg.Connection[Any]",
    zones: "QuerySet[Zone]",
    out: Out,
    *,
    export_format: str,
    mtime: int,
    options: query_file.QueryOptions | None = None,
    sealer: Sealer | None = None,
    watch: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Write the zones to `out`. The memory use doesn't depend on the number of zones.

    If a sealer is given, JSON includes the private keys of all these zones. The caller must check that the reader is
    allowed to have them. The connection must be in a transaction (or come from `exported_rows.snapshot`). `watch` is
    called with the tally after each zone, and can raise an error to stop the export.
    """
    tally = Tally()
    found = _watch_zones(read_zones(conn, zones), tally, watch)
    if export_format == ExportFormat.BIND:
        _write_archive(conn, zones, _count_zones(found, tally), out, mtime)
    elif export_format == ExportFormat.QUERIES:
        for lines in _batch_texts(query_file.query_lines(found, options or query_file.QueryOptions())):
            out.write("".join(lines).encode())
            tally.records += len(lines)
    elif export_format == ExportFormat.CSV:
        out.write(csv_export.header().encode())
        _write_text((piece for zone in _count_zones(found, tally) for piece in csv_export.zone_lines(zone)), out)
    else:
        signings = Signings(conn, zones, sealer)
        _write_text(
            (
                piece
                for zone in _count_zones(found, tally)
                for piece in json_export.zone_line(zone, signings.of(zone.name))
            ),
            out,
        )
        tally.keys, tally.keyed = signings.keys, signings.keyed
    return tally


def write_zone_file(conn: "psycopg.Connection[Any]", zones: "QuerySet[Zone]", out: Out) -> None:
    """Write the single zone in `zones` to `out`, as a BIND zone file."""
    for zone in read_zones(conn, zones):
        for lines in _batch_texts(bind.zone_lines(zone)):
            out.write("".join(lines).encode())


def _write_archive(
    conn: "psycopg.Connection[Any]", zones: "QuerySet[Zone]", found: Iterable[ExportedZone], out: Out, mtime: int
) -> None:
    archive = bind.ZoneArchive(out, mtime)
    # The lists come first, so that readers of the archive know the zones from the beginning.
    for name, lines_of in bind.LISTS.items():
        archive.add_file(name, lines_of(zone_names(conn, zones)))
    for zone in found:
        archive.add_zone(zone)
    archive.close()


def _write_text(texts: Iterable[str], out: Out) -> None:
    for pieces in _batch_texts(texts):
        out.write("".join(pieces).encode())


def _batch_texts(texts: Iterable[str], most: int = 500) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == most:
            yield batch
            batch = []
    if batch:
        yield batch


def _watch_zones(zones: Iterable[ExportedZone], tally: Tally, watch: Callable[[Tally], None]) -> Iterator[ExportedZone]:
    for zone in zones:
        yield zone
        tally.zones += 1
        watch(tally)


def _count_zones(zones: Iterable[ExportedZone], tally: Tally) -> Iterator[ExportedZone]:
    """Yield the zones unchanged, and add their rows to the tally as they are read."""
    for zone in zones:
        yield zone._replace(rows=_counted_rows(zone.rows, tally))


def _counted_rows(rows: Iterable[Row], tally: Tally) -> Iterator[Row]:
    for row in rows:
        tally.records += len(row[3])
        yield row


class Gzip:
    """A stream that compresses into another stream. `close` completes the data and leaves the other stream open."""

    def __init__(self, out: Out, mtime: int, level: int = GZIP_LEVEL) -> None:
        self._out = out
        self._compress = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._checksum = 0
        self._size = 0
        out.write(b"\x1f\x8b\x08\x00" + mtime.to_bytes(4, "little") + b"\x00\xff")

    def write(self, data: bytes, /) -> None:
        self._checksum = zlib.crc32(data, self._checksum)
        self._size += len(data)
        if compressed := self._compress.compress(data):
            self._out.write(compressed)

    def close(self) -> None:
        self._out.write(self._compress.flush())
        self._out.write(self._checksum.to_bytes(4, "little") + (self._size & 0xFFFFFFFF).to_bytes(4, "little"))
