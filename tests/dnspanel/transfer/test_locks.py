"""A lock is one session's until it lets go of it or ends."""

import psycopg
import pytest
from django.db import connection

from dnspanel.transfer.locks import Lock, locked

pytestmark = pytest.mark.django_db


def other_session() -> "psycopg.Connection[tuple[object, ...]]":
    parameters = connection.get_connection_params()
    keys = ("host", "port", "user", "password", "dbname")
    return psycopg.connect(**{key: parameters[key] for key in keys if parameters.get(key)}, autocommit=True)


def test_only_one_session_holds_a_lock() -> None:
    with other_session() as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", (int(Lock.PIECE), 7))
        with (
            locked(Lock.PIECE, 7) as mine,
            locked(Lock.READER, 7) as of_another_kind,
            locked(Lock.PIECE, 8) as next_to_it,
        ):
            assert (mine, of_another_kind, next_to_it) == (False, True, True)
        other.execute("SELECT pg_advisory_unlock_all()")
        with locked(Lock.PIECE, 7) as mine:
            assert mine
            assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", (int(Lock.PIECE), 7)).fetchone() == (False,)
        assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", (int(Lock.PIECE), 7)).fetchone() == (True,)
