"""Read the rows of one zone: the stored rows, or stored rows combined with changes. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Protocol

from replication.codec.keys import APEX

Row = tuple[bytes, int, bytes]  # relative key, type, body
Change = tuple[bytes, int, bytes | None]  # the same, with None for a deleted row


class Rows(Protocol):
    """The current rows of one zone."""

    def get(self, rel: bytes, type: int) -> bytes | None:
        """Return the body of the row with this name and type, or None if the row doesn't exist."""

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        """Return the types and bodies of the rows at exactly this name."""

    def below(self, rel: bytes) -> Iterator[Row]:
        """Yield rows strictly below a name, in key order."""


class ChangedRows:
    """Rows with changes applied: bodies to put, or None to delete, as `compile_changes` returns them.

    The object stores only the changes, sorted once.
    """

    def __init__(self, rows: Rows, changes: Mapping[tuple[bytes, int], bytes | None]) -> None:
        self._rows = rows
        self._changes = changes
        # The order of (relative key, type) is that of record keys, because a byte that is in no label ends a name.
        self._keys = sorted(changes)

    def get(self, rel: bytes, type: int) -> bytes | None:
        return self._changes[rel, type] if (rel, type) in self._changes else self._rows.get(rel, type)

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        """Return the types and bodies of the rows at exactly this name, ordered by type."""
        found: dict[int, bytes | None] = dict(self._rows.at(rel))
        for key in self._changed_keys((rel, 0), rel):
            if key[0] != rel:
                break
            found[key[1]] = self._changes[key]
        return sorted((type, body) for type, body in found.items() if body is not None)

    def below(self, rel: bytes) -> Iterator[Row]:
        prefix = b"" if rel == APEX else rel
        changed = self._changed_keys((prefix + b"\x01", 0), prefix)
        key = next(changed, None)
        for row in self._rows.below(rel):
            while key is not None and key < row[:2]:
                if (body := self._changes[key]) is not None:
                    yield *key, body
                key = next(changed, None)
            if key != row[:2]:
                yield row
        while key is not None:
            if (body := self._changes[key]) is not None:
                yield *key, body
            key = next(changed, None)

    def _changed_keys(self, start: tuple[bytes, int], prefix: bytes) -> Iterator[tuple[bytes, int]]:
        for index in range(bisect_left(self._keys, start), len(self._keys)):
            key = self._keys[index]
            if not key[0].startswith(prefix):
                return
            yield key


def by_name(rows: Iterable[Row]) -> Iterator[tuple[bytes, dict[int, bytes]]]:
    """Group rows, which must be in key order, by name. Yield each name with its bodies by type."""
    for rel, group in groupby(rows, key=itemgetter(0)):
        yield rel, {type: body for _, type, body in group}
