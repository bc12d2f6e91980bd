"""Raw pages of an LMDB file: finding branch pages, and damaging a page."""

import struct
from pathlib import Path

PAGE = 4096
# struct MDB_page: page number, padding, flags, lower and upper bound of its free space
_HEADER = struct.Struct("<QHHHH")
_BRANCH, _META_PAGES = 0x01, 2


def branch_pages(path: Path) -> list[int]:
    """Return the numbers of all current and former branch pages, without the two meta pages."""
    content = path.read_bytes()
    found = []
    for number in range(_META_PAGES, len(content) // PAGE):
        own_number, _, flags, _, _ = _HEADER.unpack_from(content, number * PAGE)
        if own_number == number and flags & 0x0F == _BRANCH:
            found.append(number)
    return found


def tear(path: Path, number: int) -> None:
    """Damage the page as a torn write would: the header stays, and garbage follows."""
    with path.open("r+b") as file:
        file.seek(number * PAGE + _HEADER.size)
        file.write(bytes(range(256)) * ((PAGE - _HEADER.size) // 256))
