"""Tests of advisory locks: a lock belongs to one session until the session releases it or ends."""

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from dnspanel.advisory_locks import Lock, SqlLock, hold_lock, lock_until_commit, try_lock_until_commit

pytestmark = pytest.mark.django_db

# Running processes use these numbers: during an upgrade, a changed number would admit both versions.
NUMBERS = {
    "PUBLISHER": 1,
    "SIGNING_KEY": 2,
    "AUTHORITY": 3,
    "HOLD": 4,
    "COMPUTED_TYPES": 5,
    "AUDIT_CHAIN": 6,
    "PARENT_CHECKS": 7,
    "ROLLOVERS": 8,
    "SIGNALLING_NAMES": 9,
    "SEARCH_TEXTS": 10,
    "UNPROVEN": 11,
    "FRONTS": 12,
    "COMPLAINTS": 13,
    "COUNTING": 14,
    "WORKER": 0x64700001,
    "READER": 0x64700002,
    "PIECE": 0x64700003,
    "PHASE": 0x64700004,
    "CREATION": 0x64700005,
    "EXPORT": 0x64700010,
    "COMPARISON": 0x64700011,
    "TEMPLATE_RUN": 0x64700061,
    "CHANGE_RUN": 0x64700062,
    "WEBHOOK": 0x64700020,
    "SECONDARY": 0x64700021,
    "SECONDARY_QUESTIONS": 0x64700022,
    "TRANSFER_IN": 0x64700023,
    "EVIDENCE": 0x64700024,
    "NOTICE_ADDRESSES": 0x64700025,
    "NEW_SIGNATURES": 0x64700026,
    "WATCH": 0x64700030,
    "ROUTE": 0x64700031,
    "CATALOG": 0x64700027,
    "POLICY_RUN": 0x64700060,
    "RESOURCE": 0x64700040,
    "QUOTA": 0x64700050,
    "ZONE_IDS": 1685088001,
    "ROLLOUT": 1685088005,
    "ZONE_NAMES": 1685088006,
}


def other_session() -> "psycopg.Connection[tuple[object, ...]]":
    parameters = connection.get_connection_params()
    keys = ("host", "port", "user", "password", "dbname")
    return psycopg.connect(**{key: parameters[key] for key in keys if parameters.get(key)}, autocommit=True)


def test_only_one_session_holds_a_lock() -> None:
    with other_session() as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", (int(Lock.PIECE), 7))
        with (
            hold_lock(Lock.PIECE, 7) as mine,
            hold_lock(Lock.READER, 7) as of_another_kind,
            hold_lock(Lock.PIECE, 8) as next_to_it,
        ):
            assert (mine, of_another_kind, next_to_it) == (False, True, True)
        other.execute("SELECT pg_advisory_unlock_all()")
        with hold_lock(Lock.PIECE, 7) as mine:
            assert mine
            assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", (int(Lock.PIECE), 7)).fetchone() == (False,)
        assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", (int(Lock.PIECE), 7)).fetchone() == (True,)


def test_whoever_waits_for_a_lock_gets_it_when_it_is_released() -> None:
    with other_session() as other:
        with hold_lock(Lock.RESOURCE, 2**32 - 1, wait=True) as mine:
            assert mine
            key = (int(Lock.RESOURCE), (2**32 - 1) % 2**31)
            assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", key).fetchone() == (False,)
        assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", key).fetchone() == (True,)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '10ms'")
            with pytest.raises(OperationalError), transaction.atomic():
                hold_lock(Lock.RESOURCE, 2**32 - 1, wait=True).__enter__()


@pytest.mark.django_db(transaction=True)
def test_a_lock_of_a_transaction_ends_with_it() -> None:
    with other_session() as other:
        with transaction.atomic():
            lock_until_commit(Lock.SIGNING_KEY)
            assert not try_lock_until_commit(other, Lock.SIGNING_KEY, 0)
        with other.transaction():
            assert try_lock_until_commit(other, Lock.SIGNING_KEY, 0)
            with hold_lock(Lock.SIGNING_KEY) as mine:
                assert not mine
        with hold_lock(Lock.SIGNING_KEY) as mine:
            assert mine


@pytest.mark.django_db(transaction=True)
def test_a_statement_takes_a_lock_beside_what_else_it_does() -> None:
    with other_session() as other, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT 1, {SqlLock.ROLLOUT.until_commit}")
        assert other.execute("SELECT pg_try_advisory_lock(%s)", (SqlLock.ROLLOUT.value,)).fetchone() == (False,)


def test_the_numbers_of_locks_never_change() -> None:
    assert {lock.name: lock.value for kind in (Lock, SqlLock) for lock in kind} == NUMBERS
