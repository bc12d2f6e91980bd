"""Read a live PowerDNS generic SQL database: PostgreSQL, MySQL or SQLite (releases 3.4 to 5.x).

Everything is read in one read-only transaction, so all zones are from the same moment. Records are streamed in batches
of zones: only the list of zones and one batch are in memory.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from dnspanel.texts import gettext
from dnspanel.transfer.allowed_servers import Addresses
from dnspanel.transfer.documents import Item, Kept, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources import powerdns
from dnspanel.transfer.sources.source_connections import Connections
from dnspanel.transfer.sources.sql_snapshot import Row, Snapshot, flag, open_snapshot, text
from dnspanel.transfer.zonefile.writer import ZoneText, comment_text
from dnspanel.zones.rules.violations import Severity
from replication.dns import names
from replication.errors import BadName

BATCH_RECORDS = 20_000
BATCH_ZONES = 1_000

# Columns that some releases lack, with the value that replaces them.
_OPTIONAL = {"prio": "NULL", "disabled": "0", "options": "NULL", "catalog": "NULL", "published": "1", "account": "NULL"}


@dataclass(frozen=True, slots=True)
class _Zone:
    """One row of `domains`. `records` counts its records. `fields` has columns that zones in the panel don't have."""

    id: int
    name: str
    kind: str
    records: int
    fields: tuple[tuple[str, str], ...]


class PowerdnsSqlSource:
    """The zones of a PowerDNS database at a URL (see `sql_snapshot`). `total` counts zones."""

    unit = "zones"

    def __init__(self, url: str, *, addresses: Addresses | None = None) -> None:
        """Prepare to read the database. `addresses`, if set, returns the host's addresses to connect to."""
        self._url, self._addresses = url, addresses
        self._connections = Connections()
        self.total = 0
        self.done = 0

    def cut(self) -> None:
        """Abort the connection."""
        self._connections.cut()

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield the TSIG keys, the faults of `zones`, and the items of each zone, without the first `skip` items.

        The items of a zone are a note, its document or a fault, and data to keep. Zones are sorted by name. Raise the
        errors of `open_snapshot`, or SourceRefused if the database isn't PowerDNS's.
        """
        return islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        self.done = 0
        with open_snapshot(self._url, self._addresses, self._connections) as snapshot:
            tables = _Tables(snapshot)
            yield from tables.tsig_keys()
            zones, faults = tables.zones()
            self.total = len(zones)
            yield from faults
            for batch in _batches(zones):
                yield from self._batch(tables, batch)

    def _batch(self, tables: "_Tables", batch: Sequence[_Zone]) -> Iterator[Item]:
        comments = tables.comments(batch)
        texts = tables.texts(batch, comments)
        kept = tables.kept_items(batch)
        for zone in batch:
            note = powerdns.secondary_note(zone.name, zone.kind)
            if note is not None:
                yield note
            found = texts.get(zone.id)
            yield found.document(zone.name) if found is not None else powerdns.empty_zone(zone.name)
            yield from kept.get(zone.id, ())
            for (name, type), comment in sorted(comments.get(zone.id, {}).items()):
                yield powerdns.kept_comment(zone.name, name, type, comment)
            self.done += 1


def _batches(zones: Sequence[_Zone]) -> Iterator[list[_Zone]]:
    batch: list[_Zone] = []
    records = 0
    for zone in zones:
        if batch and (records + zone.records > BATCH_RECORDS or len(batch) >= BATCH_ZONES):
            yield batch
            batch, records = [], 0
        batch.append(zone)
        records += zone.records
    if batch:
        yield batch


_Comments = dict[int, dict[tuple[str, str], str]]


class _Tables:
    """Reader for PowerDNS's tables that hides the differences between releases."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        names = ("domains", "records", "domainmetadata", "cryptokeys", "comments", "tsigkeys")
        self._columns = {table: snapshot.columns(table) for table in names}
        for table, needed in (
            ("domains", {"id", "name", "type"}),
            ("records", {"domain_id", "name", "type", "content", "ttl"}),
        ):
            if not needed <= self._columns[table]:
                raise SourceRefused(
                    gettext("this isn’t a PowerDNS database: the table “{table}” is missing or different").format(
                        table=table
                    )
                )

    def zones(self) -> tuple[list[_Zone], list[SourceFault]]:
        """Return all zones, sorted by name, and faults for invalid names and for records without a zone."""
        counts: dict[int | None, int] = dict(self._query("SELECT domain_id, COUNT(*) FROM records GROUP BY domain_id"))
        zones: list[_Zone] = []
        faults: list[SourceFault] = []
        for id, name, kind, *fields in self._select("domains", "id, name, type, account, master, options, catalog"):
            count = counts.pop(id, 0)
            stored_name = text(name)
            try:
                zone = names.parse(powerdns.owner(stored_name))
            except BadName as exc:
                faults.append(powerdns.unusable_name("domains", stored_name, str(exc)))
                continue
            titled = zip(("account", "primaries", "options", "catalog"), map(text, fields), strict=True)
            zones.append(_Zone(id, zone, text(kind), count, tuple(pair for pair in titled if pair[1])))
        if counts:
            reason = gettext("{sum:,} records don’t belong to any zone and are left out").format(
                sum=sum(counts.values())
            )
            faults.append(SourceFault("records", 0, 0, "", reason, "records-without-zone", severity=Severity.WARNING))
        zones.sort(key=lambda zone: (zone.name, zone.id))
        return zones, sorted(faults, key=lambda fault: fault.source)

    def texts(self, batch: Sequence[_Zone], comments: _Comments) -> dict[int, ZoneText]:
        """Return the zones' records with their RRsets' comments, keyed by zone id. Zones without records are missing.

        Remove these comments from `comments`. Omit empty non-terminals.
        """
        by_id = {zone.id: zone.name for zone in batch}
        texts: dict[int, ZoneText] = {}
        columns = "domain_id, name, type, content, ttl, prio, disabled"
        for id, name, type, content, ttl, prio, disabled in self._of_zones("records", columns, batch, "name, type, id"):
            kind = text(type).upper()
            if kind in ("", "NULL"):  # empty non-terminals
                continue
            found = texts.get(id)
            if found is None:
                found = texts[id] = ZoneText(by_id[id])
            owner = text(name)
            comment = comments[id].pop((owner.lower(), kind), "") if id in comments else ""
            found.add(
                powerdns.owner(owner),
                powerdns.DEFAULT_TTL if ttl is None else text(ttl),
                kind,
                powerdns.rdata(kind, text(content), by_id[id], None if prio is None else text(prio)),
                disabled=flag(disabled),
                comment=comment,
            )
        return texts

    def comments(self, batch: Sequence[_Zone]) -> _Comments:
        """Return the comments of each RRset as one text, keyed by zone id, then by owner and type."""
        by_zone: dict[int, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
        rows = self._of_zones("comments", "domain_id, name, type, comment", batch, "modified_at, id")
        for id, name, type, comment in rows:
            by_zone[id][text(name).lower(), text(type).upper()].append(text(comment))
        return {id: {key: comment_text(several) for key, several in found.items()} for id, found in by_zone.items()}

    def kept_items(self, batch: Sequence[_Zone]) -> dict[int, list[Kept]]:
        """Return the data to keep, keyed by zone id: metadata, DNSSEC keys and fields of the zone."""
        kept = {zone.id: [powerdns.kept_metadata(zone.name, *field) for field in zone.fields] for zone in batch}
        by_id = {zone.id: zone.name for zone in batch}
        for id, kind, content in self._of_zones("domainmetadata", "domain_id, kind, content", batch, "kind, id"):
            kept[id].append(powerdns.kept_metadata(by_id[id], text(kind), text(content)))
        columns = "domain_id, flags, active, published, content"
        for id, flags, active, published, content in self._of_zones("cryptokeys", columns, batch, "id"):
            kept[id].append(
                powerdns.kept_key(
                    by_id[id], int(flags), text(content), active=flag(active), published=flag(published, default=True)
                )
            )
        return kept

    def tsig_keys(self) -> Iterator[Kept]:
        if self._columns["tsigkeys"]:
            rows = [tuple(map(text, row)) for row in self._select("tsigkeys", "name, algorithm, secret")]
            for name, algorithm, secret in sorted(rows):
                yield powerdns.kept_tsig(name, algorithm, secret)

    def _of_zones(self, table: str, columns: str, batch: Sequence[_Zone], order: str) -> Iterator[Row]:
        if not self._columns[table]:
            return
        ids = ",".join(str(int(zone.id)) for zone in batch)
        order = ", ".join(column for column in ("domain_id, " + order).split(", ") if column in self._columns[table])
        yield from self._select(table, columns, f" WHERE domain_id IN ({ids}) ORDER BY {order}")

    def _select(self, table: str, columns: str, rest: str = "") -> Iterator[Row]:
        """Yield a table's rows. `rest` can filter or sort them. Columns that this release lacks get their defaults."""
        present = self._columns[table]
        chosen = [name if name in present else _OPTIONAL.get(name, "NULL") for name in columns.split(", ")]
        return self._query(f"SELECT {', '.join(chosen)} FROM {table}{rest}")

    def _query(self, query: str) -> Iterator[Row]:
        return self._snapshot.rows(query)
