"""What a bulk worker has in hand, it holds by a PostgreSQL advisory lock, which ends with its session.

So a killed worker's work is the next one's at once: there are no leases to wait for.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from django.db import connection


class Lock(IntEnum):
    """First halves of the advisory locks' keys; the second is an id of ours."""

    WORKER = 0x64700001  # import · 64 + worker
    READER = 0x64700002  # import
    PIECE = 0x64700003  # piece of an import
    PHASE = 0x64700004  # import: ending or beginning a phase
    EXPORT = 0x64700010  # export; held by the transaction that reads its snapshot
    COMPARISON = 0x64700011  # comparison
    WEBHOOK = 0x64700020  # webhook: sending
    WATCH = 0x64700030  # 0: looking for alerts
    ROUTE = 0x64700031  # route: sending


@contextmanager
def locked(lock: Lock, key: int) -> Iterator[bool]:
    """True while this session holds the lock; False if another one does."""
    key %= 2**31
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [lock, key])
        mine = bool(cursor.fetchone()[0])
    try:
        yield mine
    finally:
        if mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [lock, key])
