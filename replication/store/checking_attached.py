"""Check metadata and DNSSEC keys against the table of their digests, and find rows that should not exist.

The rows of a name are the objects that its index leads to, with their index rows (`attached`). Objects without an index
row are searched for only if the numbers of rows in a table and its index differ.
"""

from collections.abc import Generator
from itertools import islice
from typing import Any

from replication.codec import dnssec, keys
from replication.codec.schema import ATTACHED, Dbi
from replication.errors import BadBytes, BadName
from replication.store.attached import Digests, digests_of, index_rows, leads
from replication.store.check_state import ROWS_AT_ONCE, ZONES_PER_STEP, CheckState, count_rows
from replication.store.file_row import FileRow
from replication.wire.operations import DIGEST_MODULUS, row_digest

_ADDED = ("metadata was added on the server", "a DNSSEC key was added on the server")
_ALTERED = ("its metadata is not what the panel wrote", "its DNSSEC keys are not what the panel wrote")
_LEFT = ("metadata was left on the server to which no name leads", "a DNSSEC key was left on the server unused")
SEALED = "one of its DNSSEC keys is sealed, and PowerDNS cannot use it"
TSIG_ADDED = "a TSIG key was added on the server"


class AttachedCheck:
    """A check of metadata and DNSSEC keys, which records its results in the shared state.

    After `walk`, `digest` is the sum over all these rows, or None if a row is missing or unreadable, or if the file
    changed during the walk. `row` is the file's position row that belongs to `digest`.
    """

    def __init__(self, state: CheckState) -> None:
        self._state = state
        self._schema, self._main = state.schema, state.main
        self.digest: int | None = 0
        self.row: FileRow | None = None

    def walk(self) -> Generator[None, None, bool]:
        """Check all names, leftover objects and TSIG keys. Return False if the files had no common position."""
        at: bytes | None = b"\0"
        is_first = True
        while at is not None:
            with self._state.at_rest() as pair:
                if pair is None:
                    return False
                now = self._main.row(pair[0])
                if not is_first and self.row != now:
                    self.digest = None
                self.row, is_first = now, False
                at = yield from self._some_names(pair[0], at)
        for dbi in ATTACHED:
            has_as_many = count_rows(self._main, dbi) == count_rows(self._main, Dbi(dbi + 1))
            if not has_as_many and not (yield from self._left_objects(dbi)):
                return False
        with self._state.at_rest() as pair:
            if pair is None:
                return False
            for name in self._tsig_names(pair[0]):
                self._state.note(0, name, TSIG_ADDED)
        yield
        return True

    def zone(self, main: Any, zone_id: int) -> None:
        """Check the rows attached to one zone's name, in a read transaction."""
        value = main.get(self._schema.row_id_key(zone_id), db=self._main.tables[Dbi.DOMAINS])
        name = None if value is None else self._state.name_in(value)
        if name is not None:
            self._judge(main, self._schema.index_prefix(name), zone_id)

    def _some_names(self, main: Any, first: bytes) -> Generator[None, None, bytes | None]:
        begun, count, at = self._state.rows, 0, first
        while (prefix := self._next(main, at)) is not None:
            if self._state.rows - begun > ROWS_AT_ONCE:
                return prefix
            self._judge(main, prefix)
            at = prefix + (b"\xff\xff\xff\xff\0" if self._schema.has_header else b"\0")
            count += 1
            if not count % ZONES_PER_STEP:
                yield
        return None

    def _next(self, main: Any, at: bytes) -> bytes | None:
        """Return the first index prefix, from `at` on, of a name that has or should have attached rows, or None."""
        found = []
        for dbi in ATTACHED:
            with main.cursor(db=self._main.tables[dbi + 1]) as cursor:
                if cursor.set_range(at):
                    key = cursor.key()
                    prefix = self._schema.index_prefix_of(key)
                    found.append(prefix if prefix >= at else key)  # a key that is no name represents itself
        with main.cursor(db=self._main.attached) as cursor:
            if cursor.set_range(at):
                found.append(cursor.key())
        return min(found, default=None)

    def _judge(self, main: Any, prefix: bytes, zone_id: int | None = None) -> None:
        """Compare a name's attached rows with their expected digests, and record any difference."""
        expected = self._read_expected(main, prefix)
        name = self._name(prefix)
        zone_id = self._zone_id(main, name) if zone_id is None else zone_id
        for column, dbi in enumerate(ATTACHED):
            total, count = self._sum(main, dbi, prefix, zone_id, name)
            if expected is None or total != expected[column]:
                is_added = expected is not None and not expected[column]
                self._state.note(zone_id, name, (_ADDED if is_added else _ALTERED)[column])
            if total is None or self.digest is None:
                self.digest = None
            else:
                self.digest += total
            self._state.rows += 1 + 2 * count

    def _read_expected(self, main: Any, prefix: bytes) -> Digests | None:
        try:
            return digests_of(main, self._main, prefix)
        except BadBytes:
            return None

    def _sum(self, main: Any, dbi: Dbi, prefix: bytes, zone_id: int, name: str) -> tuple[int | None, int]:
        """Return the digest and the number of a name's rows of one kind. Record sealed keys.

        If a row is missing or unreadable, the digest is None, and the rows after that row are not counted.
        """
        total, index, count = 0, Dbi(dbi + 1), 0
        for count, row in enumerate(index_rows(main, self._main, self._schema, index, prefix), 1):
            key = self._schema.row_id_key(row.row_id)
            value = main.get(key, db=self._main.tables[dbi])
            body = None if value is None else self._state.body_of(value)
            index_body = self._state.body_of(row.value) if self._schema.has_header else row.value
            if body is None or index_body is None:
                return None, count
            if self._state.opener.is_wrongly_sealed(dbi, body):
                self._state.note(zone_id, name, SEALED)
            total += row_digest(dbi, key, body) + row_digest(index, row.key, index_body)
        return total % DIGEST_MODULUS, count

    def _left_objects(self, dbi: Dbi) -> Generator[None, None, bool]:
        """Record objects without an index row. Return False if the files don't have a common position."""
        last: bytes | None = None
        while True:
            with self._state.at_rest() as pair:
                if pair is None:
                    return False
                with pair[0].cursor(db=self._main.tables[dbi]) as cursor:
                    more = cursor.first() if last is None else cursor.set_range(last)
                    if more and cursor.key() == last:
                        more = cursor.next()
                    page = list(islice(cursor.iternext(), ROWS_AT_ONCE // 20)) if more else []
                for key, value in page:
                    self._note_left(pair[0], dbi, key, value)
            if not page:
                return True
            last = page[-1][0]
            self._state.rows += len(page)
            yield

    def _note_left(self, main: Any, dbi: Dbi, key: bytes, value: bytes) -> None:
        try:
            name = dnssec.zone_of(self._state.body_of(value) or b"")
        except (BadBytes, BadName):
            name = ""
        if not name or not leads(main, self._main, self._schema, Dbi(dbi + 1), name, self._state.row_id(key)):
            self._state.note(self._zone_id(main, name), name, _LEFT[ATTACHED.index(dbi)])

    def _tsig_names(self, main: Any) -> list[str]:
        """Return the names of TSIG keys in the file. The panel never writes any."""
        found = []
        with main.cursor(db=self._main.tables[Dbi.TSIG_INDEX]) as cursor:
            for key in islice(cursor.iternext(values=False), ROWS_AT_ONCE):
                found.append(self._name(self._schema.index_prefix_of(key)))
        return found

    def _name(self, prefix: bytes) -> str:
        """Return the name whose index keys begin with `prefix`, or "" if the prefix isn't a valid name."""
        try:
            if self._schema.has_header:
                return keys.decode_index_key(prefix + bytes(4))[0]
            return keys.name_from_key(prefix)
        except (BadBytes, BadName):
            return ""

    def _zone_id(self, main: Any, name: str) -> int:
        """Return the id of the zone with this name, or 0 if the zone is missing."""
        rows = index_rows(main, self._main, self._schema, Dbi.DOMAINS_INDEX, self._schema.index_prefix(name or "."))
        return next((row.row_id for row in rows), 0) if name else 0
