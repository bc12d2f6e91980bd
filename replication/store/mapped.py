"""Measure this process's memory, and release file pages that it has mapped.

LMDB reads through a shared mapping of the whole file, and every page it ever touched counts as resident memory of the
process. Dropping the mapping's page table entries costs only soft page faults later: the pages stay in the page cache,
where PowerDNS uses them too, and a page needed again is simply mapped again. This is safe at any time, even during a
running transaction, because LMDB's map is read-only and shared.
"""

import ctypes
import os
from collections.abc import Collection, Iterable

_MADV_DONTNEED = 4
_PAGE = os.sysconf("SC_PAGE_SIZE")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

Range = tuple[int, int]  # the addresses of the first byte and after the last


def file_bytes_resident() -> int:
    """Return the number of bytes of mapped files in this process's resident memory."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[2]) * _PAGE


def resident_bytes() -> int:
    """Return this process's resident memory in bytes."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[1]) * _PAGE


def peak_resident_bytes() -> int:
    """Return this process's peak resident memory in bytes.

    getrusage isn't used, because its peak includes the parent process's memory at the time of the fork.
    """
    with open("/proc/self/status", "rb") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(b"VmHWM:"))


def ranges_of(paths: Collection[str]) -> list[Range]:
    """Return the address ranges at which these files, while open, are mapped shared and read-only."""
    found = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].rstrip("\n") in paths and fields[1].startswith("r--s"):
                start, end = (int(part, 16) for part in fields[0].split("-"))
                found.append((start, end))
    return found


def release(ranges: Iterable[Range]) -> None:
    """Release these ranges' pages from resident memory until they are touched again. The files must still be open."""
    for start, end in ranges:
        _libc.madvise(start, end - start, _MADV_DONTNEED)
