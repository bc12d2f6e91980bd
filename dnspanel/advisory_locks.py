"""Define all of the panel's PostgreSQL advisory locks, and take and release them.

A lock ends with its session or transaction. A killed process therefore leaves no locks behind, and no process has to
wait for a lease to expire. The numbers must not change, because old and new processes, which can run at the same time
during an upgrade, must exclude each other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from django.db import connection

from dnspanel import rehearsal

if TYPE_CHECKING:
    import psycopg


_LOCKED = """
SELECT classid::bigint, objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND classid::bigint = ANY(%s)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


class Lock(IntEnum):
    """The first number of a two-part lock key. The second is usually an id from one of the panel's tables, or 0."""

    PUBLISHER = 1
    SIGNING_KEY = 2
    AUTHORITY = 3
    HOLD = 4  # during a hold: querying nodes, carrying out a decision
    COMPUTED_TYPES = 5  # configuring nodes for ALIAS and LUA
    AUDIT_CHAIN = 6  # adding audit entries to the hash chain
    PARENT_CHECKS = 7  # querying parents of signed zones for DS records
    ROLLOVERS = 8  # continuing DNSSEC rollovers
    SIGNALLING_NAMES = 9  # writing signalling names
    SEARCH_TEXTS = 10  # writing the texts for searches
    UNPROVEN = 11  # querying nodes for zones that failed validation
    FRONTS = 12  # sending settings to fronts
    COMPLAINTS = 13  # storing problems that checks found in published zones
    COUNTING = 14  # storing the questions that nodes counted
    WORKER = 0x64700001  # import · 64 + worker
    READER = 0x64700002  # import
    PIECE = 0x64700003  # piece of an import
    PHASE = 0x64700004  # import: ending or beginning a phase
    CREATION = 0x64700005  # creating the zones of a piece of any import
    EXPORT = 0x64700010  # export; held by the transaction that reads its snapshot
    COMPARISON = 0x64700011  # comparison
    WEBHOOK = 0x64700020  # webhook: sending
    SECONDARY = 0x64700021  # secondary: sending; 0: recording publications
    SECONDARY_QUESTIONS = 0x64700022  # secondary: querying serials
    TRANSFER_IN = 0x64700023  # zone: transferring from its primary
    NOTICE_ADDRESSES = 0x64700025  # sending NOTIFY to the addresses of zones
    CATALOG = 0x64700027  # a consumer catalog: applying its changes
    NEW_SIGNATURES = 0x64700026  # publishing a week's signatures for secondaries
    EVIDENCE = 0x64700024  # destination of the audit log: sending
    WATCH = 0x64700030  # checking for alerts
    ROUTE = 0x64700031  # route: sending
    POLICY_RUN = 0x64700060  # run of DNSSEC policies
    TEMPLATE_RUN = 0x64700061  # run of templates
    CHANGE_RUN = 0x64700062  # run that changes many zones
    RESOURCE = 0x64700040  # CRC-32 of a resource of API v2: conditional writes
    QUOTA = 0x64700050  # twice the id of a person, or twice the id of a team plus 1: counting against a quota


class SqlLock(IntEnum):
    """Single-number lock keys for SQL statements that take the lock themselves, which saves a round trip."""

    ZONE_IDS = 1685088001
    ROLLOUT = 1685088005
    ZONE_NAMES = 1685088006  # one at a time: functions that check rights on parent zones and subzones

    @property
    def until_commit(self) -> str:
        """The SQL function call that takes the lock until the end of the transaction."""
        return f"pg_advisory_xact_lock({self.value})"


@contextmanager
def hold_lock(lock: Lock, key: int = 0, *, wait: bool = False) -> Iterator[bool]:
    """Hold a session lock within the block. Yield False if another session holds it and `wait` is False.

    In a rehearsal, if `wait` is True, the lock is held until the rollback instead, because a session lock would remain
    after a failed statement.
    """
    if wait and rehearsal.under_way():
        lock_until_commit(lock, key)
        yield True
        return
    key = _half(key)
    if wait:
        take(connection, lock, key)
    is_mine = wait or try_take(connection, lock, key)
    try:
        yield is_mine
    finally:
        if is_mine:
            release(connection, lock, key)


def lock_until_commit(lock: Lock, key: int = 0) -> None:
    """Take the lock until the end of the transaction. Wait while another session holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", (int(lock), _half(key)))


def try_lock_until_commit(conn: "psycopg.Connection[Any]", lock: Lock, key: int) -> bool:
    """Take the lock until the end of the connection's transaction. Return False if another session holds it."""
    with conn.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", (int(lock), _half(key)))
        return _is_true(cursor)


def take(conn: Any, lock: Lock, key: int = 0) -> None:
    """Take the session lock on `conn`, a Django or psycopg connection. Wait while another session holds it."""
    with conn.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", (int(lock), _half(key)))


def try_take(conn: Any, lock: Lock, key: int = 0) -> bool:
    """Take the session lock on `conn`. Return False if another session holds it."""
    with conn.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", (int(lock), _half(key)))
        return _is_true(cursor)


def release(conn: Any, lock: Lock, key: int = 0) -> None:
    """Release the session lock on `conn`."""
    with conn.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", (int(lock), _half(key)))


def locked_keys(*locks: Lock) -> list[tuple[Lock, int]]:
    """Return (lock, id) for each key of these locks that a session holds. `id` is the key's second number."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCKED, [list(map(int, locks))])
        return [(Lock(kind), key) for kind, key in cursor.fetchall()]


def _half(key: int) -> int:
    return key % 2**31


def _is_true(cursor: Any) -> bool:
    row = cursor.fetchone()
    return bool(row and row[0])
