"""Define the state that all parts of a check share: the files that they read, and the results."""

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from replication.codec import keys
from replication.codec.domains import decode_domain, native_name
from replication.codec.schema import Dbi, Schema
from replication.errors import BadBytes, BadName
from replication.store.applying import POSITION_ZONE_ID
from replication.store.file_row import Database, common_position
from replication.store.key_opener import KeyOpener

# Rows read in one read transaction.
ROWS_AT_ONCE = 20_000
# Zones checked between two steps.
ZONES_PER_STEP = 100
OWN_ZONES = frozenset((POSITION_ZONE_ID, keys.GUARD_ZONE_ID))

ALTERED = "its records are not what the panel wrote"
EMPTIED = "all of its records are gone"
UNREADABLE = "one of its records cannot be read"
NOT_LISTED = "it is gone from the list of zones"
LISTED_WRONG = "its entry in the list of zones was altered"
FOREIGN = "it was created on the server, not by the panel"
FOREIGN_RECORDS = "records of a zone that the panel does not know"

Steps = Generator[None, None, None]


class DivergedZone(NamedTuple):
    """A zone whose rows differ from those that the agent wrote. Id 0 is for differences outside a single zone."""

    zone_id: int
    name: str  # empty if the files no longer have the name
    reason: str


@dataclass(slots=True)
class CheckState:
    """The state of a check of a store's two files. The check covers everything, or only some zones."""

    schema: Schema
    main: Database
    records: Database
    lock: threading.Lock  # the store's lock, taken to write positions and digests
    opener: KeyOpener
    diverged: dict[int, DivergedZone] = field(default_factory=dict)
    rows: int = 0
    share: float = 0.0  # of everything that was read

    def note(self, zone_id: int, name: str, reason: str) -> None:
        """Record a diverged zone. If a zone has several reasons, join them."""
        known = self.diverged.get(zone_id)
        if known is None:
            self.diverged[zone_id] = DivergedZone(zone_id, name, reason)
        elif reason not in known.reason:
            self.diverged[zone_id] = DivergedZone(zone_id, known.name or name, f"{known.reason}; {reason}")

    def name_diverged(self) -> None:
        """Fill in missing names of diverged zones from the main file."""
        with self.main.env.begin() as txn:
            for zone_id, zone in self.diverged.items():
                value = txn.get(self.schema.row_id_key(zone_id), db=self.main.tables[Dbi.DOMAINS])
                if not zone.name and value is not None:
                    self.diverged[zone_id] = zone._replace(name=self.name_in(value) or "")

    @contextmanager
    def at_rest(self) -> Iterator[tuple[Any, Any] | None]:
        """Yield read transactions of the main file and the records file, both at the same position.

        Yield None while a snapshot is being installed, or if the files have no common position.
        """
        with self.records.env.begin() as records, self.main.env.begin() as main:
            rows = self.main.row(main), self.records.row(records)
            is_moving = self.main.installing() or self.records.installing()
            yield None if is_moving or (any(rows) and common_position(*rows) is None) else (main, records)

    def row_id(self, key: bytes) -> int:
        """Return the id in an object row's key."""
        return int.from_bytes(key, "big" if self.schema.has_header else "little")

    def name_in(self, value: bytes) -> str | None:
        """Return the name in a zone object, or None if the object is unreadable."""
        try:
            body = self.schema.unwrap(value)
            return native_name(body, self.schema.number) or decode_domain(body).name
        except (BadBytes, BadName, ValueError):
            return None

    def body_of(self, value: bytes) -> bytes | None:
        """Return a row's body without its header, or None if the row is marked as deleted or unreadable."""
        try:
            return None if self.schema.is_deleted(value) else self.schema.unwrap(value)
        except BadBytes:
            return None


def count_rows(database: Database, dbi: Dbi) -> int:
    """Return the number of rows of a table."""
    with database.env.begin() as txn:
        return int(txn.stat(database.tables[dbi])["entries"])
