"""One publisher at a time, and what happens to one that lost its connection."""

import psycopg
import pytest
from django.db import connection

from dnspanel.publish.session import Session, snapshot

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_lock_is_free_again_after_each_step() -> None:
    one, two = Session(), Session()
    for session in (one, two, one):
        with session.publishing() as conn:
            assert conn is not None
    one.close()
    two.close()


def test_a_second_session_may_wait_for_the_first_but_not_for_ever() -> None:
    one, two = Session(), Session()
    with one.publishing():
        with two.publishing() as conn:
            assert conn is None
        with two.publishing(wait_seconds=0.05) as conn:
            assert conn is None
    with two.publishing(wait_seconds=5) as conn:
        assert conn is not None
    one.close()
    two.close()


def lose_the_connection_while_publishing(session: Session, successor: Session) -> None:
    with session.publishing() as conn:
        assert conn is not None
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
        with successor.publishing(wait_seconds=5) as next_one:
            assert next_one is not None
        conn.execute("SELECT 1")


def test_a_publisher_whose_connection_is_cut_loses_its_lock_and_can_write_nothing() -> None:
    one, two = Session(), Session()
    with pytest.raises(psycopg.Error):
        lose_the_connection_while_publishing(one, two)
    with one.publishing() as conn:
        assert conn is not None
    one.close()
    two.close()


def test_a_snapshot_does_not_see_what_is_committed_meanwhile() -> None:
    session = Session()
    with session.publishing() as conn:
        assert conn is not None
        with snapshot(conn):
            before = conn.execute("SELECT sequence FROM zones_loghead").fetchone()
            with connection.cursor() as cursor:
                cursor.execute("UPDATE zones_loghead SET sequence = sequence + 1")
            assert conn.execute("SELECT sequence FROM zones_loghead").fetchone() == before
        assert conn.execute("SELECT sequence FROM zones_loghead").fetchone() != before
    session.close()
