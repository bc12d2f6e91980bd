"""Read uploaded LMDB files page by page, without the LMDB library.

The library trusts every offset in a page and maps the file into memory: a truncated or damaged upload would kill the
process (SIGBUS, SIGSEGV). This module checks each offset against its page and each page number against the file, and
raises BadBytes for damage. It writes nothing and takes no lock. `check_unchanged` shows whether another process has
written to the file since it was opened, which can have reused pages that are still needed.

An agent checks its own files in a child process that uses the library (`replication.agent.probe` explains why the agent
does not use this module). That would not work here: the library must never see an upload. An import also needs every
zone with sound pages, which a child process that died cannot return.

    file     pages of md_pad bytes; pages 0 and 1 are the two meta pages, and the newer one counts
    page     u64 number, u16 pad, u16 flags, u16 lower, u16 upper (or u32 pages of an overflow run)
             then u16 offsets of its nodes, up to `lower`
    meta     page header, u32 magic, u32 version, u64 address, u64 map size, two tables (free, main),
             u64 last page, u64 transaction
    table    u32 pad, u16 flags, u16 depth, u64 branch, leaf and overflow pages, u64 entries, u64 root
    node     u16 low, u16 high, u16 flags, u16 key size, key, value
             in a branch low, high and flags are the child's number, in a leaf low and high the value's size

For a value that does not fit into its page, the node has the number of its overflow run (BIG). Several values of one
key are a page inside the value (DUPLICATES) or a separate table (with SUB_TABLE too). That table has the values as
keys, packed if all have the same size (LEAF2). Only 64-bit little-endian files of data version 1 (LMDB 0.9) can be
read.
"""

import os
import struct
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from dnspanel.texts import gettext
from replication.errors import BadBytes

_PAGE = struct.Struct("<QHHHH")
_META = struct.Struct("<IIQQ")
_TABLE = struct.Struct("<IHHQQQQQ")
_TAIL = struct.Struct("<QQ")
_NODE = struct.Struct("<HHHH")
_U64 = struct.Struct("<Q")
_META_SIZE = _PAGE.size + _META.size + 2 * _TABLE.size + _TAIL.size

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_BRANCH, _LEAF, _OVERFLOW, _META_PAGE, _LEAF2 = 0x01, 0x02, 0x04, 0x08, 0x20
_BIG, _SUB_TABLE, _DUPLICATES = 0x01, 0x02, 0x04
_NO_PAGE = (1 << 64) - 1
_PAGE_SIZES = frozenset(512 << shift for shift in range(8))
_MOST_DEPTH = 32  # the size of LMDB's own page stack
_MOST_VALUE = 64 << 20
_CACHED_PAGES = 512


@dataclass(frozen=True, slots=True)
class Table:
    flags: int
    depth: int
    entries: int
    root: int
    pad: int

    @classmethod
    def decode(cls, body: bytes, at: int = 0) -> Self:
        pad, flags, depth, _, _, _, entries, root = _TABLE.unpack_from(body, at)
        return cls(flags, depth, entries, root, pad)


@dataclass(frozen=True, slots=True)
class _Node:
    key: bytes
    value: bytes
    flags: int


class LmdbFile:
    """An uploaded LMDB file, read in the state that it had when it was opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file. Raise FileNotFoundError if it is missing, or BadBytes if it is truncated or isn't LMDB."""
        self.path = Path(path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._page_size, self._transaction, self._last_page, self._main = self._newest_meta()
            size = os.fstat(self._fd).st_size
            if size < (self._last_page + 1) * self._page_size:
                raise self._bad(
                    gettext("the file is truncated: {size} of {value} bytes").format(
                        size=size, value=(self._last_page + 1) * self._page_size
                    )
                )
        except BaseException:
            os.close(self._fd)
            raise
        self._pages: OrderedDict[int, bytes] = OrderedDict()

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def check_unchanged(self) -> bool:
        """Return True if no other process has committed to the file since it was opened."""
        return self._newest_meta()[1] == self._transaction

    def table(self, name: bytes) -> Table | None:
        """Return the named table, or None if it does not exist. Raise BadBytes if the file is damaged."""
        for node in self._nodes(self._main, name):
            if node.key != name:
                return None
            if not node.flags & _SUB_TABLE or len(node.value) != _TABLE.size:
                raise self._bad(gettext("“{decode}” is not a table").format(decode=name.decode("ascii", "replace")))
            return Table.decode(node.value)
        return None

    def rows(self, table: Table, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and values in the tree's order, from the first key that is not less than `start`.

        `start` is compared bytewise, so it does not work for tables with integer keys.
        """
        for node in self._nodes(table, start):
            if not node.flags & _DUPLICATES:
                yield node.key, node.value
            elif node.flags & _SUB_TABLE:
                if len(node.value) != _TABLE.size:
                    raise self._bad(gettext("a table of duplicates has the wrong size"))
                for value in self._nodes(Table.decode(node.value), b""):
                    yield node.key, value.key
            else:
                for value in self._leaf_nodes(node.value, 0):
                    yield node.key, value.key

    def _newest_meta(self) -> tuple[int, int, int, Table]:
        """Return (page size, transaction, last page, main table) of the newer meta page. Both pages must be valid."""
        first = self._meta(os.pread(self._fd, _META_SIZE, 0))
        if first is None:
            raise self._bad(gettext("not an LMDB file from a 64-bit machine"))
        second = self._meta(os.pread(self._fd, _META_SIZE, first[0]))
        if second is None or second[0] != first[0]:
            raise self._bad(gettext("the second meta page is damaged"))
        return max(first, second, key=lambda meta: meta[1])

    def _meta(self, page: bytes) -> tuple[int, int, int, Table] | None:
        if len(page) < _META_SIZE:
            return None
        magic, version, _, _ = _META.unpack_from(page, _PAGE.size)
        if magic != _MAGIC or version != _VERSION or not _PAGE.unpack_from(page)[2] & _META_PAGE:
            return None
        at = _PAGE.size + _META.size
        free, main = Table.decode(page, at), Table.decode(page, at + _TABLE.size)
        last_page, transaction = _TAIL.unpack_from(page, at + 2 * _TABLE.size)
        # The page size is in the `pad` field of the free table.
        return (free.pad, transaction, last_page, main) if free.pad in _PAGE_SIZES else None

    def _nodes(self, table: Table, start: bytes) -> Iterator[_Node]:
        """Yield the tree's leaf nodes whose keys are not less than `start`."""
        if table.root == _NO_PAGE:
            return
        if table.depth > _MOST_DEPTH:
            raise self._bad(gettext("a tree claims to be {depth} pages deep").format(depth=table.depth))
        # A damaged tree can contain a loop, but it cannot have more pages than the file.
        pages_left = self._last_page + 1
        stack: list[Iterator[int]] = [iter((table.root,))]
        while stack:
            number = next(stack[-1], None)
            if number is None:
                stack.pop()
                continue
            pages_left -= 1
            if pages_left < 0 or len(stack) > _MOST_DEPTH:
                raise self._bad(gettext("the pages form a loop"))
            page = self._page(number)
            flags = _PAGE.unpack_from(page)[2]
            if flags & _BRANCH:
                stack.append(self._children(page, number, start))
            elif flags & _LEAF:
                yield from self._leaf_nodes(page, number, start)
            else:
                raise self._bad(gettext("page {number} is neither a branch nor a leaf").format(number=number))

    def _children(self, page: bytes, number: int, start: bytes) -> Iterator[int]:
        """Yield the page numbers of a branch page's children, except those with only keys less than `start`."""
        offsets = self._offsets(page, number)
        # A child has the keys from its own key up to the next child's key. The first child's own key is empty.
        first = max(0, bisect_right(offsets, start, lo=1, key=lambda at: _key(page, at)) - 1) if start else 0
        for at in offsets[first:]:
            low, high, top, _ = _NODE.unpack_from(page, at)
            yield low | high << 16 | top << 32

    def _leaf_nodes(self, page: bytes, number: int, start: bytes = b"") -> Iterator[_Node]:
        """Yield the nodes of a leaf page, or of a page of duplicates inside a value, starting at the key `start`."""
        if len(page) < _PAGE.size:
            raise self._bad(gettext("page {number} has no header").format(number=number))
        if _PAGE.unpack_from(page)[2] & _LEAF2:
            yield from self._packed_nodes(page, number)
            return
        offsets = self._offsets(page, number)
        first = bisect_left(offsets, start, key=lambda at: _key(page, at)) if start else 0
        for at in offsets[first:]:
            low, high, flags, key_size = _NODE.unpack_from(page, at)
            size = low | high << 16
            middle = at + _NODE.size + key_size
            end = middle + (_U64.size if flags & _BIG else size)
            if end > len(page):
                raise self._bad(gettext("a node on page {number} is longer than the page").format(number=number))
            value = page[middle:end]
            if flags & _BIG:
                value = self._run(_U64.unpack(value)[0], size)
            yield _Node(page[at + _NODE.size : middle], value, flags)

    def _packed_nodes(self, page: bytes, number: int) -> Iterator[_Node]:
        _, size, _, lower, _ = _PAGE.unpack_from(page)
        end = _PAGE.size + (lower - _PAGE.size) // 2 * size
        if lower < _PAGE.size or end > len(page) or size == 0:
            raise self._bad(
                gettext("the packed values on page {number} are longer than the page").format(number=number)
            )
        for at in range(_PAGE.size, end, size):
            yield _Node(page[at : at + size], b"", 0)

    def _offsets(self, page: bytes, number: int) -> tuple[int, ...]:
        lower: int = _PAGE.unpack_from(page)[3]
        if not _PAGE.size <= lower <= len(page):
            raise self._bad(gettext("page {number} has an invalid header").format(number=number))
        count = (lower - _PAGE.size) // 2
        offsets = struct.unpack_from(f"<{count}H", page, _PAGE.size)
        if offsets and (min(offsets) < lower or max(offsets) + _NODE.size > len(page)):
            raise self._bad(gettext("a node on page {number} is outside the page").format(number=number))
        return offsets

    def _page(self, number: int) -> bytes:
        page = self._pages.get(number)
        if page is not None:
            self._pages.move_to_end(number)
            return page
        page = self._read(number, self._page_size)
        self._pages[number] = page
        if len(self._pages) > _CACHED_PAGES:
            self._pages.popitem(last=False)
        return page

    def _run(self, number: int, size: int) -> bytes:
        """Return a value that is stored in its own overflow pages."""
        if size > _MOST_VALUE:
            raise self._bad(gettext("a value claims to have {size} bytes").format(size=size))
        page = self._read(number, _PAGE.size + size)
        if not _PAGE.unpack_from(page)[2] & _OVERFLOW:
            raise self._bad(gettext("page {number} doesn’t contain a long value").format(number=number))
        return page[_PAGE.size :]

    def _read(self, number: int, size: int) -> bytes:
        at = number * self._page_size
        if not 2 <= number <= self._last_page or at + size > (self._last_page + 1) * self._page_size:
            raise self._bad(gettext("the file refers to page {number}, which doesn’t exist").format(number=number))
        page = os.pread(self._fd, size, at)
        if len(page) != size or _PAGE.unpack_from(page)[0] != number:
            raise self._bad(gettext("page {number} is at the wrong position").format(number=number))
        return page

    def _bad(self, reason: str) -> BadBytes:
        return BadBytes(what=self.path.name, reason=reason)


def _key(page: bytes, at: int) -> bytes:
    """Return the key of the node at an offset. In a damaged page, the result can be shorter than the stated size."""
    return page[at + _NODE.size : at + _NODE.size + _NODE.unpack_from(page, at)[3]]
